//! How long computation usually takes: of several runs, the one in the middle, stretch by stretch.
//!
//! A stretch is a part of the base's time on one host, so long that its threads compute for [`STRETCH_NS`] each. Taking the median gap
//! by gap would be too little: what is slow now and then, as a page fault is, is slow in every run, each time elsewhere.
//! Interrupts come every few milliseconds in every run, so a stretch is 10 ms: long enough that each run has its usual share of
//! them in it. What disturbs a run for a while disturbs whole stretches of it, and of one run only.
//!
//! Where runs do things in another order, or on another thread of a pool, there is no telling what a gap of one is in another. What a host's threads
//! took for all such gaps is compared as a whole: each of them is longer or shorter by one factor, not by that of its neighbours, of which there may be few.
//!
//! What disturbs every run about once a second, each time elsewhere, is missing in the stretches in the middle: they add up to less than
//! any run took. So a hundred stretches together take what the run in the middle took for them, and each of them its part of that.
//! So do those of a program that is shorter, unless that is much more: then each run was disturbed once, which is left out.
//!
//! In a stretch all threads of a host take what they took in the same run, the one in the middle by their sum: what makes one slow for
//! a while, a processor that is lent to others or is hot, makes its neighbours slow too, and they stay in step. The median of each
//! thread for itself would be of this run for one and of that for the next, so that ranks wait that never did.

use crate::across::align::{Block, Map};
use crate::across::outline::Outline;
use crate::connect::Connected;
use crate::load::Recorded;
use rayon::prelude::*;
use std::collections::BTreeMap;
use syn_trace::Run;
use syn_trace::reader::Event;
use syn_trace::run::{Measured, Measures, Segment};

/// So much CPU time of each thread of the base makes a stretch, nanoseconds.
const STRETCH_NS: u64 = 10_000_000;
/// Time is cut into slots, and a stretch is one or more of them. They are longer where there would be more of a thread than
/// [`MOST_SLOTS`], or more of all threads and runs than [`MOST_SUMS`].
const SLOT_NS: u64 = 10_000_000;
const MOST_SLOTS: u64 = 8192;
const LEAST_SLOTS: u64 = 64;
const MOST_SUMS: u64 = 1 << 22;
/// So many stretches, or up to twice as many, take together what they take in the run in the middle. Fewer do if that is at most so many times
/// as much as what each takes usually.
const TOGETHER: usize = 100;
const FEW_TAKE_MORE: f32 = 1.05;
/// A thread counts in a slot if it computes for this part of it.
const BUSY_PART: u64 = 16;
/// Of less CPU time or waiting than this in a stretch nothing is concluded, nanoseconds.
const LEAST_NS: u64 = 100_000;
/// A run counts if so much of it is like the base, in percent, and each of its threads if so much of that is.
const LEAST_ALIKE: usize = 50;
/// No stretch becomes longer or shorter than by this factor.
const MOST_FACTOR: f64 = 16.0;

/// A stretch of a thread, and by what factors its computation and waiting are longer in the usual run than in the base.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Nanoseconds since the start of the base.
    end_ns: u64,
    cpu: f32,
    waited: f32,
}

/// By thread of the base: its stretches, none where it was compared with no other run. 16 bytes for each.
#[derive(Debug, Default)]
pub struct Durations(Vec<Vec<Stretch>>);

/// CPU time and waiting of a run.
type Sum = (u64, u64);

