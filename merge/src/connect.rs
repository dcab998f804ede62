//! Applies every rule to a run.

use crate::across::outline::Outline;
use crate::across::roles::Roles;
use crate::clocks::Clocks;
use crate::exits::Exits;
use crate::follow::channel_tracker::ChannelTracker;
use crate::follow::file_tracker::{Corrected, FileTracker, FilesFollowed};
use crate::follow::pass::{Measuring, Reading, Visitor, pass};
use crate::follow::process_tree::ProcessTree;
use crate::follow::request_tracker::RequestTracker;
use crate::follow::scope::Scope;
use crate::follow::timed_waits::{TimedWaitTracker, TimedWaits};
use crate::follow::timer_tracker::EndedByTimer;
use crate::follow::touched_pages::TouchedPages;
use crate::follow::wait_tracker::{WaitTracker, WaitsFollowed};
use crate::graph::dependency::{Dependencies, HeldBack};
use crate::load::{Looks, Recorded};
use crate::mpi::{CallLog, Matched, Matcher, Matching};
use crate::notes::Notes;
use crate::progress::Progress;
use crate::rules::file_create::EndedPolls;
use crate::rules::process_create::Creator;
use crate::rules::processes::{self, ProcessesConnected};
use crate::rules::thread_create::{Standing, ThreadsConnected};
use crate::rules::{collective, rendezvous, thread_create, thread_join};
use syn_trace::Run;

/// Everything that the rules found in a run.
#[derive(Debug)]
pub struct Connected {
    /// The time axis, hosts aligned.
    pub clocks: Clocks,
    /// What waits for what.
    pub dependencies: Dependencies,
    /// Which calls waited until their time was over, and which went on waiting.
    pub timed_waits: TimedWaits,
    /// Which calls waited for what a network held back.
    pub held: HeldBack,
    /// Which calls asked about a name until the answer was another.
    pub ended_polls: EndedPolls,
    /// Which names were there before, or were not, whatever the first calls to return say.
    pub corrected: Corrected,
    /// Which calls waited for a timer.
    pub ended_by_timer: EndedByTimer,
    /// The MPI calls.
    pub log: CallLog,
    /// Which of them belong together.
    pub matching: Matching,
    /// Who created every process, and when.
    pub creators: Vec<Option<Creator>>,
    /// What processes took to end.
    pub exits: Exits,
    /// What they touch of the files that they have mapped.
    pub pages: TouchedPages,
    /// Their asynchronous I/O.
    pub requests: RequestTracker,
    /// By thread: whether it is part of the plan.
    pub in_plan: Vec<bool>,
    /// Which files are.
    pub scope: Scope,
    /// Which thread plays which role.
    pub roles: Roles,
}

