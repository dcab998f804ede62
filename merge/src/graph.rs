//! The dependency graph: points that take part in a dependency, connected by program order and by the rules.
//!
//! It is kept as lists: the moments of every point, and what is known of every moment. A dependency of several sources and
//! several targets (a barrier) counts its sources, so that it takes m + m entries and not m · m.

mod cycles;
pub mod dependency;
pub mod reduce;
pub mod schedule;

use crate::graph::dependency::{Dependencies, Point};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// After so many rounds of breaking one cycle each, all dependencies that are still in cycles go at once.
const MOST_ROUNDS: usize = 64;

/// The graph of a run. Memory: 12 bytes for every moment and 8 for every point.
#[derive(Debug)]
pub struct Graph {
    /// The positions of the moments in [`Dependencies::moments`], by their points.
    moments: Vec<u32>,
    /// Where in `moments` every point begins, in the order of threads and in program order; and the end.
    points: Vec<u32>,
    /// By moment.
    point_of: Vec<u32>,
    /// By moment.
    dependency_of: Vec<u32>,
    order: Vec<u32>,
    /// Dependencies that were taken out because they closed a cycle, rising.
    pub dropped: Vec<u32>,
}

impl Graph {
    /// Builds the graph, and takes out dependencies until there is no cycle.
    pub fn build(dependencies: &Dependencies) -> Graph {
        let mut graph = Graph::of_moments(dependencies);
        graph.settle(dependencies);
        graph
    }

    /// How many points there are. They are numbered in the order of their threads, and in program order.
    pub fn len(&self) -> usize {
        self.points.len() - 1
    }

    /// The point with this number.
    #[inline]
    pub fn point(&self, dependencies: &Dependencies, point: usize) -> Point {
        dependencies.moments()[self.moments[self.points[point] as usize] as usize].point
    }

    /// The moments of a point, by dependency.
    #[inline]
    pub fn moments_at(&self, point: usize) -> &[u32] {
        &self.moments[self.points[point] as usize..self.points[point + 1] as usize]
    }

    /// The point of every moment of the dependencies.
    #[inline]
    pub fn point_of(&self, moment: usize) -> usize {
        self.point_of[moment] as usize
    }

    /// The dependency of every moment.
    #[inline]
    pub fn dependency_of(&self, moment: usize) -> usize {
        self.dependency_of[moment] as usize
    }

    /// Every point before those that come after it, by time where the dependencies leave a choice.
    pub fn order(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().map(|&point| point as usize)
    }

