//! What needs the operating system below Rust's own abstractions: shared memory, forked processes, signals.

#![allow(unsafe_code)]

pub mod child;
pub mod shared;
pub mod signals;

/// Resident memory of these processes, shared pages counted in each, bytes.
pub fn resident_bytes(pids: impl IntoIterator<Item = i32>) -> u64 {
    let of_one = |pid| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    };
    pids.into_iter().filter_map(of_one).sum::<u64>() * rustix::param::page_size() as u64
}
