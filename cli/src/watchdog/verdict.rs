//! Whether every thread but those of the throttled node has ended or is blocked.
//!
//! A thread in a call that waits for others is blocked when it has been in it for a moment: if nobody else does anything either,
//! nobody can end its wait. If it is ready to run meanwhile, as MPI is that polls, it has to have had a processor too: what it waits for
//! may be there already. Any other thread, in a call that ends by itself, computing or polling, is blocked when it has got
//! nowhere for much longer than in the run without throttling at the same place; time in which it waited for a processor does
//! not count. A thread that goes on although it was found to be blocked is given more time from then on.

use super::learnt::{Learnt, waits};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;
use syn_trace::board::{Board, Doing, Slot, UNRANKED, UNRANKED_OF_HOST, hold};
use syn_trace::calls::Call;

/// So long in a call that waits for others, at first and at most.
const SETTLED: Duration = Duration::from_millis(4);
const MOST_SETTLED: Duration = Duration::from_millis(500);
/// One that is ready to run meanwhile has looked at what it waits for when it has had a processor for so long.
const TURN: Duration = Duration::from_millis(1);
/// So many times what the run without throttling took, and so much longer.
const FACTOR: u32 = 3;
const LONGER: Duration = Duration::from_millis(30);

/// How long a thread has had a processor, how long it has waited for one, and whether it has or wants one now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// With one.
    pub used: Duration,
    /// Ready to run, without one: as of when it last got one.
    pub delayed: Duration,
    /// Neither asleep nor stopped.
    pub ready: bool,
}

/// A thread that is watched while somebody is held.
#[derive(Debug)]
struct Watched {
    progress: u64,
    /// Without getting anywhere.
    since: Duration,
    /// In a call that waits.
    waits_since: Duration,
    /// What it had used when it was found to be ready in a call that waits.
    ready_from: Option<Duration>,
    before: Processor,
    latest: Processor,
    blocked: bool,
    /// How much more time than others it gets.
    patience: u32,
}

impl Watched {
    /// It has got somewhere, or a hold begins.
    fn start_over(&mut self) {
        (self.since, self.waits_since, self.ready_from) = (Duration::ZERO, Duration::ZERO, None);
        (self.before, self.blocked) = (self.latest, false);
    }
}

/// The threads of a host.
#[derive(Debug)]
pub struct Verdict {
    learnt: Learnt,
    watched: HashMap<u32, Watched>,
    /// More threads than processors take turns.
    pub crowd: u32,
}

impl Verdict {
    /// Of nobody yet.
    pub fn new(learnt: Learnt) -> Verdict {
        Verdict { learnt, watched: HashMap::new(), crowd: 1 }
    }

    /// A hold begins: everybody is watched from now on.
    pub fn begin(&mut self) {
        for watched in self.watched.values_mut() {
            watched.start_over();
        }
    }

    /// Looks again, `passed` after the look before; `life` tells of a thread that lives. True when all others have ended or are blocked.
    pub fn look(
        &mut self,
        board: &Board,
        passed: Duration,
        life: impl Fn(u32, u32) -> Option<Processor>,
    ) -> bool {
        let throttled = board.throttled.load(Ordering::Relaxed);
        let mut ordinals: HashMap<u32, usize> = HashMap::new();
        let mut all = true;
        for slot in board.slots() {
            let (tid, node) = (slot.tid.load(Ordering::Acquire), slot.node.load(Ordering::Relaxed));
            let ordinal = ordinals.entry(node).or_default();
            *ordinal += 1;
            if tid != 0 && node != throttled {
                all &= self.is_blocked(slot, (node, *ordinal - 1), passed, &life);
            }
        }
        all
    }

    fn is_blocked(
        &mut self,
        slot: &Slot,
        (node, ordinal): (u32, usize),
        passed: Duration,
        life: &impl Fn(u32, u32) -> Option<Processor>,
    ) -> bool {
        let (pid, tid) = (slot.pid.load(Ordering::Relaxed), slot.tid.load(Ordering::Relaxed));
        let doing = Doing(slot.doing.load(Ordering::Acquire));
        let waits = Call::from_id(u64::from(doing.call())).is_some_and(waits);
        let settled = |patience| (SETTLED * self.crowd * patience).min(MOST_SETTLED);
        // One that waits is asked once, when it has settled: it may wait for ever, and there are many of them.
        let known = self.watched.get(&tid).filter(|watched| {
            waits && (watched.blocked || watched.waits_since + passed < settled(watched.patience))
        });
        let Some(latest) = known.map(|watched| watched.latest).or_else(|| life(pid, tid)) else {
            return true;
        };
        let watched = self.watched.entry(tid).or_insert_with(|| Watched {
            progress: doing.progress(),
            since: Duration::ZERO,
            waits_since: Duration::ZERO,
            ready_from: None,
            before: latest,
            latest,
            blocked: false,
            patience: 1,
        });
        watched.latest = latest;
        if doing.progress() != watched.progress {
            if watched.blocked {
                watched.patience = (watched.patience * 2).min(64);
            }
            watched.progress = doing.progress();
            watched.start_over();
            return false;
        }
        watched.since += passed;
        watched.waits_since = if waits { watched.waits_since + passed } else { Duration::ZERO };
        let has_settled = watched.waits_since >= settled(watched.patience);
        let has_looked = watched.blocked || !latest.ready || {
            let from = *watched.ready_from.get_or_insert(latest.used);
            latest.used.saturating_sub(from) >= TURN
        };
        if !has_settled {
            watched.ready_from = None;
        }
        let used = latest.used.saturating_sub(watched.before.used);
        let delayed = latest.delayed.saturating_sub(watched.before.delayed);
        // One that is ready to run gets somewhere by what it computes; one that sleeps, by time.
        let went = if latest.ready || used + delayed > watched.since / 2 { used } else { watched.since };
        let expected = self.learnt.at(node, ordinal, doing.progress()) * FACTOR + LONGER * watched.patience;
        let blocked = has_settled && has_looked || went >= expected;
        watched.blocked = blocked;
        blocked
    }
}

