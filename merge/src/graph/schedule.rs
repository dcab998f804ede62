//! Where in every thread the plan signals and waits, after the reduction.

use crate::graph::Graph;
use crate::graph::dependency::{Dependencies, Point};
use crate::graph::reduce::Reduced;
use std::collections::BTreeMap;
use std::ops::Range;
use syn_plan::{Edge, EdgeId, Op, Rule};

/// A point at which a thread waits, signals, or at least did wait in the recording.
#[derive(Clone, Debug)]
pub struct SyncPoint {
    /// The place.
    pub point: Point,
    /// When it was reached.
    pub ns: u64,
    /// When the last of what the rules say it waits for happened, whether or not a wait was kept.
    pub awaited_ns: Option<u64>,
    /// The rule that says so.
    pub rule: Option<Rule>,
    /// Its steps in [`Schedule::ops`]: waits, then signals.
    ops: Range<u32>,
}

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
    points: Vec<SyncPoint>,
    ops: Vec<Op>,
    threads: Vec<Range<usize>>,
    /// The edges of the plan.
    pub edges: Vec<Edge>,
    /// Waits of every rule that found any.
    pub counts: BTreeMap<Rule, Count>,
}

impl Schedule {
    /// From what the reduction left, for a run with so many threads.
    pub fn new(dependencies: &Dependencies, graph: &Graph, reduced: &Reduced, threads: usize) -> Schedule {
        let mut schedule = Schedule::default();
        let places = graph.points().iter().map(|&point| SyncPoint {
            point,
            ns: 0,
            awaited_ns: None,
            rule: None,
            ops: 0..0,
        });
        let mut points: Vec<SyncPoint> = places.collect();
        // (place, signal?, edge, count): sorting puts waits before signals.
        let mut ops: Vec<(u32, bool, EdgeId, u32)> = Vec::new();
        for dependency in 0..dependencies.len() {
            let edge = schedule.edges.len() as EdgeId;
            let (rule, needed) = (dependencies.rule(dependency), reduced.targets[dependency]);
            let sources = dependencies.sources(dependency);
            let last = sources.iter().map(|source| source.ns).max();
            let signals = sources.len() as u32;
            for (moment, target) in
                dependencies.target_range(dependency).zip(dependencies.targets(dependency))
            {
                let place = graph.point_of_moment(moment);
                points[place].ns = target.ns;
                if points[place].awaited_ns < last {
                    (points[place].awaited_ns, points[place].rule) = (last, Some(rule));
                }
                if reduced.waits[moment] {
                    ops.push((place as u32, false, edge, signals));
                }
            }
            let count = schedule.counts.entry(rule).or_default();
            count.found += dependencies.targets(dependency).len() as u64;
            count.kept += u64::from(needed);
            if needed == 0 {
                continue;
            }
            for (moment, source) in dependencies.source_range(dependency).zip(sources) {
                let place = graph.point_of_moment(moment);
                points[place].ns = points[place].ns.max(source.ns);
                ops.push((place as u32, true, edge, signals));
            }
            schedule.edges.push(Edge::new(rule, signals));
        }
        ops.sort_unstable();
        schedule.place(points, &ops, threads);
        schedule
    }

    fn place(&mut self, points: Vec<SyncPoint>, ops: &[(u32, bool, EdgeId, u32)], threads: usize) {
        let mut rest = ops;
        for (place, mut point) in (0u32..).zip(points) {
            let (mine, others) = rest.split_at(rest.iter().take_while(|op| op.0 == place).count());
            rest = others;
            let first = self.ops.len() as u32;
            self.ops.extend(mine.iter().map(|&(_, signal, edge, count)| match signal {
                true => Op::Signal { edge },
                false => Op::Wait { edge, count, stride: 0 },
            }));
            point.ops = first..self.ops.len() as u32;
            if !mine.is_empty() || point.awaited_ns.is_some() {
                self.points.push(point);
            }
        }
        let mut at = 0;
        self.threads = (0..threads as u32)
            .map(|thread| {
                let first = at;
                at += self.points[first..].partition_point(|point| point.point.thread == thread);
                first..at
            })
            .collect();
    }

    /// The points of a thread, in program order.
    pub fn points(&self, thread: usize) -> &[SyncPoint] {
        &self.points[self.threads[thread].clone()]
    }

    /// What is to be done at a point: waits, then signals.
    pub fn ops(&self, point: &SyncPoint) -> &[Op] {
        &self.ops[point.ops.start as usize..point.ops.end as usize]
    }
}
