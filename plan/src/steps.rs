//! The steps of one program, encoded one after the other.
//!
//! A step is its number in the table of operations, its start as the difference from the end of the step before, its
//! duration, and its fields: a usual one takes about ten bytes. Repeats may be nested; nothing unrolls them but who does
//! what they say.

use crate::demand::NUMBERS as DEMANDS;
use crate::fields::{put, take};
use crate::mpi::FIRST as FIRST_MPI;
use crate::ops::FIRST;
use crate::{Demand, Io, Mpi, Op, Step};
use memmap2::Mmap;
use std::ops::Range;
use std::sync::Arc;

const COMPUTE: u8 = 0;
const SLEEP: u8 = 1;
pub(crate) const SIGNAL: u8 = 2;
pub(crate) const WAIT: u8 = 3;
pub(crate) const REPEAT: u8 = 4;
const TIMED_WAIT: u8 = 6;

/// An encoded list of steps.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    count: u64,
    end_ns: u64,
    bytes: Encoded,
}

/// Where encoded steps are: in memory, or in a plan that is mapped.
#[derive(Clone, Debug)]
enum Encoded {
    Owned(Vec<u8>),
    Mapped(Arc<Mmap>, Range<usize>),
}

impl Default for Encoded {
    fn default() -> Encoded {
        Encoded::Owned(Vec::new())
    }
}

/// Why bytes are not steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotSteps {
    /// They end too early or too late, or hold a number that is too large.
    Malformed,
    /// A step has a number that no operation has.
    Unknown(u8),
}

impl Steps {
    /// Appends a step.
    pub fn push(&mut self, step: &Step) {
        let gap_ns = step.start_ns.wrapping_sub(self.end_ns) as i64;
        self.end_ns = step.start_ns.wrapping_add(step.took_ns);
        self.count += 1;
        let out = self.bytes_mut();
        out.push(step.op.number());
        put(gap_ns, out);
        put(step.took_ns, out);
        step.op.put(out);
    }

    fn bytes_mut(&mut self) -> &mut Vec<u8> {
        if let Encoded::Mapped(..) = self.bytes {
            self.bytes = Encoded::Owned(self.as_bytes().to_vec());
        }
        match &mut self.bytes {
            Encoded::Owned(bytes) => bytes,
            Encoded::Mapped(..) => unreachable!("replaced by a copy above"),
        }
    }

    /// How many steps there are, each of a repeat's counted once.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The steps in order. Steps that came from a file were checked when it was loaded.
    pub fn iter(&self) -> impl Iterator<Item = Step> + Clone + '_ {
        self.decoder()
    }

    /// The steps in the order in which they are done: repeats are followed, and do not appear themselves. The start
    /// of a step in a later iteration is the recorded one of the first, moved by whole iterations; a repeat's own
    /// `took_ns` is the time of all its iterations. Waits have the count of their turn and no stride.
    pub fn unrolled(&self) -> Unrolled<'_> {
        Unrolled { steps: self.decoder(), repeats: Vec::new() }
    }

    /// Every step once, with how often it is done: for what would take too long step by step. Repeats do not appear
    /// themselves.
    pub fn counted(&self) -> impl Iterator<Item = Counted> + Clone + '_ {
        let (mut repeats, mut outer) = (0, Vec::new());
        self.iter().filter_map(move |step| {
            // (steps left, how often a step of it is done, its number), innermost last.
            while outer.pop_if(|&mut (left, ..): &mut (u32, u64, u64)| left == 0).is_some() {}
            let (times, repeat) = outer.last().map_or((1, 0), |&(_, times, repeat)| (times, repeat));
            outer.iter_mut().for_each(|(left, ..)| *left = left.saturating_sub(1));
            if let Op::Repeat { count, steps } = step.op {
                repeats += 1;
                outer.push((steps, times.saturating_mul(count.into()), repeats));
                return None;
            }
            (times > 0).then_some(Counted { step, times, repeat })
        })
    }

    /// The same without the steps that `leaves_out` says, and without repeats of nothing else. The others are when they were.
    #[must_use]
    pub fn without(&self, leaves_out: impl Fn(&Op) -> bool) -> Steps {
        // By repeat: how many steps stay of it. Those that are open, innermost last: which, and its steps that have not come.
        let (mut stay, mut open) = (Vec::new(), Vec::new());
        let leave = |stay: &mut Vec<u32>, open: &mut Vec<(usize, u32)>| {
            while let Some((inner, _)) = open.pop_if(|&mut (_, to_come)| to_come == 0) {
                let is_one = u32::from(stay[inner] > 0);
                open.iter().for_each(|&(outer, _)| stay[outer] += is_one);
            }
        };
        for step in self.iter() {
            leave(&mut stay, &mut open);
            open.iter_mut().for_each(|(_, to_come)| *to_come = to_come.saturating_sub(1));
            match step.op {
                Op::Repeat { steps, .. } => {
                    open.push((stay.len(), steps));
                    stay.push(0);
                }
                op if leaves_out(&op) => {}
                _ => open.iter().for_each(|&(outer, _)| stay[outer] += 1),
            }
        }
        open.iter_mut().for_each(|(_, to_come)| *to_come = 0);
        leave(&mut stay, &mut open);
        let (mut stay, mut left) = (stay.into_iter(), Steps::default());
        for step in self.iter() {
            match step.op {
                Op::Repeat { count, .. } => {
                    if let Some(steps @ 1..) = stay.next() {
                        left.push(&Step { op: Op::Repeat { count, steps }, ..step });
                    }
                }
                op if leaves_out(&op) => {}
                _ => left.push(&step),
            }
        }
        left
    }

    fn decoder(&self) -> Decoder<'_> {
        Decoder { bytes: self.as_bytes(), end_ns: 0 }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.bytes {
            Encoded::Owned(bytes) => bytes,
            Encoded::Mapped(map, range) => &map[range.clone()],
        }
    }

    /// Takes over the steps in this part of a mapped plan, unless they are not exactly `count` well-formed ones.
    ///
    /// # Panics
    /// When the range is not in the map.
    pub(crate) fn mapped(map: &Arc<Mmap>, range: Range<usize>, count: u64) -> Result<Steps, NotSteps> {
        let mut decoder = Decoder { bytes: &map[range.clone()], end_ns: 0 };
        let found = decoder.by_ref().count() as u64;
        if let Some(&number) = decoder.bytes.first() {
            let known = number <= REPEAT
                || number == TIMED_WAIT
                || Io::is_number(number)
                || Mpi::is_number(number)
                || DEMANDS.contains(&number);
            return Err(if known { NotSteps::Malformed } else { NotSteps::Unknown(number) });
        }
        if found != count {
            return Err(NotSteps::Malformed);
        }
        Ok(Steps { count, end_ns: decoder.end_ns, bytes: Encoded::Mapped(map.clone(), range) })
    }
}

