//! The matcher's part on messages: sends, receives, probes, and the requests that stand for them.

use super::collectives::Started;
use super::communicators::CommId;
use super::matcher::Matcher;
use super::matching::place;
use super::messages::{Channel, Known, LongId, Outcome, PostedReceives, Receive, Send};
use super::requests::{Active, Incoming, Outgoing, Persistent};
use crate::follow::pass::Seen;
use crate::graph::dependency::Moment;
use crate::rules::rendezvous;
use syn_trace::calls::NOBODY;

/// Point to point.
impl Matcher<'_> {
    /// A send is started. Returns its number if it may wait for its receiver.
    pub(super) fn send(&mut self, seen: &Seen<'_>, what: Outgoing) -> Option<LongId> {
        if what.destination == NOBODY {
            return None;
        }
        let (comm, rank) = self.joined(seen.process, what.comm)?;
        let to = self.communicators.get(comm).peer(rank, what.destination);
        let channel = self.channel(comm, rank.into(), to, what.tag)?;
        let long = rendezvous::may_wait(what.mode, what.bytes).then(|| self.channels.new_long());
        self.channels.send(channel, Send { enter: seen.enter(), long }, &mut self.found);
        long
    }

    pub(super) fn blocking_send(&mut self, seen: &Seen<'_>, what: Outgoing) {
        if let Some(long) = self.send(seen, what) {
            self.channels.complete(long, seen.leave(), &mut self.found);
        }
    }

    /// A receive is posted. Returns its communicator and number.
    pub(super) fn post(&mut self, seen: &Seen<'_>, what: Incoming) -> Option<(CommId, u64)> {
        if what.source == NOBODY {
            return None;
        }
        let (comm, _) = self.joined(seen.process, what.comm)?;
        let posted = self.locals[seen.process as usize].posted.entry(comm).or_default();
        Some((comm, posted.post(seen.enter(), what.source, what.tag)))
    }

    pub(super) fn resolve(&mut self, process: u32, (comm, number): (CommId, u64), outcome: Outcome) {
        if let Some(posted) = self.locals[process as usize].posted.get_mut(&comm) {
            posted.resolve(number, outcome);
        }
        self.pass_on(process, comm);
    }

    /// Passes on the receives of which everything before is known.
    pub(super) fn pass_on(&mut self, process: u32, comm: CommId) {
        let Some(rank) = self.rank_in(process, comm) else { return };
        loop {
            let posted = self.locals[process as usize].posted.get_mut(&comm);
            let Some(Known { posted, asks_for_any, outcome }) = posted.and_then(PostedReceives::next_known)
            else {
                return;
            };
            let Outcome::Got(source, tag, completed) = outcome else {
                self.matching.unreceived.insert(place(posted));
                continue;
            };
            let from = self.communicators.get(comm).peer(rank as u32, source);
            let Some(channel) = self.channel(comm, from, rank, tag) else {
                self.matching.unreceived.insert(place(posted));
                continue;
            };
            if asks_for_any {
                self.matching.got.insert(place(posted), (source as i32, tag as i32));
            }
            let probes = self.take_probes(process, channel, posted);
            self.channels.receive(channel, Receive { posted, completed, probes }, &mut self.found);
        }
    }

    pub(super) fn rank_in(&self, process: u32, comm: CommId) -> Option<i64> {
        let (world, world_rank) = self.worlds.known(process)?;
        let rank = if comm == world { Some(world_rank) } else { self.communicators.rank_in(process, comm) };
        rank.map(i64::from)
    }

    /// The probes that saw the message which a receive posted at `posted` then got.
    pub(super) fn take_probes(&mut self, process: u32, channel: Channel, posted: Moment) -> Vec<Moment> {
        let probes = &mut self.locals[process as usize].probes;
        if probes.is_empty() {
            return Vec::new();
        }
        let Some(mut seen) = probes.remove(&channel) else { return Vec::new() };
        let later = seen.split_off(seen.partition_point(|probe| probe.ns <= posted.ns));
        if !later.is_empty() {
            probes.insert(channel, later);
        }
        seen
    }

    pub(super) fn receive(&mut self, seen: &Seen<'_>, what: Incoming, source: i64, tag: i64) {
        if let Some(receive) = self.post(seen, what) {
            self.resolve(seen.process, receive, Outcome::Got(source, tag, Some(seen.leave())));
        }
    }

    pub(super) fn probe(&mut self, seen: &Seen<'_>, comm: i64, source: i64, tag: i64) {
        if source == NOBODY {
            return;
        }
        let Some((comm, rank)) = self.joined(seen.process, comm) else { return };
        let from = self.communicators.get(comm).peer(rank, source);
        let Some(channel) = self.channel(comm, from, rank.into(), tag) else { return };
        self.locals[seen.process as usize].probes.entry(channel).or_default().push(seen.leave());
    }
}

