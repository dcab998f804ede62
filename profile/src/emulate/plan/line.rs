//! One executor of an emulation: its steps in the making, and the edges between executors.

use super::shape::Shape;
use syn_plan::{Balance, EdgeId, Op, Program, Steps, Thread};

/// Edges of a plan with so many ranks, by what they count. Those of one rank are its own, and need no messages.
#[derive(Clone, Copy)]
pub struct Edges(pub u32);

impl Edges {
    /// Executors of a rank, but its first, that have ended a step.
    pub fn arrived(self, rank: u32) -> EdgeId {
        rank
    }
    /// A rank's end.
    pub fn over(self, rank: u32) -> EdgeId {
        self.0 + rank
    }
    /// Ranks, but the first, that have ended a step.
    pub fn ranks(self) -> EdgeId {
        2 * self.0
    }
    /// What sets an executor off.
    pub fn off(self, executor: usize) -> EdgeId {
        2 * self.0 + 1 + executor as EdgeId
    }
}

/// One executor's program in the making.
#[derive(Default)]
pub struct Line {
    steps: Steps,
    /// How often it was set off.
    pub gone: u32,
    /// CPU time of all steps, nanoseconds.
    pub cpu_ns: u64,
}

impl Line {
    pub fn push(&mut self, start_ns: u64, took_ns: u64, op: Op) {
        self.steps.push(&syn_plan::Step { start_ns, took_ns, op });
    }

    /// `count` times the same.
    pub fn times(&mut self, start_ns: u64, count: u64, ops: &[Op]) {
        let mut left = count;
        while left > 0 {
            let now = left.min(u32::MAX.into());
            if now > 1 {
                self.push(start_ns, 0, Op::Repeat { count: now as u32, steps: ops.len() as u32 });
            }
            ops.iter().for_each(|&op| self.push(start_ns, 0, op));
            left -= now;
        }
    }

    pub fn program(self, number: usize, shape: &Shape, wall_ns: u64) -> Program {
        let (rank, place) = (number / shape.executors, number % shape.executors);
        let process = (rank * shape.processes + place % shape.processes) as u32;
        let thread = Thread {
            process,
            rank: (shape.ranks > 1).then_some(rank as u32),
            pid: process + 1,
            tid: number as u32 + 1,
            ends_with_process: false,
        };
        let work_ns = self.cpu_ns.min(wall_ns);
        let balance = Balance { wall_ns, work_ns, unexplained_ns: wall_ns - work_ns, ..Balance::default() };
        Program { thread, balance, steps: self.steps }
    }
}
