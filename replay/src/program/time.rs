//! How a program passes time: computing, and doing nothing.

use super::Runner;
use crate::clock::{now_ns, sleep_until};
use crate::meter::{GRAIN_NS, Part};
use syn_plan::{EdgeId, turns};

/// After so much work the CPU clock is read, and a program that its process's end may cut off looks for that; nanoseconds.
const SLICE_NS: f64 = 5_000_000.0;
/// The least part of a slice that counts as done, whatever the CPU clock says: it may stand still.
const LEAST_PART: f64 = 0.1;

/// Who waits for a signal, but not for ever, looks so often whether its process is over; nanoseconds.
const LOOKS_FOR_END_NS: u64 = 2_000_000;

/// Computations in a row of so much together are metered, before that takes a reading of the CPU clock; nanoseconds.
const MOST_UNMETERED_NS: f64 = GRAIN_NS as f64 / 2.0;

impl Runner<'_> {
    /// Work that takes so much processor time. How many iterations that is, the speed tells that was measured at the start;
    /// but a processor does not keep it: it sleeps, and what runs beside it changes. So long work goes in slices, and what
    /// the CPU clock says that a slice has taken counts. (Not what any other clock says: a thread that waits for a processor
    /// does as much as one that has it.) Whatever was done too much the next computation does less. Where the end is
    /// short, the step behind it tells the meter ([`Runner::work_ends`]).
    #[inline]
    pub(super) fn compute(&mut self, cpu_ns: u64) {
        let speed = &self.job.machine.speed;
        self.has_worked = true;
        self.ahead_ns -= cpu_ns as f64 * self.job.cpu_scale;
        if -self.ahead_ns >= GRAIN_NS as f64 {
            self.worked(0.0);
            self.meter.before_long_step();
        }
        while -self.ahead_ns >= GRAIN_NS as f64 && !(self.cut && self.end.is_over()) {
            let slice_ns = SLICE_NS.min(-self.ahead_ns);
            speed.work(slice_ns);
            self.worked(slice_ns * LEAST_PART);
        }
        if !(self.cut && self.end.is_over()) {
            let rest_ns = (-self.ahead_ns).max(0.0);
            speed.work(rest_ns);
            // The next computation may come before the meter looks. What the steps between take shows then.
            self.ahead_ns += rest_ns;
            self.unmetered_ns += rest_ns;
            if self.unmetered_ns >= MOST_UNMETERED_NS {
                self.worked(0.0);
            }
        }
    }

    /// Work and waiting that nothing explains, in turns where there is much of both.
    pub(super) fn compute_and_wait(&mut self, cpu_ns: u64, idle_ns: u64) {
        let turns = turns(cpu_ns, idle_ns).max(1);
        for turn in 0..turns {
            let part = |ns: u64| if turn == 0 { ns - ns / turns * (turns - 1) } else { ns / turns };
            self.compute(part(cpu_ns));
            if idle_ns > 0 {
                self.work_ends();
                self.idle(part(idle_ns), Part::Idle);
            }
            if self.cut && self.end.is_over() {
                return;
            }
        }
    }

    /// The meter is told of computation, `least_ns` of it at least. Returns what it took, nanoseconds.
    #[inline]
    pub(super) fn worked(&mut self, least_ns: f64) -> u64 {
        let share_ns = self.meter.lap_of_work();
        self.ahead_ns += least_ns.max(share_ns as f64) - std::mem::take(&mut self.unmetered_ns);
        share_ns
    }

    /// Something else begins. The meter reads the CPU clock behind a long stretch, and that is work as well.
    #[inline]
    pub(super) fn work_ends(&mut self) {
        if self.worked(0.0) >= GRAIN_NS {
            self.worked(0.0);
        }
    }

    #[inline]
    pub(super) fn sleep_until(&self, deadline_ns: u64) {
        if self.cut { self.end.sleep_until(deadline_ns) } else { sleep_until(deadline_ns) }
    }

    /// Lets as much time pass as in the recording, the thread's wake-up included.
    #[inline]
    pub(super) fn idle(&mut self, ns: u64, part: Part) {
        let asked_ns = self.idle.ask(ns);
        if let Some(asked_ns) = asked_ns {
            self.sleep_until(self.meter.now_ns.saturating_add(asked_ns));
        }
        let took_ns = self.meter.lap(part);
        self.idle.passed(asked_ns, took_ns);
    }

    /// Sleeps for as long as in the recording, the wake-up included, or until an edge has had `count` signals.
    pub(super) fn wait_for_so_long(&mut self, edge: EdgeId, count: u32, ns: u64) {
        if !self.job.comm.follows(&self.job.plan.edges[edge as usize]) {
            return self.idle(ns, Part::Sleep);
        }
        let asked_ns = self.idle.ask(ns);
        if let Some(asked_ns) = asked_ns {
            let deadline_ns = self.meter.now_ns.saturating_add(asked_ns);
            loop {
                let until_ns =
                    if self.cut { deadline_ns.min(now_ns() + LOOKS_FOR_END_NS) } else { deadline_ns };
                let is_over = self.transport.wait_until(edge, count, until_ns) || until_ns == deadline_ns;
                if is_over || self.cut && self.end.is_over() {
                    break;
                }
            }
        }
        let took_ns = self.meter.lap(Part::Sleep);
        self.idle.passed(asked_ns, took_ns);
    }

    /// Sleeps to a point in time, for operations that are not to come before it.
    #[inline]
    pub(super) fn idle_until(&mut self, deadline_ns: u64) {
        if deadline_ns > self.meter.now_ns {
            self.sleep_until(deadline_ns);
        }
        self.meter.lap(Part::Idle);
    }
}