impl PartialEq for Steps {
    fn eq(&self, other: &Steps) -> bool {
        self.count == other.count && self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Steps {}

impl FromIterator<Step> for Steps {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Steps {
        let mut all = Steps::default();
        for step in steps {
            all.push(&step);
        }
        all
    }
}

/// A step, and how often it is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// As it is the first time.
    pub step: Step,
    /// How often, at least once; `u64::MAX` for more than that.
    pub times: u64,
    /// Which repeat of the program it is in, the innermost, from 1; 0 when in none.
    pub repeat: u64,
}

/// Steps in the order in which they are done; see [`Steps::unrolled`].
#[derive(Clone, Debug)]
pub struct Unrolled<'a> {
    steps: Decoder<'a>,
    /// Those that are under way, innermost last.
    repeats: Vec<Repeat<'a>>,
}

/// Where an unrolled repeat stands.
#[derive(Clone, Debug)]
struct Repeat<'a> {
    body: Decoder<'a>,
    steps: u32,
    steps_left: u32,
    count: u32,
    iteration: u32,
    period_ns: u64,
}

impl<'a> Unrolled<'a> {
    /// Goes back to the first step of the innermost body at the end of an iteration; leaves it after the last one.
    fn turn(&mut self) {
        while let Some(repeat) = self.repeats.last_mut() {
            if repeat.steps_left > 0 {
                return;
            }
            repeat.iteration += 1;
            if repeat.iteration < repeat.count {
                repeat.steps_left = repeat.steps;
                self.steps = repeat.body.clone();
                return;
            }
            self.repeats.pop();
        }
    }

    /// Behind the step of a repeat.
    fn enter(&mut self, count: u32, steps: u32, took_ns: u64) {
        if let Some(outer) = self.repeats.last_mut() {
            outer.steps_left = outer.steps_left.saturating_sub(steps);
        }
        if count == 0 || steps == 0 {
            for _ in 0..steps {
                self.steps.next();
            }
            return;
        }
        self.repeats.push(Repeat {
            body: self.steps.clone(),
            steps,
            steps_left: steps,
            count,
            iteration: 0,
            period_ns: took_ns / u64::from(count),
        });
    }

    /// As it is in the present iteration of the repeats around it.
    fn moved(&self, step: &mut Step) {
        let (mut before, mut moved_ns) = (0u64, 0u64);
        for repeat in &self.repeats {
            before = before.wrapping_mul(repeat.count.into()).wrapping_add(repeat.iteration.into());
            moved_ns = moved_ns.wrapping_add(repeat.period_ns.wrapping_mul(repeat.iteration.into()));
        }
        step.start_ns = step.start_ns.wrapping_add(moved_ns);
        if let Op::Wait { count, stride, .. } = &mut step.op {
            // No edge has more signals than a u32 counts, so a wait for more is refused with the plan.
            let further = u64::from(*stride).saturating_mul(before);
            *count = u32::try_from(u64::from(*count).saturating_add(further)).unwrap_or(u32::MAX);
            *stride = 0;
        }
    }
}

