//! Threads that sleep again and again until something in memory, or another process, is as they want it: `while (!done) usleep(1000);`.
//!
//! What they look at between the sleeps is not on record. What shows is that another thread was at work each time they woke up, but
//! for the last time: just before that it had ended, or had begun to wait for others. Shells have programs that sleep for them.

use crate::follow::pass::{Seen, Visitor};
use crate::follow::timed_waits::TimedWaits;
use crate::graph::dependency::{Dependencies, Moment, Point, Span};
use std::collections::{HashMap, VecDeque};
use syn_plan::Rule;
use syn_trace::calls::Effect;
use syn_trace::calls::effect::Sync;
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::{Call, Run, record};

/// So many times at least it has woken up: of fewer, that somebody else has just stopped may be chance.
const LEAST_WAKES: usize = 8;
/// The longest sleep of a loop is so many times as long as the others.
const MOST_TIMES: u64 = 16;
/// A loop sleeps for at least one part in so many of its time.
const LEAST_ASLEEP: u64 = 2;
/// A wait in which the loop woke up, and went on sleeping, counts against a thread from one part in so many of a sleep on, or of the
/// wait that seems to have ended the loop, if that was shorter. Shorter ones are locks that were held for a moment.
const SHORT_WAIT: u64 = 4;
/// Shorter waits are not kept.
const LEAST_WAIT_NS: u64 = 10_000;
/// So many waits of a thread are kept.
const KEPT_WAITS: usize = 4096;
/// Among more threads one that has just stopped is found by chance.
const MOST_OTHERS: usize = 64;

/// The loops of a run. Memory: 16 bytes for each of their sleeps, and 24 for each of the last waits of every thread.
#[derive(Debug)]
pub struct SleepLoops {
    threads: Vec<Followed>,
    processes: Vec<Family>,
    /// By host and id: the images of a process.
    images: HashMap<([u8; 16], u32), Vec<u32>>,
    /// By thread: loops that are over while its last call was not.
    unanswered: HashMap<u32, Vec<usize>>,
    over: Vec<Over>,
}

/// What a thread has done so far.
#[derive(Debug, Default)]
struct Followed {
    process: u32,
    /// When it was seen first.
    first_ns: Option<u64>,
    /// When it entered the call that was seen last.
    entered_ns: u64,
    /// When its process or it ended.
    ended: Option<Moment>,
    /// Its waits for others: when each was entered, and until when it was.
    waits: VecDeque<(Moment, u64)>,
    /// Of the time before, waits are not kept.
    forgotten_ns: u64,
    /// The loop that it is in.
    asleep: Option<Loop>,
    /// Its sleep, and how long that was.
    slept: Option<(u32, u64)>,
    /// Others may have noticed what it did besides, or it slept more than once.
    is_noticed: bool,
}

/// An image of a process, and all children of that process.
#[derive(Debug)]
struct Family {
    boot_id: [u8; 16],
    pid: u32,
    threads: Vec<u32>,
    children: Vec<u32>,
}

/// Sleeps of about the same length, with nothing in between that others would notice.
#[derive(Debug)]
struct Loop {
    began_ns: u64,
    slept_ns: u64,
    wakes: Vec<Wake>,
    last: Span,
    /// The child of this id has ended meanwhile, and this record told so.
    told: Option<(u32, u32)>,
}

/// The end of a sleep.
#[derive(Clone, Copy, Debug)]
struct Wake {
    /// Who slept, and the record of that.
    sleep: (u32, u32),
    /// When the loop went on.
    ns: u64,
}

/// A loop that is over, and what seems to have ended it.
#[derive(Debug)]
struct Over {
    of: Loop,
    by: Option<Moment>,
}