impl Durations {
    /// Compares the base with other runs by the threads of the plan.
    pub fn of(
        base: &Recorded,
        connected: &Connected,
        outline: &Outline,
        others: &[(&Run, &Map)],
    ) -> Durations {
        let run = &base.run;
        let threads: Vec<usize> =
            (0..run.threads.len()).filter(|&thread| connected.in_plan[thread]).collect();
        let others: Vec<_> = others.iter().filter(|(_, map)| is_alike(map, outline, &threads)).collect();
        if others.is_empty() {
            return Durations::default();
        }
        let runs = others.len() + 1;
        // By host, whose clocks are not aligned here.
        let clocks = &connected.clocks;
        let mut starts: BTreeMap<usize, u64> = BTreeMap::new();
        for &thread in &threads {
            let start_ns = run.threads[thread].clock.start_ns.max(0.0) as u64;
            let first_ns = starts.entry(clocks.host(thread)).or_insert(start_ns);
            *first_ns = start_ns.min(*first_ns);
        }
        let most = (MOST_SUMS / (threads.len() * runs).max(1) as u64).clamp(LEAST_SLOTS, MOST_SLOTS);
        let slot_ns = SLOT_NS.max(base.elapsed_ns.div_ceil(most));
        let cut = |host: usize| Cut { since_ns: starts[&host], slot_ns, slots: most };
        let among = threads.len() * runs;
        let of_thread = |&thread: &usize| {
            let cursors = others.iter().map(|(run, map)| Cursor::new(run, map, thread, among));
            let cursors: Vec<Option<Cursor<'_>>> = cursors.collect();
            let mut slots = Slots::new(cut(clocks.host(thread)), runs);
            if cursors.iter().any(Option::is_some) {
                gather(run, thread, among, cursors, &mut slots);
            }
            slots
        };
        let slots: Vec<Slots> = threads.par_iter().map(of_thread).collect();
        let mut hosts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, &thread) in threads.iter().enumerate() {
            hosts.entry(clocks.host(thread)).or_default().push(place);
        }
        let mut stretches = vec![Vec::new(); run.threads.len()];
        for (&host, places) in &hosts {
            let of_host: Vec<&Slots> = places.iter().map(|&place| &slots[place]).collect();
            let parts = parts(&of_host, cut(host), runs);
            let beside = beside(&of_host, runs);
            for &place in places {
                stretches[threads[place]] = slots[place].stretches(&parts, beside);
            }
        }
        Durations(stretches)
    }

    /// What a thread's gap takes usually. `next` is the thread's place among its stretches, which goes on with its gaps.
    pub fn usual(&self, thread: usize, next: &mut usize, gap: Segment) -> Segment {
        let Some(stretches) = self.0.get(thread).filter(|_| gap.inside.is_none()) else { return gap };
        while stretches.get(*next).is_some_and(|stretch| stretch.end_ns <= gap.start_ns) {
            *next += 1;
        }
        let (cpu, waited) = factors(&stretches[*next..], &gap);
        let scaled = |ns: u64, factor: f64| (ns as f64 * factor).round() as u64;
        let (cpu_ns, waited_ns) = (scaled(gap.cpu_ns, cpu), scaled(gap.waited_ns, waited));
        let rest_ns = gap.wall_ns.saturating_sub(gap.cpu_ns).saturating_sub(gap.waited_ns);
        let wall_ns = rest_ns.saturating_add(cpu_ns).saturating_add(waited_ns);
        Segment { wall_ns, cpu_ns, waited_ns, ..gap }
    }
}

/// Whether most of what a run did is what the base did: another one says nothing of its times.
fn is_alike(map: &Map, outline: &Outline, threads: &[usize]) -> bool {
    let counts = threads.iter().map(|&thread| map.agreement(thread, outline));
    let (alike, of) = counts.fold((0, 0), |sum, (alike, of)| (sum.0 + alike, sum.1 + of));
    alike > 0 && alike * 100 >= of * LEAST_ALIKE
}

/// By what factors a gap's computation and waiting are longer: each stretch counts for as much of the gap as lies in it, what lies
/// behind the last one as in the base. The gap begins in the first.
fn factors(stretches: &[Stretch], gap: &Segment) -> (f64, f64) {
    let end_ns = gap.start_ns.saturating_add(gap.wall_ns);
    let (mut cpu, mut waited, mut since_ns) = (0.0, 0.0, gap.start_ns);
    for stretch in stretches {
        let of_stretch = (f64::from(stretch.cpu), f64::from(stretch.waited));
        if since_ns == gap.start_ns && stretch.end_ns >= end_ns {
            return of_stretch;
        }
        let until_ns = stretch.end_ns.min(end_ns);
        let part = (until_ns - since_ns) as f64;
        (cpu, waited, since_ns) = (cpu + of_stretch.0 * part, waited + of_stretch.1 * part, until_ns);
        if until_ns == end_ns {
            break;
        }
    }
    let (rest, whole) = ((end_ns - since_ns) as f64, (end_ns - gap.start_ns).max(1) as f64);
    ((cpu + rest) / whole, (waited + rest) / whole)
}

