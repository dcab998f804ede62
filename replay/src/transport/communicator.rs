//! A communicator that several threads use, and how one waits for it to have something.

#![allow(unsafe_code)]

use crate::clock;
use mpi::topology::SimpleCommunicator;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Between two looks of a rank that is not to take processor time while it waits.
pub(super) const PAUSE_NS: u64 = 20_000;

/// A communicator that the threads of a rank use one at a time.
pub struct Shared(pub(crate) Mutex<SimpleCommunicator>);

// SAFETY: a communicator is a handle that means the same in every thread. MPI is initialised with at least
// MPI_THREAD_SERIALIZED wherever a rank has more than one thread, and the lock lets one call in at a time.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Shares `communicator` among threads.
    pub fn new(communicator: SimpleCommunicator) -> Shared {
        Shared(Mutex::new(communicator))
    }

    /// The communicator, for one call.
    pub fn lock(&self) -> MutexGuard<'_, SimpleCommunicator> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leaves the processor to others for a moment.
pub fn pause() {
    clock::sleep_until(clock::now_ns() + PAUSE_NS);
}
