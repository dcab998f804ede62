//! Idle time that lasts as long as it was recorded.
//!
//! A recorded wait contains the thread's wake-up, and so does a sleep of the replay: slept in full, every wait would be
//! longer by one wake-up (50 to 80 µs on a virtual machine). So each sleep is asked to end earlier by what the last
//! ones took to wake up. What still remains too long or too short is made up for in the idle time that follows.

use syn_plan::LONGEST_WAKE_NS;

/// The same as a floating-point number, as all estimates here.
const LONGEST_NS: f64 = LONGEST_WAKE_NS as f64;
/// Weight of the latest wake-up in the estimate.
const WEIGHT: f64 = 0.125;
/// A sleep so short may end before the thread has given up its processor.
const SHORTEST_NS: f64 = 5_000.0;
/// What a thread is late by beyond this is not made up for: it was stopped, or others had its processor for long.
const MOST_LATE_NS: f64 = 10_000_000.0;

/// Idle time of one thread: what is to pass, and what has passed.
#[derive(Debug)]
pub struct IdleTime {
    /// How much later than asked for a sleep ends.
    wake_ns: f64,
    /// Idle time that has not passed; negative when more has passed than was recorded.
    due_ns: f64,
}

impl IdleTime {
    /// For a thread of a machine on which waking up takes `wake_ns`.
    pub fn new(wake_ns: f64) -> IdleTime {
        IdleTime { wake_ns: wake_ns.clamp(0.0, LONGEST_NS), due_ns: 0.0 }
    }

    /// `ns` more are to pass: for how long the kernel is asked to sleep, if that is possible at all. One idle stretch
    /// makes up for a wake-up at most, so that long ones do not end much too early.
    pub fn ask(&mut self, ns: u64) -> Option<u64> {
        let ns = ns as f64;
        let asked_ns = ns + self.due_ns.max(-self.wake_ns) - self.wake_ns;
        self.due_ns += ns;
        (asked_ns >= SHORTEST_NS).then_some(asked_ns as u64)
    }

    /// What was asked for took so long, from before it was asked.
    pub fn passed(&mut self, asked_ns: Option<u64>, took_ns: u64) {
        self.due_ns = (self.due_ns - took_ns as f64).max(-MOST_LATE_NS);
        match asked_ns.map(|asked_ns| took_ns.checked_sub(asked_ns)) {
            Some(Some(late_ns)) => self.learn(late_ns as f64),
            // The end of the process cut it off.
            Some(None) => self.due_ns = 0.0,
            None => {}
        }
    }

    /// One long wake-up says little: it counts as twice the usual one at most.
    fn learn(&mut self, late_ns: f64) {
        let late_ns = late_ns.min(2.0 * self.wake_ns + SHORTEST_NS);
        self.wake_ns = (self.wake_ns + (late_ns - self.wake_ns) * WEIGHT).min(LONGEST_NS);
    }

    /// The thread has waited for another one for so long, which took up what it was early or late by.
    pub fn waited(&mut self, ns: u64) {
        self.due_ns -= self.due_ns.clamp(-(ns as f64), ns as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread on a machine where sleeps end late; `late` gives by how much, nanoseconds.
    fn idle(time: &mut IdleTime, ns: u64, late: &mut impl FnMut() -> u64) -> u64 {
        let asked = time.ask(ns);
        let took = asked.map_or(200, |asked| asked + late());
        time.passed(asked, took);
        took
    }

    fn error(recorded: u64, replayed: u64) -> f64 {
        (replayed as f64 - recorded as f64).abs() / recorded as f64
    }

    #[test]
    fn many_short_waits_add_up() {
        for ns in [3_000, 20_000, 60_000, 70_000, 150_000, 1_000_000] {
            for typical in [2_000, 70_000, 180_000] {
                let mut number = 0_u64;
                // Half as much to one and a half times the usual, and far more now and then.
                let mut late = || {
                    number += 1;
                    if number.is_multiple_of(500) {
                        50 * typical
                    } else {
                        typical / 2 + typical * (number % 11) / 10
                    }
                };
                let mut time = IdleTime::new(65_000.0);
                let replayed = (0..20_000).map(|_| idle(&mut time, ns, &mut late)).sum();
                let recorded = 20_000 * ns;
                assert!(error(recorded, replayed) < 0.02, "{ns} ns, late by {typical}: {replayed}");
            }
        }
    }

    #[test]
    fn the_estimate_follows_the_machine_and_is_bounded() {
        let mut time = IdleTime::new(0.0);
        let mut settle = |late: u64| {
            for _ in 0..200 {
                idle(&mut time, 1_000_000, &mut || late);
            }
            time.wake_ns
        };
        assert!((settle(70_000) - 70_000.0).abs() < 1_000.0);
        assert!(settle(3_000) < 4_000.0);
        assert_eq!(settle(50_000_000), LONGEST_NS);
        assert_eq!(IdleTime::new(1e9).wake_ns, LONGEST_NS);
        let mut time = IdleTime::new(60_000.0);
        idle(&mut time, 1_000_000, &mut || 4_000_000);
        assert!(time.wake_ns < 70_000.0, "one long wake-up: {}", time.wake_ns);
    }

    /// However late the thread is, a long wait is as long as recorded, but for a wake-up.
    #[test]
    fn a_long_wait_does_not_end_early() {
        let mut time = IdleTime::new(60_000.0);
        idle(&mut time, 1_000_000, &mut || 9_000_000);
        let wake_ns = time.wake_ns;
        let took = idle(&mut time, 1_000_000_000, &mut || wake_ns as u64);
        assert!(took + wake_ns as u64 + 1 >= 1_000_000_000, "{took}");
        // What it is late by is bounded as well.
        idle(&mut time, 1_000_000, &mut || 1_000_000_000);
        assert_eq!(time.due_ns, -MOST_LATE_NS);
    }

    #[test]
    fn what_is_too_short_to_sleep_is_kept() {
        let mut time = IdleTime::new(60_000.0);
        assert_eq!(time.ask(40_000), None);
        time.passed(None, 1_000);
        assert_eq!(time.ask(40_000), Some(19_000));
        time.passed(Some(19_000), 79_000);
        assert_eq!(time.due_ns, 0.0);
    }

    #[test]
    fn waiting_for_another_takes_up_the_difference() {
        let mut time = IdleTime { wake_ns: 0.0, due_ns: -50_000.0 };
        time.waited(20_000);
        assert_eq!(time.due_ns, -30_000.0);
        time.waited(1_000_000);
        assert_eq!(time.due_ns, 0.0);
        time.due_ns = 50_000.0;
        time.waited(60_000);
        assert_eq!(time.due_ns, 0.0);
    }

    #[test]
    fn a_sleep_that_was_cut_off_teaches_nothing() {
        let mut time = IdleTime::new(60_000.0);
        let asked = time.ask(1_000_000);
        time.passed(asked, 1_000);
        assert_eq!((time.due_ns, time.wake_ns), (0.0, 60_000.0));
    }
}
