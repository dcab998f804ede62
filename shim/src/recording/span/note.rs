//! Records that belong to no real call, or stand before one.

use super::processor::{Boundary, look_before};
use crate::core::clock;
use crate::core::preemption::Mark;
use crate::recording::span::append;
use crate::recording::thread::current;
use crate::recording::thread::state::{Entered, State};
use core::sync::atomic::Ordering;
use syn_trace::calls::Call;
use syn_trace::record::{self, Flags, Times};

/// Writes a record that belongs to no real call, or that stands before a call which may not return.
#[unsafe(link_section = ".text.startup")]
pub fn write<const N: usize>(
    state: &State,
    call: Call,
    mut flags: Flags,
    numbers: &[i64; N],
    texts: &[&[u8]],
) {
    let kept = Mark::Told.stands();
    if state.frame.get() != 0 {
        tell_entered(state);
    }
    let now = clock::ticks();
    let mut times = Times::default();
    if !kept {
        let looked = look_before(state, now, Boundary::WithoutLock);
        flags |= looked.flags;
        times.cpu_before = looked.cpu;
    }
    append::write(state, call, flags, times, now, 0, numbers, texts, &[]);
}

/// Says in this thread's trace what cannot be observed; false if it has none.
pub fn unobserved(what: &[u8]) -> bool {
    let state = current::state();
    if let Some(state) = state {
        write(state, Call::Unobserved, 0, &[], &[what]);
    }
    state.is_some()
}

/// Tells that the call under way was entered, before something inside it is recorded.
#[inline(always)]
pub fn tell_entered(state: &State) {
    if state.entered.get().start != 0 && !state.encoding.load(Ordering::Relaxed) {
        write_entered(state);
    }
}

#[cold]
#[inline(never)]
#[unsafe(link_section = ".text.startup")]
fn write_entered(state: &State) {
    const OF_ENTRY: Flags = record::INNER | record::CPU_BEFORE | record::WAITED_BEFORE | record::LOST_BEFORE;
    let Entered { start, cpu, call, flags } = state.entered.take();
    let times = Times { cpu_before: cpu, ..Times::default() };
    append::write(state, Call::Entered, flags & OF_ENTRY, times, start, 0, &[i64::from(call)], &[], &[]);
}

/// The calls under way have been left by a jump: what follows is not inside them. Those that have told of their entry say so.
pub fn tell_left(state: &State) {
    let was_told = state.entered.take().start == 0;
    if was_told && !state.encoding.load(Ordering::Relaxed) {
        write(state, Call::Entered, 0, &[0], &[]);
    }
}
