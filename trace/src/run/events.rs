//! The events of a process image, over all its threads.

use super::{Run, Thread};
use crate::order::InTimeOrder;
use crate::reader::{Event, Events};

impl Run {
    /// The events of process image `process` over all its threads, in the order in which their calls returned, each
    /// with the index of its thread in [`Run::threads`].
    ///
    /// # Panics
    /// When there is no such process.
    pub fn process_events(&self, process: usize) -> impl Iterator<Item = (usize, Event<'_>)> {
        match self.processes[process].threads[..] {
            // Nearly every process of a parallel application has one thread that matters; it needs no merging.
            [thread] => ProcessEvents::Alone(thread, self.threads[thread].events()),
            ref several => ProcessEvents::Several(InTimeOrder::new(several.iter().map(|&index| {
                let thread = &self.threads[index];
                TimedEvents { thread, index, events: thread.events() }
            }))),
        }
    }
}

/// See [`Run::process_events`].
enum ProcessEvents<'a> {
    Alone(usize, Events<'a>),
    Several(InTimeOrder<TimedEvents<'a>>),
}

impl<'a> Iterator for ProcessEvents<'a> {
    type Item = (usize, Event<'a>);

    #[inline]
    fn next(&mut self) -> Option<(usize, Event<'a>)> {
        match self {
            ProcessEvents::Alone(thread, events) => events.next().map(|event| (*thread, event)),
            ProcessEvents::Several(merged) => merged.next(),
        }
    }
}

/// A thread's events with the times at which their calls returned.
struct TimedEvents<'a> {
    thread: &'a Thread,
    index: usize,
    events: Events<'a>,
}

impl<'a> Iterator for TimedEvents<'a> {
    type Item = (u64, (usize, Event<'a>));

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let event = self.events.next()?;
        Some((self.thread.clock.ns(event.end), (self.index, event)))
    }
}
