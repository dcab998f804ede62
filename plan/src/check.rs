//! Whether a plan can be replayed. A plan is untrusted input: nothing is done with one that fails here.

use crate::communication::refer_to_what_is;
use crate::fault::{Fault, MAX_HANDLES, MAX_NAME, MAX_PATH, MAX_PROCESSES, MAX_QUEUES};
use crate::fields::Referent;
use crate::group::Groups;
use crate::mpi::Mpi;
use crate::ops::ENGINES;
use crate::orders::Order;
use crate::progress::{self, Look};
use crate::{Counted, Demand, Initial, Io, KERNELS, MAX_DEPTH, Op, Plan, Program};

/// What the names of extended attributes begin with that anybody may change.
const USER_ATTRIBUTE: &str = "user.";
/// Types of nodes in `st_mode`: all, and those a replay makes.
const NODE_TYPE: u32 = 0o170_000;
const NODES: [u32; 4] = [0, 0o100_000, 0o010_000, 0o140_000];

/// `RENAME_NOREPLACE`, `RENAME_EXCHANGE`. `RENAME_WHITEOUT` would make a device.
const RENAME_FLAGS: u32 = 1 | 2;

/// See [`Plan::check`].
pub(crate) fn check(plan: &Plan) -> Result<(), Fault> {
    paths(plan)?;
    plan.initial_folders()?;
    initial_attributes(plan)?;
    if is_in_order(plan) {
        return Ok(());
    }
    programs(plan)?;
    order(plan)?;
    evidence(plan)?;
    signals(plan)?;
    progress::check(plan, &mut ()).map(|_| ())
}

/// Whether the programs and what they refer to are without fault, on two processors; what is wrong is for the checks one by one
/// to say, and which fault is the first.
fn is_in_order(plan: &Plan) -> bool {
    let Ok(groups) = Groups::of(plan) else { return false };
    let processes = plan.programs.iter().all(|program| program.thread.process < MAX_PROCESSES);
    if !processes || order(plan).is_err() || evidence(plan).is_err() {
        return false;
    }
    let refer = |program: usize| {
        let mut calls = Calls::of(plan, &groups, program);
        let mut steps = plan.programs[program].steps.iter();
        steps.all(|found| calls.see(&found.op).is_ok()) && calls.end().is_ok()
    };
    let (counters, refer) = std::thread::scope(|scope| {
        let all = || (0..plan.programs.len()).all(refer);
        // Where no thread is to be had, on this one.
        let other = std::thread::Builder::new().spawn_scoped(scope, all);
        let counters = progress::check(plan, &mut Synchronization::of(plan));
        (
            counters,
            other.map_or_else(
                |_| all(),
                |other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            ),
        )
    });
    if !refer {
        return false;
    }
    let signals = plan.edges.iter().map(|edge| u64::from(edge.signals));
    counters.is_ok_and(|counters| counters.into_iter().eq(signals))
}

/// What of this can be said of a part of a plan: it touches nothing that it must not.
pub(crate) fn check_excerpt(plan: &Plan) -> Result<(), Fault> {
    paths(plan)?;
    programs(plan)
}

fn programs(plan: &Plan) -> Result<(), Fault> {
    let groups = Groups::of(plan)?;
    let mut synchronization = Synchronization::of(plan);
    for (program, steps) in plan.programs.iter().enumerate() {
        if steps.thread.process >= MAX_PROCESSES {
            return Err(Fault::Process { program, process: steps.thread.process });
        }
        let mut calls = Calls::of(plan, &groups, program);
        steps.steps.iter().try_for_each(|found| {
            synchronization.see(program, Order::from(&found.op))?;
            calls.see(&found.op)
        })?;
        calls.end()?;
    }
    Ok(())
}

fn paths(plan: &Plan) -> Result<(), Fault> {
    for (file, entry) in plan.files.iter().enumerate() {
        let path = &entry.path;
        let climbs = path.split('/').any(|part| part == "..");
        if !path.starts_with('/') || climbs || path.contains('\0') {
            return Err(Fault::BadPath { file, path: path.clone() });
        }
        if path.len() > MAX_PATH || path.split('/').any(|name| name.len() > MAX_NAME) {
            return Err(Fault::LongName { file, path: path.clone() });
        }
    }
    Ok(())
}

fn initial_attributes(plan: &Plan) -> Result<(), Fault> {
    let nowhere = |what, number: u32, limit: usize| {
        Err(Fault::NoSuch { program: 0, step: 0, what, number: number.into(), limit: limit as u64 })
    };
    for attribute in &plan.attributes {
        if attribute.file as usize >= plan.files.len() {
            return nowhere("file", attribute.file, plan.files.len());
        }
        let file = &plan.files[attribute.file as usize];
        if file.initial == Initial::Absent {
            let path = file.path.clone();
            return Err(Fault::AttributeOfNothing { file: attribute.file as usize, path });
        }
        let Some(name) = plan.names.get(attribute.name as usize) else {
            return nowhere("attribute name", attribute.name, plan.names.len());
        };
        changeable(name)?;
    }
    match plan.names.iter().find(|name| name.contains('\0') || name.len() > MAX_NAME) {
        Some(name) => Err(Fault::BadAttribute { name: name.clone() }),
        None => Ok(()),
    }
}

