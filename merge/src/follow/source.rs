//! The events of a thread, one after the other.

use syn_trace::calls::Fact;
use syn_trace::reader::{Ending, Event, Events};
use syn_trace::run::{Clock, Costs, Measured, MeasuredEvents, Segment};
use syn_trace::{Call, Run, record};

/// The end of a thread.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// What lies behind its last event.
    pub rest: Option<Segment>,
    /// When it was, nanoseconds since the start of the run.
    pub behind_ns: u64,
    /// CPU time of its segments, less what its clock said, nanoseconds.
    pub residual_ns: i64,
}

/// Whether a pass tells what events took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measuring {
    /// It does not.
    No,
    /// It does, of each event and of what lies behind a thread's last one.
    Yes,
}

/// How a thread's events end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Behind {
    /// How its records ended.
    pub ending: Option<Ending>,
    /// What is behind the last event, where events are measured and there is one.
    pub end: Option<End>,
}

/// A thread's events, with what they took or without.
#[derive(Debug)]
enum Timed<'a> {
    Plain(Events<'a>),
    Measured(Box<MeasuredEvents<'a>>),
}

/// A thread on its way. Memory: its next event, whatever its length, and 16 bytes for each record of libc or MPI since the
/// application's last own call.
#[derive(Debug)]
pub struct Source<'a> {
    events: Timed<'a>,
    /// The next one.
    pub event: Event<'a>,
    /// What it took, where that was asked for.
    measured: Measured,
    /// When its call was entered and when it returned, on the thread's time axis.
    pub started_ns: u64,
    pub returned_ns: u64,
    clock: Clock,
    costs: Costs,
    /// Index into the run's processes.
    pub process: u32,
    /// How many records precede the next event.
    pub record: u32,
    /// What it is inside of.
    pub nesting: Nesting,
    /// Bytes that are counted as read.
    counted: u64,
}

/// Set in the number of a signal's record that arrived inside a call without others: more than any thread has records.
pub const INTERRUPTED: u32 = 1 << 31;

/// The records since a thread's last call that was inside no other.
#[derive(Debug, Default)]
pub struct Nesting {
    inside: Vec<(u64, u32)>,
    /// A call is under way that the trace has told of.
    entered: bool,
    /// Signals that arrived inside of such calls: when, and their records. What a handler calls has records of its own behind.
    signals: Vec<(u64, u32)>,
    /// The record before is of a call inside another.
    was_inner: bool,
}

impl<'a> Source<'a> {
    /// The thread with this index, in front of its first event.
    pub fn new(run: &'a Run, thread: usize, measuring: Measuring) -> Source<'a> {
        let trace = &run.threads[thread];
        let events = match measuring {
            Measuring::No => Timed::Plain(trace.events()),
            Measuring::Yes => Timed::Measured(Box::new(trace.measured_among(run.threads.len()))),
        };
        Source {
            events,
            event: Event::NOTHING,
            measured: Measured::NOTHING,
            started_ns: 0,
            returned_ns: 0,
            clock: trace.clock,
            costs: trace.costs,
            process: trace.process as u32,
            record: 0,
            nesting: Nesting::default(),
            counted: 0,
        }
    }

    /// Goes on to the next event. False when there is none.
    #[inline]
    pub fn advance(&mut self) -> bool {
        let there_is_one = match &mut self.events {
            Timed::Plain(events) => events.next_into(&mut self.event),
            Timed::Measured(events) => events.next_into(&mut self.event, &mut self.measured),
        };
        (self.started_ns, self.returned_ns) =
            (self.clock.ns(self.event.start), self.clock.ns(self.event.end));
        there_is_one
    }

    /// What the next event took, where that was asked for.
    #[inline]
    pub fn measured(&self) -> Option<&Measured> {
        matches!(self.events, Timed::Measured(_)).then_some(&self.measured)
    }

    /// When the call returned, the cost of recording taken off.
    #[inline]
    pub fn end_ns(&self) -> u64 {
        self.costs.end_ns(self.started_ns, self.returned_ns)
    }

    /// Lets go of what was read; how many bytes that was since the last time.
    pub fn let_go(&mut self) -> u64 {
        let read = match &mut self.events {
            Timed::Plain(events) => {
                events.let_go();
                events.bytes_read()
            }
            Timed::Measured(events) => {
                events.let_go();
                events.measures().events().bytes_read()
            }
        };
        read - std::mem::replace(&mut self.counted, read)
    }

    /// How it ended. For when there are no more events.
    pub fn behind(&self) -> Behind {
        match &self.events {
            Timed::Plain(events) => Behind { ending: events.ending(), end: None },
            Timed::Measured(events) => {
                let events = events.measures();
                let (rest, behind_ns) = (events.rest(), events.behind_ns());
                let end = End { rest, behind_ns, residual_ns: events.residual_ns() };
                Behind { ending: events.events().ending(), end: Some(end) }
            }
        }
    }
}

impl Nesting {
    /// The first record inside the present one. A call is recorded after those that were made inside it. Where nothing but a signal
    /// has arrived inside, that one's record with [`INTERRUPTED`].
    #[inline]
    pub fn first_inside(&mut self, event: &Event<'_>, record: u32) -> u32 {
        // A `repeats` record does not say that it is inside a call: it is where the record before it is.
        let again_inside = event.call == Call::Repeats && self.was_inner;
        self.was_inner = again_inside || event.has(record::INNER);
        if self.was_inner {
            self.inside.push((event.start, record));
            return record;
        }
        if event.call.has(Fact::Note) {
            self.note(event, record);
            return record;
        }
        let signal = self.first_signal(event);
        if self.inside.is_empty() {
            return signal.map_or(record, |signal| signal | INTERRUPTED);
        }
        let outside = self.inside.partition_point(|&(start, _)| start < event.start);
        let first = self.inside.get(outside).map_or(record, |&(_, record)| record);
        self.inside.clear();
        match signal {
            Some(signal) if first == record => signal | INTERRUPTED,
            Some(signal) => first.min(signal),
            None => first,
        }
    }

    fn note(&mut self, event: &Event<'_>, record: u32) {
        match event.call {
            // 0: all of them were left by a jump.
            Call::Entered => {
                self.entered = event.numbers[0] != 0;
                if !self.entered {
                    self.signals.clear();
                }
            }
            Call::SignalDelivered if self.entered => self.signals.push((event.start, record)),
            _ => {}
        }
    }

    /// The record of the first signal that arrived inside the present call.
    fn first_signal(&mut self, event: &Event<'_>) -> Option<u32> {
        let mut first = None;
        while let Some((_, record)) = self.signals.pop_if(|(arrived, _)| *arrived > event.start) {
            first = Some(record);
        }
        if self.signals.is_empty() {
            self.entered = false;
        }
        first
    }
}
