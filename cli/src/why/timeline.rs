//! The steps of all programs with their times, and who signals whom.

use crate::info::kind_of;
use std::collections::{BTreeMap, BTreeSet};
use syn_plan::{Edge, EdgeId, Op, Plan, Program, Rule, Step};

/// A step among those of all programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Act {
    /// Which program.
    pub program: usize,
    /// Which of its steps, repeats unrolled.
    pub step: usize,
}

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Work, nanoseconds, then waiting that no rule explains.
    Compute(u64, u64),
    /// A sleep.
    Sleep,
    /// A signal to this edge.
    Signal(EdgeId),
    /// A wait for so many signals.
    Wait(EdgeId, u32),
    /// A call.
    Call(&'static str),
    /// A call of MPI: on the processor, nanoseconds, then waiting that no rule explains.
    Mpi(&'static str, u64, u64),
}

/// A step in time. 40 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// When it began, nanoseconds since the start of the run.
    pub start_ns: u64,
    /// When it was over.
    pub end_ns: u64,
    /// What it is.
    pub what: What,
}

/// What ended a wait.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// The wait that was over last, of those at one point.
    pub wait: Act,
    /// When the thread began to wait; where it may have spun, the beginning of the computation in front of the wait.
    pub since_ns: u64,
    /// When it went on.
    pub until_ns: u64,
    /// The signal that it waited for.
    pub signal: Act,
    /// When that was given, at the latest when the thread went on: what shows it may be on record later, as the first record of
    /// another program is for who waited for its execve.
    pub signalled_ns: u64,
    /// The thread did not sleep: it computed, or asked again and again in memory, which looks the same.
    pub spins: bool,
}

/// A plan in time.
pub struct Timeline<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// By program: its steps.
    pub programs: Vec<Vec<Timed>>,
    /// By edge: its signals, by time.
    signals: Vec<Vec<(u64, Act)>>,
    names: Vec<String>,
    /// By program: the first of those that are told together; see [`Timeline::group`].
    groups: Vec<usize>,
    /// What a group of several processes is called, by its first program.
    group_names: BTreeMap<usize, String>,
}

