//! Polling: a run of tests or probes that find nothing, ended by one that does.
//!
//! How often a program asks before the answer comes depends on how fast the answer comes, which is what a replay is to
//! find out. So the run becomes one wait, and its processor time is waiting, not work.

use super::program::{Program, Stretch};
use super::waiting::may_wait;
use super::{Lowering, Visit};
use crate::mpi::TimedCall;
use syn_plan::Op;
use syn_trace::run::Gap;

/// More work than this between two polls is computation that overlaps the communication, and ends the run; an event
/// loop that does nothing else takes less.
const MOST_WORK_BETWEEN_NS: u64 = 20_000;

/// A run of failed polls, and what else happened meanwhile, in case it turns out to be none.
#[derive(Debug)]
pub struct Polling {
    /// The entry of the first failed poll.
    pub since_ns: u64,
    held: Vec<Held>,
}

#[derive(Debug)]
enum Held {
    Compute(Stretch),
    Sleep { start_ns: u64, end_ns: u64, ns: u64 },
}

impl Polling {
    /// The first poll that found nothing.
    fn new(since_ns: u64) -> Polling {
        Polling { since_ns, held: Vec::new() }
    }

    /// Time between the polls, or in one.
    fn compute(&mut self, stretch: Stretch) {
        match self.held.last_mut() {
            Some(Held::Compute(before)) => {
                before.end_ns = stretch.end_ns;
                before.cpu_ns = before.cpu_ns.saturating_add(stretch.cpu_ns);
                before.idle_ns = before.idle_ns.saturating_add(stretch.idle_ns);
            }
            _ => self.held.push(Held::Compute(stretch)),
        }
    }

    /// The application sleeps before it asks again.
    pub fn sleep(&mut self, start_ns: u64, end_ns: u64, ns: u64) {
        self.held.push(Held::Sleep { start_ns, end_ns, ns });
    }

    /// Nothing came of it: what was done is done in the replay too.
    pub fn give_up(self, program: &mut Program) {
        for held in self.held {
            match held {
                Held::Compute(stretch) => program.compute(stretch),
                Held::Sleep { start_ns, end_ns, ns } => program.step(start_ns, end_ns, Op::Sleep { ns }),
            }
        }
    }
}

/// Whether so much work goes unnoticed between two polls. What repeats has a part of it before every time.
fn is_little(cpu_ns: u64, visit: &Visit<'_>) -> bool {
    cpu_ns <= MOST_WORK_BETWEEN_NS.saturating_mul(visit.times)
}

impl Lowering<'_> {
    /// The run of polls under way, if it goes on with this event; the gap before it belongs to the run then.
    pub(super) fn polling_goes_on(&mut self, visit: &Visit<'_>) -> Option<&mut Polling> {
        self.polling_since(visit).filter(|_| !self.has_point(visit.seen))?;
        let polling = self.threads[visit.seen.thread as usize].polling.as_mut()?;
        let Gap { wall_ns, cpu_ns, waited_ns, .. } = visit.gap;
        let start_ns = visit.seen.start_ns.saturating_sub(wall_ns);
        polling.compute(Stretch { start_ns, end_ns: visit.seen.start_ns, cpu_ns, idle_ns: waited_ns });
        Some(polling)
    }

    /// Since when the thread has been polling, if nothing but polling happened before this event.
    pub(super) fn polling_since(&self, visit: &Visit<'_>) -> Option<u64> {
        let polling = self.threads[visit.seen.thread as usize].polling.as_ref()?;
        is_little(visit.gap.cpu_ns, visit).then_some(polling.since_ns)
    }

    pub(super) fn failed_poll(&mut self, visit: &Visit<'_>, call: &TimedCall) {
        let cpu_ns = self.from.costs.of_call(call, None);
        let own = Stretch { start_ns: visit.begin_ns, end_ns: visit.end_ns, cpu_ns, idle_ns: 0 };
        if let Some(polling) = self.polling_goes_on(visit) {
            return polling.compute(own);
        }
        self.interrupt_polling(visit.seen.thread);
        self.enter(visit);
        let mut polling = Polling::new(visit.begin_ns);
        polling.compute(own);
        self.threads[visit.seen.thread as usize].polling = Some(polling);
    }

    /// A call that is not replayed, among them a poll that came again: time in the run of polls under way. False if
    /// there is none, or if it ends here.
    pub(super) fn polled_meanwhile(&mut self, visit: &Visit<'_>) -> bool {
        let took_ns = visit.end_ns - visit.begin_ns;
        let cpu_ns = visit.cpu_ns.unwrap_or(took_ns);
        let idle_ns = if may_wait(visit.seen.event.call) { took_ns - cpu_ns } else { 0 };
        let own = Stretch { start_ns: visit.begin_ns, end_ns: visit.end_ns, cpu_ns, idle_ns };
        is_little(cpu_ns, visit) && self.polling_goes_on(visit).map(|polling| polling.compute(own)).is_some()
    }

    pub(super) fn interrupt_polling(&mut self, thread: u32) {
        let thread = &mut self.threads[thread as usize];
        if let Some(polling) = thread.polling.take() {
            polling.give_up(&mut thread.program);
        }
    }
}
