//! Edges as counters in memory that local processes share.

use super::{POLLS, Transport, Waiter, looks_alone};
use crate::clock::sleep_while;
use crate::sys::shared::SharedSlice;
use rustix::thread::futex::{self, Flags};
use rustix::thread::sched_yield;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use syn_plan::{EdgeId, Mpi, Plan};

/// Looks at the counter of one that begins or did not sleep in the recording, before it goes to sleep: a few microseconds.
const LOOKS: u32 = 100;
/// Further looks of one that did not sleep, with others' turns on the processor between them: some ten microseconds, in which what it
/// waits for should come.
const YIELDS: u32 = 100;
/// Looks of a rank that polls and has a processor of its own, before it gives that to others.
const LOOKS_ALONE: u32 = 5000;

/// One counter per edge, and for each the smallest count that somebody sleeps for.
pub struct Counters {
    counts: SharedSlice<AtomicU32>,
    /// `u32::MAX` less the smallest count slept for; 0 for nobody. It is never taken back: edges are used once.
    sleepers: SharedSlice<AtomicU32>,
    /// Whether who waits for it goes to sleep late.
    polled: Vec<bool>,
    /// See [`looks_alone`].
    alone: u32,
}

impl Counters {
    /// For the edges of `plan`; with `polls`, who waits for a message goes to sleep late.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(plan: &Plan, polls: bool) -> anyhow::Result<Counters> {
        let polled = plan.edges.iter().map(|edge| polls && edge.rule.is_message()).collect();
        let edges = plan.edges.len();
        let ranks = plan.programs.iter().filter(|program| program.thread.rank.is_some()).count();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let alone = looks_alone(LOOKS_ALONE, ranks, processors);
        let (counts, sleepers) = (SharedSlice::new(edges)?, SharedSlice::new(edges)?);
        Ok(Counters { counts, sleepers, polled, alone })
    }
}

impl Transport for Counters {
    fn call(&self, _program: usize, call: &Mpi) {
        unreachable!("local processes follow the order, and do not {call}")
    }

    fn signal(&self, edge: EdgeId) {
        let edge = edge as usize;
        let count = self.counts[edge].fetch_add(1, SeqCst) + 1;
        // Whoever announces itself after this load sees the new count before it sleeps.
        let sleeper = self.sleepers[edge].load(SeqCst);
        if sleeper != 0 && count >= u32::MAX - sleeper {
            // Waking fails for addresses only that are not mapped.
            let _ = futex::wake(&self.counts[edge], Flags::empty(), i32::MAX as u32);
        }
    }

    fn wait(&self, edge: EdgeId, count: u32, who: Waiter) {
        let edge = edge as usize;
        let counter = &self.counts[edge];
        let (alone, yields) = match (self.polled[edge], who) {
            (true, _) => (self.alone, POLLS),
            (false, Waiter::Slept) => (0, 0),
            (false, Waiter::Stayed) => (LOOKS, YIELDS),
            (false, Waiter::Begins) => (LOOKS, 0),
        };
        for look in 0..alone + yields {
            if counter.load(SeqCst) >= count {
                return;
            }
            if look < alone {
                std::hint::spin_loop();
            } else {
                sched_yield();
            }
        }
        if counter.load(SeqCst) >= count {
            return;
        }
        self.sleepers[edge].fetch_max(u32::MAX - count, SeqCst);
        loop {
            let now = counter.load(SeqCst);
            if now >= count {
                return;
            }
            // Returns at once when the counter has changed; any other return is looked into above.
            let _ = futex::wait(counter, Flags::empty(), now, None);
        }
    }

    fn wait_until(&self, edge: EdgeId, count: u32, deadline_ns: u64) -> bool {
        let edge = edge as usize;
        if self.counts[edge].load(SeqCst) >= count {
            return true;
        }
        self.sleepers[edge].fetch_max(u32::MAX - count, SeqCst);
        loop {
            let now = self.counts[edge].load(SeqCst);
            if now >= count || !sleep_while(&self.counts[edge], Flags::empty(), now, deadline_ns) {
                return now >= count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{scope, sleep};
    use std::time::Duration;
    use syn_plan::{Edge, Rule};

    #[test]
    fn whoever_waits_goes_on_behind_the_signals_whether_they_come_before_or_while_it_sleeps() {
        let rules = [Rule::Pipe, Rule::ThreadCreate, Rule::Message];
        let edges: Vec<Edge> = rules.iter().map(|&rule| Edge::new(rule, 2)).collect();
        let plan = Plan { edges, ..Plan::default() };
        for who in [Waiter::Slept, Waiter::Stayed, Waiter::Begins] {
            let counters = Counters::new(&plan, false).expect("memory");
            for edge in 0..rules.len() as EdgeId {
                counters.signal(edge);
                counters.wait(edge, 1, who);
                assert_eq!(
                    counters.sleepers[edge as usize].load(SeqCst),
                    0,
                    "what has come is not slept for"
                );
                scope(|scope| {
                    let waits = scope.spawn(|| counters.wait(edge, 2, who));
                    while counters.sleepers[edge as usize].load(SeqCst) == 0 {
                        sleep(Duration::from_millis(1));
                    }
                    assert!(!waits.is_finished(), "one signal is not two");
                    counters.signal(edge);
                });
            }
        }
    }
}
