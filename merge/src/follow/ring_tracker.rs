//! Follows what goes through pipes and connections by way of io_uring: an entry that was submitted, and its completion, are one call that
//! began when the entry was handed over and returned when the thread that saw the completion came back from the ring.

use crate::follow::pass::Seen;
use crate::graph::dependency::Moment;
use crate::rules::open_file::Span;
use foldhash::HashMap;
use std::collections::VecDeque;
use syn_trace::calls::Effect;
use syn_trace::descriptors::{Descriptors, OpenId, Touched};

/// `enum io_uring_op`: reads and receives, writes and sends, and waits until something is ready.
const TAKING_OUT: [i64; 7] = [1, 4, 10, 22, 27, 49, 60];
const PUTTING_IN: [i64; 8] = [2, 5, 9, 23, 26, 47, 48, 61];
const POLL_ADD: i64 = 6;
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
}

/// An entry under way.
#[derive(Clone, Copy, Debug)]
struct Submitted {
    moving: Moving,
    open: OpenId,
    at: Moment,
}

/// The rings of a run. Memory: 48 bytes for each entry under way.
#[derive(Debug, Default)]
pub struct RingTracker {
    /// By process, ring, and the number that the program chose.
    under_way: HashMap<(u32, OpenId, i64), VecDeque<Submitted>>,
    /// By thread: when it last came back from a ring.
    returned: HashMap<u32, Moment>,
}

/// What a completion says that was done.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// What.
    pub moving: Moving,
    /// The pipe or socket.
    pub open: OpenId,
    /// From the submission until the completion was seen.
    pub span: Span,
    /// So many bytes.
    pub bytes: u64,
}

impl RingTracker {
    /// Sees one event; returns what is done if it is a completion.
    pub fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) -> Option<Done> {
        let numbers = &seen.event.numbers;
        match seen.event.call.effect() {
            Effect::AwaitRing => {
                self.returned.insert(seen.thread, seen.leave());
                None
            }
            Effect::RingEntry => {
                let moving = match numbers[1] {
                    operation if TAKING_OUT.contains(&operation) => Moving::Out,
                    operation if PUTTING_IN.contains(&operation) => Moving::In,
                    POLL_ADD => Moving::Nothing,
                    _ => return None,
                };
                let key = (seen.process, ring(seen, descriptors)?, numbers[6]);
                let submitted = Submitted { moving, open: touched.file?, at: seen.enter() };
                self.under_way.entry(key).or_default().push_back(submitted);
                None
            }
            Effect::RingCompletion => self.complete(seen, descriptors),
            _ => None,
        }
    }

    fn complete(&mut self, seen: &Seen<'_>, descriptors: &Descriptors) -> Option<Done> {
        let [_, result, flags, user_data, ..] = seen.event.numbers;
        let key = (seen.process, ring(seen, descriptors)?, user_data);
        let queue = self.under_way.get_mut(&key)?;
        let Submitted { moving, open, at } = *queue.front()?;
        if flags & CQE_MORE == 0 {
            queue.pop_front();
            if queue.is_empty() {
                self.under_way.remove(&key);
            }
        }
        let leave = *self.returned.get(&seen.thread)?;
        let bytes = u64::try_from(result).ok().filter(|_| flags & CQE_NOTIFICATION == 0)?;
        Some(Done { moving, open, span: Span { enter: at, leave }, bytes })
    }
}

/// The ring that an entry or completion is in.
fn ring(seen: &Seen<'_>, descriptors: &Descriptors) -> Option<OpenId> {
    i32::try_from(seen.event.numbers[0]).ok().and_then(|fd| descriptors.descriptor(fd))
}
