//! In which runs a dependency of the base holds, and dependencies that only other runs show.
//!
//! What the kernel or a standard guarantees holds in every run, and the base shows all of it. What was merely observed is
//! compared: where a call and the one it came after correspond to calls of another run, the order is the same there, not known
//! to be needed, or the other way round. One that was the other way round is *weak* if chance may have made it; who had to be let
//! go on by somebody, at a lock or by a wake, waits as in the base. One that the base does not show is as weak unless most runs show
//! it.

use crate::across::align::Map;
use crate::across::outline::Outline;
use crate::clocks::Clocks;
use crate::graph::dependency::{Dependencies, Moment, Point, Stage};
use foldhash::fast::FixedState;
use foldhash::{HashMap, HashSet};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, Hash, Hasher};
use syn_plan::{Guarantee, Rule};
use syn_trace::Run;
use syn_trace::reader::Event;

/// A run beside the base.
#[derive(Debug)]
pub struct OtherRun<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its time axis.
    pub clocks: Clocks,
    /// What corresponds to what.
    pub map: Map,
    /// By dependency: whether it was seen there.
    seen: Vec<bool>,
}

/// The dependencies of the base, behind them those that only others have.
#[derive(Debug)]
pub struct Comparison<'a> {
    base: (&'a Run, &'a Clocks, &'a Outline),
    dependencies: Dependencies,
    of_base: ByTarget,
    /// Those behind the base's, by what [`key`] says of each.
    others_own: HashMap<u64, u32>,
    /// Where the base has a dependency of a rule: what only another run shows is not needed there.
    awaited: HashSet<(Rule, Point)>,
    others: Vec<OtherRun<'a>>,
}

/// A dependency of another run, as it would be in the base; their times are not known.
#[derive(Debug, Default)]
struct MomentsInBase {
    sources: Vec<Moment>,
    targets: Vec<Moment>,
}

/// The base's dependencies by the first point that waits, thread by thread and in program order: runs show them in nearly the same
/// order, so that the next one to be looked up in a thread mostly stands behind the one before. Those of one record stand in the
/// order of their first sources, and of rules.
#[derive(Debug)]
struct ByTarget {
    /// The record, the dependency.
    threads: Vec<Vec<(u32, u32)>>,
    count: usize,
}

impl ByTarget {
    fn new(dependencies: &Dependencies, threads: usize) -> ByTarget {
        let mut by_thread = vec![Vec::new(); threads];
        for index in 0..dependencies.len() {
            let Point { thread, record, .. } = first_point(dependencies.targets(index));
            by_thread[thread as usize].push((record, index as u32));
        }
        by_thread.par_iter_mut().for_each(|of_thread: &mut Vec<(u32, u32)>| {
            of_thread.sort_by(|one, other| {
                let place = |index| ByTarget::place_at_record(dependencies, index);
                one.0.cmp(&other.0).then_with(|| place(one.1).cmp(&place(other.1)))
            });
        });
        ByTarget { threads: by_thread, count: dependencies.len() }
    }

    fn place_at_record(dependencies: &Dependencies, index: u32) -> (Point, Rule) {
        (first_point(dependencies.sources(index as usize)), dependencies.rule(index as usize))
    }

    /// Which one says the same. `hints` has a place for each thread: where the next one is looked for first.
    fn find(
        &self,
        dependencies: &Dependencies,
        rule: Rule,
        sources: &[Moment],
        targets: &[Moment],
        hints: &mut [usize],
    ) -> Option<u32> {
        let Point { thread, record, .. } = first_point(targets);
        let (of_thread, hint) = (&self.threads[thread as usize], &mut hints[thread as usize]);
        let says_the_same = |&(at, index): &(u32, u32)| {
            let index = index as usize;
            at == record
                && dependencies.rule(index) == rule
                && are_same(dependencies.sources(index), sources)
                && are_same(dependencies.targets(index), targets)
        };
        if !of_thread.get(*hint).is_some_and(says_the_same) {
            let wanted = (first_point(sources), rule);
            let place_of = |index| ByTarget::place_at_record(dependencies, index);
            let first = of_thread
                .partition_point(|&(at, index)| at < record || at == record && place_of(index) < wanted);
            let mut alike = of_thread[first..]
                .iter()
                .take_while(|&&(at, index)| at == record && place_of(index) == wanted);
            *hint = first + alike.position(says_the_same)?;
        }
        *hint += 1;
        Some(of_thread[*hint - 1].1)
    }
}

fn first_point(moments: &[Moment]) -> Point {
    moments.iter().map(Moment::point).min().expect("a dependency has sources and targets")
}

