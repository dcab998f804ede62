//! Calls by kind: I/O, MPI, sleeps, what MPI does inside its own calls, and all the rest.

use super::around::is_of_timer;
use super::polling::{Question, sleep};
use super::program::Stretch;
use super::{Lowering, Visit};
use crate::follow::pass::Seen;
use crate::follow::timed_waits;
use crate::graph::dependency::Stage;
use crate::mpi::{self, Around};
use syn_plan::{Io, Mpi, Op, Rule};
use syn_trace::calls::{Effect, Field};
use syn_trace::descriptors::Transfer;
use syn_trace::run::Segment;
use syn_trace::{Layer, record};

/// A sleep that took so much longer than it was asked for was stopped meanwhile (signal(7), `SIGSTOP`).
const STOPPED_FROM_NS: u64 = 100_000_000;

/// Letting others go on takes so much of a call that sends or forks, and comes last: a wake-up, which takes a replay as long.
const WAKING_NS: u64 = 4_000;

/// So many bytes of a file the kernel finds in memory and passes on by reference within a nanosecond: 0.2 µs for a page of 4 KiB.
const FOUND_BYTES_A_NS: u64 = 20;

/// Shorter waits say nothing about how the library waits.
const LEAST_WAIT_NS: u64 = 100_000;

/// What MPI does inside its own calls.
impl Lowering<'_> {
    /// The MPI call that this one was made inside of.
    pub(super) fn around(&mut self, seen: &Seen<'_>) -> Option<Around> {
        let calls = &self.from.log.around[seen.thread as usize];
        let thread = &mut self.threads[seen.thread as usize];
        while calls.get(thread.next_around).is_some_and(|around| around.call < seen.record) {
            thread.next_around += 1;
        }
        let around = calls.get(thread.next_around)?;
        (around.first..around.call).contains(&seen.record).then_some(*around)
    }

    /// Whether this is a call on a file that a replay may make again. In front of the first call inside of one, the plan
    /// says so.
    pub(super) fn file_call(&mut self, seen: &Seen<'_>) -> bool {
        let call = seen.event.call;
        let is_one = matches!(call.effect(), Effect::Mpi(_)) && call.layer() == Layer::MpiIo;
        let calls = &self.from.log.around_files[seen.thread as usize];
        let thread = &mut self.threads[seen.thread as usize];
        if calls.get(thread.next_file_call).is_some_and(|around| around.first == seen.record) {
            thread.next_file_call += 1;
            self.interrupt_polling(seen.thread);
            let thread = &mut self.threads[seen.thread as usize];
            thread.program.communicate(Mpi::FileEnter, nothing_at(thread.behind_ns));
        }
        is_one && seen.event.result == 0 && self.from.worlds.is_one(seen.process)
    }

    /// Whether the operations are on a file that was opened inside a call on a file, and not inside of such a call themselves:
    /// in a thread of the library, or where it completes requests.
    fn is_library_file(&mut self, seen: &Seen<'_>) -> bool {
        let calls = &self.from.log.around_files[seen.thread as usize];
        let last = self.threads[seen.thread as usize].next_file_call.checked_sub(1);
        let is_inside = last.is_some_and(|last| calls[last].call > seen.record);
        let inside = &mut self.opened_inside[seen.process as usize];
        if !is_inside && inside.is_empty() {
            return false;
        }
        let mut is_library = false;
        for (call, _) in &self.operations {
            let handles = call.operands().1;
            match *call {
                Io::Open { handle, .. } if is_inside => drop(inside.insert(handle)),
                Io::Open { handle, .. } => drop(inside.remove(&handle)),
                _ => is_library |= handles.into_iter().flatten().any(|handle| inside.contains(&handle)),
            }
        }
        is_library && !is_inside
    }

    /// A call that MPI made while it began or ended: not the application's I/O, but time. Work is work. Waiting, and
    /// the sleeps in which MPI looks again from time to time, are explained until what the MPI call waited for has
    /// happened; only what comes later is not.
    pub(super) fn inside(&mut self, visit: &Visit<'_>, around: Around) {
        let seen = visit.seen;
        self.interrupt_polling(seen.thread);
        let (first, entry, around) = (around.first, around.entry, around.call);
        let (awaited_ns, rule) = self.awaited(seen.thread, around).unwrap_or((0, None));
        let is_entered = self.next_point(seen.thread, seen.record, Stage::Around).is_some();
        let gap = self.enter_around(visit);
        // Where nobody is told when the call was entered, what lies before the first one inside is taken to be the application's.
        let entered_ns = if is_entered { gap.start_ns } else { gap.end_ns };
        let mut entry_at = entry.filter(|_| first == seen.record).map(|entry| (entry, entered_ns));
        for mut later in [gap, visit.own_stretch()] {
            if let Some((entry, entered_ns)) =
                entry_at.take_if(|(_, entered_ns)| later.start_ns >= *entered_ns)
            {
                self.enter_mpi(seen, entry, entered_ns);
            }
            let before = later.split_at(awaited_ns);
            let thread = &mut self.threads[seen.thread as usize];
            thread.program.compute(Stretch { idle_ns: 0, ..before });
            thread.program.explain(rule, before.idle_ns, 0);
            thread.waited_inside_ns += before.idle_ns;
            if later.end_ns > awaited_ns {
                let since_ns = self.since_inside(seen.thread, before.end_ns);
                self.synchronize(seen.thread, around, Stage::Leave, since_ns, before.end_ns);
                self.threads[seen.thread as usize].program.compute(later);
            }
        }
    }

    /// Since when a wait that `until_ns` ends took place between calls inside, whose work the plan has in front of it as one stretch.
    fn since_inside(&mut self, thread: u32, until_ns: u64) -> u64 {
        let thread = &mut self.threads[thread as usize];
        let since_ns = until_ns.saturating_sub(std::mem::take(&mut thread.waited_inside_ns));
        thread.program.end_stretch_by(since_ns)
    }

    /// From here on MPI begins or ends.
    fn enter_mpi(&mut self, seen: &Seen<'_>, entry: Mpi, ns: u64) {
        if self.from.worlds.is_one(seen.process) {
            let thread = &mut self.threads[seen.thread as usize];
            thread.program.communicate(entry, nothing_at(ns));
            thread.enters_mpi = true;
        }
    }
}

