//! Brings together sends and receives.
//!
//! Messages do not overtake each other (MPI-4.0, 3.5): among those with one communicator, source, destination and
//! tag, the n-th sent is the n-th received, counted in the order in which sends were started and receives posted.
//! A receive with a wildcard shows when it completes which of these sequences it belongs to.

use super::communicators::CommId;
use crate::graph::dependency::{Dependencies, Moment, Point};
use crate::rules::{message, rendezvous};
use foldhash::HashMap;
use std::collections::VecDeque;
use syn_trace::calls::ANY;

/// Where messages are in sequence; ranks are those in the communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// The communicator.
    pub comm: CommId,
    /// Rank of the sender.
    pub source: i32,
    /// Rank of the receiver.
    pub destination: i32,
    /// The tag.
    pub tag: i32,
}

/// Names a send that may wait for its receiver.
pub type LongId = u32;

/// A send that may wait for its receiver: what is known of it so far.
#[derive(Clone, Copy, Debug, Default)]
struct Long {
    completed: Option<Moment>,
    posted: Option<Moment>,
}

/// A started send.
#[derive(Clone, Copy, Debug)]
pub struct Send {
    /// When it was started.
    pub enter: Moment,
    /// Set when it may wait for its receiver.
    pub long: Option<LongId>,
}

/// A receive that got a message.
#[derive(Clone, Debug)]
pub struct Receive {
    /// When it was posted.
    pub posted: Moment,
    /// When it completed; `None` if that was never seen.
    pub completed: Option<Moment>,
    /// Probes that saw the message before.
    pub probes: Vec<Moment>,
}

#[derive(Debug)]
enum Half {
    Send(Send),
    Receive(Receive),
}

/// Every message that is under way. Memory: sends and receives that have not met, about 100 bytes each.
#[derive(Debug, Default)]
pub struct Channels {
    open: HashMap<Channel, VecDeque<Half>>,
    spare: Vec<VecDeque<Half>>,
    longs: Vec<Long>,
    free_longs: Vec<LongId>,
    /// Messages that were matched.
    pub matched: u64,
}

impl Channels {
    /// Room for what becomes known of a send that may wait for its receiver.
    pub fn new_long(&mut self) -> LongId {
        match self.free_longs.pop() {
            Some(id) => {
                self.longs[id as usize] = Long::default();
                id
            }
            None => {
                self.longs.push(Long::default());
                self.longs.len() as LongId - 1
            }
        }
    }

    /// A send was started.
    pub fn send(&mut self, channel: Channel, send: Send, found: &mut Dependencies) {
        match self.other_half(channel, |half| matches!(half, Half::Receive(_))) {
            Some(Half::Receive(receive)) => self.meet(send, &receive, found),
            _ => self.keep(channel, Half::Send(send)),
        }
    }

    /// A receive turned out to have got the next message of `channel`.
    pub fn receive(&mut self, channel: Channel, receive: Receive, found: &mut Dependencies) {
        match self.other_half(channel, |half| matches!(half, Half::Send(_))) {
            Some(Half::Send(send)) => self.meet(send, &receive, found),
            _ => self.keep(channel, Half::Receive(receive)),
        }
    }

    /// A send that may wait for its receiver has completed.
    pub fn complete(&mut self, long: LongId, completed: Moment, found: &mut Dependencies) {
        self.longs[long as usize].completed = Some(completed);
        self.settle(long, found);
    }

    fn meet(&mut self, send: Send, receive: &Receive, found: &mut Dependencies) {
        self.matched += 1;
        message::connect(send.enter, &receive.probes, receive.completed, found);
        if let Some(long) = send.long {
            self.longs[long as usize].posted = Some(receive.posted);
            self.settle(long, found);
        }
    }

    fn settle(&mut self, long: LongId, found: &mut Dependencies) {
        if let Long { completed: Some(completed), posted: Some(posted) } = self.longs[long as usize] {
            rendezvous::connect(posted, completed, found);
            self.free_longs.push(long);
        }
    }