/// How the base's time is cut into slots.
#[derive(Clone, Copy, Debug)]
struct Cut {
    since_ns: u64,
    slot_ns: u64,
    /// What comes later, as damaged traces may say, counts as the last.
    slots: u64,
}

impl Cut {
    fn slot(&self, ns: u64) -> u64 {
        (ns.saturating_sub(self.since_ns) / self.slot_ns).min(self.slots)
    }

    /// Adds a gap behind others, to the last of them if both lie in one slot.
    fn push(&self, gaps: &mut Vec<Segment>, gap: Segment) {
        let end = |gap: &Segment| gap.start_ns.saturating_add(gap.wall_ns);
        match gaps.last_mut() {
            Some(last) if self.slot(last.start_ns) == self.slot(end(&gap)) => {
                last.wall_ns = last.wall_ns.saturating_add(gap.wall_ns);
                last.cpu_ns = last.cpu_ns.saturating_add(gap.cpu_ns);
                last.waited_ns = last.waited_ns.saturating_add(gap.waited_ns);
            }
            _ => gaps.push(gap),
        }
    }

    fn begin_ns(&self, slot: u64) -> u64 {
        self.since_ns.saturating_add(slot.saturating_mul(self.slot_ns))
    }
}

/// What a thread took from one event to the next where all runs have both, by slot of the base's time and by run, the base first; and
/// behind these what the base took outside of calls in all.
#[derive(Debug)]
struct Slots {
    cut: Cut,
    runs: usize,
    /// The first slot with anything in it.
    first: usize,
    sums: Vec<Sum>,
    /// What each run took outside of calls in all.
    totals: Vec<Sum>,
}

impl Slots {
    fn new(cut: Cut, runs: usize) -> Slots {
        Slots { cut, runs, first: 0, sums: Vec::new(), totals: vec![(0, 0); runs] }
    }

    fn columns(&self) -> usize {
        self.runs + 1
    }

    /// The slot behind the last one.
    fn end(&self) -> usize {
        self.first + self.sums.len() / self.columns()
    }

    /// The sums of a slot.
    fn of_slot(&self, slot: usize) -> Option<&[Sum]> {
        let begin = slot.checked_sub(self.first)? * self.columns();
        self.sums.get(begin..begin + self.columns())
    }

    /// Makes it if it is not there. One before the first, as in a damaged trace, counts as the first.
    fn at(&mut self, slot: u64) -> &mut [Sum] {
        let slot = slot as usize;
        if self.sums.is_empty() {
            self.first = slot;
        }
        let columns = self.columns();
        let begin = slot.saturating_sub(self.first) * columns;
        if self.sums.len() < begin + columns {
            self.sums.resize(begin + columns, (0, 0));
        }
        &mut self.sums[begin..begin + columns]
    }

    /// Adds what the base took in a gap.
    fn add_to_all(&mut self, gap: &Segment) {
        self.add(gap, &[(gap.cpu_ns, gap.waited_ns)], self.runs);
    }

    /// Of all slots: of a run, what it took where all can be compared gap by gap.
    fn of_column(&self, column: usize) -> Sum {
        let mut of_all = (0, 0);
        self.sums.iter().skip(column).step_by(self.columns()).for_each(|&sum| add(&mut of_all, sum));
        of_all
    }

    /// Adds what each run took where the base took these gaps: to each as much as it is of them all.
    fn add_pieces(&mut self, gaps: &[Segment], of_runs: &[Sum]) {
        if let [gap] = gaps {
            return self.add(gap, of_runs, 0);
        }
        let part = |whole: u64, of: u64, all: u64| {
            (u128::from(whole) * u128::from(of) / u128::from(all.max(1))) as u64
        };
        let (all_cpu_ns, all_waited_ns) = of_runs[0];
        let mut of_gap = Vec::with_capacity(of_runs.len());
        for gap in gaps {
            of_gap.clear();
            of_gap.extend(of_runs.iter().map(|&(cpu_ns, waited_ns)| {
                (part(cpu_ns, gap.cpu_ns, all_cpu_ns), part(waited_ns, gap.waited_ns, all_waited_ns))
            }));
            self.add(gap, &of_gap, 0);
        }
    }