/// Requests.
impl Matcher<'_> {
    pub(super) fn activate(&mut self, seen: &Seen<'_>, what: Persistent) -> Active {
        match what {
            Persistent::Send(what) => Active::Send(what.bytes, self.send(seen, what)),
            Persistent::Receive(what) => match self.post(seen, what) {
                Some((comm, number)) => Active::Receive(comm, number),
                None => Active::Nothing,
            },
            Persistent::Collective(what) => {
                match self.join_in(seen, what.call, what.comm, what.root, what.traffic) {
                    Some(started) => {
                        let started = Started { noted: what.noted, ..started };
                        Active::Collective(what.traffic.0.saturating_add(what.traffic.1), started)
                    }
                    None => Active::Nothing,
                }
            }
        }
    }

    pub(super) fn begin(&mut self, seen: &Seen<'_>, handle: i64, what: Persistent) {
        self.forget(seen, handle);
        let active = self.activate(seen, what);
        self.locals[seen.process as usize].requests.start(handle, seen.thread, active);
    }

    pub(super) fn prepare(&mut self, seen: &Seen<'_>, handle: i64, what: Persistent) {
        self.forget(seen, handle);
        self.locals[seen.process as usize].requests.prepare(handle, seen.thread, what);
    }

    /// A handle is given to a new request: the thread's that had it is over by now, and its end was not seen. Implementations have one
    /// handle for all requests that are complete at once, too.
    fn forget(&mut self, seen: &Seen<'_>, handle: i64) {
        let local = &mut self.locals[seen.process as usize];
        match local.requests.replace(handle, seen.thread).map(|request| request.active) {
            Some(Active::Collective(_, started)) => self.leave(started, seen.leave()),
            Some(Active::Receive(comm, number)) => {
                if let Some(posted) = local.posted.get_mut(&comm) {
                    posted.forget(number);
                }
                self.pass_on(seen.process, comm);
            }
            _ => {}
        }
    }

    /// A request is made for a message in partitions.
    pub(super) fn prepare_partitions(&mut self, seen: &Seen<'_>, sends: bool) {
        let [bytes, other, tag, comm, handle, partitions, ..] = seen.event.numbers;
        let Some((comm, rank)) = self.joined(seen.process, comm).filter(|_| other != NOBODY) else { return };
        let peer = self.communicators.get(comm).peer(rank, other);
        let (source, destination) = if sends { (rank.into(), peer) } else { (peer, rank.into()) };
        let Some(channel) = self.channel(comm, source, destination, tag) else { return };
        self.partitioned.make((seen.process, handle), (channel, sends), (partitions, bytes));
    }

    pub(super) fn start_all(&mut self, seen: &Seen<'_>) {
        for handle in seen.event.list.iter() {
            let request = self.locals[seen.process as usize].requests.get(handle, seen.thread);
            let Some(what) = request.and_then(|request| request.persistent) else { continue };
            let active = self.activate(seen, what);
            if let Some(request) = self.locals[seen.process as usize].requests.get(handle, seen.thread) {
                request.active = active;
            }
        }
    }

    /// Requests have completed; returns how many bytes they moved.
    pub(super) fn complete_all(&mut self, seen: &Seen<'_>) -> i64 {
        let mut moved = 0i64;
        let mut numbers = seen.event.list.iter();
        while let (Some(handle), Some(source), Some(tag), Some(bytes)) =
            (numbers.next(), numbers.next(), numbers.next(), numbers.next())
        {
            let Some(was) = self.locals[seen.process as usize].requests.complete(handle, seen.thread) else {
                continue;
            };
            match was.active {
                Active::Nothing => {}
                Active::Send(bytes, long) => {
                    moved = moved.saturating_add(bytes);
                    if let (Some(long), None) = (long, was.cancelled) {
                        self.channels.complete(long, seen.leave(), &mut self.found);
                    }
                }
                Active::Collective(bytes, started) => {
                    moved = moved.saturating_add(bytes);
                    self.leave(started, seen.leave());
                }
                Active::Receive(comm, number) => {
                    moved = moved.saturating_add(bytes.max(0));
                    let got = Outcome::Got(source, tag, Some(seen.leave()));
                    // A receive can only be cancelled while its message has not come. One that was has no source.
                    let outcome = match was.cancelled {
                        Some(_) if source < 0 => Outcome::Nothing,
                        Some(asked) => {
                            self.matching.refused.insert(asked);
                            got
                        }
                        None => got,
                    };
                    self.resolve(seen.process, (comm, number), outcome);
                }
            }
        }
        moved
    }

    pub(super) fn free(&mut self, seen: &Seen<'_>, handle: i64) {
        let local = &mut self.locals[seen.process as usize];
        let Some(was) = local.requests.free(handle, seen.thread) else { return };
        if let Active::Receive(comm, number) = was.active {
            if let Some(posted) = local.posted.get_mut(&comm) {
                posted.forget(number);
            }
            self.pass_on(seen.process, comm);
        }
    }
}
