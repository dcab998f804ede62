//! What a thread of a throttled job publishes at the boundaries of its calls. Only outermost calls count: what is called inside
//! them is theirs.

use crate::recording::thread::state::State;
use crate::throttle;
use syn_trace::board::Slot;
use syn_trace::calls::Call;

/// Where it does so.
pub(super) fn slot(state: &State) -> Option<&'static Slot> {
    // SAFETY: null, or a slot of the board, which stays mapped.
    unsafe { state.published.get().as_ref() }
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
