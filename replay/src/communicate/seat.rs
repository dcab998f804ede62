//! What the thread of a program does, for those that look whether it gets on.

use std::sync::atomic::{AtomicU64, Ordering};
use syn_plan::Mpi;

/// How many calls a thread has begun, whether it is in one, and its number in its table. Written by that thread alone, and in a
/// cache line of its own.
#[repr(align(64))]
#[derive(Debug, Default)]
pub struct Seat(AtomicU64);

impl Seat {
    const INSIDE: u64 = 1 << 8;
    const ONE: u64 = 1 << 9;

    /// It begins a call; what it is to leave with.
    #[inline]
    pub fn enter(&self, call: &Mpi) -> u64 {
        let calls = (self.0.load(Ordering::Relaxed) & !(Seat::ONE - 1)) + Seat::ONE;
        self.0.store(calls | Seat::INSIDE | u64::from(call.number()), Ordering::Relaxed);
        calls
    }

    /// The call is over.
    #[inline]
    pub fn leave(&self, calls: u64) {
        self.0.store(calls, Ordering::Relaxed);
    }

    /// The call that it is in: which of all the thread's, and its number in its table.
    pub fn inside(&self) -> Option<(u64, u8)> {
        let word = self.0.load(Ordering::Relaxed);
        (word & Seat::INSIDE != 0).then_some((word / Seat::ONE, word as u8))
    }
}