    /// Adds what each run took where the base took this gap, to the columns from this one on: to each slot as much as it has of the gap.
    fn add(&mut self, gap: &Segment, of_runs: &[Sum], column: usize) {
        let (first, last) =
            (self.cut.slot(gap.start_ns), self.cut.slot(gap.start_ns.saturating_add(gap.wall_ns)));
        if first == last {
            add_all(&mut self.at(first)[column..], of_runs);
            return;
        }
        for slot in first..=last {
            let [begin_ns, end_ns] = [slot, slot + 1].map(|slot| self.cut.begin_ns(slot));
            // Of a whole, what lies before a moment.
            let before = |whole: u64, ns: u64| {
                let passed_ns = u128::from(ns.saturating_sub(gap.start_ns).min(gap.wall_ns));
                (u128::from(whole) * passed_ns / u128::from(gap.wall_ns.max(1))) as u64
            };
            let part = |whole: u64| {
                let until = if slot == last { whole } else { before(whole, end_ns) };
                until - before(whole, begin_ns).min(until)
            };
            for (sum, of_run) in self.at(slot)[column..].iter_mut().zip(of_runs) {
                add(sum, (part(of_run.0), part(of_run.1)));
            }
        }
    }

    /// The thread's factors in the parts of its host's time, of which `beside` are those of what is not compared gap by gap.
    fn stretches(&self, parts: &[Part], beside: (f32, f32)) -> Vec<Stretch> {
        let mut begin = 0;
        let of_part = |part: &Part| {
            let (mut base, mut usual, mut all) = ((0, 0), (0, 0), (0, 0));
            for of_slot in (begin..part.end).filter_map(|slot| self.of_slot(slot)) {
                add(&mut base, of_slot[0]);
                add(&mut usual, (of_slot[part.cpu].0, of_slot[part.waited].1));
                add(&mut all, of_slot[self.runs]);
            }
            begin = part.end;
            let end_ns = self.cut.begin_ns(part.end as u64);
            let usually = |all: u64, base: u64, usual: u64, together: f32, beside: f32| {
                let scaled = |ns: u64, factor: f32| (ns as f64 * f64::from(factor)).round() as u64;
                factor(all, scaled(usual, together).saturating_add(scaled(all.saturating_sub(base), beside)))
            };
            let cpu = usually(all.0, base.0, usual.0, part.together.0, beside.0);
            let waited = usually(all.1, base.1, usual.1, part.together.1, beside.1);
            Stretch { end_ns, cpu, waited }
        };
        if self.sums.is_empty() { Vec::new() } else { parts.iter().map(of_part).collect() }
    }
}

fn factor(base_ns: u64, usual_ns: u64) -> f32 {
    if base_ns < LEAST_NS {
        return 1.0;
    }
    (usual_ns as f64 / base_ns as f64).clamp(1.0 / MOST_FACTOR, MOST_FACTOR) as f32
}

/// Traces that are damaged may say anything of their times.
fn add(sum: &mut Sum, more: Sum) {
    *sum = (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1));
}

/// By what factors the threads of a host take longer in the run in the middle where runs are not compared gap by gap: CPU time, waiting.
fn beside(threads: &[&Slots], runs: usize) -> (f32, f32) {
    // All of a run less all that is compared: a thread that counts there like the base's may have done less by itself.
    let of_run = |run: usize| {
        let (mut all, mut compared) = ((0, 0), (0, 0));
        for thread in threads {
            add(&mut all, thread.totals[run]);
            add(&mut compared, thread.of_column(run));
        }
        (all.0.saturating_sub(compared.0), all.1.saturating_sub(compared.1))
    };
    let sums: Vec<Sum> = (0..runs).map(of_run).collect();
    let (cpu, waited) = in_the_middle(&sums);
    (factor(sums[0].0, sums[cpu].0), factor(sums[0].1, sums[waited].1))
}

