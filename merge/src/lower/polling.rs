//! Polling: a run of tests or probes that find nothing, ended by one that does.
//!
//! How often a program asks before the answer comes depends on how fast the answer comes, which is what a replay is to
//! find out. So the run becomes one wait, and its processor time is waiting, not work.

use super::around::gap_stretch;
use super::program::{Program, Stretch};
use super::{Lowering, Thread, Visit};
use crate::follow::pass::Seen;
use crate::graph::dependency::Stage;
use crate::rules::file_create::is_failed_poll;
use std::ops::RangeInclusive;
use syn_plan::{EdgeId, FileId, HandleId, Io, Op, Rule};
use syn_trace::{Call, Layer};

/// More work than this between two polls is computation that overlaps the communication, and ends the run; an event
/// loop that does nothing else takes less.
const MOST_WORK_BETWEEN_NS: u64 = 20_000;

/// So does a loop that sleeps, and takes no more than this part of each sleep for what it does before and behind.
const MOST_OF_A_SLEEP: u64 = 10;

/// A loop that does nothing but ask MPI spends a hundredth to a quarter of the time of its calls between them. One that does a step of
/// its own work each time, as random access to distributed tables does, spends as much there and more.
const LEAST_SHARE_OF_STEPS: f64 = 0.5;
/// How long such a step takes. Less is what the times of the shortest calls may be off; for more there are event loops, which look
/// after other things as well.
const STEP_NS: RangeInclusive<u64> = 10..=100;
/// Of fewer polls nothing is said: what lies between may be code that runs for the first time.
const LEAST_STEPS: u64 = 64;

/// So far the end of a wait is looked for: a thread that does so much meanwhile does not wait for one thing.
const MOST_POINTS_AHEAD: usize = 256;

/// A run of failed polls, and what else happened meanwhile, in case it turns out to be none.
#[derive(Debug)]
pub struct Polling {
    /// The entry of the first failed poll.
    pub since_ns: u64,
    /// Of polls that would be replayed: what they ask.
    pub asks: Option<Question>,
    /// CPU time that the last question took, but for those of MPI, nanoseconds.
    asked_ns: u64,
    /// How long its last sleep was, nanoseconds.
    slept_ns: u64,
    /// Polls in rows of the like.
    repeated: u64,
    /// CPU time in these, nanoseconds.
    asking_ns: u64,
    /// The same before them.
    between_ns: u64,
    held: Vec<Held>,
}

