//! Other models than the closed one: when operations are issued that wait for nobody.

use super::Runner;
use crate::ahead::Ahead;
use crate::meter::Part;
use syn_plan::{Op, Step, Steps};

impl Runner<'_> {
    /// Operations, one after the other.
    pub(super) fn as_fast_as_possible(&mut self, steps: &Steps) {
        let mut ahead = Ahead::of(steps);
        while let Some(step) = ahead.next() {
            self.next_step(self.unseen_ns(&step.op));
            if let Op::Io { call, result } = step.op {
                self.io(&call, result);
            }
        }
    }

    /// Think time is what lay between two operations in the recording, whatever it was: the computation in it is
    /// done as work, and what remains of it is slept.
    pub(super) fn think_limited(&mut self, steps: &Steps) {
        let (mut recorded_end, mut recorded_now, mut work_ns) = (0, 0, 0);
        let mut ahead = Ahead::of(steps);
        while let Some(step) = ahead.next() {
            self.next_step(self.unseen_ns(&step.op));
            recorded_now = end_of(step);
            match step.op {
                Op::Io { call, result } => {
                    self.think(step.start_ns.saturating_sub(recorded_end), work_ns);
                    self.io(&call, result);
                    (recorded_end, work_ns) = (recorded_now, 0);
                }
                Op::Compute { cpu_ns, .. } | Op::Mpi { cpu_ns, .. } => {
                    work_ns = cpu_ns.saturating_add(work_ns)
                }
                _ => {}
            }
        }
        self.think(recorded_now.saturating_sub(recorded_end), work_ns);
    }

    fn think(&mut self, think_ns: u64, work_ns: u64) {
        let until = self.meter.now_ns.saturating_add(think_ns);
        self.compute(work_ns.min(think_ns));
        self.work_ends();
        self.idle(until.saturating_sub(self.meter.now_ns), Part::Idle);
    }

    /// Operations when they came in the recording.
    pub(super) fn timed(&mut self, steps: &Steps, start_ns: u64) {
        let mut recorded_end = 0;
        let mut ahead = Ahead::of(steps);
        while let Some(step) = ahead.next() {
            self.next_step(self.unseen_ns(&step.op));
            recorded_end = end_of(step);
            if let Op::Io { call, result } = step.op {
                let due = start_ns.saturating_add(step.start_ns);
                self.idle_until(due);
                self.lateness.record(self.meter.now_ns.saturating_sub(due));
                self.io(&call, result);
            }
        }
        self.idle_until(start_ns.saturating_add(recorded_end));
    }
}

fn end_of(step: &Step) -> u64 {
    step.start_ns.saturating_add(step.took_ns)
}
