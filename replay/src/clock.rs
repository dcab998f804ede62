//! Time, in nanoseconds, and letting it pass.

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::num::NonZeroU64;
use std::sync::atomic::AtomicU32;

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

/// How long the counter stands in for the clock, nanoseconds.
const NEAR_NS: u64 = 64_000;
/// Nanoseconds in a tick are kept as a whole number of 2 to the power of minus this: a product takes a tenth of what one of
/// floating point takes with its conversions.
const SHIFT: u32 = 32;
/// Of so many readings of clock and counter the closest counts.
const READINGS: usize = 9;

/// The monotonic clock of one thread. A reading takes 30 ns, a third of a small call; one of the processor's counter 10. So
/// that is read, for as long after a reading of the clock as its rate cannot be wrong by a nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct NearClock {
    /// Nanoseconds in a tick, in units of 2^-[`SHIFT`].
    tick: u64,
    /// So many ticks after the reading the clock is read again; 0 where the counter is not to be used.
    near: u64,
    ticks: u64,
    ns: u64,
}

impl NearClock {
    /// With the [`tick_ns`] of this machine.
    pub fn new(tick_ns: f64) -> NearClock {
        let tick = (tick_ns * (1u64 << SHIFT) as f64) as u64;
        let near = (NEAR_NS << SHIFT).checked_div(tick).unwrap_or(0);
        // As if the reading were long ago.
        NearClock { tick, near, ticks: ticks().wrapping_sub(near), ns: 0 }
    }

    /// What [`now_ns`] says.
    #[inline]
    pub fn now_ns(&mut self) -> u64 {
        // Before the reading is as good as long after it.
        let since = ticks().wrapping_sub(self.ticks);
        if since < self.near { self.ns + ((since * self.tick) >> SHIFT) } else { self.read() }
    }

    #[cold]
    fn read(&mut self) -> u64 {
        // In this order: a thread that loses its processor in between finds the clock too slow for a moment, never too fast.
        self.ns = now_ns();
        self.ticks = ticks();
        self.ns
    }
}

/// Nanoseconds in a tick of the counter, over the time that `meanwhile` takes (some ms at least); 0 where the kernel does not
/// take its own time from it, so that it may not be the same on all processors.
pub fn tick_ns<T>(meanwhile: impl FnOnce() -> T) -> (f64, T) {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let is_kernels = std::fs::read_to_string(SOURCE).is_ok_and(|source| source.trim() == "tsc");
    let before = pair();
    let outcome = meanwhile();
    let after = pair();
    let (ticks, ns) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    (if is_kernels && ticks > 0 { ns as f64 / ticks as f64 } else { 0.0 }, outcome)
}

/// Counter and clock at one moment.
fn pair() -> (u64, u64) {
    let reading = |_| {
        let before = ticks();
        let ns = now_ns();
        let width = ticks().saturating_sub(before);
        (width, (before + width / 2, ns))
    };
    (0..READINGS).map(reading).min().map_or((0, 0), |(_, pair)| pair)
}

#[inline]
#[allow(unsafe_code)]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Lets the calling thread sleep until the monotonic clock shows `deadline_ns`; not at all when it has passed.
pub fn sleep_until(deadline_ns: u64) {
    let deadline = Timespec {
        tv_sec: (deadline_ns / 1_000_000_000) as i64,
        tv_nsec: (deadline_ns % 1_000_000_000) as i64,
    };
    while clock_nanosleep_absolute(ClockId::Monotonic, &deadline) == Err(Errno::INTR) {}
}

/// Lets the calling thread sleep while a futex has this value, and until the deadline at most. False if that has passed.
pub fn sleep_while(futex: &AtomicU32, flags: Flags, value: u32, deadline_ns: u64) -> bool {
    let left_ns = deadline_ns.saturating_sub(now_ns());
    if left_ns > 0 {
        let (tv_sec, tv_nsec) = ((left_ns / 1_000_000_000) as i64, (left_ns % 1_000_000_000) as i64);
        // Returns at once when the value is another one; the caller looks into any return.
        let _ = futex::wait(futex, flags, value, Some(&Timespec { tv_sec, tv_nsec }));
    }
    now_ns() < deadline_ns
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_keeps_to_the_clock() {
        let (tick_ns, ()) = tick_ns(|| sleep_until(now_ns() + 20_000_000));
        let mut near = NearClock::new(tick_ns);
        for _ in 0..2000 {
            let (before_ns, near_ns, after_ns) = (now_ns(), near.now_ns(), now_ns());
            // Slow by what the thread lost between the two readings, which the clock behind them shows.
            assert!(near_ns <= after_ns + 100, "{near_ns} is later than {after_ns}");
            if after_ns - before_ns < 1000 {
                assert!(near_ns + 5_000_000 > before_ns, "{near_ns} is long before {before_ns}");
            }
        }
    }

    #[test]
    fn without_a_rate_it_is_the_clock() {
        let mut near = NearClock::new(0.0);
        let (before_ns, near_ns, after_ns) = (now_ns(), near.now_ns(), now_ns());
        assert!(before_ns <= near_ns && near_ns <= after_ns);
    }
}
