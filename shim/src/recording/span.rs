//! One call under way: from the entry of a hook to its record.

pub mod append;
mod entry;
mod holding;
pub mod note;
pub mod processor;
pub mod published;
pub mod side_slots;
pub mod signal_nesting;

use crate::core::preemption::Mark;
use crate::core::{clock, sys};
use crate::recording::thread::scratch::Scratch;
use crate::recording::thread::state::Entered;
pub use crate::recording::thread::state::Span;
use crate::recording::thread::state::State;
use crate::throttle;
use core::sync::atomic::Ordering;
pub use entry::{enter, enter_untimed};
use note::{tell_entered, tell_left};
use processor::{Boundary, look_after, look_before};
use syn_trace::calls::Call;
use syn_trace::record::{self, Flags, Times};

/// Behind one of 16 calls it is noted what recording took: those that return when these bits of the counter are 0. Its last
/// bits may always be the same.
const SAMPLE_SHIFT: u32 = 6;
const SAMPLE_MASK: u64 = 15;
/// A part of the time between two readings of the CPU clock, about 6 µs: where the mark does not tell that the thread has kept its
/// processor, recording took no longer, or it was lost.
const SAMPLE_PART: u64 = 8;

/// Enters a call of a thread that records it.
#[inline(always)]
fn begin(state: &State, frame: usize, call: Call, mut flags: Flags) -> Option<Span> {
    let kept = Mark::Told.stands();
    let outer_frame = if state.frame.get() == 0 { 0 } else { outer_frame(state, frame) };
    if outer_frame != 0 {
        flags |= record::INNER;
        tell_entered(state);
    }
    state.frame.set(frame);
    let mut start = clock::ticks();
    let mut cpu_before = 0;
    if !kept {
        let looked = look_before(state, start, Boundary::entry_of(call));
        (flags, cpu_before) = (flags | looked.flags, looked.cpu);
        if looked.flags & record::CPU_BEFORE != 0 {
            start = clock::ticks();
        }
    }
    state.entered.set(Entered { start, cpu: cpu_before, call: call as u16, flags });
    Some(Span::new(state, start, cpu_before, flags, outer_frame))
}

/// A call has returned at `end`, and its record is written: what that took. What readings of the CPU clock take is told by
/// itself.
#[cold]
#[inline(never)]
#[unsafe(link_section = ".text.startup")]
fn note_cost(state: &State, end: u64, with_text: usize) {
    let took = clock::ticks().saturating_sub(end);
    // The host of a virtual machine may have taken the processor: the mark does not show that.
    let longest = clock::rarely_ticks() / if Mark::Told.stands() { 1 } else { SAMPLE_PART };
    if !state.cursor.get().is_null() && state.cpu_ticks.get() < end && took < longest {
        state.header().behind[with_text].add(took);
    }
}

/// The frame of the hook that encloses this one, 0 if it is only a leftover.
#[cold]
fn outer_frame(state: &State, frame: usize) -> usize {
    // A signal handler that was not hooked may have interrupted the writing: only a certain answer counts.
    if state.encoding.load(Ordering::Relaxed) {
        if state.is_certainly_stale(state.frame.get(), frame) {
            state.give_up_record();
            state.frame.set(0);
        }
    } else if state.is_stale(state.frame.get(), frame) {
        state.frame.set(0);
        tell_left(state);
    }
    state.frame.get()
}

impl Span {
    /// Writes the record and leaves the call. `outcome` is the result, or errno when `failed`.
    #[inline(always)]
    pub fn leave<const N: usize>(
        mut self,
        call: Call,
        failed: bool,
        outcome: i64,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    ) {
        self.record(call, failed, outcome, numbers, texts, list);
        if self.end >> SAMPLE_SHIFT & SAMPLE_MASK == 0 {
            note_cost(self.state(), self.end, usize::from(!texts.is_empty()));
        }
        self.forget();
    }

