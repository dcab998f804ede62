//! Follows timers that are waited for by a descriptor (`timerfd_create(2)`): which calls one of them has ended.

use crate::follow::pass::{Seen, Visitor};
use crate::follow::signal_tracker::origin;
use std::collections::HashSet;
use syn_trace::calls::Effect;
use syn_trace::descriptors::{Descriptors, OpenId, Touched};
use syn_trace::{Run, record};

/// The timers of a run. Memory: 4 bytes for each call that waited for one.
#[derive(Debug)]
pub struct TimerTracker {
    /// By the process that made it: its open file there.
    timers: HashSet<(u32, OpenId)>,
    ended: EndedByTimer,
}

/// By thread: the records of calls that waited until a timer had run down, ascending.
pub type EndedByTimer = Vec<Vec<u32>>;

impl TimerTracker {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run) -> TimerTracker {
        TimerTracker { timers: HashSet::new(), ended: vec![Vec::new(); run.threads.len()] }
    }

    /// The calls that were ended by a timer.
    pub fn finish(self) -> EndedByTimer {
        self.ended
    }

    /// A call has found this file ready to read, or has read from it: if it is a timer, that had run down.
    pub fn read(&mut self, seen: &Seen<'_>, open: OpenId, descriptors: &Descriptors) {
        if !seen.may_have_slept() || !self.timers.contains(&origin(seen, open, descriptors)) {
            return;
        }
        let ended = &mut self.ended[seen.thread as usize];
        if ended.last() != Some(&seen.record) {
            ended.push(seen.record);
        }
    }
}

impl Visitor for TimerTracker {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        match seen.event.call.effect() {
            _ if seen.event.has(record::FAILED) => {}
            Effect::OpenTimer => {
                let opened = touched.opened.map(|open| origin(seen, open, descriptors));
                self.timers.extend(opened);
            }
            Effect::Read(_) if !self.timers.is_empty() => {
                touched.file.into_iter().for_each(|open| self.read(seen, open, descriptors));
            }
            _ => {}
        }
    }
}
