//! The stages of a merge, in order.

use crate::across::align::{Alignment, Map};
use crate::across::dependencies::{Compared, Comparison};
use crate::across::durations::Durations;
use crate::across::outline::Outline;
use crate::clocks::Clocks;
use crate::connect::{Connected, Purpose, connect};
use crate::costs::Costs;
use crate::follow::pass::{Measuring, Reading, pass};
use crate::follow::scope::below;
use crate::follow::shared::images_before;
use crate::graph::Graph;
use crate::graph::dependency::Dependencies;
use crate::graph::schedule::{Count, Schedule};
use crate::load::{Looks, Recorded, is_throttled, load};
use crate::lower::{Lowered, Lowering, Sources};
use crate::notes::Notes;
use crate::progress::Progress;
use crate::throttled;
use anyhow::Result;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use syn_plan::{About, Balance, LeftOutThreads, Op, Plan, Program, Rule, Steps, Thread};
use syn_trace::Run;
use syn_trace::run::Startup;

/// What to merge, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The run folders.
    pub runs: Vec<PathBuf>,
    /// Put files of the system into the plan too.
    pub all_files: bool,
    /// Put into it what lies below these folders alone, if there are any: absolute paths without a slash at the end.
    pub only: Vec<String>,
    /// Go on without ranks of which there is no trace.
    pub partial: bool,
    /// Rules whose dependencies are left out.
    pub without: Vec<Rule>,
    /// Of several runs, the one to follow; otherwise the one that took the median time of those that others did not disturb.
    pub base: Option<PathBuf>,
    /// Also keep orders that were the other way round in another run.
    pub weak: bool,
}

/// A plan, and what there is to tell about how it was made.
#[derive(Debug)]
pub struct Merged {
    /// The plan.
    pub plan: Plan,
    /// Processes in it.
    pub processes: usize,
    /// Waits of every rule.
    pub counts: BTreeMap<Rule, Count>,
    /// Dependencies of every rule that were the other way round in another run.
    pub weak: BTreeMap<Rule, u64>,
    /// Where the time of all programs went.
    pub balance: Balance,
    /// Other runs' threads that did not do quite the same as the base's: the run, the thread.
    pub alignment: Vec<(String, Alignment)>,
    /// What else there is to tell.
    pub notes: Notes,
}

/// Makes a plan of one run or several runs of the same application.
///
/// # Errors
/// When a run cannot be used; see [`crate::load::load`].
pub fn merge(options: &Options) -> Result<Merged> {
    let mut notes = Notes::default();
    let folders = throttled::finished(&options.runs, &mut notes);
    let mut runs = load(&folders, options.base.as_deref(), options.partial, &mut notes)?;
    let plain = runs.partition_point(|run| !is_throttled(&run.run.path));
    let throttled_runs = runs.split_off(plain);
    let progress = Progress::new(bytes_to_read(&runs, &throttled_runs));
    let (mut looks, mut found) = (Looks::new(&runs[0].run), Notes::default());
    let mut outline = (runs.len() > 1).then(|| Outline::new(&runs[0]));
    let purpose = match &mut outline {
        None => Purpose::Alone(&mut looks),
        Some(outline) => Purpose::Base(outline),
    };
    let mut connected = connect(&runs[0], options.all_files, purpose, &progress, &mut found);
    // Files elsewhere say who waited for whom, too.
    let only: Vec<[String; 2]> = options.only.iter().map(|folder| [folder.clone(), real(folder)]).collect();
    connected.scope.only = only.iter().flatten().cloned().collect();
    if let ([alone], [_]) = (&mut runs[..], &folders[..]) {
        alone.judge(&looks, &mut notes)?;
    }
    runs[0].elapsed_ns = runs[0].elapsed_on(&connected.clocks);
    notes.append(found);
    leave_out(&options.without, &mut connected.dependencies);
    let mut across = Across::default();
    if let Some(outline) = outline {
        across = compare(&runs, &mut connected, &outline, options, &progress, &mut notes);
    }
    let Across { alignment, weak, durations, elapsed_ns } = across;
    runs[1..].iter_mut().zip(elapsed_ns).for_each(|(run, elapsed_ns)| run.elapsed_ns = elapsed_ns);
    let mut evidence = throttled::Evidence::default();
    if !throttled_runs.is_empty() && !options.without.contains(&Rule::Throttled) {
        evidence = throttled::connect(&runs[0], &throttled_runs, &mut connected, &progress, &mut notes);
    }
    let dependencies = std::mem::take(&mut connected.dependencies);
    let schedule = schedule(dependencies, &evidence, runs[0].run.threads.len(), &mut notes);
    let mut lowered =
        lower(&runs[0], &mut connected, &schedule, &durations, &options.without, &progress, &mut notes);
    for names in only {
        let is_below = |path: &str| names.iter().any(|folder| below(folder, path).is_some());
        if !lowered.files.iter().any(|file| is_below(&file.path)) {
            let [folder, real] = names;
            notes.warn(format!("no file of the plan is below {folder}, or {real}"));
        }
    }
    lowered.facts.drain(..).for_each(|fact| notes.tell(fact));
    lowered.remarks.drain(..).for_each(|remark| notes.remark(remark));
    progress.finish();
    if !lowered.programs.iter().any(|(steps, _)| has_io(steps)) {
        notes.remark(
            "the plan has no operation on files: nothing that was recorded is I/O on a file of the plan",
        );
    }
    let counts = schedule.counts.clone();
    let (plan, processes) = assemble(&runs, &connected, schedule, lowered, &notes);
    let balance = plan.balance();
    Ok(Merged { plan, processes, counts, weak, balance, alignment, notes })
}