/// Slots of a host's time that make a stretch.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The slot behind the last one.
    end: usize,
    /// The run that has the median of CPU time in it, and that of waiting.
    cpu: usize,
    waited: usize,
    /// By what factors these are longer where the stretches around take what they take together.
    together: (f32, f32),
}

/// Cuts the time of a host's threads into stretches.
fn parts(threads: &[&Slots], cut: Cut, runs: usize) -> Vec<Part> {
    // The slot behind each, and what each run took in it.
    let mut found: Vec<(usize, Vec<Sum>)> = Vec::new();
    let (mut sums, mut most_busy): (Vec<Sum>, u64) = (vec![(0, 0); runs], 1);
    let slots = threads.iter().map(|thread| thread.end()).max().unwrap_or(0);
    for slot in 0..slots {
        let mut busy = 0;
        for of_slot in threads.iter().filter_map(|thread| thread.of_slot(slot)) {
            add_all(&mut sums, of_slot);
            busy += u64::from(of_slot[0].0 >= cut.slot_ns / BUSY_PART);
        }
        most_busy = most_busy.max(busy);
        if sums[0].0 >= most_busy.saturating_mul(STRETCH_NS) {
            found.push((slot + 1, std::mem::replace(&mut sums, vec![(0, 0); runs])));
            most_busy = 1;
        }
    }
    // What is left is too little to be a stretch.
    match found.last_mut() {
        Some((end, last)) => {
            *end = slots;
            add_all(last, &sums);
        }
        None => found.push((slots, sums)),
    }
    let at_once = match found.len() / TOGETHER {
        0 => found.len(),
        times => found.len().div_ceil(times),
    };
    found.chunks(at_once).flat_map(together).collect()
}

/// Some stretches that take together what they take in the run in the middle.
fn together(stretches: &[(usize, Vec<Sum>)]) -> Vec<Part> {
    let mut of_all = vec![(0, 0); stretches[0].1.len()];
    let mut usual = (0, 0);
    let mut parts: Vec<Part> = Vec::with_capacity(stretches.len());
    for (end, sums) in stretches {
        let (cpu, waited) = in_the_middle(sums);
        add(&mut usual, (sums[cpu].0, sums[waited].1));
        add_all(&mut of_all, sums);
        parts.push(Part { end: *end, cpu, waited, together: (1.0, 1.0) });
    }
    let (cpu, waited) = in_the_middle(&of_all);
    let in_all = |usual: u64, of_all: u64| match factor(usual, of_all) {
        more if more > FEW_TAKE_MORE && stretches.len() < TOGETHER => 1.0,
        factor => factor,
    };
    let factors = (in_all(usual.0, of_all[cpu].0), in_all(usual.1, of_all[waited].1));
    parts.iter_mut().for_each(|part| part.together = factors);
    parts
}

fn add_all(sums: &mut [Sum], more: &[Sum]) {
    sums.iter_mut().zip(more).for_each(|(sum, &more)| add(sum, more));
}

/// Which run has the median of CPU time, and which that of waiting; the base if it has.
fn in_the_middle(sums: &[Sum]) -> (usize, usize) {
    let of = |part: fn(&Sum) -> u64| {
        let mut all: Vec<(u64, usize)> = sums.iter().map(part).zip(0..).collect();
        all.sort_unstable();
        let (usual, run) = all[(all.len() - 1) / 2];
        if part(&sums[0]) == usual { 0 } else { run }
    };
    (of(|sum| sum.0), of(|sum| sum.1))
}

/// Another run's events that correspond to the base's.
struct Cursor<'a> {
    measures: Measures<'a>,
    room: Event<'a>,
    measured: Measured,
    /// How many of its records were read.
    read: u32,
    blocks: &'a [Block],
    /// What it took outside of calls since the last event that corresponds to one of the base's, and which of both threads' compared
    /// events comes behind that.
    sum: Sum,
    next: (usize, usize),
    /// What it took outside of calls so far.
    total: Sum,
    /// It does so much like the base's thread that they are compared gap by gap.
    is_alike: bool,
}

