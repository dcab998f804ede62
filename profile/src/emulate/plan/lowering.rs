//! Who does what in each step, and who waits for whom.

use super::line::{Edges, Line};
use super::shape::{FILES, Keep, READ, Shape, WRITTEN, io};
use crate::emulate::steps::Step;
use syn_plan::{Demand, FileId, Io, Op};

// As on Linux x86-64, which is what plans hold.
const READ_WRITE: i32 = 2;
const CREATE: i32 = 0o100;

pub struct Lowering<'a> {
    pub shape: &'a Shape,
    /// By rank, and in a rank by number.
    pub programs: Vec<Line>,
    pub read_len: u64,
    // The same in every rank:
    pub read_at: u64,
    pub written: u64,
    pub held: u64,
    /// Signals so far, by rank.
    pub arrived: Vec<u32>,
    pub ranks_ended: u32,
    pub now_ns: u64,
}

impl Lowering<'_> {
    pub fn begin(&mut self, steps: &[Step]) {
        if steps.iter().all(Step::leaves_files_alone) {
            return;
        }
        for rank in 0..self.shape.ranks {
            let line = &mut self.programs[rank as usize * self.shape.executors];
            let file = |place: u32| rank * FILES + place as FileId;
            let open = |place, handle| {
                io(Io::Open { file: file(place), handle, flags: READ_WRITE | CREATE, mode: 0o600 }, 0)
            };
            line.push(0, 0, open(0, READ));
            line.push(0, 0, open(1, WRITTEN));
            if !self.shape.cold {
                line.push(0, 0, io(Io::Ftruncate { handle: READ, bytes: self.read_len }, 0));
            }
        }
    }

    pub fn step(&mut self, step: &Step) {
        let edges = Edges(self.shape.ranks);
        let before = (self.read_at, self.written, self.held);
        for rank in 1..self.shape.ranks {
            self.set_off(0, rank as usize * self.shape.executors, step);
        }
        for rank in 0..self.shape.ranks {
            let first = rank as usize * self.shape.executors;
            for executor in first + 1..first + step.cpu_ns.len() {
                self.set_off(first, executor, step);
            }
            // All ranks do the same.
            (self.read_at, self.written, self.held) = before;
            for (place, &cpu_ns) in step.cpu_ns.iter().enumerate() {
                self.programs[first + place].cpu_ns += cpu_ns;
                self.atoms(rank, place, first + place, cpu_ns, step);
                if place > 0 {
                    self.push(first + place, 0, Op::Signal { edge: edges.arrived(rank) });
                    self.arrived[rank as usize] += 1;
                }
            }
            let computing_ns = step.cpu_ns.first().copied().unwrap_or(0);
            let least_ns = match self.shape.keep {
                Keep::Nothing => None,
                Keep::Idle => Some(step.idle_ns + computing_ns),
                Keep::Time => Some(step.span_ns),
            };
            if let Some(ns) = least_ns.filter(|_| rank == 0) {
                self.push(0, 0, Op::Demand(Demand::Last { ns }));
            }
            if step.cpu_ns.len() > 1 {
                let count = self.arrived[rank as usize];
                let wait = Op::Wait { edge: edges.arrived(rank), count, stride: 0 };
                self.push(first, step.span_ns, wait);
            }
            if rank > 0 {
                self.push(first, 0, Op::Signal { edge: edges.ranks() });
                self.ranks_ended += 1;
            }
        }
        if self.shape.ranks > 1 {
            let wait = Op::Wait { edge: edges.ranks(), count: self.ranks_ended, stride: 0 };
            self.push(0, step.span_ns, wait);
        }
        self.now_ns += step.span_ns;
    }

    fn push(&mut self, executor: usize, took_ns: u64, op: Op) {
        self.programs[executor].push(self.now_ns, took_ns, op);
    }

    /// `executor` begins a step when `by` says so.
    fn set_off(&mut self, by: usize, executor: usize, step: &Step) {
        let edge = Edges(self.shape.ranks).off(executor);
        self.push(by, 0, Op::Signal { edge });
        self.programs[executor].gone += 1;
        let wait = Op::Wait { edge, count: self.programs[executor].gone, stride: 0 };
        self.push(executor, step.span_ns, wait);
    }

    /// All executors are there to the end, as threads that wait are.
    pub fn end(&mut self) {
        for rank in 0..self.shape.ranks {
            let edge = Edges(self.shape.ranks).over(rank);
            let first = rank as usize * self.shape.executors;
            self.push(first, 0, Op::Signal { edge });
            for executor in first + 1..first + self.shape.executors {
                self.push(executor, 0, Op::Wait { edge, count: 1, stride: 0 });
            }
        }
    }
}
