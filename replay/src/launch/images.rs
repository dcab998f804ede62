//! Program images that follow each other in one process: what `execve` starts goes on in the thread that called it.

use super::{begins_by, by_process};
use std::collections::{BTreeMap, BTreeSet};
use syn_plan::{EdgeId, Op, Plan, Rule, Thread};

/// Which program of a plan goes on where another one became another image.
#[derive(Debug, Default)]
pub struct Images {
    /// By the edge of the `execve`: the program that begins there.
    next: BTreeMap<EdgeId, usize>,
    /// By process of the plan: the one whose image it replaced.
    replaced: BTreeMap<u32, u32>,
}

impl Images {
    /// Those of a plan: a program that begins by waiting for the creation of its process, of which a program with the same
    /// process id tells.
    pub fn of(plan: &Plan) -> Images {
        let mut images = Images::default();
        let begins = |(index, program)| Some((begins_by(plan, program, Rule::ProcessCreate)?, index));
        let created: BTreeMap<EdgeId, usize> = plan.programs.iter().enumerate().filter_map(begins).collect();
        let mut process_of_pid = BTreeMap::new();
        let threads = plan.programs.iter().map(|program| &program.thread);
        let is_another =
            |thread: &&Thread| *process_of_pid.entry(thread.pid).or_insert(thread.process) != thread.process;
        // Reading all steps takes long, and most processes have one image.
        let pids: BTreeSet<u32> = threads.filter(is_another).map(|thread| thread.pid).collect();
        for program in plan.programs.iter().filter(|program| pids.contains(&program.thread.pid)) {
            let old = &program.thread;
            let mut becomes = None;
            for step in program.steps.iter() {
                match step.op {
                    // An image comes after the one that it replaces.
                    Op::Signal { edge } => {
                        let new = created.get(&edge).filter(|&&index| {
                            let new = &plan.programs[index].thread;
                            new.pid == old.pid && new.process > old.process
                        });
                        becomes = new.map(|&index| (edge, index)).or(becomes);
                    }
                    // It goes on, and may wait for the other one.
                    Op::Wait { .. } | Op::Mpi { .. } => becomes = None,
                    _ => {}
                }
            }
            if let Some((edge, index)) = becomes {
                images.next.insert(edge, index);
                images.replaced.insert(plan.programs[index].thread.process, old.process);
            }
        }
        images
    }

    /// The program that goes on in the thread that signals this edge.
    pub fn next(&self, edge: EdgeId) -> Option<usize> {
        self.next.get(&edge).copied()
    }

    /// All programs that begin in this way.
    pub fn begun_later(&self) -> impl Iterator<Item = usize> {
        self.next.values().copied()
    }

    /// The processes of the plan, each as its programs, by the first image that they go back to.
    pub fn processes(&self, plan: &Plan) -> BTreeMap<u32, Vec<Vec<usize>>> {
        let mut found: BTreeMap<u32, Vec<Vec<usize>>> = BTreeMap::new();
        for (process, programs) in by_process(plan) {
            let mut first = process;
            while let Some(&replaced) = self.replaced.get(&first) {
                first = replaced;
            }
            found.entry(first).or_default().push(programs);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn_plan::{Balance, Edge, Program, Step};

    fn program(process: u32, pid: u32, ops: &[Op]) -> Program {
        let thread = Thread { process, rank: None, pid, tid: pid, ends_with_process: false };
        let steps = ops.iter().map(|&op| Step { start_ns: 0, took_ns: 0, op }).collect();
        Program { thread, balance: Balance::default(), steps }
    }

    #[test]
    fn an_image_goes_on_in_the_process_that_it_replaces() {
        let signal = |edge| Op::Signal { edge };
        let wait = |edge| Op::Wait { edge, count: 1, stride: 0 };
        // A shell forks a child, which becomes a program that becomes another one; a thread is no image.
        let programs = vec![
            program(0, 7, &[signal(0), signal(3)]),
            program(1, 8, &[wait(0), signal(1)]),
            program(2, 8, &[wait(1), signal(2)]),
            program(3, 8, &[wait(2)]),
            program(0, 7, &[wait(3)]),
        ];
        let rules = [Rule::ProcessCreate, Rule::ProcessCreate, Rule::ProcessCreate, Rule::ThreadCreate];
        let edges = rules.map(|rule| Edge::new(rule, 1)).to_vec();
        let plan = Plan { programs, edges, ..Plan::default() };
        let images = Images::of(&plan);
        assert_eq!([0, 1, 2, 3].map(|edge| images.next(edge)), [None, Some(2), Some(3), None]);
        let processes: Vec<_> = images.processes(&plan).into_iter().collect();
        assert_eq!(processes, [(0, vec![vec![0, 4]]), (1, vec![vec![1], vec![2], vec![3]])]);
    }

    /// Plans may come from anywhere: what goes on in one thread must not wait for itself.
    #[test]
    fn who_goes_on_or_came_first_becomes_nobody() {
        let signal = |edge| Op::Signal { edge };
        let wait = |edge| Op::Wait { edge, count: 1, stride: 0 };
        let rules = [Rule::ProcessCreate, Rule::ProcessCreate, Rule::ProcessJoin];
        let edges = rules.map(|rule| Edge::new(rule, 1)).to_vec();
        let later = vec![program(0, 8, &[signal(0), wait(2)]), program(1, 8, &[wait(0), signal(2)])];
        let around = vec![
            program(0, 8, &[signal(1)]),
            program(0, 8, &[wait(0)]),
            program(1, 8, &[wait(1), signal(0)]),
        ];
        let processes = |programs| {
            let plan = Plan { programs, edges: edges.clone(), ..Plan::default() };
            Images::of(&plan).processes(&plan).into_values().collect::<Vec<_>>()
        };
        assert_eq!(processes(later), [vec![vec![0]], vec![vec![1]]]);
        assert_eq!(processes(around), [vec![vec![0, 1], vec![2]]]);
    }
}
