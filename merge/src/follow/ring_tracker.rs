//! Follows what goes through pipes and connections by way of io_uring: an entry that was submitted, and its completion, are one call that
//! began when the entry was handed over and returned when the thread that saw the completion came back from the ring. What moves bytes in
//! a way that is not followed, or without a completion, is told as [`Moving::Unknown`].
//!
//! Whatever it is about: a thread that sees a completion comes after the one that submitted it. Which
//! thread comes back first and leaves the record of a completion is chance: who slept in the ring and shows none has seen what another one
//! tells of that was submitted meanwhile.

use crate::follow::pass::Seen;
use crate::graph::dependency::{Dependencies, Moment, Span};
use foldhash::HashMap;
use std::collections::{BTreeMap, VecDeque};
use syn_plan::Rule;
use syn_trace::calls::Effect;
use syn_trace::descriptors::{Descriptors, OpenId, Touched};

/// `enum io_uring_op`: reads and receives, writes and sends, and waits until something is ready.
const TAKING_OUT: [i64; 7] = [1, 4, 10, 22, 27, 49, 60];
const PUTTING_IN: [i64; 8] = [2, 5, 9, 23, 26, 47, 48, 61];
const POLL_ADD: i64 = 6;
/// `IORING_OP_SPLICE`, `IORING_OP_TEE`, `IORING_OP_RECV_ZC`.
const NOT_FOLLOWED: [i64; 3] = [30, 33, 58];
/// `IORING_OP_NOP`, timeouts, and what takes back one of them or a poll: their result is never positive.
const WITHOUT_RESULT: [i64; 5] = [0, 7, 11, 12, 15];
const ETIME: i64 = 62;
/// `IOSQE_CQE_SKIP_SUCCESS`: there is a completion only if it fails.
const SQE_SKIP_SUCCESS: i64 = 64;
/// More completions of the same entry follow; this one only tells that a buffer is free again.
const CQE_MORE: i64 = 2;
const CQE_NOTIFICATION: i64 = 8;

/// Which way a call moves bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moving {
    /// It puts them in.
    In,
    /// It takes them out.
    Out,
    /// It only looks whether there are some.
    Nothing,
    /// Nobody knows how many.
    Unknown,
}

/// What says which completion may be that of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    user_data: i64,
    has_result: bool,
}

impl Entry {
    /// Of a submission; `None` if it has no completion.
    pub fn of(seen: &Seen<'_>) -> Option<Entry> {
        let numbers = &seen.event.numbers;
        let has_completion = numbers[2] & SQE_SKIP_SUCCESS == 0;
        let has_result = !WITHOUT_RESULT.contains(&numbers[1]);
        has_completion.then_some(Entry { user_data: numbers[6], has_result })
    }

    /// Whether it may have completed with this result.
    fn may_give(&self, result: i64) -> bool {
        match result {
            1.. => self.has_result,
            _ => result != -ETIME || !self.has_result,
        }
    }
}

/// The entries of rings that are under way, each with what somebody keeps of it. By process, ring, and the number that the program chose,
/// which several may have.
#[derive(Debug)]
pub struct UnderWay<T>(HashMap<(u32, OpenId, i64), VecDeque<(Entry, T)>>);

impl<T> Default for UnderWay<T> {
    fn default() -> UnderWay<T> {
        UnderWay(HashMap::default())
    }
}

impl<T: Copy> UnderWay<T> {
    /// An entry was submitted.
    pub fn submit(&mut self, process: u32, ring: OpenId, entry: Entry, kept: T) {
        self.0.entry((process, ring, entry.user_data)).or_default().push_back((entry, kept));
    }

    /// Of which entry this is a completion.
    pub fn complete(&mut self, seen: &Seen<'_>, ring: OpenId) -> Option<T> {
        let [_, result, flags, user_data, ..] = seen.event.numbers;
        let key = (seen.process, ring, user_data);
        let queue = self.0.get_mut(&key)?;
        let place = queue.iter().position(|(entry, _)| entry.may_give(result)).unwrap_or(0);
        let &(_, kept) = queue.get(place)?;
        if flags & CQE_MORE == 0 {
            queue.remove(place);
            if queue.is_empty() {
                self.0.remove(&key);
            }
        }
        Some(kept)
    }
}

/// An entry under way. Others than those that are followed have a completion under their number, too.
#[derive(Clone, Copy, Debug)]
struct Submitted {
    followed: Option<(Moving, OpenId)>,
    at: Moment,
}

/// The rings of a run. Memory: 48 bytes for each entry under way.
#[derive(Debug, Default)]
pub struct RingTracker {
    under_way: UnderWay<Submitted>,
    /// By thread: when it last came back from a ring, and the record that shows a completion if that came with it.
    returned: HashMap<u32, (Moment, u32)>,
    /// By thread: the last wait in a ring in which it slept, and that has shown no completion so far.
    waiting: BTreeMap<u32, Waiting>,
    /// By ring: when the last completions were submitted.
    completed: HashMap<Ring, VecDeque<Moment>>,
    /// Who waited for whom.
    found: Dependencies,
}

/// A process, and one of its rings.
type Ring = (u32, OpenId);

/// Of so many completions a ring remembers when they were submitted.
const MOST_COMPLETED: usize = 16;

/// A wait in a ring.
#[derive(Debug)]
struct Waiting {
    ring: Ring,
    span: Span,
    /// The first submission meanwhile of what others have seen complete.
    submitted: Option<Moment>,
}

