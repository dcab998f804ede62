//! Where in every thread the plan signals and waits, after the reduction.

mod points;

use crate::graph::Graph;
use crate::graph::bits::Bits;
use crate::graph::dependency::{Dependencies, Moment, Point};
pub use points::Points;
use points::{SyncOp, SyncPoint, Writer};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
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
        let at_once = threads.div_ceil(rayon::current_num_threads()).max(1);
        let groups = (0..threads).into_par_iter().step_by(at_once);
        let points = groups.map(|first| source.points(first..threads.min(first + at_once)));
        schedule.points = points.flatten_iter().collect();
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

/// So many moments of a thread are looked up at once: the processor waits for many of them together.
const AT_ONCE: usize = 64;
/// All threads are gone through up to the same of so many moments, which lie next to each other in memory: those of one thread lie all
/// over it.
const WINDOW: usize = 1 << 14;

/// A moment, and what it means at its point.
#[derive(Clone, Copy, Debug)]
struct Part {
    point: Point,
    ns: u64,
    /// Of a target: when the last source was reached, and the rule.
    awaited: Option<(u64, Rule)>,
    is_source: bool,
    op: Option<SyncOp>,
}

impl Source<'_> {
    /// The points of some threads, by thread.
    fn points(&self, threads: Range<usize>) -> Vec<Vec<u8>> {
        let of_thread = |thread| {
            let runs = self.graph.runs_of(thread, AT_ONCE).peekable();
            (runs, Writer::with_room(self.graph.moments_of(thread)))
        };
        let mut threads: Vec<_> = threads.map(of_thread).collect();
        let (mut found, mut parts, mut ops) = (Vec::new(), Vec::new(), Vec::new());
        for first in (0..self.dependencies.moments().len()).step_by(WINDOW) {
            for (runs, writer) in &mut threads {
                while let Some(moments) = runs.next_if(|moments| (moments[0] as usize) < first + WINDOW) {
                    self.look_up(moments, &mut found, &mut parts);
                    for parts in parts.chunk_by(|one, other| one.point == other.point) {
                        ops.clear();
                        let point = point(parts, &mut ops);
                        if !ops.is_empty() || point.rule().is_some() {
                            writer.push(&point, &ops);
                        }
                    }
                }
            }
        }
        threads.into_iter().map(|(_, writer)| writer.finish()).collect()
    }

    /// What these moments mean, given room for them and what they belong to.
    fn look_up(&self, moments: &[u32], found: &mut Vec<(Moment, usize)>, parts: &mut Vec<Part>) {
        let Source { dependencies, graph, needed, kept, .. } = self;
        let all = dependencies.moments();
        found.clear();
        found.extend(moments.iter().map(|&moment| {
            let moment = moment as usize;
            (all[moment], graph.dependency_of(moment))
        }));
        let part = |(&moment, &(at, dependency)): (&u32, &(Moment, usize))| {
            let (moment, range) = (moment as usize, dependencies.target_range(dependency));
            let is_source = moment < range.start;
            let edge = || kept.rank(dependency) as EdgeId;
            let op = match is_source {
                true => kept.contains(dependency).then(|| SyncOp { edge: edge(), count: 0 }),
                false => needed.contains(moment).then(|| SyncOp {
                    edge: edge(),
                    count: dependencies.source_range(dependency).len() as u32,
                }),
            };
            // Nothing waits for what was dropped: the recorded time is not explained by it.
            let waits = !is_source && !graph.is_dropped(dependency as u32);
            let last_ns = if waits { self.last_ns(dependency) } else { None };
            let awaited = last_ns.map(|last_ns| (last_ns, dependencies.rule(dependency)));
            Part { point: at.point(), ns: at.ns, awaited, is_source, op }
        };
        parts.clear();
        parts.extend(moments.iter().zip(&*found).map(part));
    }

    fn last_ns(&self, dependency: usize) -> Option<u64> {
        match self.dependencies.sources(dependency) {
            [source] => Some(source.ns),
            _ => self.last_of_many.get(&dependency).copied(),
        }
    }
}

/// A point, and what is done there: its waits, then its signals, both by edge. Its time is that of the last dependency it
/// takes part in, and of its signals no less.
fn point(parts: &[Part], ops: &mut Vec<SyncOp>) -> SyncPoint {
    let Point { record, stage, .. } = parts[0].point;
    let mut found = SyncPoint::new(record, stage);
    for part in parts {
        if part.is_source {
            if part.op.is_some() {
                found.ns = part.ns.max(found.ns);
            }
            continue;
        }
        found.ns = part.ns;
        if let Some((last_ns, rule)) = part.awaited {
            found.await_ns(last_ns, rule);
        }
        ops.extend(part.op);
    }
    ops.extend(parts.iter().filter(|part| part.is_source).filter_map(|part| part.op));
    found
}

fn last_of_many(dependencies: &Dependencies) -> HashMap<usize, u64> {
    let last_ns = |dependency: usize| match dependencies.sources(dependency) {
        [] | [_] => None,
        many => Some((dependency, many.iter().map(|source| source.ns).max()?)),
    };
    (0..dependencies.len()).filter_map(last_ns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dependency::Stage;

    #[test]
    fn what_was_dropped_explains_no_time() {
        let moment = |thread, record, ns| Moment::new(Point { thread, record, stage: Stage::Enter }, ns);
        let mut all = Dependencies::default();
        all.add_one(Rule::Message, moment(0, 2, 20), moment(1, 1, 15));
        all.add_one(Rule::FileData, moment(1, 2, 16), moment(0, 1, 19));
        let (graph, needed) = Graph::reduced(&all);
        assert_eq!(graph.dropped, [1]);
        let schedule = Schedule::new(&all, &graph, &needed, 2);
        let awaited = |thread| {
            let mut points = schedule.points(thread);
            let mut rules = Vec::new();
            while let Some(point) = points.peek() {
                rules.push(point.rule());
                points.pass(|_| ());
            }
            rules
        };
        assert_eq!((awaited(0), awaited(1)), (vec![None], vec![Some(Rule::Message)]));
    }
}
