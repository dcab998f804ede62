//! Who waits for the end of a rank: a shell or a script around the launcher.

use std::collections::BTreeSet;
use syn_plan::{EdgeId, Op, Plan, Rule};

/// These programs, and those without a rank that wait for the end of one of them or, in turn, of one that does.
pub fn waiting_for_ends(plan: &Plan, ended: BTreeSet<usize>) -> BTreeSet<usize> {
    let ops = |number: usize| plan.programs[number].steps.iter().map(|step| step.op);
    let has_no_rank = |&number: &usize| plan.programs[number].thread.rank.is_none();
    let others: Vec<usize> = (0..plan.programs.len()).filter(has_no_rank).collect();
    if others.is_empty() {
        return ended;
    }
    let signalled = |op: Op| match op {
        Op::Signal { edge } => Some(edge).filter(|&edge| plan.edges[edge as usize].rule == Rule::ProcessJoin),
        _ => None,
    };
    let mut all = ended;
    let mut ends: BTreeSet<EdgeId> =
        all.iter().flat_map(|&number| ops(number).filter_map(signalled)).collect();
    loop {
        let waits = |op: Op| matches!(op, Op::Wait { edge, .. } if ends.contains(&edge));
        let is_new = |&&number: &&usize| !all.contains(&number) && ops(number).any(waits);
        let new: Vec<usize> = others.iter().filter(is_new).copied().collect();
        if new.is_empty() {
            return all;
        }
        ends.extend(new.iter().flat_map(|&number| ops(number).filter_map(signalled)));
        all.extend(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn_plan::{Balance, Edge, Program, Step, Thread};

    #[test]
    fn who_waits_for_a_ranks_end_waits_for_that_of_mpi() {
        let signal = |edge| Op::Signal { edge };
        let wait = |edge| Op::Wait { edge, count: 1, stride: 0 };
        let program = |(process, rank, ops): (u32, Option<u32>, &[Op])| {
            let thread = Thread { process, rank, pid: process, tid: 0, ends_with_process: false };
            let steps = ops.iter().map(|&op| Step { start_ns: 0, took_ns: 0, op }).collect();
            Program { thread, balance: Balance::default(), steps }
        };
        // Two ranks, a script that waits for both, a shell that waits for the script; and others that wait for nobody's end.
        let programs: [(u32, Option<u32>, &[Op]); 6] = [
            (0, Some(0), &[signal(0)]),
            (1, Some(1), &[signal(1), signal(3)]),
            (2, None, &[wait(2)]),
            (3, None, &[wait(0), wait(1), signal(2)]),
            (4, None, &[wait(3)]),
            (5, None, &[]),
        ];
        let rules = [Rule::ProcessJoin, Rule::ProcessJoin, Rule::ProcessJoin, Rule::Pipe];
        let edges = rules.map(|rule| Edge::new(rule, 1)).to_vec();
        let plan = Plan { programs: programs.map(program).to_vec(), edges, ..Plan::default() };
        assert_eq!(waiting_for_ends(&plan, [0, 1].into()), [0, 1, 2, 3].into());
        assert_eq!(waiting_for_ends(&plan, [].into()), [].into());
    }
}
