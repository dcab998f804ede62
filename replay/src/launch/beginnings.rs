//! How programs begin that are not there from the start, in a closed replay: by the thread that began them in the recording.
//!
//! What `execve` starts goes on in the thread that called it. What another thread created, in its own process or as a new one, is
//! created here by that one's thread. So there are at any time as many threads as in the recording, and the kernel places a new one
//! where there is room, as it does in the application; one that is woken to stand for it is mostly queued where it slept.

use super::{begins_by, by_process};
use crate::mode::Mode;
use std::collections::{BTreeMap, BTreeSet};
use syn_plan::{EdgeId, Op, Plan, Program, Rule};

/// Which programs of a plan others begin.
#[derive(Debug, Default)]
pub struct Beginnings {
    /// By the edge of an `execve`: the program that goes on in the thread that signals it.
    images: BTreeMap<EdgeId, usize>,
    /// By the edge of a creation: the programs that get a thread of their own then.
    created: BTreeMap<EdgeId, Vec<usize>>,
    /// The creations whose creator then waits until the new process has let it go on.
    standing_still: BTreeSet<EdgeId>,
    /// Processes of the plan of which one is begun by the other.
    together: Vec<[u32; 2]>,
}

impl Beginnings {
    /// Those of a plan: a program that begins by waiting for one signal, which tells of its creation. In other modes than the
    /// closed one nobody signals, and all are there from the start.
    pub fn of(plan: &Plan, mode: Mode) -> Beginnings {
        let mut found = Beginnings::default();
        if mode != Mode::Closed {
            return found;
        }
        let mut begun: BTreeMap<EdgeId, Vec<usize>> = BTreeMap::new();
        for (index, program) in plan.programs.iter().enumerate() {
            let edge = [Rule::ThreadCreate, Rule::ProcessCreate]
                .into_iter()
                .find_map(|rule| begins_by(plan, program, rule));
            edge.into_iter().for_each(|edge| begun.entry(edge).or_default().push(index));
        }
        if begun.is_empty() {
            return found; // Reading all steps takes long.
        }
        for old in &plan.programs {
            let (mut becomes, mut created) = (None, None);
            for step in old.steps.iter() {
                match step.op {
                    Op::Signal { edge } => {
                        let Some(programs) = begun.get(&edge) else { continue };
                        let new = programs.iter().find(|&&new| is_image(old, &plan.programs[new]));
                        becomes = new.map(|&new| (edge, new)).or(becomes);
                        found.created.insert(edge, programs.clone());
                        created = Some(edge);
                        let process = |&index: &usize| plan.programs[index].thread.process;
                        let others: BTreeSet<u32> = programs.iter().map(process).collect();
                        found.together.extend(others.iter().map(|&other| [old.thread.process, other]));
                    }
                    // It goes on, and may wait for the other one.
                    Op::Wait { edge, .. } => {
                        becomes = None;
                        let stands_still = plan.edges[edge as usize].rule == Rule::ProcessExec;
                        found.standing_still.extend(created.take().filter(|_| stands_still));
                    }
                    Op::Mpi { .. } => becomes = None,
                    _ => {}
                }
            }
            if let Some((edge, new)) = becomes {
                found.images.insert(edge, new);
                if let Some(programs) = found.created.get_mut(&edge) {
                    programs.retain(|&other| other != new);
                }
            }
        }
        found
    }

    /// The program that goes on in the thread that signals this edge.
    pub fn image(&self, edge: EdgeId) -> Option<usize> {
        self.images.get(&edge).copied()
    }

    /// The programs that get a thread of their own when this edge is signalled.
    pub fn created(&self, edge: EdgeId) -> &[usize] {
        self.created.get(&edge).map_or(&[], |programs| programs)
    }

    /// Whether who signals this edge next waits for what it has created.
    pub fn stands_still(&self, edge: EdgeId) -> bool {
        self.standing_still.contains(&edge)
    }

    /// All programs that are begun by others. Only edges of one signal count, so each of them is begun once; and since the plan's
    /// check has found that all go on, some of those that begin each other are there from the start.
    pub fn later(&self) -> BTreeSet<usize> {
        self.created.values().flatten().chain(self.images.values()).copied().collect()
    }

    /// The processes of the plan, each as its programs. Those of which one begins the other are together.
    pub fn processes(&self, plan: &Plan) -> Vec<Vec<Vec<usize>>> {
        let processes = by_process(plan);
        let mut leads_to: BTreeMap<u32, u32> = processes.keys().map(|&process| (process, process)).collect();
        for &[one, other] in &self.together {
            let (one, other) = (first(&mut leads_to, one), first(&mut leads_to, other));
            leads_to.insert(one.max(other), one.min(other));
        }
        let mut found: BTreeMap<u32, Vec<Vec<usize>>> = BTreeMap::new();
        for (process, programs) in processes {
            found.entry(first(&mut leads_to, process)).or_default().push(programs);
        }
        found.into_values().collect()
    }
}

