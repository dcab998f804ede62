//! Where a thread's time went: parts that add up to its wall time.

use crate::Rule;
use serde::{Deserialize, Serialize};

/// A wake-up is not taken to last longer, nanoseconds: beyond that, the thread waited for a processor.
pub const LONGEST_WAKE_NS: u64 = 200_000;

/// The time balance of one thread, or of several added up. All in nanoseconds.
///
/// What the parts leave open of the wall time ([`Balance::open_ns`]) is a mistake of the measurement. The same
/// balance is kept for the recording (in the plan) and measured by the replay, so that the two can be compared part
/// by part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// From the thread's start to its end.
    pub wall_ns: u64,
    /// Processor time of its own code and of calls that the plan does not replay: what a replay burns.
    pub work_ns: u64,
    /// Processor time inside calls that the plan replays as I/O.
    pub calls_cpu_ns: u64,
    /// Time inside those without the processor: the device.
    pub calls_wait_ns: u64,
    /// Sleeps that the program asked for.
    pub sleep_ns: u64,
    /// Waiting that a dependency explains, by the rule that found it; each rule once, in their order.
    pub explained_ns: Vec<(Rule, u64)>,
    /// Waiting inside recorded calls that no rule explains (sockets, locks).
    pub unexplained_calls_ns: u64,
    /// Waiting outside every recorded call.
    pub unexplained_ns: u64,
    /// Ready to run, but the processor was another's.
    pub preempted_ns: u64,
    /// What recording cost; it is in none of the other parts.
    pub recording_ns: u64,
    /// Time that no reading of the thread's CPU clock covers.
    pub unmeasured_ns: u64,
    /// CPU time that the parts have beyond what the thread's clock said, or lack: none of them could take it.
    pub residual_ns: u64,
    /// How much of the explained waiting was on the processor: libraries that poll. It is not a part of its own.
    pub polling_cpu_ns: u64,
}

impl Balance {
    /// Adds waiting that `rule` explains.
    pub fn explain(&mut self, rule: Rule, ns: u64) {
        match self.explained_ns.binary_search_by_key(&rule, |&(rule, _)| rule) {
            Ok(at) => self.explained_ns[at].1 = self.explained_ns[at].1.saturating_add(ns),
            Err(at) => self.explained_ns.insert(at, (rule, ns)),
        }
    }

    /// Adds the balance of another thread, part by part.
    pub fn add(&mut self, other: &Balance) {
        for (sum, part) in self.plain_parts_mut().into_iter().zip(other.plain_parts()) {
            *sum = sum.saturating_add(part);
        }
        self.wall_ns = self.wall_ns.saturating_add(other.wall_ns);
        self.polling_cpu_ns = self.polling_cpu_ns.saturating_add(other.polling_cpu_ns);
        self.residual_ns = self.residual_ns.saturating_add(other.residual_ns);
        for &(rule, ns) in &other.explained_ns {
            self.explain(rule, ns);
        }
    }

    /// Waiting that dependencies explain, all rules together.
    pub fn explained(&self) -> u64 {
        sum(self.explained_ns.iter().map(|&(_, ns)| ns))
    }

    /// Waiting that `rule` explains.
    pub fn explained_by(&self, rule: Rule) -> u64 {
        sum(self.explained_ns.iter().filter(|&&(found, _)| found == rule).map(|&(_, ns)| ns))
    }

    /// All parts together.
    pub fn accounted_ns(&self) -> u64 {
        sum(self.plain_parts()).saturating_add(self.explained())
    }

    /// What the parts leave open of the wall time, and of the CPU time; negative when they hold more than the wall time.
    pub fn open_ns(&self) -> i128 {
        let open_ns = i128::from(self.wall_ns) - i128::from(self.accounted_ns());
        let residual_ns = i128::from(self.residual_ns);
        if open_ns < 0 { open_ns - residual_ns } else { open_ns + residual_ns }
    }

    /// The same in percent of the wall time; 0 without one.
    pub fn open_percent(&self) -> f64 {
        self.percent_of_wall(self.open_ns())
    }

