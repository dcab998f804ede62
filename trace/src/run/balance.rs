//! The time balance of a recording: every thread's time, divided by what it was.

use super::{Measured, Run, Segment, Thread};
use crate::Header;
use crate::reader::Event;
use rayon::prelude::*;
use std::ops::AddAssign;
use std::sync::atomic::Ordering;

/// The parts of some threads' time, nanoseconds. They add up to `wall_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// From the start of a thread's recording to its end.
    pub wall_ns: u64,
    /// On the processor, in the program's own code.
    pub work_ns: u64,
    /// On the processor, in recorded calls.
    pub calls_ns: u64,
    /// Without the processor in recorded calls, given up by the thread itself: for a device, another thread, time to pass.
    pub waiting_ns: u64,
    /// The same outside of recorded calls: what for is not on record.
    pub unexplained_ns: u64,
    /// Ready to run, while the processor was another's.
    pub preempted_ns: u64,
    /// What recording took.
    pub recording_ns: u64,
    /// What no reading of the CPU clock covers.
    pub unmeasured_ns: u64,
    /// Before the recording started.
    pub startup: Startup,
    /// CPU time that the segments were given beyond what the clock said, or that they lack.
    pub residual_ns: u64,
}

/// CPU time before the recording of a thread started, nanoseconds: of a process, its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Startup {
    /// The loader's, and the program's own.
    pub cpu_ns: u64,
    /// The recorder's.
    pub recording_ns: u64,
}

impl Startup {
    /// Both.
    pub fn all_ns(&self) -> u64 {
        self.cpu_ns.saturating_add(self.recording_ns)
    }
}

impl Balance {
    /// CPU time that is accounted for: before the recording, in the program, in calls and for recording, nanoseconds. Of a
    /// recording by ptrace, time in which the thread was stopped is among it.
    pub fn cpu_ns(&self) -> u64 {
        let parts = [self.startup.all_ns(), self.work_ns, self.calls_ns, self.recording_ns];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// What the parts leave of the time, or have too much, in percent of it.
    pub fn open_percent(&self) -> f64 {
        let parts = [
            self.work_ns,
            self.calls_ns,
            self.waiting_ns,
            self.unexplained_ns,
            self.preempted_ns,
            self.recording_ns,
            self.unmeasured_ns,
        ];
        let accounted = parts.into_iter().fold(0, u64::saturating_add);
        let open_ns = self.wall_ns.abs_diff(accounted).saturating_add(self.residual_ns);
        if self.wall_ns == 0 { 0.0 } else { open_ns as f64 / self.wall_ns as f64 * 100.0 }
    }

    fn count(&mut self, segment: &Segment) {
        let own_code = segment.inside.is_none();
        let waited = if own_code { &mut self.unexplained_ns } else { &mut self.waiting_ns };
        add(waited, segment.waited_ns);
        let cpu = if own_code { &mut self.work_ns } else { &mut self.calls_ns };
        add(cpu, segment.cpu_ns);
        add(&mut self.preempted_ns, segment.preempted_ns());
        add(&mut self.recording_ns, segment.recording_ns);
        add(&mut self.unmeasured_ns, segment.unmeasured_ns);
    }
}

impl AddAssign<&Balance> for Balance {
    fn add_assign(&mut self, other: &Balance) {
        add(&mut self.wall_ns, other.wall_ns);
        add(&mut self.work_ns, other.work_ns);
        add(&mut self.calls_ns, other.calls_ns);
        add(&mut self.waiting_ns, other.waiting_ns);
        add(&mut self.unexplained_ns, other.unexplained_ns);
        add(&mut self.preempted_ns, other.preempted_ns);
        add(&mut self.recording_ns, other.recording_ns);
        add(&mut self.unmeasured_ns, other.unmeasured_ns);
        add(&mut self.startup.cpu_ns, other.startup.cpu_ns);
        add(&mut self.startup.recording_ns, other.startup.recording_ns);
        add(&mut self.residual_ns, other.residual_ns);
    }
}

/// A damaged trace may say anything: sums stop at the largest number.
fn add(sum: &mut u64, ns: u64) {
    *sum = sum.saturating_add(ns);
}

impl Thread {
    /// Where the thread's time went.
    pub fn balance(&self, startup: Startup) -> Balance {
        let mut balance = Balance { startup, ..Balance::default() };
        let (mut measures, mut room) = (self.measures_among(1), Event::NOTHING);
        let started_ns = measures.behind_ns();
        let mut measured = Measured::NOTHING;
        while measures.next_with(&mut room, &mut measured) {
            balance.count(&measured.before);
            balance.count(&measured.call);
        }
        if let Some(segment) = measures.rest() {
            balance.count(&segment);
        }
        balance.wall_ns = measures.behind_ns().saturating_sub(started_ns);
        balance.residual_ns = measures.residual_ns().unsigned_abs();
        balance
    }
}

/// What the image before one in the same process has left it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// CPU time of the thread, nanoseconds.
    pub thread_ns: u64,
    /// CPU time of the process, nanoseconds.
    pub process_ns: u64,
    /// It was a forked child.
    pub forked: bool,
}