fn changeable(name: &str) -> Result<(), Fault> {
    match name.starts_with(USER_ATTRIBUTE) {
        true => Ok(()),
        false => Err(Fault::BadAttribute { name: name.to_owned() }),
    }
}

/// Looks at every step of every program once, in the order of the program: whether edges are there, and repeats end.
struct Synchronization<'a> {
    plan: &'a Plan,
    programs: Vec<Seen>,
}

/// How far a program has been looked at.
#[derive(Clone, Default)]
struct Seen {
    steps: u64,
    /// How many steps are left of the repeats around the next one, innermost last.
    around: Vec<u32>,
}

impl<'a> Synchronization<'a> {
    fn of(plan: &'a Plan) -> Synchronization<'a> {
        Synchronization { plan, programs: vec![Seen::default(); plan.programs.len()] }
    }
}

impl Look for Synchronization<'_> {
    #[inline]
    fn see(&mut self, program: usize, order: Order) -> Result<(), Fault> {
        let plan = self.plan;
        let seen = &mut self.programs[program];
        let step = seen.steps;
        seen.steps += 1;
        if !seen.around.is_empty() {
            while seen.around.pop_if(|left| *left == 0).is_some() {}
            seen.around.iter_mut().for_each(|left| *left -= 1);
        }
        match order {
            Order::Signal { edge } | Order::Wait { edge, .. } => {
                below((program, step), "edge", edge, plan.edges.len())?;
            }
            Order::Repeat { steps: length, .. } => {
                let bad_repeat = |why| Err(Fault::BadRepeat { program, step, steps: length, why });
                if u64::from(length) >= plan.programs[program].steps.len() - step {
                    return bad_repeat("reaches behind the end of the program");
                }
                if seen.around.last().is_some_and(|&left| length > left) {
                    return bad_repeat("reaches behind the end of the one around it");
                }
                if seen.around.len() == MAX_DEPTH {
                    return bad_repeat("is in too many others");
                }
                seen.around.push(length);
            }
            Order::Other => {}
        }
        Ok(())
    }
}

/// A number at this step of this program refers to something: to less than `limit`.
fn below((program, step): (usize, u64), what: &'static str, number: u32, limit: usize) -> Result<(), Fault> {
    if (number as usize) < limit {
        return Ok(());
    }
    Err(Fault::NoSuch { program, step, what, number: number.into(), limit: limit as u64 })
}

/// Looks at every step of a program once, in order: whether what it does can be done.
struct Calls<'a> {
    plan: &'a Plan,
    groups: &'a Groups<'a>,
    program: usize,
    steps: u64,
    /// Where MPI begins or ends, until it has: a replay leaves out what is computed up to there.
    entered: Option<(u64, Mpi)>,
}

