//! Where a program's time goes while it is replayed, with few readings of the CPU clock.
//!
//! A reading costs 0.6 to 1.3 µs, as much as a small `pread`. So only a step, or a slice of long work, that took longer
//! than [`GRAIN_NS`] ends with one, and a signal or a wait in the kernel from [`MEETING_GRAIN_NS`] on; it covers everything since the
//! reading before. Shorter steps are taken to have had the processor all the time: who loses it is away for longer than that. The recorder does the same
//! where no mark tells it of preemption.

use crate::clock::{NearClock, thread_cpu_ns};
use syn_plan::{Balance, Rule};

/// Steps that take longer end with a reading of the CPU clock.
pub const GRAIN_NS: u64 = 64_000;
/// The same of signals and waits in the kernel: one that wakes nobody, or finds what it waits for, takes less, and a longer one may
/// have lost the processor.
const MEETING_GRAIN_NS: u64 = 5_000;

/// A wait that used more has looked for longer than going to sleep and waking up take.
const MOST_OF_A_WAIT_NS: u64 = 20_000;
/// How much of what a wait used is work, percent. Programs that take turns take as long as the application with 75 to 95
/// (`bench/runs/2026-11-28-sleeps`).
const WORK_OF_A_WAIT_PERCENT: u64 = 85;

/// What a stretch of time was spent on.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// Computation, signalling, and going from step to step.
    Work,
    /// An I/O operation.
    Io,
    /// A sleep that the application asked for.
    Sleep,
    /// Recorded waiting that no rule explains, let pass.
    Idle,
    /// Waiting for another program.
    Wait(Rule),
}

/// Follows one thread; the parts of its balance add up to its wall time by construction.
#[derive(Debug)]
pub struct Meter {
    /// When the last lap ended, nanoseconds on the monotonic clock.
    pub now_ns: u64,
    clock: NearClock,
    begun_ns: u64,
    /// The CPU clock at the last reading.
    cpu_ns: u64,
    /// Wall time of the short steps since then.
    short_ns: u64,
    balance: Balance,
}

impl Meter {
    /// From `start_ns` on, which the monotonic clock shows now; `clock` is that clock.
    pub fn start(start_ns: u64, clock: NearClock) -> Meter {
        Meter {
            now_ns: start_ns,
            clock,
            begun_ns: start_ns,
            cpu_ns: thread_cpu_ns(),
            short_ns: 0,
            balance: Balance::default(),
        }
    }

    /// The thread begins now: what came before was not its time, but for what it has used since its CPU clock showed
    /// `since_ns`. That was work to get here. Returns how much, nanoseconds.
    pub fn begin(&mut self, since_ns: Option<u64>) -> u64 {
        *self = Meter::start(self.clock.now_ns(), self.clock);
        let used_ns = since_ns.map_or(0, |since_ns| self.cpu_ns.saturating_sub(since_ns));
        self.begun_ns = self.now_ns.saturating_sub(used_ns);
        charge(&mut self.balance, Part::Work, used_ns, used_ns);
        used_ns
    }

    /// Adds the time since the last call to `part`, and returns it, nanoseconds.
    #[inline]
    pub fn lap(&mut self, part: Part) -> u64 {
        self.lap_with_share(part, GRAIN_NS).0
    }

    /// The same of work; returns how much of that time the thread had the processor, nanoseconds.
    #[inline]
    pub fn lap_of_work(&mut self) -> u64 {
        self.lap_with_share(Part::Work, GRAIN_NS).1
    }

    /// The same of I/O. Returns all of the time, and how much of it the thread had the processor; nanoseconds.
    #[inline(always)]
    pub fn lap_of_io(&mut self) -> (u64, u64) {
        self.lap_with_share(Part::Io, GRAIN_NS)
    }

    /// The same of a signal.
    #[inline]
    pub fn lap_of_signal(&mut self) -> u64 {
        self.lap_with_share(Part::Work, MEETING_GRAIN_NS).1
    }

    /// Adds the time since the last call to a wait, but for what of it was work. Returns all of it, and that; nanoseconds.
    #[inline]
    pub fn lap_of_wait(&mut self, rule: Rule) -> (u64, u64) {
        if rule.is_message() {
            return (self.lap(Part::Wait(rule)), 0);
        }
        let (wall_ns, share_ns) = self.elapsed(true, MEETING_GRAIN_NS);
        let work_ns = if wall_ns < MEETING_GRAIN_NS { 0 } else { work_of_wait_ns(share_ns) };
        charge(&mut self.balance, Part::Work, work_ns, work_ns);
        charge(&mut self.balance, Part::Wait(rule), wall_ns - work_ns, share_ns - work_ns);
        (wall_ns, work_ns)
    }

    // It is short where the part is known.
    #[inline(always)]
    fn lap_with_share(&mut self, part: Part, grain_ns: u64) -> (u64, u64) {
        let (wall_ns, share_ns) = self.elapsed(!matches!(part, Part::Sleep | Part::Idle), grain_ns);
        charge(&mut self.balance, part, wall_ns, share_ns);
        (wall_ns, share_ns)
    }

    /// The time since the last call, and how much of it the thread had the processor. Of less than `grain_ns` that is not measured: all
    /// counts, and is taken off the next reading if the thread `was_awake`.
    #[inline(always)]
    fn elapsed(&mut self, was_awake: bool, grain_ns: u64) -> (u64, u64) {
        let before = std::mem::replace(&mut self.now_ns, self.clock.now_ns());
        let wall_ns = self.now_ns.saturating_sub(before);
        if wall_ns >= grain_ns {
            return (wall_ns, self.long_step(wall_ns));
        }
        if was_awake {
            self.short_ns += wall_ns;
        }
        (wall_ns, wall_ns)
    }

