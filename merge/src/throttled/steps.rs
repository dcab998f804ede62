//! What the threads of a run did: the calls that got them somewhere, and the holds before them.

use crate::clocks::Clocks;
use crate::follow::pass::{Measuring, Reading, Seen, Visitor, pass};
use crate::graph::dependency::Moment;
use crate::progress::Progress;
use std::hash::{DefaultHasher, Hash, Hasher};
use syn_trace::board::Release;
use syn_trace::calls::{Effect, Fact};
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::{Call, Run, record};

/// A call that got its thread somewhere.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Which call, on which file.
    pub class: u32,
    /// It waits for the end of a process.
    pub awaits_process: bool,
    /// The end of the step before, nanoseconds.
    pub behind_ns: u64,
    /// Its entry.
    pub enter: Moment,
    /// Its return.
    pub leave: Moment,
}

impl Step {
    /// From the end of the step before to its own, nanoseconds.
    pub fn took_ns(&self) -> u64 {
        let end_ns = self.leave.ns;
        end_ns.saturating_sub(self.behind_ns)
    }
}

/// A thread was held before a step.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    /// Index into the run's threads.
    pub thread: usize,
    /// Position of the step; `None` if the held call did not get the thread anywhere.
    pub step: Option<usize>,
    /// When, nanoseconds.
    pub start_ns: u64,
    /// Until when.
    pub end_ns: u64,
    /// Why it ended.
    pub release: Option<Release>,
}

/// Steps by thread, and all holds by their ends.
#[derive(Debug, Default)]
pub struct Steps {
    /// Of each thread in program order.
    pub of_thread: Vec<Vec<Step>>,
    /// Of all threads.
    pub holds: Vec<Hold>,
    pub(super) behind_ns: Vec<u64>,
    /// By thread: its hold whose call has not come yet.
    pub(super) pending: Vec<Option<usize>>,
}

impl Steps {
    /// Of a run on this time axis.
    pub fn of(run: &Run, clocks: &Clocks, progress: &Progress) -> Steps {
        let starts = run.threads.iter().enumerate();
        let mut steps = Steps {
            of_thread: vec![Vec::new(); run.threads.len()],
            holds: Vec::new(),
            behind_ns: starts
                .map(|(index, thread)| clocks.ns(index, thread.clock.start_ns.max(0.0) as u64))
                .collect(),
            pending: vec![None; run.threads.len()],
        };
        pass(run, clocks, Measuring::No, Reading::Ahead, progress, &mut [&mut steps]);
        steps.holds.sort_by_key(|hold| hold.end_ns);
        steps
    }
}

impl Visitor for Steps {
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, _: &Descriptors) {
        let (event, thread) = (seen.event, seen.thread as usize);
        if event.call == Call::Held {
            self.pending[thread] = Some(self.holds.len());
            let release = Release::from_number(event.numbers[1]);
            let (start_ns, end_ns) = (seen.start_ns, seen.end_ns);
            self.holds.push(Hold { thread, step: None, start_ns, end_ns, release });
            return;
        }
        if event.has(record::INNER) || event.call.has(Fact::Note) {
            return;
        }
        let pending = self.pending[thread].take();
        if !event.is_step() {
            return;
        }
        if let Some(hold) = pending {
            self.holds[hold].step = Some(self.of_thread[thread].len());
        }
        let mut hasher = DefaultHasher::new();
        (event.call as u16, &touched.path).hash(&mut hasher);
        let (class, behind_ns) = (hasher.finish() as u32, self.behind_ns[thread]);
        self.behind_ns[thread] = behind_ns.max(seen.end_ns);
        let awaits_process = matches!(event.call.effect(), Effect::AwaitProcess | Effect::AwaitProcessById);
        let (enter, leave) = (seen.enter(), seen.leave());
        self.of_thread[thread].push(Step { class, awaits_process, behind_ns, enter, leave });
    }
}
