//! Messages in partitions (MPI-4.1, 4.2). They are matched in the order in which their requests were made, and not with other
//! messages; the k-th start of one request belongs to the k-th of the other.

use super::messages::Channel;
use crate::follow::pass::Seen;
use crate::graph::dependency::Dependencies;
use crate::rules::partitioned::{self, Ready, Transfer};
use foldhash::HashMap;
use std::collections::BTreeMap;
use syn_trace::calls::effect::Mpi;

/// A request at one end.
#[derive(Clone, Copy, Debug)]
struct End {
    channel: Channel,
    /// Which one of this end of the channel.
    nth: u32,
    sends: bool,
    partitions: i64,
    partition_bytes: i64,
    /// How many times it was started.
    starts: u32,
    is_active: bool,
}

impl End {
    fn message(&self) -> (Channel, u32, u32) {
        (self.channel, self.nth, self.starts)
    }
}

/// The requests of a run for such messages. Memory: messages that are under way, and 32 bytes for each call that makes
/// partitions ready.
#[derive(Debug, Default)]
pub struct Partitioned {
    /// By process and handle.
    ends: HashMap<(u32, i64), End>,
    /// By channel and end.
    made: HashMap<(Channel, bool), u32>,
    messages: BTreeMap<(Channel, u32, u32), Transfer>,
}

impl Partitioned {
    /// A request is made for a message of so many partitions of so many bytes.
    pub fn make(
        &mut self,
        key: (u32, i64),
        (channel, sends): (Channel, bool),
        (partitions, partition_bytes): (i64, i64),
    ) {
        let made = self.made.entry((channel, sends)).or_default();
        *made += 1;
        let nth = *made;
        let end = End { channel, nth, sends, partitions, partition_bytes, starts: 0, is_active: false };
        self.ends.insert(key, end);
    }

    /// Requests are started.
    pub fn start(&mut self, seen: &Seen<'_>) {
        if self.ends.is_empty() {
            return;
        }
        for handle in seen.event.list.iter() {
            let Some(end) = self.ends.get_mut(&(seen.process, handle)) else { continue };
            end.starts += 1;
            end.is_active = true;
            let transfer = self.messages.entry(end.message()).or_default();
            if end.sends {
                transfer.bytes = end.partitions.saturating_mul(end.partition_bytes);
            } else {
                transfer.posted = Some(seen.enter());
            }
        }
    }

    /// Partitions are ready to be sent, or one has arrived.
    pub fn progress(&mut self, seen: &Seen<'_>, form: Mpi) {
        let n = &seen.event.numbers;
        let (handle, partitions) = match form {
            Mpi::Ready => (n[1], Some((n[0], n[0]))),
            Mpi::ReadyRange => (n[2], Some((n[0], n[1]))),
            // Which ones are in the list is not on record.
            Mpi::ReadyList => (n[1], None),
            _ => (n[0], Some((n[1], n[1]))),
        };
        let Some(end) = self.ends.get(&(seen.process, handle)).filter(|end| end.is_active) else { return };
        let bytes = partitions.map(|(first, last)| {
            let each = end.partition_bytes;
            first.saturating_mul(each)..last.saturating_add(1).saturating_mul(each)
        });
        let Some(transfer) = self.messages.get_mut(&end.message()) else { return };
        match (end.sends, bytes) {
            (true, bytes) => transfer.ready.push(Ready { enter: seen.enter(), bytes }),
            (false, Some(bytes)) => transfer.arrived.push((bytes, seen.leave())),
            (false, None) => {}
        }
    }

    /// Requests have completed: handles with three more numbers each.
    pub fn complete(&mut self, seen: &Seen<'_>, found: &mut Dependencies) {
        if self.ends.is_empty() {
            return;
        }
        for handle in seen.event.list.iter().step_by(4) {
            let Some(end) = self.ends.get_mut(&(seen.process, handle)).filter(|end| end.is_active) else {
                continue;
            };
            end.is_active = false;
            let Some(transfer) = self.messages.get_mut(&end.message()) else { continue };
            *if end.sends { &mut transfer.sent } else { &mut transfer.received } = Some(seen.leave());
            if transfer.sent.is_some() && transfer.received.is_some() {
                let done = self.messages.remove(&end.message());
                done.into_iter().for_each(|transfer| partitioned::connect(&transfer, found));
            }
        }
    }

    /// A request is freed.
    pub fn free(&mut self, key: (u32, i64)) {
        self.ends.remove(&key);
    }

    /// What is known of messages that have not completed at both ends.
    pub fn finish(&mut self, found: &mut Dependencies) {
        self.messages.values().for_each(|transfer| partitioned::connect(transfer, found));
    }
}
