//! Follows what all threads do to locks, conditions, barriers and semaphores: who waited, and who ended waits. The rules find
//! out at the end who waited for whom: of a hand-over, the one who waits often returns first.

use crate::clocks::Clocks;
use crate::follow::pass::{Seen, Visitor};
use crate::follow::shared_memory::{Place, SharedMemory};
use crate::graph::dependency::Dependencies;
use crate::rules::mutex::{Awaited, Release, Wait};
use crate::rules::waking::{Wake, Waking};
use crate::rules::{barrier, condition, futex, mutex, rwlock, semaphore};
use std::collections::BTreeMap;
use syn_trace::calls::effect::{Effect, Sync};
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::{Run, record};

/// The result of a lock that its owner has left by ending: it is taken nevertheless.
const EOWNERDEAD: i64 = 130;

/// The locks of a run. Memory: 48 bytes for each record of one.
#[derive(Debug)]
pub struct LockTracker {
    memory: SharedMemory,
    mutexes: BTreeMap<Place, mutex::Mutex>,
    conditions: BTreeMap<Place, Waking>,
    rwlocks: BTreeMap<Place, rwlock::Rwlock>,
    barriers: BTreeMap<Place, Vec<barrier::Arrival>>,
    semaphores: BTreeMap<Place, Waking>,
    futexes: BTreeMap<Place, Waking>,
    /// By thread: when its last call returned, and whether that was about one of these.
    behind: Vec<(u64, bool)>,
}

impl LockTracker {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run, clocks: &Clocks) -> LockTracker {
        LockTracker {
            memory: SharedMemory::new(run, clocks),
            mutexes: BTreeMap::new(),
            conditions: BTreeMap::new(),
            rwlocks: BTreeMap::new(),
            barriers: BTreeMap::new(),
            semaphores: BTreeMap::new(),
            futexes: BTreeMap::new(),
            behind: vec![(0, false); run.threads.len()],
        }
    }

    /// Who waited for whom.
    pub fn finish(self) -> Dependencies {
        let mut found = Dependencies::default();
        let mut of_conditions = Dependencies::default();
        self.conditions.into_values().for_each(|waking| condition::connect(waking, &mut of_conditions));
        let woken = (0..of_conditions.len())
            .map(|at| (of_conditions.targets(at)[0].point(), of_conditions.sources(at)[0].ns))
            .collect();
        self.mutexes.into_values().for_each(|lock| mutex::connect(lock, &woken, &mut found));
        found.append(of_conditions);
        self.rwlocks.into_values().for_each(|lock| rwlock::connect(lock, &mut found));
        self.barriers.into_values().for_each(|arrivals| barrier::connect(arrivals, &mut found));
        self.semaphores.into_values().for_each(|waking| semaphore::connect(waking, &mut found));
        self.futexes.into_values().for_each(|waking| futex::connect(waking, &mut found));
        found
    }

    fn use_it(&mut self, seen: &Seen<'_>, sync: Sync) {
        let event = seen.event;
        let at = |number: usize| self.memory.at(seen.process, event.numbers[number]);
        let span = seen.span();
        let taken = matches!(event.result, 0 | EOWNERDEAD);
        let first = at(0);
        let (behind_ns, behind_sync) = self.behind[seen.thread as usize];
        let awaits_condition = sync == Sync::AwaitCondition;
        let release = Release { span, behind_ns, behind_sync, awaits_condition };
        match sync {
            Sync::LockMutex if taken => {
                let wait = Wait { span, awaited: Awaited::Mutex };
                self.mutexes.entry(first).or_default().waits.push(wait);
            }
            Sync::UnlockMutex if taken => self.mutexes.entry(first).or_default().releases.push(release),
            Sync::AwaitCondition => {
                let mutex = self.mutexes.entry(at(1)).or_default();
                // Also when the time is over, the mutex is taken before the call returns.
                mutex.releases.push(release);
                let awaited = if taken { Awaited::Condition } else { Awaited::Time };
                mutex.waits.push(Wait { span, awaited });
                if taken {
                    self.conditions.entry(first).or_default().waits.push(span);
                }
            }
            Sync::SignalCondition if taken => {
                self.conditions.entry(first).or_default().wakes.push(Wake { span, times: 1 });
            }
            Sync::BroadcastCondition if taken => {
                self.conditions.entry(first).or_default().wakes.push(Wake { span, times: u32::MAX });
            }
            Sync::LockToRead if taken => self.rwlocks.entry(first).or_default().read(span),
            Sync::LockToWrite if taken => self.rwlocks.entry(first).or_default().write(span),
            Sync::UnlockRwlock if taken => self.rwlocks.entry(first).or_default().release(span),
            // One of those who met is told so, by a result of -1.
            Sync::AwaitBarrier if matches!(event.result, -1 | 0) => {
                let last = event.result == -1;
                self.barriers.entry(first).or_default().push(barrier::Arrival { span, told: last });
            }
            Sync::TakeSemaphore if taken => self.semaphores.entry(first).or_default().waits.push(span),
            Sync::PostSemaphore if taken => {
                self.semaphores.entry(first).or_default().wakes.push(Wake { span, times: 1 });
            }
            Sync::Futex => {
                futex::follow(event, span, self.futexes.entry(first).or_default());
            }
            _ => {}
        }
    }
}

impl Visitor for LockTracker {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        self.memory.follow(seen, touched, descriptors);
        if let Effect::Sync(sync) = seen.event.call.effect()
            && !seen.event.has(record::FAILED)
        {
            self.use_it(seen, sync);
        }
        let is_sync = matches!(seen.event.call.effect(), Effect::Sync(_));
        self.behind[seen.thread as usize] = (seen.returned_ns, is_sync);
    }
}
