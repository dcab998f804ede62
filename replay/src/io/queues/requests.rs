//! What requests are, and what became of them.

use super::super::transfer::Memory;
use rustix::io::{Errno, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Tries to hand over what the kernel has no room for at the moment, a little apart.
const TRIES: u32 = 1000;
const APART: Duration = Duration::from_micros(100);

/// What a request is to do.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// So many bytes from a place on; below 0, from the position.
    Read(u64, i64),
    /// The same.
    Write(u64, i64),
    /// fsync(2), or fdatasync(2).
    Sync { data: bool },
}

impl What {
    /// What it reads into, or writes from; nothing of a sync.
    pub(super) fn pieces(self, memory: &Memory) -> Vec<libc::iovec> {
        match self {
            What::Read(bytes, _) => memory.to_read_into(bytes),
            What::Write(bytes, _) => memory.to_write_from(bytes),
            What::Sync { .. } => Vec::new(),
        }
    }
}

/// What became of requests.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// By how much they differ from the recorded ones together.
    pub(super) deviation: i64,
    /// The first failure.
    pub(super) failed: Option<Errno>,
}

impl Results {
    pub(super) fn add(&mut self, others: Results) {
        self.deviation = self.deviation.saturating_add(others.deviation);
        self.failed = self.failed.or(others.failed);
    }

    pub(super) fn see(&mut self, expected: i64, found: i64) {
        if found < 0 && expected >= 0 {
            let number = i32::try_from(-found).unwrap_or(libc::EIO);
            self.failed.get_or_insert(Errno::from_raw_os_error(number));
        } else {
            self.deviation = self.deviation.saturating_add(found.saturating_sub(expected));
        }
    }
}

/// Tries again while the kernel says that it has no room at the moment, or was interrupted.
pub(super) fn patiently<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 0..TRIES {
        match attempt() {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN | Errno::BUSY) => std::thread::sleep(APART),
            outcome => return outcome,
        }
    }
    attempt()
}

/// Whatever became of who held it before.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
