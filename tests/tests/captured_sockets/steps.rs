//! What a thread did, under names that both records can be brought to.

use std::collections::BTreeMap;
use tests::Tally;

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name: that of the table of calls, but `send` and `receive` for those that are one system call.
    pub call: String,
    /// The inode of the socket whose data it moves.
    pub socket: Option<u64>,
    /// What it returned; -1 for a failure.
    pub result: i64,
    /// The bytes it moved.
    pub bytes: i64,
}

/// Calls that move data through a descriptor: they are compared where that is a socket.
pub const TRANSFERS: [&str; 6] = ["read", "write", "send", "receive", "sendmmsg", "recvmmsg"];

/// The other calls that are compared.
pub const OTHERS: [&str; 25] = [
    "socket",
    "socketpair",
    "bind",
    "listen",
    "accept",
    "connect",
    "shutdown",
    "setsockopt",
    "getsockopt",
    "getsockname",
    "getpeername",
    "poll",
    "select",
    "epoll_create",
    "epoll_ctl",
    "epoll_wait",
    "eventfd",
    "signalfd",
    "timerfd_create",
    "timerfd_settime",
    "timerfd_gettime",
    "inotify_init",
    "inotify_add_watch",
    "inotify_rm_watch",
    "pidfd_open",
];

/// Bytes between two addresses, first the own one, then the peer's.
#[derive(Debug, Default)]
pub struct Moved {
    /// Into sockets.
    pub sent: BTreeMap<(String, String), i64>,
    /// Out of sockets.
    pub received: BTreeMap<(String, String), i64>,
}

/// True for calls that take data out of a socket.
pub fn receives(call: &str) -> bool {
    matches!(call, "read" | "receive" | "recvmmsg")
}

/// Calls and bytes by thread, socket and direction.
pub fn moved(threads: &BTreeMap<u32, Vec<Step>>) -> BTreeMap<(u32, u64, bool), Tally> {
    let mut moved: BTreeMap<_, Tally> = BTreeMap::new();
    for (tid, step) in threads.iter().flat_map(|(tid, steps)| steps.iter().map(move |step| (*tid, step))) {
        if let Some(socket) = step.socket {
            moved.entry((tid, socket, receives(&step.call))).or_default().add(step.bytes);
        }
    }
    moved
}
