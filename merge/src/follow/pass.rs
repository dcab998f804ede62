//! One pass over all events of a run, in the order in which their calls returned.

use crate::clocks::Clocks;
pub use crate::follow::row::Reading;
use crate::follow::row::{Block, Blocks, Next, Place};
use crate::follow::shared::SharedPositions;
use crate::follow::source::{Behind, INTERRUPTED};
pub use crate::follow::source::{End, Measuring};
use crate::graph::dependency::{Moment, Point, Span, Stage};
use crate::progress::Progress;
use syn_trace::Run;
use syn_trace::calls::Effect;
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::reader::{Ending, Event};
use syn_trace::record;
use syn_trace::run::Measured;

/// An event in its place.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Index into the run's threads.
    pub thread: u32,
    /// Index into the run's processes.
    pub process: u32,
    /// How many records of the thread precede.
    pub record: u32,
    /// The first record inside this call, itself when there is none; of a signal alone, its record with [`INTERRUPTED`].
    pub first_inside: u32,
    /// The event.
    pub event: &'a Event<'a>,
    /// What it took; empty where that was not asked for.
    pub measured: &'a Measured,
    /// The recorder has seen of every call whether the thread kept its processor.
    pub sees_preemption: bool,
    /// When the call was entered, nanoseconds on the time axis of the merge.
    pub start_ns: u64,
    /// When the call returned, the cost of recording taken off: for how long it took.
    pub end_ns: u64,
    /// When the recorder saw it return: for what came before what. Under ptrace the cost is longer than a wake needs to end
    /// another thread's wait, and with it taken off the wait would end before the wake began.
    pub returned_ns: u64,
}

impl Seen<'_> {
    /// When the call was entered.
    pub fn enter(&self) -> Moment {
        let (record, stage) = match self.first_inside {
            inside if inside < self.record => (inside, Stage::Around),
            // What the call does may be what the signal was sent for.
            signal if signal & INTERRUPTED != 0 => (signal & !INTERRUPTED, Stage::Enter),
            _ => (self.record, Stage::Enter),
        };
        Moment::new(Point { thread: self.thread, record, stage }, self.start_ns)
    }

    /// When the call returned.
    pub fn leave(&self) -> Moment {
        let point = Point { thread: self.thread, record: self.record, stage: Stage::Leave };
        Moment::new(point, self.returned_ns)
    }

    /// From the one to the other.
    pub fn span(&self) -> Span {
        Span { enter: self.enter(), leave: self.leave() }
    }

    /// False where the thread has certainly not slept in the call: it kept its processor, or lost it and did not give it up. What
    /// such a call takes was there.
    pub fn may_have_slept(&self) -> bool {
        let event = self.event;
        let is_whole = self.first_inside >= self.record;
        !(self.sees_preemption && is_whole) || event.waited_inside() || event.has(record::LOST_AFTER)
    }
}

/// Takes part in a pass.
pub trait Visitor {
    /// Sees one event: what it touched, and the descriptors of its process after it.
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors);

    /// A thread has no more events. Only where what they took was asked for.
    fn end(&mut self, _thread: u32, _end: &End) {}
}

/// Shows every event of `run` to every one of `visitors`, threads merged by the time of return. Returns by thread how its
/// records ended.
pub fn pass(
    run: &Run,
    clocks: &Clocks,
    measuring: Measuring,
    reading: Reading,
    progress: &Progress,
    visitors: &mut [&mut dyn Visitor],
) -> Vec<Option<Ending>> {
    std::thread::scope(|scope| {
        let blocks = Blocks::start(scope, run, clocks, measuring, reading);
        in_order(run, blocks, progress, visitors)
    })
}

fn in_order<'a>(
    run: &'a Run,
    mut blocks: Blocks<'a>,
    progress: &Progress,
    visitors: &mut [&mut dyn Visitor],
) -> Vec<Option<Ending>> {
    let mut descriptors: Vec<Descriptors> =
        run.processes.iter().map(|process| Descriptors::new(&process.cwd, process.threads.len())).collect();
    let mut shared = SharedPositions::new(run);
    let mut endings = vec![None; run.threads.len()];
    let sees_preemption: Vec<bool> = run.threads.iter().map(|thread| thread.sees_preemption()).collect();
    let (mut block, mut event, mut touched) = (Block::default(), Event::NOTHING, Touched::default());
    while blocks.next(&mut block) {
        while let Some(next) = block.next_into(&mut event) {
            let (place, measured) = match next {
                Next::Event(place, measured) => (place, measured),
                Next::End(thread, Behind { ending, end }) => {
                    endings[thread as usize] = ending;
                    if let Some(end) = end {
                        visitors.iter_mut().for_each(|visitor| visitor.end(thread, &end));
                    }
                    continue;
                }
            };
            let Place { thread, process, record, first_inside, start_ns, end_ns, returned_ns } = *place;
            let (event, sees_preemption) = (&event, sees_preemption[thread as usize]);
            let seen = Seen {
                thread,
                process,
                record,
                first_inside,
                event,
                measured,
                sees_preemption,
                start_ns,
                end_ns,
                returned_ns,
            };
            let process = process as usize;
            let files = &mut descriptors[process];
            shared.arrive(process, files);
            files.apply_into(event, start_ns, returned_ns, &mut touched);
            shared.leave(process, files);
            if let (Effect::Inherit, Some(open)) = (event.call.effect(), touched.opened) {
                shared.inherit(process, event.numbers[0] as i32, open, &mut descriptors);
            }
            let files = &descriptors[process];
            for visitor in &mut *visitors {
                visitor.see(&seen, &touched, files);
            }
        }
        progress.read(std::mem::take(&mut block.bytes));
    }
    endings
}
