//! Semaphores of System V are taken after they were given, and messages of queues (of System V and POSIX) received after they
//! were sent, where that was waited for. Who waits for room sends after one was received, and who waits for a semaphore to be 0
//! after all have taken what there was of it (semop(2)).
//!
//! Messages have kinds and priorities: which one a waiter got is taken from the order of the calls.

use crate::graph::dependency::{Dependencies, Span};
use crate::rules::by_entry::ByEntry;
use crate::rules::waking::{self, Waking};
use syn_plan::Rule;

/// Connects all waits for one semaphore or queue.
pub fn connect(waking: Waking, found: &mut Dependencies) {
    waking::connect(Rule::Ipc, waking, true, found);
}

/// All that has to do with one semaphore being 0.
#[derive(Debug, Default)]
pub struct Zero {
    /// Calls that may have waited for it.
    pub waits: Vec<Span>,
    /// Calls that took of the semaphore.
    pub taken: Vec<Span>,
}

/// Connects waits for a semaphore to be 0 with those that took of it.
pub fn connect_zero(zero: Zero, found: &mut Dependencies) {
    let taken = ByEntry::new(zero.taken, |taking| *taking);
    for wait in zero.waits {
        taken.connect(Rule::Ipc, wait, |_| true, |_| false, found);
    }
}