/// The name, the file and the handle of an operation.
pub type Question = (&'static str, Option<FileId>, Option<HandleId>);

#[derive(Debug)]
enum Held {
    Compute(Stretch),
    /// A sleep, or a wait whose time was over.
    Sleep {
        start_ns: u64,
        end_ns: u64,
        op: Op,
        cpu_ns: u64,
        waited_ns: u64,
    },
    Io {
        start_ns: u64,
        end_ns: u64,
        recorded: Call,
        call: Io,
        result: i64,
        cpu_ns: u64,
        waited_ns: u64,
    },
}

/// A sleep of `ns`, which took so long; where an edge and count ended the one that came next, it would have ended with them.
pub(super) fn sleep(ns: u64, took_ns: u64, ended_by: Option<(EdgeId, u32)>) -> Op {
    ended_by.map_or(Op::Sleep { ns }, |(edge, count)| Op::TimedWait { edge, count, ns: took_ns })
}

impl Polling {
    /// The first poll that found nothing.
    fn new(since_ns: u64) -> Polling {
        Polling {
            since_ns,
            asks: None,
            asked_ns: 0,
            slept_ns: 0,
            repeated: 0,
            asking_ns: 0,
            between_ns: 0,
            held: Vec::new(),
        }
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

    /// A call that found nothing; `ended_by` this edge and count the next one did.
    fn failed(&mut self, visit: &Visit<'_>, with_limit: bool, ended_by: Option<(EdgeId, u32)>) {
        let own = visit.own_stretch();
        if visit.seen.event.call.layer() != Layer::Mpi {
            self.asked_ns = own.cpu_ns;
        }
        if !with_limit || own.idle_ns == 0 {
            return self.compute(own);
        }
        let Stretch { start_ns, end_ns, idle_ns, .. } = own;
        let slept_ns = start_ns.saturating_add(idle_ns).min(end_ns);
        let (end_ns, ns) = (slept_ns, idle_ns);
        self.slept_ns = ns;
        let op = sleep(ns, ns, ended_by);
        self.held.push(Held::Sleep { start_ns, end_ns, op, cpu_ns: 0, waited_ns: ns });
        self.compute(Stretch { start_ns: slept_ns, idle_ns: 0, ..own });
    }

    /// Whether the program seems to have done a step of its own work before every poll: by the mean.
    fn does_steps(&self) -> bool {
        self.repeated >= LEAST_STEPS
            && self.between_ns as f64 >= self.asking_ns as f64 * LEAST_SHARE_OF_STEPS
            && STEP_NS.contains(&(self.between_ns / self.repeated))
    }

    /// Whether so much work goes unnoticed between two polls: as a loop does in front of a sleep and behind it, or no more than asking
    /// takes. What repeats has a part of it before every time.
    fn is_little(&self, cpu_ns: u64, visit: &Visit<'_>) -> bool {
        let event = visit.seen.event;
        let slept_ns = if event.sleeps() { visit.end_ns - visit.begin_ns } else { self.slept_ns };
        let most_ns = MOST_WORK_BETWEEN_NS.saturating_mul(visit.times);
        cpu_ns <= most_ns.max(slept_ns / MOST_OF_A_SLEEP).max(self.asked_ns)
    }

    /// The application sleeps before it asks again.
    pub fn sleep(&mut self, visit: &Visit<'_>, ns: u64, ended_by: Option<(EdgeId, u32)>) {
        let (start_ns, end_ns) = (visit.begin_ns, visit.end_ns);
        let (cpu_ns, waited_ns) = (visit.own.cpu_ns, visit.own.waited_ns);
        self.slept_ns = end_ns - start_ns;
        let op = sleep(ns, end_ns - start_ns, ended_by);
        self.held.push(Held::Sleep { start_ns, end_ns, op, cpu_ns, waited_ns });
    }

    /// All of its time but preemption, and how much of it was on the processor, nanoseconds.
    fn times(&self) -> (u64, u64) {
        let parts = self.held.iter().map(|held| match *held {
            Held::Compute(Stretch { cpu_ns, idle_ns, .. }) => (cpu_ns, idle_ns),
            Held::Sleep { cpu_ns, waited_ns, .. } | Held::Io { cpu_ns, waited_ns, .. } => (cpu_ns, waited_ns),
        });
        parts.fold((0, 0), |(all, cpu), (cpu_ns, waited_ns)| (all + cpu_ns + waited_ns, cpu + cpu_ns))
    }

    /// Nothing came of it: what was done is done in the replay too.
    pub fn give_up(self, program: &mut Program) {
        for held in self.held {
            match held {
                Held::Compute(stretch) => program.compute(stretch),
                Held::Sleep { start_ns, end_ns, op, cpu_ns, waited_ns } => {
                    program.step(start_ns, end_ns, op);
                    program.balance.sleep_ns += waited_ns;
                    program.balance.calls_cpu_ns += cpu_ns;
                }
                Held::Io { start_ns, end_ns, call, result, cpu_ns, waited_ns, .. } => {
                    program.step(start_ns, end_ns, Op::Io { call, result });
                    program.balance.calls_cpu_ns += cpu_ns;
                    program.balance.calls_wait_ns += waited_ns;
                }
            }
        }
    }
}

impl Lowering<'_> {
    /// The run of polls under way, if it goes on with this event; the gap before it belongs to the run then.
    pub(super) fn polling_goes_on(&mut self, visit: &Visit<'_>) -> Option<&mut Polling> {
        self.goes_on(visit, None)
    }

    /// The same of a run that asks this.
    fn goes_on(&mut self, visit: &Visit<'_>, asks: Option<Question>) -> Option<&mut Polling> {
        self.asking_since(visit, asks).filter(|_| !self.has_point(visit.seen))?;
        let polling = self.threads[visit.seen.thread as usize].polling.as_mut()?;
        if visit.seen.event.call == Call::Repeats {
            polling.repeated = polling.repeated.saturating_add(visit.times);
            polling.asking_ns = polling.asking_ns.saturating_add(visit.own.cpu_ns);
            polling.between_ns = polling.between_ns.saturating_add(visit.gap.cpu_ns);
        }
        polling.compute(gap_stretch(visit.seen, &visit.gap));
        Some(polling)
    }

    /// Since when the thread has been polling, if nothing but polling happened before this event.
    pub(super) fn polling_since(&self, visit: &Visit<'_>) -> Option<u64> {
        self.asking_since(visit, None)
    }

    fn asking_since(&self, visit: &Visit<'_>, asks: Option<Question>) -> Option<u64> {
        let polling = self.threads[visit.seen.thread as usize].polling.as_ref();
        let polling = polling.filter(|polling| polling.asks == asks)?;
        // What asks about a name until the answer is another is no operation, whatever work lies between.
        (asks.is_some() || polling.is_little(visit.gap.cpu_ns, visit)).then_some(polling.since_ns)
    }

    /// True when the thread has slept in its run of polls.
    pub(super) fn sleeps_between_polls(&self, thread: u32) -> bool {
        let polling = self.threads[thread as usize].polling.as_ref();
        polling.is_some_and(|polling| polling.held.iter().any(|held| matches!(held, Held::Sleep { .. })))
    }

    /// The run of polls under way, whatever it asks, if it goes on with this sleep.
    pub(super) fn polling_sleeps(&mut self, visit: &Visit<'_>) -> Option<&mut Polling> {
        let asks = self.threads[visit.seen.thread as usize].polling.as_ref()?.asks;
        self.goes_on(visit, asks)
    }

    /// Ends the run of polls under way, which was waiting for what this event found, and the gap before it: waiting and
    /// CPU time in both, nanoseconds.
    pub(super) fn polled(&mut self, visit: &Visit<'_>) -> (u64, u64) {
        let polling = self.threads[visit.seen.thread as usize].polling.take();
        for held in polling.iter().flat_map(|polling| &polling.held) {
            if let Held::Io { start_ns, end_ns, recorded, .. } = held {
                self.unreplayed.poll(*recorded, end_ns - start_ns);
            }
        }
        let (waited_ns, cpu_ns) = polling.map_or((0, 0), |polling| polling.times());
        (waited_ns + visit.gap.cpu_ns + visit.gap.waited_ns, cpu_ns + visit.gap.cpu_ns)
    }

    /// A test or probe that found nothing. If nobody ends the run, those `with_limit` have slept: what they waited was the time that
    /// they were given.
    pub(super) fn failed_poll(&mut self, visit: &Visit<'_>, with_limit: bool) {
        let ended_by = if with_limit && visit.own.waited_ns > 0 { self.ends_the_next(visit) } else { None };
        if let Some(polling) = self.polling_goes_on(visit) {
            return polling.failed(visit, with_limit, ended_by);
        }
        self.interrupt_polling(visit.seen.thread);
        self.enter(visit);
        let mut polling = Polling::new(visit.begin_ns);
        polling.failed(visit, with_limit, ended_by);
        self.threads[visit.seen.thread as usize].polling = Some(polling);
    }

    /// What ends the next wait for the same that is not in vain, if that is one thing and comes later. A loop of sleeps waits for what its own
    /// rule has found, or for the end of a child.
    pub(super) fn ends_the_next(&self, visit: &Visit<'_>) -> Option<(EdgeId, u32)> {
        let thread = visit.seen.thread as usize;
        let waits = &self.from.timed_waits[thread];
        let at = waits.binary_search_by_key(&visit.seen.record, |&(over, _)| over).ok()?;
        let (next_thread, next) = waits[at].1;
        let points = &self.threads[next_thread as usize].points;
        let mut points = points.from(next, Stage::Leave, MOST_POINTS_AHEAD)?;
        points.peek_if(|point| point.record == next && point.awaited_ns() > Some(visit.end_ns))?;
        let mut waits = Vec::new();
        points.pass(|op| {
            if let Op::Wait { edge, count, .. } = op {
                waits.push((edge, count));
            }
        });
        if visit.seen.event.sleeps() {
            let rule = |&(edge, _): &(EdgeId, u32)| self.from.schedule.edges[edge as usize].rule;
            let found = if waits.iter().any(|wait| rule(wait) == Rule::Poll) {
                Rule::Poll
            } else {
                Rule::ProcessJoin
            };
            waits.retain(|wait| rule(wait) == found);
        }
        <[_; 1]>::try_from(waits).ok().map(|[only]| only)
    }

    /// Whether a failed call asks for a name until the answer is another.
    pub(super) fn is_asked_again(&self, seen: &Seen<'_>) -> bool {
        is_failed_poll(&self.from.ended_polls[seen.thread as usize], seen.record)
    }

    /// Such a call. It has no order with other calls on the name, so the plan has its time only.
    pub(super) fn failed_name_poll(&mut self, visit: &Visit<'_>, asks: Question) {
        let seen = visit.seen;
        if self.goes_on(visit, Some(asks)).is_none() {
            self.interrupt_polling(seen.thread);
            self.enter(visit);
        }
        self.operations.clear();
        self.unreplayed.poll(seen.event.call, visit.end_ns - visit.begin_ns);
        let polling = &mut self.threads[seen.thread as usize].polling;
        let polling =
            polling.get_or_insert_with(|| Polling { asks: Some(asks), ..Polling::new(visit.begin_ns) });
        polling.compute(visit.own_stretch());
        if self.has_point(seen) {
            self.interrupt_polling(seen.thread);
            self.synchronize(seen.thread, seen.record, Stage::Leave, visit.end_ns, visit.end_ns);
        }
    }

    /// A call that would be replayed, and that found no byte to read: the program may ask until it succeeds.
    /// False if others wait for its failure.
    pub(super) fn failed_question(&mut self, visit: &Visit<'_>, asks: Question) -> bool {
        let index = visit.seen.thread as usize;
        if self.goes_on(visit, Some(asks)).is_none() {
            self.interrupt_polling(visit.seen.thread);
            self.enter(visit);
            if self.has_point(visit.seen) {
                return false;
            }
            let polling = Polling { asks: Some(asks), ..Polling::new(visit.begin_ns) };
            self.threads[index].polling = Some(polling);
        }
        let (cpu_ns, waited_ns) = (visit.own.cpu_ns, visit.own.waited_ns);
        let (start_ns, end_ns, recorded) = (visit.begin_ns, visit.end_ns, visit.seen.event.call);
        let held = self.operations.drain(..).map(|(call, result)| Held::Io {
            start_ns,
            end_ns,
            recorded,
            call,
            result,
            cpu_ns,
            waited_ns,
        });
        if let Some(polling) = &mut self.threads[index].polling {
            polling.held.extend(held);
        }
        true
    }

    /// A call that succeeds after polls that asked the same: what came between was one wait for what let it succeed, and then
    /// the time until the program asked again. False if there were none, or nothing is known to have let it.
    pub(super) fn answered(&mut self, visit: &Visit<'_>, asks: Option<Question>) -> bool {
        let (thread, record) = (visit.seen.thread, visit.seen.record);
        let state = &self.threads[thread as usize];
        let point =
            state.points.peek_if(|point| (point.record, point.stage) == (record, Stage::Enter)).copied();
        let since = self.asking_since(visit, asks);
        let (Some(point), Some(since_ns)) = (point, since) else { return false };
        let Some(awaited_ns) = point.awaited_ns().filter(|&awaited_ns| awaited_ns > since_ns) else {
            return false;
        };
        let slept = self.sleeps_between_polls(thread);
        let (waited_ns, cpu_ns) = self.polled(visit);
        let until_ns = awaited_ns.min(visit.begin_ns);
        let Thread { points, program, .. } = &mut self.threads[thread as usize];
        let (mut since_ns, mut signals) = (since_ns, Vec::new());
        points.pass(|op| match op {
            Op::Wait { .. } => program.step(std::mem::replace(&mut since_ns, until_ns), until_ns, op),
            _ => signals.push(op),
        });
        let idle_ns = (visit.begin_ns - until_ns).min(waited_ns - cpu_ns);
        program.explain(point.rule(), waited_ns - idle_ns, cpu_ns);
        program.ask_again(until_ns, visit.begin_ns, idle_ns, slept);
        signals.into_iter().for_each(|signal| program.step(visit.begin_ns, visit.begin_ns, signal));
        true
    }

    /// A call that is not replayed, among them a poll that came again: time in the run of polls under way. False if
    /// there is none, or if it ends here.
    pub(super) fn polled_meanwhile(&mut self, visit: &Visit<'_>) -> bool {
        let own = visit.own_stretch();
        let polling = self.threads[visit.seen.thread as usize].polling.as_ref();
        polling.is_some_and(|polling| polling.is_little(own.cpu_ns, visit))
            && self.polling_goes_on(visit).map(|polling| polling.compute(own)).is_some()
    }

    /// Ends the run of polls under way, which this call of MPI would answer, if the thread worked on meanwhile: what it has computed it
    /// computes whenever the answer comes, and asks as often.
    pub(super) fn end_steps(&mut self, visit: &Visit<'_>) {
        let polling = self.threads[visit.seen.thread as usize].polling.as_ref();
        if polling.is_some_and(Polling::does_steps) {
            self.interrupt_polling(visit.seen.thread);
        }
    }

    pub(super) fn interrupt_polling(&mut self, thread: u32) {
        let thread = &mut self.threads[thread as usize];
        if let Some(polling) = thread.polling.take() {
            polling.give_up(&mut thread.program);
        }
    }
}
