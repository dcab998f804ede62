//! From events to the steps of a plan, thread by thread.
//!
//! Around every event: the gap before it becomes computation; where it is entered, what is to be waited for and
//! signalled there; then the operation; where it returns, waits and signals again; and for calls that are not
//! replayed themselves their own cost as computation.

mod around;
mod attributes;
mod calls;
mod communication;
mod evidence;
mod files;
mod handles;
mod io;
mod mapped;
mod mappings;
mod metadata;
mod moves;
mod paths;
mod polling;
mod program;
mod unreplayed;

use crate::across::durations::Durations;
use crate::clocks::Clocks;
use crate::costs::Costs;
use crate::exits::{Exit, Exits};
use crate::follow::file_tracker::Corrected;
use crate::follow::pass::{End, Seen, Visitor};
use crate::follow::request_tracker::{Deed, Deeds};
use crate::follow::scope::Scope;
use crate::follow::timed_waits::TimedWaits;
use crate::follow::timer_tracker::EndedByTimer;
use crate::follow::touched_pages::{TouchedPages, Tried};
use crate::graph::dependency::{HeldBack, Stage};
use crate::graph::schedule::{Points, Schedule};
use crate::mpi::{CallIter, CallLog, Matching, Worlds};
use crate::rules::file_create::EndedPolls;
use crate::rules::process_create::Creator;
use attributes::Attributes;
use communication::Communication;
use evidence::{CallsOfEdges, FirstCalls};
use files::FileTable;
use foldhash::HashSet;
use handles::Handles;
use io::{Operations, Tables};
use mappings::Mappings;
use polling::Polling;
use program::{Program, Stretch};
use syn_plan::{Attribute, Balance, File, HandleId, LONGEST_WAKE_NS, LeftOut, Members, Mpi, Steps};
use syn_trace::calls::Fact;
use syn_trace::calls::effect::{Effect, Sync};
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::reader::Event;
use syn_trace::run::{Before, Measured, Segment};
use syn_trace::{Call, Layer, Run};
use unreplayed::Unreplayed;

/// A thread that its process ended was waiting for that if it used less than this part of the time behind its last record. Of one
/// that was at work it is not known whether it waited, or had no processor.
const LEAST_WAITING: u64 = 10;

/// What lowering goes by.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its time axis.
    pub clocks: &'a Clocks,
    /// Which files are in the plan.
    pub scope: &'a Scope,
    /// Signals and waits.
    pub schedule: &'a Schedule,
    /// Its ranks.
    pub worlds: &'a Worlds,
    /// Which calls waited until their time was over, and which went on waiting.
    pub timed_waits: &'a TimedWaits,
    /// Which calls waited for what a network held back.
    pub held: &'a HeldBack,
    /// Which calls asked about a name until the answer was another.
    pub ended_polls: &'a EndedPolls,
    /// Which names were there before, or were not, whatever the first calls to return say.
    pub corrected: &'a Corrected,
    /// Which calls waited for a timer.
    pub ended_by_timer: &'a EndedByTimer,
    /// MPI calls.
    pub log: &'a CallLog,
    /// Which of them belong together.
    pub matching: &'a Matching,
    /// Their usual cost.
    pub costs: &'a Costs,
    /// By thread: whether it is part of the plan.
    pub in_plan: &'a [bool],
    /// By process: who created it, and when.
    pub creators: &'a [Option<Creator>],
    /// What processes took to end.
    pub exits: &'a Exits,
    /// When the application started on the time axis of the merge.
    pub origin_ns: u64,
    /// What [`Run::cpu_before`] says.
    pub cpu_before: &'a [Before],
    /// How long computation takes in the other runs.
    pub durations: &'a Durations,
    /// Waiting for the end of one's process is told as such.
    pub explains_ends: bool,
}