    /// Writes a record and stays in the call: a further one of the same call takes no time.
    #[inline(always)]
    pub fn record<const N: usize>(
        &mut self,
        call: Call,
        failed: bool,
        outcome: i64,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    ) {
        let state = self.state();
        if state.cursor.get().is_null() {
            return; // A forked child came back through a hook that its parent had entered.
        }
        let mut flags = self.flags;
        let mut times = Times {
            took: clock::units(self.end - self.start),
            cpu_before: self.cpu_before,
            ..Times::default()
        };
        if state.entered.get().start != self.start {
            // What lay before the call is told already.
            flags &= !(record::CPU_BEFORE | record::WAITED_BEFORE | record::LOST_BEFORE);
        }
        if !Mark::Told.stands() {
            let looked = look_after(state, self.end, Boundary::return_of(call));
            flags |= looked.flags;
            times.cpu_after = looked.cpu;
        }
        state.forget_entered();
        if failed {
            flags |= record::FAILED;
        } else if let Some(position) = call.requested()
            && position < N
            && numbers[position] == outcome
        {
            flags |= record::COMPLETE;
        }
        append::write(state, call, flags, times, self.end, outcome, numbers, texts, list);
        if throttle::is_on() && self.outer_frame == 0 {
            published::advance(state, call, failed, outcome, numbers);
        }
        self.start = self.end;
        self.flags &= record::INNER;
    }

    /// Before a real call in which nothing else is to be recorded: it makes its system calls through functions that
    /// are hooked themselves, or runs a child in our memory. Ends with the call.
    #[inline(always)]
    pub fn quiet(&mut self) {
        self.state().suppressed_by.set(self.state().frame.get());
        self.quiet = true;
    }

    /// Notes the end of the real call; what follows (reading arguments) is not part of it.
    #[inline(always)]
    pub fn returned(&mut self) {
        self.end = clock::ticks();
        if self.quiet {
            self.state().suppressed_by.set(self.state().resting.get());
        }
    }

    /// As [`Span::returned`], for a call that [`enter_untimed`] may have entered.
    #[inline(always)]
    pub fn poll_returned(&mut self) {
        if self.is_untimed() {
            self.found_after_all(clock::ticks());
        } else {
            self.returned();
        }
    }

    /// A call without a time has found something, at `end`. It is taken to be as long as those before it were on average.
    #[cold]
    #[inline(never)]
    fn found_after_all(&mut self, end: u64) {
        let state = self.state();
        let since = end.saturating_sub(state.last_end.get());
        // SAFETY: nothing holds on to it here.
        let mean_took = unsafe { state.memory() }.mean_took();
        let start = end - clock::ticks_of(mean_took).min(since);
        *self = Span::new(state, start, 0, 0, 0);
        self.end = end;
        if !Mark::Told.stands() {
            let looked = look_before(state, end, Boundary::WithoutLock);
            self.flags |= looked.flags;
            self.cpu_before = looked.cpu;
        }
        // Its call does not matter: it is recorded next.
        state.entered.set(Entered { start, ..Entered::default() });
    }

    /// Leaves the call without a record.
    #[inline(always)]
    pub fn forget(self) {
        let state = self.state();
        state.frame.set(self.outer_frame);
        state.forget_entered();
        if throttle::is_on() && self.outer_frame == 0 {
            published::after(state);
        }
        if self.flags & record::PROCESSOR_FLAGS != 0 {
            // What a look has shown is on no record: the next one is to find the same.
            Mark::take_down();
            if self.flags & record::WAITED_BEFORE != 0 {
                state.switches.set(u64::MAX);
            }
        }
    }

    /// True for one that nobody has entered: all zero.
    pub fn is_none(&self) -> bool {
        self.state.is_null()
    }

    /// The thread's scratch memory, for this call.
    #[inline]
    pub fn scratch(&self) -> &'static Scratch {
        self.state().scratch()
    }

    /// The flags of a record that stands before the call, because it may not return.
    pub fn began(&self) -> Flags {
        record::BEGAN | self.flags & record::INNER
    }

    /// The thread's state.
    #[inline(always)]
    pub fn state(&self) -> &'static State {
        // SAFETY: it was a reference when the call was entered, and the state lives as long as the thread records.
        unsafe { &*self.state }
    }
}

/// errno as it is now, for a record of a failure.
#[inline(always)]
pub fn errno() -> i64 {
    i64::from(sys::errno())
}
