//! One look at all events of a run: how many there are, when the first and the last were, what was not observed.

use crate::follow::pass::{Seen, Visitor};
use rayon::prelude::*;
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::reader::{Ending, Event};
use syn_trace::{Call, Run, record};

/// After so many events the memory of what was read is let go.
const LET_GO_EVERY: u64 = 1 << 10;

/// What one look at all events of a thread showed.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) events: u64,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) ending: Option<Ending>,
    pub(super) unobserved: Vec<String>,
    /// The latest reading of its CPU clock, nanoseconds since the start of the run.
    read_ns: u64,
    /// CPU time between readings, and what the processor was another's meanwhile, nanoseconds.
    used_ns: u64,
    preempted_ns: u64,
    /// Since that reading it has waited for a lock.
    waited: bool,
}

impl Look {
    #[inline]
    fn at(&mut self, event: &Event<'_>, start_ns: u64, end_ns: u64) {
        self.events += 1;
        self.last_ns = self.last_ns.max(end_ns);
        if let Some(cpu_ns) = event.cpu_before {
            self.read(start_ns, cpu_ns, event.has(record::WAITED_BEFORE));
        }
        if let Some(cpu_ns) = event.cpu_after {
            self.read(end_ns, cpu_ns, event.has(record::WAITED_AFTER));
        }
        self.waited |= event.has(record::LOST_AFTER) && event.call.waits_for_lock();
        if event.call == Call::Unobserved {
            self.unobserved.push(String::from_utf8_lossy(&event.texts[0].bytes()).into_owned());
        }
    }

    /// The thread has had the processor for so long since the reading before. If it did not wait meanwhile, it was ready to run.
    fn read(&mut self, at_ns: u64, cpu_ns: u64, waited: bool) {
        self.used_ns = self.used_ns.saturating_add(cpu_ns);
        if !(waited || self.waited) {
            let passed_ns = at_ns.saturating_sub(self.read_ns);
            self.preempted_ns = self.preempted_ns.saturating_add(passed_ns.saturating_sub(cpu_ns));
        }
        (self.read_ns, self.waited) = (at_ns, false);
    }
}

/// Looks at all events of a run, by thread: in a pass of their own, on all processors, or as part of another.
#[derive(Debug)]
pub struct Looks(pub(super) Vec<Look>);

impl Looks {
    /// At a run of which nothing was seen yet.
    pub fn new(run: &Run) -> Looks {
        let before = run.cpu_before();
        let look = |thread: usize| {
            let first_ns = run.began_ns(thread, &before);
            Look {
                events: 0,
                first_ns,
                last_ns: first_ns,
                ending: None,
                unobserved: Vec::new(),
                read_ns: run.threads[thread].clock.start_ns.max(0.0) as u64,
                used_ns: 0,
                preempted_ns: 0,
                waited: false,
            }
        };
        Looks((0..run.threads.len()).map(look).collect())
    }

    /// Reads every trace once.
    pub(super) fn read(&mut self, run: &Run) {
        self.0.par_iter_mut().zip(&run.threads).for_each(|(look, thread)| {
            let (mut events, mut event) = (thread.events(), Event::NOTHING);
            while events.next_times_into(&mut event) {
                look.at(&event, thread.clock.ns(event.start), thread.end_ns(&event));
                if look.events.is_multiple_of(LET_GO_EVERY) {
                    events.let_go();
                }
            }
            look.ending = events.ending();
        });
    }

    /// CPU time of the application's threads, nanoseconds, and what part of the time in which they were ready to run the processor was
    /// another's, as far as readings tell.
    pub(super) fn processor(&self, run: &Run) -> (f64, f64) {
        let own =
            run.threads.iter().zip(&self.0).filter(|(thread, _)| !run.processes[thread.process].process_only);
        let (used_ns, preempted_ns) = own.fold((0.0, 0.0), |sum, (_, look)| {
            (sum.0 + look.used_ns as f64, sum.1 + look.preempted_ns as f64)
        });
        (used_ns, if preempted_ns > 0.0 { preempted_ns / (used_ns + preempted_ns) } else { 0.0 })
    }

    /// How the records of every thread ended.
    pub fn end(&mut self, endings: &[Option<Ending>]) {
        self.0.iter_mut().zip(endings).for_each(|(look, &ending)| look.ending = ending);
    }
}

/// As part of a pass whose clocks are the recorded ones.
impl Visitor for Looks {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, _: &Touched, _: &Descriptors) {
        self.0[seen.thread as usize].at(seen.event, seen.start_ns, seen.end_ns);
    }
}
