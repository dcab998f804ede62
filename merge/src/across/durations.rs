//! How long computation usually takes: of several runs, the one in the middle, stretch by stretch.
//!
//! A stretch is so much of the base's time on one host that its threads compute for [`STRETCH_NS`] each. Taking the median gap by
//! gap would be too little: what is slow now and then, as a page fault is, is slow in every run, each time elsewhere. Interrupts
//! come every few milliseconds in every run, so a stretch is 10 ms: long enough that each run has its usual share of them in
//! it. What disturbs a run for a while disturbs whole stretches of it, and of one run only.
//!
//! All threads of a host share a stretch: what makes one slow for a while, processors that are lent to others or are hot, makes
//! its neighbours slow too, and they need not wait for each other. Medians of each thread for itself would take one
//! from this run and the next from that, and have ranks wait that never did.

use crate::across::align::{Block, Map};
use crate::connect::Connected;
use crate::load::Recorded;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};
use syn_trace::Run;
use syn_trace::reader::Event;
use syn_trace::run::{MeasuredEvents, Segment};

/// So much CPU time and waiting of each thread of the base makes a stretch, nanoseconds.
const STRETCH_NS: u64 = 10_000_000;
/// Time is cut into slots, and a stretch is one or more of them; they are longer where a run would have more than [`MOST_SLOTS`].
const SLOT_NS: u64 = 10_000_000;
const MOST_SLOTS: u64 = 8192;
/// A run counts if it has so much of what the base did, in percent, and in threads of which it has so much.
const LEAST_ALIKE: usize = 50;
/// No stretch becomes longer or shorter than by this factor.
const MOST_FACTOR: f64 = 16.0;

/// A part of a host's time, and by what factors its computation and waiting are longer in the usual run than in the base.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Nanoseconds since the start of the base.
    end_ns: u64,
    cpu: f64,
    waited: f64,
}

/// The stretches of the base's hosts.
#[derive(Debug, Default)]
pub struct Durations {
    hosts: Vec<Vec<Stretch>>,
    /// By thread of the base.
    host_of_thread: Vec<usize>,
}

/// CPU time and waiting of a run in a stretch.
type Sum = (u64, u64);

impl Durations {
    /// Compares the base with other runs by the threads of the plan.
    pub fn of(base: &Recorded, connected: &Connected, others: &[(&Run, &Map)]) -> Durations {
        let (clocks, in_plan) = (&connected.clocks, &connected.in_plan);
        let others: Vec<_> = others.iter().filter(|(_, map)| is_alike(map, in_plan)).collect();
        if others.is_empty() {
            return Durations::default();
        }
        let (base, slot_ns, runs) = (&base.run, SLOT_NS.max(base.elapsed_ns / MOST_SLOTS), others.len() + 1);
        let slots: Vec<_> =
            clocks.hosts().iter().map(|_| Mutex::new(Slots::of_host(slot_ns, runs))).collect();
        let host_of_thread: Vec<usize> = (0..base.threads.len()).map(|thread| clocks.host(thread)).collect();
        let among = base.threads.len() * runs;
        (0..base.threads.len()).into_par_iter().filter(|&thread| in_plan[thread]).for_each(|thread| {
            let cursors = others.iter().map(|(run, map)| Cursor::new(run, map, thread, among));
            // A thread that one of them has not is nothing to compare them by.
            let Some(mut cursors) = cursors.collect::<Option<Vec<_>>>() else { return };
            let mut of_thread = Slots::new(slot_ns, runs);
            gather(base, thread, among, &mut cursors, &mut of_thread);
            slots[host_of_thread[thread]].lock().unwrap_or_else(PoisonError::into_inner).append(&of_thread);
        });
        let hosts = slots.into_iter().map(|slots| slots.into_inner().unwrap_or_else(PoisonError::into_inner));
        Durations { hosts: hosts.map(|slots| slots.stretches()).collect(), host_of_thread }
    }

