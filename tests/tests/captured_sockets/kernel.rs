//! What the kernel saw.

use crate::steps::{OTHERS, Step, TRANSFERS};
use std::collections::BTreeMap;
use std::path::Path;
use tests::strace::{self, Maker, Syscall};

/// The kernel's names, each with the one that stands for it in a [`Step`].
const NAMES: [(&str, &str); 31] = [
    ("read", "read"),
    ("readv", "read"),
    ("preadv2", "read"),
    ("write", "write"),
    ("writev", "write"),
    ("pwritev2", "write"),
    ("recvfrom", "receive"),
    ("recvmsg", "receive"),
    ("sendto", "send"),
    ("sendmsg", "send"),
    ("sendmmsg", "sendmmsg"),
    ("recvmmsg", "recvmmsg"),
    ("accept", "accept"),
    ("accept4", "accept"),
    ("poll", "poll"),
    ("ppoll", "poll"),
    ("select", "select"),
    ("pselect6", "select"),
    ("epoll_create", "epoll_create"),
    ("epoll_create1", "epoll_create"),
    ("epoll_wait", "epoll_wait"),
    ("epoll_pwait", "epoll_wait"),
    ("epoll_pwait2", "epoll_wait"),
    ("eventfd", "eventfd"),
    ("eventfd2", "eventfd"),
    ("signalfd", "signalfd"),
    ("signalfd4", "signalfd"),
    ("inotify_init", "inotify_init"),
    ("inotify_init1", "inotify_init"),
    ("socketpair", "socketpair"),
    ("connect", "connect"),
];

/// The system calls to be traced.
pub fn calls() -> String {
    let plain = OTHERS.into_iter().filter(|name| NAMES.iter().all(|(kernel, _)| kernel != name));
    NAMES.iter().map(|(kernel, _)| *kernel).chain(plain).collect::<Vec<_>>().join(",")
}

/// Every call of every thread, less the loader's and the shim's own.
pub fn steps(output: &Path, folder: &Path) -> BTreeMap<u32, Vec<Step>> {
    let mut threads: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
    strace::for_each_call(output, folder, |caller, call| {
        if caller.maker(call) == Maker::Program
            && let Some(step) = step(call)
        {
            threads.entry(caller.tid).or_default().push(step);
        }
    });
    threads
}

fn step(call: &Syscall) -> Option<Step> {
    let known = NAMES.iter().find(|(kernel, _)| *kernel == call.name).map(|(_, name)| *name);
    let name = known.or_else(|| OTHERS.into_iter().find(|other| *other == call.name))?;
    let mut step = Step { call: name.into(), socket: None, result: call.result, bytes: 0 };
    if TRANSFERS.contains(&name) {
        let object = call.descriptor(0)?.object;
        step.socket = Some(object.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?);
        step.bytes = if name.ends_with("mmsg") { of_messages(call) } else { call.result.max(0) };
    }
    Some(step)
}

/// The bytes of the messages that were sent or received, of those that are shown.
fn of_messages(call: &Syscall) -> i64 {
    let lengths = call.argument(1).split(", msg_len=").skip(1);
    let lengths = lengths
        .filter_map(|rest| rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse::<i64>().ok());
    lengths.take(call.result.max(0) as usize).sum()
}