    /// Reads the CPU clock before a step of which it is known that it takes long: short waits and short I/O before it may
    /// have been without the processor, and must not be taken off its share.
    pub fn before_long_step(&mut self) {
        if self.short_ns > 0 {
            self.long(thread_cpu_ns(), 0);
        }
    }

    #[cold]
    fn long_step(&mut self, wall_ns: u64) -> u64 {
        self.long(thread_cpu_ns(), wall_ns)
    }

    /// The processor time in a long step, at whose end the CPU clock shows `cpu_ns`.
    fn long(&mut self, cpu_ns: u64, wall_ns: u64) -> u64 {
        let since_ns = cpu_ns.saturating_sub(self.cpu_ns);
        let short_ns = std::mem::take(&mut self.short_ns);
        self.cpu_ns = cpu_ns;
        since_ns.saturating_sub(short_ns).min(wall_ns)
    }

    /// The balance from the thread's start to its last lap.
    pub fn finish(mut self) -> Balance {
        self.balance.wall_ns = self.now_ns.saturating_sub(self.begun_ns);
        self.balance
    }
}

/// Of what a wait has used, `cpu_ns`, the part that is work: the application's call used some too to go to sleep and to wake up, and the
/// plan's computation behind the wait has that in it. (Where it did not sleep, what the replay uses is on its way from step to step, which
/// the next computation makes up for too.) The rest is looking at the clock, and what a futex takes more than the application's call.
fn work_of_wait_ns(cpu_ns: u64) -> u64 {
    cpu_ns.min(MOST_OF_A_WAIT_NS) * WORK_OF_A_WAIT_PERCENT / 100
}

/// Adds a stretch of `wall_ns`, in `cpu_ns` of which the thread had the processor. Waiting and sleeping are what
/// they are whether the processor was used or not: who polls uses it.
fn charge(balance: &mut Balance, part: Part, wall_ns: u64, cpu_ns: u64) {
    match part {
        Part::Work => {
            balance.work_ns += cpu_ns;
            balance.preempted_ns += wall_ns - cpu_ns;
        }
        Part::Io => {
            balance.calls_cpu_ns += cpu_ns;
            balance.calls_wait_ns += wall_ns - cpu_ns;
        }
        Part::Sleep => balance.sleep_ns += wall_ns,
        Part::Idle => balance.unexplained_ns += wall_ns,
        Part::Wait(rule) => balance.explain(rule, wall_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now_ns;

    /// As where the counter is not to be used.
    fn started(start_ns: u64) -> Meter {
        Meter::start(start_ns, NearClock::new(0.0))
    }

    #[test]
    fn each_part_has_its_place_and_all_add_up() {
        let mut balance = Balance { wall_ns: 1_111, ..Balance::default() };
        charge(&mut balance, Part::Work, 1000, 990);
        charge(&mut balance, Part::Io, 100, 30);
        charge(&mut balance, Part::Sleep, 5, 0);
        charge(&mut balance, Part::Idle, 4, 0);
        charge(&mut balance, Part::Wait(Rule::Message), 2, 2);
        assert_eq!((balance.work_ns, balance.preempted_ns), (990, 10));
        assert_eq!((balance.calls_cpu_ns, balance.calls_wait_ns), (30, 70));
        assert_eq!((balance.sleep_ns, balance.unexplained_ns, balance.explained()), (5, 4, 2));
        assert_eq!(balance.open_ns(), 0);
    }

    #[test]
    fn most_of_what_a_wait_in_the_kernel_uses_is_work() {
        assert_eq!((work_of_wait_ns(4_000), work_of_wait_ns(1_000_000)), (3_400, 17_000));
        let of_wait = |rule, ns| {
            let mut meter = started(now_ns());
            let until_ns = now_ns() + ns;
            while now_ns() < until_ns {}
            let (wall_ns, work_ns) = meter.lap_of_wait(rule);
            let balance = meter.finish();
            assert_eq!((balance.wall_ns, balance.open_ns()), (wall_ns, 0));
            assert_eq!(balance.work_ns, work_ns);
            work_ns
        };
        assert!(of_wait(Rule::Socket, 2 * MEETING_GRAIN_NS) > 0);
        assert_eq!(of_wait(Rule::Message, 2 * MEETING_GRAIN_NS), 0, "a library that polls");
    }

    #[test]
    fn a_reading_covers_what_was_short_before() {
        let mut meter = Meter { cpu_ns: 1_000, ..started(0) };
        meter.short_ns = 5_000;
        assert_eq!(
            meter.long(106_000, 150_000),
            100_000,
            "105 µs since the last reading, 5 of them in short steps"
        );
        assert_eq!((meter.short_ns, meter.cpu_ns), (0, 106_000));
        assert_eq!(meter.long(306_000, 150_000), 150_000, "no more than the step took");
        meter.short_ns = 9_000;
        assert_eq!(meter.long(310_000, 150_000), 0, "short steps that lost the processor leave nothing");
    }

    #[test]
    fn laps_add_up_to_the_wall_time() {
        let mut meter = started(now_ns());
        let used_ns = meter.begin(Some(meter.cpu_ns));
        assert!(used_ns > 0, "reading a clock takes time");
        let mut sum_ns = used_ns;
        for part in [Part::Work, Part::Io, Part::Wait(Rule::FileData), Part::Idle, Part::Sleep] {
            sum_ns += meter.lap(part);
        }
        let balance = meter.finish();
        assert_eq!((balance.wall_ns, balance.open_ns()), (sum_ns, 0));
    }
}