    /// What a thread's gap takes usually. `next` is the thread's place among the stretches, which goes on with its gaps.
    pub fn usual(&self, thread: usize, next: &mut usize, gap: Segment) -> Segment {
        let stretches = self.host_of_thread.get(thread).map(|&host| &self.hosts[host]);
        let Some(stretches) = stretches.filter(|_| gap.inside.is_none()) else { return gap };
        while stretches.get(*next).is_some_and(|stretch| stretch.end_ns <= gap.start_ns) {
            *next += 1;
        }
        let (cpu, waited) = factors(&stretches[*next..], &gap);
        let scaled = |ns: u64, factor: f64| (ns as f64 * factor).round() as u64;
        let (cpu_ns, waited_ns) = (scaled(gap.cpu_ns, cpu), scaled(gap.waited_ns, waited));
        let wall_ns = gap.wall_ns + cpu_ns + waited_ns - gap.cpu_ns - gap.waited_ns;
        Segment { wall_ns, cpu_ns, waited_ns, ..gap }
    }
}

/// Whether a run did what the base did, most of it: another one says nothing of its times.
fn is_alike(map: &Map, in_plan: &[bool]) -> bool {
    let threads = map.threads.iter().zip(in_plan).filter(|&(_, &in_plan)| in_plan);
    let counterparts = threads.filter_map(|(counterpart, _)| counterpart.as_ref());
    let (alike, of) = counterparts.fold((0, 0), |sum, thread| (sum.0 + thread.alike, sum.1 + thread.of));
    alike * 100 >= of * LEAST_ALIKE
}

/// Those of a gap that begins in the first of the stretches: of each stretch as much as it has of the gap. Behind the last one the base
/// is as usual.
fn factors(stretches: &[Stretch], gap: &Segment) -> (f64, f64) {
    let end_ns = gap.start_ns.saturating_add(gap.wall_ns);
    let (mut cpu, mut waited, mut since_ns) = (0.0, 0.0, gap.start_ns);
    for stretch in stretches {
        if since_ns == gap.start_ns && stretch.end_ns >= end_ns {
            return (stretch.cpu, stretch.waited);
        }
        let until_ns = stretch.end_ns.min(end_ns);
        let part = (until_ns - since_ns) as f64;
        (cpu, waited, since_ns) = (cpu + stretch.cpu * part, waited + stretch.waited * part, until_ns);
        if until_ns == end_ns {
            break;
        }
    }
    let (rest, whole) = ((end_ns - since_ns) as f64, (end_ns - gap.start_ns).max(1) as f64);
    ((cpu + rest) / whole, (waited + rest) / whole)
}

/// What threads took, by slot of the base's time and by run, the base first.
#[derive(Debug, Default)]
struct Slots {
    slot_ns: u64,
    runs: usize,
    /// The first slot with anything in it.
    first: usize,
    /// How many threads have something in each slot.
    threads: Vec<u64>,
    sums: Vec<Sum>,
}

impl Slots {
    fn new(slot_ns: u64, runs: usize) -> Slots {
        Slots { slot_ns, runs, ..Slots::default() }
    }

    /// From the first slot on.
    fn of_host(slot_ns: u64, runs: usize) -> Slots {
        Slots { threads: vec![0], sums: vec![(0, 0); runs], ..Slots::new(slot_ns, runs) }
    }

    /// The sums of a slot; of the first one where it lies before that, as in a damaged trace.
    fn of_slot(&mut self, slot: usize) -> &mut [Sum] {
        if self.sums.is_empty() {
            self.first = slot;
        }
        let place = slot.saturating_sub(self.first);
        if self.threads.len() <= place {
            self.threads.resize(place + 1, 0);
            self.sums.resize((place + 1) * self.runs, (0, 0));
        }
        &mut self.sums[place * self.runs..(place + 1) * self.runs]
    }

    /// Adds what each run took where the base took this gap: to each slot as much as it has of the gap.
    fn add(&mut self, gap: &Segment, of_runs: &[Sum]) {
        let slot_ns = self.slot_ns;
        let slot_of = |ns: u64| (ns / slot_ns).min(2 * MOST_SLOTS);
        let (first, last) = (slot_of(gap.start_ns), slot_of(gap.start_ns.saturating_add(gap.wall_ns)));
        for slot in first..=last {
            // Of a whole, what lies before a moment of the gap.
            let before = |whole: u64, ns: u64| {
                let passed_ns = u128::from(ns.saturating_sub(gap.start_ns).min(gap.wall_ns));
                (u128::from(whole) * passed_ns / u128::from(gap.wall_ns.max(1))) as u64
            };
            let part = |whole: u64| {
                let until = if slot == last { whole } else { before(whole, (slot + 1) * slot_ns) };
                until - before(whole, slot * slot_ns).min(until)
            };
            for (sum, of_run) in self.of_slot(slot as usize).iter_mut().zip(of_runs) {
                add(sum, (part(of_run.0), part(of_run.1)));
            }
        }
    }

