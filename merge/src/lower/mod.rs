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
mod unreplayed;
mod waiting;

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
use syn_trace::reader::Event;
use syn_trace::run::{Gap, GapMeter};
use syn_trace::{Call, Layer, Run};
use unreplayed::Unreplayed;

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
    /// What is not in the plan.
    pub remarks: Vec<String>,
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
    unreplayed: Unreplayed,
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
    /// How many calls it stands for.
    times: u64,
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
            unreplayed: Unreplayed::default(),
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
        let (files, remarks) = (self.files.finish(), self.unreplayed.remarks());
        Lowered { programs, files, compute_ns, unobserved_ns, busy_waiting, remarks }
    }

    fn visit<'s>(&mut self, seen: &'s Seen<'s>) -> Visit<'s> {
        let trace = &self.from.run.threads[seen.thread as usize];
        let thread = &mut self.threads[seen.thread as usize];
        let mut gap = thread.meter.before(trace, seen.event);
        let begin_ns = seen.start_ns.max(thread.behind_ns);
        let gap_ns = seen.start_ns.saturating_sub(thread.behind_ns);
        let end_ns = seen.end_ns.max(begin_ns);
        let mut cpu_ns = thread.readings.of_call(seen.event, gap_ns, end_ns - begin_ns);
        let times = times(seen.event);
        if times > 1 {
            // What recording added has been taken off once. The calls that were not timed count with the length of
            // those that were, so what a reading of the clock adds is to be taken off each; that it was not read comes
            // out of the gaps then, and is as much as counting such a call adds to them.
            let added_ns = |cost_ns: u64, times: u64| cost_ns.saturating_mul(times.saturating_sub(1));
            gap.wall_ns = gap.wall_ns.saturating_sub(added_ns(trace.gap_cost_ns, timed(seen.event)));
            gap.cpu_ns = gap.cpu_ns.min(gap.wall_ns);
            let took_ns = cpu_ns.unwrap_or(end_ns - begin_ns);
            cpu_ns = Some(took_ns.saturating_sub(added_ns(trace.call_cost_ns, times)));
        }
        Visit { seen, gap, begin_ns, end_ns, cpu_ns, times }
    }

    /// What the event is in the plan, if it is I/O.
    fn translate(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let opaque = !self.from.run.processes[seen.process as usize].sees_libc_internal;
        let (files, handles) = (&mut self.files, &mut self.handles[seen.process as usize]);
        io::translate(seen, touched, descriptors, opaque, files, handles, &mut self.operations);
        if self.operations.is_empty() {
            self.unreplayed.see(seen, touched, self.from.scope);
        } else {
            self.unreplayed.see_replayed(seen);
        }
    }
}

/// How many calls an event stands for.
fn times(event: &Event<'_>) -> u64 {
    if event.call == Call::Repeats { event.numbers[0].max(1) as u64 } else { 1 }
}

/// How many of them were timed.
fn timed(event: &Event<'_>) -> u64 {
    if event.call == Call::Repeats { event.numbers[1].max(1) as u64 } else { 1 }
}

impl Observer for Lowering<'_> {
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        if !self.from.in_plan[seen.thread as usize] {
            return;
        }
        let around = self.around(seen);
        let (is_mpi, sleeps) = (seen.event.call.layer() == Layer::Mpi, calls::is_sleep(seen.event.call));
        let is_io = (around.is_none() || self.from.scope.all_files) && !is_mpi && !sleeps;
        if is_io {
            self.translate(seen, touched, descriptors);
        }
        // Of a call that communicates, its own record tells the time: how often the library looked for messages
        // meanwhile, and slept, says nothing more.
        if around.is_some_and(|around| around.communicates) && self.operations.is_empty() {
            return self.threads[seen.thread as usize].readings.inside(seen.event);
        }
        let visit = self.visit(seen);
        if seen.record == 0 {
            self.begin(&visit);
        }
        match around {
            Some(around) if !is_io => self.inside(&visit, around.call),
            _ if is_mpi => self.mpi(&visit),
            _ if sleeps => self.sleep(&visit),
            _ => self.perform(&visit),
        }
        let thread = &mut self.threads[seen.thread as usize];
        thread.behind_ns = thread.behind_ns.max(seen.end_ns);
    }
}
