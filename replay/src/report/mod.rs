//! How well the replay did: recorded against replayed.

mod text;
mod total;

use crate::args::{Args, Mode};
use crate::job::Machine;
use crate::measure::{Class, Divergence, Latencies, Outcome, Times, moves_bytes};
use crate::transport::polls;
use serde::Serialize;
use std::collections::BTreeMap;
use syn_plan::{Op, Plan};
use total::{Seconds, seconds};

/// Divergences told in full, all programs together.
const EXAMPLES: usize = 10;

/// The report; as JSON its fields are a contract, see the README.
#[derive(Debug, Serialize)]
pub struct Report {
    kind: &'static str,
    plan: String,
    command: String,
    mode: Mode,
    storage: String,
    transport: &'static str,
    waits_by_polling: bool,
    cpu_scale: f64,
    recorded_s: f64,
    replayed_s: Seconds,
    error_percent: Option<f64>,
    error_percent_range: Option<[f64; 2]>,
    application_s: Vec<f64>,
    application_spread_percent: Option<f64>,
    ranks: Vec<RankReport>,
    calls: BTreeMap<String, CallReport>,
    lateness_us: Option<Distribution>,
    divergences: DivergenceReport,
    machine: MachineReport,
    remarks: Vec<String>,
    warnings: Vec<String>,
}

/// One rank; `rank` is absent for processes outside MPI.
#[derive(Debug, Serialize)]
struct RankReport {
    rank: Option<u32>,
    recorded_s: f64,
    replayed_s: f64,
    error_percent: Option<f64>,
    compute_s: f64,
    sleep_s: f64,
    io_s: f64,
    waiting_s: f64,
    cpu_s: f64,
}

/// One call class.
#[derive(Debug, Serialize)]
struct CallReport {
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
struct Distribution {
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

#[derive(Debug, Serialize)]
struct DivergenceReport {
    total: u64,
    by_call: BTreeMap<String, u64>,
    examples: Vec<Divergence>,
}

#[derive(Debug, Serialize)]
struct MachineReport {
    iterations_per_ns: f64,
    step_cost_ns: f64,
}

impl Report {
    /// From all replays. What is told per rank and per call is of the median replay; divergences are of all.
    pub fn new(
        args: &Args,
        transport: &'static str,
        plan: &Plan,
        machine: Machine,
        replays: &[Vec<Outcome>],
    ) -> Report {
        let ends: Vec<u64> = replays.iter().map(|outcomes| end_of(outcomes)).collect();
        let median = &replays[total::median_of(&ends)];
        let recorded_ns = plan.about.recorded_ns;
        let replayed_ns = ends[total::median_of(&ends)];
        Report {
            kind: "replay",
            plan: args.plan.display().to_string(),
            command: plan.about.command.clone(),
            mode: args.mode,
            storage: args.storage.display().to_string(),
            transport,
            waits_by_polling: polls(plan, args.wait),
            cpu_scale: args.cpu_scale,
            recorded_s: seconds(recorded_ns),
            replayed_s: Seconds::of(&ends),
            error_percent: total::error_percent(recorded_ns, replayed_ns),
            error_percent_range: total::error_range(recorded_ns, &ends),
            application_s: plan.about.runs_ns.iter().copied().map(seconds).collect(),
            application_spread_percent: total::spread_percent(&plan.about.runs_ns),
            ranks: ranks(plan, median),
            calls: calls(plan, median),
            lateness_us: lateness(args.mode, median),
            divergences: divergences(replays),
            machine: MachineReport {
                iterations_per_ns: machine.iterations_per_ns,
                step_cost_ns: machine.step_cost_ns,
            },
            remarks: plan.about.remarks.clone(),
            warnings: warnings(plan, replays),
        }
    }

    /// True when something makes the figures doubtful.
    pub fn needs_a_look(&self) -> bool {
        self.divergences.total > 0 || !self.warnings.is_empty()
    }
}

fn end_of(outcomes: &[Outcome]) -> u64 {
    outcomes.iter().map(|outcome| outcome.end_ns).max().unwrap_or(0)
}

fn ranks(plan: &Plan, outcomes: &[Outcome]) -> Vec<RankReport> {
    let mut ranks: BTreeMap<(bool, u32), (u64, u64, Times)> = BTreeMap::new();
    for outcome in outcomes {
        let program = &plan.programs[outcome.program];
        let key = program.thread.rank.map_or((true, 0), |rank| (false, rank));
        let (recorded, replayed, times) = ranks.entry(key).or_default();
        let ends = program.steps.unrolled().map(|step| step.start_ns.saturating_add(step.took_ns));
        *recorded = ends.max().unwrap_or(0).max(*recorded);
        *replayed = outcome.end_ns.max(*replayed);
        times.add(&outcome.times);
    }
    let report =
        |((without, rank), (recorded, replayed, times)): ((bool, u32), (u64, u64, Times))| RankReport {
            rank: (!without).then_some(rank),
            recorded_s: seconds(recorded),
            replayed_s: seconds(replayed),
            error_percent: total::error_percent(recorded, replayed),
            compute_s: seconds(times.compute_ns),
            sleep_s: seconds(times.sleep_ns),
            io_s: seconds(times.io_ns),
            waiting_s: seconds(times.waiting_ns),
            cpu_s: seconds(times.cpu_ns),
        };
    ranks.into_iter().map(report).collect()
}

fn calls(plan: &Plan, outcomes: &[Outcome]) -> BTreeMap<String, CallReport> {
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

fn lateness(mode: Mode, outcomes: &[Outcome]) -> Option<Distribution> {
    let mut all = Latencies::default();
    outcomes.iter().for_each(|outcome| all.add(&outcome.lateness));
    (mode == Mode::Timed).then(|| Distribution::of(&all))
}

fn divergences(replays: &[Vec<Outcome>]) -> DivergenceReport {
    let mut by_call: BTreeMap<String, u64> = BTreeMap::new();
    for (name, class) in replays.iter().flatten().flat_map(|outcome| &outcome.classes) {
        if class.divergent > 0 {
            *by_call.entry(name.clone()).or_default() += class.divergent;
        }
    }
    let examples =
        replays.iter().flatten().flat_map(|outcome| &outcome.divergences).take(EXAMPLES).cloned().collect();
    DivergenceReport { total: by_call.values().sum(), by_call, examples }
}

fn warnings(plan: &Plan, replays: &[Vec<Outcome>]) -> Vec<String> {
    let mut warnings = Vec::new();
    if plan.about.dropped > 0 {
        warnings.push(format!(
            "{} records were dropped when the application was recorded; what they held is not replayed",
            plan.about.dropped
        ));
    }
    if plan.about.recorded_ns == 0 {
        warnings.push("the plan does not say how long the application ran; there is no error to tell".into());
    }
    let refused: u64 = replays.iter().flatten().map(|outcome| outcome.direct_refused).sum();
    if refused > 0 {
        warnings.push(format!(
            "{refused} files were opened without O_DIRECT, which this storage does not have; their I/O went through the \
             page cache"
        ));
    }
    warnings
}
