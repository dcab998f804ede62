//! The steps of one program, encoded one after the other.
//!
//! Each step is a [`Packed`] value in postcard's wire format: its start as the difference from the end of the step
//! before, so that a usual step takes about ten bytes.

use crate::{Op, Step};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Packed {
    gap_ns: i64,
    took_ns: u64,
    op: Op,
}

/// An encoded list of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    count: u64,
    end_ns: u64,
    bytes: Vec<u8>,
}

impl Steps {
    /// Appends a step.
    pub fn push(&mut self, step: &Step) {
        let packed = Packed {
            gap_ns: step.start_ns.wrapping_sub(self.end_ns) as i64,
            took_ns: step.took_ns,
            op: step.op,
        };
        self.end_ns = step.start_ns.wrapping_add(step.took_ns);
        self.count += 1;
        // Writing to memory cannot fail; an allocation that does ends the program.
        if let Err(error) = postcard::to_io(&packed, &mut self.bytes) {
            unreachable!("encoding a step into memory: {error}");
        }
    }

    /// How many steps there are.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The steps in order. Steps that came from a file were checked when it was loaded.
    pub fn iter(&self) -> impl Iterator<Item = Step> + Clone + '_ {
        Decoder { bytes: &self.bytes, end_ns: 0 }
    }

    /// The steps in the order in which they are done: repeats are followed, and do not appear themselves. The start
    /// of a step in a later iteration is the recorded one of the first, moved by whole iterations; a repeat's own
    /// `took_ns` is the time of all its iterations.
    pub fn unrolled(&self) -> impl Iterator<Item = Step> + Clone + '_ {
        Unrolled { steps: Decoder { bytes: &self.bytes, end_ns: 0 }, repeat: None }
    }

    /// Every step once, with how often it is done: for what would take too long step by step. Repeats do not appear
    /// themselves.
    pub fn counted(&self) -> impl Iterator<Item = Counted> + Clone + '_ {
        let (mut repeat, mut left, mut count) = (0, 0, 0);
        self.iter().filter_map(move |step| {
            if let Op::Repeat { count: times, steps } = step.op {
                (repeat, left, count) = (repeat + 1, steps, times);
                return None;
            }
            let inside = left > 0;
            left = left.saturating_sub(1);
            let (repeat, times) = if inside { (repeat, count) } else { (0, 1) };
            (times > 0).then_some(Counted { step, times, repeat })
        })
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes over encoded steps; `None` unless they are exactly `count` well-formed ones.
    pub(crate) fn from_bytes(bytes: Vec<u8>, count: u64) -> Option<Steps> {
        let mut decoder = Decoder { bytes: &bytes, end_ns: 0 };
        let found = decoder.by_ref().count() as u64;
        let (whole, end_ns) = (decoder.bytes.is_empty(), decoder.end_ns);
        (whole && found == count).then_some(Steps { count, end_ns, bytes })
    }
}

/// A step, and how often it is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// As it is the first time.
    pub step: Step,
    /// How often, at least once.
    pub times: u32,
    /// Which repeat of the program it is in, from 1; 0 when in none.
    pub repeat: u64,
}

impl FromIterator<Step> for Steps {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Steps {
        let mut all = Steps::default();
        for step in steps {
            all.push(&step);
        }
        all
    }
}

#[derive(Clone)]
struct Unrolled<'a> {
    steps: Decoder<'a>,
    repeat: Option<Iteration<'a>>,
}

/// Where an unrolled repeat stands.
#[derive(Clone)]
struct Iteration<'a> {
    body: Decoder<'a>,
    steps: u32,
    steps_left: u32,
    iterations_left: u32,
    period_ns: u64,
    moved_ns: u64,
}

impl Unrolled<'_> {
    /// Goes back to the first step of the body at the end of an iteration, and on behind it after the last one.
    fn turn(&mut self) {
        let Some(repeat) = &mut self.repeat else { return };
        if repeat.steps_left > 0 {
            return;
        }
        repeat.iterations_left -= 1;
        if repeat.iterations_left == 0 {
            self.repeat = None;
            return;
        }
        repeat.steps_left = repeat.steps;
        repeat.moved_ns += repeat.period_ns;
        self.steps = repeat.body.clone();
    }
}

impl Iterator for Unrolled<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        loop {
            self.turn();
            let mut step = self.steps.next()?;
            if let Some(repeat) = &mut self.repeat {
                repeat.steps_left -= 1;
                step.start_ns = step.start_ns.wrapping_add(repeat.moved_ns);
                return Some(step);
            }
            let Op::Repeat { count, steps } = step.op else { return Some(step) };
            if count == 0 || steps == 0 {
                (0..steps).for_each(|_| {
                    self.steps.next();
                });
                continue;
            }
            self.repeat = Some(Iteration {
                body: self.steps.clone(),
                steps,
                steps_left: steps,
                iterations_left: count,
                period_ns: step.took_ns / u64::from(count),
                moved_ns: 0,
            });
        }
    }
}

#[derive(Clone)]
struct Decoder<'a> {
    bytes: &'a [u8],
    end_ns: u64,
}

impl Iterator for Decoder<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let (packed, rest) = postcard::take_from_bytes::<Packed>(self.bytes).ok()?;
        self.bytes = rest;
        let start_ns = self.end_ns.wrapping_add(packed.gap_ns as u64);
        self.end_ns = start_ns.wrapping_add(packed.took_ns);
        Some(Step { start_ns, took_ns: packed.took_ns, op: packed.op })
    }
}