impl Waiting {
    fn consider(&mut self, submitted: Moment) {
        let Span { enter, leave } = self.span;
        let is_meanwhile = enter.ns < submitted.ns && submitted.ns <= leave.ns;
        if is_meanwhile && self.submitted.is_none_or(|other| submitted.ns < other.ns) {
            self.submitted = Some(submitted);
        }
    }
}

/// What a completion, or an entry that gets none, says that was done.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// What.
    pub moving: Moving,
    /// The pipe or socket.
    pub open: OpenId,
    /// From the submission until the completion was seen.
    pub span: Span,
    /// So many bytes; of a look, the events of `poll`.
    pub bytes: u64,
}

impl RingTracker {
    /// Sees one event, which may have failed; returns what it says that was done.
    pub fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) -> Option<Done> {
        let numbers = &seen.event.numbers;
        match seen.event.call.effect() {
            Effect::AwaitRing => {
                self.returned.insert(seen.thread, (seen.leave(), seen.record + 1));
                if let Some(ring) = ring(seen, descriptors).filter(|_| seen.event.waited_inside()) {
                    let ring = (seen.process, ring);
                    let mut waiting = Waiting { ring, span: seen.span(), submitted: None };
                    let completed = self.completed.get(&ring).into_iter().flatten();
                    completed.for_each(|&submitted| waiting.consider(submitted));
                    let before = self.waiting.insert(seen.thread, waiting);
                    self.end(before);
                }
                None
            }
            Effect::RingEntry => {
                let moving = match numbers[1] {
                    operation if TAKING_OUT.contains(&operation) => Moving::Out,
                    operation if PUTTING_IN.contains(&operation) => Moving::In,
                    POLL_ADD => Moving::Nothing,
                    operation if NOT_FOLLOWED.contains(&operation) => Moving::Unknown,
                    // No bytes of a pipe or socket.
                    _ => Moving::Nothing,
                };
                let is_followed = moving != Moving::Nothing || numbers[1] == POLL_ADD;
                let entry = Entry::of(seen);
                if let Some(entry) = entry {
                    let followed = touched.file.map(|open| (moving, open));
                    let followed = followed.filter(|_| is_followed && moving != Moving::Unknown);
                    // A replay submits it there, too: who waits for it comes behind that.
                    let submitted = Submitted { followed, at: seen.leave() };
                    self.under_way.submit(seen.process, ring(seen, descriptors)?, entry, submitted);
                }
                let is_unknown = moving == Moving::Unknown || moving != Moving::Nothing && entry.is_none();
                let span = seen.span();
                touched.file.filter(|_| is_unknown).map(|open| Done {
                    moving: Moving::Unknown,
                    open,
                    span,
                    bytes: 0,
                })
            }
            Effect::RingCompletion => self.complete(seen, descriptors),
            _ => None,
        }
    }

    /// Who waited for whom.
    pub fn finish(mut self) -> Dependencies {
        for waiting in std::mem::take(&mut self.waiting).into_values() {
            self.end(Some(waiting));
        }
        self.found
    }

    /// Of a wait no more will be told.
    fn end(&mut self, waiting: Option<Waiting>) {
        if let Some(Waiting { span, submitted: Some(submitted), .. }) = waiting {
            self.order(submitted, span.leave);
        }
    }

    /// A thread tells of a completion in a ring.
    fn tell(&mut self, thread: u32, ring: Ring, submitted: Moment) {
        let completed = self.completed.entry(ring).or_default();
        if completed.len() == MOST_COMPLETED {
            completed.pop_front();
        }
        completed.push_back(submitted);
        let others =
            self.waiting.iter_mut().filter(|(other, waiting)| **other != thread && waiting.ring == ring);
        others.for_each(|(_, waiting)| waiting.consider(submitted));
    }

    fn order(&mut self, submitted: Moment, seen: Moment) {
        if submitted.point().thread != seen.point().thread && submitted.ns <= seen.ns {
            self.found.add_one(Rule::Completion, submitted, seen);
        }
    }

    /// When the thread saw this completion: as it came back from the ring, if nothing lies in between.
    fn shown(&mut self, seen: &Seen<'_>) -> Moment {
        match self.returned.get_mut(&seen.thread) {
            Some((moment, next)) if *next == seen.record => {
                *next += 1;
                self.waiting.remove(&seen.thread);
                *moment
            }
            _ => seen.leave(),
        }
    }

    fn complete(&mut self, seen: &Seen<'_>, descriptors: &Descriptors) -> Option<Done> {
        let [_, result, flags, ..] = seen.event.numbers;
        let leave = self.shown(seen);
        let ring = ring(seen, descriptors)?;
        let Submitted { followed, at } = self.under_way.complete(seen, ring)?;
        self.order(at, leave);
        self.tell(seen.thread, (seen.process, ring), at);
        let (moving, open) = followed?;
        let bytes = u64::try_from(result).ok().filter(|_| flags & CQE_NOTIFICATION == 0)?;
        Some(Done { moving, open, span: Span { enter: at, leave }, bytes })
    }
}

/// The ring that an entry or completion is in.
pub fn ring(seen: &Seen<'_>, descriptors: &Descriptors) -> Option<OpenId> {
    i32::try_from(seen.event.numbers[0]).ok().and_then(|fd| descriptors.descriptor(fd))
}
