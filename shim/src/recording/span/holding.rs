//! A hold before a call of a throttled job, and its record.

use super::begin;
use super::published::slot;
use crate::recording::thread::state::State;
use crate::throttle;
use syn_trace::board::Slot;
use syn_trace::calls::Call;
use syn_trace::record::Flags;

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
