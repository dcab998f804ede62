//! What needs the operating system below Rust's own abstractions: shared memory, forked processes, signals.

#![allow(unsafe_code)]

pub mod child;
pub mod shared;
pub mod signals;

use rustix::mm::{Advice, madvise};

/// Gives back what this process has read of its program and allocated to get here: it is not to count as what is replayed. What is
/// needed again comes back from the page cache.
pub fn give_back_memory() {
    // SAFETY: glibc's own, and it changes nothing that is in use.
    unsafe { libc::malloc_trim(0) };
    let text = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let (mut range, mut resident) = (None, false);
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        match (words.next().unwrap_or_default(), words.next()) {
            ("Rss:", kib) => resident = kib != Some("0"),
            // Pages of its own are in none of these: code that was changed, or that a debugger stops in, stays.
            ("Anonymous:", Some("0")) if resident => {
                if let Some((from, to)) = range.take() {
                    // SAFETY: pages of a file that nobody here may write and nobody has changed: they are read again.
                    let _ = unsafe {
                        madvise(std::ptr::with_exposed_provenance_mut(from), to - from, Advice::LinuxDontNeed)
                    };
                }
            }
            (name, Some("r-xp" | "r--p")) => range = parse_range(name).filter(|_| line.contains('/')),
            (name, Some(_)) if parse_range(name).is_some() => range = None,
            _ => {}
        }
    }
}

/// `from-to` in hexadecimal.
fn parse_range(text: &str) -> Option<(usize, usize)> {
    let (from, to) = text.split_once('-')?;
    Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
}

/// Resident memory of these processes, shared pages counted in each, bytes.
pub fn resident_bytes(pids: impl IntoIterator<Item = i32>) -> u64 {
    let of_one = |pid| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    };
    pids.into_iter().filter_map(of_one).sum::<u64>() * rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_of_the_program_is_given_back_and_comes_again() {
        let before = resident_bytes([std::process::id() as i32]);
        give_back_memory();
        let after = resident_bytes([std::process::id() as i32]);
        assert!(after + (1 << 20) < before, "{before} bytes, then {after}");
        assert_eq!(parse_range("7f00-80a0"), Some((0x7f00, 0x80a0)));
    }
}
