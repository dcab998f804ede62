//! Reads the events of all threads ahead of a pass, on other processors.
//!
//! Every thread's events come in batches. While the pass goes through one, the next is read.

use crate::follow::batch::{Batch, End, Measuring};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use syn_trace::Run;
use syn_trace::reader::{Event, Events};
use syn_trace::run::MeasuredEvents;

/// Events in the batches of all threads together, as far as each has its least; and in a batch.
const MOST_TOGETHER: usize = 1 << 15;
const LEAST: usize = 16;
const MOST: usize = 512;
/// Batches are handed over together that have so many events, which costs less than to hand over each.
const TOGETHER: usize = 1 << 10;
/// Threads that read: more than the pass has use for are none.
const MOST_READERS: usize = 3;

/// A thread's events, with what they took or without.
#[derive(Debug)]
enum Timed<'a> {
    Plain(Events<'a>),
    Measured(Box<MeasuredEvents<'a>>),
}

/// What goes to a reader, and comes back filled.
#[derive(Debug)]
struct Part<'a> {
    thread: usize,
    most: usize,
    events: Timed<'a>,
    batch: Batch<'a>,
}

impl Part<'_> {
    /// Reads the next batch.
    fn fill(&mut self) {
        let batch = &mut self.batch;
        (batch.bytes, batch.is_last) = (0, false);
        let mut event = Event::NOTHING;
        match &mut self.events {
            Timed::Plain(events) => {
                let before = events.bytes_read();
                while batch.len() < self.most && events.next_into(&mut event) {
                    batch.push(&event, None);
                }
                batch.bytes = events.bytes_read() - before;
                batch.ending = events.ending();
                events.let_go();
            }
            Timed::Measured(events) => {
                let before = events.events().bytes_read();
                while batch.len() < self.most
                    && let Some(measured) = events.next_into(&mut event)
                {
                    batch.push(&event, Some(measured));
                }
                batch.bytes = events.events().bytes_read() - before;
                events.let_go();
            }
        }
        if batch.len() < self.most {
            batch.is_last = true;
            if let Timed::Measured(events) = &self.events {
                batch.ending = events.events().ending();
                batch.end = Some(End {
                    rest: events.rest(),
                    behind_ns: events.behind_ns(),
                    residual_ns: events.residual_ns(),
                });
            }
        }
    }
}

/// What is handed over at once.
type Parts<'a> = Vec<Box<Part<'a>>>;

/// The events of all threads of a run, in batches.
#[derive(Debug)]
pub struct Ahead<'a> {
    /// By thread: its next batch, where that is here.
    filled: Vec<Option<Box<Part<'a>>>>,
    /// To be handed over.
    empty: Parts<'a>,
    /// So many at once.
    together: usize,
    to_readers: Sender<Parts<'a>>,
    from_readers: Receiver<Parts<'a>>,
}

impl<'a> Ahead<'a> {
    /// Begins to read.
    pub fn start<'s>(scope: &'s Scope<'s, '_>, run: &'a Run, measuring: Measuring) -> Ahead<'a>
    where
        'a: 's,
    {
        let (to_readers, requests) = channel::<Parts<'a>>();
        let (to_pass, from_readers) = channel();
        let requests = Arc::new(Mutex::new(requests));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..(processors - 1).clamp(1, MOST_READERS) {
            let (requests, to_pass) = (requests.clone(), to_pass.clone());
            scope.spawn(move || {
                let next = || requests.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok(mut parts) = next() {
                    parts.iter_mut().for_each(|part| part.fill());
                    // The pass has ended early if it fails: nobody needs these any more.
                    let _ = to_pass.send(parts);
                }
            });
        }
        let most = (MOST_TOGETHER / run.threads.len().max(1)).clamp(LEAST, MOST);
        let mut ahead = Ahead {
            filled: run.threads.iter().map(|_| None).collect(),
            empty: Vec::new(),
            together: TOGETHER / most,
            to_readers,
            from_readers,
        };
        for (thread, trace) in run.threads.iter().enumerate() {
            let events = match measuring {
                Measuring::No => Timed::Plain(trace.events()),
                Measuring::Yes => Timed::Measured(Box::new(trace.measured_among(run.threads.len()))),
            };
            ahead.request(Box::new(Part { thread, most, events, batch: Batch::default() }));
        }
        ahead
    }

    /// Puts the next batch of a thread in place of the one that is done with.
    pub fn next(&mut self, thread: usize, batch: &mut Batch<'a>) {
        if self.filled[thread].is_none() {
            self.hand_over();
        }
        while self.filled[thread].is_none() {
            let Ok(parts) = self.from_readers.recv() else { panic!("reading events ahead has failed") };
            for part in parts {
                let thread = part.thread;
                self.filled[thread] = Some(part);
            }
        }
        let Some(mut part) = self.filled[thread].take() else { return };
        std::mem::swap(&mut part.batch, batch);
        if !batch.is_last {
            self.request(part);
        }
    }

    fn request(&mut self, part: Box<Part<'a>>) {
        self.empty.push(part);
        if self.empty.len() >= self.together {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        if !self.empty.is_empty() {
            // Fails only when the readers have, which `next` says.
            let _ = self.to_readers.send(std::mem::take(&mut self.empty));
        }
    }
}
