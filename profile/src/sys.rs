//! What the kernel tells in no file: CPU clocks of other processes, and what ended children have used.

#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// CPU time of a whole process, its ended threads included, nanoseconds. None when there is no such process.
pub fn process_cpu_ns(pid: i32) -> Option<u64> {
    // As `clock_getcpuclockid(3)` makes it: the process, and CPUCLOCK_SCHED.
    let clock = (!pid << 3) | 2;
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the kernel fills in `time`, or fails.
    let done = unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) } == 0;
    // SAFETY: filled in.
    done.then(|| unsafe { time.assume_init() })
        .map(|time| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// What children that have ended and been waited for have used, with theirs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// CPU time outside the kernel, nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, nanoseconds.
    pub system_ns: u64,
    /// Most resident memory of any one of them, bytes.
    pub peak_bytes: u64,
    /// Page faults without a device.
    pub faults: u64,
}

/// Of this process: `getrusage(2)` with `RUSAGE_CHILDREN`, exact to the microsecond.
pub fn children() -> Usage {
    // SAFETY: a structure of integers, for which zero is a value; the kernel fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };

    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Usage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        peak_bytes: usage.ru_maxrss as u64 * 1024,
        faults: usage.ru_minflt as u64,
    }
}

/// Most resident memory of this program, bytes. What `getrusage(2)` says may be that of the program which started it: a new program
/// in a process inherits the peak.
pub fn own_peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    crate::proc::field::<u64>(&status, "\nVmHWM:").unwrap_or(0) * 1024
}