/// What lowering made of a run.
#[derive(Debug)]
pub struct Lowered {
    /// By thread of the run; empty for those that are not part of the plan.
    pub programs: Vec<(Steps, Balance)>,
    /// The files of the plan.
    pub files: Vec<File>,
    /// Names of extended attributes, and which are there before.
    pub names: Vec<String>,
    /// See there.
    pub attributes: Vec<Attribute>,
    /// See [`syn_plan::About`].
    pub busy_waiting: f64,
    /// What was decided without knowing.
    pub facts: Vec<String>,
    /// What is not in the plan.
    pub remarks: Vec<String>,
    /// Calls without an operation in it.
    pub left_out: Vec<LeftOut>,
    /// Between which calls the edges go.
    pub calls_of_edges: FirstCalls,
    /// Communicators, and lists that calls of MPI refer to.
    pub communicators: Vec<Members>,
    /// See there.
    pub lists: Vec<Vec<u64>>,
}

/// A thread on its way.
#[derive(Debug)]
struct Thread<'a> {
    program: Program,
    /// Of calls inside an MPI call that are not looked at one by one: CPU time and waiting, nanoseconds.
    skipped: (u64, u64),
    /// When its program begins on the time axis of the merge.
    since_ns: u64,
    /// The latest return on the time axis of the merge.
    behind_ns: u64,
    /// Its points that are still to come.
    points: Points<'a>,
    /// Its MPI calls that are still to come.
    calls: CallIter<'a>,
    /// Position among the calls that waited for a timer.
    next_ended: usize,
    /// Position among the MPI calls with other calls inside.
    next_around: usize,
    /// Position among the calls on files.
    next_file_call: usize,
    /// It has come to where it begins or ends MPI.
    enters_mpi: bool,
    /// What a rule explains of the waiting between the calls that MPI makes while it begins or ends, nanoseconds, until that wait is over.
    waited_inside_ns: u64,
    polling: Option<Polling>,
    /// Its place among the stretches of the durations, and by how much these make it longer, nanoseconds.
    next_stretch: usize,
    longer_ns: i64,
    /// What its process took to end, if it has the last record.
    exit: Option<Exit>,
    /// What its calls have to do with queues of asynchronous I/O, still to come.
    deeds: std::iter::Peekable<std::vec::IntoIter<(u32, Deed)>>,
}

/// Turns events into steps; a visitor of the last pass.
#[derive(Debug)]
pub struct Lowering<'a> {
    from: Sources<'a>,
    threads: Vec<Thread<'a>>,
    handles: Vec<Handles>,
    mappings: Vec<Mappings>,
    pages: TouchedPages,
    files: FileTable,
    attributes: Attributes,
    operations: Operations,
    /// By process: the handles of files that were opened inside calls on files.
    opened_inside: Vec<HashSet<HandleId>>,
    communication: Communication<'a>,
    unreplayed: Unreplayed,
    calls_of_edges: CallsOfEdges<'a>,
    /// Of long waits in MPI calls, with the processor and without; preemption is in neither.
    polling_ns: u64,
    blocked_ns: u64,
}

/// One event with its times.
struct Visit<'a> {
    seen: &'a Seen<'a>,
    /// What lay before it.
    gap: Segment,
    /// Its own time: since its entry, or the last call inside.
    own: Segment,
    /// Entry, or the return of the last call inside.
    begin_ns: u64,
    /// Return, and not before that.
    end_ns: u64,
    /// How many calls it stands for.
    times: u64,
}

