//! Time, in nanoseconds, and letting it pass.

use rustix::io::Errno;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::num::NonZeroU64;

/// Nanoseconds of the machine's monotonic clock; the same for all processes of a machine.
#[inline]
pub fn now_ns() -> u64 {
    ns(clock_gettime(ClockId::Monotonic))
}

/// Processor time of the calling thread, nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    ns(clock_gettime(ClockId::ThreadCPUTime))
}

fn ns(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Lets the calling thread sleep until the monotonic clock shows `deadline_ns`; not at all when it has passed.
pub fn sleep_until(deadline_ns: u64) {
    let deadline = Timespec {
        tv_sec: (deadline_ns / 1_000_000_000) as i64,
        tv_nsec: (deadline_ns % 1_000_000_000) as i64,
    };
    while clock_nanosleep_absolute(ClockId::Monotonic, &deadline) == Err(Errno::INTR) {}
}

/// Does `what` as an application does, in a thread whose sleeps are exact otherwise: with the kernel's default slack of
/// 50 µs on every timer. A thread that is created meanwhile has that slack; it would take another one for its default
/// (`PR_SET_TIMERSLACK(2const)`).
pub fn with_usual_slack(what: impl FnOnce()) {
    let _ = set_current_timer_slack(None);
    what();
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// While it lives, the sleeps of the thread that made it end when they should, instead of up to 50 µs later.
#[derive(Debug)]
pub struct ExactSleeps(());

impl ExactSleeps {
    /// For the calling thread. Where the kernel does not offer it, sleeps end later.
    pub fn begin() -> ExactSleeps {
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        ExactSleeps(())
    }
}

impl Drop for ExactSleeps {
    fn drop(&mut self) {
        let _ = set_current_timer_slack(None);
    }
}