/// Whether two lists have the same points, in whatever order.
fn are_same(some: &[Moment], others: &[Moment]) -> bool {
    if let ([one], [other]) = (some, others) {
        return one.point() == other.point();
    }
    some.len() == others.len() && in_order(some) == in_order(others)
}

fn in_order(moments: &[Moment]) -> Vec<Point> {
    let mut points: Vec<Point> = moments.iter().map(Moment::point).collect();
    points.sort_unstable();
    points
}

/// Dependencies of another run that are looked up together.
const AT_ONCE: usize = 1 << 12;

/// What came out.
#[derive(Debug)]
pub struct Compared<'a> {
    /// With how often each was seen. The weak ones are not among them, unless asked for.
    pub dependencies: Dependencies,
    /// By rule: how many of the base are weak.
    pub weak: BTreeMap<Rule, u64>,
    /// By rule: how many were only seen in other runs.
    pub added: BTreeMap<Rule, u64>,
    /// The other runs.
    pub others: Vec<OtherRun<'a>>,
}

impl<'a> Comparison<'a> {
    /// Begins with what the base shows.
    pub fn new(run: &'a Run, clocks: &'a Clocks, outline: &'a Outline, dependencies: Dependencies) -> Self {
        let mut awaited = HashSet::default();
        for index in 0..dependencies.len() {
            let rule = dependencies.rule(index);
            if rule.guarantee() == Guarantee::Observed {
                awaited.extend(dependencies.targets(index).iter().map(|target| (rule, target.point())));
            }
        }
        let of_base = ByTarget::new(&dependencies, run.threads.len());
        let others_own = HashMap::default();
        Comparison {
            base: (run, clocks, outline),
            dependencies,
            of_base,
            others_own,
            awaited,
            others: Vec::new(),
        }
    }

    /// Takes note of what another run shows.
    pub fn add(&mut self, run: &'a Run, clocks: Clocks, outline: &Outline, map: Map, found: &Dependencies) {
        let mut seen = vec![false; self.dependencies.len()];
        let mut moments = MomentsInBase::default();
        let chunks = (0..found.len()).into_par_iter().step_by(AT_ONCE);
        let looked_up: Vec<(Vec<u32>, Vec<usize>)> =
            chunks.map(|first| self.look_up(outline, &map, found, first)).collect();
        let (known, new): (Vec<_>, Vec<_>) = looked_up.into_iter().unzip();
        known.into_iter().flatten().for_each(|index| seen[index as usize] = true);
        // What was chance in another run is no order here.
        for index in new.into_iter().flatten().filter(|&index| !found.is_chance(index)) {
            let rule = found.rule(index);
            if !self.moments_in_base(outline, &map, found, index, &mut moments) {
                continue;
            }
            let MomentsInBase { sources, targets } = &moments;
            match self.others_own.entry(key(rule, sources, targets)) {
                Entry::Occupied(known) => seen[*known.get() as usize] = true,
                Entry::Vacant(new) => {
                    let is_needed = rule.guarantee() == Guarantee::Observed
                        && !targets.iter().any(|target| self.awaited.contains(&(rule, target.point())));
                    let before = self.dependencies.len();
                    if is_needed {
                        self.dependencies.add(rule, sources, targets);
                    }
                    if self.dependencies.len() > before {
                        new.insert(before as u32);
                        seen.push(true);
                    }
                }
            }
        }
        self.others.push(OtherRun { run, clocks, map, seen });
    }

    /// Of some dependencies of another run, from this one on: which of those known so far they are; and those that are new,
    /// or come more than once and were new the first time.
    fn look_up(
        &self,
        outline: &Outline,
        map: &Map,
        found: &Dependencies,
        first: usize,
    ) -> (Vec<u32>, Vec<usize>) {
        let (mut known, mut new, mut moments) = (Vec::new(), Vec::new(), MomentsInBase::default());
        let mut hints = vec![0; self.of_base.threads.len()];
        for index in first..found.len().min(first + AT_ONCE) {
            if self.moments_in_base(outline, map, found, index, &mut moments) {
                let MomentsInBase { sources, targets } = &moments;
                let rule = found.rule(index);
                let of_base = self.of_base.find(&self.dependencies, rule, sources, targets, &mut hints);
                match of_base.or_else(|| self.others_own.get(&key(rule, sources, targets)).copied()) {
                    Some(dependency) => known.push(dependency),
                    None => new.push(index),
                }
            }
        }
        (known, new)
    }

