//! Who runs the programs: local processes, or the ranks of an MPI job.

mod local;
#[cfg(feature = "mpi")]
mod ranks;

pub use local::Local;
#[cfg(feature = "mpi")]
pub use ranks::Ranks;

use crate::clock::ExactSleeps;
use crate::io::{Buffers, Target};
use crate::job::Job;
use crate::measure::Outcome;
use crate::process::ProcessEnd;
use crate::program::Runner;
use crate::transport::Transport;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use syn_plan::Plan;

/// The processes that replay together. All of them go through the same stages; one of them leads.
pub trait Crew {
    /// `local` or `mpi`, for the report.
    fn name(&self) -> &'static str;
    /// True in the process that prepares, reports and removes.
    fn leads(&self) -> bool;
    /// True when all processes that replay see the memory that this one shares.
    fn shares_memory(&self) -> bool;
    /// The programs that run on this process's machine, at least: as many are measured at once.
    fn programs_here(&self, plan: &Plan) -> usize;
    /// Whether this crew fits the plan.
    ///
    /// # Errors
    /// [`crate::WrongUsage`] when it does not.
    fn fits(&self, plan: &Plan) -> anyhow::Result<()>;
    /// Ends a stage: `Ok` when it went well in every process.
    ///
    /// # Errors
    /// The process's own error, or [`crate::FailedElsewhere`].
    fn agree(&self, stage: anyhow::Result<()>) -> anyhow::Result<()>;
    /// Tells everyone the folder that the leader has made.
    fn share_folder(&self, folder: Option<PathBuf>) -> PathBuf;
    /// Tells everyone the leader's exit code.
    fn share_code(&self, code: u8) -> u8;
    /// True when someone asked for the end.
    fn interrupted(&self) -> bool;
    /// Replays once. The outcomes of all programs in the leader, by program; none elsewhere.
    ///
    /// # Errors
    /// When a process cannot be started, or ended early.
    fn replay(&self, job: &Job<'_>) -> anyhow::Result<Vec<Outcome>>;
}

/// Programs by the process of the plan that they belong to.
fn by_process(plan: &Plan, programs: impl Iterator<Item = usize>) -> BTreeMap<u32, Vec<usize>> {
    let mut processes: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for index in programs {
        processes.entry(plan.programs[index].thread.process).or_default().push(index);
    }
    processes
}

/// Runs the programs of some processes of the plan in this process, each in a thread, the first in the calling one.
/// Every thread calls `start` when it is ready, which returns the common start. `died` is called in a thread that
/// cannot go on, and does not return.
fn run_programs<'p>(
    job: &Job<'_>,
    processes: &[Vec<usize>],
    transport: &dyn Transport,
    place: &(dyn Fn(usize) -> &'p AtomicU64 + Sync),
    start: &(dyn Fn() -> u64 + Sync),
    died: &(dyn Fn(&str) + Sync),
) -> Vec<Outcome> {
    let programs = |programs: &Vec<usize>| {
        let end = ProcessEnd::of(programs.iter().map(|&index| &job.plan.programs[index]));
        (job.target(programs), end)
    };
    let targets: Vec<(Target<'_>, ProcessEnd)> = processes.iter().map(programs).collect();
    let run = |(target, end): &(Target<'_>, ProcessEnd), index: usize| {
        let program = &job.plan.programs[index];
        let _exact = ExactSleeps::begin();
        let buffers = Buffers::for_program(program, index as u64);
        let runner = Runner::new(job, target, transport, end, index, place(index), buffers);
        let outcome = runner.run(start());
        end.ended(&program.thread);
        outcome
    };
    let guarded = |process: &(Target<'_>, ProcessEnd), index: usize| {
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| run(process, index)));
        outcome.map_err(|_| died(&format!("program {index} panicked"))).ok()
    };
    let all = || {
        targets
            .iter()
            .zip(processes)
            .flat_map(|(process, all)| all.iter().map(move |&index| (process, index)))
    };
    let mut outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let guarded = &guarded;
        let mut started = Vec::new();
        for (process, index) in all().skip(1) {
            match std::thread::Builder::new().spawn_scoped(scope, move || guarded(process, index)) {
                Ok(thread) => started.push(thread),
                Err(error) => died(&format!("cannot start the thread of program {index}: {error}")),
            }
        }
        let first = all().next().and_then(|(process, index)| guarded(process, index));
        let others = started.into_iter().filter_map(|thread| thread.join().ok().flatten());
        first.into_iter().chain(others).collect()
    });
    if let Some(outcome) = outcomes.first_mut() {
        outcome.direct_refused =
            targets.iter().map(|(target, _)| target.direct_refused.load(Ordering::Relaxed)).sum();
    }
    outcomes
}
