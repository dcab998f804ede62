//! Who runs the programs: local processes, or the ranks of an MPI job.

mod beginnings;
#[cfg(feature = "mpi")]
mod ends;
mod local;
#[cfg(feature = "mpi")]
mod ranks;
mod shares;
mod threads;

#[cfg(feature = "mpi")]
pub use ends::waiting_for_ends;
pub use local::Local;
#[cfg(feature = "mpi")]
pub use ranks::Ranks;

use crate::job::Job;
use crate::loaded::Loaded;
use crate::measure::Outcome;
use std::collections::BTreeMap;
use std::path::Path;
use syn_plan::{Edge, EdgeId, Op, Plan, Program, Rule};

/// The processes that replay together. All of them go through the same stages; one of them is the root.
pub trait Launcher {
    /// `local` or `mpi`, for the report.
    fn name(&self) -> &'static str;
    /// True in the process that prepares, reports and removes.
    fn is_root(&self) -> bool;
    /// True when all processes that replay see the memory that this one shares.
    fn shares_memory(&self) -> bool;
    /// Reads the plan: all of it in the root, elsewhere what this process replays.
    ///
    /// # Errors
    /// When the plan cannot be read or replayed; [`crate::failure::WrongUsage`] when this launcher does not fit it.
    fn load(&self, path: &Path) -> anyhow::Result<Loaded>;
    /// Ends a stage: `Ok` when it went well in every process.
    ///
    /// # Errors
    /// The process's own error, or [`crate::failure::FailedElsewhere`].
    fn agree(&self, stage: anyhow::Result<()>) -> anyhow::Result<()>;
    /// Tells everyone what the root has.
    fn share(&self, bytes: Option<Vec<u8>>) -> Vec<u8>;
    /// What of the edges only who has read the whole plan knows.
    fn prepare_edges(&self, loaded: &Loaded);
    /// True when someone asked for the end.
    fn interrupted(&self) -> bool;
    /// Replays once. The outcomes of all programs in the leader, by program; none elsewhere.
    ///
    /// # Errors
    /// When a process cannot be started, or ended early.
    fn replay(&self, job: &Job<'_>) -> anyhow::Result<Vec<Outcome>>;
}

/// Programs by the process of the plan that they belong to.
pub(crate) fn by_process(plan: &Plan) -> BTreeMap<u32, Vec<usize>> {
    let mut processes: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, program) in plan.programs.iter().enumerate() {
        processes.entry(program.thread.process).or_default().push(index);
    }
    processes
}

/// The edge of this rule with which a program begins, if one signal is all that it waits for: its creation.
fn begins_by(plan: &Plan, program: &Program, by: Rule) -> Option<EdgeId> {
    let Op::Wait { edge, count: 1, .. } = program.steps.iter().next()?.op else { return None };
    let Edge { rule, signals, .. } = plan.edges[edge as usize];
    ((rule, signals) == (by, 1)).then_some(edge)
}
