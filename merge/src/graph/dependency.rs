//! Places in threads, and which of them wait for which.

use std::collections::HashMap;
use std::ops::Range;
use syn_plan::Rule;

/// Where in the handling of a record a [`Point`] lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// A call that encloses this record, the first one inside it, is entered.
    Around,
    /// The record's own call is entered.
    Enter,
    /// The call returns; of one that waits, the moment at which what it waited for has happened.
    Leave,
}

/// A place in a thread. Points of one thread compare in program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// Index into the run's threads.
    pub thread: u32,
    /// How many records of the thread precede.
    pub record: u32,
    /// Before or after that record's call.
    pub stage: Stage,
}

/// A point, and when it was reached. 16 bytes: a run has two for every message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, packed(4))]
pub struct Moment {
    /// The thread, times [`STAGES`], and the stage.
    thread_and_stage: u32,
    record: u32,
    /// Nanoseconds on the time axis of the merge.
    pub ns: u64,
}

const STAGES: u32 = 4;

impl Moment {
    /// The point, reached then.
    #[inline]
    pub fn new(point: Point, ns: u64) -> Moment {
        debug_assert!(point.thread < u32::MAX / STAGES, "no run has a thousand million threads");
        Moment { thread_and_stage: point.thread * STAGES + point.stage as u32, record: point.record, ns }
    }

    /// The place.
    #[inline]
    pub fn point(&self) -> Point {
        let stage = match self.thread_and_stage % STAGES {
            0 => Stage::Around,
            1 => Stage::Enter,
            _ => Stage::Leave,
        };
        Point { thread: self.thread_and_stage / STAGES, record: self.record, stage }
    }
}

/// A call, from its entry to its return.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// When it was entered.
    pub enter: Moment,
    /// When it returned.
    pub leave: Moment,
}

impl Span {
    /// Whether another thread did something then, before the call returned.
    pub fn is_interrupted_at(&self, at: Moment) -> bool {
        self.enter.ns < at.ns && at.ns <= self.leave.ns && at.point().thread != self.enter.point().thread
    }
}

/// "Every target waits for every source": one counter of the plan.
#[derive(Clone, Copy, Debug)]
struct Dependency {
    /// The position of its first moment.
    first: u32,
    sources: u32,
    targets: u32,
    rule: Rule,
    /// In how many runs it was seen, and in how many it could have been; 255 stands for more.
    seen: u8,
    possible: u8,
    /// It explains waiting, and no target is to wait for it.
    is_chance: bool,
}

impl Dependency {
    /// The positions of its moments, sources first.
    fn moments(&self) -> Range<usize> {
        let first = self.first as usize;
        first..first + self.sources as usize + self.targets as usize
    }
}

/// All dependencies of a run, in the order in which they were found. One takes 16 bytes and 16 for each of its
/// moments, of which there are less than 2³².
#[derive(Debug, Default)]
pub struct Dependencies {
    list: Vec<Dependency>,
    moments: Vec<Moment>,
    held: HeldBack,
}

/// By thread and record: for how long what a call waited for was held back after it had been sent, nanoseconds.
pub type HeldBack = HashMap<(u32, u32), u64>;

impl Dependencies {
    /// Adds one, unless program order alone demands it.
    pub fn add(&mut self, rule: Rule, sources: &[Moment], targets: &[Moment]) {
        let by_program_order = |target: &Moment| {
            sources.iter().all(|source| {
                source.point().thread == target.point().thread && source.point() <= target.point()
            })
        };
        if targets.iter().all(by_program_order) {
            return;
        }
        self.push(rule, sources, targets, false);
    }

    fn push(&mut self, rule: Rule, sources: &[Moment], targets: &[Moment], is_chance: bool) {
        let first = position(self.moments.len());
        self.moments.extend_from_slice(sources);
        self.moments.extend_from_slice(targets);
        self.list.push(Dependency {
            first,
            sources: sources.len() as u32,
            targets: targets.len() as u32,
            rule,
            seen: 1,
            possible: 1,
            is_chance,
        });
    }

    /// `target` waits for `source`.
    pub fn add_one(&mut self, rule: Rule, source: Moment, target: Moment) {
        self.add(rule, &[source], &[target]);
    }

    /// `target` waited for `source`, of another thread, which came first by chance.
    pub fn add_chance(&mut self, rule: Rule, source: Moment, target: Moment) {
        self.push(rule, &[source], &[target], true);
    }

    /// What the call that returns at `leave` waited for had been sent so long before, and was on its way.
    pub fn hold(&mut self, leave: Moment, ns: u64) {
        let Point { thread, record, .. } = leave.point();
        self.held.insert((thread, record), ns);
    }

    /// Takes out which calls waited for what was on its way.
    pub fn take_held(&mut self) -> HeldBack {
        std::mem::take(&mut self.held)
    }

