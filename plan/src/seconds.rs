//! What a plan says about time as reports give it: seconds, and what is doubtful about them in words.

use crate::figures::{is_too_much_work, seconds};
use crate::{Balance, LeftOut, Plan};
use serde::Serialize;
use std::collections::BTreeMap;

/// A balance leaves more than this share of a thread's wall time open, percent: it does not close.
const OPEN_PERCENT: f64 = 0.1;
/// Less than this is left open by the resolution of the clocks, nanoseconds.
const OPEN_NS: u128 = 10_000;
/// More than this share of the wall time unexplained or unmeasured is told, percent.
const UNKNOWN_PERCENT: f64 = 2.0;

/// A [`Balance`] in seconds; as JSON its fields are a contract, see the README.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct BalanceSeconds {
    pub wall_s: f64,
    pub work_s: f64,
    pub calls_cpu_s: f64,
    pub calls_wait_s: f64,
    pub sleep_s: f64,
    pub explained_s: BTreeMap<&'static str, f64>,
    pub unexplained_calls_s: f64,
    pub unexplained_s: f64,
    pub preempted_s: f64,
    pub recording_s: f64,
    pub unmeasured_s: f64,
    pub polling_cpu_s: f64,
    pub open_percent: f64,
}

impl From<&Balance> for BalanceSeconds {
    fn from(balance: &Balance) -> BalanceSeconds {
        let explained = balance.explained_ns.iter();
        BalanceSeconds {
            wall_s: seconds(balance.wall_ns),
            work_s: seconds(balance.work_ns),
            calls_cpu_s: seconds(balance.calls_cpu_ns),
            calls_wait_s: seconds(balance.calls_wait_ns),
            sleep_s: seconds(balance.sleep_ns),
            explained_s: explained.map(|&(rule, ns)| (rule.name(), seconds(ns))).collect(),
            unexplained_calls_s: seconds(balance.unexplained_calls_ns),
            unexplained_s: seconds(balance.unexplained_ns),
            preempted_s: seconds(balance.preempted_ns),
            recording_s: seconds(balance.recording_ns),
            unmeasured_s: seconds(balance.unmeasured_ns),
            polling_cpu_s: seconds(balance.polling_cpu_ns),
            open_percent: balance.open_percent(),
        }
    }
}

/// A [`LeftOut`] in seconds; as JSON its fields are a contract, see the README.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct LeftOutSeconds {
    pub call: String,
    pub count: u64,
    pub bytes: u64,
    pub s: f64,
}

impl From<&LeftOut> for LeftOutSeconds {
    fn from(left_out: &LeftOut) -> LeftOutSeconds {
        let LeftOut { call, count, bytes, ns } = left_out;
        LeftOutSeconds { call: call.clone(), count: *count, bytes: *bytes, s: seconds(*ns) }
    }
}

impl Plan {
    /// The balances of all programs, added up.
    pub fn balance(&self) -> Balance {
        let mut sum = Balance::default();
        self.programs.iter().for_each(|program| sum.add(&program.balance));
        sum
    }