/// No time, at this point.
fn nothing_at(ns: u64) -> Stretch {
    Stretch { start_ns: ns, end_ns: ns, cpu_ns: 0, idle_ns: 0, in_call: true }
}

/// Whether a call returns when a message has come, or has gone: tests that found nothing before it asked for the like.
fn awaits_messages(call: Mpi) -> bool {
    matches!(
        call,
        Mpi::Complete { .. }
            | Mpi::Probe { .. }
            | Mpi::Mprobe { .. }
            | Mpi::Recv { .. }
            | Mpi::WinSync { .. }
    )
}

/// Whether a call has waited until its time was over, or would have had to wait: the program will ask again.
fn has_ended_in_vain(seen: &Seen<'_>) -> bool {
    let event = seen.event;
    let failed = if event.has(record::FAILED) { i64::from(event.errno) } else { 0 };
    let [timeout, again, refused, absent] =
        [libc::ETIMEDOUT, libc::EAGAIN, libc::ECONNREFUSED, libc::ENOENT].map(i64::from);
    match event.call.effect() {
        Effect::Sync(_) => event.result == timeout || failed == timeout || failed == again,
        // `waitpid` with `WNOHANG`, as of Python's `Popen.wait` with a time limit.
        Effect::AwaitReadiness | Effect::AwaitProcess | Effect::AwaitBlocks => {
            failed == 0 && event.result == 0
        }
        Effect::AsynchronousError => event.result == i64::from(libc::EINPROGRESS),
        // Nobody listens yet.
        Effect::Connect => failed == refused || failed == absent,
        Effect::Read(_)
        | Effect::ReceiveMessage
        | Effect::Accept
        | Effect::LockFile
        | Effect::LockFileAtPosition
        | Effect::AwaitAsynchronous
        | Effect::Control => failed == again,
        _ => false,
    }
}

