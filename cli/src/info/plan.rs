//! What a plan holds.

use super::balance::{Balances, ThreadBalance};
use super::common::{Common, Counts};
use super::table::{self, row};
use crate::survey::Unobserved;
use anyhow::Context;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use syn_plan::figures::seconds;
use syn_plan::{BalanceSeconds, Guarantee, Initial, LeftOutSeconds, LeftOutThreads, Op, Plan, Rule, VERSION};

/// `syn info --json` for a plan.
#[derive(Serialize)]
pub struct Info {
    #[serde(flatten)]
    pub common: Common,
    /// Elapsed time of every run that was merged.
    runs_s: Vec<f64>,
    /// Steps of all programs.
    steps: u64,
    /// Steps per kind of operation.
    calls: Counts,
    /// Dependencies per rule that found them.
    edges: Counts,
    /// Files and directories that the plan names.
    files: u64,
    /// Bytes of files that must be there before the first step.
    prepared_bytes: u64,
    /// The share of message waiting in which the processor was used.
    busy_waiting: f64,
    /// Processors where it was recorded, 0 when unknown.
    cores: u32,
    /// Where the time of all threads went.
    balance: BalanceSeconds,
    /// Where the time of each thread went.
    thread_list: Vec<ThreadBalance>,
    /// The balance for the screen.
    #[serde(skip)]
    balances: String,
    /// Recorded calls without an operation in the plan, most time first.
    left_out: Vec<LeftOutSeconds>,
    /// Threads that libraries made for themselves and that are not in the plan, by process.
    left_out_threads: Vec<ThreadsLeftOut>,
    /// The file.
    #[serde(skip)]
    path: String,
}

/// Threads of one process that the plan leaves out.
#[derive(Serialize)]
struct ThreadsLeftOut {
    pid: u32,
    threads: u32,
    /// CPU time they used, seconds.
    cpu_s: f64,
}

impl Info {
    /// On the screen the balance takes at most `rows` lines.
    pub fn of(plan: &Plan, path: &Path, rows: usize) -> anyhow::Result<Info> {
        let about = &plan.about;
        let (balances, mut screen) = (Balances::of(plan), String::new());
        balances.write(&mut screen, rows);
        let bytes =
            std::fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))?.len();
        let (mut calls, mut edges) = (Counts::new(), Rule::ALL.map(|rule| (rule.name(), 0)).into());
        for counted in plan.programs.iter().flat_map(|program| program.steps.counted()) {
            let count: &mut u64 = calls.entry(kind_of(&counted.step.op)).or_default();
            *count = count.saturating_add(counted.times);
        }
        for edge in &plan.edges {
            *Counts::entry(&mut edges, edge.rule.name()).or_default() += 1;
        }
        let processes: BTreeSet<u32> = plan.programs.iter().map(|program| program.thread.process).collect();
        let prepared = plan.files.iter().map(|file| match file.initial {
            Initial::Regular { bytes } => bytes,
            Initial::Absent | Initial::Directory => 0,
        });
        let unobserved = about.remarks.iter().map(|remark| Unobserved { pid: None, reason: remark.clone() });
        Ok(Info {
            common: Common {
                kind: "plan",
                format: VERSION,
                command: about.command.clone(),
                host: about.hosts.first().cloned().unwrap_or_default(),
                hosts: about.hosts.clone(),
                mpi: about.mpi.clone(),
                processes: processes.len() as u64,
                threads: plan.programs.len() as u64,
                ranks: about.ranks,
                events: about.events,
                bytes,
                elapsed_s: seconds(about.recorded_ns),
                complete: about.dropped == 0 && about.remarks.is_empty(),
                dropped: about.dropped,
                not_entered: Vec::new(),
                unobserved: unobserved.collect(),
            },
            runs_s: about.runs_ns.iter().copied().map(seconds).collect(),
            steps: plan.programs.iter().map(|program| program.steps.len()).sum(),
            calls,
            edges,
            files: plan.files.len() as u64,
            prepared_bytes: prepared.fold(0, u64::saturating_add),
            busy_waiting: about.busy_waiting,
            cores: about.cores,
            balance: balances.all,
            thread_list: balances.threads,
            balances: screen,
            left_out: about.left_out.iter().map(LeftOutSeconds::from).collect(),
            left_out_threads: threads_left_out(plan),
            path: path.display().to_string(),
        })
    }
}

fn threads_left_out(plan: &Plan) -> Vec<ThreadsLeftOut> {
    let threads = plan.programs.iter().map(|program| &program.thread);
    let pids: HashMap<u32, u32> = threads.map(|thread| (thread.process, thread.pid)).collect();
    let left_out = plan.about.left_out_threads.iter();
    left_out
        .filter_map(|&LeftOutThreads { process, threads, cpu_ns }| {
            Some(ThreadsLeftOut { pid: *pids.get(&process)?, threads, cpu_s: seconds(cpu_ns) })
        })
        .collect()
}

/// The name of a step's operation in counts and in `syn dump`.
pub fn kind_of(op: &Op) -> &'static str {
    match op {
        Op::Compute { .. } => "compute",
        Op::Sleep { .. } => "sleep",
        Op::TimedWait { .. } => "timed-wait",
        Op::Signal { .. } => "signal",
        Op::Wait { .. } => "wait",
        Op::Repeat { .. } => "repeat",
        Op::Demand(demand) => demand.name(),
        Op::Io { call, .. } => call.name(),
        Op::Mpi { call, .. } => call.name(),
    }
}

/// One screen about a plan.
pub fn screen(info: &Info, rows: usize) -> String {
    let mut out = String::new();
    let common = &info.common;
    row(&mut out, "plan", format_args!("{} (format {})", info.path, common.format));
    table::heading(&mut out, common);
    let runs: Vec<String> = info.runs_s.iter().map(|run| format!("{run:.3}")).collect();
    row(&mut out, "runs merged", format_args!("{} ({} s)", runs.len(), runs.join(", ")));
    row(&mut out, "events", format_args!("{}, dropped {}", common.events, common.dropped));
    let per_step = common.bytes as f64 / info.steps.max(1) as f64;
    row(&mut out, "steps", format_args!("{} in {} bytes, {per_step:.1} a step", info.steps, common.bytes));
    table::counts(&mut out, "calls", &info.calls);
    table::counts(&mut out, "edges", &info.edges);
    let [certain, observed] = [Guarantee::Certain, Guarantee::Observed].map(|guarantee| {
        let of_class = Rule::ALL.iter().filter(|rule| rule.guarantee() == guarantee);
        of_class.filter_map(|rule| info.edges.get(rule.name())).sum::<u64>()
    });
    row(&mut out, "their order", format_args!("{certain} certain, {observed} as it was observed"));
    row(&mut out, "files", format_args!("{}, {} bytes to prepare", info.files, info.prepared_bytes));
    row(
        &mut out,
        "waiting",
        format_args!("{:.0} % of it with the processor in use", info.busy_waiting * 100.0),
    );
    out.push_str(&info.balances);
    let left_out: Vec<String> = info
        .left_out
        .iter()
        .map(|LeftOutSeconds { call, count, bytes, s }| format!("{call} {count}, {bytes} bytes, {s:.3} s"))
        .collect();
    table::list(&mut out, "recorded and not replayed:", &left_out, rows);
    table::missing(&mut out, common, rows);
    out
}
