//! The points of a graph, from the moments of its dependencies.

use super::Graph;
use crate::graph::bits::Bits;
use crate::graph::dependency::{Dependencies, Point};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// A moment among those of its thread.
#[derive(Clone, Copy, Debug, Default)]
struct Placed {
    record: u32,
    stage: u32,
    /// Its position in [`Dependencies::moments`].
    moment: u32,
}

impl Placed {
    #[inline]
    fn point(&self) -> (u32, u32) {
        (self.record, self.stage)
    }
}

impl Graph {
    /// Sorts the moments by their points: into threads first, which keeps those of a thread nearly in order.
    pub(super) fn of_moments(dependencies: &Dependencies) -> Graph {
        let all = dependencies.moments();
        let mut first_moments = Bits::new(all.len() + 1);
        let mut starts: Vec<usize> = Vec::new();
        for dependency in 0..dependencies.len() {
            first_moments.insert(dependencies.moment_range(dependency).start);
            for moment in dependencies.moment_range(dependency) {
                let thread = all[moment].point().thread as usize;
                if starts.len() < thread + 2 {
                    starts.resize(thread + 2, 0);
                }
                starts[thread + 1] += 1;
            }
        }
        first_moments.count();
        for thread in 1..starts.len() {
            starts[thread] += starts[thread - 1];
        }
        let mut placed = vec![Placed::default(); starts.last().copied().unwrap_or(0)];
        let mut free = starts.clone();
        for dependency in 0..dependencies.len() {
            for moment in dependencies.moment_range(dependency) {
                let Point { thread, record, stage } = all[moment].point();
                let place = &mut free[thread as usize];
                placed[*place] = Placed { record, stage: stage as u32, moment: moment as u32 };
                *place += 1;
            }
        }
        let mut of_threads = Vec::with_capacity(starts.len());
        let mut rest = &mut placed[..];
        for pair in starts.windows(2) {
            let (thread, others) = rest.split_at_mut(pair[1] - pair[0]);
            of_threads.push((pair[0], thread));
            rest = others;
        }
        let point_of: Vec<AtomicU32> = (0..all.len()).into_par_iter().map(|_| AtomicU32::new(0)).collect();
        of_threads.into_par_iter().for_each(|(start, thread)| {
            // Stable: moments of one point stay in the order of their dependencies.
            thread.sort_by_key(Placed::point);
            let mut first = start;
            for point in thread.chunk_by(|one, other| one.point() == other.point()) {
                for placed in point {
                    point_of[placed.moment as usize].store(first as u32, Ordering::Relaxed);
                }
                first += point.len();
            }
        });
        let mut points = Bits::new(placed.len());
        for thread in starts.windows(2) {
            let mut before = None;
            for (place, placed) in (thread[0]..).zip(&placed[thread[0]..thread[1]]) {
                if before.replace(placed.point()) != Some(placed.point()) {
                    points.insert(place);
                }
            }
        }
        Graph {
            moments: placed.iter().map(|placed| placed.moment).collect(),
            threads: starts,
            points,
            first_moments,
            point_of: point_of.into_iter().map(AtomicU32::into_inner).collect(),
            dropped: Vec::new(),
        }
    }
}
