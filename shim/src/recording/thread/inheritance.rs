//! What a forked child needs to know of the thread that forked it: in thread-locals, which are not wiped there, and whose page both
//! write to anyway. (A page with nothing else in it would be copied for each child, and once more for its parent.)

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
    /// Between records, with no hook under way but that of the fork.
    Clean,
    /// Between records, in a handler that had interrupted a hook. The child may go back there.
    InHandler,
    /// In a handler that had interrupted the writing of a record. The child may go back there.
    AmidRecord,
}

impl Fork {
    fn of(word: usize) -> Fork {
        let seen = [Fork::Clean, Fork::InHandler, Fork::AmidRecord];
        seen.into_iter().find(|&kind| kind as usize == word).unwrap_or(Fork::Unseen)
    }
}

/// What is known of a fork that is about to be: its kind, and the node on the board that is allotted to the child.
#[derive(Clone, Copy)]
pub struct Known(Fork, u32);

/// Where the thread's records are mapped, for a child that has to put something else there.
pub fn set_window(start: usize, bytes: usize) {
    window_start::set(start);
    window_bytes::set(bytes);
}

/// Start and bytes of what the parent's thread had mapped.
pub fn window() -> (usize, usize) {
    (window_start::get(), window_bytes::get())
}

/// Before a call that forks. Returns what [`fork_is_over`] is to put back: a handler may fork while another fork is about to be.
pub fn fork_follows(kind: Fork) -> Known {
    let before = Known(Fork::of(fork::get()), node::get() as u32);
    // Whoever comes in between finds no half of it.
    fork::set(Fork::Unseen as usize);
    node::set(throttle::node_of_child() as usize);
    fork::set(kind as usize);
    before
}

/// After it, in the parent.
pub fn fork_is_over(before: Known) {
    fork::set(Fork::Unseen as usize);
    node::set(before.1 as usize);
    fork::set(before.0 as usize);
}

/// In the child, once: how it came to be, and its node ([`throttle::node_of_child`]).
pub fn take() -> (Fork, u32) {
    let kind = Fork::of(fork::get());
    fork::set(Fork::Unseen as usize);
    (kind, if kind == Fork::Unseen { NOBODY } else { node::get() as u32 })
}
