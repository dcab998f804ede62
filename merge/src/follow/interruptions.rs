//! Follows where `SIGCHLD` arrives, and which of its arrivals ended a wait.
//!
//! A handler may run while a call waits for something else: only a call that returns because of it (`EINTR`, a sleep cut short) has
//! waited for it, and that is known when the call returns. What the thread does next may tell more: who sees a child's end then
//! has waited for that one, which is certain, and who goes on with what was left of the time has waited for nobody.

use crate::follow::pass::Seen;
use crate::graph::dependency::Moment;
use syn_trace::calls::{Call, Effect, Fact, Field};
use syn_trace::record;

/// A `SIGCHLD` that arrived at a process.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Index of the process.
    pub process: u32,
    /// When.
    pub moment: Moment,
    /// It ended a wait.
    pub awaited: bool,
}

/// How long a call may wait: its flags, nanoseconds.
type Limit = Option<(i64, i64)>;

/// An arrival of which is not known yet whether it ended a wait.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its position among the arrivals.
    position: usize,
    /// The call that it ended; `None` before that returns.
    ended: Option<(Call, Limit)>,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// A call is under way in which something arrived.
    entered: bool,
    open: Vec<Open>,
}

/// The arrivals of a run. Memory: 24 bytes for each.
#[derive(Debug)]
pub struct Interruptions {
    arrivals: Vec<Arrival>,
    threads: Vec<Thread>,
}

impl Interruptions {
    /// For so many threads, with nothing seen yet.
    pub fn new(threads: usize) -> Interruptions {
        Interruptions { arrivals: Vec::new(), threads: vec![Thread::default(); threads] }
    }

    /// Sees one event.
    #[inline]
    pub fn see(&mut self, seen: &Seen<'_>) {
        let event = seen.event;
        let thread = &mut self.threads[seen.thread as usize];
        if event.call == Call::Entered {
            // 0: all calls under way were left by a jump.
            thread.entered = event.numbers[0] != 0;
            thread.open.retain(|open| open.ended.is_some() || thread.entered);
        } else if event.call == Call::SignalDelivered && event.numbers[0] == i64::from(libc::SIGCHLD) {
            if thread.entered && may_have_waited_before(seen) {
                thread.open.push(Open { position: self.arrivals.len(), ended: None });
            }
            self.arrivals.push(Arrival { process: seen.process, moment: seen.leave(), awaited: false });
        } else if !event.call.has(Fact::Note) && !event.has(record::INNER) {
            self.settle(seen);
        }
    }

    /// A call that waits for signals got one.
    pub fn receive(&mut self, seen: &Seen<'_>) {
        self.arrivals.push(Arrival { process: seen.process, moment: seen.leave(), awaited: true });
    }

    /// A call returned that is inside no other: the interrupted one, one of a handler, or the next one.
    #[inline]
    fn settle(&mut self, seen: &Seen<'_>) {
        let Thread { entered, open } = &mut self.threads[seen.thread as usize];
        if !*entered && open.is_empty() {
            return;
        }
        let arrivals = &mut self.arrivals;
        open.retain_mut(|open| {
            let arrival = &mut arrivals[open.position];
            let is_handlers = open.ended.is_none() && seen.start_ns > arrival.moment.ns;
            match open.ended {
                _ if sees_an_end(seen) => false,
                _ if is_handlers => true,
                None => {
                    open.ended = is_cut_short(seen).then(|| (seen.event.call, limit(seen)));
                    open.ended.is_some()
                }
                Some(ended) => {
                    arrival.awaited = !goes_on(ended, seen);
                    false
                }
            }
        });
        *entered = open.iter().any(|open| open.ended.is_none());
    }

    /// All arrivals.
    pub fn finish(mut self) -> Vec<Arrival> {
        let open = self.threads.iter().flat_map(|thread| &thread.open);
        for last in open.filter(|open| open.ended.is_some()) {
            self.arrivals[last.position].awaited = true;
        }
        self.arrivals
    }
}

/// What lies between a call's entry and a signal in it is the gap before the signal.
fn may_have_waited_before(seen: &Seen<'_>) -> bool {
    !seen.sees_preemption || seen.event.waited_before() || seen.event.has(record::LOST_BEFORE)
}

/// A call that tells of the end of a process.
fn sees_an_end(seen: &Seen<'_>) -> bool {
    let event = seen.event;
    match event.call.effect() {
        _ if event.has(record::FAILED) => false,
        Effect::AwaitProcess => event.result > 0,
        Effect::AwaitProcessById => event.numbers[2] & i64::from(libc::WEXITED) != 0,
        effect => matches!(effect, Effect::RunCommand | Effect::CloseProcessStream),
    }
}

/// Whether a call returned because a handler had run: others go on waiting (signal(7)).
fn is_cut_short(seen: &Seen<'_>) -> bool {
    let event = seen.event;
    if event.has(record::FAILED) {
        return i64::from(event.errno) == i64::from(libc::EINTR);
    }
    // What is left, or the number of the error. If less than a second is left, sleep(3) returns 0.
    let is_early =
        || limit(seen).is_some_and(|(flags, ns)| flags == 0 && ((seen.end_ns - seen.start_ns) as i64) < ns);
    event.call.effect() == Effect::Sleep && (event.result != 0 || is_early())
}

/// Until when the call waits at most, if it says.
fn limit(seen: &Seen<'_>) -> Limit {
    let ns = seen.event.field(Field::Nanos).filter(|&ns| ns >= 0)?;
    Some((seen.event.field(Field::Flags).unwrap_or(0), ns))
}

/// Whether a call waits for what was left of the time of one that was interrupted, or until the same point in time.
fn goes_on((call, before): (Call, Limit), seen: &Seen<'_>) -> bool {
    let (Some((_, before)), Some((flags, ns))) = (before, limit(seen)) else { return false };
    let is_rest = if flags == 0 { ns < before } else { ns == before };
    seen.event.call == call && is_rest && seen.may_have_slept()
}
