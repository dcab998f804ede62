//! One program, step by step.

mod models;
mod operations;
mod time;

use crate::ahead::Ahead;
use crate::clock::{NearClock, now_ns, thread_cpu_ns, with_usual_slack};
use crate::communicate::{Comm, MpiIo};
use crate::delays::Performed;
use crate::demands::Demands;
use crate::divergence::Collector;
use crate::idle::IdleTime;
use crate::io::{Buffers, Target};
use crate::job::Job;
use crate::measure::{Classes, Latencies, Outcome};
use crate::meter::{Meter, Part};
use crate::mode::Mode;
use crate::process::{ProcessEnd, steps_others_see};
use crate::transport::{Transport, Waiter};
use std::sync::atomic::{AtomicU64, Ordering};
use syn_plan::{Demand, EdgeId, Mpi, Op, Program, Rule, Step, Steps};

/// Who waited for longer in the recording is taken to have slept: to go to sleep takes about so long.
const TO_SLEEP_NS: u64 = 5_000;

/// What takes long to find out or to fill, and is there before a program begins.
pub struct Prepared {
    buffers: Buffers,
    demands: Demands,
    /// What stays of its steps, where some are left out.
    left: Option<Steps>,
    /// The steps up to the last one that others may see, where its process's end cuts the program off.
    seen: u64,
}

impl Prepared {
    /// For the program of the plan that has this number.
    pub fn of(job: &Job<'_>, number: usize) -> Prepared {
        let program = &job.plan.programs[number];
        let Program { thread, steps, .. } = program;
        let leaves_out = |op: &Op| job.leaves_out(op);
        // Who keeps the order leaves out marks of MPI's alone: most plans need not be looked through.
        let may_leave_out = job.comm != Comm::Order || job.plan.communicates();
        let some = may_leave_out && steps.iter().any(|step| leaves_out(&step.op));
        let left = some.then(|| steps.without(leaves_out));
        let seen =
            if thread.ends_with_process { steps_others_see(left.as_ref().unwrap_or(steps)) } else { 0 };
        let demands = Demands::of(program, job.peer);
        Prepared { buffers: Buffers::for_program(program, number as u64), demands, left, seen }
    }
}

/// Since when what a thread uses is for a program that another one has begun.
#[derive(Clone, Copy, Debug, Default)]
pub struct Since {
    /// On the thread's CPU clock.
    cpu_ns: u64,
    /// What the program before it in this thread has computed too much.
    ahead_ns: f64,
}

/// Runs the steps of one program in the thread that owns it.
pub struct Runner<'a> {
    job: &'a Job<'a>,
    target: &'a Target<'a>,
    transport: &'a dyn Transport,
    /// The end of the process that it runs in.
    end: &'a ProcessEnd,
    /// True when that end cuts it off.
    cut: bool,
    number: usize,
    program: &'a Program,
    /// Where others see how far the program is.
    place: &'a AtomicU64,
    prepared: Prepared,
    meter: Meter,
    /// By how much more than the plan's computation the thread has computed: what going from step to step cost, and what was
    /// burned too much or, below 0, too little. The next computation makes up for it.
    ahead_ns: f64,
    /// Computation that is done, and of which the meter has not said yet what it took.
    unmetered_ns: f64,
    /// What the last creation of a thread took; 0 before the first.
    creation_ns: f64,
    /// How much of the next one is in `ahead_ns` already.
    created_early_ns: f64,
    idle: IdleTime,
    step: u64,
    classes: Classes,
    divergences: Collector,
    lateness: Latencies,
    after_process: u64,
    start_ns: u64,
    performed: Vec<Performed>,
    /// Inside a call of MPI on a file that is made again: what it signals.
    in_file_call: Option<Vec<EdgeId>>,
    /// Inside the call that begins MPI, or the one that ends it.
    in_own_call: bool,
    /// MPI ends as it does here.
    ends_mpi: bool,
    /// It has computed since the last call of MPI.
    has_worked: bool,
    /// The rule by which the latest calls of MPI wait, while nothing else has come: they are one stretch of time.
    communicating: Option<Rule>,
}