/// The slots of threads that are held now.
pub fn held(board: &Board) -> impl Iterator<Item = &Slot> {
    board.slots().iter().filter(|slot| slot.hold.load(Ordering::Acquire) == hold::HELD)
}

/// The number of a node for people.
pub fn name(node: u32) -> String {
    let number = node & !UNRANKED;
    match (node & UNRANKED, number / UNRANKED_OF_HOST) {
        (0, _) => format!("rank {node}"),
        (_, 0) => format!("process {number}"),
        (_, host) => format!("process {} of host {host}", number % UNRANKED_OF_HOST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn_trace::board::{BoardFile, NOBODY, Request, kind};

    const LOOK: Duration = Duration::from_millis(1);

    /// Looks until the verdict is that all are blocked; how often.
    fn looks(verdict: &mut Verdict, board: &Board, life: impl Fn(u32) -> Option<Processor>) -> u32 {
        (1..10_000).find(|&look| verdict.look(board, LOOK, |_, _| life(look))).expect("blocked in the end")
    }

    fn board(doing: Doing) -> (tempfile::TempDir, BoardFile) {
        let folder = tempfile::tempdir().expect("a folder");
        let bound = Duration::from_secs(1);
        let request = Request { node: NOBODY, period: 1, kinds: kind::IO.into(), bound };
        let board = BoardFile::create(folder.path(), "host", &request).expect("a board");
        let slot = board.join(7, 8, 0).expect("a slot");
        slot.doing.store(doing.0, Ordering::Relaxed);
        (folder, board)
    }

    #[test]
    fn one_that_waits_is_blocked_soon_and_later_if_it_goes_on_nevertheless() {
        let (_folder, board) = board(Doing(0).entered(Call::MpiRecv as u16));
        let mut verdict = Verdict::new(Learnt::default());
        let first = looks(&mut verdict, &board, |_| Some(Processor::default()));
        assert_eq!(u128::from(first), SETTLED.as_millis());
        let slot = &board.slots()[0];
        slot.doing.store(Doing(slot.doing.load(Ordering::Relaxed)).advanced().0, Ordering::Relaxed);
        assert!(!verdict.look(&board, LOOK, |_, _| Some(Processor::default())));
        let again = looks(&mut verdict, &board, |_| Some(Processor::default()));
        assert_eq!(again, 2 * first);
    }

    /// More ranks than processors, all of which poll: what one of them waits for may be there, and it has not looked yet.
    #[test]
    fn one_that_waits_for_a_processor_is_not_blocked() {
        const WITHOUT: u32 = 1000;
        let (_folder, board) = board(Doing(0).entered(Call::MpiRecv as u16));
        let life = |look: u32| {
            let used = LOOK * look.saturating_sub(WITHOUT);
            Some(Processor { used, delayed: Duration::ZERO, ready: true })
        };
        let count = looks(&mut Verdict::new(Learnt::default()), &board, life);
        assert_eq!(LOOK * (count - WITHOUT), TURN);
        // The same outside of calls that wait: the kernel tells of its delay when it is over.
        board.slots()[0].doing.store(Doing(0).0, Ordering::Relaxed);
        let count = looks(&mut Verdict::new(Learnt::default()), &board, life);
        assert!(LOOK * (count - WITHOUT) >= LONGER, "{count}");
    }

    #[test]
    fn one_that_computes_is_blocked_by_what_it_computes() {
        let (_folder, board) = board(Doing(0));
        let half = |look: u32| {
            let used = LOOK * look / 2;
            Some(Processor { used, delayed: used, ready: true })
        };
        let mut verdict = Verdict::new(Learnt::default());
        let count = looks(&mut verdict, &board, half);
        assert!(u128::from(count) >= 2 * LONGER.as_millis(), "{count}");
    }

    #[test]
    fn one_that_has_ended_is_not_waited_for() {
        let (_folder, board) = board(Doing(0));
        assert!(Verdict::new(Learnt::default()).look(&board, LOOK, |_, _| None));
    }
}
