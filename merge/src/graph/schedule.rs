//! Where in every thread the plan signals and waits, after the reduction.

use crate::graph::Graph;
use crate::graph::dependency::{Dependencies, Stage};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use syn_plan::{Edge, EdgeId, Op, Rule};

/// A point at which a thread waits, signals, or at least did wait in the recording. 26 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(2))]
pub struct SyncPoint {
    /// How many records of the thread precede.
    pub record: u32,
    /// Its first step in the schedule; its last one is before the first of the next point.
    first_op: u32,
    /// When it was reached.
    pub ns: u64,
    awaited_ns: u64,
    /// Before or after that record's call.
    pub stage: Stage,
    /// The rule that says what it waited for.
    pub rule: Option<Rule>,
}

impl SyncPoint {
    /// When the last of what the rules say it waits for happened, whether or not a wait was kept.
    pub fn awaited_ns(&self) -> Option<u64> {
        self.rule.map(|_| self.awaited_ns)
    }
}

/// How many waits a rule found, and how many of them the plan needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// As found.
    pub found: u64,
    /// After the reduction.
    pub kept: u64,
}

/// What is done at a point: signals, or waits for so many signals.
#[derive(Clone, Copy, Debug)]
struct SyncOp {
    edge: EdgeId,
    /// 0 for a signal.
    count: u32,
}

/// The synchronization of a plan.
#[derive(Debug, Default)]
pub struct Schedule {
    /// Of all threads, and one behind the last.
    points: Vec<SyncPoint>,
    ops: Vec<SyncOp>,
    threads: Vec<Range<u32>>,
    /// The edges of the plan.
    pub edges: Vec<Edge>,
    /// Waits of every rule that found any.
    pub counts: BTreeMap<Rule, Count>,
}

/// When the last source of every dependency of several was reached.
fn last_of_many(dependencies: &Dependencies) -> HashMap<usize, u64> {
    let last_ns = |dependency: usize| match dependencies.sources(dependency) {
        [] | [_] => None,
        many => Some((dependency, many.iter().map(|source| source.ns).max()?)),
    };
    (0..dependencies.len()).filter_map(last_ns).collect()
}

/// In place of the edge of a dependency that no target waits for.
const NO_EDGE: EdgeId = EdgeId::MAX;

impl Schedule {
    /// From what the reduction left, for a run with so many threads: `needed` says by moment which targets still wait.
    pub fn new(dependencies: &Dependencies, graph: &Graph, needed: &[bool], threads: usize) -> Schedule {
        let mut schedule = Schedule::default();
        let edge_of = schedule.make_edges(dependencies, needed);
        let last_of_many = last_of_many(dependencies);
        let last_ns = |dependency: usize| match dependencies.sources(dependency) {
            [source] => Some(source.ns),
            _ => last_of_many.get(&dependency).copied(),
        };
        schedule.threads = vec![0..0; threads];
        for place in 0..graph.len() {
            let before = schedule.points.len() as u32;
            schedule.add_point(dependencies, graph, needed, &edge_of, last_ns, place);
            let thread = &mut schedule.threads[graph.point(dependencies, place).thread as usize];
            let start = if thread.end == 0 { before } else { thread.start };
            *thread = start..schedule.points.len() as u32;
        }
        schedule.points.extend(
            schedule
                .points
                .last()
                .copied()
                .map(|last| SyncPoint { first_op: schedule.ops.len() as u32, ..last }),
        );
        schedule
    }

    /// An edge for every dependency that a target waits for; by dependency, which.
    fn make_edges(&mut self, dependencies: &Dependencies, needed: &[bool]) -> Vec<EdgeId> {
        let mut edge_of = vec![NO_EDGE; dependencies.len()];
        for (dependency, edge) in edge_of.iter_mut().enumerate() {
            let (rule, targets) = (dependencies.rule(dependency), dependencies.target_range(dependency));
            let count = self.counts.entry(rule).or_default();
            count.found += targets.len() as u64;
            let kept = needed[targets].iter().filter(|&&needed| needed).count() as u64;
            count.kept += kept;
            if kept > 0 {
                *edge = self.edges.len() as EdgeId;
                let signals = dependencies.source_range(dependency).len() as u32;
                let mut edge = Edge::new(rule, signals);
                (edge.evidence.seen, edge.evidence.possible) = dependencies.evidence(dependency);
                self.edges.push(edge);
            }
        }
        edge_of
    }

    /// A point with its waits, then its signals, both by edge. Its time is that of the last dependency it takes part in,
    /// and of its signals no less.
    fn add_point(
        &mut self,
        dependencies: &Dependencies,
        graph: &Graph,
        needed: &[bool],
        edge_of: &[EdgeId],
        last_ns: impl Fn(usize) -> Option<u64>,
        place: usize,
    ) {
        let first_op = self.ops.len() as u32;
        let point = graph.point(dependencies, place);
        let (record, stage) = (point.record, point.stage);
        let mut found = SyncPoint { record, stage, first_op, ns: 0, awaited_ns: 0, rule: None };
        for &moment in graph.moments_at(place) {
            let (moment, dependency) = (moment as usize, graph.dependency_of(moment as usize));
            let ns = dependencies.moments()[moment].ns;
            if !dependencies.target_range(dependency).contains(&moment) {
                if edge_of[dependency] != NO_EDGE {
                    found.ns = ns.max(found.ns);
                }
                continue;
            }
            found.ns = ns;
            let last_ns = last_ns(dependency);
            if found.awaited_ns() < last_ns {
                (found.awaited_ns, found.rule) = (last_ns.unwrap_or(0), Some(dependencies.rule(dependency)));
            }
            if needed[moment] {
                let count = dependencies.source_range(dependency).len() as u32;
                self.ops.push(SyncOp { edge: edge_of[dependency], count });
            }
        }
        for &moment in graph.moments_at(place) {
            let dependency = graph.dependency_of(moment as usize);
            let is_source = dependencies.source_range(dependency).contains(&(moment as usize));
            if is_source && edge_of[dependency] != NO_EDGE {
                self.ops.push(SyncOp { edge: edge_of[dependency], count: 0 });
            }
        }
        if self.ops.len() as u32 > first_op || found.rule.is_some() {
            self.points.push(found);
        }
    }

    /// The points of a thread, in program order.
    pub fn points(&self, thread: usize) -> &[SyncPoint] {
        let Range { start, end } = self.threads[thread];
        &self.points[start as usize..end as usize]
    }

    /// What is to be done at a point of a thread: waits, then signals.
    pub fn ops(&self, thread: usize, point: usize) -> impl Iterator<Item = Op> + '_ {
        let place = self.threads[thread].start as usize + point;
        let range = self.points[place].first_op as usize..self.points[place + 1].first_op as usize;
        self.ops[range].iter().map(|&SyncOp { edge, count }| match count {
            0 => Op::Signal { edge },
            count => Op::Wait { edge, count, stride: 0 },
        })
    }
}