impl<'a> Calls<'a> {
    fn of(plan: &'a Plan, groups: &'a Groups<'a>, program: usize) -> Calls<'a> {
        Calls { plan, groups, program, steps: 0, entered: None }
    }

    #[inline]
    fn see(&mut self, op: &Op) -> Result<(), Fault> {
        match op {
            Op::Mpi { call: call @ (Mpi::InitEnter | Mpi::FinalizeEnter), .. } => {
                self.never_left()?;
                self.entered = Some((self.steps, *call));
            }
            Op::Mpi { call: call @ (Mpi::Init | Mpi::Finalize), .. } => {
                let enter = if *call == Mpi::Init { Mpi::InitEnter } else { Mpi::FinalizeEnter };
                self.entered.take_if(|(_, entered)| *entered == enter);
                self.never_left()?;
            }
            _ => {}
        }
        refers(self.plan, self.groups, (self.program, self.steps), op)?;
        self.steps += 1;
        Ok(())
    }

    /// Behind the last step.
    fn end(&self) -> Result<(), Fault> {
        self.never_left()
    }

    fn never_left(&self) -> Result<(), Fault> {
        let Some((step, enter)) = self.entered else { return Ok(()) };
        let why = match enter {
            Mpi::InitEnter => "is followed by no call that has begun MPI",
            _ => "is followed by no call that has ended MPI",
        };
        Err(Fault::BadMpi { program: self.program, step, call: enter.name(), why })
    }
}

/// Whether what a step does, at this place, refers to what is there.
fn refers(plan: &Plan, groups: &Groups<'_>, at: (usize, u64), op: &Op) -> Result<(), Fault> {
    let (program, step) = at;
    match *op {
        Op::Io { ref call, .. } => {
            let mut found = Ok(());
            call.refer(|referent, number| {
                let (what, limit) = match referent {
                    Referent::File => ("file", plan.files.len()),
                    Referent::Handle => ("handle", MAX_HANDLES as usize),
                    Referent::Queue => ("queue", MAX_QUEUES as usize),
                    _ => return,
                };
                if found.is_ok() {
                    found = below(at, what, number, limit);
                }
            });
            found?;
            if let Some((name, changes)) = call.attribute() {
                below(at, "attribute name", name, plan.names.len())?;
                if changes {
                    changeable(&plan.names[name as usize])?;
                }
            }
            if let Io::Mknod { mode, .. } = *call
                && !NODES.contains(&(mode & NODE_TYPE))
            {
                return Err(Fault::BadNode { program, step, mode });
            }
            if let Io::RenameWith { flags, .. } = *call
                && flags & !RENAME_FLAGS != 0
            {
                return Err(Fault::BadRename { program, step, flags });
            }
            if let Io::QueueSetup { engine, .. } = *call {
                below(at, "engine", engine, ENGINES.len())?;
            }
        }
        Op::Demand(Demand::Busy { kernel, .. }) => below(at, "kernel", kernel, KERNELS.len())?,
        Op::Mpi { ref call, .. } => {
            let bad = |why| Fault::BadMpi { program, step, call: call.name(), why };
            let rank = plan.programs[program].thread.rank;
            refer_to_what_is(groups, rank, call).map_err(bad)?;
        }
        Op::TimedWait { edge, .. } => below(at, "edge", edge, plan.edges.len())?,
        Op::Signal { .. } | Op::Wait { .. } | Op::Repeat { .. } => {}
        Op::Compute { .. } | Op::Sleep { .. } | Op::Demand(_) => {}
    }
    Ok(())
}

/// Every edge gets the signals that it is said to get, and no wait asks for more.
fn signals(plan: &Plan) -> Result<(), Fault> {
    let mut found = vec![0u64; plan.edges.len()];
    for Counted { step, times, .. } in plan.programs.iter().flat_map(|program| program.steps.counted()) {
        if let Op::Signal { edge } = step.op {
            let found = &mut found[edge as usize];
            *found = found.saturating_add(times);
        }
    }
    for (edge, (&found, expected)) in found.iter().zip(&plan.edges).enumerate() {
        if found != u64::from(expected.signals) {
            return Err(Fault::Signals { edge, found, expected: expected.signals });
        }
    }
    Ok(())
}

/// The calls that edges go between have names.
fn evidence(plan: &Plan) -> Result<(), Fault> {
    for (edge, found) in plan.edges.iter().enumerate() {
        let calls = [found.evidence.signalled_in, found.evidence.awaited_in];
        if let Some(call) = calls.into_iter().flatten().find(|&call| usize::from(call) >= plan.calls.len()) {
            return Err(Fault::NoCall { edge, call, limit: plan.calls.len() });
        }
    }
    Ok(())
}

/// Programs of one rank stand together, so that a rank finds its own.
fn order(plan: &Plan) -> Result<(), Fault> {
    let key = |program: &Program| (program.thread.rank.is_none(), program.thread.rank);
    let unordered = plan.programs.windows(2).position(|pair| key(&pair[0]) > key(&pair[1]));
    unordered.map_or(Ok(()), |before| Err(Fault::Order { program: before + 1 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edge, Program, Rule, Step, Thread};

    /// Two programs that wait for each other in turn, the second one in a repeat.
    fn plan() -> Plan {
        let step = |op| Step { start_ns: 0, took_ns: 1, op };
        let wait = |edge, count, stride| step(Op::Wait { edge, count, stride });
        let signal = |edge| step(Op::Signal { edge });
        let compute = step(Op::Compute { cpu_ns: 5, idle_ns: 0 });
        let programs = [
            vec![compute, signal(0), wait(1, 1, 0), signal(0), wait(1, 2, 0), compute],
            vec![step(Op::Repeat { count: 2, steps: 2 }), wait(0, 1, 1), signal(1), compute],
        ];
        let program = |(number, steps): (u32, Vec<Step>)| {
            let thread = Thread { process: number, rank: None, pid: 1, tid: 1, ends_with_process: false };
            Program { thread, balance: crate::Balance::default(), steps: steps.into_iter().collect() }
        };
        let edges = vec![Edge::new(Rule::Message, 2), Edge::new(Rule::Message, 2)];
        Plan { programs: (0..).zip(programs).map(program).collect(), edges, ..Plan::default() }
    }

    #[test]
    fn a_plan_without_fault_is_gone_through_once() {
        assert_eq!(check(&plan()), Ok(()));
        assert!(is_in_order(&plan()));
    }

    #[test]
    fn whatever_is_wrong_is_seen_at_once() {
        let mut few = plan();
        few.edges[1].signals = 1;
        let mut deadlock = plan();
        deadlock.programs[0].steps = plan().programs[0].steps.iter().skip(2).collect();
        let mut nowhere = plan();
        nowhere.edges.pop();
        for plan in [few, deadlock, nowhere] {
            assert!(!is_in_order(&plan) && check(&plan).is_err());
        }
    }
}
