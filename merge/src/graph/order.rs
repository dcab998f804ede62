//! The order of all points, and what goes so that there is one.

use super::Graph;
use super::{cycles, reduce};
use crate::graph::bits::Bits;
use crate::graph::dependency::Dependencies;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{SyncSender, sync_channel};

/// After so many rounds of breaking one cycle each, all dependencies that are still in cycles go at once.
const MOST_ROUNDS: usize = 64;
/// Points of the order that are handed on at once, and how often that may be ahead of who follows.
const CHUNK: usize = 1 << 12;
const CHUNKS_AHEAD: usize = 64;

impl Graph {
    /// Builds the graph, taking out dependencies until there is no cycle. Also the moments of targets that still wait after the
    /// reduction ([`mod@reduce`]), which goes on while the order is found.
    pub fn reduced(dependencies: &Dependencies) -> (Graph, Bits) {
        let mut graph = Graph::of_moments(dependencies);
        let needed = graph.settle(dependencies, reduce::reduce);
        graph.point_of = Vec::new();
        (graph, needed)
    }

    /// Finds the order, every point before those that come after it, by time where the dependencies leave a choice, and gives it
    /// to `follow`, which runs meanwhile. Where there are cycles, that is for nothing: they are broken, and it begins again. A
    /// cycle can only come from clocks that could not be aligned or from rules that take the recorded times for an order.
    fn settle<T: Send>(
        &mut self,
        dependencies: &Dependencies,
        follow: impl Fn(&Graph, &Dependencies, &mut dyn Iterator<Item = usize>) -> T + Sync,
    ) -> T {
        let points = self.points().count();
        let mut round = 0;
        loop {
            let (graph, follow) = (&*self, &follow);
            let (ordered, found) = std::thread::scope(|scope| {
                let (out, order) = sync_channel::<Vec<u32>>(CHUNKS_AHEAD);
                let found = scope.spawn(move || {
                    let mut order = order.into_iter().flatten().map(|point| point as usize);
                    follow(graph, dependencies, &mut order)
                });
                (graph.by_time(dependencies, out), found.join())
            });
            match found {
                Ok(found) if ordered == points => return found,
                Ok(_) => {}
                Err(panic) => std::panic::resume_unwind(panic),
            }
            let worst = cycles::worst(self, dependencies, round >= MOST_ROUNDS);
            assert!(!worst.is_empty(), "program order alone has no cycle");
            self.dropped.extend(worst);
            self.dropped.sort_unstable();
            self.dropped.dedup();
            round += 1;
        }
    }

    /// Kahn's algorithm; among what is ready the earliest is next. A dependency of several sources and targets takes its
    /// turn like a point, when the last of its sources was reached. Points in and behind cycles are left out; how many there are
    /// besides.
    fn by_time(&self, dependencies: &Dependencies, out: SyncSender<Vec<u32>>) -> usize {
        let limit = self.limit();
        let all = dependencies.moments();
        let mut before = vec![0u32; limit];
        for dependency in (0..dependencies.len()).filter(|&dependency| !self.is_dropped(dependency as u32)) {
            dependencies.target_range(dependency).for_each(|moment| before[self.point_of(moment)] += 1);
        }
        let mut sources_left: Vec<u32> = (0..dependencies.len())
            .map(|dependency| dependencies.source_range(dependency).len() as u32)
            .collect();
        let ns = |point: usize| self.moments_at(point).iter().map(|&moment| all[moment as usize].ns).max();
        let entry = |point: usize| Reverse((ns(point).unwrap_or(0), point));
        let mut ready = BinaryHeap::new();
        for thread in self.threads.windows(2).filter(|thread| thread[0] < thread[1]) {
            // Whatever else a point waits for: behind another of its thread it waits for that.
            let first = thread[0];
            if before[first] == 0 {
                ready.push(entry(first));
            }
            self.points.iter_from(first).skip(1).take_while(|&point| point < thread[1]).for_each(|point| {
                before[point] += 1;
            });
        }
        let (mut ordered, mut chunk) = (0, Vec::with_capacity(CHUNK));
        while let Some(Reverse((_, next))) = ready.pop() {
            let mut reach = |point: usize, ready: &mut BinaryHeap<_>| {
                before[point] -= 1;
                if before[point] == 0 {
                    ready.push(entry(point));
                }
            };
            if let Some(dependency) = next.checked_sub(limit) {
                dependencies
                    .target_range(dependency)
                    .for_each(|moment| reach(self.point_of(moment), &mut ready));
                continue;
            }
            ordered += 1;
            chunk.push(next as u32);
            if chunk.len() == CHUNK {
                // Fails when who follows has failed, which `settle` tells.
                let _ = out.send(std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK)));
            }
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
                    ready.push(Reverse((last_ns, limit + dependency)));
                }
            }
            if let Some(next) = self.next(dependencies, next) {
                reach(next, &mut ready);
            }
        }
        let _ = out.send(chunk);
        ordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dependency::{Moment, Point, Stage};
    use syn_plan::Rule;

    fn moment(thread: u32, record: u32, ns: u64) -> Moment {
        Moment::new(Point { thread, record, stage: Stage::Enter }, ns)
    }

    fn ordered(all: &Dependencies) -> (Graph, Vec<usize>) {
        let mut graph = Graph::of_moments(all);
        let order = graph.settle(all, |_, _, order| order.collect());
        (graph, order)
    }

    #[test]
    fn a_cycle_loses_its_least_trusted_dependency() {
        let mut all = Dependencies::default();
        all.add_one(Rule::Message, moment(0, 2, 20), moment(1, 1, 15));
        all.add_one(Rule::FileData, moment(1, 2, 16), moment(0, 1, 19));
        all.add_one(Rule::Message, moment(0, 3, 30), moment(2, 1, 40));
        let (graph, order) = ordered(&all);
        assert_eq!(graph.dropped, [1]);
        assert_eq!(order.len(), graph.points().count());
    }

    #[test]
    fn or_those_that_were_chance() {
        let mut all = Dependencies::default();
        all.add_chance(Rule::Mutex, moment(0, 2, 20), moment(1, 1, 15));
        all.add_chance(Rule::Mutex, moment(0, 3, 21), moment(1, 1, 15));
        all.add_one(Rule::Socket, moment(1, 2, 30), moment(0, 1, 31));
        assert!(Rule::Socket > Rule::Mutex, "less trusted");
        assert_eq!(ordered(&all).0.dropped, [0, 1]);
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
        let (graph, order) = ordered(&all);
        let threads: Vec<u32> = order.iter().map(|&point| graph.point(&all, point).thread).collect();
        assert_eq!(threads, [0, 2, 3, 1, 0, 1]);
    }
}
