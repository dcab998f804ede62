//! What the child of a `vfork`, which has its parent's memory, leaves there for its parent: the path of its exec call.

use crate::recording::span::Span;
use crate::recording::thread::current;
use crate::recording::thread::state::VFORK_CHILD;
use core::ffi::{c_char, c_int};
use syn_trace::calls::Call;

/// In the child of a `vfork`: leaves the path of its exec call to its parent, in the scratch memory of the call under
/// way. Elsewhere it does nothing.
pub fn note_path(path: *const c_char) {
    let Some(state) = current::state() else { return };
    if state.suppressed_by.get() == VFORK_CHILD {
        // SAFETY: used here and below only, and the parent stands still.
        unsafe { state.scratch().child_path.lend() }.set(path);
    }
}

/// In the parent: records which program the child has become, if it was made (`child` is its id) and has become one.
#[unsafe(link_section = ".text.startup")]
pub fn record_exec(span: &mut Span, child: c_int) {
    // SAFETY: as above.
    let path = unsafe { span.scratch().child_path.lend() }.get();
    if child > 0 && !path.is_empty() {
        span.record(Call::ChildExecve, false, 0, &[child.into()], &[path], &[]);
    }
}
