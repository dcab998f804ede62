//! Waits with a time limit that was over, and the wait for the same that came next in the thread and was not in vain: what ended that
//! one would have ended each of them.

use crate::follow::pass::{Seen, Visitor};
use std::collections::HashMap;
use syn_trace::calls::effect::{Effect, Sync};
use syn_trace::descriptors::{Descriptors, OpenId, Touched};
use syn_trace::{Event, Run, record};

/// By thread: the record of each wait whose time was over, and the thread and record of the one that found what it was for; ascending.
pub type TimedWaits = Vec<Vec<(u32, (u32, u32))>>;

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WaitTarget {
    /// A set of descriptors, as of epoll(7).
    Set(OpenId),
    /// So many descriptors, for so long: which ones is not on record.
    Descriptors(i64, i64),
    /// A condition or semaphore, at this address.
    Address(i64),
}

/// Follows the waits of a run. Memory: 8 bytes for each whose time was over.
#[derive(Debug)]
pub struct TimedWaitTracker {
    /// By thread: those whose time was over, and that no other has followed yet.
    open: HashMap<(u32, WaitTarget), Vec<u32>>,
    found: TimedWaits,
}

impl TimedWaitTracker {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run) -> TimedWaitTracker {
        TimedWaitTracker { open: HashMap::new(), found: vec![Vec::new(); run.threads.len()] }
    }

    /// The waits that others have followed, and the sleeps.
    pub fn finish(mut self, sleeps: TimedWaits) -> TimedWaits {
        self.found.iter_mut().zip(sleeps).for_each(|(waits, sleeps)| waits.extend(sleeps));
        self.found.iter_mut().for_each(|waits| waits.sort_unstable());
        self.found
    }
}

/// Whether a call has waited until its time was over.
pub fn is_over(event: &Event<'_>) -> bool {
    let timeout = i64::from(libc::ETIMEDOUT);
    match event.call.effect() {
        Effect::Sync(_) => {
            event.result == timeout || event.has(record::FAILED) && i64::from(event.errno) == timeout
        }
        Effect::AwaitReadiness | Effect::AwaitBlocks => !event.has(record::FAILED) && event.result == 0,
        Effect::AwaitAsynchronous => event.has(record::FAILED) && event.errno == libc::EAGAIN,
        _ => false,
    }
}

impl Visitor for TimedWaitTracker {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, _: &Descriptors) {
        let event = seen.event;
        let what = match event.call.effect() {
            Effect::AwaitReadiness => {
                let descriptors = WaitTarget::Descriptors(event.numbers[0], event.numbers[1]);
                touched.file.map_or(descriptors, WaitTarget::Set)
            }
            Effect::Sync(Sync::AwaitCondition | Sync::TakeSemaphore) => WaitTarget::Address(event.numbers[0]),
            _ => return,
        };
        let is_over = is_over(event);
        // One that did not sleep was a look.
        let says_nothing = if is_over { !event.waited_inside() } else { event.has(record::FAILED) };
        if says_nothing || !is_over && self.open.is_empty() {
            return;
        }
        let waits = (seen.thread, what);
        if is_over {
            return self.open.entry(waits).or_default().push(seen.record);
        }
        if let Some(over) = self.open.remove(&waits) {
            self.found[seen.thread as usize]
                .extend(over.into_iter().map(|over| (over, (seen.thread, seen.record))));
        }
    }
}
