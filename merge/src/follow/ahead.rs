//! Reads the events of all threads ahead of a pass, and puts them in the order in which their calls returned, on another
//! processor.
//!
//! Whoever goes from thread to thread with every event waits for memory, so that is done where few events of each are
//! decoded at a time and stay in the processor's cache. The pass gets one row of events.

use crate::clocks::Clocks;
use crate::follow::batch::{Batch, Behind, End, Measuring};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use syn_trace::calls::Fact;
use syn_trace::reader::{Event, Events};
use syn_trace::run::{Clock, Fifo, Measured, MeasuredEvents};
use syn_trace::{Call, Run, record};

/// Events of all threads together that are decoded at a time, as far as each has its least; and of a thread.
const MOST_TOGETHER: usize = 1 << 12;
const LEAST: usize = 16;
const MOST: usize = 256;
/// Events in a block, and how many blocks there are: some are filled while one is gone through.
const IN_BLOCK: usize = 512;
const BLOCKS: usize = 4;

/// A thread's events, with what they took or without.
#[derive(Debug)]
enum Timed<'a> {
    Plain(Events<'a>),
    Measured(Box<MeasuredEvents<'a>>),
}

/// A thread on its way. Memory: the events that were decoded ahead, whatever the thread's length, and 16 bytes for each
/// record of libc or MPI since the application's last own call.
#[derive(Debug)]
struct Source<'a> {
    events: Timed<'a>,
    batch: Batch<'a>,
    is_over: bool,
    clock: Clock,
    call_cost_ns: u64,
    process: u32,
    record: u32,
    inside: Vec<(u64, u32)>,
    /// The record before is of a call inside another.
    was_inner: bool,
}

impl<'a> Source<'a> {
    fn new(run: &'a Run, thread: usize, measuring: Measuring) -> Source<'a> {
        let trace = &run.threads[thread];
        let events = match measuring {
            Measuring::No => Timed::Plain(trace.events()),
            Measuring::Yes => Timed::Measured(Box::new(trace.measured_among(run.threads.len()))),
        };
        Source {
            events,
            batch: Batch::default(),
            is_over: false,
            clock: trace.clock,
            call_cost_ns: trace.costs.call_ns,
            process: trace.process as u32,
            record: 0,
            inside: Vec::new(),
            was_inner: false,
        }
    }

    /// Decodes the next events, up to so many; how many bytes they take in the file.
    fn fill(&mut self, most: usize) -> u64 {
        let mut event = Event::NOTHING;
        let (before, behind) = match &mut self.events {
            Timed::Plain(events) => {
                let before = events.bytes_read();
                while self.batch.len() < most && events.next_into(&mut event) {
                    self.batch.push(&event, None);
                }
                events.let_go();
                (before, events.bytes_read())
            }
            Timed::Measured(events) => {
                let before = events.events().bytes_read();
                while self.batch.len() < most
                    && let Some(measured) = events.next_into(&mut event)
                {
                    self.batch.push(&event, Some(measured));
                }
                events.let_go();
                (before, events.events().bytes_read())
            }
        };
        self.is_over = self.batch.len() < most;
        behind - before
    }

    fn behind(&self) -> Behind {
        match &self.events {
            Timed::Plain(events) => Behind { ending: events.ending(), end: None },
            Timed::Measured(events) => {
                let (rest, behind_ns) = (events.rest(), events.behind_ns());
                let end = End { rest, behind_ns, residual_ns: events.residual_ns() };
                Behind { ending: events.events().ending(), end: Some(end) }
            }
        }
    }

    /// The first record inside the present one. A call is recorded after those that were made inside it.
    #[inline]
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

/// Where an event belongs, and when it was, nanoseconds on the time axis of the merge.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Index into the run's threads.
    pub thread: u32,
    /// Index into the run's processes.
    pub process: u32,
    /// How many records of the thread precede.
    pub record: u32,
    /// The first record inside this call, itself when there is none.
    pub first_inside: u32,
    /// When the call was entered.
    pub start_ns: u64,
    /// When it returned, the cost of recording taken off.
    pub end_ns: u64,
    /// When the recorder saw it return: what the order goes by.
    pub returned_ns: u64,
}

/// What comes next in a block.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// An event, and what it took, where that was asked for.
    Event(Place, Measured),
    /// A thread has no more events.
    End(u32, Behind),
}

/// The end of a thread, behind so many events of a block.
#[derive(Clone, Copy, Debug)]
struct Ended {
    events: usize,
    thread: u32,
    behind: Behind,
}

/// Some events in order.
#[derive(Debug, Default)]
pub struct Block<'a> {
    events: Batch<'a>,
    places: Fifo<Place>,
    ended: Fifo<Ended>,
    /// How many events have been taken out.
    taken: usize,
    /// Bytes that were read for it.
    pub bytes: u64,
}