    /// Whether targets waited by chance, and need not again.
    #[inline]
    pub fn is_chance(&self, index: usize) -> bool {
        self.list[index].is_chance
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The rule that found dependency `index`.
    pub fn rule(&self, index: usize) -> Rule {
        self.list[index].rule
    }

    /// The positions of its sources in [`Dependencies::moments`].
    #[inline]
    pub fn source_range(&self, index: usize) -> Range<usize> {
        let Dependency { first, sources, .. } = self.list[index];
        first as usize..first as usize + sources as usize
    }

    /// The positions of its targets in [`Dependencies::moments`].
    #[inline]
    pub fn target_range(&self, index: usize) -> Range<usize> {
        let all = self.moment_range(index);
        all.start + self.list[index].sources as usize..all.end
    }

    /// The positions of its sources and its targets in [`Dependencies::moments`].
    #[inline]
    pub fn moment_range(&self, index: usize) -> Range<usize> {
        self.list[index].moments()
    }

    /// What it waits for.
    pub fn sources(&self, index: usize) -> &[Moment] {
        &self.moments[self.source_range(index)]
    }

    /// What waits.
    pub fn targets(&self, index: usize) -> &[Moment] {
        &self.moments[self.target_range(index)]
    }

    /// Every moment, those of one dependency next to each other.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// Moves every moment on the time axis: `ns` says where a thread's time goes.
    pub fn retime(&mut self, ns: impl Fn(u32, u64) -> u64) {
        for moment in &mut self.moments {
            moment.ns = ns(moment.point().thread, moment.ns);
        }
    }

    /// Sets the time of every moment of the dependencies from `first` on, where `ns` knows it.
    pub fn retime_from(&mut self, first: usize, ns: impl Fn(&Moment) -> Option<u64>) {
        for dependency in &self.list[first..] {
            for moment in &mut self.moments[dependency.moments()] {
                moment.ns = ns(moment).unwrap_or(moment.ns);
            }
        }
    }

    /// In how many runs dependency `index` was seen, and in how many it could have been.
    pub fn evidence(&self, index: usize) -> (u16, u16) {
        (self.list[index].seen.into(), self.list[index].possible.into())
    }

    /// Sets the same.
    pub fn set_evidence(&mut self, index: usize, seen: u32, possible: u32) {
        let byte = |count: u32| count.min(u8::MAX.into()) as u8;
        (self.list[index].seen, self.list[index].possible) = (byte(seen), byte(possible));
    }

    /// Forgets those for which `keep(rule, sources, targets)` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(Rule, &[Moment], &[Moment]) -> bool) {
        let moments = &self.moments;
        self.list.retain(|dependency| {
            let (sources, targets) = moments[dependency.moments()].split_at(dependency.sources as usize);
            keep(dependency.rule, sources, targets)
        });
    }

    /// Takes out the moments of threads for which `keep` is false, and what is left without a source or a target.
    pub fn retain_threads(&mut self, keep: impl Fn(u32) -> bool) {
        let moments = &mut self.moments;
        self.list.retain_mut(|dependency| {
            let range = dependency.moments();
            let last_source = range.start + dependency.sources as usize;
            let (mut free, mut sources) = (range.start, 0);
            for place in range.clone() {
                if keep(moments[place].point().thread) {
                    moments[free] = moments[place];
                    free += 1;
                    sources += u32::from(place < last_source);
                }
            }
            dependency.sources = sources;
            dependency.targets = (free - range.start) as u32 - sources;
            dependency.sources > 0 && dependency.targets > 0
        });
    }

    /// Appends all of `others`.
    pub fn append(&mut self, others: Dependencies) {
        let offset = self.moments.len();
        self.moments.extend(others.moments);
        let moved = |dependency: Dependency| Dependency {
            first: position(dependency.first as usize + offset),
            ..dependency
        };
        self.list.extend(others.list.into_iter().map(moved));
        self.held.extend(others.held);
    }
}

/// A position among the moments.
fn position(place: usize) -> u32 {
    u32::try_from(place).expect("a run has less than 2^32 moments that depend on each other")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(thread: u32, record: u32, ns: u64) -> Moment {
        Moment::new(Point { thread, record, stage: Stage::Enter }, ns)
    }

    #[test]
    fn program_order_needs_no_dependency() {
        let mut all = Dependencies::default();
        all.add_one(Rule::Message, moment(0, 1, 10), moment(0, 2, 20));
        assert_eq!(all.len(), 0);
        all.add_one(Rule::Message, moment(0, 1, 10), moment(1, 2, 20));
        assert_eq!(
            (all.len(), all.sources(0), all.targets(0)),
            (1, &[moment(0, 1, 10)][..], &[moment(1, 2, 20)][..])
        );
    }

    #[test]
    fn threads_can_be_taken_out() {
        let mut all = Dependencies::default();
        let (sources, targets) =
            ([moment(0, 1, 1), moment(1, 1, 2)], [moment(0, 2, 3), moment(1, 2, 4), moment(2, 2, 5)]);
        all.add(Rule::Collective, &sources, &targets);
        all.add_one(Rule::Message, moment(0, 3, 6), moment(2, 3, 7));
        all.retain_threads(|thread| thread != 0);
        assert_eq!((all.len(), all.sources(0), all.targets(0)), (1, &sources[1..], &targets[1..]));
    }

    #[test]
    fn appended_ones_keep_their_moments() {
        let (mut first, mut second) = (Dependencies::default(), Dependencies::default());
        first.add_one(Rule::Message, moment(0, 1, 10), moment(1, 1, 20));
        second.add(Rule::Collective, &[moment(0, 2, 30), moment(1, 2, 31)], &[moment(2, 2, 40)]);
        first.append(second);
        first.retain(|rule, _, _| rule == Rule::Collective);
        assert_eq!((first.len(), first.sources(0).len(), first.targets(0)), (1, 2, &[moment(2, 2, 40)][..]));
    }
}
