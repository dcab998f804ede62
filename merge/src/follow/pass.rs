//! One pass over all events of a run, in the order in which their calls returned.

use crate::clocks::Clocks;
use crate::follow::ahead::Ahead;
use crate::follow::batch::Batch;
pub use crate::follow::batch::{End, Measuring};
use crate::follow::shared::SharedPositions;
use crate::graph::dependency::{Moment, Point, Stage};
use crate::progress::Progress;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use syn_trace::calls::{Effect, Fact};
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::reader::{Ending, Event};
use syn_trace::run::Measured;
use syn_trace::{Call, Run, record};

/// An event in its place.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Index into the run's threads.
    pub thread: u32,
    /// Index into the run's processes.
    pub process: u32,
    /// How many records of the thread precede.
    pub record: u32,
    /// The first record inside this call, itself when there is none.
    pub first_inside: u32,
    /// The event.
    pub event: &'a Event<'a>,
    /// What it took; empty where that was not asked for.
    pub measured: Measured,
    /// When the call was entered, nanoseconds on the time axis of the merge.
    pub start_ns: u64,
    /// When the call returned.
    pub end_ns: u64,
}

impl Seen<'_> {
    /// When the call was entered.
    pub fn enter(&self) -> Moment {
        let (record, stage) = match self.first_inside {
            inside if inside < self.record => (inside, Stage::Around),
            _ => (self.record, Stage::Enter),
        };
        Moment::new(Point { thread: self.thread, record, stage }, self.start_ns)
    }

    /// When the call returned.
    pub fn leave(&self) -> Moment {
        let point = Point { thread: self.thread, record: self.record, stage: Stage::Leave };
        Moment::new(point, self.end_ns)
    }
}

/// Takes part in a pass.
pub trait Visitor {
    /// Sees one event: what it touched, and the descriptors of its process after it.
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors);

    /// A thread has no more events. Only where what they took was asked for.
    fn end(&mut self, _thread: u32, _end: &End) {}
}

/// A thread on its way through the pass. Memory: the events that were read ahead, whatever the thread's length, and 16
/// bytes for each record of libc or MPI since the application's last own call.
#[derive(Default)]
struct Source<'a> {
    batch: Batch<'a>,
    record: u32,
    inside: Vec<(u64, u32)>,
    /// The record before is of a call inside another.
    was_inner: bool,
}

impl Source<'_> {
    /// The first record inside the present one. A call is recorded after those that were made inside it.
    fn first_inside(&mut self, event: &Event<'_>) -> u32 {
        // A `repeats` record does not say that it is inside a call: it is where the record before it is.
        let again_inside = event.call == Call::Repeats && self.was_inner;
        self.was_inner = again_inside || event.has(record::INNER);
        if self.was_inner {
            self.inside.push((event.start, self.record));
            return self.record;
        }
        if self.inside.is_empty() || event.call.has(Fact::Note) {
            return self.record;
        }
        let outside = self.inside.partition_point(|&(start, _)| start < event.start);
        let first = self.inside.get(outside).map_or(self.record, |&(_, record)| record);
        self.inside.clear();
        first
    }
}

/// Shows every event of `run` to every one of `visitors`, threads merged by the time of return. Returns by thread how its
/// records ended.
pub fn pass(
    run: &Run,
    clocks: &Clocks,
    measuring: Measuring,
    progress: &Progress,
    visitors: &mut [&mut dyn Visitor],
) -> Vec<Option<Ending>> {
    std::thread::scope(|scope| {
        let ahead = Ahead::start(scope, run, measuring);
        in_order(run, clocks, ahead, progress, visitors)
    })
}

fn in_order<'a>(
    run: &'a Run,
    clocks: &Clocks,
    mut ahead: Ahead<'a>,
    progress: &Progress,
    visitors: &mut [&mut dyn Visitor],
) -> Vec<Option<Ending>> {
    let mut descriptors: Vec<Descriptors> =
        run.processes.iter().map(|process| Descriptors::new(&process.cwd, process.threads.len())).collect();
    let mut shared = SharedPositions::new(run);
    let mut sources: Vec<Source<'a>> = run.threads.iter().map(|_| Source::default()).collect();
    let mut endings = vec![None; run.threads.len()];
    let mut turns = BinaryHeap::with_capacity(run.threads.len());
    let returns = |thread: usize, units: u64| clocks.ns(thread, run.threads[thread].clock.ns(units));
    for (thread, source) in sources.iter_mut().enumerate() {
        ahead.next(thread, &mut source.batch);
        match source.batch.next_end() {
            Some(end) => turns.push(Reverse((returns(thread, end), thread))),
            None => endings[thread] = source.batch.ending,
        }
    }
    let mut event = Event::NOTHING;
    while let Some(mut turn) = turns.peek_mut() {
        let Reverse((time, thread)) = &mut *turn;
        let thread = *thread;
        let source = &mut sources[thread];
        let trace = &run.threads[thread];
        let measured = source.batch.pop_into(&mut event);
        let (start_ns, end_ns) =
            (clocks.ns(thread, trace.start_ns(&event)), clocks.ns(thread, trace.end_ns(&event)));
        let event = &event;
        let first_inside = source.first_inside(event);
        let (process, record) = (trace.process as u32, source.record);
        let seen =
            Seen { thread: thread as u32, process, record, first_inside, event, measured, start_ns, end_ns };
        let files = &mut descriptors[trace.process];
        shared.arrive(trace.process, files);
        let touched = files.apply(event, seen.start_ns, *time);
        shared.leave(trace.process, files);
        if let (Effect::Inherit, Some(open)) = (event.call.effect(), touched.opened) {
            shared.inherit(trace.process, event.numbers[0] as i32, open, &mut descriptors);
        }
        let files = &descriptors[trace.process];
        for visitor in &mut *visitors {
            visitor.see(&seen, &touched, files);
        }
        source.record += 1;
        let mut next = source.batch.next_end();
        if next.is_none() && !source.batch.is_last {
            progress.read(source.batch.bytes);
            ahead.next(thread, &mut source.batch);
            next = source.batch.next_end();
        }
        match next {
            Some(end) => *time = returns(thread, end),
            None => {
                progress.read(source.batch.bytes);
                endings[thread] = source.batch.ending;
                if let Some(end) = source.batch.end.take() {
                    visitors.iter_mut().for_each(|visitor| visitor.end(thread as u32, &end));
                }
                *source = Source::default();
                std::collections::binary_heap::PeekMut::pop(turn);
            }
        }
    }
    endings
}
