//! Semaphores of System V are taken after they were given, and messages of queues (of System V and POSIX) received after they
//! were sent, where that was waited for. Who waits for room sends after one was received.
//!
//! Messages have kinds and priorities: which one a waiter got is taken from the order of the calls.

use crate::graph::dependency::Dependencies;
use crate::rules::waking::{self, Waking};
use syn_plan::Rule;

/// Connects all waits for one semaphore or queue.
pub fn connect(waking: Waking, found: &mut Dependencies) {
    waking::connect(Rule::Ipc, waking, true, found);
}