    /// Waiting that nothing explains and time that was not measured, in percent of the wall time; 0 without one.
    pub fn unknown_percent(&self) -> f64 {
        let unexplained = self.unexplained_calls_ns.saturating_add(self.unexplained_ns);
        self.percent_of_wall(unexplained.saturating_add(self.unmeasured_ns).into())
    }

    /// Processor time of the thread, the cost of recording left out.
    pub fn cpu_ns(&self) -> u64 {
        self.work_ns.saturating_add(self.calls_cpu_ns).saturating_add(self.polling_cpu_ns)
    }

    fn percent_of_wall(&self, ns: i128) -> f64 {
        if self.wall_ns == 0 { 0.0 } else { ns as f64 * 100.0 / self.wall_ns as f64 }
    }

    /// Every part that is one number.
    fn plain_parts(&self) -> [u64; 9] {
        self.clone().plain_parts_mut().map(|part| *part)
    }

    fn plain_parts_mut(&mut self) -> [&mut u64; 9] {
        [
            &mut self.work_ns,
            &mut self.calls_cpu_ns,
            &mut self.calls_wait_ns,
            &mut self.sleep_ns,
            &mut self.unexplained_calls_ns,
            &mut self.unexplained_ns,
            &mut self.preempted_ns,
            &mut self.recording_ns,
            &mut self.unmeasured_ns,
        ]
    }
}

/// A damaged plan may hold any numbers, so sums stop at the largest.
fn sum(parts: impl IntoIterator<Item = u64>) -> u64 {
    parts.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Balance {
        let mut balance = Balance {
            wall_ns: 1100,
            work_ns: 1,
            calls_cpu_ns: 2,
            calls_wait_ns: 4,
            sleep_ns: 8,
            explained_ns: Vec::new(),
            unexplained_calls_ns: 16,
            unexplained_ns: 32,
            preempted_ns: 64,
            recording_ns: 128,
            unmeasured_ns: 256,
            residual_ns: 6,
            polling_cpu_ns: 0,
        };
        balance.explain(Rule::FileData, 512);
        balance.explain(Rule::Message, 10);
        balance.explain(Rule::FileData, 1);
        balance
    }

    #[test]
    fn parts_add_up() {
        let balance = sample();
        assert_eq!(balance.explained_ns, [(Rule::Message, 10), (Rule::FileData, 513)]);
        assert_eq!((balance.explained(), balance.explained_by(Rule::FileData)), (523, 513));
        assert_eq!(balance.explained_by(Rule::Collective), 0);
        assert_eq!(balance.accounted_ns(), 511 + 523);
        assert_eq!(balance.open_ns(), 66 + 6);
        assert!((balance.open_percent() - 7200.0 / 1100.0).abs() < 1e-9);
        assert!((balance.unknown_percent() - 304.0 / 11.0).abs() < 1e-9);
        assert_eq!(balance.cpu_ns(), 3);
    }

    #[test]
    fn balances_add_part_by_part() {
        let mut sum = sample();
        sum.add(&Balance::default());
        assert_eq!(sum, sample());
        let mut other = Balance { work_ns: 9, wall_ns: 900, ..Balance::default() };
        other.explain(Rule::Collective, 5);
        sum.add(&other);
        assert_eq!((sum.wall_ns, sum.work_ns, sum.unmeasured_ns), (2000, 10, 256));
        assert_eq!(sum.explained_ns, [(Rule::Message, 10), (Rule::Collective, 5), (Rule::FileData, 513)]);
        assert_eq!(sum.accounted_ns(), sample().accounted_ns() + other.accounted_ns());
    }

    #[test]
    fn numbers_of_any_size_have_a_sum() {
        let mut huge = Balance { wall_ns: 5, work_ns: u64::MAX, sleep_ns: 1, ..Balance::default() };
        assert_eq!(huge.open_ns(), 5 - i128::from(u64::MAX));
        huge.add(&huge.clone());
        assert_eq!((huge.work_ns, huge.wall_ns), (u64::MAX, 10));
        assert_eq!(Balance::default().open_percent(), 0.0);
        assert_eq!(Balance::default().unknown_percent(), 0.0);
    }
}
