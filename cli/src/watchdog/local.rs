//! One host's part: its board, and what is found out about its threads.

use super::link::Seen;
use super::verdict::{Processor, Verdict, held};
use rustix::thread::futex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use syn_trace::board::{Board, BoardFile, Doing, Slot, hold};
use syn_trace::reader::thread_state;

/// A look that comes late counts for no more: this process, or the whole job, has stood still.
const MOST_PASSED: Duration = Duration::from_millis(2);

/// The board of this host, and the verdict about its threads.
pub struct Local {
    board: BoardFile,
    verdict: Verdict,
    /// Since the look before, while somebody is held.
    before: Option<Instant>,
}

impl Local {
    /// With nobody held.
    pub fn new(board: BoardFile, verdict: Verdict) -> Local {
        Local { board, verdict, before: None }
    }

    /// Tells the threads here that somebody watches.
    pub fn live(&self) {
        self.board.heartbeat.fetch_add(1, Ordering::Relaxed);
    }

    /// Tells them that nobody does any more: nobody is held from now on.
    pub fn give_up(&self) {
        self.board.lost.store(1, Ordering::Relaxed);
    }

    /// Looks at the board. Everybody is watched while somebody is held, here or elsewhere.
    pub fn look(&mut self, held_elsewhere: bool) -> Seen {
        let is_held = held(&self.board).next().is_some();
        let mut seen = Seen { held: is_held, quiet: false, progress: self.progress() };
        if !is_held && !held_elsewhere {
            self.before = None;
            return seen;
        }
        let now = Instant::now();
        match self.before.replace(now) {
            None => {
                let processors = std::thread::available_parallelism().map_or(1, usize::from);
                self.verdict.begin();
                self.verdict.crowd = (self.board.slots().len() / processors).clamp(1, 16) as u32;
            }
            Some(before) => {
                let passed = now.duration_since(before).min(MOST_PASSED);
                seen.quiet = self.verdict.look(&self.board, passed, life);
            }
        }
        seen
    }

    /// How far all threads have come that are not to be held.
    fn progress(&self) -> u64 {
        let throttled = self.board.throttled.load(Ordering::Relaxed);
        let others = self.board.slots().iter().filter(|slot| slot.node.load(Ordering::Relaxed) != throttled);
        others.fold(0, |sum: u64, slot| {
            sum.wrapping_add(1 + Doing(slot.doing.load(Ordering::Acquire)).progress())
        })
    }

    /// Lets everybody go who is held.
    pub fn release(&mut self) {
        held(&self.board).for_each(release);
        self.before = None;
    }
}

/// Lets a held thread go, if it has not gone by itself.
fn release(slot: &Slot) {
    let (from, to) = (hold::HELD, hold::RELEASED);
    if slot.hold.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        let _ = futex::wake(&slot.hold, futex::Flags::empty(), 1);
    }
}

/// What the kernel says of a thread (proc(5)): `/proc/PID/task/TID/stat` has its state, `schedstat` its time on a processor and its time
/// waiting for one, nanoseconds. Of a zombie there is no more to come.
fn life(pid: u32, tid: u32) -> Option<Processor> {
    let state = thread_state(pid, tid)?;
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    let mut times = text.split(' ').map(|word| Duration::from_nanos(word.trim().parse().unwrap_or(0)));
    Some(Processor { used: times.next()?, delayed: times.next()?, ready: state == 'R' })
}

/// The board's counters, for the statement about a run.
pub fn holds(board: &Board) -> [u32; 3] {
    [0, 1, 2].map(|reason: usize| board.holds[reason].load(Ordering::Relaxed))
}