    /// What in the time balance makes figures doubtful, a sentence each. Nothing for a plan without balances.
    pub fn balance_doubts(&self) -> Vec<String> {
        let balance = self.balance();
        [self.open_balances(), unknown(&balance), self.too_much_work(&balance)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn open_balances(&self) -> Option<String> {
        let open = self.programs.iter().filter(|program| {
            let balance = &program.balance;
            balance.open_ns().unsigned_abs() > OPEN_NS && balance.open_percent().abs() > OPEN_PERCENT
        });
        let worst = open.clone().max_by_key(|program| program.balance.open_ns().unsigned_abs())?;
        Some(format!(
            "the time balance of {} of {} threads does not close to {OPEN_PERCENT} %: thread {} of process {} leaves {:+.2} % open",
            open.count(),
            self.programs.len(),
            worst.thread.tid,
            worst.thread.pid,
            worst.balance.open_percent()
        ))
    }

    fn too_much_work(&self, balance: &Balance) -> Option<String> {
        let (recorded_ns, cores) = (self.about.recorded_ns, self.about.cores);
        is_too_much_work(balance.cpu_ns(), recorded_ns, cores).then(|| {
            format!(
                "the plan holds {:.3} s of processor time, but {cores} cores can do no more than {:.3} s in the {:.3} s recorded",
                seconds(balance.cpu_ns()),
                seconds(recorded_ns) * f64::from(cores),
                seconds(recorded_ns)
            )
        })
    }
}

fn unknown(balance: &Balance) -> Option<String> {
    (balance.unknown_percent() > UNKNOWN_PERCENT).then(|| {
        format!(
            "{:.1} % of the threads' time is unknown: {:.3} s of waiting in recorded calls that no rule explains, {:.3} s of \
             waiting outside every recorded call, {:.3} s not measured",
            balance.unknown_percent(),
            seconds(balance.unexplained_calls_ns),
            seconds(balance.unexplained_ns),
            seconds(balance.unmeasured_ns)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{About, Program, Rule, Steps, Thread};

    const SECOND: u64 = 1_000_000_000;

    fn plan(cores: u32, balances: &[Balance]) -> Plan {
        let program = |balance: &Balance| Program {
            thread: Thread { process: 0, rank: None, pid: 7, tid: 8, ends_with_process: false },
            balance: balance.clone(),
            steps: Steps::default(),
        };
        let about = About { cores, recorded_ns: SECOND, ..About::default() };
        Plan { about, programs: balances.iter().map(program).collect(), ..Plan::default() }
    }

    fn working(work_ns: u64, wall_ns: u64) -> Balance {
        Balance { wall_ns, work_ns, ..Balance::default() }
    }

    #[test]
    fn a_balance_that_closes_is_not_doubted() {
        assert!(plan(1, &[working(SECOND, SECOND)]).balance_doubts().is_empty());
        assert!(plan(0, &[Balance::default()]).balance_doubts().is_empty());
        let nearly = working(SECOND - 900_000, SECOND);
        assert!(plan(1, &[nearly]).balance_doubts().is_empty());
    }

    #[test]
    fn what_is_left_open_is_told() {
        let doubts =
            plan(2, &[working(SECOND, SECOND), working(SECOND - 2_000_000, SECOND)]).balance_doubts();
        assert_eq!(doubts.len(), 1, "{doubts:?}");
        assert!(doubts[0].contains("1 of 2 threads") && doubts[0].contains("+0.20 %"), "{doubts:?}");
    }

    #[test]
    fn more_work_than_the_cores_can_do_is_told() {
        let balances = [working(SECOND, SECOND), working(SECOND, SECOND)];
        assert!(plan(2, &balances).balance_doubts().is_empty());
        assert!(plan(0, &balances).balance_doubts().is_empty(), "nobody knows how many cores there were");
        let doubts = plan(1, &balances).balance_doubts();
        assert!(doubts[0].contains("2.000 s of processor time, but 1 cores"), "{doubts:?}");
    }

    #[test]
    fn unknown_time_is_told_by_its_kind() {
        let mut balance = working(SECOND - 20_000_000, SECOND);
        balance.unexplained_calls_ns = 15_000_000;
        balance.unexplained_ns = 5_000_000;
        assert!(plan(1, &[balance.clone()]).balance_doubts().is_empty(), "2 % is not more than 2 %");
        balance.work_ns -= 10_000_000;
        balance.unmeasured_ns = 10_000_000;
        let doubts = plan(1, &[balance]).balance_doubts();
        for part in ["3.0 %", "0.015 s of waiting in recorded calls", "0.005 s of", "0.010 s not measured"] {
            assert!(doubts[0].contains(part), "{part} in {doubts:?}");
        }
    }

    #[test]
    fn seconds_keep_every_part() {
        let mut balance = working(SECOND / 2, SECOND);
        balance.explain(Rule::FileData, SECOND / 4);
        let seconds = BalanceSeconds::from(&balance);
        assert_eq!((seconds.wall_s, seconds.work_s, seconds.open_percent), (1.0, 0.5, 25.0));
        assert_eq!(seconds.explained_s, BTreeMap::from([("file-data", 0.25)]));
    }
}
