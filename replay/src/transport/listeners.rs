//! To whom ranks send their signals.
//!
//! Usually to everybody who waits on the edge. An edge on which many ranks meet, a barrier, has a *hub*: the others signal
//! to it alone, and it tells them when all have come. That takes 2 (m - 1) messages and not m (m - 1). A rank can be the
//! hub if it waits as soon as it has signalled: then it is not busy with anything else when it is to pass on the news.

use syn_plan::{Counted, EdgeId, Op, Plan, Program, Rule};

/// In place of a hub.
const NONE: u32 = u32::MAX;
/// Where fewer signal or wait, a hub saves nothing.
const LEAST_MEETING: usize = 3;

/// What a rank must know of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audience<'a> {
    /// The edge.
    pub edge: EdgeId,
    /// The rank that tells the others when all have signalled.
    pub hub: Option<u32>,
    /// The ranks that this one has something to tell.
    pub ranks: &'a [u32],
}

/// Goes through what [`listeners`] has made for a rank.
pub fn audiences(mut words: &[u32]) -> impl Iterator<Item = Audience<'_>> {
    std::iter::from_fn(move || {
        let (&[edge, hub, count], behind) = words.split_first_chunk()?;
        let (ranks, rest) = behind.split_at_checked(count as usize)?;
        words = rest;
        Some(Audience { edge, hub: (hub != NONE).then_some(hub), ranks })
    })
}

/// Who signals and who waits, and which ranks could be hubs.
struct Meetings {
    waits: Vec<(EdgeId, u32)>,
    signals: Vec<(EdgeId, u32)>,
    /// By edge: the lowest rank that can be its hub.
    hubs: Vec<u32>,
    /// By edge: every signal comes once, and every wait is for all of them.
    meets: Vec<bool>,
}

impl Meetings {
    fn of(plan: &Plan, rank_of: &dyn Fn(&Program) -> u32) -> Meetings {
        let mut meetings = Meetings {
            waits: Vec::new(),
            signals: Vec::new(),
            hubs: vec![NONE; plan.edges.len()],
            meets: plan.edges.iter().map(|edge| edge.rule == Rule::Collective).collect(),
        };
        for program in &plan.programs {
            let rank = rank_of(program);
            // Since the last step that was no signal.
            let mut just_signalled: Vec<EdgeId> = Vec::new();
            for Counted { step, times, .. } in program.steps.counted() {
                match step.op {
                    Op::Signal { edge } => {
                        just_signalled.push(edge);
                        meetings.signals.push((edge, rank));
                        meetings.meets[edge as usize] &= times == 1;
                        continue;
                    }
                    Op::Wait { edge, count, .. } => {
                        meetings.waits.push((edge, rank));
                        meetings.meets[edge as usize] &= count == plan.edges[edge as usize].signals;
                        if just_signalled.contains(&edge) {
                            let hub = &mut meetings.hubs[edge as usize];
                            *hub = rank.min(*hub);
                        }
                    }
                    _ => {}
                }
                just_signalled.clear();
            }
        }
        for pairs in [&mut meetings.waits, &mut meetings.signals] {
            pairs.sort_unstable();
            pairs.dedup();
        }
        meetings
    }

    fn hub(&self, edge: EdgeId, signalling: usize, waiting: usize) -> u32 {
        let meets = self.meets[edge as usize] && signalling.min(waiting) >= LEAST_MEETING;
        if meets { self.hubs[edge as usize] } else { NONE }
    }
}