/// What a run is connected for, and who sees its events on the way.
pub enum Purpose<'a> {
    /// To make a plan of it alone.
    Alone(&'a mut Looks),
    /// To make a plan of it, and to compare others with it.
    Base(&'a mut Outline),
    /// To be compared with the base. The log of MPI calls, which is long, is left out, and what processes took to end.
    Beside(&'a mut Outline, Reading),
}

/// Applies all rules. Files come after the alignment of the clocks, which they need and do not help; where all
/// threads share one clock, in the same pass.
pub fn connect(
    recorded: &Recorded,
    all_files: bool,
    mut purpose: Purpose<'_>,
    progress: &Progress,
    notes: &mut Notes,
) -> Connected {
    let run = &recorded.run;
    let mut clocks = Clocks::recorded(run);
    let (reading, keeps_log) = match purpose {
        Purpose::Alone(_) | Purpose::Base(_) => (Reading::Ahead, true),
        Purpose::Beside(_, reading) => (reading, false),
    };
    let mut matcher = Matcher::new(&recorded.worlds, run.threads.len(), keeps_log);
    let mut process_tree = ProcessTree::new(run, &clocks);
    let has_mpi = run.processes.iter().any(|process| process.mpi.is_some() || process.rank.is_some());
    let mut accesses = FileTracker::new(run, &clocks, Scope { all_files, has_mpi, ..Scope::default() });
    let mut waits = WaitTracker::new(run, &clocks);
    let (mut pages, mut timed_waits) = (TouchedPages::default(), TimedWaitTracker::new(run));
    let mut requests = RequestTracker::new(run);
    progress.stage("matching");
    let mut visitors: Vec<&mut dyn Visitor> = vec![&mut matcher, &mut process_tree, &mut requests];
    if keeps_log {
        visitors.extend([&mut pages as &mut dyn Visitor, &mut timed_waits]);
    }
    match &mut purpose {
        Purpose::Alone(looks) => visitors.push(*looks),
        Purpose::Base(outline) | Purpose::Beside(outline, _) => visitors.push(*outline),
    }
    if clocks.shared() {
        visitors.push(&mut accesses);
        visitors.push(&mut waits);
    }
    let endings = pass(run, &clocks, Measuring::No, reading, progress, &mut visitors);
    if let Purpose::Alone(looks) = purpose {
        looks.end(&endings);
    }
    let Matched { found: mut dependencies, mut log, matching, remarks, window_locks, mut unmatched } =
        matcher.finish();
    remarks.into_iter().for_each(|remark| notes.remark(remark));
    note_processes_without_trace(&process_tree, notes);
    let told = |process: u32| run.process_cpu_ns(process as usize).is_some();
    let ProcessesConnected { creators, ended, mut ends } =
        processes::connect(&process_tree, told, &mut dependencies);
    let ThreadsConnected { standings, creators: thread_creators, notifying } =
        thread_create::connect(&process_tree, &mut dependencies);
    notifying.into_iter().for_each(|process| requests.leave_to_threads(process));
    let roles = Roles::of(run, &recorded.worlds, &process_tree, &creators, &thread_creators);
    thread_join::connect(&process_tree, &mut dependencies);
    dependencies.append(requests.dependencies());
    if !clocks.shared() {
        align(run, &mut clocks, &dependencies, reading, progress, notes);
        let axis = |thread: u32, ns| clocks.ns(thread as usize, ns);
        dependencies.retime(axis);
        ends.iter_mut().flatten().for_each(|end| end.retime(axis));
        log.retime(|thread, ns| clocks.ns(thread, ns));
        progress.stage("files");
        pass(run, &clocks, Measuring::No, reading, progress, &mut [&mut accesses, &mut waits]);
    }
    rendezvous::settle(&mut dependencies);
    collective::settle(&mut dependencies);
    window_locks.connect(|thread, ns| clocks.ns(thread as usize, ns), &mut unmatched, &mut dependencies);
    unmatched.remarks().into_iter().for_each(|remark| notes.remark(remark));
    let FilesFollowed { found: of_files, ended_polls, changed, corrected } = accesses.finish();
    dependencies.append(of_files);
    let exits = if keeps_log { Exits::of(run, &process_tree, &ended, &ends) } else { Exits::default() };
    let WaitsFollowed { found: of_waits, ended_by_timer, sleeps } = waits.finish(&ends, notes);
    dependencies.append(of_waits);
    let scope = Scope { all_files, has_mpi, changed: changed.into(), ..Scope::default() };
    let in_plan = choose(run, &standings, notes);
    if in_plan.contains(&false) {
        dependencies.retain_threads(|thread| in_plan[thread as usize]);
    }
    let timed_waits = timed_waits.finish(sleeps);
    Connected {
        clocks,
        held: dependencies.take_held(),
        dependencies,
        timed_waits,
        ended_polls,
        corrected,
        ended_by_timer,
        log,
        matching,
        creators,
        exits,
        pages,
        requests,
        in_plan,
        scope,
        roles,
    }
}

/// Says of which processes a plan cannot have anything.
fn note_processes_without_trace(process_tree: &ProcessTree, notes: &mut Notes) {
    const EXAMPLES: usize = 3;
    let missing = process_tree.without_trace();
    if missing.is_empty() {
        return;
    }
    let shown: Vec<String> = missing.iter().take(EXAMPLES).map(u32::to_string).collect();
    let more = if missing.len() > EXAMPLES { ", …" } else { "" };
    notes.remark(format!(
        "no trace of {} of the processes that were started or became another program ({}{more}): they are not in the plan; `syn info` of \
         the run says which programs these are, and why",
        missing.len(),
        shown.join(", ")
    ));
}

/// Aligns the clocks of hosts by what MPI guarantees, and where that does not tell by what went over connections.
fn align(
    run: &Run,
    clocks: &mut Clocks,
    dependencies: &Dependencies,
    reading: Reading,
    progress: &Progress,
    notes: &mut Notes,
) {
    let mut of_connections = Dependencies::default();
    if !clocks.can_align(dependencies) {
        progress.stage("clocks");
        let mut channels = ChannelTracker::new(run, clocks);
        pass(run, clocks, Measuring::No, reading, progress, &mut [&mut channels]);
        of_connections = channels.between_hosts(clocks);
    }
    clocks.align(&[dependencies, &of_connections], notes);
}

/// The aligned clocks of a run of which no dependencies are asked for.
pub fn aligned(recorded: &Recorded, progress: &Progress) -> Clocks {
    let run = &recorded.run;
    let mut clocks = Clocks::recorded(run);
    if !clocks.shared() {
        let mut matcher = Matcher::new(&recorded.worlds, run.threads.len(), false);
        pass(run, &clocks, Measuring::No, Reading::Ahead, progress, &mut [&mut matcher]);
        let found = matcher.finish().found;
        align(run, &mut clocks, &found, Reading::Ahead, progress, &mut Notes::default());
    }
    clocks
}

/// Whether each thread is part of the plan. Launchers are not, nor are the threads that MPI made for itself: these wait for
/// the end of the program, one way or another, and would make a replay last as long as the recording.
fn choose(run: &Run, standings: &[Standing], notes: &mut Notes) -> Vec<bool> {
    let count = |standing| standings.iter().filter(|&&other| other == standing).count();
    let (of_mpi, idle) = (count(Standing::OfMpi), count(Standing::Idle));
    if of_mpi > 0 {
        notes.tell(format!(
            "{of_mpi} threads that were made inside MPI calls are left out, and what they used of the processor: they did no I/O on files and no MPI of their own"
        ));
    }
    if idle > 0 {
        notes
            .tell(format!("{idle} threads that libraries made are left out: no call of theirs is on record"));
    }
    let of_requests = count(Standing::OfRequests);
    if of_requests > 0 {
        notes.tell(format!(
            "{of_requests} threads of the C library that did asynchronous I/O are left out: a replay has threads of its own for it"
        ));
    }
    let is_launcher = |thread: usize| run.processes[run.threads[thread].process].process_only;
    (0..run.threads.len())
        .map(|thread| standings[thread] == Standing::Application && !is_launcher(thread))
        .collect()
}