    /// Takes the front of the channel if it is what was looked for; a channel holds one kind at a time.
    fn other_half(&mut self, channel: Channel, wanted: impl Fn(&Half) -> bool) -> Option<Half> {
        let queue = self.open.get_mut(&channel)?;
        if !queue.front().is_some_and(wanted) {
            return None;
        }
        let half = queue.pop_front();
        if queue.is_empty() {
            self.spare.extend(self.open.remove(&channel));
        }
        half
    }

    fn keep(&mut self, channel: Channel, half: Half) {
        let spare = &mut self.spare;
        self.open.entry(channel).or_insert_with(|| spare.pop().unwrap_or_default()).push_back(half);
    }

    /// Where they began.
    pub fn left(&self) -> impl Iterator<Item = (Point, bool)> + '_ {
        self.open.values().flatten().map(|half| match half {
            Half::Send(send) => (send.enter.point(), true),
            Half::Receive(receive) => (receive.posted.point(), false),
        })
    }

    /// Sends and receives that never met.
    pub fn unmatched(&self) -> (u64, u64) {
        let halves = || self.open.values().flatten();
        let sends = halves().filter(|half| matches!(half, Half::Send(_))).count() as u64;
        let receives = halves()
            .filter(|half| matches!(half, Half::Receive(receive) if receive.completed.is_some()))
            .count() as u64;
        (sends, receives)
    }
}

/// What became of a posted receive.
#[derive(Clone, Copy, Debug)]
pub enum Outcome {
    /// It got a message from this source with this tag, and was seen to complete then, if it was.
    Got(i64, i64, Option<Moment>),
    /// It got none.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
struct Posted {
    enter: Moment,
    source: i64,
    tag: i64,
    outcome: Option<Outcome>,
}

/// The receives that one process posted on one communicator. A receive is passed on when all before it have been:
/// which message it got depends on what those got.
#[derive(Debug, Default)]
pub struct PostedReceives {
    first: u64,
    queue: VecDeque<Posted>,
}

impl PostedReceives {
    /// A receive is posted; returns its number.
    pub fn post(&mut self, enter: Moment, source: i64, tag: i64) -> u64 {
        self.queue.push_back(Posted { enter, source, tag, outcome: None });
        self.first + self.queue.len() as u64 - 1
    }

    /// It is known what became of receive `number`.
    pub fn resolve(&mut self, number: u64, outcome: Outcome) {
        let index = number.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        if let Some(posted) = index.and_then(|index| self.queue.get_mut(index)) {
            posted.outcome = Some(outcome);
        }
    }

    /// Receive `number` is out of sight from now on (`MPI_Request_free`). It still gets a message, and without
    /// wildcards it is known which.
    pub fn forget(&mut self, number: u64) {
        let posted = number.checked_sub(self.first).and_then(|index| self.queue.get(index as usize));
        if let Some(outcome) = posted.map(Posted::unseen) {
            self.resolve(number, outcome);
        }
    }

    /// At the end of the recording: receives that did not complete are taken as out of sight.
    pub fn forget_all(&mut self) {
        for posted in &mut self.queue {
            let unseen = posted.unseen();
            posted.outcome.get_or_insert(unseen);
        }
    }

    /// The next receive that has nothing unknown before it.
    pub fn next_known(&mut self) -> Option<Known> {
        let &Posted { enter, source, tag, outcome: Some(outcome) } = self.queue.front()? else { return None };
        self.queue.pop_front();
        self.first += 1;
        Some(Known { posted: enter, asks_for_any: source == ANY || tag == ANY, outcome })
    }
}

/// A receive of which everything is known.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// When it was posted.
    pub posted: Moment,
    /// It left open from whom, or with which tag.
    pub asks_for_any: bool,
    /// What became of it.
    pub outcome: Outcome,
}

impl Posted {
    fn unseen(&self) -> Outcome {
        if self.source == ANY || self.tag == ANY {
            return Outcome::Nothing;
        }
        Outcome::Got(self.source, self.tag, None)
    }
}
