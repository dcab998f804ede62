//! The dependency graph: points that take part in a dependency, connected by program order and by the rules.
//!
//! It is kept as a list of moments, sorted by their points. A dependency of several sources and several targets (a barrier)
//! counts its sources, so that it takes m + m entries and not m · m.

pub mod bits;
mod cycles;
pub mod dependency;
mod order;
mod points;
pub mod reduce;
pub mod schedule;

use crate::graph::bits::Bits;
use crate::graph::dependency::{Dependencies, Point};

/// The graph of a run. A point is named by the place of its first moment, so that points are in the order of their threads and
/// in program order. Memory: some bits for every moment and 4 bytes; until it is reduced, 4 more.
#[derive(Debug)]
pub struct Graph {
    /// The positions of the moments in [`Dependencies::moments`], by their points.
    moments: Vec<u32>,
    /// Where in `moments` every thread begins; and the end.
    threads: Vec<usize>,
    /// The places in `moments` where a point begins.
    points: Bits,
    /// The moments that are the first of their dependencies.
    first_moments: Bits,
    /// By moment.
    point_of: Vec<u32>,
    /// Dependencies that were taken out because they closed a cycle, rising.
    pub dropped: Vec<u32>,
}

impl Graph {
    /// All points, in the order of their threads and in program order.
    pub fn points(&self) -> impl Iterator<Item = usize> + '_ {
        self.points.iter_from(0)
    }

    /// How many moments a thread has.
    pub fn moments_of(&self, thread: usize) -> usize {
        self.threads.get(thread..thread + 2).map_or(0, |bounds| bounds[1] - bounds[0])
    }

    /// The moments of a thread's points, in program order, whole points of at least so many moments together.
    pub fn runs_of(&self, thread: usize, length: usize) -> impl Iterator<Item = &[u32]> {
        let place = |thread| self.threads.get(thread).copied().unwrap_or(self.limit());
        let (mut start, end) = (place(thread), place(thread + 1));
        std::iter::from_fn(move || {
            let first = start;
            let behind = self.points.next_above(first.saturating_add(length - 1));
            start = behind.unwrap_or(end).min(end);
            (first < start).then(|| &self.moments[first..start])
        })
    }

    /// More than the name of any point.
    fn limit(&self) -> usize {
        self.moments.len()
    }

    /// What is known of the point with this name.
    #[inline]
    pub fn point(&self, dependencies: &Dependencies, point: usize) -> Point {
        dependencies.moments()[self.moments[point] as usize].point()
    }

    /// The moments of a point, by dependency.
    #[inline]
    pub fn moments_at(&self, point: usize) -> &[u32] {
        let end = self.points.next_above(point).unwrap_or(self.limit());
        &self.moments[point..end]
    }

    /// The point of every moment of the dependencies.
    #[inline]
    pub fn point_of(&self, moment: usize) -> usize {
        self.point_of[moment] as usize
    }

    /// The dependency of every moment.
    #[inline]
    pub fn dependency_of(&self, moment: usize) -> usize {
        self.first_moments.rank(moment + 1) - 1
    }

    /// The moments in which a point is a target or, with `as_target` false, a source: each with its dependency.
    pub fn parts<'a>(
        &'a self,
        dependencies: &'a Dependencies,
        point: usize,
        as_target: bool,
    ) -> impl Iterator<Item = (u32, u32)> + 'a {
        let parts =
            self.moments_at(point).iter().map(|&moment| (moment, self.dependency_of(moment as usize) as u32));
        parts.filter(move |&(moment, dependency)| {
            let first = dependencies.target_range(dependency as usize).start;
            (moment as usize >= first) == as_target && !self.is_dropped(dependency)
        })
    }

    /// Whether the dependency was taken out.
    #[inline]
    pub fn is_dropped(&self, dependency: u32) -> bool {
        !self.dropped.is_empty() && self.dropped.binary_search(&dependency).is_ok()
    }

    /// The point after this one, if it is of the same thread.
    fn next(&self, dependencies: &Dependencies, point: usize) -> Option<usize> {
        let next = self.points.next_above(point)?;
        let thread = |point| self.point(dependencies, point).thread;
        (thread(point) == thread(next)).then_some(next)
    }
}