    /// The moments in which a point is a target or, with `as_target` false, a source: each with its dependency.
    pub fn parts<'a>(
        &'a self,
        dependencies: &'a Dependencies,
        point: usize,
        as_target: bool,
    ) -> impl Iterator<Item = (u32, u32)> + 'a {
        let parts =
            self.moments_at(point).iter().map(|&moment| (moment, self.dependency_of[moment as usize]));
        parts.filter(move |&(moment, dependency)| {
            let first = dependencies.target_range(dependency as usize).start;
            (moment as usize >= first) == as_target && !self.is_dropped(dependency)
        })
    }

    /// Forgets the order and the points of moments.
    pub fn forget_order(&mut self) {
        (self.order, self.point_of) = (Vec::new(), Vec::new());
    }

    /// Whether the dependency was taken out.
    #[inline]
    pub fn is_dropped(&self, dependency: u32) -> bool {
        !self.dropped.is_empty() && self.dropped.binary_search(&dependency).is_ok()
    }

    /// Sorts the moments by their points: into threads first, which keeps those of a thread nearly in order.
    fn of_moments(dependencies: &Dependencies) -> Graph {
        let all = dependencies.moments();
        let mut dependency_of = vec![0u32; all.len()];
        let mut starts: Vec<usize> = Vec::new();
        for dependency in 0..dependencies.len() {
            for moment in dependencies.moment_range(dependency) {
                dependency_of[moment] = dependency as u32;
                let thread = all[moment].point.thread as usize;
                if starts.len() < thread + 2 {
                    starts.resize(thread + 2, 0);
                }
                starts[thread + 1] += 1;
            }
        }
        for thread in 1..starts.len() {
            starts[thread] += starts[thread - 1];
        }
        let mut moments = vec![0u32; starts.last().copied().unwrap_or(0)];
        let mut free = starts.clone();
        for dependency in 0..dependencies.len() {
            for moment in dependencies.moment_range(dependency) {
                let place = &mut free[all[moment].point.thread as usize];
                moments[*place] = moment as u32;
                *place += 1;
            }
        }
        let mut of_threads = Vec::with_capacity(starts.len());
        let mut rest = &mut moments[..];
        for pair in starts.windows(2) {
            let (thread, others) = rest.split_at_mut(pair[1] - pair[0]);
            of_threads.push(thread);
            rest = others;
        }
        // Stable: moments of one point stay in the order of their dependencies.
        of_threads.par_iter_mut().for_each(|thread| thread.sort_by_key(|&moment| all[moment as usize].point));
        let (mut points, mut point_of) = (Vec::new(), vec![0u32; all.len()]);
        let mut before = None;
        for (place, &moment) in (0u32..).zip(&moments) {
            let point = all[moment as usize].point;
            if before.replace(point) != Some(point) {
                points.push(place);
            }
            point_of[moment as usize] = points.len() as u32 - 1;
        }
        points.push(moments.len() as u32);
        Graph { moments, points, point_of, dependency_of, order: Vec::new(), dropped: Vec::new() }
    }

    /// Finds the order, breaking cycles on the way. A cycle can only come from clocks that could not be aligned or
    /// from rules that take the recorded times for an order.
    fn settle(&mut self, dependencies: &Dependencies) {
        for round in 0.. {
            self.order = self.by_time(dependencies);
            if self.order.len() == self.len() {
                return;
            }
            let worst = cycles::worst(self, dependencies, round >= MOST_ROUNDS);
            assert!(!worst.is_empty(), "program order alone has no cycle");
            self.dropped.extend(worst);
            self.dropped.sort_unstable();
            self.dropped.dedup();
        }
    }

    /// True when the point after this one is of the same thread.
    fn has_next(&self, dependencies: &Dependencies, point: usize) -> bool {
        point + 1 < self.len()
            && self.point(dependencies, point).thread == self.point(dependencies, point + 1).thread
    }

    /// Kahn's algorithm; among what is ready the earliest is next. A dependency of several sources and targets takes its
    /// turn like a point, when the last of its sources was reached. Points in and behind cycles are left out.
    fn by_time(&self, dependencies: &Dependencies) -> Vec<u32> {
        let count = self.len();
        let all = dependencies.moments();
        let mut before = vec![0u32; count];
        let mut sources_left: Vec<u32> = (0..dependencies.len())
            .map(|dependency| dependencies.source_range(dependency).len() as u32)
            .collect();
        for point in 0..count {
            before[point] += self.parts(dependencies, point, true).count() as u32;
            if self.has_next(dependencies, point) {
                before[point + 1] += 1;
            }
        }
        let ns = |point: usize| self.moments_at(point).iter().map(|&moment| all[moment as usize].ns).max();
        let entry = |point: usize| Reverse((ns(point).unwrap_or(0), point));
        let mut ready: BinaryHeap<Reverse<(u64, usize)>> =
            (0..count).filter(|&point| before[point] == 0).map(entry).collect();
        let mut order = Vec::with_capacity(count);
        while let Some(Reverse((_, next))) = ready.pop() {
            let mut reach = |point: usize, ready: &mut BinaryHeap<_>| {
                before[point] -= 1;
                if before[point] == 0 {
                    ready.push(entry(point));
                }
            };
            if let Some(dependency) = next.checked_sub(count) {
                dependencies
                    .target_range(dependency)
                    .for_each(|moment| reach(self.point_of(moment), &mut ready));
                continue;
            }
            order.push(next as u32);
            for (_, dependency) in self.parts(dependencies, next, false) {
                let dependency = dependency as usize;
                sources_left[dependency] -= 1;
                if sources_left[dependency] > 0 {
                    continue;
                }
                let (sources, targets) =
                    (dependencies.sources(dependency), dependencies.target_range(dependency));
                if sources.len() == 1 || targets.len() == 1 {
                    targets.for_each(|moment| reach(self.point_of(moment), &mut ready));
                } else {
                    let last_ns = sources.iter().map(|source| source.ns).max().unwrap_or(0);
                    ready.push(Reverse((last_ns, count + dependency)));
                }
            }
            if self.has_next(dependencies, next) {
                reach(next + 1, &mut ready);
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dependency::{Moment, Stage};
    use syn_plan::Rule;

    fn moment(thread: u32, record: u32, ns: u64) -> Moment {
        Moment { point: Point { thread, record, stage: Stage::Enter }, ns }
    }

    #[test]
    fn a_cycle_loses_its_least_trusted_dependency() {
        let mut all = Dependencies::default();
        all.add_one(Rule::Message, moment(0, 2, 20), moment(1, 1, 15));
        all.add_one(Rule::FileData, moment(1, 2, 16), moment(0, 1, 19));
        all.add_one(Rule::Message, moment(0, 3, 30), moment(2, 1, 40));
        let graph = Graph::build(&all);
        assert_eq!(graph.dropped, [1]);
        assert_eq!(graph.order().count(), graph.len());
    }

    #[test]
    fn the_order_follows_time_where_it_may() {
        let mut all = Dependencies::default();
        all.add(
            Rule::Collective,
            &[moment(0, 1, 10), moment(1, 1, 50)],
            &[moment(0, 2, 60), moment(1, 2, 61)],
        );
        all.add_one(Rule::Message, moment(2, 1, 20), moment(3, 1, 30));
        let graph = Graph::build(&all);
        let threads: Vec<u32> = graph.order().map(|point| graph.point(&all, point).thread).collect();
        assert_eq!(threads, [0, 2, 3, 1, 0, 1]);
    }
}