impl<'a> Block<'a> {
    /// Takes out what comes next; an event in place of another one.
    #[inline]
    pub fn next_into(&mut self, event: &mut Event<'a>) -> Option<Next> {
        if let Some(&Ended { events, thread, behind }) = self.ended.first()
            && events == self.taken
        {
            self.ended.pop();
            return Some(Next::End(thread, behind));
        }
        let place = self.places.pop()?;
        self.taken += 1;
        Some(Next::Event(place, self.events.pop_into(event).unwrap_or(Measured::NOTHING)))
    }

    fn end(&mut self, thread: usize, behind: Behind) {
        self.ended.extend(&[Ended { events: self.places.len(), thread: thread as u32, behind }]);
    }
}

/// Puts the events of all threads in order.
struct Row<'a> {
    sources: Vec<Source<'a>>,
    /// The next event of each thread: when it returns, the thread.
    turns: BinaryHeap<Reverse<(u64, usize)>>,
    most: usize,
}

impl<'a> Row<'a> {
    /// From the beginning of all threads; those without events end in `block`.
    fn new(run: &'a Run, clocks: &Clocks, measuring: Measuring, block: &mut Block<'a>) -> Row<'a> {
        let threads = run.threads.len();
        let most = (MOST_TOGETHER / threads.max(1)).clamp(LEAST, MOST);
        let mut row = Row { sources: Vec::new(), turns: BinaryHeap::with_capacity(threads), most };
        for thread in 0..threads {
            let mut source = Source::new(run, thread, measuring);
            block.bytes += source.fill(most);
            match source.batch.next_end() {
                Some(end) => row.turns.push(Reverse((clocks.ns(thread, source.clock.ns(end)), thread))),
                None => block.end(thread, Behind { end: None, ..source.behind() }),
            }
            row.sources.push(source);
        }
        row
    }

    /// Puts the next events into a block. False when there are none left.
    fn fill(&mut self, clocks: &Clocks, block: &mut Block<'a>) -> bool {
        block.taken = 0;
        let mut event = Event::NOTHING;
        while block.places.len() < IN_BLOCK {
            let Some(mut turn) = self.turns.peek_mut() else { return false };
            let Reverse((time, thread)) = &mut *turn;
            let source = &mut self.sources[*thread];
            let measured = source.batch.pop_into(&mut event);
            let (start_ns, end_ns) =
                (source.clock.ns(event.start), source.clock.end_ns(&event, source.call_cost_ns));
            let place = Place {
                thread: *thread as u32,
                process: source.process,
                record: source.record,
                first_inside: source.first_inside(&event),
                start_ns: clocks.ns(*thread, start_ns),
                end_ns: clocks.ns(*thread, end_ns),
                returned_ns: *time,
            };
            block.events.push(&event, measured);
            block.places.extend(&[place]);
            source.record += 1;
            if source.batch.len() == 0 && !source.is_over {
                block.bytes += source.fill(self.most);
            }
            match source.batch.next_end() {
                Some(end) => *time = clocks.ns(*thread, source.clock.ns(end)),
                None => {
                    block.end(*thread, source.behind());
                    source.inside = Vec::new();
                    PeekMut::pop(turn);
                }
            }
        }
        true
    }
}

/// The events of all threads of a run, in blocks.
#[derive(Debug)]
pub struct Ahead<'a> {
    empty: Sender<Block<'a>>,
    filled: Receiver<Block<'a>>,
}

impl<'a> Ahead<'a> {
    /// Begins to read.
    pub fn start<'s>(
        scope: &'s Scope<'s, '_>,
        run: &'a Run,
        clocks: &'a Clocks,
        measuring: Measuring,
    ) -> Ahead<'a>
    where
        'a: 's,
    {
        let (empty, requests) = channel::<Block<'a>>();
        let (to_pass, filled) = channel();
        scope.spawn(move || {
            let mut block = Block::default();
            let mut row = Row::new(run, clocks, measuring, &mut block);
            loop {
                let goes_on = row.fill(clocks, &mut block);
                // The pass has ended early if it fails: nobody needs this any more.
                if to_pass.send(block).is_err() || !goes_on {
                    return;
                }
                match requests.recv() {
                    Ok(next) => block = next,
                    Err(_) => return,
                }
            }
        });
        // One is filled first, and one is the pass's.
        for _ in 2..BLOCKS {
            // Fails when the reader has, of which the scope tells.
            let _ = empty.send(Block::default());
        }
        Ahead { empty, filled }
    }

    /// Puts the next block in place of the one that is done with. False when there is none.
    pub fn next(&mut self, block: &mut Block<'a>) -> bool {
        let Ok(next) = self.filled.recv() else { return false };
        // The reader needs none any more behind the last.
        let _ = self.empty.send(std::mem::replace(block, next));
        true
    }
}