impl<'a> Runner<'a> {
    /// For the program with this number, whose files are in `target` and whose process ends with `end`.
    pub fn new(
        job: &'a Job<'a>,
        target: &'a Target<'a>,
        transport: &'a dyn Transport,
        end: &'a ProcessEnd,
        number: usize,
        place: &'a AtomicU64,
        prepared: Prepared,
    ) -> Runner<'a> {
        let program = &job.plan.programs[number];
        Runner {
            job,
            target,
            transport,
            end,
            cut: program.thread.ends_with_process,
            number,
            program,
            place,
            prepared,
            meter: Meter::start(0, NearClock::new(job.machine.tick_ns)),
            ahead_ns: 0.0,
            unmetered_ns: 0.0,
            creation_ns: 0.0,
            created_early_ns: 0.0,
            idle: IdleTime::new(job.machine.wake_ns),
            step: 0,
            classes: Classes::default(),
            divergences: Collector::new(number),
            lateness: Latencies::default(),
            after_process: 0,
            start_ns: 0,
            performed: Vec::new(),
            in_file_call: None,
            in_own_call: false,
            ends_mpi: false,
            has_worked: true,
            communicating: None,
        }
    }

    /// Runs all steps; `start_ns` is the common start of all programs on the monotonic clock. `since` is for a program that
    /// another one has begun. Returns the same for the one that goes on in this thread; and whether steps were left out, for
    /// [`number_as_in_plan`].
    pub fn run(mut self, start_ns: u64, since: Option<Since>) -> (Outcome, Since, bool) {
        let cpu_before = since.map_or_else(thread_cpu_ns, |since| since.cpu_ns);
        (self.meter, self.start_ns) =
            (Meter::start(start_ns, NearClock::new(self.job.machine.tick_ns)), start_ns);
        self.prepared.demands.begin(start_ns);
        let left = self.prepared.left.take();
        let steps = left.as_ref().unwrap_or(&self.program.steps);
        match self.job.mode {
            Mode::Closed => self.closed(steps, since),
            Mode::Afap => self.as_fast_as_possible(steps),
            Mode::Think => self.think_limited(steps),
            Mode::Timed => self.timed(steps, start_ns),
        }
        let cpu_ns = thread_cpu_ns();
        // What a program that was cut off has not computed, nobody computes.
        let next = Since { cpu_ns, ahead_ns: self.ahead_ns.max(0.0) };
        let (network, failure) = self.prepared.demands.finish();
        let outcome = Outcome {
            program: self.number,
            start_ns,
            end_ns: self.meter.now_ns.saturating_sub(start_ns),
            balance: self.meter.finish(),
            cpu_ns: cpu_ns - cpu_before,
            after_process: self.after_process,
            classes: self.classes.into_map(),
            divergences: self.divergences.finish(),
            lateness: self.lateness,
            direct_refused: 0,
            queues_refused: 0,
            network,
            failure,
            performed: self.performed,
            ends_mpi: self.ends_mpi,
            preparation: None,
        };
        (outcome, next, left.is_some())
    }

    fn closed(&mut self, steps: &Steps, since: Option<Since>) {
        let seen = self.prepared.seen;
        let mut begun = false;
        // The number of the step that follows a wait in which it slept.
        let mut behind_sleep = u64::MAX;
        let mut ahead = Ahead::of(steps);
        let Job { comm, mpi_io, delays, .. } = *self.job;
        let is_plain = !self.cut && comm != Comm::Full && mpi_io != MpiIo::Mpi && delays.is_none();
        while let Some(step) = ahead.next() {
            // What most steps are: behind a system call the processor has to learn again where branches lead.
            if is_plain && self.communicating.is_none() {
                match &step.op {
                    &Op::Compute { cpu_ns, idle_ns: 0 } => {
                        self.next_step(0.0);
                        if cpu_ns as f64 > self.creation_ns && self.creation_ns > 0.0 {
                            self.before_creation(ahead.peek());
                        }
                        self.compute(cpu_ns);
                        continue;
                    }
                    Op::Io { call, result } => {
                        self.next_step(self.job.machine.io_inside_ns);
                        self.io(call, *result);
                        continue;
                    }
                    _ => {}
                }
            }
            let over = self.cut && self.end.is_over();
            if over && self.step >= seen {
                break;
            }
            if self.job.mpi_io == MpiIo::Mpi && self.is_inside_file_call(&step.op)
                || self.is_own_call(&step.op)
            {
                self.step += 1;
                continue;
            }
            let waits_by = match step.op {
                Op::Mpi { call, .. } if self.job.comm == Comm::Full && !call.is_on_file() => {
                    Some(rule_of(&call))
                }
                _ => None,
            };
            if self.communicating != waits_by {
                self.communicated();
            }
            self.next_step(self.unseen_ns(&step.op));
            if let Some(delays) = self.job.delays.filter(|_| !matches!(step.op, Op::Wait { .. })) {
                delays.delay(self.number, self.step, now_ns());
            }
            match step.op {
                Op::Compute { .. } | Op::Sleep { .. } | Op::TimedWait { .. } | Op::Demand(_) if over => {}
                Op::Compute { cpu_ns, idle_ns } => self.compute_and_wait(cpu_ns, idle_ns),
                // It lasted as long as it did: until a point in time, or a signal.
                Op::Sleep { ns } if ns == step.took_ns => {
                    self.work_ends();
                    self.idle(ns, Part::Sleep);
                }
                Op::Sleep { ns } => {
                    self.work_ends();
                    let deadline_ns = self.meter.now_ns.saturating_add(ns);
                    with_usual_slack(|| self.sleep_until(deadline_ns));
                    self.meter.lap(Part::Sleep);
                }
                Op::TimedWait { edge, count, ns } => {
                    self.work_ends();
                    self.wait_for_so_long(edge, count, ns);
                }
                Op::Signal { edge } => {
                    self.work_ends();
                    let creates = self.job.plan.edges[edge as usize].rule.starts_a_thread();
                    if creates {
                        self.meter.before_long_step();
                    }
                    self.transport.signal(edge);
                    // What the application's call cost is computation already.
                    let used_ns = self.meter.lap_of_signal() as f64;
                    self.ahead_ns += used_ns;
                    if creates {
                        self.ahead_ns -= std::mem::take(&mut self.created_early_ns);
                        self.creation_ns = used_ns;
                    }
                }
                Op::Wait { edge, count, .. } => {
                    let rule = self.job.plan.edges[edge as usize].rule;
                    let begins = !begun && rule.starts_a_thread();
                    self.work_ends();
                    let who = match begins {
                        true => Waiter::Begins,
                        // Of several waits in a row the first has the time of all.
                        false if step.took_ns > TO_SLEEP_NS || behind_sleep == self.step => Waiter::Slept,
                        false => Waiter::Stayed,
                    };
                    if who == Waiter::Slept {
                        behind_sleep = self.step + 1;
                    }
                    self.transport.wait(edge, count, who);
                    if begins {
                        // The thread was not there before. What its start cost the application is computation already.
                        let used_ns = self.meter.begin(since.map(|since| since.cpu_ns));
                        self.ahead_ns += since.map_or(0.0, |since| since.ahead_ns) + used_ns as f64;
                        continue;
                    }
                    let (waited_ns, work_ns) = self.meter.lap_of_wait(rule);
                    self.ahead_ns += work_ns as f64;
                    self.idle.waited(waited_ns);
                }
                Op::Mpi { call, .. } if call.is_on_file() && self.job.mpi_io == MpiIo::Mpi => {
                    self.on_file(&call)
                }
                Op::Mpi { call, .. } if waits_by.is_some() => {
                    if std::mem::take(&mut self.has_worked) {
                        self.work_ends();
                    }
                    self.transport.call(self.number, &call);
                    self.communicating = waits_by;
                }
                Op::Mpi { .. } if over => {}
                Op::Mpi { cpu_ns, idle_ns, .. } => self.compute_and_wait(cpu_ns, idle_ns),
                Op::Io { call, result } => {
                    self.after_process += u64::from(over);
                    self.io(&call, result);
                }
                Op::Demand(demand) => self.demand(demand),
                Op::Repeat { .. } => unreachable!("repeats are followed by `unrolled`"),
            }
            begun = true;
        }
        self.communicated();
        self.meter.lap(Part::Work);
    }

    /// The calls of MPI that came one after the other are over.
    fn communicated(&mut self) {
        if let Some(rule) = self.communicating.take() {
            self.meter.lap(Part::Wait(rule));
        }
    }

    /// Whether a step is what the library did inside a call on a file, which is made again: it is left out, but for what
    /// others are to know when the call has returned, and what it waited for that is outside of all such calls.
    fn is_inside_file_call(&mut self, op: &Op) -> bool {
        if let Op::Mpi { call: Mpi::FileEnter, .. } = op {
            self.in_file_call = Some(Vec::new());
            return true;
        }
        let Some(signals) = &mut self.in_file_call else { return false };
        match *op {
            Op::Mpi { call, .. } if call.is_on_file() => false,
            Op::Wait { edge, .. } => !self.transport.comes_from_outside(edge),
            Op::Signal { edge } => {
                signals.push(edge);
                true
            }
            _ => true,
        }
    }

    /// Whether a step is what the recorded MPI did to begin or to end, in place of which this one has begun, and will end.
    fn is_own_call(&mut self, op: &Op) -> bool {
        match op {
            Op::Mpi { call: call @ (Mpi::InitEnter | Mpi::FinalizeEnter), .. } => {
                self.in_own_call = self.job.comm == Comm::Full;
                self.ends_mpi |= self.in_own_call && *call == Mpi::FinalizeEnter;
                true
            }
            Op::Mpi { call: Mpi::Init | Mpi::Finalize, .. } => {
                self.in_own_call = false;
                false
            }
            Op::Compute { .. } | Op::Sleep { .. } | Op::TimedWait { .. } => self.in_own_call,
            _ => false,
        }
    }

    /// The computation in front of `next` comes. Where that creates a thread, what this takes is work of the application's call,
    /// which came before the thread was there: so much less is computed first.
    fn before_creation(&mut self, next: Option<&Step>) {
        let Some(&Step { op: Op::Signal { edge }, .. }) = next else { return };
        if self.job.plan.edges[edge as usize].rule.starts_a_thread() {
            self.created_early_ns = self.creation_ns;
            self.ahead_ns += self.created_early_ns;
        }
    }

    /// A step begins, of whose cost the meter does not see `unseen_ns`.
    #[inline]
    fn next_step(&mut self, unseen_ns: f64) {
        self.place.store(self.step, Ordering::Relaxed);
        self.step += 1;
        self.ahead_ns += unseen_ns;
    }

    /// Of what a step costs the meter sees as computation what it takes outside of calls and waits; this is the rest, nanoseconds.
    fn unseen_ns(&self, op: &Op) -> f64 {
        let machine = &self.job.machine;
        match op {
            Op::Io { .. } => machine.io_inside_ns,
            Op::Wait { .. } => machine.wait_inside_ns,
            // Between calls of MPI the meter does not look.
            Op::Mpi { .. } if self.communicating.is_some() => machine.compute_step_ns,
            _ => 0.0,
        }
    }

    fn demand(&mut self, demand: Demand) {
        self.work_ends();
        let part = match demand {
            Demand::Last { ns } => {
                let until_ns = self.prepared.demands.last_ns.saturating_add(ns);
                if until_ns > self.meter.now_ns {
                    self.sleep_until(until_ns);
                }
                self.prepared.demands.last_ns = until_ns.max(self.meter.now_ns);
                Part::Idle
            }
            Demand::Exchange { .. } | Demand::Within { .. } | Demand::Stream { .. } => Part::Io,
            Demand::Busy { .. }
            | Demand::Resident { .. }
            | Demand::Touch { .. }
            | Demand::Allocate { .. } => Part::Work,
        };
        self.prepared.demands.perform(demand, self.job.own);
        self.meter.lap(part);
    }
}

