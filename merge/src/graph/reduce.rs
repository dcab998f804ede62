//! Transitive reduction: a wait is left out when everything it waits for has happened anyway, by what the thread
//! already knows.
//!
//! Points are visited in an order that the dependencies allow. Every thread carries a vector clock: how far every
//! other thread must have come (Fidge 1988, Mattern 1989). A dependency carries the join of its sources' clocks
//! until its last target has been visited, so that memory is one clock for each thread and one for each dependency
//! under way, not one for each point. Of several waits at one point the latest in the order is looked at first: only
//! it can make the others superfluous. So what remains is the transitive reduction, up to whole dependencies.

use crate::graph::Graph;
use crate::graph::dependency::Dependencies;
use std::cmp::Reverse;

/// What is left of the dependencies.
#[derive(Debug)]
pub struct Reduced {
    /// By moment of the dependencies: whether a target still waits. Sources are never marked.
    pub waits: Vec<bool>,
    /// By dependency: how many of its targets still wait.
    pub targets: Vec<u32>,
}

/// A dependency under way: what its sources know, and how many targets are still to come.
#[derive(Clone, Debug, Default)]
struct UnderWay {
    clock: Option<Box<[u32]>>,
    targets: u32,
    /// The position in the order of the last source.
    ready_at: usize,
}

/// Reduces the dependencies of `graph`.
pub fn reduce(graph: &Graph, dependencies: &Dependencies) -> Reduced {
    let threads = Threads::of(graph);
    let clock = || vec![0u32; threads.count].into_boxed_slice();
    let mut known: Vec<Box<[u32]>> = (0..threads.count).map(|_| clock()).collect();
    let mut spare: Vec<Box<[u32]>> = Vec::new();
    let mut under_way: Vec<UnderWay> = (0..dependencies.len())
        .map(|index| UnderWay {
            targets: dependencies.target_range(index).len() as u32,
            ..UnderWay::default()
        })
        .collect();
    let mut kept = Vec::new();
    let mut waits: Vec<u32> = Vec::new();
    for (position, point) in graph.order().enumerate() {
        let (thread, ordinal) = threads.place[point];
        waits.clear();
        waits.extend(graph.waits(point));
        waits.sort_unstable_by_key(|&dependency| {
            (Reverse(under_way[dependency as usize].ready_at), dependency)
        });
        waits.dedup();
        for &dependency in &waits {
            let state = &mut under_way[dependency as usize];
            let Some(news) = &state.clock else { continue };
            let mine = &mut known[thread as usize];
            if news.iter().zip(mine.iter()).any(|(news, mine)| news > mine) {
                join(mine, news);
                kept.push((dependency, point as u32));
            }
            state.targets -= 1;
            if state.targets == 0 {
                spare.extend(state.clock.take());
            }
        }
        known[thread as usize][thread as usize] = ordinal + 1;
        waits.clear();
        waits.extend(graph.signals(point));
        waits.sort_unstable();
        waits.dedup();
        for &dependency in &waits {
            let state = &mut under_way[dependency as usize];
            let mine = &known[thread as usize];
            match &mut state.clock {
                Some(clock) => join(clock, mine),
                None => {
                    let mut fresh = spare.pop().unwrap_or_else(clock);
                    fresh.copy_from_slice(mine);
                    state.clock = Some(fresh);
                }
            }
            state.ready_at = position;
        }
    }
    Reduced::of(graph, dependencies, kept)
}

fn join(mine: &mut [u32], news: &[u32]) {
    for (mine, news) in mine.iter_mut().zip(news) {
        *mine = (*mine).max(*news);
    }
}

impl Reduced {
    fn of(graph: &Graph, dependencies: &Dependencies, mut kept: Vec<(u32, u32)>) -> Reduced {
        kept.sort_unstable();
        let mut reduced = Reduced {
            waits: vec![false; dependencies.moments().len()],
            targets: vec![0; dependencies.len()],
        };
        for dependency in 0..dependencies.len() {
            for moment in dependencies.target_range(dependency) {
                let place = (dependency as u32, graph.point_of_moment(moment) as u32);
                if kept.binary_search(&place).is_ok() {
                    reduced.waits[moment] = true;
                    reduced.targets[dependency] += 1;
                }
            }
        }
        reduced
    }
}

/// The threads that have points, numbered without holes, and the place of every point in its thread.
struct Threads {
    count: usize,
    place: Vec<(u32, u32)>,
}

impl Threads {
    fn of(graph: &Graph) -> Threads {
        let (mut threads, mut before) = (0u32, None);
        let mut place: Vec<(u32, u32)> = Vec::with_capacity(graph.points().len());
        for point in graph.points() {
            let ordinal = match (before, place.last()) {
                (Some(thread), Some(&(_, ordinal))) if thread == point.thread => ordinal + 1,
                _ => {
                    threads += 1;
                    0
                }
            };
            before = Some(point.thread);
            place.push((threads - 1, ordinal));
        }
        Threads { count: threads as usize, place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dependency::{Moment, Point, Stage};
    use syn_plan::Rule;

    fn moment(thread: u32, record: u32) -> Moment {
        let point = Point { thread, record, stage: Stage::Enter };
        Moment { point, ns: u64::from(record) * 10 + u64::from(thread) }
    }

    fn kept(all: &Dependencies) -> Vec<u32> {
        reduce(&Graph::build(all), all).targets
    }

    #[test]
    fn what_a_chain_implies_goes() {
        let mut all = Dependencies::default();
        all.add_one(Rule::Message, moment(0, 1), moment(1, 2));
        all.add_one(Rule::Message, moment(1, 3), moment(2, 4));
        all.add_one(Rule::FileData, moment(0, 1), moment(2, 4));
        all.add_one(Rule::FileData, moment(0, 2), moment(2, 4));
        assert_eq!(kept(&all), [1, 1, 0, 1]);
    }

    #[test]
    fn a_barrier_makes_messages_before_it_superfluous() {
        let mut all = Dependencies::default();
        let enter = [moment(0, 2), moment(1, 2), moment(2, 2)];
        let leave = [moment(0, 3), moment(1, 3), moment(2, 3)];
        all.add(Rule::Collective, &enter, &leave);
        all.add_one(Rule::FileData, moment(0, 1), moment(1, 4));
        all.add_one(Rule::FileData, moment(0, 4), moment(1, 5));
        assert_eq!(kept(&all), [3, 0, 1]);
    }

    #[test]
    fn equal_waits_at_one_point_are_kept_once() {
        let mut all = Dependencies::default();
        all.add_one(Rule::Message, moment(0, 1), moment(1, 2));
        all.add_one(Rule::Message, moment(0, 2), moment(1, 2));
        assert_eq!(kept(&all), [0, 1]);
    }

    #[test]
    fn only_targets_that_need_it_wait() {
        let mut all = Dependencies::default();
        all.add_one(Rule::Message, moment(0, 1), moment(1, 1));
        all.add(Rule::Collective, &[moment(0, 1)], &[moment(1, 2), moment(2, 2)]);
        assert_eq!(kept(&all), [1, 1]);
    }
}