    /// Where a dependency of another run would be in the base. False if not all of it is there.
    fn moments_in_base(
        &self,
        outline: &Outline,
        map: &Map,
        found: &Dependencies,
        index: usize,
        moments: &mut MomentsInBase,
    ) -> bool {
        let in_base = |moments: &[Moment], into: &mut Vec<Moment>| {
            into.clear();
            into.extend(moments.iter().map_while(|moment| self.point_in_base(outline, map, moment.point())));
            into.len() == moments.len()
        };
        in_base(found.sources(index), &mut moments.sources)
            && in_base(found.targets(index), &mut moments.targets)
    }

    /// Its time is not known yet.
    fn point_in_base(&self, outline: &Outline, map: &Map, point: Point) -> Option<Moment> {
        let point = map.to_base(outline.threads[point.thread as usize].plain(point))?;
        Some(Moment::new(self.base.2.threads[point.thread as usize].nested(point), 0))
    }

    /// Says of every dependency in how many runs it was seen and could have been; leaves out the weak ones, unless `keep_weak`.
    pub fn finish(mut self, keep_weak: bool) -> Compared<'a> {
        let weak = self.judge();
        let of_base = self.of_base.count;
        let mut compared = Compared {
            dependencies: Dependencies::default(),
            weak: BTreeMap::new(),
            added: BTreeMap::new(),
            others: Vec::new(),
        };
        for (index, &weak) in weak.iter().enumerate() {
            let rule = self.dependencies.rule(index);
            match (index < of_base, weak) {
                (true, true) => *compared.weak.entry(rule).or_default() += 1,
                (false, false) => *compared.added.entry(rule).or_default() += 1,
                _ => {}
            }
        }
        // A weak one that the base does not show contradicts the base.
        let mut index = 0;
        self.dependencies.retain(|_, _, _| {
            index += 1;
            !weak[index - 1] || keep_weak && index <= of_base
        });
        compared.dependencies = self.dependencies;
        compared.others = self.others;
        compared
    }

    /// By dependency: whether it is weak.
    fn judge(&mut self) -> Vec<bool> {
        let (count, of_base) = (self.dependencies.len(), self.of_base.count);
        let mut weak = vec![false; count];
        let (mut seen, mut possible) = (vec![1u32; count], vec![1u32; count]);
        seen[of_base..].fill(0);
        let (run, clocks, outline) = self.base;
        let extra = of_base..count;
        let points = |index: usize| {
            let moments = [self.dependencies.sources(index), self.dependencies.targets(index)];
            moments.map(|moments| moments.iter().map(|moment| moment.point()).collect::<Vec<_>>())
        };
        let plain = |point: Point| outline.threads[point.thread as usize].plain(point);
        let wanted: Vec<_> = extra
            .clone()
            .map(|index| (index, points(index).map(|list| list.into_iter().map(plain).collect())))
            .collect();
        let times = Times::of(run, clocks, &wanted);
        wanted.iter().for_each(|(index, points)| weak[*index] |= times.contradict(points));
        for other in &self.others {
            let mut wanted = Vec::new();
            for index in 0..count {
                if other.seen.get(index).copied().unwrap_or(false) {
                    (seen[index], possible[index]) = (seen[index] + 1, possible[index] + 1);
                    continue;
                }
                let there = |list: Vec<Point>| -> Option<Vec<Point>> {
                    list.into_iter().map(|point| other.map.to_other(plain(point))).collect()
                };
                let [sources, targets] = points(index);
                if let (Some(sources), Some(targets)) = (there(sources), there(targets)) {
                    possible[index] += 1;
                    if self.dependencies.rule(index).guarantee() == Guarantee::Observed {
                        wanted.push((index, [sources, targets]));
                    }
                }
            }
            let times = Times::of(other.run, &other.clocks, &wanted);
            wanted.iter().for_each(|(index, points)| weak[*index] |= times.contradict(points));
        }
        let ns = |moment: &Moment| Some(times.0.get(&plain(moment.point()))?.to_owned());
        self.dependencies.retime_from(extra.start, ns);
        for index in 0..count {
            if index < of_base && !may_be_chance(self.dependencies.rule(index)) {
                weak[index] = false;
            }
            self.dependencies.set_evidence(index, seen[index], possible[index]);
            weak[index] |= index >= of_base && 2 * seen[index] <= possible[index];
        }
        weak
    }
}

/// True where the order may be chance. By all other rules somebody had to let the other go on: in another run it may have been a
/// third, as where threads take turns or share work, but a replay without any order would not wait at all.
fn may_be_chance(rule: Rule) -> bool {
    matches!(rule, Rule::FileCreate | Rule::FileData | Rule::Rendezvous | Rule::Throttled)
}

