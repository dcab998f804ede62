//! Transitive reduction: a wait is left out when everything it waits for has happened anyway, by what the thread
//! already knows.
//!
//! Points are visited in an order that the dependencies allow. Every thread carries a vector clock: how far every
//! other thread must have come (Fidge 1988, Mattern 1989). A dependency carries the join of its sources' clocks
//! until its last target has been visited, so that memory is one clock for each thread that goes on and one for each dependency
//! under way, not one for each point; what clocks have in common they share ([`clock`]). Who knows a point knows all that
//! was known there, so a wait is needed if one of the source points is not known (the epochs of FastTrack, Flanagan
//! and Freund, PLDI'09). Of several waits at one point the latest in the order is looked at first: only
//! it can make the others superfluous. So what remains is the transitive reduction, up to whole dependencies, and without those that
//! were chance.

mod clock;

use crate::graph::Graph;
use crate::graph::bits::Bits;
use crate::graph::dependency::Dependencies;
use clock::VectorClock;
use std::cmp::Reverse;

/// A dependency under way: what its sources know, and how many targets are still to come.
#[derive(Debug)]
struct UnderWay {
    clock: VectorClock,
    targets: u32,
    /// The position in the order of the last source.
    ready_at: usize,
}

/// Those under way, by dependency. Few are at any time.
#[derive(Debug)]
struct AllUnderWay {
    /// By dependency: its place in `list` and one more, or 0.
    places: Vec<u32>,
    list: Vec<Option<UnderWay>>,
    free: Vec<u32>,
}

/// The moments of the dependencies that are targets which still wait. `order` has every point before those that come after it.
pub(super) fn reduce(
    graph: &Graph,
    dependencies: &Dependencies,
    order: &mut dyn Iterator<Item = usize>,
) -> Bits {
    let mut reduction = Reduction::new(graph, dependencies);
    order.enumerate().for_each(|(position, point)| reduction.visit(position, point));
    reduction.needed
}

/// A reduction under way.
struct Reduction<'a> {
    graph: &'a Graph,
    dependencies: &'a Dependencies,
    threads: Threads,
    /// By number of the thread; of one whose last point was visited, nothing.
    known: Vec<VectorClock>,
    under_way: AllUnderWay,
    /// The moments of targets that still wait.
    needed: Bits,
    /// Those of one point: the position of the last source, the dependency, the moment.
    waits: Vec<(Reverse<usize>, u32, u32)>,
}

impl<'a> Reduction<'a> {
    fn new(graph: &'a Graph, dependencies: &'a Dependencies) -> Reduction<'a> {
        let threads = Threads::of(graph, dependencies);
        Reduction {
            graph,
            dependencies,
            known: vec![VectorClock::new(threads.bounds.len()); threads.bounds.len()],
            threads,
            under_way: AllUnderWay::new(dependencies.len()),
            needed: Bits::new(dependencies.moments().len()),
            waits: Vec::new(),
        }
    }

    /// The next point of the order.
    fn visit(&mut self, position: usize, point: usize) {
        let Reduction { graph, dependencies, threads, known, under_way, needed, waits } = self;
        let (thread, ordinal) = threads.place(graph.point(dependencies, point).thread, point);
        let mine = &mut known[thread as usize];
        waits.clear();
        waits.extend(graph.parts(dependencies, point, true).filter_map(|(moment, dependency)| {
            Some((Reverse(under_way.get(dependency)?.ready_at), dependency, moment))
        }));
        waits.sort_unstable();
        for waits in waits.chunk_by(|one, other| one.1 == other.1) {
            let dependency = waits[0].1;
            let is_known = |moment: usize| {
                let source = dependencies.moments()[moment].point().thread;
                let (thread, ordinal) = threads.place(source, graph.point_of(moment));
                mine.get(thread) > ordinal
            };
            let is_chance = dependencies.is_chance(dependency as usize);
            if !is_chance && !dependencies.source_range(dependency as usize).all(is_known) {
                if let Some(state) = under_way.get(dependency) {
                    mine.join(&state.clock);
                }
                waits.iter().for_each(|&(_, _, moment)| needed.insert(moment as usize));
            }
            under_way.pass(dependency, waits.len() as u32);
        }
        mine.raise(thread, ordinal + 1);
        for (_, dependency) in graph.parts(dependencies, point, false) {
            let targets = dependencies.target_range(dependency as usize).len() as u32;
            under_way.signal(dependency, targets, mine, position);
        }
        if threads.is_last(thread, point) {
            *mine = VectorClock::new(0);
        }
    }
}

impl AllUnderWay {
    fn new(dependencies: usize) -> AllUnderWay {
        AllUnderWay { places: vec![0; dependencies], list: Vec::new(), free: Vec::new() }
    }

    fn get(&self, dependency: u32) -> Option<&UnderWay> {
        self.list[self.places[dependency as usize].checked_sub(1)? as usize].as_ref()
    }

    /// So many of its targets were visited.
    fn pass(&mut self, dependency: u32, targets: u32) {
        let place = &mut self.places[dependency as usize];
        let Some(index) = place.checked_sub(1) else { return };
        let Some(state) = &mut self.list[index as usize] else { return };
        state.targets -= targets;
        if state.targets == 0 {
            (*place, self.list[index as usize]) = (0, None);
            self.free.push(index);
        }
    }

