//! `SIGNAL` and `WAIT` between programs, wherever they run.

#[cfg(feature = "mpi")]
pub mod messages;
pub mod shared;

use crate::args::Waiting;
use syn_plan::{EdgeId, Plan, Rule};

/// Looks at a counter before a waiter goes to sleep where the application polled, with others' turns on the processor between
/// them: 10 ms on a processor that nobody else wants, beside which being woken costs nothing. With fewer looks, one waiter
/// that sleeps and is woken late lets those that wait for it go to sleep as well.
const POLLS: u32 = 20_000;

/// The plan's edges, as counters that all programs see.
pub trait Transport: Sync {
    /// Adds one to an edge.
    fn signal(&self, edge: EdgeId);
    /// Returns when an edge has had `count` signals. One that did not sleep for them in the recording does not go to sleep at
    /// once: it would be woken for every single message where the application took several at a time.
    fn wait(&self, edge: EdgeId, count: u32, slept: bool);
}

/// A transport without edges, for programs that wait for nobody.
#[derive(Debug)]
pub struct Nobody;

impl Transport for Nobody {
    fn signal(&self, _edge: EdgeId) {}
    fn wait(&self, _edge: EdgeId, _count: u32, _slept: bool) {}
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

/// True for what the message library waits for; the rest waits in the kernel.
pub fn is_message(rule: Rule) -> bool {
    matches!(rule, Rule::Message | Rule::Rendezvous | Rule::Collective)
}
