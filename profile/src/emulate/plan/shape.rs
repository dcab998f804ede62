//! What all programs of an emulation have in common.

use syn_plan::{HandleId, Io, Op};
use syn_replay::demands::kernels::Kernel;

/// How steps become a plan.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Ranks of an MPI job that go through the steps together, each doing all of `steps`; 1 without MPI.
    pub ranks: u32,
    /// Processes of a rank.
    pub processes: usize,
    /// Threads of all processes of a rank; at least as many as any step has use for.
    pub executors: usize,
    /// What computation does.
    pub kernel: Kernel,
    /// The part of it that is not spent waiting for memory.
    pub efficiency: f64,
    /// Whether steps last for some time whatever they consume.
    pub keep: Keep,
    /// What is read is not in memory at first.
    pub cold: bool,
    /// The written file of a rank is begun anew when it is so long, bytes.
    pub write_limit: u64,
}

/// Which time passes in a step, beside that which consuming takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// None: consumption is replayed, and not timing.
    Nothing,
    /// That in which nothing was computed. Waiting for calls of the emulation is part of it.
    Idle,
    /// All: no step ends earlier than it did.
    Time,
}

/// A call moves at most so much.
pub const LARGEST: u64 = 64 << 20;

/// Files of a rank in the plan, one behind the other: read, written, and one whose name comes and goes.
pub const FILES: u32 = 3;
pub const READ: HandleId = 0;
pub const WRITTEN: HandleId = 1;
pub const OTHER: HandleId = 2;

/// An operation that has this result.
pub fn io(call: Io, result: u64) -> Op {
    Op::Io { call, result: result as i64 }
}
