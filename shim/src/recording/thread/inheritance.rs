//! What a forked child needs to know of the thread that forked it: in thread-locals, which are not wiped there, and whose page both
//! write to anyway. (A page that only this is in would be copied for each child, and once more for its parent.)

use crate::throttle;
use syn_trace::board::NOBODY;

mod window_start {
    syn_trace::thread_word!("syn_window_start");
}
mod window_bytes {
    syn_trace::thread_word!("syn_window_bytes");
}
mod fork {
    syn_trace::thread_word!("syn_fork");
}
mod node {
    syn_trace::thread_word!("syn_child_node");
}

/// How a child came to be, as far as that is known.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Fork {
    /// By a system call that passed no hook: anything may have been under way.
    Unseen,
    /// Between records.
    Clean,
    /// In a handler that had interrupted the writing of a record. The child may go back there.
    AmidRecord,
}

/// Where the thread's records are mapped. A child must not write there.
pub fn set_window(start: usize, bytes: usize) {
    window_start::set(start);
    window_bytes::set(bytes);
}

/// Start and bytes of what the parent's thread had mapped.
pub fn window() -> (usize, usize) {
    (window_start::get(), window_bytes::get())
}

/// Before a call that forks, on a thread that writes a record meanwhile or not.
pub fn fork_follows(amid_record: bool) {
    node::set(throttle::node_of_child() as usize);
    fork::set(if amid_record { Fork::AmidRecord } else { Fork::Clean } as usize);
}

/// After it, and in the child once it knows.
pub fn fork_is_over() {
    fork::set(Fork::Unseen as usize);
}

/// In the child: how it came to be, and the node on the board that the hook has allotted to it ([`throttle::node_of_child`]).
pub fn fork() -> (Fork, u32) {
    match fork::get() {
        known if known == Fork::Clean as usize => (Fork::Clean, node::get() as u32),
        known if known == Fork::AmidRecord as usize => (Fork::AmidRecord, node::get() as u32),
        _ => (Fork::Unseen, NOBODY),
    }
}