/// Stands for what two runs must have in common to show the same dependency.
fn key(rule: Rule, sources: &[Moment], targets: &[Moment]) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    rule.hash(&mut hasher);
    let add = |Point { thread, record, stage }: Point, hasher: &mut _| {
        (thread, record, stage as u8).hash(hasher);
    };
    for moments in [sources, targets] {
        if let [moment] = moments {
            add(moment.point(), &mut hasher);
        } else {
            in_order(moments).into_iter().for_each(|point| add(point, &mut hasher));
        }
        u8::MAX.hash(&mut hasher);
    }
    hasher.finish()
}

/// When some points of a run were reached, nanoseconds on its time axis.
struct Times(HashMap<Point, u64>);

impl Times {
    /// Goes through the threads that have any. The points are as [`crate::across::outline::Events::plain`] gives them.
    fn of(run: &Run, clocks: &Clocks, wanted: &[(usize, [Vec<Point>; 2])]) -> Times {
        let mut points: Vec<Point> =
            wanted.iter().flat_map(|(_, lists)| lists.iter().flatten().copied()).collect();
        points.sort_unstable();
        points.dedup();
        let threads: Vec<&[Point]> = points.chunk_by(|one, other| one.thread == other.thread).collect();
        let of_thread = |points: &&[Point]| {
            let thread = points[0].thread as usize;
            let trace = &run.threads[thread];
            let (mut events, mut event, mut record) = (trace.events(), Event::NOTHING, 0u32);
            let mut found = Vec::with_capacity(points.len());
            let mut points = points.iter().peekable();
            while points.peek().is_some() && events.next_times_into(&mut event) {
                while let Some(&point) = points.next_if(|point| point.record == record) {
                    let ns = match point.stage {
                        Stage::Around => trace.clock.start_ns.max(0.0) as u64,
                        Stage::Enter => trace.start_ns(&event),
                        Stage::Leave => trace.returned_ns(&event),
                    };
                    found.push((point, clocks.ns(thread, ns)));
                }
                record += 1;
            }
            found
        };
        Times(threads.par_iter().flat_map_iter(of_thread).collect())
    }

    /// Whether something that is to wait was over before something that it waits for had begun.
    fn contradict(&self, [sources, targets]: &[Vec<Point>; 2]) -> bool {
        let latest = sources.iter().filter_map(|point| self.0.get(point)).max();
        let earliest = targets.iter().filter_map(|point| self.0.get(point)).min();
        latest.zip(earliest).is_some_and(|(source_ns, target_ns)| target_ns < source_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_searched_by_what_waits() {
        let moment = |thread, record| Moment::new(Point { thread, record, stage: Stage::Leave }, 0);
        let mut base = Dependencies::default();
        let (all, waiting) = ([moment(0, 9), moment(1, 9), moment(2, 9)], [moment(2, 8), moment(1, 8)]);
        // Three messages that one call waits for, not in the order of their senders; a message and a collective operation behind them.
        for source in [moment(2, 4), moment(0, 3), moment(0, 5)] {
            base.add_one(Rule::Message, source, moment(1, 6));
        }
        base.add_one(Rule::Message, moment(0, 7), moment(1, 7));
        base.add(Rule::Collective, &all, &waiting);
        let by_target = ByTarget::new(&base, 3);
        let mut hints = vec![0; 3];
        let mut find = |rule, sources: &[Moment], targets: &[Moment]| {
            by_target.find(&base, rule, sources, targets, &mut hints)
        };
        for (from, to, found) in [
            (moment(0, 7), moment(1, 7), Some(3)),
            (moment(0, 5), moment(1, 6), Some(2)),
            (moment(2, 4), moment(1, 6), Some(0)),
            (moment(0, 3), moment(1, 6), Some(1)),
            (moment(0, 4), moment(1, 6), None),
            (moment(0, 3), moment(1, 7), None),
            (moment(0, 3), moment(2, 6), None),
            (moment(0, 5), moment(1, 6), Some(2)),
        ] {
            assert_eq!(find(Rule::Message, &[from], &[to]), found, "{from:?} {to:?}");
        }
        let turned = [waiting[1], waiting[0]];
        assert_eq!(find(Rule::Collective, &[all[2], all[0], all[1]], &turned), Some(4));
        assert_eq!(find(Rule::Collective, &all[..2], &turned), None);
        assert_eq!(find(Rule::Message, &all, &turned), None);
    }
}