impl SleepLoops {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run) -> SleepLoops {
        let (mut images, mut children) = (HashMap::new(), HashMap::new());
        for (index, process) in (0u32..).zip(&run.processes) {
            images.entry((process.boot_id, process.pid)).or_insert_with(Vec::new).push(index);
            children.entry((process.boot_id, process.ppid)).or_insert_with(Vec::new).push(index);
        }
        let family = |process: &syn_trace::run::Process| Family {
            boot_id: process.boot_id,
            pid: process.pid,
            threads: process.threads.iter().map(|&thread| thread as u32).collect(),
            children: children.get(&(process.boot_id, process.pid)).cloned().unwrap_or_default(),
        };
        let processes = run.processes.iter().map(family).collect();
        let followed = |thread: &syn_trace::run::Thread| Followed {
            process: thread.process as u32,
            ..Followed::default()
        };
        let threads = run.threads.iter().map(followed).collect();
        SleepLoops { threads, processes, images, unanswered: HashMap::new(), over: Vec::new() }
    }

    /// Who goes on after whom, and which sleeps the same would have ended.
    pub fn finish(self) -> (Dependencies, TimedWaits) {
        let mut found = Dependencies::default();
        let mut sleeps = vec![Vec::new(); self.threads.len()];
        for Over { of, by } in self.over {
            let Some(by) = by else { continue };
            let Point { thread, record, .. } = of.last.leave.point();
            let ended = self.threads[by.point().thread as usize].process;
            let told = of.told.filter(|&(pid, _)| pid == self.processes[ended as usize].pid);
            // Where it was told of the end, a rule for that has the dependency.
            let last = (thread, told.map_or(record, |(_, record)| record));
            if told.is_none() {
                found.add_one(Rule::Poll, by, of.last.leave);
            }
            for &Wake { sleep: (thread, record), .. } in of.wakes.iter().filter(|wake| wake.sleep != last) {
                sleeps[thread as usize].push((record, last));
            }
        }
        (found, sleeps)
    }

    /// A loop of this thread is over: whoever had stopped just before, or will turn out to have.
    fn conclude(&mut self, thread: u32, of: Loop) {
        let lasted_ns = of.last.leave.ns.saturating_sub(of.began_ns);
        if of.wakes.len() < LEAST_WAKES || of.slept_ns < lasted_ns / LEAST_ASLEEP {
            return;
        }
        let (number, end_ns) = (self.over.len(), of.last.leave.ns);
        let mut over = Over { of, by: None };
        let own = self.threads[thread as usize].process;
        let Family { threads, children, .. } = &self.processes[own as usize];
        let of_children = children.iter().flat_map(|&child| &self.processes[child as usize].threads);
        let was_there = |&&other: &&u32| self.threads[other as usize].was_there(&over.of);
        let siblings = threads.iter().filter(|&&other| other != thread);
        let others: Vec<u32> =
            siblings.chain(of_children).filter(was_there).take(MOST_OTHERS + 1).copied().collect();
        if others.len() > MOST_OTHERS {
            return;
        }
        for other in others {
            let followed = &self.threads[other as usize];
            if let Some(ended) = followed.ended.filter(|ended| ended.ns <= end_ns) {
                over.stopped(followed, ended, u64::MAX);
            } else if followed.process != own {
                // Of a process only the end shows elsewhere.
            } else if let Some((from, took_ns)) = followed.wait_at(end_ns) {
                over.stopped(followed, from, took_ns);
            } else if followed.entered_ns < end_ns && followed.ended.is_none() {
                self.unanswered.entry(other).or_default().push(number);
            }
        }
        self.over.push(over);
    }

    /// For how long a process has slept that did nothing else, and where.
    fn slept(&self, boot_id: [u8; 16], pid: u32) -> Option<((u32, u32), u64)> {
        let images = self.images.get(&(boot_id, pid))?.iter();
        let mut threads = images.flat_map(|&image| &self.processes[image as usize].threads);
        let mut found = None;
        threads.all(|&thread| {
            let Followed { slept, is_noticed, .. } = self.threads[thread as usize];
            found = slept.map(|(record, ns)| ((thread, record), ns)).or(found);
            !is_noticed
        });
        found.filter(|_| threads.next().is_none())
    }

    /// What a thread did next, of which it was not known yet.
    fn answer(&mut self, seen: &Seen<'_>, waits: bool) {
        let Some(numbers) = self.unanswered.remove(&seen.thread) else { return };
        for number in numbers {
            let over = &mut self.over[number];
            if waits && seen.returned_ns > over.of.last.leave.ns {
                let took_ns = seen.returned_ns - seen.start_ns;
                over.stopped(&self.threads[seen.thread as usize], seen.enter(), took_ns);
            }
        }
    }
}

