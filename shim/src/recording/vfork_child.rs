//! What the child of a `vfork`, which has its parent's memory, leaves there for its parent: the path of its exec call.

use crate::recording::span::Span;
use crate::recording::thread::current;
use crate::recording::thread::state::VFORK_CHILD;
use core::ffi::c_int;
use syn_trace::calls::Call;
use syn_trace::record;

/// Bytes at the front of the scratch memory in which the child of a `vfork` leaves its path, whole pages of them: the
/// environment of its exec call is put together behind them.
pub const PATH_NOTE_BYTES: usize = (2 + record::MAX_TEXT_BYTES).next_multiple_of(4096);

/// In the child of a `vfork`: leaves the path of its exec call to its parent, in the scratch memory of the call under
/// way: two bytes of length, then the path. Elsewhere it does nothing.
pub fn note_path(path: &[u8]) {
    let state = current::get();
    // SAFETY: this thread's state; its parent stands still.
    unsafe {
        if current::is_state(state) && (*state).suppressed_by == VFORK_CHILD {
            let (length, room) = (*state).scratch().split_at_mut(2);
            length.copy_from_slice(&(path.len() as u16).to_ne_bytes());
            room[..path.len()].copy_from_slice(path);
        }
    }
}

/// The path that the child has left, if it has called exec with success.
fn path_from_child(scratch: &[u8]) -> &[u8] {
    let (length, room) = scratch.split_at(2);
    &room[..usize::from(u16::from_ne_bytes([length[0], length[1]]))]
}

/// In the parent: records which program the child has become, if it was made (`child` is its id) and has become one.
pub fn record_exec(span: &mut Span, child: c_int) {
    let path = path_from_child(span.scratch());
    if child > 0 && !path.is_empty() {
        span.record(Call::ChildExecve, false, 0, &[child.into()], &[path], &[]);
    }
}
