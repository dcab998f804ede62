//! Reads the events of all threads for a pass, and puts them in the order in which their calls returned.
//!
//! The pass gets one row of events, and need not go from thread to thread itself. So they can be read ahead on another processor, which
//! takes a seventh more work in all: it is worth it unless another pass uses that processor.

use crate::clocks::Clocks;
use crate::follow::source::{Behind, Measuring, Nesting, Source};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use syn_trace::Run;
use syn_trace::order::Turns;
use syn_trace::reader::Event;
use syn_trace::run::{EventQueue, Fifo, Measured};

/// After so many events of a thread the memory of what was read is let go.
const LET_GO_EVERY: u32 = 1 << 8;
/// Events in a block, and how many blocks there are: some are filled while one is gone through.
const IN_BLOCK: usize = 512;
const BLOCKS: usize = 4;

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
pub enum Next<'b> {
    /// An event, and what it took, where that was asked for.
    Event(&'b Place, &'b Measured),
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
    events: EventQueue<'a>,
    /// What each took; empty where that was not asked for.
    measured: Fifo<Measured>,
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
    pub fn next_into(&mut self, event: &mut Event<'a>) -> Option<Next<'_>> {
        if let Some(&Ended { events, thread, behind }) = self.ended.first()
            && events == self.taken
        {
            self.ended.pop();
            return Some(Next::End(thread, behind));
        }
        let place = self.places.pop()?;
        self.taken += 1;
        self.events.pop_into(event);
        Some(Next::Event(place, self.measured.pop().unwrap_or(&Measured::NOTHING)))
    }

    #[inline]
    fn push(&mut self, place: Place, event: &Event<'a>, measured: Option<&Measured>) {
        self.events.push(event);
        self.places.extend(&[place]);
        if let Some(measured) = measured {
            self.measured.extend(std::slice::from_ref(measured));
        }
    }

    fn end(&mut self, thread: usize, behind: Behind) {
        self.ended.extend(&[Ended { events: self.places.len(), thread: thread as u32, behind }]);
    }
}

/// Puts the events of all threads in order.
#[derive(Debug)]
pub struct Row<'a> {
    clocks: &'a Clocks,
    sources: Vec<Source<'a>>,
    /// When the next event of each thread returns.
    turns: Turns,
}

impl<'a> Row<'a> {
    /// From the beginning of all threads; those without events end in `block`.
    fn new(run: &'a Run, clocks: &'a Clocks, measuring: Measuring, block: &mut Block<'a>) -> Row<'a> {
        let (mut sources, mut first) = (Vec::new(), Vec::new());
        for thread in 0..run.threads.len() {
            let mut source = Source::new(run, thread, measuring);
            let returns_ns = source.advance().then(|| clocks.ns(thread, source.returned_ns));
            if returns_ns.is_none() {
                block.end(thread, Behind { end: None, ..source.behind() });
            }
            first.push(returns_ns);
            sources.push(source);
        }
        Row { clocks, sources, turns: Turns::new(&first) }
    }

    /// Puts the next events into a block. False when there are none left.
    fn fill(&mut self, block: &mut Block<'a>) -> bool {
        let clocks = self.clocks;
        block.taken = 0;
        while block.places.len() < IN_BLOCK {
            let Some((returned_ns, thread)) = self.turns.first() else { return false };
            let source = &mut self.sources[thread];
            let event = &source.event;
            let place = Place {
                thread: thread as u32,
                process: source.process,
                record: source.record,
                first_inside: source.nesting.first_inside(event, source.record),
                start_ns: clocks.ns(thread, source.started_ns),
                end_ns: clocks.ns(thread, source.end_ns()),
                returned_ns,
            };
            block.push(place, event, source.measured());
            source.record += 1;
            if source.record.is_multiple_of(LET_GO_EVERY) {
                block.bytes += source.let_go();
            }
            let returns_ns = source.advance().then(|| clocks.ns(thread, source.returned_ns));
            if returns_ns.is_none() {
                block.bytes += source.let_go();
                block.end(thread, source.behind());
                source.nesting = Nesting::default();
            }
            self.turns.go_on(returns_ns);
        }
        true
    }
}

/// Where events are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Ahead of the pass, on another processor.
    Ahead,
    /// By the thread of the pass.
    Here,
}

/// The events of all threads of a run, in blocks.
#[derive(Debug)]
pub enum Blocks<'a> {
    /// Filled on another processor, and given back to be filled again.
    Ahead(Receiver<Block<'a>>, Sender<Block<'a>>),
    /// Filled when they are asked for. `first`: of those that have not been, the first, with the ends of threads without events.
    Here { row: Row<'a>, first: Option<Box<Block<'a>>>, is_over: bool },
}

impl<'a> Blocks<'a> {
    /// Begins to read.
    pub fn start<'s>(
        scope: &'s Scope<'s, '_>,
        run: &'a Run,
        clocks: &'a Clocks,
        measuring: Measuring,
        reading: Reading,
    ) -> Blocks<'a>
    where
        'a: 's,
    {
        let mut block = Block::default();
        let mut row = Row::new(run, clocks, measuring, &mut block);
        if reading == Reading::Here {
            return Blocks::Here { row, first: Some(Box::new(block)), is_over: false };
        }
        let (empty, requests) = channel::<Block<'a>>();
        let (to_pass, filled) = channel();
        scope.spawn(move || {
            loop {
                let goes_on = row.fill(&mut block);
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
        Blocks::Ahead(filled, empty)
    }

    /// Puts the next block in place of the one that is done with. False when there is none.
    pub fn next(&mut self, block: &mut Block<'a>) -> bool {
        match self {
            Blocks::Ahead(filled, empty) => {
                let Ok(next) = filled.recv() else { return false };
                // The reader needs none any more behind the last.
                let _ = empty.send(std::mem::replace(block, next));
                true
            }
            Blocks::Here { is_over: true, .. } => false,
            Blocks::Here { row, first, is_over } => {
                if let Some(first) = first.take() {
                    *block = *first;
                }
                *is_over = !row.fill(block);
                true
            }
        }
    }
}