impl Followed {
    /// Whether it was there for most of the loop, and all of its waits meanwhile are known.
    fn was_there(&self, of: &Loop) -> bool {
        let early_ns = of.wakes[of.wakes.len() / LEAST_WAKES].ns;
        self.first_ns.is_some_and(|first_ns| first_ns <= early_ns) && self.forgotten_ns <= of.began_ns
    }

    /// The wait for others that it was in at that time, and how long that was.
    fn wait_at(&self, ns: u64) -> Option<(Moment, u64)> {
        let wait = self.waits.iter().rev().find(|&&(from, until_ns)| from.ns <= ns && ns < until_ns);
        wait.map(|&(from, until_ns)| (from, until_ns - from.ns))
    }

    /// Whether it was waiting for others at one of these times, for so long or longer.
    fn was_waiting_at(&self, wakes: &[Wake], least_ns: u64) -> bool {
        let is_long = |&&(from, until_ns): &&(Moment, u64)| until_ns - from.ns >= least_ns;
        let mut waits = self.waits.iter().filter(is_long).peekable();
        wakes.iter().any(|wake| {
            while waits.next_if(|&&(_, until_ns)| until_ns <= wake.ns).is_some() {}
            waits.peek().is_some_and(|&&(from, _)| from.ns <= wake.ns)
        })
    }

    fn waited(&mut self, from: Moment, until_ns: u64) {
        if self.waits.len() == KEPT_WAITS
            && let Some((_, forgotten_ns)) = self.waits.pop_front()
        {
            self.forgotten_ns = forgotten_ns;
        }
        self.waits.push_back((from, until_ns));
    }
}

impl Loop {
    /// One that begins with this sleep.
    fn new(seen: &Seen<'_>, sleep: (u32, u32), ns: u64) -> Loop {
        let mut of =
            Loop { began_ns: seen.start_ns, slept_ns: 0, wakes: Vec::new(), last: seen.span(), told: None };
        of.sleep(seen, sleep, ns);
        of
    }

    fn sleep(&mut self, seen: &Seen<'_>, sleep: (u32, u32), ns: u64) {
        self.last = seen.span();
        self.slept_ns += ns;
        self.wakes.push(Wake { sleep, ns: seen.returned_ns });
    }

    /// Whether a sleep of so long, too, is one of the loop's: some loops sleep for longer each time.
    fn goes_on(&self, ns: u64) -> bool {
        let mean_ns = self.mean_ns();
        ns <= mean_ns.saturating_mul(MOST_TIMES) && mean_ns <= ns.saturating_mul(MOST_TIMES)
    }

    fn mean_ns(&self) -> u64 {
        self.slept_ns / self.wakes.len() as u64
    }

    /// Whoever ended it stopped after it had woken up for the last time but one.
    fn is_before_last_wake(&self, ns: u64) -> bool {
        let before = &self.wakes[self.wakes.len() - 2];
        before.ns <= ns && ns <= self.last.leave.ns
    }
}

impl Over {
    /// This thread stopped at that moment, for so long: the last one that did has ended the loop.
    fn stopped(&mut self, other: &Followed, at: Moment, took_ns: u64) {
        let of = &self.of;
        let earlier = &of.wakes[..of.wakes.len() - 1];
        let is_last = self.by.is_none_or(|by| by.ns < at.ns);
        let is_new = || !other.was_waiting_at(earlier, took_ns.min(of.mean_ns()) / SHORT_WAIT);
        if is_last && of.is_before_last_wake(at.ns) && is_new() {
            self.by = Some(at);
        }
    }
}

