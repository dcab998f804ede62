//! Where in every thread the plan signals and waits, after the reduction.

mod points;

use crate::graph::Graph;
use crate::graph::bits::Bits;
use crate::graph::dependency::Dependencies;
pub use points::Points;
use points::{SyncOp, SyncPoint, Writer};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use syn_plan::{Edge, EdgeId, Rule};

/// How many waits a rule found, and how many of them the plan needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// As found.
    pub found: u64,
    /// After the reduction.
    pub kept: u64,
}

/// The synchronization of a plan.
#[derive(Debug, Default)]
pub struct Schedule {
    /// By thread: its points.
    points: Vec<Vec<u8>>,
    /// The edges of the plan.
    pub edges: Vec<Edge>,
    /// Waits of every rule that found any.
    pub counts: BTreeMap<Rule, Count>,
}

/// What the schedule is made of.
struct Source<'a> {
    dependencies: &'a Dependencies,
    graph: &'a Graph,
    /// The moments of targets that still wait.
    needed: &'a Bits,
    /// The dependencies that any target waits for: they have edges.
    kept: Bits,
    /// When the last source of every dependency of several was reached.
    last_of_many: HashMap<usize, u64>,
}

impl Schedule {
    /// From what the reduction left, for a run with so many threads: `needed` holds the moments of targets that still wait.
    pub fn new(dependencies: &Dependencies, graph: &Graph, needed: &Bits, threads: usize) -> Schedule {
        let mut schedule = Schedule::default();
        let kept = schedule.make_edges(dependencies, needed);
        let last_of_many = last_of_many(dependencies);
        let source = Source { dependencies, graph, needed, kept, last_of_many };
        schedule.points = (0..threads).into_par_iter().map(|thread| source.points(thread)).collect();
        schedule
    }

    /// An edge for every dependency that a target waits for, in their order; which these are.
    fn make_edges(&mut self, dependencies: &Dependencies, needed: &Bits) -> Bits {
        let mut all = Bits::new(dependencies.len());
        for dependency in 0..dependencies.len() {
            let (rule, targets) = (dependencies.rule(dependency), dependencies.target_range(dependency));
            let count = self.counts.entry(rule).or_default();
            count.found += targets.len() as u64;
            let kept = targets.filter(|&target| needed.contains(target)).count() as u64;
            count.kept += kept;
            if kept > 0 {
                all.insert(dependency);
                let signals = dependencies.source_range(dependency).len() as u32;
                let mut edge = Edge::new(rule, signals);
                (edge.evidence.seen, edge.evidence.possible) = dependencies.evidence(dependency);
                self.edges.push(edge);
            }
        }
        all.count();
        all
    }

    /// The points of a thread, in program order.
    pub fn points(&self, thread: usize) -> Points<'_> {
        Points::new(&self.points[thread])
    }
}

impl Source<'_> {
    /// The points of a thread.
    fn points(&self, thread: usize) -> Vec<u8> {
        let (mut writer, mut ops) = (Writer::default(), Vec::new());
        for place in self.graph.points_of(thread) {
            ops.clear();
            let point = self.point(place, &mut ops);
            if !ops.is_empty() || point.rule().is_some() {
                writer.push(&point, &ops);
            }
        }
        writer.finish()
    }

    /// A point, and what is done there: its waits, then its signals, both by edge. Its time is that of the last dependency it
    /// takes part in, and of its signals no less.
    fn point(&self, place: usize, ops: &mut Vec<SyncOp>) -> SyncPoint {
        let Source { dependencies, graph, needed, kept, .. } = self;
        let point = graph.point(dependencies, place);
        let mut found = SyncPoint::new(point.record, point.stage);
        let moments = graph.moments_at(place).iter().map(|&moment| moment as usize);
        for moment in moments.clone() {
            let (dependency, ns) = (graph.dependency_of(moment), dependencies.moments()[moment].ns);
            if moment < dependencies.target_range(dependency).start {
                if kept.contains(dependency) {
                    found.ns = ns.max(found.ns);
                }
                continue;
            }
            found.ns = ns;
            if let Some(last_ns) = self.last_ns(dependency) {
                found.await_ns(last_ns, dependencies.rule(dependency));
            }
            if needed.contains(moment) {
                let count = dependencies.source_range(dependency).len() as u32;
                ops.push(SyncOp { edge: kept.rank(dependency) as EdgeId, count });
            }
        }
        for moment in moments {
            let dependency = graph.dependency_of(moment);
            let is_source = moment < dependencies.target_range(dependency).start;
            if is_source && kept.contains(dependency) {
                ops.push(SyncOp { edge: kept.rank(dependency) as EdgeId, count: 0 });
            }
        }
        found
    }

    fn last_ns(&self, dependency: usize) -> Option<u64> {
        match self.dependencies.sources(dependency) {
            [source] => Some(source.ns),
            _ => self.last_of_many.get(&dependency).copied(),
        }
    }
}

fn last_of_many(dependencies: &Dependencies) -> HashMap<usize, u64> {
    let last_ns = |dependency: usize| match dependencies.sources(dependency) {
        [] | [_] => None,
        many => Some((dependency, many.iter().map(|source| source.ns).max()?)),
    };
    (0..dependencies.len()).filter_map(last_ns).collect()
}