/// Whether an operation failed because a name is not there, or is, or a folder is not empty, or found no byte to read: the answer may
/// change.
fn is_no_answer(call: &Io, result: i64) -> bool {
    match *call {
        Io::Read { bytes, .. } | Io::ReadAt { bytes, .. } | Io::Send { bytes, .. } => {
            bytes > 0 && result == 0
        }
        Io::Rmdir { .. } if result == -i64::from(libc::ENOTEMPTY) => true,
        _ => [libc::ENOENT, libc::EEXIST].into_iter().any(|errno| result == -i64::from(errno)),
    }
}

/// Computation in a call that ended then.
fn worked_until(end_ns: u64, cpu_ns: u64) -> Stretch {
    Stretch { start_ns: end_ns.saturating_sub(cpu_ns), end_ns, cpu_ns, idle_ns: 0, in_call: true }
}

impl Visit<'_> {
    /// The call's own time as computation and waiting.
    pub(super) fn own_stretch(&self) -> Stretch {
        let Segment { cpu_ns, waited_ns, .. } = self.own;
        Stretch { start_ns: self.begin_ns, end_ns: self.end_ns, cpu_ns, idle_ns: waited_ns, in_call: true }
    }

    /// Waits until `awaited_ns`, and what comes behind: CPU time, at most `most_ns` of it.
    fn behind(&self, awaited_ns: u64, most_ns: u64) -> Stretch {
        let cpu_ns = self.own.cpu_ns.min(most_ns);
        Stretch { start_ns: awaited_ns, end_ns: self.end_ns, cpu_ns, idle_ns: 0, in_call: true }
    }
}

/// A call that waits in the kernel works for less than that on its way there.
const MOST_OWN_NS: u64 = 100_000;

