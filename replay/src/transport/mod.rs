//! `SIGNAL` and `WAIT` between programs, wherever they run.

#[cfg(feature = "mpi")]
pub mod communicator;
#[cfg(any(feature = "mpi", test))]
pub mod listeners;
#[cfg(feature = "mpi")]
pub mod messages;
pub mod shared;

use crate::mode::Waiting;
use syn_plan::{EdgeId, Mpi, Plan};

/// Looks at a counter before a waiter goes to sleep where the application polled, with others' turns on the processor between
/// them: 10 ms on a processor that nobody else wants, beside which being woken costs nothing. With fewer looks, one waiter
/// that sleeps and is woken late lets those that wait for it go to sleep as well.
const POLLS: u32 = 20_000;

/// How often a rank that polls looks before it lets others have the processor between two looks, some hundred microseconds; `looks`
/// where each rank of the machine may have a processor of its own, and never where there are more ranks than processors. MPI does the
/// same: beside another program each turn that is given away comes back milliseconds later.
fn looks_alone(looks: u32, ranks: usize, processors: usize) -> u32 {
    if ranks > processors { 0 } else { looks }
}

/// What is known of somebody who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiter {
    /// It slept in the recording, and sleeps at once. A look in place of the sleep of one of two that take turns makes its answer come
    /// sooner, which takes the place of the other one's sleep: such pairs were a third faster than the application
    /// (`bench/runs/2026-11-28-sleeps`).
    Slept,
    /// It did not sleep, and does not at once: it would be woken for every single message where the application took several at a time.
    Stayed,
    /// It has just been made, and who made it is about to let it begin: it looks for a moment. It does not give way, as some hundred
    /// that do so would take the others' processor.
    Begins,
}

/// The plan's edges, as counters that all programs see.
pub trait Transport: Sync {
    /// Adds one to an edge.
    fn signal(&self, edge: EdgeId);
    /// Returns when an edge has had `count` signals.
    fn wait(&self, edge: EdgeId, count: u32, who: Waiter);
    /// The same, but not after the monotonic clock shows `deadline_ns`. False if it came to that.
    fn wait_until(&self, edge: EdgeId, count: u32, deadline_ns: u64) -> bool;
    /// Makes a call of MPI of this program; only the ranks of an MPI job are asked to.
    fn call(&self, program: usize, call: &Mpi);
    /// The program of the calling thread has ended.
    fn ended(&self) {}
    /// Whether somebody signals an edge who is not inside a call of MPI on a file.
    fn comes_from_outside(&self, _edge: EdgeId) -> bool {
        true
    }
}

/// A transport without edges, for programs that wait for nobody.
#[derive(Debug)]
pub struct Nobody;

impl Transport for Nobody {
    fn signal(&self, _edge: EdgeId) {}
    fn wait(&self, _edge: EdgeId, _count: u32, _who: Waiter) {}
    fn wait_until(&self, _edge: EdgeId, _count: u32, _deadline_ns: u64) -> bool {
        true
    }
    fn call(&self, _program: usize, _call: &Mpi) {}
}

/// Whether messages are waited for by polling: it takes processor time from other ranks, and so is a part of how
/// fast the application is.
pub fn polls(plan: &Plan, waiting: Waiting) -> bool {
    match waiting {
        Waiting::Auto => plan.about.busy_waiting > 0.5,
        Waiting::Spin => true,
        Waiting::Block => false,
    }
}

#[cfg(test)]
mod tests {
    use super::looks_alone;

    #[test]
    fn ranks_that_share_processors_take_turns_at_once() {
        assert_eq!([2, 3, 4].map(|ranks| looks_alone(7, ranks, 3)), [7, 7, 0]);
    }
}