/// The balances of a run.
#[derive(Debug)]
pub struct Balances {
    /// By index of the thread.
    pub threads: Vec<Balance>,
    /// By index of the process image: CPU time that the kernel counted for it, nanoseconds, where that is on record.
    pub kernel_cpu_ns: Vec<Option<u64>>,
}

impl Run {
    /// Where the time of every thread went, and what the kernel says. Reads every trace once, on all processors.
    pub fn balances(&self) -> Balances {
        let before = self.cpu_before();
        let balance = |index: usize| self.threads[index].balance(self.startup(index, &before));
        let threads = (0..self.threads.len()).into_par_iter().map(balance);
        let kernel_cpu_ns = (0..self.processes.len()).map(|process| {
            let cpu = self.process_cpu_ns(process)?;
            Some(cpu.saturating_sub(before[process].process_ns))
        });
        Balances { threads: threads.collect(), kernel_cpu_ns: kernel_cpu_ns.collect() }
    }

    /// A thread's time before its recording started, given what [`Run::cpu_before`] says: what an image before its own has used
    /// is not among it.
    pub fn startup(&self, thread: usize, before: &[Before]) -> Startup {
        let (header, process) = (self.threads[thread].trace.header(), self.threads[thread].process);
        let own = self.processes[process].threads.first() == Some(&thread);
        let before = if own { before[process] } else { Before::default() };
        let cpu_ns = header.start_cpu_ns.saturating_sub(before.thread_ns);
        // Who has set up has loaded the recorder's library.
        let unseen_ns = if header.setup_cpu_ns == 0 { 0 } else { self.start_costs.of(before.forked) };
        let recording_ns = header.setup_cpu_ns.saturating_add(unseen_ns).min(cpu_ns);
        Startup { cpu_ns: cpu_ns - recording_ns, recording_ns }
    }

    /// When a thread began, nanoseconds since the start of the run, given what [`Run::cpu_before`] says: it had been at work
    /// before its recording started.
    pub fn began_ns(&self, thread: usize, before: &[Before]) -> u64 {
        let started_ns = self.threads[thread].clock.start_ns.max(0.0) as u64;
        started_ns.saturating_sub(self.startup(thread, before).all_ns())
    }

    /// Whether a process image is that of a forked child, which has not set up: its parent had.
    pub fn is_forked(&self, process: usize) -> bool {
        let first = self.processes[process].threads.first();
        first.is_some_and(|&first| self.threads[first].trace.header().setup_cpu_ns == 0)
    }

    /// CPU time of a process image and those before it under the same number, nanoseconds, as the kernel had it at the end.
    pub fn process_cpu_ns(&self, process: usize) -> Option<u64> {
        let cpu =
            |&thread: &usize| self.threads[thread].trace.header().process_cpu_ns.load(Ordering::Relaxed);
        self.processes[process].threads.iter().map(cpu).max().filter(|&cpu| cpu != 0)
    }

    /// By process image: what images before it under the same number have used. `execve` keeps the thread and its clocks.
    pub fn cpu_before(&self) -> Vec<Before> {
        let mut before = vec![Before::default(); self.processes.len()];
        let mut latest = std::collections::HashMap::new();
        // Images stand in the order of their starts.
        for (index, process) in self.processes.iter().enumerate() {
            let started =
                process.threads.first().map_or(0, |&first| self.threads[first].trace.header().start_cpu_ns);
            let header = |&thread: &usize| self.threads[thread].trace.header();
            let replaced = latest.insert((process.boot_id, process.pid), index);
            let Some(earlier) = replaced else { continue };
            // Not another process that got the number later: its clock would have begun anew.
            let mut ends = self.processes[earlier].threads.iter().map(header);
            let forked = self.is_forked(earlier);
            let used = ends.find_map(|header| {
                let process_cpu = header.process_cpu_ns.load(Ordering::Relaxed);
                let own_cpu = |header: &Header| {
                    let end_cpu = header.end_cpu_ns.load(Ordering::Relaxed);
                    end_cpu.saturating_sub(header.helpers_cpu_ns.load(Ordering::Relaxed))
                };
                (process_cpu != 0).then(|| Before {
                    thread_ns: own_cpu(header),
                    process_ns: process_cpu,
                    forked,
                })
            });
            before[index] = used.filter(|used| used.thread_ns <= started).unwrap_or_default();
        }
        before
    }
}
