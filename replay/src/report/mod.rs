//! How the replay went: recorded against replayed, and both against the application where it was measured.

mod balance;
mod calls;
mod divergences;
mod page;
mod text;
mod threads;
mod total;

use crate::against::Application;
use crate::args::Args;
use crate::communicate::{Comm, MpiIo};
use crate::delays::Performed;
use crate::job::Machine;
use crate::measure::Outcome;
use crate::mode::Mode;
use crate::transport::polls;
use balance::Balances;
use calls::{CallReport, Distribution};
pub use divergences::DivergenceReport;
use serde::Serialize;
use std::collections::BTreeMap;
use syn_plan::{LeftOutSeconds, Plan};
use threads::{ProcessReport, RankReport};
use total::Totals;

/// The report; as JSON its fields are a contract, see the README.
#[derive(Debug, Serialize)]
pub struct Report {
    kind: &'static str,
    plan: String,
    command: String,
    mode: Mode,
    storage: String,
    transport: &'static str,
    comm: Comm,
    mpi_io: MpiIo,
    waits_by_polling: bool,
    cpu_scale: f64,
    #[serde(flatten)]
    totals: Totals,
    #[serde(skip)]
    replays: usize,
    /// The replay, from 1, that balance, ranks, processes and calls are of.
    shown_replay: usize,
    balance: Balances,
    ranks: Vec<RankReport>,
    processes: Vec<ProcessReport>,
    calls: BTreeMap<String, CallReport>,
    left_out: Vec<LeftOutSeconds>,
    lateness_us: Option<Distribution>,
    divergences: DivergenceReport,
    /// By replay and program: when its operations were done; where delays were injected.
    #[serde(skip_serializing_if = "Option::is_none")]
    performed: Option<Vec<Vec<Vec<Performed>>>>,
    machine: MachineReport,
    remarks: Vec<String>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct MachineReport {
    iterations_per_ns: f64,
    line_ns: f64,
    io_inside_ns: f64,
    wait_inside_ns: f64,
    compute_step_ns: f64,
}

impl Report {
    /// From all replays. What is told per rank, process and call is of the replay nearest to the median.
    pub fn new(
        args: &Args,
        (transport, comm, mpi_io): (&'static str, Comm, MpiIo),
        plan: &Plan,
        machine: Machine,
        replays: &[Vec<Outcome>],
        application: Option<Application>,
    ) -> Report {
        let application = application.unwrap_or_default();
        let about = &plan.about;
        let ends: Vec<u64> = replays.iter().map(|outcomes| end_of(outcomes)).collect();
        let recording_ns = plan.programs.iter().map(|program| program.balance.recording_ns).max();
        let shown = total::nearest_to_median(&ends);
        let outcomes = &replays[shown];
        Report {
            kind: "replay",
            plan: args.plan.display().to_string(),
            command: about.command.clone(),
            mode: args.mode,
            storage: args.storage.display().to_string(),
            transport,
            comm,
            mpi_io,
            waits_by_polling: polls(plan, args.wait),
            cpu_scale: args.cpu_scale,
            totals: Totals::new(
                about.recorded_ns,
                recording_ns.unwrap_or(0),
                &about.runs_ns,
                &ends,
                (&application.runs_ns, &application.recording_ns),
            ),
            replays: replays.len(),
            shown_replay: shown + 1,
            balance: threads::all(plan, outcomes),
            ranks: threads::ranks(plan, outcomes),
            processes: threads::processes(plan, outcomes),
            calls: calls::calls(plan, outcomes),
            left_out: about.left_out.iter().map(LeftOutSeconds::from).collect(),
            lateness_us: calls::lateness(args.mode, outcomes),
            divergences: DivergenceReport::of(replays),
            performed: args.inject_delays.map(|_| performed(replays)),
            machine: MachineReport {
                iterations_per_ns: machine.speed.iterations_per_ns,
                line_ns: machine.speed.line_ns,
                io_inside_ns: machine.io_inside_ns,
                wait_inside_ns: machine.wait_inside_ns,
                compute_step_ns: machine.compute_step_ns,
            },
            remarks: remarks(plan, outcomes, application.remarks),
            warnings: warnings(plan, replays, application.warnings),
        }
    }

    /// True when something makes the figures doubtful.
    pub fn needs_a_look(&self) -> bool {
        self.divergences.total > 0 || !self.warnings.is_empty()
    }
}

fn performed(replays: &[Vec<Outcome>]) -> Vec<Vec<Vec<Performed>>> {
    let of_replay =
        |outcomes: &Vec<Outcome>| outcomes.iter().map(|outcome| outcome.performed.clone()).collect();
    replays.iter().map(of_replay).collect()
}

fn end_of(outcomes: &[Outcome]) -> u64 {
    outcomes.iter().map(|outcome| outcome.end_ns).max().unwrap_or(0)
}

fn remarks(plan: &Plan, outcomes: &[Outcome], application: Vec<String>) -> Vec<String> {
    let mut remarks = plan.about.remarks.clone();
    remarks.extend(plan.balance_doubts());
    let after: u64 = outcomes.iter().map(|outcome| outcome.after_process).sum();
    if after > 0 {
        remarks.push(format!(
            "{after} I/O operations came after the end of their process, which would have cut them off: threads that end \
             with their process fell behind it"
        ));
    }
    remarks.extend(application);
    remarks
}

fn warnings(plan: &Plan, replays: &[Vec<Outcome>], application: Vec<String>) -> Vec<String> {
    let mut warnings = application;
    if plan.about.dropped > 0 {
        warnings.push(format!(
            "{} records were dropped when the application was recorded; what they held is not replayed",
            plan.about.dropped
        ));
    }
    if plan.about.recorded_ns == 0 {
        warnings
            .push("the plan does not say how long the application ran; there is no change to tell".into());
    }
    let refused: u64 = replays.iter().flatten().map(|outcome| outcome.direct_refused).sum();
    if refused > 0 {
        warnings.push(format!(
            "{refused} files were opened without O_DIRECT, which this storage does not have; their I/O went through the \
             page cache"
        ));
    }
    let refused: u64 = replays.iter().flatten().map(|outcome| outcome.queues_refused).sum();
    if refused > 0 {
        warnings.push(format!(
            "{refused} queues of asynchronous I/O were refused by the system (io_setup(2), io_uring_setup(2)); threads did their requests, \
             which takes another time"
        ));
    }
    warnings
}