impl<'a> Cursor<'a> {
    fn new(run: &'a Run, map: &'a Map, thread: usize, among: usize) -> Option<Cursor<'a>> {
        let counterpart = map.threads[thread].as_ref()?;
        let is_alike = counterpart.alike * 100 >= counterpart.of * LEAST_ALIKE;
        let measures = run.threads[counterpart.thread as usize].measures_among(among);
        let blocks = &counterpart.blocks;
        let (room, measured) = (Event::NOTHING, Measured::NOTHING);
        Some(Cursor {
            measures,
            room,
            measured,
            read: 0,
            blocks,
            sum: (0, 0),
            next: (0, 0),
            total: (0, 0),
            is_alike,
        })
    }

    /// What the run took outside of calls from the last event that corresponds to one of the base's to that which corresponds to
    /// this record of it, and whether nothing that is compared lies between, here or there. `None` if there is no such event.
    /// Records are asked for in order.
    fn until(&mut self, record: u32) -> Option<(Sum, bool)> {
        while let [block, rest @ ..] = self.blocks
            && block.base + block.len <= record
        {
            self.blocks = rest;
        }
        let block = self.blocks.first().filter(|block| block.base <= record)?;
        let within = record - block.base;
        while self.read <= block.other + within {
            if !self.read_one() {
                return None;
            }
        }
        let place = (block.nth.0 + within as usize, block.nth.1 + within as usize);
        let follows = place == std::mem::replace(&mut self.next, (place.0 + 1, place.1 + 1));
        Some((std::mem::take(&mut self.sum), follows))
    }
}

impl Cursor<'_> {
    /// False when there are no more.
    fn read_one(&mut self) -> bool {
        let is_there = self.measures.next_with(&mut self.room, &mut self.measured);
        let before = &self.measured.before;
        if is_there && before.inside.is_none() {
            let sum = (before.cpu_ns, before.waited_ns);
            add(&mut self.sum, sum);
            add(&mut self.total, sum);
        }
        self.read += u32::from(is_there);
        is_there
    }

    /// What it took outside of calls in all.
    fn into_total(mut self) -> Sum {
        while self.read_one() {}
        self.total
    }
}

/// Adds up what a thread and its likes took outside of calls, from one event that all have to the next. A run that has no such thread counts
/// like the base.
fn gather(base: &Run, thread: usize, among: usize, mut others: Vec<Option<Cursor<'_>>>, slots: &mut Slots) {
    let mut measures = base.threads[thread].measures_among(among);
    let (mut room, mut measured) = (Event::NOTHING, Measured::NOTHING);
    let mut of_runs: Vec<Sum> = Vec::with_capacity(slots.runs);
    // What the base took since the last event that all have, piece by piece.
    let (mut since, mut of_base): (Vec<Segment>, Sum) = (Vec::new(), (0, 0));
    let mut record = 0u32;
    while measures.next_with(&mut room, &mut measured) {
        let before = measured.before;
        if before.inside.is_none() {
            slots.add_to_all(&before);
            slots.cut.push(&mut since, before);
            add(&mut of_base, (before.cpu_ns, before.waited_ns));
        }
        of_runs.clear();
        of_runs.push(of_base);
        let mut follow = true;
        for other in &mut others {
            let Some(other) = other.as_mut().filter(|other| other.is_alike) else {
                of_runs.push(of_base);
                continue;
            };
            // Each goes on, whatever the others do.
            if let Some((sum, follows)) = other.until(record) {
                follow &= follows;
                of_runs.push(sum);
            }
        }
        record += 1;
        if of_runs.len() == slots.runs {
            if follow {
                slots.add_pieces(&since, &of_runs);
            }
            since.clear();
            of_base = (0, 0);
        }
    }
    let of_base = slots.of_column(slots.runs);
    slots.totals[0] = of_base;
    for (total, other) in slots.totals[1..].iter_mut().zip(others) {
        *total = other.map_or(of_base, Cursor::into_total);
    }
}