impl Unrolled<'_> {
    /// Puts the next steps there, and returns how many: fewer than there is room for at the end.
    pub fn fill(&mut self, room: &mut [Step]) -> usize {
        for (filled, step) in room.iter_mut().enumerate() {
            if self.next_into(step).is_none() {
                return filled;
            }
        }
        room.len()
    }

    #[inline]
    fn next_into(&mut self, step: &mut Step) -> Option<()> {
        loop {
            if !self.repeats.is_empty() {
                self.turn();
            }
            self.steps.next_into(step)?;
            if !self.repeats.is_empty() {
                if let Some(repeat) = self.repeats.last_mut() {
                    repeat.steps_left -= 1;
                }
                self.moved(step);
            }
            match step.op {
                Op::Repeat { count, steps } => self.enter(count, steps, step.took_ns),
                _ => return Some(()),
            }
        }
    }
}

impl Iterator for Unrolled<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let mut step = Step::NOTHING;
        self.next_into(&mut step)?;
        Some(step)
    }
}

/// Reads steps; at the first byte that is none it ends, and stands there.
#[derive(Clone, Debug)]
struct Decoder<'a> {
    bytes: &'a [u8],
    end_ns: u64,
}

impl Decoder<'_> {
    /// Makes `step` the next one; `None` at the end.
    #[inline]
    fn next_into(&mut self, step: &mut Step) -> Option<()> {
        let (&number, mut rest) = self.bytes.split_first()?;
        let gap_ns: i64 = take(&mut rest)?;
        let took_ns = take(&mut rest)?;
        step.op.become_taken(number, &mut rest)?;
        self.bytes = rest;
        let start_ns = self.end_ns.wrapping_add(gap_ns as u64);
        self.end_ns = start_ns.wrapping_add(took_ns);
        (step.start_ns, step.took_ns) = (start_ns, took_ns);
        Some(())
    }
}

impl Iterator for Decoder<'_> {
    type Item = Step;

    #[inline]
    fn next(&mut self) -> Option<Step> {
        let mut step = Step::NOTHING;
        self.next_into(&mut step)?;
        Some(step)
    }
}

impl Op {
    /// Its number in a file.
    pub const fn number(&self) -> u8 {
        match self {
            Op::Compute { .. } => COMPUTE,
            Op::Sleep { .. } => SLEEP,
            Op::TimedWait { .. } => TIMED_WAIT,
            Op::Signal { .. } => SIGNAL,
            Op::Wait { .. } => WAIT,
            Op::Repeat { .. } => REPEAT,
            Op::Io { call, .. } => call.number(),
            Op::Demand(demand) => demand.number(),
            Op::Mpi { call, .. } => call.number(),
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        match *self {
            Op::Compute { cpu_ns, idle_ns } => {
                put(cpu_ns, out);
                put(idle_ns, out);
            }
            Op::Sleep { ns } => put(ns, out),
            Op::TimedWait { edge, count, ns } => {
                put(edge, out);
                put(count, out);
                put(ns, out);
            }
            Op::Signal { edge } => put(edge, out),
            Op::Wait { edge, count, stride } => {
                put(edge, out);
                put(count, out);
                put(stride, out);
            }
            Op::Repeat { count, steps } => {
                put(count, out);
                put(steps, out);
            }
            Op::Demand(demand) => demand.put(out),
            Op::Io { call, result } => {
                call.put(out);
                put(result, out);
            }
            Op::Mpi { call, cpu_ns, idle_ns } => {
                call.put(out);
                put(cpu_ns, out);
                put(idle_ns, out);
            }
        }
    }

    pub(crate) fn take(number: u8, bytes: &mut &[u8]) -> Option<Op> {
        let mut op = Step::NOTHING.op;
        op.become_taken(number, bytes)?;
        Some(op)
    }

    /// Becomes the operation that has this number and these fields.
    #[inline]
    fn become_taken(&mut self, number: u8, bytes: &mut &[u8]) -> Option<()> {
        *self = match number {
            COMPUTE => Op::Compute { cpu_ns: take(bytes)?, idle_ns: take(bytes)? },
            SLEEP => Op::Sleep { ns: take(bytes)? },
            TIMED_WAIT => Op::TimedWait { edge: take(bytes)?, count: take(bytes)?, ns: take(bytes)? },
            SIGNAL => Op::Signal { edge: take(bytes)? },
            WAIT => Op::Wait { edge: take(bytes)?, count: take(bytes)?, stride: take(bytes)? },
            REPEAT => Op::Repeat { count: take(bytes)?, steps: take(bytes)? },
            number if DEMANDS.contains(&number) => Op::Demand(Demand::take(number, bytes)?),
            FIRST_MPI.. => {
                return Mpi::take_then(number, bytes, |call, bytes| {
                    *self = Op::Mpi { call, cpu_ns: take(bytes)?, idle_ns: take(bytes)? };
                    Some(())
                });
            }
            FIRST.. => {
                return Io::take_then(number, bytes, |call, bytes| {
                    *self = Op::Io { call, result: take(bytes)? };
                    Some(())
                });
            }
            _ => return None,
        };
        Some(())
    }
}
