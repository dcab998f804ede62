//! Times: the monotonic clock, and what the kernel keeps of a thread's time on a processor.

use crate::ptrace::Tid;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use syn_trace::header::ClockPair;

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

/// What the kernel keeps of a stopped thread's time: its `schedstat`, held open. The thread's own CPU clock cannot be read from
/// another process.
#[derive(Debug)]
pub struct Schedstat(File);

/// A reading of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnProcessor {
    /// CPU time, nanoseconds.
    pub ns: u64,
    /// How often the thread was put on a processor.
    pub times: u64,
}

/// Descriptors from here on are left to others, and so is half of what this process may have: a program may have more threads than
/// the tracer may have descriptors.
const MOST_HELD: u64 = 512;

fn most_held() -> u64 {
    static MOST: OnceLock<u64> = OnceLock::new();
    *MOST.get_or_init(|| {
        let mut limit = libc::rlimit { rlim_cur: 2 * MOST_HELD, rlim_max: 0 };
        // SAFETY: `limit` is valid for writing.
        unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
        MOST_HELD.min(limit.rlim_cur / 2)
    })
}

impl Schedstat {
    fn open(tid: Tid) -> Option<Schedstat> {
        File::open(format!("/proc/{tid}/task/{tid}/schedstat")).ok().map(Schedstat)
    }

    /// That of a thread, to be kept: a reading takes a fourth of what opening it anew does. `None` where it is not to be.
    pub fn hold(tid: Tid) -> Option<Schedstat> {
        Schedstat::open(tid).filter(|held| (held.0.as_raw_fd() as u64) < most_held())
    }

    fn read(&self) -> Option<OnProcessor> {
        let mut room = [0; 64];
        let length = self.0.read_at(&mut room, 0).ok()?;
        let mut numbers = std::str::from_utf8(&room[..length]).ok()?.split_ascii_whitespace();
        let (ns, _waited_for_a_processor, times) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let read = OnProcessor { ns: ns.parse().ok()?, times: times.parse().ok()? };
        // A kernel that does not keep it says zeros.
        (read.times > 0).then_some(read)
    }
}

/// What a stopped thread had of a processor, by what is held of it or anew. `None` where the kernel does not keep it, or the
/// thread is gone.
pub fn on_processor(tid: Tid, held: Option<&Schedstat>) -> Option<OnProcessor> {
    held.map_or_else(|| Schedstat::open(tid)?.read(), Schedstat::read)
}

/// How often a thread gave up its processor of its own accord; each stop of ours counts as once.
pub fn voluntary_switches(tid: Tid) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{tid}/task/{tid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}