    /// A source was visited, whose thread knows this much.
    fn signal(&mut self, dependency: u32, targets: u32, clock: &VectorClock, position: usize) {
        let place = &mut self.places[dependency as usize];
        if let Some(Some(state)) = place.checked_sub(1).map(|index| &mut self.list[index as usize]) {
            state.clock.join(clock);
            state.ready_at = position;
            return;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.list.push(None);
            self.list.len() as u32 - 1
        });
        self.list[index as usize] = Some(UnderWay { clock: clock.clone(), targets, ready_at: position });
        *place = index + 1;
    }
}

/// The threads that have points, numbered without holes.
struct Threads {
    /// By index among the threads of the run.
    numbers: Vec<u32>,
    /// By number: their first points and their last ones.
    bounds: Vec<(u32, u32)>,
}

impl Threads {
    fn of(graph: &Graph, dependencies: &Dependencies) -> Threads {
        let mut threads = Threads { numbers: Vec::new(), bounds: Vec::new() };
        for point in graph.points() {
            let thread = graph.point(dependencies, point).thread as usize;
            // Points are in the order of the threads.
            if thread >= threads.numbers.len() {
                threads.numbers.resize(thread, 0);
                threads.numbers.push(threads.bounds.len() as u32);
                threads.bounds.push((point as u32, point as u32));
            } else if let Some((_, last)) = threads.bounds.last_mut() {
                *last = point as u32;
            }
        }
        threads
    }

    /// The number of the thread with this index, and how far behind its first point this one is.
    #[inline]
    fn place(&self, thread: u32, point: usize) -> (u32, u32) {
        let number = self.numbers[thread as usize];
        (number, point as u32 - self.bounds[number as usize].0)
    }

    /// Whether the thread with this number has no point behind this one.
    #[inline]
    fn is_last(&self, number: u32, point: usize) -> bool {
        self.bounds[number as usize].1 == point as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dependency::{Moment, Point, Stage};
    use syn_plan::Rule;

    fn moment(thread: u32, record: u32) -> Moment {
        let point = Point { thread, record, stage: Stage::Enter };
        Moment::new(point, u64::from(record) * 10 + u64::from(thread))
    }

    fn kept(all: &Dependencies) -> Vec<u32> {
        let mut kept = vec![0; all.len()];
        let (_, waits) = Graph::reduced(all);
        for (dependency, kept) in kept.iter_mut().enumerate() {
            *kept = all.target_range(dependency).filter(|&moment| waits.contains(moment)).count() as u32;
        }
        kept
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
    fn what_was_chance_is_not_waited_for_and_makes_nothing_superfluous() {
        let mut all = Dependencies::default();
        all.add_one(Rule::FileData, moment(0, 1), moment(1, 3));
        all.add_chance(Rule::Mutex, moment(0, 2), moment(1, 2));
        assert_eq!(kept(&all), [1, 0]);
    }

    /// How many numbers all clocks keep.
    fn kept_numbers(reduction: &Reduction<'_>) -> usize {
        let under_way = reduction.under_way.list.iter().flatten().map(|state| &state.clock);
        let (mut lists, mut higher) = (std::collections::BTreeMap::new(), 0);
        for clock in reduction.known.iter().chain(under_way) {
            let (of_clock, more) = clock.kept();
            lists.extend(of_clock);
            higher += more;
        }
        lists.values().sum::<usize>() + higher
    }

    #[test]
    fn of_threads_that_are_over_nothing_is_kept() {
        const THREADS: u32 = 1000;
        let mut all = Dependencies::default();
        let mut order = Vec::new();
        for thread in 1..THREADS {
            let created = [moment(0, 4 * thread), moment(thread, 4 * thread + 1)];
            let joined = [moment(thread, 4 * thread + 2), moment(0, 4 * thread + 3)];
            all.add_one(Rule::ThreadCreate, created[0], created[1]);
            all.add_one(Rule::ThreadJoin, joined[0], joined[1]);
            order.extend([created[0], created[1], joined[0], joined[1]].map(|moment| moment.point()));
        }
        let graph = Graph::of_moments(&all);
        let by_place: std::collections::BTreeMap<Point, usize> =
            graph.points().map(|point| (graph.point(&all, point), point)).collect();
        let mut reduction = Reduction::new(&graph, &all);
        let mut most = 0;
        for (position, point) in order.iter().enumerate() {
            reduction.visit(position, by_place[point]);
            most = kept_numbers(&reduction).max(most);
        }
        assert_eq!(kept_numbers(&reduction), 0, "all are over");
        // Few lists of all threads, and none for each of them.
        assert!(most < 8 * THREADS as usize, "{most}");
        assert!((0..all.len()).all(|index| all.target_range(index).all(|at| reduction.needed.contains(at))));
    }

    #[test]
    fn only_targets_that_need_it_wait() {
        let mut all = Dependencies::default();
        all.add_one(Rule::Message, moment(0, 1), moment(1, 1));
        all.add(Rule::Collective, &[moment(0, 1)], &[moment(1, 2), moment(2, 2)]);
        assert_eq!(kept(&all), [1, 1]);
    }
}
