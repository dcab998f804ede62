//! Threads that stand for processes: each with open files of its own, as a process has them.
//!
//! Otherwise all would have one table of descriptors, with one limit, and opening and closing files in one would wait for the
//! others' to be done with it.

use super::passing::Passing;
use std::ops::RangeInclusive;

/// The descriptors that are open in every process.
#[derive(Debug)]
pub struct OwnFiles {
    /// How a process gets open files from the one that begins it.
    pub passing: Passing,
    /// Those that are not, the last ones first.
    others: Vec<RangeInclusive<u32>>,
}

impl OwnFiles {
    /// `None` for a replay that is itself recorded or traced: who watches follows open files by process, and threads of one have the same.
    /// Else what is open now stays so in every process. A file that is opened later, by a thread that did not begin a process, must
    /// not be used or closed by one that did.
    pub fn from_now_on() -> Option<OwnFiles> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        if std::env::var_os("SYN_JOB").is_some() || tracer.is_some_and(|tracer| tracer.trim() != "0") {
            return None;
        }
        let passing = Passing::open();
        let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        let mut open: Vec<u32> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        // The list was one of them.
        open.retain(|&number| is_open(number));
        open.sort_unstable();
        let mut others = Vec::new();
        let mut next = 0;
        for number in open {
            if next < number {
                others.push(next..=number - 1);
            }
            next = number + 1;
        }
        others.push(next..=u32::MAX);
        others.reverse();
        Some(OwnFiles { passing, others })
    }

    /// In the first thread of a process: from here on it and those that it creates have open files of their own. Nothing
    /// changes where the kernel does not know the call (before Linux 5.9).
    pub fn begin(&self) {
        let mut flags = libc::CLOSE_RANGE_UNSHARE;
        for range in &self.others {
            // SAFETY: what is open there belongs to threads that keep their table.
            if !unsafe { close_range(range.clone(), flags) } {
                return;
            }
            flags = 0;
        }
    }
}

/// close_range(2), for which glibc has a function since 2.34 only. False where the kernel does not know it.
///
/// # Safety
/// Nobody uses what is open there.
unsafe fn close_range(numbers: RangeInclusive<u32>, flags: u32) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { libc::syscall(libc::SYS_close_range, *numbers.start(), *numbers.end(), flags) == 0 }
}

/// Whether a descriptor of this number is open for the calling thread.
fn is_open(number: u32) -> bool {
    // SAFETY: takes no pointers.
    unsafe { libc::fcntl(number as i32, libc::F_GETFD) != -1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::child::holds_alone;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    #[test]
    fn what_a_process_opens_or_others_had_opened_is_its_own() {
        // Other tests open files meanwhile.
        let holds = holds_alone(|| {
            let open = |path| File::open(path).expect("a file");
            let number = |file: &File| file.as_raw_fd() as u32;
            let everybodys = open("/");
            let Some(own_files) = OwnFiles::from_now_on() else { return false };
            let of_the_first = open("/proc");
            let inside = std::thread::scope(|scope| {
                let process = scope.spawn(|| {
                    own_files.begin();
                    let sees = is_open(number(&everybodys)) && !is_open(number(&of_the_first));
                    let opened = open("/dev/null");
                    sees && number(&opened) == number(&of_the_first)
                });
                process.join().unwrap_or(false)
            });
            inside && is_open(number(&of_the_first))
        });
        // Kernels before 5.9 let all share.
        // SAFETY: no descriptor has this number.
        let is_known = unsafe { close_range(u32::MAX..=u32::MAX, 0) };
        assert!(holds || !is_known);
    }
}
