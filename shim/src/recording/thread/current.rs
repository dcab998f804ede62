//! Which state is this thread's.

use super::state::State;
use crate::core::tls;
use core::ptr::{with_exposed_provenance_mut, without_provenance_mut};

/// In place of a state while it is being made: calls in between are not recorded.
pub const MAKING: *mut State = without_provenance_mut(1);
/// In place of a state once the thread has ended for us.
pub const ENDED: *mut State = without_provenance_mut(2);

/// Null before the first use, one of the constants above, or this thread's state.
#[inline(always)]
pub fn get() -> *mut State {
    with_exposed_provenance_mut(tls::get())
}

/// Replaces it.
#[inline(always)]
pub fn set(state: *mut State) {
    tls::set(state.expose_provenance());
}

/// This thread's state, if it has one: only this thread and its signal handlers use it.
#[inline(always)]
pub fn state() -> Option<&'static State> {
    let state = get();
    // SAFETY: a pointer that is none of the marks points to this thread's mapping, which lives as long as the thread records.
    is_state(state).then(|| unsafe { &*state })
}

/// The id of this thread, if it has a trace.
pub fn thread_id() -> Option<u32> {
    // In a forked child without a trace of its own the cursor is null.
    state().filter(|state| !state.cursor.get().is_null()).map(|state| state.header().tid)
}

/// True for a value that points to a state.
#[inline(always)]
fn is_state(state: *mut State) -> bool {
    state as usize > ENDED as usize
}
