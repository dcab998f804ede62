//! Recorded against replayed, per call class.

use crate::measure::{Class, Latencies, Outcome, moves_bytes};
use crate::mode::Mode;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use syn_plan::figures::seconds;
use syn_plan::{Counted, Mpi, Op, Plan};

/// One call class.
#[derive(Debug, Serialize)]
pub struct CallReport {
    pub count: u64,
    pub bytes: u64,
    pub recorded: Measured,
    pub replayed: Measured,
    divergent: u64,
}

#[derive(Debug, Serialize)]
pub struct Measured {
    pub total_s: f64,
    pub latency_us: Distribution,
}

/// Percentiles, microseconds.
#[derive(Debug, Serialize)]
pub struct Distribution {
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

/// By the name of the class.
pub fn calls(plan: &Plan, outcomes: &[Outcome]) -> BTreeMap<String, CallReport> {
    let mut recorded = recorded(plan);
    let mut replayed: BTreeMap<&str, Class> = BTreeMap::new();
    for (name, class) in outcomes.iter().flat_map(|outcome| &outcome.classes) {
        replayed.entry(name).or_default().add(class);
    }
    let report = |(name, class): (&str, Class)| {
        let before = recorded.remove(name).unwrap_or_default();
        let report = CallReport {
            count: class.latencies.count(),
            bytes: class.bytes,
            divergent: class.divergent,
            recorded: Measured::of(&before),
            replayed: Measured::of(&class),
        };
        (name.to_owned(), report)
    };
    replayed.into_iter().map(report).collect()
}

/// What the plan says of each class.
fn recorded(plan: &Plan) -> BTreeMap<&'static str, Class> {
    let mut recorded: BTreeMap<&str, Class> = BTreeMap::new();
    let mut entered_ns = None;
    for Counted { step, times, .. } in plan.programs.iter().flat_map(|program| program.steps.counted()) {
        match step.op {
            Op::Io { call, result } => {
                let class = recorded.entry(call.name()).or_default();
                class.record_times(step.took_ns, result, moves_bytes(&call), times);
            }
            Op::Mpi { call: Mpi::FileEnter, .. } => entered_ns = Some(step.start_ns),
            // With what the library did inside it.
            Op::Mpi { call, .. } if call.is_on_file() => {
                let (end_ns, (sent, received)) = (step.start_ns.saturating_add(step.took_ns), call.bytes());
                let took_ns = end_ns.saturating_sub(entered_ns.take().unwrap_or(step.start_ns));
                let class = recorded.entry(call.name()).or_default();
                class.record_times(took_ns, (sent + received) as i64, true, times);
            }
            _ => {}
        }
    }
    recorded
}

/// How late operations were issued; in the open model only.
pub fn lateness(mode: Mode, outcomes: &[Outcome]) -> Option<Distribution> {
    let mut all = Latencies::default();
    outcomes.iter().for_each(|outcome| all.add(&outcome.lateness));
    (mode == Mode::Timed).then(|| Distribution::of(&all))
}

impl Measured {
    fn of(class: &Class) -> Measured {
        Measured { total_s: seconds(class.total_ns), latency_us: Distribution::of(&class.latencies) }
    }
}

impl Distribution {
    fn of(latencies: &Latencies) -> Distribution {
        let us = |ns: u64| ns as f64 / 1e3;
        Distribution {
            p50: us(latencies.percentile(50.0)),
            p95: us(latencies.percentile(95.0)),
            p99: us(latencies.percentile(99.0)),
            max: us(latencies.longest()),
        }
    }
}

/// A line per class.
pub fn write(out: &mut String, calls: &BTreeMap<String, CallReport>) -> fmt::Result {
    writeln!(
        out,
        "\n{:<16} {:>9} {:>15} {:>11} {:>11} | {:>9} {:>9} {:>9} {:>10}",
        "call", "count", "bytes", "recorded s", "replayed s", "p50 µs", "p95 µs", "p99 µs", "max µs"
    )?;
    calls.iter().try_for_each(|(name, call)| {
        let late = &call.replayed.latency_us;
        let (recorded, replayed) = (call.recorded.total_s, call.replayed.total_s);
        writeln!(
            out,
            "{name:<16} {:>9} {:>15} {recorded:>11.6} {replayed:>11.6} | {:>9.1} {:>9.1} {:>9.1} {:>10.1}",
            call.count, call.bytes, late.p50, late.p95, late.p99, late.max
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn_plan::{Balance, Io, Program, Step, Thread};

    /// Such a plan could not be replayed in a lifetime, but must not keep the report from ending.
    #[test]
    fn a_long_repeat_is_counted_in_one_go() {
        let step = |took_ns, op| Step { start_ns: 0, took_ns, op };
        let write = Op::Io { call: Io::Write { handle: 0, bytes: 8 }, result: 8 };
        let steps = [step(0, Op::Repeat { count: u32::MAX, steps: 1 }), step(5, write), step(7, write)];
        let thread = Thread { process: 0, rank: None, pid: 1, tid: 1, ends_with_process: false };
        let program = Program {
            thread,
            balance: Balance::default(),
            steps: steps.into_iter().cycle().take(600_000).collect(),
        };
        let plan = Plan { programs: vec![program], ..Plan::default() };
        let (repeated, class) = (200_000 * u64::from(u32::MAX), &recorded(&plan)["write"]);
        assert_eq!(class.latencies.count(), repeated + 200_000);
        assert_eq!(class.total_ns, 5 * repeated + 7 * 200_000);
        assert_eq!(class.bytes, 8 * (repeated + 200_000));
    }
}