/// Whether a call waits for what another thread or process does.
fn waits_for_others(seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) -> bool {
    let wakes = [
        Sync::UnlockMutex,
        Sync::SignalCondition,
        Sync::BroadcastCondition,
        Sync::PostSemaphore,
        Sync::UnlockRwlock,
    ];
    let waits = match seen.event.call.effect() {
        Effect::Sync(sync) => !wakes.contains(&sync),
        Effect::JoinThread
        | Effect::AwaitProcess
        | Effect::AwaitProcessById
        | Effect::AwaitSignal
        | Effect::ReceiveMessage
        | Effect::Accept => true,
        Effect::AwaitReadiness => !seen.event.sleeps(),
        Effect::Read(_) => touched.file.is_some_and(|file| descriptors.open_file(file).is_stream()),
        _ => false,
    };
    waits && seen.may_have_slept()
}

/// Whether others may notice a call, besides that it takes time. Looks may be taken in turn, by locks, and by programs that are run.
fn is_noticed(seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) -> bool {
    let event = seen.event;
    let file = |open| descriptors.open_file(open);
    let is_noticed = match event.call.effect() {
        Effect::Read(_) => event.result > 0 && touched.file.is_some_and(|open| file(open).is_stream()),
        Effect::Open | Effect::Create => {
            touched.opened.is_some_and(|open| file(open).was_made() == Some(true))
        }
        Effect::SendSignal => event.numbers[1] != 0,
        Effect::AwaitReadiness => event.result > 0,
        Effect::Write(_)
        | Effect::Truncate
        | Effect::SendMessage
        | Effect::ReceiveMessage
        | Effect::Transfer
        | Effect::Rename
        | Effect::Unlink
        | Effect::Link
        | Effect::Symlink
        | Effect::MakeFolder
        | Effect::RemoveFolder
        | Effect::JoinThread
        | Effect::Exit
        | Effect::Exec
        | Effect::Mpi(_) => true,
        _ => matches!(event.call, Call::ThreadStart | Call::ThreadEnd),
    };
    is_noticed && !event.has(record::FAILED)
}

impl Visitor for SleepLoops {
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let event = seen.event;
        let waits = waits_for_others(seen, touched, descriptors);
        if !self.unanswered.is_empty() {
            self.answer(seen, waits);
        }
        let followed = &mut self.threads[seen.thread as usize];
        followed.first_ns.get_or_insert(seen.start_ns);
        followed.entered_ns = seen.start_ns;
        if waits && seen.returned_ns - seen.start_ns >= LEAST_WAIT_NS {
            followed.waited(seen.enter(), seen.returned_ns);
        }
        let matters = followed.asleep.is_some() || !followed.is_noticed;
        let is_noticed = matters && is_noticed(seen, touched, descriptors);
        let ends = event.call.effect() == Effect::Exit || event.call == Call::ThreadEnd;
        let is_plain = ends || matches!(event.call.effect(), Effect::Exec);
        followed.is_noticed |= is_noticed && !is_plain || event.call.effect() == Effect::AwaitProcess;
        let sleep = match event.call.effect() {
            Effect::AwaitProcess if event.result > 0 => {
                let (pid, boot_id) = (event.result as u32, self.processes[seen.process as usize].boot_id);
                let slept = self.slept(boot_id, pid);
                if let (None, Some(of)) = (slept, &mut self.threads[seen.thread as usize].asleep) {
                    of.told = Some((pid, seen.record));
                }
                slept
            }
            _ if event.sleeps() => Some(((seen.thread, seen.record), seen.returned_ns - seen.start_ns)),
            _ => None,
        };
        let (followed, mut over) = (&mut self.threads[seen.thread as usize], None);
        if let Some((sleep, ns)) = sleep {
            match &mut followed.asleep {
                Some(of) if of.goes_on(ns) => of.sleep(seen, sleep, ns),
                asleep => over = asleep.replace(Loop::new(seen, sleep, ns)),
            }
            followed.is_noticed |= followed.slept.replace((sleep.1, ns)).is_some();
        } else if is_noticed {
            over = followed.asleep.take();
        }
        if ends {
            followed.ended = Some(seen.enter());
        }
        if let Some(over) = over {
            self.conclude(seen.thread, over);
        }
    }
}