/// Calls by kind.
impl Lowering<'_> {
    /// I/O, or a call that is not replayed.
    pub(super) fn perform(&mut self, visit: &Visit<'_>) {
        let seen = visit.seen;
        if self.operations.is_empty() {
            let is_ended_by_timer = visit.own.waited_ns > 0 && self.is_ended_by_timer(seen);
            if is_ended_by_timer && self.awaited(seen.thread, seen.record).is_none() {
                return self.sleep_for(visit, visit.end_ns - visit.begin_ns);
            }
            if has_ended_in_vain(seen) && !self.has_point(seen) {
                return self.failed_poll(visit, timed_waits::is_over(seen.event));
            }
            if self.polled_meanwhile(visit) || self.pass_after_polls(visit) {
                return;
            }
        }
        let completes =
            self.operations.iter().any(|(call, _)| matches!(call, Io::Complete { count: 1.., .. }));
        if completes && let Some(since_ns) = self.polling_since(visit) {
            return self.complete_after_polls(visit, since_ns);
        }
        let failed = matches!(self.operations[..], [(call, result)] if is_no_answer(&call, result));
        let may_be_polling = failed || self.threads[seen.thread as usize].polling.is_some();
        let question = may_be_polling.then(|| self.question()).flatten();
        let entered = match question {
            // Who changes what a name is waits for those that are asked once.
            Some((_, Some(_), _)) if failed && !self.is_asked_again(seen) => false,
            Some(question @ (_, Some(_), _)) if failed => return self.failed_name_poll(visit, question),
            Some(question) if failed => match self.failed_question(visit, question) {
                true => return,
                false => true,
            },
            Some(_) => self.answered(visit, question),
            None => false,
        };
        if !entered {
            self.interrupt_polling(seen.thread);
            if let Some(at_ns) = self.lets_go_on_at(visit) {
                return self.let_go_on(visit, at_ns);
            }
            self.enter(visit);
        }
        if self.operations.is_empty() {
            return self.pass(visit);
        }
        // What another thread has submitted is waited for behind that, however long ago it was.
        let waits = completes || Transfer::of(seen.event).is_some();
        let awaited = if waits { self.awaited(seen.thread, seen.record) } else { None };
        if let Some((awaited_ns, rule)) =
            awaited.filter(|&(awaited_ns, _)| completes || awaited_ns > visit.begin_ns)
        {
            return self.transfer(visit, awaited_ns.clamp(visit.begin_ns, visit.end_ns), rule);
        }
        let (count, took_ns) = (self.operations.len(), visit.end_ns - visit.begin_ns);
        // Nobody saw how long a transfer inside the kernel read and how long it wrote: each gets its half. What a call
        // closes in passing takes no time of its own.
        let in_halves = Transfer::of(seen.event).is_some();
        let behind = |position: usize| match position {
            _ if position == count => visit.end_ns,
            _ if in_halves => visit.begin_ns + took_ns / 2,
            _ => visit.begin_ns,
        };
        let mut start_ns = visit.begin_ns;
        let is_library = self.is_library_file(seen);
        let passed_on_ns = self.passed_on_ns(visit);
        let program = &mut self.threads[seen.thread as usize].program;
        if is_library {
            program.communicate(Mpi::FileEnter, nothing_at(visit.begin_ns));
        }
        for (position, (call, result)) in (1..).zip(self.operations.drain(..)) {
            let end_ns = behind(position);
            program.step(start_ns, end_ns, Op::Io { call, result });
            start_ns = end_ns;
        }
        if is_library {
            program.communicate(Mpi::FileLeave, nothing_at(visit.end_ns));
        }
        program.compute(worked_until(visit.end_ns, passed_on_ns));
        program.balance.calls_cpu_ns += visit.own.cpu_ns - passed_on_ns;
        program.balance.calls_wait_ns += visit.own.waited_ns;
        self.synchronize(seen.thread, seen.record, Stage::Leave, visit.end_ns, visit.end_ns);
    }

    /// Of a call that passes pages of a file on by reference, what it computed for the socket or pipe that they went to, which a replay
    /// does not have: all but what it takes to find the pages.
    fn passed_on_ns(&self, visit: &Visit<'_>) -> u64 {
        let sends = self.operations.iter().find(|(call, _)| matches!(call, Io::Send { .. }));
        let found_ns = |&(_, bytes): &(Io, i64)| bytes.max(0) as u64 / FOUND_BYTES_A_NS;
        sends.map_or(0, |sent| visit.own.cpu_ns.saturating_sub(found_ns(sent)))
    }

    /// A transfer between a file and a pipe or a socket, at which it waited until `awaited_ns`: what goes into the file comes first,
    /// and what was read from it had to wait for room. Of a wait for requests, another thread submitted them then.
    fn transfer(&mut self, visit: &Visit<'_>, awaited_ns: u64, rule: Option<Rule>) {
        let (thread, record) = (visit.seen.thread, visit.seen.record);
        let into_file = self
            .operations
            .iter()
            .any(|(call, _)| matches!(call, Io::Write { .. } | Io::WriteAt { .. } | Io::Complete { .. }));
        let read_ns = visit.begin_ns.saturating_add(visit.own.cpu_ns).min(awaited_ns);
        let (start_ns, end_ns) =
            if into_file { (awaited_ns, visit.end_ns) } else { (visit.begin_ns, read_ns) };
        if into_file {
            self.synchronize(thread, record, Stage::Leave, visit.begin_ns, awaited_ns);
        }
        let passed_on_ns = self.passed_on_ns(visit);
        let program = &mut self.threads[thread as usize].program;
        for (call, result) in self.operations.drain(..) {
            program.step(start_ns, end_ns, Op::Io { call, result });
        }
        program.compute(worked_until(end_ns, passed_on_ns));
        let explained_ns = visit.own.waited_ns.min(awaited_ns - visit.begin_ns);
        program.balance.calls_cpu_ns += visit.own.cpu_ns - passed_on_ns;
        program.balance.calls_wait_ns += visit.own.waited_ns - explained_ns;
        program.explain(rule, explained_ns, 0);
        if !into_file {
            self.synchronize(thread, record, Stage::Leave, read_ns, awaited_ns);
        }
    }

    /// A call that finds requests complete for which the thread has asked since then: all of that was one wait for them.
    fn complete_after_polls(&mut self, visit: &Visit<'_>, since_ns: u64) {
        let (thread, record) = (visit.seen.thread, visit.seen.record);
        let (polled_ns, polled_cpu_ns) = self.polled(visit);
        self.synchronize(thread, record, Stage::Enter, since_ns, since_ns);
        let (awaited_ns, rule) = self.awaited(thread, record).unwrap_or((0, None));
        let start_ns = awaited_ns.clamp(since_ns, visit.end_ns);
        self.synchronize(thread, record, Stage::Leave, since_ns, start_ns);
        let program = &mut self.threads[thread as usize].program;
        for (call, result) in self.operations.drain(..) {
            program.step(start_ns, visit.end_ns, Op::Io { call, result });
        }
        let waited_ns = polled_ns - polled_cpu_ns + visit.own.waited_ns;
        let explained_ns = waited_ns.min(start_ns - since_ns);
        program.balance.calls_cpu_ns += polled_cpu_ns + visit.own.cpu_ns;
        program.balance.calls_wait_ns += waited_ns - explained_ns;
        program.explain(rule, explained_ns, 0);
    }

    /// What the event's only operation asks.
    fn question(&self) -> Option<Question> {
        let [(call, _)] = &self.operations[..] else { return None };
        let (files, handles) = call.operands();
        // An open that fails names a handle, too, which the next one need not have.
        let handle = handles[0].filter(|_| files[0].is_none());
        Some((call.name(), files[0], handle))
    }

    /// A call that is not replayed: its processor time is work, what it waited for is a wait. Without such, the time
    /// without the processor is waiting that no rule explains; behind it, it is the time to wake up, which a replay
    /// takes by itself.
    pub(super) fn pass(&mut self, visit: &Visit<'_>) {
        let behind = self.awaits(visit);
        self.threads[visit.seen.thread as usize].program.compute(behind);
    }

    /// In a call that is not replayed, only works, and lets others go on: when they do.
    fn lets_go_on_at(&self, visit: &Visit<'_>) -> Option<u64> {
        let seen = visit.seen;
        let sends = matches!(
            seen.event.call.effect(),
            Effect::Write(_) | Effect::WriteStream | Effect::SendMessage | Effect::Fork
        );
        let point = self.threads[seen.thread as usize].points.peek()?;
        let only_signals =
            (point.record, point.stage) == (seen.record, Stage::Enter) && point.rule().is_none();
        let only_works = self.operations.is_empty()
            && visit.own.waited_ns == 0
            && self.awaited(seen.thread, seen.record).is_none();
        (sends && only_signals && only_works)
            .then(|| visit.end_ns.saturating_sub(WAKING_NS).max(visit.begin_ns))
    }

    /// Such a call: work, its signals, and what work is left.
    fn let_go_on(&mut self, visit: &Visit<'_>, at_ns: u64) {
        self.enter_gap(visit);
        let thread = visit.seen.thread;
        let mut behind = visit.own_stretch();
        let before = behind.split_at(at_ns);
        self.threads[thread as usize].program.compute(before);
        self.synchronize(thread, visit.seen.record, Stage::Leave, before.end_ns, before.end_ns);
        self.threads[thread as usize].program.compute(behind);
    }

    /// What a call that has been entered waits for; returns what it costs besides.
    fn awaits(&mut self, visit: &Visit<'_>) -> Stretch {
        let seen = visit.seen;
        let (awaited_ns, rule) = self.awaited(seen.thread, seen.record).unwrap_or((0, None));
        if rule == Some(Rule::ProcessExec) {
            return self.lend_memory(visit, awaited_ns);
        }
        let awaited_ns = awaited_ns.clamp(visit.begin_ns, visit.end_ns);
        let mut behind = visit.behind(awaited_ns, visit.end_ns - awaited_ns);
        let (mut polled_ns, mut since_ns) = (visit.own.cpu_ns - behind.cpu_ns, visit.begin_ns);
        if polled_ns > MOST_OWN_NS && visit.own.waited_ns > 0 && rule.is_some_and(|rule| !rule.may_spin()) {
            // A handler's that has interrupted it.
            let cpu_ns = std::mem::take(&mut polled_ns).min(awaited_ns - since_ns);
            since_ns += cpu_ns;
            let start_ns = visit.begin_ns;
            let work = Stretch { start_ns, end_ns: since_ns, cpu_ns, idle_ns: 0, in_call: true };
            self.threads[seen.thread as usize].program.compute(work);
        }
        self.synchronize(seen.thread, seen.record, Stage::Leave, since_ns, awaited_ns);
        if awaited_ns == visit.begin_ns {
            return visit.own_stretch();
        }
        let kept_ns = match rule {
            // What was submitted then still had to be done.
            Some(Rule::Completion) => u64::MAX,
            _ => self.from.held.get(&(seen.thread, seen.record)).copied().unwrap_or(0),
        };
        if kept_ns > 0 {
            let left_ns = behind.end_ns.saturating_sub(behind.start_ns + behind.cpu_ns);
            behind.idle_ns = visit.own.waited_ns.min(left_ns).min(kept_ns);
        }
        let program = &mut self.threads[seen.thread as usize].program;
        program.explain(rule, polled_ns + visit.own.waited_ns - behind.idle_ns, polled_ns);
        behind
    }

    /// A call that has made a process and waited until that no longer had its memory. Making it is work, and comes first; behind the
    /// wait there is nothing.
    fn lend_memory(&mut self, visit: &Visit<'_>, exec_ns: u64) -> Stretch {
        let made_ns = visit.begin_ns.saturating_add(visit.own.cpu_ns).min(visit.end_ns);
        let program = &mut self.threads[visit.seen.thread as usize].program;
        program.compute(Stretch { end_ns: made_ns, idle_ns: 0, ..visit.own_stretch() });
        program.explain(Some(Rule::ProcessExec), visit.own.waited_ns, 0);
        let until_ns = exec_ns.clamp(made_ns, visit.end_ns);
        self.synchronize(visit.seen.thread, visit.seen.record, Stage::Leave, made_ns, until_ns);
        nothing_at(visit.end_ns)
    }

    /// A call of MPI on a file: `again` for a replay that makes it.
    pub(super) fn on_file(&mut self, visit: &Visit<'_>, again: Mpi) {
        self.interrupt_polling(visit.seen.thread);
        self.enter(visit);
        let behind = self.awaits(visit);
        self.threads[visit.seen.thread as usize].program.communicate(again, behind);
    }

    /// A call that is not replayed, and that ends a run of polls: all of them waited for what it waited for, and then slept until the
    /// program asked again, if it did so in between. False if there is no such run, or it was about something else.
    fn pass_after_polls(&mut self, visit: &Visit<'_>) -> bool {
        if self.answered(visit, None) {
            self.pass(visit);
            return true;
        }
        let (thread, record) = (visit.seen.thread, visit.seen.record);
        let Some((awaited_ns, rule)) = self.awaited(thread, record) else { return false };
        let Some(since_ns) = self.polling_since(visit).filter(|&since_ns| awaited_ns > since_ns) else {
            return false;
        };
        let slept = self.sleeps_between_polls(thread);
        let (waited_ns, cpu_ns) = self.polled(visit);
        let until_ns = awaited_ns.min(visit.end_ns);
        let idle_ns = if slept { visit.begin_ns.saturating_sub(until_ns).min(waited_ns - cpu_ns) } else { 0 };
        self.synchronize(thread, record, Stage::Enter, since_ns, since_ns);
        self.synchronize(thread, record, Stage::Leave, since_ns, until_ns);
        let mut behind = visit.behind(until_ns, visit.end_ns - until_ns);
        let spun_ns = visit.own.cpu_ns - behind.cpu_ns;
        if slept {
            behind.start_ns = until_ns.max(visit.begin_ns);
        }
        let program = &mut self.threads[thread as usize].program;
        program.explain(rule, spun_ns + visit.own.waited_ns + waited_ns - idle_ns, spun_ns + cpu_ns);
        program.ask_again(until_ns, visit.begin_ns, idle_ns, slept);
        program.compute(behind);
        true
    }

    pub(super) fn sleep(&mut self, visit: &Visit<'_>) {
        let seen = visit.seen;
        let requested = seen.event.field(Field::Nanos).unwrap_or(0);
        let took_ns = visit.end_ns - visit.begin_ns;
        // An interrupted or stopped sleep, and one until a point in time, lasted as long as it did. Interrupted in its last second, sleep(3) of
        // the GNU C library returns 0, the whole seconds that are left. What is recorded inside is a signal's arrival.
        let relative = seen.event.field(Field::Flags).unwrap_or(0) == 0;
        let requested_ns = requested.max(0) as u64;
        let interrupted = visit.begin_ns > seen.start_ns || took_ns < requested_ns;
        let stopped = took_ns >= requested_ns.saturating_add(STOPPED_FROM_NS);
        let whole = relative && seen.event.result == 0 && !interrupted && !stopped;
        self.sleep_for(visit, if whole { requested_ns } else { took_ns });
    }

    /// Whether a timer has ended the call's waiting.
    fn is_ended_by_timer(&mut self, seen: &Seen<'_>) -> bool {
        if seen.event.call.effect() == Effect::AwaitSignal && is_of_timer(seen.event.result) {
            return true;
        }
        let ended = &self.from.ended_by_timer[seen.thread as usize];
        let next = &mut self.threads[seen.thread as usize].next_ended;
        while ended.get(*next).is_some_and(|&record| record < seen.record) {
            *next += 1;
        }
        ended.get(*next) == Some(&seen.record)
    }

    /// A call that did nothing but let time pass, until a point in time if it is as long as the call.
    fn sleep_for(&mut self, visit: &Visit<'_>, ns: u64) {
        let seen = visit.seen;
        let ended_by = self.ends_the_next(visit);
        if let Some(polling) = self.polling_sleeps(visit) {
            return polling.sleep(visit, ns, ended_by);
        }
        self.interrupt_polling(seen.thread);
        self.enter(visit);
        let program = &mut self.threads[seen.thread as usize].program;
        let took_ns = visit.end_ns - visit.begin_ns;
        program.step(visit.begin_ns, visit.end_ns, sleep(ns, took_ns, ended_by));
        program.balance.sleep_ns += visit.own.waited_ns;
        program.balance.calls_cpu_ns += visit.own.cpu_ns;
        self.synchronize(seen.thread, seen.record, Stage::Leave, visit.end_ns, visit.end_ns);
    }

    /// A call of MPI, which is `again` for a replay that makes it.
    pub(super) fn mpi(&mut self, visit: &Visit<'_>, again: Option<Mpi>) {
        let seen = visit.seen;
        let thread = &mut self.threads[seen.thread as usize];
        let Some(call) = thread.calls.find(|call| call.record >= seen.record) else {
            unreachable!("every MPI call is in the log")
        };
        if call.class.is_failed_poll() && !self.has_point(seen) {
            return self.failed_poll(visit, false);
        }
        let awaited = self.awaited(seen.thread, seen.record);
        let awaited_ns = awaited.map(|(awaited_ns, _)| awaited_ns);
        let mut since_ns = visit.begin_ns;
        let (mut polled, mut asked) = ((0, 0), (0, 0));
        self.end_steps(visit);
        match self.polling_since(visit) {
            Some(polled_ns) if awaited_ns.is_some_and(|awaited_ns| awaited_ns > polled_ns) => {
                polled = self.polled(visit);
                since_ns = polled_ns;
                self.synchronize(seen.thread, seen.record, Stage::Enter, since_ns, since_ns);
            }
            // Nobody kept it waiting: the message took its time. Who makes the call again waits for that in the call. (Sleeps
            // stay what they are.)
            Some(polled_ns)
                if again.is_some_and(awaits_messages)
                    && !self.has_entry_point(seen)
                    && !self.sleeps_between_polls(seen.thread) =>
            {
                asked = self.polled(visit);
                since_ns = polled_ns;
            }
            _ => {
                self.interrupt_polling(seen.thread);
                self.enter(visit);
            }
        }
        let until_ns = awaited_ns.unwrap_or(0).clamp(since_ns, visit.end_ns);
        self.count_waiting(visit, until_ns);
        if self.threads[seen.thread as usize].waited_inside_ns > 0 {
            since_ns = self.since_inside(seen.thread, since_ns);
        }
        self.synchronize(seen.thread, seen.record, Stage::Leave, since_ns, until_ns);
        // Without anything to wait for, its CPU time is its cost.
        let most_ns = awaited_ns.map_or(u64::MAX, |_| self.from.costs.of_call(&call, awaited_ns));
        let mut behind = visit.behind(until_ns, most_ns);
        let program = &mut self.threads[seen.thread as usize].program;
        let spun_ns = visit.own.cpu_ns - behind.cpu_ns;
        match awaited {
            Some((_, rule)) => {
                let (waited_ns, cpu_ns) = polled;
                program.explain(rule, spun_ns + visit.own.waited_ns + waited_ns, spun_ns + cpu_ns);
            }
            None => behind.idle_ns = visit.own.waited_ns,
        }
        let (waited_ns, cpu_ns) = asked;
        behind.cpu_ns += cpu_ns;
        behind.idle_ns += waited_ns - cpu_ns;
        match again {
            // They are work besides, that of the MPI which does it.
            Some(call @ (Mpi::Init | Mpi::Finalize)) => {
                let entry = mpi::entry(seen.event.call);
                if let Some(entry) = entry.filter(|_| !self.threads[seen.thread as usize].enters_mpi) {
                    self.enter_mpi(seen, entry, behind.start_ns);
                }
                let thread = &mut self.threads[seen.thread as usize];
                thread.enters_mpi = false;
                thread.program.compute(behind);
                thread.program.communicate(call, nothing_at(behind.end_ns));
            }
            Some(call) => program.communicate(call, behind),
            None => program.compute(behind),
        }
    }

    /// How the library waits shows in calls that waited for long: with the processor, or without. What others took of the
    /// processor meanwhile says nothing: ranks that poll take it from each other when they are more than processors.
    pub(super) fn count_waiting(&mut self, visit: &Visit<'_>, until_ns: u64) {
        if until_ns.saturating_sub(visit.begin_ns) >= LEAST_WAIT_NS {
            self.polling_ns = self.polling_ns.saturating_add(visit.own.cpu_ns);
            self.blocked_ns = self.blocked_ns.saturating_add(visit.own.waited_ns);
        }
    }
}
