//! Hooks that a signal has interrupted, and what becomes of them.
//!
//! What a handler calls is the application's doing, not that of the call it interrupted: while it runs the marks of the
//! interrupted hook are kept here. They are put back when the handler returns. When it leaves by `longjmp`, or the thread
//! is found above the handler's place on the stack, the interrupted code never goes on: a record that it was writing is
//! given up, and a call that it was making is counted as lost.

use crate::recording::span::side_slots;
use crate::recording::thread::state::{Interruption, LEVELS, State, TOO_DEEP};
use core::sync::atomic::{Ordering, compiler_fence};

impl State {
    /// A signal has arrived, and its handler is about to be called from a function at `at`: takes away the marks of the
    /// interrupted hook. `None` when there is none.
    pub fn interrupt(&self, at: usize) -> Option<usize> {
        let amid_record = self.encoding.load(Ordering::Relaxed);
        let is_between = self.frame.get() == 0
            && self.suppressed_by.get() == self.resting.get()
            && self.mpi_frame.get() == 0;
        if is_between && !amid_record || self.suppressed_by.get() == TOO_DEEP {
            return None;
        }
        let level = self.interruptions.count.get();
        let now = Interruption {
            at,
            frame: self.frame.get(),
            suppressed_by: self.suppressed_by.get(),
            mpi_frame: self.mpi_frame.get(),
            mpi_span: self.mpi_span.get(),
            amid_record,
        };
        let place = self.interruptions.list.get(level)?;
        // Another signal may arrive in between, use the same place and leave it empty.
        loop {
            place.set(now);
            compiler_fence(Ordering::SeqCst);
            self.interruptions.count.set(level + 1);
            compiler_fence(Ordering::SeqCst);
            if place.get().at == at {
                break;
            }
        }
        let suppressed_by = if level + 1 < LEVELS { self.resting.get() } else { TOO_DEEP };
        self.frame.set(0);
        self.suppressed_by.set(suppressed_by);
        self.mpi_frame.set(0);
        Some(level)
    }

    /// The handler has returned: the interrupted hook goes on.
    pub fn resume(&self, level: usize) {
        // In a forked child there may be none.
        if self.interruptions.count.get() > level {
            self.put_back(level);
        }
    }

    fn put_back(&self, level: usize) -> Interruption {
        let place = &self.interruptions.list[level];
        let before = place.get();
        place.set(Interruption { at: 0, ..before });
        compiler_fence(Ordering::SeqCst);
        self.frame.set(before.frame);
        self.suppressed_by.set(before.suppressed_by);
        self.mpi_frame.set(before.mpi_frame);
        self.mpi_span.set(before.mpi_span);
        compiler_fence(Ordering::SeqCst);
        // Last: a signal that arrives before must not find the scratch memory of this level free.
        self.interruptions.count.set(level);
        before
    }

    /// Handlers that were left in a way that nobody has seen: a C++ exception, a change of contexts. Seen from a function at
    /// `frame`.
    pub fn leave_handlers_below(&self, frame: usize) {
        self.leave_handlers(|state, at| state.is_certainly_stale(at, frame));
    }

    /// True when a record was given up for it.
    pub fn leave_handlers(&self, is_left: impl Fn(&State, usize) -> bool) -> bool {
        let mut gave_up = false;
        while let Some(level) = self.interruptions.count.get().checked_sub(1)
            && self.interruptions.list[level].get().at != 0
            && is_left(self, self.interruptions.list[level].get().at)
        {
            if self.put_back(level).amid_record {
                self.give_up_record();
                gave_up = true;
            }
        }
        gave_up
    }

    /// The record that is being written will never be whole: that of a call which a handler has interrupted.
    pub fn give_up_record(&self) {
        if self.encoding.load(Ordering::Relaxed) {
            self.clear_abandoned();
            self.drop_one();
            self.encoding.store(false, Ordering::Relaxed);
            side_slots::append(self);
        }
    }
}