    /// Adds to a host what one of its threads took.
    fn append(&mut self, thread: &Slots) {
        for (slot, sums) in (thread.first..).zip(thread.sums.chunks(thread.runs)) {
            self.of_slot(slot).iter_mut().zip(sums).for_each(|(sum, more)| add(sum, *more));
            self.threads[slot] += u64::from(sums[0] != (0, 0));
        }
    }

    fn stretches(&self) -> Vec<Stretch> {
        let mut found = Vec::new();
        let mut sums: Vec<Sum> = vec![(0, 0); self.runs];
        let (mut end_ns, mut threads) = (0, 1);
        for (of_slot, &in_slot) in self.sums.chunks(self.runs).zip(&self.threads) {
            (end_ns, threads) = (end_ns + self.slot_ns, in_slot.max(threads));
            sums.iter_mut().zip(of_slot).for_each(|(sum, more)| add(sum, *more));
            if sums[0].0.saturating_add(sums[0].1) >= threads.saturating_mul(STRETCH_NS) {
                found.push(stretch(end_ns, &mut sums));
                threads = 1;
            }
        }
        found.push(stretch(end_ns, &mut sums));
        found
    }
}

/// Traces that are damaged may say anything of their times.
fn add(sum: &mut Sum, more: Sum) {
    *sum = (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1));
}

/// Another run's events that correspond to the base's.
struct Cursor<'a> {
    events: MeasuredEvents<'a>,
    event: Event<'a>,
    /// How many of its records were read.
    read: u32,
    blocks: &'a [Block],
}

impl<'a> Cursor<'a> {
    fn new(run: &'a Run, map: &'a Map, thread: usize, among: usize) -> Option<Cursor<'a>> {
        let counterpart = map.threads[thread].as_ref()?;
        if counterpart.alike * 100 < counterpart.of * LEAST_ALIKE {
            return None;
        }
        let events = run.threads[counterpart.thread as usize].measured_among(among);
        Some(Cursor { events, event: Event::NOTHING, read: 0, blocks: &counterpart.blocks })
    }

    /// The gap before the event that corresponds to this record of the base; records are asked for in order.
    fn gap(&mut self, record: u32) -> Option<Segment> {
        while let [block, rest @ ..] = self.blocks
            && block.base + block.len <= record
        {
            self.blocks = rest;
        }
        let block = self.blocks.first().filter(|block| block.base <= record)?;
        let wanted = block.other + (record - block.base);
        let mut gap = None;
        while self.read <= wanted {
            gap = Some(self.events.next_into(&mut self.event)?.before);
            self.read += 1;
        }
        gap.filter(|gap| gap.inside.is_none())
    }
}

/// Adds up the gaps of a thread that all runs have.
fn gather(base: &Run, thread: usize, among: usize, others: &mut [Cursor<'_>], slots: &mut Slots) {
    let sum = |gap: Segment| (gap.cpu_ns, gap.waited_ns);
    let (mut events, mut event) = (base.threads[thread].measured_among(among), Event::NOTHING);
    let mut of_runs: Vec<Sum> = Vec::with_capacity(slots.runs);
    let mut record = 0u32;
    while let Some(measured) = events.next_into(&mut event) {
        of_runs.clear();
        of_runs.extend(Some(measured.before).filter(|gap| gap.inside.is_none()).map(sum));
        of_runs.extend(others.iter_mut().filter_map(|other| other.gap(record)).map(sum));
        record += 1;
        if of_runs.len() == slots.runs {
            slots.add(&measured.before, &of_runs);
        }
    }
}

/// Ends a stretch of which every run, the base first, took so much.
fn stretch(end_ns: u64, sums: &mut [Sum]) -> Stretch {
    let factor = |of: fn(&Sum) -> u64| {
        let base = of(&sums[0]);
        let mut all: Vec<u64> = sums.iter().map(of).collect();
        all.sort_unstable();
        let usual = all[(all.len() - 1) / 2];
        if base == 0 { 1.0 } else { (usual as f64 / base as f64).clamp(1.0 / MOST_FACTOR, MOST_FACTOR) }
    };
    let stretch = Stretch { end_ns, cpu: factor(|sum| sum.0), waited: factor(|sum| sum.1) };
    sums.fill((0, 0));
    stretch
}
