//! From events to the steps of a plan, thread by thread.
//!
//! Around every event: the gap before it becomes computation; where it is entered, what is to be waited for and
//! signalled there; then the operation; where it returns, waits and signals again; and for calls that are not
//! replayed themselves their own cost as computation.

mod around;
mod calls;
mod cpu;
mod files;
mod handles;
mod io;
mod polling;
mod program;

use crate::clocks::Clocks;
use crate::costs::Costs;
use crate::mpi::CallLog;
use crate::schedule::Schedule;
use crate::scope::Scope;
use crate::sweep::{Observer, Seen};
use cpu::CpuReadings;
use files::FileTable;
use handles::Handles;
use io::Operations;
use polling::Polling;
use program::Program;
use syn_plan::{File, Steps};
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::run::{Gap, GapMeter};
use syn_trace::{Call, Layer, Run};

/// What lowering goes by.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its time axis.
    pub clocks: &'a Clocks,
    /// Which files are in the plan.
    pub scope: Scope,
    /// Signals and waits.
    pub schedule: &'a Schedule,
    /// MPI calls.
    pub log: &'a CallLog,
    /// Their usual cost.
    pub costs: &'a Costs,
    /// By thread: whether it is part of the plan.
    pub in_plan: &'a [bool],
    /// When the application started on the time axis of the merge.
    pub origin_ns: u64,
}

/// What lowering made of a run.
#[derive(Debug)]
pub struct Lowered {
    /// By thread of the run; empty for those that are not part of the plan.
    pub programs: Vec<Steps>,
    /// The files of the plan.
    pub files: Vec<File>,
    /// Computation in all programs, nanoseconds.
    pub compute_ns: u64,
    /// Waiting that nobody observed, in all programs, nanoseconds.
    pub unobserved_ns: u64,
    /// The share of the processor in MPI calls that waited.
    pub busy_waiting: f64,
}

/// A thread on its way.
#[derive(Debug)]
struct Thread {
    program: Program,
    meter: GapMeter,
    readings: CpuReadings,
    /// The latest return.
    behind_ns: u64,
    next_point: usize,
    next_call: usize,
    /// Position among the MPI calls with other calls inside.
    next_around: usize,
    polling: Option<Polling>,
}

/// Turns events into steps; an observer of the last sweep.
#[derive(Debug)]
pub struct Lowering<'a> {
    from: Sources<'a>,
    threads: Vec<Thread>,
    handles: Vec<Handles>,
    files: FileTable,
    operations: Operations,
    waiting_cpu_ns: u64,
    waiting_ns: u64,
}

/// One event with its times.
struct Visit<'a> {
    seen: &'a Seen<'a>,
    gap: Gap,
    /// Entry, or the return of the last call inside.
    begin_ns: u64,
    /// Return, and not before that.
    end_ns: u64,
    /// Processor time in the call, where it was read.
    cpu_ns: Option<u64>,
}

impl<'a> Lowering<'a> {
    /// Nothing lowered yet.
    pub fn new(from: Sources<'a>) -> Lowering<'a> {
        let threads = from.run.threads.iter().enumerate().map(|(index, thread)| Thread {
            program: Program::new(from.origin_ns),
            meter: GapMeter::new(thread.clock.start_ns.max(0.0) as u64),
            readings: CpuReadings::default(),
            behind_ns: from.clocks.ns(index, thread.clock.start_ns.max(0.0) as u64),
            next_point: 0,
            next_call: 0,
            next_around: 0,
            polling: None,
        });
        Lowering {
            from,
            threads: threads.collect(),
            handles: from.run.processes.iter().map(|_| Handles::default()).collect(),
            files: FileTable::new(from.scope),
            operations: Operations::new(),
            waiting_cpu_ns: 0,
            waiting_ns: 0,
        }
    }

    /// The steps of every thread, and what else there is to tell.
    pub fn finish(mut self) -> Lowered {
        let (mut compute_ns, mut unobserved_ns, mut programs) = (0u64, 0u64, Vec::new());
        for mut thread in self.threads.drain(..) {
            if let Some(polling) = thread.polling.take() {
                polling.give_up(&mut thread.program);
            }
            compute_ns = compute_ns.saturating_add(thread.program.cpu_ns);
            unobserved_ns = unobserved_ns.saturating_add(thread.program.idle_ns);
            programs.push(thread.program.finish());
        }
        let busy_waiting = match self.waiting_ns {
            0 => 0.0,
            waiting_ns => self.waiting_cpu_ns as f64 / waiting_ns as f64,
        };
        Lowered { programs, files: self.files.finish(), compute_ns, unobserved_ns, busy_waiting }
    }

    fn visit<'s>(&mut self, seen: &'s Seen<'s>) -> Visit<'s> {
        let thread = &mut self.threads[seen.thread as usize];
        let gap = thread.meter.before(&self.from.run.threads[seen.thread as usize], seen.event);
        let begin_ns = seen.start_ns.max(thread.behind_ns);
        let gap_ns = seen.start_ns.saturating_sub(thread.behind_ns);
        let end_ns = seen.end_ns.max(begin_ns);
        let cpu_ns = thread.readings.of_call(seen.event, gap_ns, end_ns - begin_ns);
        Visit { seen, gap, begin_ns, end_ns, cpu_ns }
    }
}

impl Observer for Lowering<'_> {
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let process = &self.from.run.processes[seen.process as usize];
        if !self.from.in_plan[seen.thread as usize] {
            return;
        }
        let visit = self.visit(seen);
        if seen.record == 0 {
            self.begin(&visit);
        }
        match (seen.event.call.layer(), self.around(seen)) {
            (_, Some(around)) if !self.from.scope.all_files => self.inside(&visit, around),
            (Layer::Mpi, _) => self.mpi(&visit),
            (Layer::Time, Some(around)) => self.inside(&visit, around),
            (Layer::Time, None) => self.sleep(&visit),
            _ if seen.event.call == Call::Repeats && self.polled_again(&visit) => {}
            _ => {
                self.interrupt_polling(seen.thread);
                self.enter(&visit);
                let (files, handles) = (&mut self.files, &mut self.handles[seen.process as usize]);
                let opaque = !process.sees_libc_internal;
                io::translate(seen, touched, descriptors, opaque, files, handles, &mut self.operations);
                self.perform(&visit);
            }
        }
        let thread = &mut self.threads[seen.thread as usize];
        thread.behind_ns = thread.behind_ns.max(seen.end_ns);
    }
}
