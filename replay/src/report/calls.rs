//! Recorded against replayed, per call class.

use crate::args::Mode;
use crate::measure::{Class, Latencies, Outcome, moves_bytes};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use syn_plan::figures::seconds;
use syn_plan::{Op, Plan};

/// One call class.
#[derive(Debug, Serialize)]
pub struct CallReport {
    count: u64,
    bytes: u64,
    recorded: Measured,
    replayed: Measured,
    divergent: u64,
}

#[derive(Debug, Serialize)]
struct Measured {
    total_s: f64,
    latency_us: Distribution,
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
    let mut recorded: BTreeMap<&str, Class> = BTreeMap::new();
    for step in plan.programs.iter().flat_map(|program| program.steps.unrolled()) {
        if let Op::Io { call, result } = step.op {
            recorded.entry(call.name()).or_default().record(step.took_ns, result, moves_bytes(&call));
        }
    }
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