impl<'a> Lowering<'a> {
    /// Nothing lowered yet; `pages` are touched of mapped files, and `deeds` are done to queues.
    pub fn new(from: Sources<'a>, pages: TouchedPages, deeds: Deeds) -> Lowering<'a> {
        let threads = from.run.threads.iter().zip(deeds).enumerate().map(|(index, (thread, deeds))| Thread {
            program: Program::new(from.origin_ns),
            skipped: (0, 0),
            since_ns: from.clocks.ns(index, thread.clock.start_ns.max(0.0) as u64),
            behind_ns: from.clocks.ns(index, thread.clock.start_ns.max(0.0) as u64),
            points: from.schedule.points(index),
            calls: from.log.threads[index].iter(),
            next_ended: 0,
            next_around: 0,
            next_file_call: 0,
            enters_mpi: false,
            waited_inside_ns: 0,
            polling: None,
            next_stretch: 0,
            longer_ns: 0,
            exit: from.exits.of_thread(index as u32).copied(),
            deeds: deeds.into_iter().peekable(),
        });
        let reads = |tried: &[Tried]| {
            tried.iter().filter(|tried| from.scope.contains(&tried.path)).map(mappings::reads_to_load).sum()
        };
        let mappings = (0..from.run.processes.len() as u32).map(|process| match pages.loads(process) {
            None => Mappings::default(),
            Some(loads) => {
                let later = loads.later.iter().map(|tried| reads(tried));
                Mappings::of_process_that_loads(reads(&loads.at_start), later)
            }
        });
        let mappings = mappings.collect();
        Lowering {
            from,
            threads: threads.collect(),
            handles: from.run.processes.iter().map(|_| Handles::default()).collect(),
            mappings,
            pages,
            files: FileTable::new(from.scope.clone(), from.corrected.clone()),
            attributes: Attributes::default(),
            operations: Operations::new(),
            opened_inside: from.run.processes.iter().map(|_| HashSet::default()).collect(),
            communication: Communication::new(from.run, from.worlds, from.matching),
            unreplayed: Unreplayed::default(),
            calls_of_edges: CallsOfEdges::new(from.schedule, from.run.threads.len()),
            polling_ns: 0,
            blocked_ns: 0,
        }
    }

    /// The steps of every thread, and what else there is to tell.
    pub fn finish(self) -> Lowered {
        let programs = self.threads.into_iter().map(|thread| thread.program.finish()).collect();
        let busy_waiting = match self.polling_ns.saturating_add(self.blocked_ns) {
            0 => 0.0,
            waiting_ns => self.polling_ns as f64 / waiting_ns as f64,
        };
        let (remarks, mut facts) = (self.unreplayed.remarks(), Vec::new());
        let files = self.files.finish(&mut facts);
        let (names, attributes) = self.attributes.finish(&files);
        let left_out = self.unreplayed.left_out();
        let calls_of_edges = self.calls_of_edges.finish();
        let (communicators, lists) = self.communication.finish();
        Lowered {
            programs,
            files,
            names,
            attributes,
            busy_waiting,
            facts,
            remarks,
            left_out,
            calls_of_edges,
            communicators,
            lists,
        }
    }

    /// The thread's time behind its last record. What one that was ended with its process waited there is not part of its program: it
    /// ends when the process does.
    fn end_thread(&mut self, index: usize, end: &End) {
        self.interrupt_polling(index as u32);
        let trace = &self.from.run.threads[index];
        if let Some(mut rest) = end.rest {
            self.account(index as u32, &rest);
            let ends_with_process = trace.ended_with_process();
            if !ends_with_process {
                self.leave_to_pages(trace.process as u32, index as u32, &mut rest);
            }
            let idle_ns = if ends_with_process { 0 } else { rest.waited_ns };
            let thread = &mut self.threads[index];
            let (start_ns, cpu_ns) = (thread.behind_ns, rest.cpu_ns);
            let end_ns = start_ns.saturating_add(rest.wall_ns.saturating_sub(rest.waited_ns - idle_ns));
            let in_call = rest.inside.is_some();
            thread.program.compute(Stretch { start_ns, end_ns, cpu_ns, idle_ns, in_call });
            let explained = self.from.explains_ends && rest.cpu_ns < rest.waited_ns / LEAST_WAITING;
            thread.program.leave_out_waiting(rest.waited_ns - idle_ns, explained);
        }
        let started_ns = trace.clock.start_ns.max(0.0) as u64;
        self.die(index as u32);
        let thread = &mut self.threads[index];
        let before_ns = self.from.clocks.ns(index, started_ns).saturating_sub(thread.since_ns);
        let balance = &mut thread.program.balance;
        let wall_ns = end.behind_ns.saturating_sub(started_ns).saturating_add(before_ns);
        balance.wall_ns = wall_ns.saturating_add_signed(thread.longer_ns);
        balance.residual_ns = end.residual_ns.unsigned_abs();
    }

    /// What the thread did behind its last record, if a signal ended it there, and who waited for that.
    fn die(&mut self, index: u32) {
        let thread = &mut self.threads[index as usize];
        let start_ns = thread.behind_ns;
        let mut end_ns = start_ns;
        if let Some(Exit { cpu_ns, killed: true, until_ns, .. }) = thread.exit {
            let work_ns = start_ns.saturating_add(cpu_ns);
            end_ns = until_ns.map_or(work_ns, |until_ns| until_ns.max(work_ns));
            let idle_ns = end_ns - work_ns;
            thread.program.compute(Stretch { start_ns, end_ns, cpu_ns, idle_ns, in_call: false });
            thread.longer_ns += (end_ns - start_ns) as i64;
        }
        self.synchronize(index, u32::MAX, Stage::Leave, end_ns, end_ns);
    }

    /// Parts of a segment that are the same whatever it was.
    fn account(&mut self, thread: u32, segment: &Segment) {
        let balance = &mut self.threads[thread as usize].program.balance;
        balance.preempted_ns += segment.preempted_ns();
        balance.recording_ns += segment.recording_ns;
        balance.unmeasured_ns += segment.unmeasured_ns;
    }

    /// Where no call is made and files are mapped, waiting is for their pages, as far as that can be: a replay waits for them where
    /// it touches them.
    fn leave_to_pages(&mut self, process: u32, thread: u32, between: &mut Segment) {
        let mappings = &mut self.mappings[process as usize];
        let loads_ns = mappings.loaded(thread).min(between.waited_ns);
        if between.waited_ns > 0 && between.inside.is_none() {
            let pages_ns = loads_ns + mappings.faults(between.waited_ns - loads_ns);
            between.waited_ns -= pages_ns;
            self.threads[thread as usize].program.balance.calls_wait_ns += pages_ns;
        }
    }

    /// What an event took, with the usual time before it.
    fn measured(&mut self, seen: &Seen<'_>) -> Measured {
        let Measured { before, mut call } = *seen.measured;
        let wakes = matches!(
            seen.event.call.effect(),
            Effect::Sync(Sync::SignalCondition | Sync::BroadcastCondition)
        );
        if wakes && self.awaited(seen.thread, seen.record).is_none() {
            // It waits until those who were woken before have gone on (glibc before 2.41). Beyond a wake-up these had no processor, as
            // happens in a replay by itself.
            call.waited_ns = call.waited_ns.min(LONGEST_WAKE_NS);
        }
        let thread = &mut self.threads[seen.thread as usize];
        let index = seen.thread as usize;
        let mut usual = self.from.durations.usual(index, &mut thread.next_stretch, before);
        if let Some(exit) = thread.exit.filter(|exit| exit.record == seen.record && !exit.killed) {
            // In front of the last record, with which the end is signalled.
            usual.cpu_ns = usual.cpu_ns.saturating_add(exit.cpu_ns);
            usual.wall_ns = usual.wall_ns.saturating_add(exit.cpu_ns);
        }
        thread.longer_ns += usual.wall_ns as i64 - before.wall_ns as i64;
        Measured { before: usual, call }
    }

    fn visit<'s>(&mut self, seen: &'s Seen<'s>, gap: Segment, mut own: Segment) -> Visit<'s> {
        let thread = &mut self.threads[seen.thread as usize];
        let begin_ns = seen.start_ns.max(thread.behind_ns);
        let end_ns = seen.end_ns.max(begin_ns);
        let (cpu_ns, waited_ns) = std::mem::take(&mut thread.skipped);
        (own.cpu_ns, own.waited_ns) = (own.cpu_ns + cpu_ns, own.waited_ns + waited_ns);
        Visit { seen, gap, own, begin_ns, end_ns, times: times(seen.event) }
    }

    /// What the event is in the plan, if it is I/O.
    fn translate(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let opaque = !self.from.run.processes[seen.process as usize].sees_libc_internal;
        let tables = Tables {
            files: &mut self.files,
            attributes: &mut self.attributes,
            handles: &mut self.handles[seen.process as usize],
            mappings: &mut self.mappings[seen.process as usize],
            pages: &mut self.pages,
        };
        let deeds = &mut self.threads[seen.thread as usize].deeds;
        while deeds.next_if(|(record, _)| *record < seen.record).is_some() {}
        let deeds = std::iter::from_fn(|| deeds.next_if(|(record, _)| *record == seen.record));
        io::translate(
            seen,
            touched,
            descriptors,
            opaque,
            tables,
            deeds.map(|(_, deed)| deed),
            &mut self.operations,
        );
        if self.operations.is_empty() {
            let file = touched.file.map(|file| descriptors.open_file(file));
            let is_replayed = self.mappings[seen.process as usize].have(touched.file);
            self.unreplayed.see(seen, touched, file, is_replayed, self.from.scope, opaque);
        } else {
            self.unreplayed.see_replayed(seen);
        }
    }
}

/// How many calls an event stands for.
fn times(event: &Event<'_>) -> u64 {
    if event.call == Call::Repeats { event.numbers[0].max(0) as u64 } else { 1 }
}

/// Whether it is one of the calls by which posix_fallocate(3) writes into each block.
fn allocates(seen: &Seen<'_>, before: &Segment) -> bool {
    let is_inside = before.inside.is_some_and(|call| call.effect() == Effect::Allocate);
    is_inside
        && match seen.event.call.effect() {
            Effect::Control | Effect::Stat(_) | Effect::StatFileSystem => true,
            Effect::Read(place) | Effect::Write(place) => seen.event.offset_of(place).is_some(),
            _ => false,
        }
}

impl Visitor for Lowering<'_> {
    fn end(&mut self, thread: u32, end: &End) {
        if self.from.in_plan[thread as usize] {
            self.end_thread(thread as usize, end);
        }
    }

    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let again = self.communication.follow(seen);
        let again = again.or_else(|| self.communication.follow_file(seen, touched, &mut self.files));
        if !self.from.in_plan[seen.thread as usize] {
            return;
        }
        self.calls_of_edges.see(seen);
        let mut measured = self.measured(seen);
        for segment in [&measured.before, &measured.call] {
            self.account(seen.thread, segment);
        }
        self.leave_to_pages(seen.process, seen.thread, &mut measured.before);
        if seen.event.call.effect() == Effect::Load {
            self.mappings[seen.process as usize].load(seen.thread);
        }
        let around = self.around(seen);
        let call = seen.event.call;
        let is_mpi = call.layer() == Layer::Mpi && !call.has(Fact::Note);
        let sleeps = seen.event.sleeps();
        let on_file = self.file_call(seen);
        let is_io = (around.is_none() || self.from.scope.all_files) && !is_mpi && !sleeps && !on_file;
        // How the C library allocates where the file system cannot: the replay's does what it has to.
        let allocates = allocates(seen, &measured.before) && !self.has_point(seen);
        if is_io && !allocates {
            self.translate(seen, touched, descriptors);
        }
        // Of a call that communicates, its own record tells the time: how often the library looked for messages
        // meanwhile, and slept, says nothing more.
        if allocates || around.is_some_and(|around| around.communicates) && self.operations.is_empty() {
            let skipped = &mut self.threads[seen.thread as usize].skipped;
            skipped.0 += measured.before.cpu_ns + measured.call.cpu_ns;
            skipped.1 += measured.before.waited_ns + measured.call.waited_ns;
            return;
        }
        let visit = self.visit(seen, measured.before, measured.call);
        if seen.record == 0 {
            self.begin(&visit);
        }
        match around {
            Some(around) if !is_io => self.inside(&visit, around),
            _ if is_mpi => self.mpi(&visit, again),
            _ if on_file => self.on_file(&visit, again.unwrap_or(Mpi::FileLeave)),
            _ if sleeps => self.sleep(&visit),
            _ => self.perform(&visit),
        }
        let thread = &mut self.threads[seen.thread as usize];
        thread.behind_ns = thread.behind_ns.max(seen.end_ns);
    }
}
