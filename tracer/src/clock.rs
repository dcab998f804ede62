//! Times: the monotonic clock, and what the kernel keeps of a thread's time on a processor.

use crate::ptrace::Tid;
use std::fs;
use syn_trace::header::ClockPair;

/// Stretches at least this long get a reading of the thread's CPU time, as in the shim.
pub const LONG_NS: u64 = 64_000;
/// Record times are in units of 2^3 nanoseconds.
pub const SHIFT: u32 = 3;

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// `CLOCK_MONOTONIC`, nanoseconds.
#[inline]
pub fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_REALTIME` at this time of the monotonic clock, nanoseconds.
pub fn realtime_at(monotonic_ns: u64) -> u64 {
    let (before, real, after) = (now(), read(libc::CLOCK_REALTIME), now());
    let middle = before + (after - before) / 2;
    (real as i64 - (middle as i64 - monotonic_ns as i64)) as u64
}

/// The instant as headers have it: the ticks are those of the monotonic clock.
pub fn pair(monotonic_ns: u64) -> ClockPair {
    ClockPair { ticks: monotonic_ns, monotonic_ns }
}

/// From nanoseconds to the units of a record.
#[inline]
pub fn units(nanoseconds: u64) -> u64 {
    nanoseconds >> SHIFT
}

/// CPU time of a stopped thread, nanoseconds: the first number in its `schedstat`. The thread's own CPU clock cannot
/// be read from another process. `None` where the kernel does not keep it.
pub fn cpu_ns(tid: Tid) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{tid}/task/{tid}/schedstat")).ok()?;
    text.split(' ').next()?.parse().ok()
}

/// How often a thread gave up its processor of its own accord; each stop of ours counts as once.
pub fn voluntary_switches(tid: Tid) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{tid}/task/{tid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}
