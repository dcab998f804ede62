//! What a thread of a throttled job publishes at the boundaries of its calls, and the record of a hold. Only outermost calls
//! count: what is called inside them is theirs.

use crate::recording::span::begin;
use crate::recording::thread::state::State;
use crate::throttle;
use syn_trace::board::Slot;
use syn_trace::calls::Call;
use syn_trace::record::Flags;

fn slot(state: &State) -> Option<&'static Slot> {
    // SAFETY: null, or a slot of the board, which stays mapped.
    unsafe { state.published.get().as_ref() }
}

/// A call is about to be made: holds it if it is to be, and publishes that the thread is in it.
#[cold]
#[inline(never)]
pub fn before(state: &State, frame: usize, call: Call, flags: Flags) {
    let Some(slot) = slot(state) else { return };
    // A handler that is held would hold what it has interrupted.
    if throttle::is_to_hold(slot, call) && state.interruptions.is_empty() {
        hold(state, slot, frame, call, flags);
    }
    throttle::enter(slot, call);
}

/// Its record stands before that of the call: so long is neither part of the gap nor of the call.
fn hold(state: &State, slot: &Slot, frame: usize, call: Call, flags: Flags) {
    let Some(mut span) = begin(state, frame, Call::Held, flags) else { return };
    let reason = throttle::hold(slot);
    span.returned();
    span.leave(Call::Held, false, 0, &[call as i64, reason as i64], &[], &[]);
}

/// The call is on record.
#[cold]
#[inline(never)]
pub fn advance(state: &State, call: Call, failed: bool, outcome: i64, numbers: &[i64]) {
    if let Some(slot) = slot(state)
        && call != Call::Held
        && call.advances(failed, outcome, numbers)
    {
        throttle::advance(slot);
    }
}

/// The thread computes again.
#[cold]
#[inline(never)]
pub fn after(state: &State) {
    if let Some(slot) = slot(state) {
        throttle::leave(slot);
    }
}