/// Whether one program can be another image of the process that the other one is of.
fn is_image(old: &Program, new: &Program) -> bool {
    let (old, new) = (&old.thread, &new.thread);
    // An image comes after the one that it replaces.
    new.pid == old.pid && new.process > old.process
}

/// The process that stands for all that are together with this one. The way to it is shortened.
fn first(leads_to: &mut BTreeMap<u32, u32>, process: u32) -> u32 {
    let (mut last, mut passed) = (process, Vec::new());
    while leads_to[&last] != last {
        passed.push(last);
        last = leads_to[&last];
    }
    for process in passed {
        leads_to.insert(process, last);
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn_plan::{Balance, Edge, Step, Steps, Thread};

    fn program(process: u32, pid: u32, ops: &[Op]) -> Program {
        let thread = Thread { process, rank: None, pid, tid: pid, ends_with_process: false };
        let steps: Steps = ops.iter().map(|&op| Step { start_ns: 0, took_ns: 0, op }).collect();
        Program { thread, balance: Balance::default(), steps }
    }

    fn signal(edge: EdgeId) -> Op {
        Op::Signal { edge }
    }

    fn wait(edge: EdgeId) -> Op {
        Op::Wait { edge, count: 1, stride: 0 }
    }

    fn plan(programs: Vec<Program>, rules: &[Rule]) -> Plan {
        let edges = rules.iter().map(|&rule| Edge::new(rule, 1)).collect();
        Plan { programs, edges, ..Plan::default() }
    }

    #[test]
    fn an_image_goes_on_in_the_thread_and_all_others_get_one() {
        // A shell forks a child, which becomes a program that becomes another one; and it has a thread. One process is alone.
        let programs = vec![
            program(0, 7, &[signal(0), signal(3)]),
            program(1, 8, &[wait(0), signal(1)]),
            program(2, 8, &[wait(1), signal(2)]),
            program(3, 8, &[wait(2)]),
            program(0, 7, &[wait(3)]),
            program(4, 9, &[]),
        ];
        let plan = plan(
            programs,
            &[Rule::ProcessCreate, Rule::ProcessCreate, Rule::ProcessCreate, Rule::ThreadCreate],
        );
        let begin = Beginnings::of(&plan, Mode::Closed);
        assert_eq!([0, 1, 2, 3].map(|edge| begin.image(edge)), [None, Some(2), Some(3), None]);
        assert_eq!([0, 1, 2, 3].map(|edge| begin.created(edge)), [&[1][..], &[], &[], &[4]]);
        assert_eq!(begin.later().into_iter().collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(begin.processes(&plan), [vec![vec![0, 4], vec![1], vec![2], vec![3]], vec![vec![5]]]);
        let begin = Beginnings::of(&plan, Mode::Afap);
        assert!(begin.later().is_empty() && begin.processes(&plan).len() == 5);
    }

    #[test]
    fn who_lends_its_memory_stands_still() {
        let programs = vec![
            program(0, 7, &[signal(0), wait(1), signal(2), wait(3), signal(4), wait(5), wait(6)]),
            program(1, 8, &[wait(0), signal(1)]),
            program(2, 9, &[wait(2), signal(3)]),
            program(3, 10, &[wait(4), signal(6), signal(5)]),
        ];
        let (create, exec, join) = (Rule::ProcessCreate, Rule::ProcessExec, Rule::ProcessJoin);
        let plan = plan(programs, &[create, exec, create, join, create, join, exec]);
        let begin = Beginnings::of(&plan, Mode::Closed);
        assert_eq!([0, 2, 4].map(|edge| begin.stands_still(edge)), [true, false, false]);
    }

    /// Plans may come from anywhere: what goes on in one thread must not wait for itself.
    #[test]
    fn who_goes_on_or_came_first_becomes_nobody() {
        let rules = [Rule::ProcessCreate, Rule::ProcessCreate, Rule::ProcessJoin];
        let later = vec![program(0, 8, &[signal(0), wait(2)]), program(1, 8, &[wait(0), signal(2)])];
        let begin = Beginnings::of(&plan(later, &rules), Mode::Closed);
        assert_eq!((begin.image(0), begin.created(0)), (None, &[1][..]));
        let around = vec![
            program(0, 8, &[signal(1)]),
            program(0, 8, &[wait(0)]),
            program(1, 8, &[wait(1), signal(0)]),
        ];
        let begin = Beginnings::of(&plan(around, &rules), Mode::Closed);
        assert_eq!([0, 1].map(|edge| begin.image(edge)), [None, Some(2)]);
        assert_eq!(begin.created(0), [1]);
    }
}