/// Takes out what these rules found.
fn leave_out(rules: &[Rule], dependencies: &mut Dependencies) {
    if !rules.is_empty() {
        dependencies.retain(|rule, _, _| !rules.contains(&rule));
    }
}

fn has_io(steps: &Steps) -> bool {
    steps.iter().any(|step| matches!(step.op, Op::Io { call, .. } if call.is_call()))
}

/// Every pass reads a run once: two of the base, one of each other run, and one more if its hosts need aligning; with throttled
/// runs one of them, or two, and one of the base.
fn bytes_to_read(runs: &[Recorded], throttled: &[Recorded]) -> u64 {
    let connecting = |run: &Recorded| run.bytes * if Clocks::recorded(&run.run).shared() { 1 } else { 2 };
    let aligned = if throttled.is_empty() { 0 } else { runs[0].bytes };
    let throttled = throttled.iter().map(connecting).sum::<u64>();
    runs[0].bytes + runs.iter().map(connecting).sum::<u64>() + aligned + throttled
}

/// The path of a folder without symbolic links, as far as they are known here: what a program names from its current folder on has it.
fn real(folder: &str) -> String {
    let found = std::fs::canonicalize(folder).ok();
    found.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or_else(|| folder.to_owned())
}

fn schedule(
    dependencies: Dependencies,
    evidence: &throttled::Evidence,
    threads: usize,
    notes: &mut Notes,
) -> Schedule {
    let (graph, needed) = Graph::reduced(&dependencies);
    let left_out = graph.dropped.iter().filter(|&&index| !dependencies.is_chance(index as usize)).count();
    if left_out > 0 {
        notes.warn(format!(
            "{left_out} dependencies contradicted the others and were left out: clocks that do not fit, or files that were changed from outside"
        ));
    }
    let mut schedule = Schedule::new(&dependencies, &graph, &needed, threads);
    evidence.note(&dependencies, &needed, &mut schedule.edges);
    schedule
}

/// What other runs say about the base.
#[derive(Default)]
struct Across {
    alignment: Vec<(String, Alignment)>,
    weak: BTreeMap<Rule, u64>,
    durations: Durations,
    /// Of each of them, on its own aligned clocks.
    elapsed_ns: Vec<u64>,
}

/// Connects so many runs at a time. More would hold more in memory.
const CONNECTED_AT_ONCE: usize = 2;

/// Another run: what was found there, and what of the base corresponds to what of it.
struct Beside<'a> {
    run: &'a Recorded,
    clocks: Clocks,
    dependencies: Dependencies,
    in_plan: Vec<bool>,
    outline: Outline,
    map: Map,
}

