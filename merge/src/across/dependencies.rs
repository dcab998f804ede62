//! In which runs a dependency of the base holds, and dependencies that only other runs show.
//!
//! What the kernel or a standard guarantees holds in every run, and the base shows all of it. What was merely observed is
//! compared: where a call and the one it came after correspond to calls of another run, the order is the same there, not known
//! to be needed, or the other way round. One that was the other way round is *weak*: chance may have made it; but locks keep the
//! turns that the base shows. One that the base does not show is as weak unless most runs show it.

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
    of_base: usize,
    /// By what [`key`] says of it: the dependency.
    known: HashMap<u64, u32>,
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
        let (mut known, mut awaited) = (HashMap::default(), HashSet::default());
        for index in 0..dependencies.len() {
            let rule = dependencies.rule(index);
            known
                .entry(key(rule, dependencies.sources(index), dependencies.targets(index)))
                .or_insert(index as u32);
            if rule.guarantee() == Guarantee::Observed {
                awaited.extend(dependencies.targets(index).iter().map(|target| (rule, target.point())));
            }
        }
        let of_base = dependencies.len();
        Comparison { base: (run, clocks, outline), dependencies, of_base, known, awaited, others: Vec::new() }
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
        for index in new.into_iter().flatten() {
            let rule = found.rule(index);
            if !self.moments_in_base(outline, &map, found, index, &mut moments) {
                continue;
            }
            let MomentsInBase { sources, targets } = &moments;
            match self.known.entry(key(rule, sources, targets)) {
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
        for index in first..found.len().min(first + AT_ONCE) {
            if self.moments_in_base(outline, map, found, index, &mut moments) {
                match self.known.get(&key(found.rule(index), &moments.sources, &moments.targets)) {
                    Some(&dependency) => known.push(dependency),
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
        let of_base = self.of_base;
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
        let count = self.dependencies.len();
        let mut weak = vec![false; count];
        let (mut seen, mut possible) = (vec![1u32; count], vec![1u32; count]);
        seen[self.of_base..].fill(0);
        let (run, clocks, outline) = self.base;
        let extra = self.of_base..count;
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
            if index < self.of_base && takes_turns(self.dependencies.rule(index)) {
                weak[index] = false;
            }
            self.dependencies.set_evidence(index, seen[index], possible[index]);
            weak[index] |= index >= self.of_base && 2 * seen[index] <= possible[index];
        }
        weak
    }
}

/// True where one waits for the other whichever comes first: in another run they may have come the other way round, but a
/// replay without any order would let both in at once.
fn takes_turns(rule: Rule) -> bool {
    matches!(rule, Rule::Mutex | Rule::Rwlock | Rule::Semaphore | Rule::FileLock | Rule::Ipc)
}

/// What two runs must have in common to show the same dependency.
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
            let mut points: Vec<Point> = moments.iter().map(|moment| moment.point()).collect();
            points.sort_unstable();
            points.into_iter().for_each(|point| add(point, &mut hasher));
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
            while points.peek().is_some() && events.next_into(&mut event) {
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