/// Gives the steps that an outcome names the numbers that they have in the plan: they were counted without those that are left out.
/// Goes through all that the program has done.
pub fn number_as_in_plan(job: &Job<'_>, outcome: &mut Outcome) {
    let mut done = (0..).zip(job.done(&job.plan.programs[outcome.program])).peekable();
    let performed = outcome.performed.iter_mut().map(|performed| &mut performed.step);
    let mut named: Vec<&mut u64> = outcome.divergences.steps().chain(performed).collect();
    named.sort_unstable();
    for step in named {
        while done.next_if(|&(count, _)| count < *step).is_some() {}
        if let Some(&(_, (number, _))) = done.peek() {
            *step = number;
        }
    }
}

/// By which rule the waiting in a call would be explained.
fn rule_of(call: &Mpi) -> Rule {
    match call {
        Mpi::WinSync { .. } | Mpi::WinLock { .. } | Mpi::Rma { .. } | Mpi::RmaRequest { .. } => Rule::Epoch,
        Mpi::Collective { .. }
        | Mpi::MakeComm { .. }
        | Mpi::MakeBridge { .. }
        | Mpi::MakeTopology { .. }
        | Mpi::Init
        | Mpi::Finalize => Rule::Collective,
        _ => Rule::Message,
    }
}