/// Connects the other runs, and compares each with the base.
fn compare(
    runs: &[Recorded],
    connected: &mut Connected,
    outline: &Outline,
    options: &Options,
    progress: &Progress,
    notes: &mut Notes,
) -> Across {
    let (base, others) = (&runs[0], &runs[1..]);
    let dependencies = std::mem::take(&mut connected.dependencies);
    let mut comparison = Comparison::new(&base.run, &connected.clocks, outline, dependencies);
    let (mut alignment, mut elapsed_ns) = (Vec::new(), Vec::new());
    let roles = &connected.roles;
    let beside = |number: usize, reading: Reading| {
        let run = &others[number];
        let (mut of_other, mut unheard) = (Outline::new(run), Notes::default());
        let purpose = Purpose::Beside(&mut of_other, reading);
        let Connected { clocks, mut dependencies, in_plan, roles: of_other_roles, .. } =
            connect(run, options.all_files, purpose, progress, &mut unheard);
        leave_out(&options.without, &mut dependencies);
        let map = Map::new(&roles.pair(&of_other_roles), outline, &of_other);
        Beside { run, clocks, dependencies, in_plan, outline: of_other, map }
    };
    for first in (0..others.len()).step_by(CONNECTED_AT_ONCE) {
        let some = first..others.len().min(first + CONNECTED_AT_ONCE);
        // Where each has a processor to itself and no more, nobody reads ahead.
        let reading = match rayon::current_num_threads() / some.len() {
            0 | 1 => Reading::Here,
            _ => Reading::Ahead,
        };
        let some: Vec<Beside<'_>> = some.into_par_iter().map(|number| beside(number, reading)).collect();
        progress.stage("comparing");
        for other in some {
            alignment.extend(agree(base, connected, outline, &other, notes));
            let Beside { run, clocks, dependencies, outline, map, .. } = other;
            elapsed_ns.push(run.elapsed_on(&clocks));
            comparison.add(&run.run, clocks, &outline, map, &dependencies);
        }
    }
    let Compared { dependencies, weak, added, others } = comparison.finish(options.weak);
    tell_of(&weak, &added, options.weak, notes);
    let calm = others.iter().zip(&runs[1..]).filter(|(_, run)| !run.is_disturbed);
    let maps: Vec<(&Run, &Map)> = calm.map(|(other, _)| (other.run, &other.map)).collect();
    let durations = Durations::of(base, connected, outline, &maps);
    connected.dependencies = dependencies;
    Across { alignment, weak, durations, elapsed_ns }
}

fn tell_of(weak: &BTreeMap<Rule, u64>, added: &BTreeMap<Rule, u64>, kept: bool, notes: &mut Notes) {
    let by_rule = |counts: &BTreeMap<Rule, u64>| {
        let counts: Vec<String> =
            counts.iter().map(|(rule, count)| format!("{count} {}", rule.name())).collect();
        counts.join(", ")
    };
    if !weak.is_empty() {
        let what = if kept { "are kept all the same" } else { "are left out; --weak keeps them" };
        notes.tell(format!("orders that were the other way round in another run ({}) {what}", by_rule(weak)));
    }
    if !added.is_empty() {
        notes.tell(format!("orders that other runs show are kept as well ({})", by_rule(added)));
    }
}