impl<'a> Timeline<'a> {
    /// Unrolls a plan.
    pub fn of(plan: &'a Plan) -> Timeline<'a> {
        let programs: Vec<Vec<Timed>> = plan
            .programs
            .iter()
            .map(|program| program.steps.unrolled().map(|step| timed(&step)).collect())
            .collect();
        let mut signals = vec![Vec::new(); plan.edges.len()];
        for (program, steps) in programs.iter().enumerate() {
            for (step, timed) in steps.iter().enumerate() {
                if let What::Signal(edge) = timed.what {
                    signals[edge as usize].push((timed.end_ns, Act { program, step }));
                }
            }
        }
        signals.iter_mut().for_each(|signals| signals.sort_unstable());
        let (groups, group_names) = groups(plan);
        Timeline { plan, programs, signals, names: names(plan), groups, group_names }
    }

    /// A step.
    pub fn get(&self, act: Act) -> Timed {
        self.programs[act.program][act.step]
    }

    /// An edge of the plan.
    pub fn edge(&self, edge: EdgeId) -> &Edge {
        &self.plan.edges[edge as usize]
    }

    /// The names of the calls that signal and await an edge.
    pub fn calls(&self, edge: EdgeId) -> [Option<&'a str>; 2] {
        let evidence = self.plan.edges[edge as usize].evidence;
        [evidence.signalled_in, evidence.awaited_in]
            .map(|call| self.plan.calls.get(usize::from(call?)).map(String::as_str))
    }

    /// Who a program is, for people.
    pub fn name(&self, program: usize) -> &str {
        &self.names[program]
    }

    /// Which group a program belongs to, by the first of it: in a sum, processes without a rank that ran a program of the same name are
    /// told together, since of hundreds of compilers none has a share by itself.
    pub fn group(&self, program: usize) -> usize {
        self.groups[program]
    }

    /// Who a group is, for people.
    pub fn group_name(&self, group: usize) -> &str {
        self.group_names.get(&group).map_or_else(|| self.name(group), String::as_str)
    }

    /// The first program of a rank.
    pub fn first_of_rank(&self, rank: u32) -> Option<usize> {
        self.plan.programs.iter().position(|program| program.thread.rank == Some(rank))
    }

    /// When a program began and ended.
    pub fn extent(&self, program: usize) -> (u64, u64) {
        let steps = &self.programs[program];
        (steps.first().map_or(0, |step| step.start_ns), steps.last().map_or(0, |step| step.end_ns))
    }

    /// The step that ended last.
    pub fn end(&self) -> Option<Act> {
        let last = |(program, steps): (usize, &Vec<Timed>)| {
            Some((steps.last()?.end_ns, Act { program, step: steps.len() - 1 }))
        };
        // Of several at once, that of the first program.
        let by_time = |one: &(u64, Act), other: &(u64, Act)| (one.0, other.1).cmp(&(other.0, one.1));
        self.programs.iter().enumerate().filter_map(last).max_by(by_time).map(|(_, act)| act)
    }

    /// Whether another program of the run made it: its first steps wait for that.
    pub fn was_made(&self, program: usize) -> bool {
        let starts = |step: &Timed| match step.what {
            What::Wait(edge, _) => Some(self.edge(edge).rule.starts_a_thread()),
            _ => None,
        };
        self.programs[program].iter().map_while(starts).any(|starts| starts)
    }

    /// What a program did then: the longest of the steps that were under way, or the first one behind.
    pub fn at(&self, program: usize, at_ns: u64) -> Option<Act> {
        let steps = &self.programs[program];
        let (from, to) = self.extent(program);
        if steps.is_empty() || !(from..=to).contains(&at_ns) {
            return None;
        }
        let step = steps.partition_point(|step| step.end_ns < at_ns).min(steps.len() - 1);
        let here = steps[step..].iter().take_while(|step| step.start_ns <= at_ns).enumerate();
        let longest = here.max_by_key(|(nth, step)| (step.end_ns - step.start_ns, std::cmp::Reverse(*nth)));
        let step = step + longest.map_or(0, |(nth, _)| nth);
        // Of computation in which the thread may have waited, that wait.
        let next = Act { program, step: (step + 1).min(steps.len() - 1) };
        let spins =
            self.cause(next).is_some_and(|cause| cause.spins && cause.since_ns == steps[step].start_ns);
        Some(if spins { next } else { Act { program, step } })
    }

    /// What ended the waiting at a step that is a wait; waits next to each other are one. `None` where the thread came late and
    /// did not have to wait.
    pub fn cause(&self, act: Act) -> Option<Cause> {
        let steps = &self.programs[act.program];
        let is_wait = |step: &Timed| matches!(step.what, What::Wait(..));
        if !is_wait(&steps[act.step]) {
            return None;
        }
        let first = steps[..act.step].iter().rposition(|step| !is_wait(step)).map_or(0, |before| before + 1);
        let count = steps[first..].iter().take_while(|step| is_wait(step)).count();
        let signal = |step: usize| {
            let What::Wait(edge, count) = steps[step].what else { return None };
            let &(ns, signal) = self.signals[edge as usize].get((count as usize).checked_sub(1)?)?;
            Some((ns, signal, step))
        };
        let (signalled_ns, signal, step) = (first..first + count).filter_map(signal).max()?;
        let (since_ns, until_ns) = (steps[first].start_ns, steps[first + count - 1].end_ns);
        let What::Wait(edge, _) = steps[step].what else { return None };
        let signalled_ns = signalled_ns.min(until_ns);
        let rule = self.edge(edge).rule;
        // Before it was made, a thread was not there.
        let begins = first == 0 && rule.starts_a_thread();
        // What throttling alone has shown may have been waited for in the thread's own code.
        let before = first.checked_sub(1).map(|before| steps[before]);
        let spun_ns = before
            .filter(|before| rule == Rule::Throttled && matches!(before.what, What::Compute(..)))
            .map(|before| before.start_ns)
            .filter(|&start_ns| signalled_ns <= since_ns && signalled_ns > start_ns);
        (begins || spun_ns.is_some() || signalled_ns > since_ns).then_some(Cause {
            wait: Act { step, ..act },
            since_ns: if begins { signalled_ns } else { spun_ns.unwrap_or(since_ns) },
            until_ns,
            signal,
            signalled_ns,
            spins: spun_ns.is_some(),
        })
    }

    /// The waits that took longest, of one program or of all.
    pub fn waits(&self, of: Option<usize>) -> Vec<Act> {
        let mut found: Vec<(u64, Act)> = Vec::new();
        for (program, steps) in self.programs.iter().enumerate() {
            if of.is_some_and(|of| of != program) {
                continue;
            }
            for step in 0..steps.len() {
                let act = Act { program, step };
                if let Some(cause) = self.cause(act).filter(|cause| cause.wait == act) {
                    found.push((cause.until_ns.saturating_sub(cause.since_ns), act));
                }
            }
        }
        found.retain(|&(ns, _)| ns > 0);
        found.sort_by_key(|&(ns, act)| (std::cmp::Reverse(ns), act));
        found.into_iter().map(|(_, act)| act).collect()
    }
}

fn timed(step: &Step) -> Timed {
    let what = match step.op {
        Op::Compute { cpu_ns, idle_ns } => What::Compute(cpu_ns, idle_ns),
        Op::Sleep { .. } | Op::TimedWait { .. } => What::Sleep,
        Op::Signal { edge } => What::Signal(edge),
        Op::Wait { edge, count, .. } => What::Wait(edge, count),
        Op::Mpi { cpu_ns, idle_ns, .. } => What::Mpi(kind_of(&step.op), cpu_ns, idle_ns),
        ref other => What::Call(kind_of(other)),
    };
    Timed { start_ns: step.start_ns, end_ns: step.start_ns.saturating_add(step.took_ns), what }
}

fn groups(plan: &Plan) -> (Vec<usize>, BTreeMap<usize, String>) {
    let mut alike: BTreeMap<String, Vec<(usize, u32)>> = BTreeMap::new();
    for (program, Program { thread, .. }) in plan.programs.iter().enumerate() {
        if let Some(image) = plan.image(thread).filter(|_| thread.rank.is_none()) {
            alike.entry(image).or_default().push((program, thread.process));
        }
    }
    let (mut groups, mut names) = ((0..plan.programs.len()).collect::<Vec<_>>(), BTreeMap::new());
    for (image, programs) in alike {
        let processes = programs.iter().map(|&(_, process)| process).collect::<BTreeSet<_>>().len();
        if processes > 1 {
            let first = programs[0].0;
            programs.iter().for_each(|&(program, _)| groups[program] = first);
            names.insert(first, format!("{image} ({processes} processes)"));
        }
    }
    (groups, names)
}

fn names(plan: &Plan) -> Vec<String> {
    let mut before = None;
    let mut nth = 0;
    let mut of_rank = None;
    let name = |thread: &syn_plan::Thread| {
        nth = if before == Some(thread.process) { nth + 1 } else { 0 };
        // Processes that a rank started are no ranks.
        let is_rank = thread.rank.is_some() && (nth > 0 || of_rank != thread.rank);
        if before != Some(thread.process) {
            of_rank = thread.rank;
        }
        before = Some(thread.process);
        let owner = match thread.rank {
            Some(rank) if is_rank => format!("rank {rank}"),
            _ => plan.process_name(thread),
        };
        if nth == 0 { owner } else { format!("{owner} thread {nth}") }
    };
    plan.programs.iter().map(|program| &program.thread).map(name).collect()
}
