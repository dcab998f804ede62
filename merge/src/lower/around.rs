//! What happens before and after a call: the gap, the signals, the waits.

use super::program::Stretch;
use super::{Lowering, Thread, Visit};
use crate::follow::pass::Seen;
use crate::graph::dependency::Stage;
use syn_plan::{Op, Rule};
use syn_trace::calls::{Call, Effect};
use syn_trace::run::Segment;
use syn_trace::{Layer, header};

impl Lowering<'_> {
    /// The thread's start: what it waits for, and the time until it started nevertheless.
    pub(super) fn begin(&mut self, visit: &Visit<'_>) {
        let thread = &mut self.threads[visit.seen.thread as usize];
        let started_ns = thread.behind_ns;
        let created =
            thread.points.peek_if(|point| point.record == 0 && point.stage == Stage::Around).copied();
        let since_ns =
            created.and_then(|point| point.awaited_ns()).unwrap_or(self.from.origin_ns).min(started_ns);
        if created.is_some() {
            self.synchronize(visit.seen.thread, 0, Stage::Around, since_ns, since_ns);
        }
        // Before its recording started, the thread's processor was at work for the loader.
        let startup = self.from.run.startup(visit.seen.thread as usize, self.from.cpu_before);
        let recording_ns = startup.recording_ns.min(started_ns - since_ns);
        let cpu_ns = startup.cpu_ns.min(started_ns - since_ns - recording_ns);
        let waited_ns = started_ns - since_ns - recording_ns - cpu_ns;
        // What is new, and no program that its files are read for, waited for a processor, as it will in the replay; so did who
        // never gave up his.
        let began_ready =
            self.from.run.threads[visit.seen.thread as usize].has_capability(header::BEGAN_READY);
        // Until a launcher came to create it, that was at work.
        let run = self.from.run;
        let creator = self.from.creators[run.threads[visit.seen.thread as usize].process];
        let launched_ns = creator
            .filter(|&(creator, _)| run.processes[creator as usize].process_only)
            .map_or(0, |(_, enter)| enter.ns.saturating_sub(since_ns).min(waited_ns));
        let mut begins_ns = waited_ns - launched_ns;
        // What its files are read for is replayed.
        let of_process = &run.processes[visit.seen.process as usize].threads;
        if created.is_some() && of_process.first() == Some(&(visit.seen.thread as usize)) {
            let loads_ns = self.mappings[visit.seen.process as usize].start(begins_ns);
            self.threads[visit.seen.thread as usize].program.balance.calls_wait_ns += loads_ns;
            begins_ns -= loads_ns;
        }
        let is_new = created.is_some_and(|point| match point.rule() {
            Some(Rule::ThreadCreate) => true,
            Some(Rule::ProcessCreate) => recording_ns == 0 || began_ready,
            _ => false,
        });
        let (idle_ns, preempted_ns) = match is_new {
            true => (launched_ns, begins_ns),
            false => (launched_ns + begins_ns, 0),
        };
        let thread = &mut self.threads[visit.seen.thread as usize];
        thread.since_ns = since_ns;
        thread.program.balance.recording_ns += recording_ns;
        thread.program.balance.preempted_ns += preempted_ns;
        let mut stretch = Stretch { start_ns: since_ns, end_ns: started_ns, cpu_ns, idle_ns, in_call: true };
        if created.is_none() && idle_ns > 0 {
            // Nobody of the run has made it: until somebody else did, it was not there, and waited for nothing.
            let begun_ns = since_ns + idle_ns;
            thread.program.step(since_ns, begun_ns, Op::Sleep { ns: idle_ns });
            thread.program.balance.sleep_ns += idle_ns;
            (stretch.start_ns, stretch.idle_ns) = (begun_ns, 0);
        }
        // It became another program meanwhile, and let its creator go on.
        let exec_ns = self.next_point(visit.seen.thread, 0, Stage::Enter).filter(|&ns| ns < started_ns);
        if let Some(exec_ns) = exec_ns {
            let before = stretch.split_at(exec_ns);
            self.threads[visit.seen.thread as usize].program.compute(before);
            self.synchronize(visit.seen.thread, 0, Stage::Enter, before.end_ns, before.end_ns);
        }
        self.threads[visit.seen.thread as usize].program.compute(stretch);
    }

    /// The gap before the event, and what is to be done where it is entered.
    pub(super) fn enter(&mut self, visit: &Visit<'_>) {
        self.enter_gap(visit);
        let seen = visit.seen;
        self.synchronize(seen.thread, seen.record, Stage::Enter, seen.start_ns, seen.start_ns);
    }

    /// The gap before the event.
    pub(super) fn enter_gap(&mut self, visit: &Visit<'_>) {
        let seen = visit.seen;
        let gap = self.enter_around(visit);
        let gap = self.awaited_inside(visit, gap);
        if visit.gap.inside.is_some_and(no_signal_ends) && seen.event.call == Call::SignalDelivered {
            // It arrived when that call was over, which is replayed behind it and takes that time again.
            let balance = &mut self.threads[seen.thread as usize].program.balance;
            balance.calls_cpu_ns += gap.cpu_ns;
            balance.calls_wait_ns += gap.idle_ns;
            return;
        }
        let is_sleep = self.is_sleep(visit, &gap);
        let program = &mut self.threads[seen.thread as usize].program;
        if is_sleep {
            let (ns, since_ns) = (gap.idle_ns, gap.end_ns.saturating_sub(gap.idle_ns).max(gap.start_ns));
            program.compute(Stretch { end_ns: since_ns, idle_ns: 0, ..gap });
            program.step(since_ns, gap.end_ns, Op::Sleep { ns });
            program.balance.sleep_ns += ns;
        } else {
            program.compute(gap);
        }
    }

    /// Whether the waiting before a signal that arrives in a call is a sleep: in a call that sleeps, or until a timer has run down.
    fn is_sleep(&self, visit: &Visit<'_>, gap: &Stretch) -> bool {
        let (seen, Some(inside)) = (visit.seen, visit.gap.inside) else { return false };
        let is_until_signal = seen.event.call == Call::SignalDelivered && gap.idle_ns > 0;
        is_until_signal
            && (inside.effect() == Effect::Sleep || is_of_timer(seen.event.numbers[0]))
            && self.awaited(seen.thread, seen.record).is_none()
    }

    /// A call that encloses this one was entered during the gap before it: returns what is left of the gap after.
    pub(super) fn enter_around(&mut self, visit: &Visit<'_>) -> Stretch {
        let seen = visit.seen;
        let mut gap = gap_stretch(seen, &visit.gap);
        while let Some(at_ns) = self.next_point(seen.thread, seen.record, Stage::Around) {
            let before = gap.split_at(at_ns);
            self.threads[seen.thread as usize].program.compute(before);
            self.synchronize(seen.thread, seen.record, Stage::Around, before.end_ns, before.end_ns);
        }
        gap
    }

    /// A signal that arrives in a call cuts its waiting in two: what lies before the signal is a gap. If what the thread is
    /// next found to have waited for happened in there, that is what it waited for: a shell in `waitpid` hears of its
    /// child's end by a signal first. Returns what is left of the gap; what it waited behind is the time to wake up, which a
    /// replay takes by itself.
    fn awaited_inside(&mut self, visit: &Visit<'_>, mut gap: Stretch) -> Stretch {
        let thread = visit.seen.thread;
        let is_in_call = visit.gap.inside.is_some_and(|call| call.layer() != Layer::Mpi);
        let Some(&point) = self.threads[thread as usize].points.peek() else { return gap };
        let (record, rule) = (point.record, point.rule());
        let during = |&awaited_ns: &u64| gap.start_ns < awaited_ns && awaited_ns <= gap.end_ns;
        let awaited_ns = point.awaited_ns().filter(|_| point.stage == Stage::Leave).filter(during);
        let Some(awaited_ns) = awaited_ns.filter(|_| is_in_call && gap.idle_ns > 0) else { return gap };
        let before = gap.split_at(awaited_ns);
        let since_ns = before.end_ns.saturating_sub(before.idle_ns).max(before.start_ns);
        let program = &mut self.threads[thread as usize].program;
        program.compute(Stretch { end_ns: since_ns, idle_ns: 0, ..before });
        program.explain(rule, before.idle_ns + gap.idle_ns, 0);
        self.synchronize(thread, record, Stage::Leave, since_ns, before.end_ns);
        Stretch { idle_ns: 0, ..gap }
    }

    /// When the thread's next point is reached, if it is this one or was passed.
    pub(super) fn next_point(&self, thread: u32, record: u32, stage: Stage) -> Option<u64> {
        let points = &self.threads[thread as usize].points;
        points.peek_if(|point| (point.record, point.stage) <= (record, stage)).map(|point| point.ns)
    }

    /// Whether anything is to be waited for or signalled at this record.
    pub(super) fn has_point(&self, seen: &Seen<'_>) -> bool {
        self.next_point(seen.thread, seen.record, Stage::Leave).is_some()
    }

    /// The same where it is entered.
    pub(super) fn has_entry_point(&self, seen: &Seen<'_>) -> bool {
        self.next_point(seen.thread, seen.record, Stage::Enter).is_some()
    }

    /// Appends the waits and signals of the thread's points up to this one. The waits began at `since_ns` and were
    /// over at `until_ns`.
    pub(super) fn synchronize(
        &mut self,
        thread: u32,
        record: u32,
        stage: Stage,
        mut since_ns: u64,
        until_ns: u64,
    ) {
        while self.next_point(thread, record, stage).is_some() {
            let Thread { points, program, .. } = &mut self.threads[thread as usize];
            points.pass(|op| {
                let start_ns = if matches!(op, Op::Wait { .. }) { since_ns } else { until_ns };
                program.step(start_ns, until_ns, op);
                since_ns = until_ns;
            });
        }
    }

    /// Until when the call waited, by which rule, if it did and its waits have not been passed.
    pub(super) fn awaited(&self, thread: u32, record: u32) -> Option<(u64, Option<Rule>)> {
        let point = self.threads[thread as usize].points.find_from(record, Stage::Leave)?;
        let awaited_ns = point.awaited_ns().filter(|_| point.record == record)?;
        Some((awaited_ns, point.rule()))
    }
}