/// How far another run did the same; tells about it where it did not. Threads that differ.
fn agree(
    base: &Recorded,
    connected: &Connected,
    outline: &Outline,
    other: &Beside<'_>,
    notes: &mut Notes,
) -> Vec<(String, Alignment)> {
    let Beside { run, in_plan, outline: of_other, map, .. } = other;
    let mut threads: Vec<Alignment> = Vec::new();
    let mut unpaired = in_plan.clone();
    for (thread, name) in names(base, &connected.in_plan) {
        let (alike, of) = map.agreement(thread, outline);
        let counterpart = map.threads[thread].iter();
        counterpart.for_each(|counterpart| unpaired[counterpart.thread as usize] = false);
        threads.push(Alignment { thread: name, alike, of });
    }
    for (thread, name) in names(run, in_plan).into_iter().filter(|&(thread, _)| unpaired[thread]) {
        threads.push(Alignment { thread: name, alike: 0, of: of_other.threads[thread].classes.len() });
    }
    let (alike, of) = threads.iter().fold((0, 0), |sum, thread| (sum.0 + thread.alike, sum.1 + thread.of));
    let least = threads.iter().min_by(|one, other| one.rate().total_cmp(&other.rate()));
    if let Some(least) = least.filter(|_| alike < of) {
        let percent = |rate: f64| format!("{:.2} %", rate * 100.0);
        notes.remark(format!(
            "{0} agrees with {1} in {2} of its events ({3} in {4}); the plan holds the events of {1} alone, and a replay repeats what was done there",
            run.name(),
            base.name(),
            percent(alike as f64 / of as f64),
            least.thread,
            percent(least.rate()),
        ));
    }
    let differing = threads.into_iter().filter(|thread| thread.alike < thread.of);
    differing.map(|thread| (run.name(), thread)).collect()
}

/// The threads of a run's plan with names for people: by rank, then by start.
fn names(recorded: &Recorded, in_plan: &[bool]) -> Vec<(usize, String)> {
    let run = &recorded.run;
    let rank = |process: usize| recorded.worlds.of_process[process].map(|(_, rank)| rank);
    let mut processes: Vec<usize> =
        (0..run.processes.len()).filter(|&process| !run.processes[process].process_only).collect();
    processes.sort_by_key(|&process| (rank(process).is_none(), rank(process)));
    let mut names = Vec::new();
    for (number, &process) in processes.iter().enumerate() {
        let owner = match rank(process) {
            Some(rank) => format!("rank {rank}"),
            None => format!("process {number}"),
        };
        let threads = run.processes[process].threads.iter().filter(|&&thread| in_plan[thread]);
        names.extend(threads.enumerate().map(|(nth, &thread)| match nth {
            0 => (thread, owner.clone()),
            nth => (thread, format!("{owner} thread {nth}")),
        }));
    }
    names
}

fn lower(
    base: &Recorded,
    connected: &mut Connected,
    schedule: &Schedule,
    durations: &Durations,
    without: &[Rule],
    progress: &Progress,
    notes: &mut Notes,
) -> Lowered {
    let pages = std::mem::take(&mut connected.pages);
    let (deeds, remarks) = std::mem::take(&mut connected.requests).finish(&connected.scope);
    remarks.into_iter().for_each(|remark| notes.remark(remark));
    let (run, connected) = (&base.run, &*connected);
    let costs = Costs::of(&connected.log, schedule);
    let cpu_before = run.cpu_before();
    let start_ns = |thread: usize| connected.clocks.ns(thread, run.began_ns(thread, &cpu_before));
    let threads = base.application().flat_map(|process| &process.threads);
    let origin_ns = threads.map(|&thread| start_ns(thread)).min().unwrap_or(0);
    let sources = Sources {
        run,
        clocks: &connected.clocks,
        scope: &connected.scope,
        schedule,
        worlds: &base.worlds,
        log: &connected.log,
        timed_waits: &connected.timed_waits,
        held: &connected.held,
        ended_polls: &connected.ended_polls,
        corrected: &connected.corrected,
        ended_by_timer: &connected.ended_by_timer,
        matching: &connected.matching,
        costs: &costs,
        in_plan: &connected.in_plan,
        creators: &connected.creators,
        exits: &connected.exits,
        origin_ns,
        cpu_before: &cpu_before,
        durations,
        explains_ends: !without.contains(&Rule::ProcessEnd),
    };
    let mut lowering = Lowering::new(sources, pages, deeds);
    progress.stage("lowering");
    pass(run, &connected.clocks, Measuring::Yes, Reading::Ahead, progress, &mut [&mut lowering]);
    lowering.finish()
}

