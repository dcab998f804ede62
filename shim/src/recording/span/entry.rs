//! How a call is entered.

use super::{begin, holding};
use crate::recording::beginning;
use crate::recording::process;
use crate::recording::thread::stack::frame_address;
use crate::recording::thread::state::{Span, State};
use crate::recording::thread::{self, current};
use crate::throttle;
use syn_trace::calls::Call;
use syn_trace::record::Flags;

/// Enters a call. `flags` is [`record::INNER`] where libc itself is the caller. `None`: only make the real call.
#[inline(always)]
pub fn enter(call: Call, flags: Flags) -> Option<Span> {
    if process::leaves_out(call) {
        return None;
    }
    let frame = frame_address();
    let state = match current::state() {
        Some(state) if !state.cursor.get().is_null() => state,
        _ => {
            beginning::begin();
            let state = thread::obtain(frame)?;
            if process::leaves_out(call) {
                return None; // The process has only just found out what it is.
            }
            state
        }
    };
    open(state, frame, call, flags)
}

/// Enters a call that may find nothing, as one of a long row of such calls for which the clock is not read; see
/// [`count_untimed`](super::append::count_untimed). `None`: it is to be entered as others are.
#[inline(always)]
pub fn enter_untimed(call: Call) -> Option<&'static State> {
    // One that counts a row is whole.
    let state = current::state()?;
    // SAFETY: nothing holds on to it here.
    let may = unsafe { state.memory() }.may_go_untimed(call);
    if !may || state.frame.get() != 0 || state.suppressed_by.get() != 0 {
        return None;
    }
    state.frame.set(frame_address());
    state.set_untimed();
    Some(state)
}

#[inline(always)]
fn open(state: &State, frame: usize, call: Call, flags: Flags) -> Option<Span> {
    if state.suppressed_by.get() != 0 && state.is_suppressed(frame) {
        return None;
    }
    if throttle::is_on() && state.frame.get() == 0 {
        holding::before(state, frame, call, flags);
    }
    begin(state, frame, call, flags)
}
