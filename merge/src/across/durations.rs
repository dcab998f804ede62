//! How long computation usually takes: of several runs, the one in the middle, stretch by stretch.
//!
//! A stretch of a thread is what it computes between calls until that is [`STRETCH_NS`]: one gap where it is long, many where
//! they are short. Taking the median gap by gap would be too little: what is slow now and then, as a page fault is, is slow
//! in every run, each time elsewhere. Interrupts come every few milliseconds in every run, so a stretch is 10 ms: long enough that
//! each run has its usual share of them in it. What disturbs a run for a while disturbs whole stretches of
//! it, and of one run only.

use crate::across::align::{Block, Map};
use rayon::prelude::*;
use syn_trace::Run;
use syn_trace::reader::Event;
use syn_trace::run::{MeasuredEvents, Segment};

/// So much CPU time of the base makes a stretch, nanoseconds.
const STRETCH_NS: u64 = 10_000_000;
/// A run counts in threads of which it has so much, in percent.
const LEAST_ALIKE: usize = 50;
/// No stretch becomes longer or shorter than by this factor.
const MOST_FACTOR: f64 = 16.0;

/// A stretch of a thread, and by what factors its computation and waiting are longer in the usual run than in the base.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// The record behind it.
    end: u32,
    cpu: f32,
    waited: f32,
}

/// By thread of the base: its stretches. 12 bytes for each.
#[derive(Debug, Default)]
pub struct Durations(Vec<Vec<Stretch>>);

/// CPU time and waiting of a run in a stretch.
type Sum = (u64, u64);

impl Durations {
    /// Compares the base with other runs, thread by thread.
    pub fn of(base: &Run, others: &[(&Run, &Map)]) -> Durations {
        let among = base.threads.len() * (others.len() + 1);
        let of_thread = |thread: usize| {
            let mut cursors: Vec<Cursor<'_>> =
                others.iter().filter_map(|(run, map)| Cursor::new(run, map, thread, among)).collect();
            if cursors.is_empty() { Vec::new() } else { stretches(base, thread, among, &mut cursors) }
        };
        Durations((0..base.threads.len()).into_par_iter().map(of_thread).collect())
    }

    /// What a thread's gap before a record takes usually. `next` is the thread's place among its stretches, which goes on with
    /// the records.
    pub fn usual(&self, thread: usize, record: u32, next: &mut usize, gap: Segment) -> Segment {
        let Some(stretches) = self.0.get(thread).filter(|_| gap.inside.is_none()) else { return gap };
        while stretches.get(*next).is_some_and(|stretch| stretch.end <= record) {
            *next += 1;
        }
        let Some(stretch) = stretches.get(*next) else { return gap };
        let scaled = |ns: u64, factor: f32| (ns as f64 * f64::from(factor)).round() as u64;
        let (cpu_ns, waited_ns) = (scaled(gap.cpu_ns, stretch.cpu), scaled(gap.waited_ns, stretch.waited));
        let wall_ns = gap.wall_ns + cpu_ns + waited_ns - gap.cpu_ns - gap.waited_ns;
        Segment { wall_ns, cpu_ns, waited_ns, ..gap }
    }
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

fn stretches(base: &Run, thread: usize, among: usize, others: &mut [Cursor<'_>]) -> Vec<Stretch> {
    let mut found = Vec::new();
    let (mut events, mut event) = (base.threads[thread].measured_among(among), Event::NOTHING);
    let mut sums: Vec<Sum> = vec![(0, 0); others.len() + 1];
    let mut gaps: Vec<Segment> = Vec::with_capacity(sums.len());
    let mut record = 0u32;
    while let Some(measured) = events.next_into(&mut event) {
        gaps.clear();
        gaps.extend(Some(measured.before).filter(|gap| gap.inside.is_none()));
        gaps.extend(others.iter_mut().filter_map(|other| other.gap(record)));
        record += 1;
        // Only what all have in common is compared.
        if gaps.len() < sums.len() {
            continue;
        }
        for (sum, gap) in sums.iter_mut().zip(&gaps) {
            *sum = (sum.0 + gap.cpu_ns, sum.1 + gap.waited_ns);
        }
        if sums[0].0 + sums[0].1 >= STRETCH_NS {
            found.push(stretch(record, &mut sums));
        }
    }
    found.push(stretch(record, &mut sums));
    found
}

/// Ends a stretch of which every run, the base first, took so much.
fn stretch(end: u32, sums: &mut [Sum]) -> Stretch {
    let factor = |of: fn(&Sum) -> u64| {
        let base = of(&sums[0]);
        let mut all: Vec<u64> = sums.iter().map(of).collect();
        all.sort_unstable();
        let usual = all[(all.len() - 1) / 2];
        if base == 0 {
            1.0
        } else {
            (usual as f64 / base as f64).clamp(1.0 / MOST_FACTOR, MOST_FACTOR) as f32
        }
    };
    let stretch = Stretch { end, cpu: factor(|sum| sum.0), waited: factor(|sum| sum.1) };
    sums.fill((0, 0));
    stretch
}