/// For each rank the edges that its programs signal, and those with a hub that they wait on: the edge, the hub, the number of
/// ranks that it has something to tell, and those. `rank_of` gives the rank that runs a program.
pub fn listeners(plan: &Plan, ranks: u32, rank_of: &dyn Fn(&Program) -> u32) -> Vec<Vec<u32>> {
    let meetings = Meetings::of(plan, rank_of);
    let mut of_ranks = vec![Vec::new(); ranks as usize];
    let mut rest = &meetings.waits[..];
    for of_edge in meetings.signals.chunk_by(|one, next| one.0 == next.0) {
        let edge = of_edge[0].0;
        rest = &rest[rest.partition_point(|&(other, _)| other < edge)..];
        let waiting = &rest[..rest.partition_point(|&(other, _)| other == edge)];
        let hub = meetings.hub(edge, of_edge.len(), waiting.len());
        let mut tell = |rank: u32, ranks: &mut dyn Iterator<Item = u32>| {
            let Some(list) = of_ranks.get_mut(rank as usize) else { return };
            list.extend([edge, hub, 0]);
            let count = list.len() - 1;
            list.extend(ranks);
            list[count] = (list.len() - count - 1) as u32;
        };
        let mut waiting_ranks = waiting.iter().map(|&(_, rank)| rank);
        for &(_, rank) in of_edge {
            match hub {
                NONE => tell(rank, &mut waiting_ranks.clone()),
                _ if rank == hub => tell(rank, &mut waiting_ranks.clone().filter(|&other| other != hub)),
                _ => tell(rank, &mut std::iter::once(hub)),
            }
        }
        let signals = |rank: u32| of_edge.binary_search(&(edge, rank)).is_ok();
        if hub != NONE {
            waiting_ranks.by_ref().filter(|&rank| !signals(rank)).for_each(|rank| {
                tell(rank, &mut std::iter::empty());
            });
        }
    }
    of_ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn_plan::{Balance, Edge, Step, Thread};

    fn program(rank: u32, ops: &[Op]) -> Program {
        let thread = Thread { process: rank, rank: Some(rank), pid: rank, tid: 0, ends_with_process: false };
        let steps = ops.iter().map(|&op| Step { start_ns: 0, took_ns: 0, op }).collect();
        Program { thread, balance: Balance::default(), steps }
    }

    fn of_ranks(rule: Rule, signals: u32, programs: &[&[Op]]) -> Vec<Vec<u32>> {
        let programs: Vec<Program> = (0..).zip(programs).map(|(rank, ops)| program(rank, ops)).collect();
        let plan = Plan { programs, edges: vec![Edge::new(rule, signals)], ..Plan::default() };
        listeners(&plan, plan.programs.len() as u32, &|program| program.thread.rank.unwrap_or(0))
    }

    fn messages(of_ranks: &[Vec<u32>]) -> usize {
        let others = |(rank, words): (usize, &Vec<u32>)| {
            let ranks = audiences(words).flat_map(|audience| audience.ranks.iter().copied());
            ranks.filter(|&other| other as usize != rank).count()
        };
        of_ranks.iter().enumerate().map(others).sum()
    }

    const SIGNAL: Op = Op::Signal { edge: 0 };
    const BUSY: Op = Op::Compute { cpu_ns: 1, idle_ns: 0 };

    fn wait(count: u32) -> Op {
        Op::Wait { edge: 0, count, stride: 0 }
    }

    #[test]
    fn a_barrier_goes_through_a_rank_that_waits_at_once() {
        for ranks in [4u32, 5, 100] {
            let meets: &[Op] = &[SIGNAL, wait(ranks)];
            let mut programs = vec![meets; ranks as usize];
            programs[0] = &[SIGNAL, BUSY];
            let busy_first = of_ranks(Rule::Collective, ranks, &programs);
            assert_eq!(messages(&busy_first), 2 * (ranks as usize - 1) - 1, "the first one does not wait");
            let first = audiences(&busy_first[0]).next();
            assert_eq!(first, Some(Audience { edge: 0, hub: Some(1), ranks: &[1] }));
        }
    }

    #[test]
    fn who_only_waits_is_told_by_the_hub() {
        let meets: &[Op] = &[SIGNAL, wait(3)];
        let found = of_ranks(Rule::Collective, 3, &[meets, meets, meets, &[wait(3)]]);
        let last = audiences(&found[3]).next();
        assert_eq!(last, Some(Audience { edge: 0, hub: Some(0), ranks: &[] }));
        assert_eq!(messages(&found), 2 + 3);
    }

    #[test]
    fn everybody_is_told_where_there_is_no_hub() {
        let meets: &[Op] = &[SIGNAL, wait(4)];
        let busy: &[Op] = &[SIGNAL, BUSY, wait(4)];
        let early: &[Op] = &[SIGNAL, wait(3)];
        for (rule, programs, expected) in [
            (Rule::Collective, [busy; 4], 12),
            (Rule::Collective, [meets, meets, meets, early], 12),
            (Rule::FileData, [meets; 4], 12),
            (Rule::Collective, [meets; 4], 6),
        ] {
            assert_eq!(messages(&of_ranks(rule, 4, &programs)), expected, "{rule:?} {programs:?}");
        }
    }
}