fn assemble(
    runs: &[Recorded],
    connected: &Connected,
    mut schedule: Schedule,
    lowered: Lowered,
    notes: &Notes,
) -> (Plan, usize) {
    let base = &runs[0];
    let calls = lowered.calls_of_edges.write(&mut schedule.edges);
    let mut plan = Plan {
        about: About {
            command: base.command().to_owned(),
            hosts: connected.clocks.hosts().iter().map(|host| host.name.clone()).collect(),
            mpi: base.application().find_map(|process| process.mpi).map(str::to_owned),
            ranks: base.worlds.ranks() as u32,
            recorded_ns: base.elapsed_ns,
            runs_ns: runs.iter().map(|run| run.elapsed_ns).collect(),
            events: base.events,
            dropped: runs.iter().map(|run| run.run.dropped()).sum(),
            busy_waiting: lowered.busy_waiting,
            cores: base.run.processors(),
            remarks: notes.warnings.iter().chain(&notes.remarks).cloned().collect(),
            left_out: lowered.left_out,
            left_out_threads: Vec::new(),
            images: Vec::new(),
        },
        files: lowered.files,
        names: lowered.names,
        attributes: lowered.attributes,
        edges: schedule.edges,
        calls,
        communicators: lowered.communicators,
        lists: lowered.lists,
        programs: Vec::new(),
    };
    let mut programs = lowered.programs;
    let processes = processes_by_rank(base, connected);
    let (before, cpu_before) = (images_before(&base.run), base.run.cpu_before());
    for (number, &(rank, process)) in (0u32..).zip(&processes) {
        let owner = &base.run.processes[process];
        let launched_ns = cpu_before[process].process_ns;
        plan.about.images.push(owner.image().to_owned());
        let left_out =
            left_out_threads(&base.run, connected, number, (process, before[process]), launched_ns);
        plan.about.left_out_threads.extend(left_out);
        for &thread in owner.threads.iter().filter(|&&thread| connected.in_plan[thread]) {
            let (steps, balance) = std::mem::take(&mut programs[thread]);
            let (tid, ends_with_process) =
                (base.run.threads[thread].tid(), base.run.threads[thread].ended_with_process());
            let thread = Thread { process: number, rank, pid: owner.pid, tid, ends_with_process };
            plan.programs.push(Program { thread, balance, steps });
        }
    }
    (plan, processes.len())
}

/// Threads of a process, which is `number` in the plan, that are not part of the plan: also that of a launcher which has
/// become this program, whose image is `before`. `launched_ns` is the CPU time of the images before it.
fn left_out_threads(
    run: &Run,
    connected: &Connected,
    number: u32,
    (process, before): (usize, Option<usize>),
    launched_ns: u64,
) -> Option<LeftOutThreads> {
    let launcher = before.is_some_and(|before| run.processes[before].process_only) && launched_ns > 0;
    let first = if launcher { (1, launched_ns) } else { (0, 0) };
    let threads = run.processes[process].threads.iter().filter(|&&thread| !connected.in_plan[thread]);
    let cpu_ns = |&thread: &usize| {
        // A first thread may have been another image's: such a thread is never left out.
        let thread = &run.threads[thread];
        let startup = Startup { cpu_ns: thread.trace.header().start_cpu_ns, recording_ns: 0 };
        thread.balance(startup).cpu_ns()
    };
    let (count, cpu_ns) =
        threads.map(cpu_ns).fold(first, |(count, sum), ns| (count + 1, sum.saturating_add(ns)));
    (count > 0).then_some(LeftOutThreads { process: number, threads: count, cpu_ns })
}

/// The processes of the plan, by the rank they belong to, then by start.
fn processes_by_rank(base: &Recorded, connected: &Connected) -> Vec<(Option<u32>, usize)> {
    let rank = |process: usize| {
        // A process starts after its creator, but a damaged trace may say anything: no more steps than processes.
        let line = std::iter::successors(Some(process), |&process| {
            connected.creators[process].map(|(creator, _)| creator as usize)
        });
        line.take(base.run.processes.len()).find_map(|process| Some(base.worlds.of_process[process]?.1))
    };
    let mut processes: Vec<(Option<u32>, usize)> = (0..base.run.processes.len())
        .filter(|&process| !base.run.processes[process].process_only)
        .map(|process| (rank(process), process))
        .collect();
    processes.sort_by_key(|&(rank, process)| (rank.is_none(), rank, process));
    processes
}
