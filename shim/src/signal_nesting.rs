//! Hooks that a signal has interrupted, and what becomes of them.
//!
//! What a handler calls is the application's doing, not that of the call it interrupted: while it runs the marks of the
//! interrupted hook are kept here. They are put back when the handler returns. When it leaves by `longjmp`, or the thread
//! is found above the handler's place on the stack, the interrupted code never goes on: a record that it was writing is
//! given up, and a call that it was making is counted as lost.

use crate::span::{self, Span};
use crate::thread::State;
use core::sync::atomic::{Ordering, compiler_fence};

/// Interruptions of interruptions that are kept; the hooks of further ones look like those that they interrupted.
const MOST: usize = 8;

/// One of them.
#[derive(Clone, Copy)]
#[repr(C)]
struct Interruption {
    /// The stack address of the function that calls the handler; 0 while the rest is being filled in.
    at: usize,
    frame: usize,
    suppressed_by: usize,
    mpi_frame: usize,
    mpi_span: Span,
    /// A record was being written.
    amid_record: bool,
}

/// The latest last. All zero bytes are a valid, empty one.
#[repr(C)]
pub struct Interruptions {
    count: usize,
    list: [Interruption; MOST],
}

impl Interruptions {
    /// True when no handler is under way that has interrupted a hook.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl State {
    /// A signal has arrived, and its handler is about to be called from a function at `at`: takes away the marks of the
    /// interrupted hook. `None` when there is none.
    pub fn interrupt(&mut self, at: usize) -> Option<usize> {
        let amid_record = self.encoding.load(Ordering::Relaxed);
        if self.frame == 0 && self.suppressed_by == self.resting && self.mpi_frame == 0 && !amid_record {
            return None;
        }
        let level = self.interruptions.count;
        let now = Interruption {
            at,
            frame: self.frame,
            suppressed_by: self.suppressed_by,
            mpi_frame: self.mpi_frame,
            mpi_span: self.mpi_span,
            amid_record,
        };
        let place = self.interruptions.list.get_mut(level)?;
        // Another signal may arrive in between, use the same place and leave it empty.
        loop {
            *place = now;
            compiler_fence(Ordering::SeqCst);
            self.interruptions.count = level + 1;
            compiler_fence(Ordering::SeqCst);
            // SAFETY: a handler may have written to it.
            if unsafe { (&raw const place.at).read_volatile() } == at {
                break;
            }
        }
        (self.frame, self.suppressed_by, self.mpi_frame) = (0, self.resting, 0);
        Some(level)
    }

    /// The handler has returned: the interrupted hook goes on.
    pub fn resume(&mut self, level: usize) {
        // In a forked child there may be none.
        if self.interruptions.count > level {
            self.put_back(level);
        }
    }

    fn put_back(&mut self, level: usize) -> Interruption {
        let place = &mut self.interruptions.list[level];
        let before = *place;
        place.at = 0;
        compiler_fence(Ordering::SeqCst);
        self.interruptions.count = level;
        (self.frame, self.suppressed_by) = (before.frame, before.suppressed_by);
        (self.mpi_frame, self.mpi_span) = (before.mpi_frame, before.mpi_span);
        before
    }

    /// The program leaves everything below `target` on its stack, by `longjmp`.
    pub fn jump(&mut self, target: usize) {
        let gave_up = self.leave_handlers(|state, at| state.is_stale(at, target));
        if self.frame != 0 && self.is_stale(self.frame, target) {
            self.frame = 0;
            span::tell_left(self);
            if !gave_up {
                self.drop_one();
            }
        }
        if self.mpi_frame != 0 && self.is_stale(self.mpi_frame, target) {
            self.mpi_frame = 0;
        }
        if self.suppressed_by != 0 {
            self.is_suppressed(target);
        }
    }

    /// Handlers that were left in a way that nobody has seen: a C++ exception, a change of contexts. Seen from a function at
    /// `frame`.
    pub fn leave_handlers_below(&mut self, frame: usize) {
        self.leave_handlers(|state, at| state.is_certainly_stale(at, frame));
    }

    /// True when a record was given up for it.
    fn leave_handlers(&mut self, is_left: impl Fn(&State, usize) -> bool) -> bool {
        let mut gave_up = false;
        while let Some(level) = self.interruptions.count.checked_sub(1)
            && self.interruptions.list[level].at != 0
            && is_left(self, self.interruptions.list[level].at)
        {
            if self.put_back(level).amid_record {
                self.give_up_record();
                gave_up = true;
            }
        }
        gave_up
    }

    /// The record that is being written will never be whole: that of a call which a handler has interrupted.
    pub fn give_up_record(&mut self) {
        if self.encoding.load(Ordering::Relaxed) {
            self.clear_abandoned();
            self.drop_one();
            self.encoding.store(false, Ordering::Relaxed);
            span::append_side_slots(self);
        }
    }
}
