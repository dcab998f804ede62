//! One program, step by step.

use crate::args::Mode;
use crate::burn::burn;
use crate::clock::{now_ns, sleep_as_application, sleep_until, thread_cpu_ns};
use crate::io::{Buffers, Target};
use crate::job::Job;
use crate::measure::{Classes, Divergence, Examples, Latencies, Outcome, Times, moves_bytes};
use crate::transport::Transport;
use std::sync::atomic::{AtomicU64, Ordering};
use syn_plan::{Io, Op, Step, Steps};

/// Runs the steps of one program in the thread that owns it.
pub struct Runner<'a> {
    job: &'a Job<'a>,
    target: &'a Target<'a>,
    transport: &'a dyn Transport,
    program: usize,
    /// Where others see how far the program is.
    place: &'a AtomicU64,
    buffers: Buffers,
    /// When the step before ended, or the common start.
    now_ns: u64,
    /// What going from step to step has cost and has not yet been taken off the computation.
    debt_ns: f64,
    step: u64,
    times: Times,
    classes: Classes,
    examples: Examples,
    lateness: Latencies,
}

impl<'a> Runner<'a> {
    /// For the program with number `program`, whose files are in `target`.
    pub fn new(
        job: &'a Job<'a>,
        target: &'a Target<'a>,
        transport: &'a dyn Transport,
        program: usize,
        place: &'a AtomicU64,
        buffers: Buffers,
    ) -> Runner<'a> {
        Runner {
            job,
            target,
            transport,
            program,
            place,
            buffers,
            now_ns: 0,
            debt_ns: 0.0,
            step: 0,
            times: Times::default(),
            classes: Classes::default(),
            examples: Examples::default(),
            lateness: Latencies::default(),
        }
    }

    /// Runs `steps`; `start_ns` is the common start of all programs on the monotonic clock.
    pub fn run(mut self, steps: &Steps, start_ns: u64) -> Outcome {
        let cpu_before = thread_cpu_ns();
        self.now_ns = start_ns;
        match self.job.mode {
            Mode::Closed => self.closed(steps),
            Mode::Afap => self.as_fast_as_possible(steps),
            Mode::Think => self.think_limited(steps),
            Mode::Timed => self.timed(steps, start_ns),
        }
        self.times.cpu_ns = thread_cpu_ns() - cpu_before;
        Outcome {
            program: self.program,
            end_ns: self.now_ns.saturating_sub(start_ns),
            times: self.times,
            classes: self.classes.into_map(),
            divergences: self.examples.into_list(),
            lateness: self.lateness,
            direct_refused: 0,
        }
    }

    fn closed(&mut self, steps: &Steps) {
        for step in steps.unrolled() {
            self.next_step();
            match step.op {
                Op::Compute { cpu_ns, idle_ns } => {
                    self.compute(cpu_ns);
                    if idle_ns > 0 {
                        self.idle_until(self.now_ns.saturating_add(idle_ns));
                    }
                }
                Op::Sleep { ns } => {
                    sleep_as_application(self.now_ns.saturating_add(ns));
                    self.times.sleep_ns += self.lap();
                }
                Op::Signal { edge } => {
                    self.transport.signal(edge);
                    self.times.waiting_ns += self.lap();
                }
                Op::Wait { edge, count } => {
                    self.transport.wait(edge, count);
                    self.times.waiting_ns += self.lap();
                }
                Op::Io { call, result } => self.io(&call, result),
                Op::Repeat { .. } => unreachable!("repeats are followed by `unrolled`"),
            }
        }
    }

    fn as_fast_as_possible(&mut self, steps: &Steps) {
        for step in steps.unrolled() {
            self.next_step();
            if let Op::Io { call, result } = step.op {
                self.io(&call, result);
            }
        }
    }

    /// Think time is what lay between two operations in the recording, whatever it was: the computation in it is
    /// done as work, and what remains of it is slept.
    fn think_limited(&mut self, steps: &Steps) {
        let (mut recorded_end, mut recorded_now, mut work_ns) = (0, 0, 0);
        for step in steps.unrolled() {
            self.next_step();
            recorded_now = end_of(&step);
            match step.op {
                Op::Io { call, result } => {
                    self.think(step.start_ns.saturating_sub(recorded_end), work_ns);
                    self.io(&call, result);
                    (recorded_end, work_ns) = (recorded_now, 0);
                }
                Op::Compute { cpu_ns, .. } => work_ns = cpu_ns.saturating_add(work_ns),
                _ => {}
            }
        }
        self.think(recorded_now.saturating_sub(recorded_end), work_ns);
    }

    fn think(&mut self, think_ns: u64, work_ns: u64) {
        let until = self.now_ns.saturating_add(think_ns);
        self.compute(work_ns.min(think_ns));
        self.idle_until(until);
    }

    fn timed(&mut self, steps: &Steps, start_ns: u64) {
        let mut recorded_end = 0;
        for step in steps.unrolled() {
            self.next_step();
            recorded_end = end_of(&step);
            if let Op::Io { call, result } = step.op {
                let due = start_ns.saturating_add(step.start_ns);
                self.idle_until(due);
                self.lateness.record(self.now_ns.saturating_sub(due));
                self.io(&call, result);
            }
        }
        self.idle_until(start_ns.saturating_add(recorded_end));
    }

    fn next_step(&mut self) {
        self.place.store(self.step, Ordering::Relaxed);
        self.step += 1;
        self.debt_ns += self.job.machine.step_cost_ns;
    }

    /// The time since the last call of this, nanoseconds.
    fn lap(&mut self) -> u64 {
        let before = std::mem::replace(&mut self.now_ns, now_ns());
        self.now_ns.saturating_sub(before)
    }

    fn compute(&mut self, cpu_ns: u64) {
        let work_ns = cpu_ns as f64 * self.job.cpu_scale;
        let paid_ns = self.debt_ns.min(work_ns);
        self.debt_ns -= paid_ns;
        burn(((work_ns - paid_ns) * self.job.machine.iterations_per_ns) as u64);
        self.times.compute_ns += self.lap();
    }

    fn idle_until(&mut self, deadline_ns: u64) {
        if deadline_ns > self.now_ns {
            sleep_until(deadline_ns);
        }
        self.times.sleep_ns += self.lap();
    }

    fn io(&mut self, call: &Io, expected: i64) {
        self.times.compute_ns += self.lap();
        let found = self.target.perform(&mut self.buffers, call, expected);
        let took_ns = self.lap();
        self.times.io_ns += took_ns;
        let moves = moves_bytes(call);
        let class = self.classes.of(call);
        class.record(took_ns, found, moves);
        if !agree(expected, found, moves) {
            class.divergent += 1;
            let (program, step, target) = (self.program, self.step - 1, self.target);
            self.examples.keep(|| Divergence {
                program,
                step,
                call: call.to_string(),
                file: target.path_of(call).map(str::to_owned),
                expected,
                found,
            });
        }
    }
}

/// Transfers agree in their bytes, everything else in success; failures in their errno.
fn agree(expected: i64, found: i64, moves_bytes: bool) -> bool {
    if moves_bytes || expected < 0 || found < 0 { expected == found } else { true }
}

fn end_of(step: &Step) -> u64 {
    step.start_ns.saturating_add(step.took_ns)
}
