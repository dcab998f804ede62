//! Recorded against replayed, per rank and per process.

use super::balance::Balances;
use crate::measure::Outcome;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use syn_plan::figures::{change_percent, seconds};
use syn_plan::{Balance, Plan, Thread};

/// One rank; `rank` is absent for processes outside MPI.
#[derive(Debug, Serialize)]
pub struct RankReport {
    pub rank: Option<u32>,
    #[serde(flatten)]
    pub times: Group,
}

/// One process of the plan.
#[derive(Debug, Serialize)]
pub struct ProcessReport {
    process: u32,
    /// Where it was recorded.
    pid: u32,
    /// For people: what ran in it, and that number.
    pub name: String,
    rank: Option<u32>,
    threads: u64,
    #[serde(flatten)]
    pub times: Group,
}

/// The times of some programs.
#[derive(Debug, Serialize)]
pub struct Group {
    pub recorded_s: f64,
    pub replayed_s: f64,
    change_percent: Option<f64>,
    /// Processor time that the replaying threads got, whatever for.
    cpu_s: f64,
    pub balance: Balances,
    #[serde(skip)]
    replayed: Balance,
}

#[derive(Default)]
struct Sum {
    threads: u64,
    recorded_end_ns: u64,
    replayed_end_ns: u64,
    cpu_ns: u64,
    recorded: Balance,
    replayed: Balance,
}

impl From<Sum> for Group {
    fn from(sum: Sum) -> Group {
        Group {
            recorded_s: seconds(sum.recorded_end_ns),
            replayed_s: seconds(sum.replayed_end_ns),
            change_percent: change_percent(sum.recorded_end_ns, sum.replayed_end_ns),
            cpu_s: seconds(sum.cpu_ns),
            balance: Balances::new(&sum.recorded, &sum.replayed),
            replayed: sum.replayed,
        }
    }
}

/// The programs that have the same key, added up.
fn grouped<K: Ord>(plan: &Plan, outcomes: &[Outcome], key: impl Fn(&Thread) -> K) -> BTreeMap<K, Sum> {
    let mut groups: BTreeMap<K, Sum> = BTreeMap::new();
    for outcome in outcomes {
        let program = &plan.programs[outcome.program];
        let sum = groups.entry(key(&program.thread)).or_default();
        let ends = program.steps.iter().map(|step| step.start_ns.saturating_add(step.took_ns));
        sum.recorded_end_ns = ends.max().unwrap_or(0).max(sum.recorded_end_ns);
        sum.replayed_end_ns = outcome.end_ns.max(sum.replayed_end_ns);
        sum.threads += 1;
        sum.cpu_ns += outcome.cpu_ns;
        sum.recorded.add(&program.balance);
        sum.replayed.add(&outcome.balance);
    }
    groups
}

/// By rank; what is without one comes last.
pub fn ranks(plan: &Plan, outcomes: &[Outcome]) -> Vec<RankReport> {
    let groups = grouped(plan, outcomes, |thread| (thread.rank.is_none(), thread.rank));
    groups.into_iter().map(|((_, rank), sum)| RankReport { rank, times: sum.into() }).collect()
}

/// By process of the plan.
pub fn processes(plan: &Plan, outcomes: &[Outcome]) -> Vec<ProcessReport> {
    let groups = grouped(plan, outcomes, |thread| {
        (thread.process, thread.pid, thread.rank, plan.process_name(thread))
    });
    let report = |((process, pid, rank, name), sum): (_, Sum)| ProcessReport {
        process,
        pid,
        name,
        rank,
        threads: sum.threads,
        times: sum.into(),
    };
    groups.into_iter().map(report).collect()
}

/// Recorded and replayed of all programs together.
pub fn all(plan: &Plan, outcomes: &[Outcome]) -> Balances {
    let mut replayed = Balance::default();
    outcomes.iter().for_each(|outcome| replayed.add(&outcome.balance));
    Balances::new(&plan.balance(), &replayed)
}

/// A line per rank, of what was replayed.
pub fn write(out: &mut String, ranks: &[RankReport]) -> fmt::Result {
    writeln!(
        out,
        "\n{:<6} {:>11} {:>11} {:>9} | {:>10} {:>10} {:>10} {:>10}",
        "rank", "recorded s", "replayed s", "change %", "work s", "I/O s", "sleep s", "waiting s"
    )?;
    ranks.iter().try_for_each(|RankReport { rank, times }| {
        let rank = rank.map_or("none".into(), |rank| rank.to_string());
        let change = times.change_percent.map_or("-".into(), |change| format!("{change:+.2}"));
        let balance = &times.replayed;
        writeln!(
            out,
            "{rank:<6} {:>11.6} {:>11.6} {change:>9} | {:>10.6} {:>10.6} {:>10.6} {:>10.6}",
            times.recorded_s,
            times.replayed_s,
            seconds(balance.work_ns),
            seconds(balance.calls_cpu_ns + balance.calls_wait_ns),
            seconds(balance.sleep_ns),
            seconds(balance.explained() + balance.unexplained_ns),
        )
    })
}
