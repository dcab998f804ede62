//! Some events of a thread, packed.

use syn_trace::reader::{Ending, Event};
use syn_trace::run::{EventQueue, Fifo, Measured, Segment};

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

/// Events one after the other.
#[derive(Debug, Default)]
pub struct Batch<'a> {
    events: EventQueue<'a>,
    /// What each took; empty where that was not asked for.
    measured: Fifo<Measured>,
}

impl<'a> Batch<'a> {
    /// How many events there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Appends an event and, if that is asked for, what it took.
    #[inline]
    pub fn push(&mut self, event: &Event<'a>, measured: Option<Measured>) {
        self.events.push(event);
        if let Some(measured) = measured {
            self.measured.extend(&[measured]);
        }
    }

    /// When the next event's call returned, units of its thread's clock; `None` behind the last.
    #[inline]
    pub fn next_end(&self) -> Option<u64> {
        self.events.next_end()
    }

    /// Takes out the next event, in place of another one, and what it took, where that was asked for.
    #[inline]
    pub fn pop_into(&mut self, event: &mut Event<'a>) -> Option<Measured> {
        self.events.pop_into(event);
        self.measured.pop()
    }
}

/// How a thread's events end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Behind {
    /// How its records ended.
    pub ending: Option<Ending>,
    /// What is behind the last event, where events are measured and there is one.
    pub end: Option<End>,
}