/// Whether a call on a file goes on until it is done, whatever signals come (signal(7)).
fn no_signal_ends(call: Call) -> bool {
    matches!(
        call.effect(),
        Effect::Fsync
            | Effect::Fdatasync
            | Effect::SyncRange
            | Effect::SyncFileSystem
            | Effect::Truncate
            | Effect::Unlink
            | Effect::Rename
            | Effect::Link
            | Effect::MakeFolder
            | Effect::RemoveFolder
            | Effect::Stat(_)
            | Effect::ReadEntries
    )
}

/// Whether a signal says that a timer has run down (setitimer(2)), if no call of the run has sent it.
pub(super) fn is_of_timer(signal: i64) -> bool {
    [libc::SIGALRM, libc::SIGVTALRM, libc::SIGPROF].into_iter().any(|timer| signal == i64::from(timer))
}

/// What lay before an event, as computation and waiting.
pub(super) fn gap_stretch(seen: &Seen<'_>, gap: &Segment) -> Stretch {
    let Segment { cpu_ns, waited_ns, inside, .. } = *gap;
    let start_ns = seen.start_ns.saturating_sub(seen.measured.before.wall_ns);
    Stretch { start_ns, end_ns: seen.start_ns, cpu_ns, idle_ns: waited_ns, in_call: inside.is_some() }
}
