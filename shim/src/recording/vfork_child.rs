//! What the child of a `vfork`, which has its parent's memory, leaves there for its parent: the path of its exec call, and why that failed.

use crate::recording::span::Span;
use crate::recording::thread::current;
use crate::recording::thread::scratch::ChildPath;
use crate::recording::thread::state::VFORK_CHILD;
use core::ffi::{c_char, c_int};
use syn_trace::calls::Call;

/// In the child of a `vfork`: leaves the path of its exec call to its parent, in the scratch memory of the call under
/// way. Elsewhere it does nothing.
pub fn note_path(path: *const c_char) {
    with_path(|child_path| child_path.set(path));
}

/// Likewise, that the call has come back.
pub fn note_failure(errno: i64) {
    with_path(|child_path| child_path.fail(errno));
}

fn with_path(note: impl FnOnce(&mut ChildPath)) {
    let Some(state) = current::state() else { return };
    if state.suppressed_by.get() == VFORK_CHILD {
        // SAFETY: used here and below only, and the parent stands still.
        note(unsafe { state.scratch().child_path.lend() });
    }
}

/// In the parent: records which program the child has become, or failed to become, if it was made (`child` is its id) and called for one.
#[unsafe(link_section = ".text.startup")]
pub fn record_exec(span: &mut Span, child: c_int) {
    // SAFETY: the child that uses it is gone, or has memory of its own.
    let child_path = unsafe { span.scratch().child_path.lend() };
    let (path, errno) = (child_path.get(), child_path.errno());
    if child > 0 && !path.is_empty() {
        span.record(Call::ChildExecve, errno != 0, errno, &[child.into()], &[path], &[]);
    }
}
