//! Follows the MPI calls of all processes and hands what belongs together to the rules.

use super::calls::{Around, CallLog, Calls, Class, TimedCall, communicates, entry};
use super::collectives::{Collectives, Started};
use super::communicators::{CommId, Communicator, Communicators, Creation, Instance, Meaning};
use super::epochs::Epochs;
use super::matching::Matching;
use super::messages::{Channel, Channels, PostedReceives};
use super::notes::Notes;
use super::partitioned::Partitioned;
use super::requests::{Gathering, Incoming, Mode, Outgoing, Persistent, Requests};
use super::starts::{How, Made, Starts};
use super::unmatched::Unmatched;
use super::window_locks::WindowLocks;
use super::world::Worlds;
use crate::follow::pass::{Seen, Visitor};
use crate::graph::dependency::{Dependencies, Moment};
use crate::rules::collective;
use foldhash::HashMap;
use std::collections::BTreeMap;
use syn_trace::calls::effect::{Effect, Members, Mpi};
use syn_trace::calls::{COMM_WORLD, NOBODY};
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::{Call, Layer, record};

/// What one process has under way.
#[derive(Debug, Default)]
pub(super) struct Local {
    pub(super) requests: Requests,
    pub(super) posted: BTreeMap<CommId, PostedReceives>,
    pub(super) probes: HashMap<Channel, Vec<Moment>>,
}

/// What could not be matched, counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trouble {
    /// Calls on a communicator whose creation was not seen.
    pub unknown_communicators: u64,
    /// Calls on inter-communicators and communicators of several worlds of which it is not known who is in them.
    pub between_groups: u64,
    /// Ranks outside their communicator, and members outside their world.
    pub impossible_ranks: u64,
}

/// Everything that matching gives.
#[derive(Debug)]
pub struct Matched {
    /// What waits for what.
    pub found: Dependencies,
    /// The calls.
    pub log: CallLog,
    /// See there.
    pub matching: Matching,
    /// What to remark.
    pub remarks: Vec<String>,
    /// Locks of windows: who waited for whom is known when clocks are aligned.
    pub window_locks: WindowLocks,
    /// Calls of which nobody knows what they waited for.
    pub unmatched: Unmatched,
}

/// The matching of a run.
#[derive(Debug)]
pub struct Matcher<'a> {
    pub(super) worlds: &'a Worlds,
    pub(super) communicators: Communicators,
    collectives: Collectives,
    pub(super) channels: Channels,
    pub(super) locals: Vec<Local>,
    behind_ns: Vec<u64>,
    keeps_log: bool,
    log: CallLog,
    pub(super) found: Dependencies,
    trouble: Trouble,
    pub(super) unmatched: Unmatched,
    pub(super) matching: Matching,
    pub(super) notes: Notes,
    pub(super) partitioned: Partitioned,
    epochs: Epochs,
    /// By thread: the latest inter-communicator.
    pub(super) bridged: HashMap<u32, Made>,
    pub(super) starts: Starts,
    window_locks: WindowLocks,
}

impl<'a> Matcher<'a> {
    /// For a run with these worlds and so many threads. Without `keeps_log` its log stays empty.
    pub fn new(worlds: &'a Worlds, threads: usize, keeps_log: bool) -> Matcher<'a> {
        Matcher {
            worlds,
            communicators: Communicators::new(worlds),
            collectives: Collectives::default(),
            channels: Channels::default(),
            locals: worlds.of_process.iter().map(|_| Local::default()).collect(),
            behind_ns: vec![0; threads],
            keeps_log,
            log: CallLog {
                threads: vec![Calls::default(); threads],
                around: vec![Vec::new(); threads],
                around_files: vec![Vec::new(); threads],
            },
            notes: Notes::new(threads),
            partitioned: Partitioned::default(),
            epochs: Epochs::default(),
            bridged: HashMap::default(),
            starts: Starts::default(),
            found: Dependencies::default(),
            trouble: Trouble::default(),
            unmatched: Unmatched::default(),
            window_locks: WindowLocks::default(),
            matching: Matching::default(),
        }
    }

    /// What was found.
    pub fn finish(mut self) -> Matched {
        for process in 0..self.locals.len() {
            let comms: Vec<CommId> = self.locals[process].posted.keys().copied().collect();
            for comm in comms {
                if let Some(posted) = self.locals[process].posted.get_mut(&comm) {
                    posted.forget_all();
                }
                self.pass_on(process as u32, comm);
            }
        }
        self.collectives.finish(&self.notes.told, &mut self.found);
        self.partitioned.finish(&mut self.found);
        let remarks = self.remarks();
        let mut matching = self.matching;
        for (point, is_send) in self.channels.left() {
            let unmatched = if is_send { &mut matching.unsent } else { &mut matching.unreceived };
            unmatched.insert((point.thread, point.record));
        }
        let collectives = self.collectives;
        (matching.broken, matching.traffic) = (collectives.broken, collectives.traffic);
        matching.roots = collectives.roots;
        matching.communicators = self.communicators.into_known();
        matching.told = self.notes.told;
        Matched {
            found: self.found,
            log: self.log,
            matching,
            remarks,
            window_locks: self.window_locks,
            unmatched: self.unmatched,
        }
    }

    fn remarks(&self) -> Vec<String> {
        let (sends, receives) = self.channels.unmatched();
        let counted = [
            (sends, "messages were sent that no recorded receive got"),
            (receives, "messages were received that no recorded send sent"),
            (self.collectives.incomplete, "collective operations were not reached by all their members"),
            (
                self.collectives.mixed,
                "collective operations were called by different names on different ranks",
            ),
            (
                self.trouble.unknown_communicators,
                "MPI calls on communicators whose creation was not seen were not matched",
            ),
            (
                self.trouble.between_groups,
                "MPI calls on inter-communicators and on communicators of several worlds were not matched: who is in them is not known",
            ),
            (self.trouble.impossible_ranks, "MPI calls named ranks that their communicator does not have"),
        ];
        counted
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect()
    }

    /// The communicator `handle` and this process's rank in it.
    pub(super) fn joined(&mut self, process: u32, handle: i64) -> Option<(CommId, u32)> {
        match self.communicators.meaning(process, handle) {
            Some(Meaning::Within(joined) | Meaning::Between(Some(joined))) => {
                Some((joined.comm, joined.rank))
            }
            Some(Meaning::Alone) => None,
            Some(Meaning::Between(None)) => {
                self.trouble.between_groups += 1;
                None
            }
            None => {
                // Of worlds that are a guess, the statement says it of all their calls.
                let is_guess = self.worlds.of_process[process as usize] != self.worlds.known(process);
                self.trouble.unknown_communicators += u64::from(!is_guess);
                None
            }
        }
    }

    pub(super) fn channel(
        &mut self,
        comm: CommId,
        source: i64,
        destination: i64,
        tag: i64,
    ) -> Option<Channel> {
        let size = self.communicators.get(comm).members.len() as i64;
        if !(0..size).contains(&source) || !(0..size).contains(&destination) {
            self.trouble.impossible_ranks += 1;
            return None;
        }
        Some(Channel { comm, source: source as i32, destination: destination as i32, tag: tag as i32 })
    }
}

/// Collectives and communicators.
impl Matcher<'_> {
    pub(super) fn arrive(&mut self, seen: &Seen<'_>, comm: i64, root: i64, bytes: (i64, i64)) {
        if let Some(started) = self.join_in(seen, seen.event.call, comm, root, bytes) {
            self.leave(started, seen.leave());
        }
    }

    /// Takes part in the next collective operation on `comm`.
    pub(super) fn join_in(
        &mut self,
        seen: &Seen<'_>,
        call: Call,
        comm: i64,
        root: i64,
        bytes: (i64, i64),
    ) -> Option<Started> {
        self.joined(seen.process, comm)?;
        let instance = self.communicators.take_part(seen.process, comm)?;
        Some(part_in(seen, call, root, bytes, instance))
    }

    /// A part in a collective operation is over.
    pub(super) fn leave(&mut self, started: Started, leave: Moment) {
        let Communicator { present, first_group, .. } = *self.communicators.get(started.comm);
        let arrival = started.left(leave);
        self.collectives.arrive(
            (started.comm, started.nth),
            (present, first_group),
            arrival,
            &mut self.found,
        );
    }

    fn create(&mut self, seen: &Seen<'_>, part: Members) {
        let [parent, handle, ..] = seen.event.numbers;
        let members: Vec<i64> = seen.event.list.iter().collect();
        let creation = Creation { part, parent, handle, members: &members };
        if creation.is_over_old() {
            self.joined(seen.process, parent);
        }
        let (instance, known) = self.communicators.make(self.worlds, seen.process, &creation);
        match (creation.all_of(), known) {
            (_, false) => self.trouble.impossible_ranks += 1,
            (Some(handle), true) if !creation.is_over_old() => {
                self.joined(seen.process, handle);
            }
            _ => {}
        }
        if part == Members::Between {
            self.bridged.insert(seen.thread, Made::by(How::Groups, seen));
        }
        if let Some(instance) = instance {
            let part = part_in(seen, seen.event.call, NOBODY, (0, 0), instance);
            self.leave(part, seen.leave());
        }
    }
}

/// The part of a process in a collective operation.
fn part_in(seen: &Seen<'_>, call: Call, root: i64, bytes: (i64, i64), instance: Instance) -> Started {
    let Instance { id: (comm, nth), rank } = instance;
    let noted = (seen.thread, seen.record);
    Started { comm, nth, rank, call, root, enter: seen.enter(), bytes, noted }
}

impl Matcher<'_> {
    /// A call of which nobody knows what it waited for.
    pub(super) fn count_unmatched(&mut self, seen: &Seen<'_>) {
        if !seen.event.has(record::BEGAN) {
            self.unmatched.count(seen.event.call, seen.end_ns - seen.start_ns);
        }
    }

    /// Follows one MPI call; returns its class.
    fn follow(&mut self, seen: &Seen<'_>) -> Class {
        let (call, n) = (seen.event.call, &seen.event.numbers);
        let outgoing = |mode| Outgoing { mode, bytes: n[0], destination: n[1], tag: n[2], comm: n[3] };
        let incoming = || Incoming { source: n[1], tag: n[2], comm: n[3] };
        let mut bytes = 0;
        let Effect::Mpi(form) = call.effect() else {
            self.count_unmatched(seen);
            return Class::new(call, bytes);
        };
        match form {
            Mpi::Send(mode) => {
                bytes = n[0];
                self.blocking_send(seen, outgoing(mode));
            }
            Mpi::SendRequest(mode) => {
                bytes = n[0];
                self.begin(seen, n[4], Persistent::Send(outgoing(mode)));
            }
            Mpi::SendInit(mode) => self.prepare(seen, n[4], Persistent::Send(outgoing(mode))),
            Mpi::Receive => {
                bytes = n[6];
                self.receive(seen, incoming(), n[4], n[5]);
            }
            Mpi::ReceiveRequest => self.begin(seen, n[4], Persistent::Receive(incoming())),
            Mpi::ReceiveInit => self.prepare(seen, n[4], Persistent::Receive(incoming())),
            Mpi::SendReceive => {
                bytes = n[0].saturating_add(n[9].max(0));
                let mode = Mode::Standard;
                let what = Outgoing { mode, bytes: n[0], destination: n[1], tag: n[2], comm: n[6] };
                let long = self.send(seen, what);
                self.receive(seen, Incoming { source: n[4], tag: n[5], comm: n[6] }, n[7], n[8]);
                if let Some(long) = long {
                    self.channels.complete(long, seen.leave(), &mut self.found);
                }
            }
            Mpi::Probe | Mpi::MatchedProbe if n[3] == 0 => return Class::failed_poll(call),
            Mpi::Probe => self.probe(seen, n[2], n[4], n[5]),
            // The message is taken here; what `MPI_Mrecv` does later is to copy it.
            Mpi::MatchedProbe => {
                let what = Incoming { source: n[0], tag: n[1], comm: n[2] };
                self.receive(seen, what, n[4], n[5]);
            }
            Mpi::MatchedReceive => bytes = n[4],
            Mpi::MatchedReceiveRequest => {}
            Mpi::SendPartitions => self.prepare_partitions(seen, true),
            Mpi::ReceivePartitions => self.prepare_partitions(seen, false),
            Mpi::Arrived if n[2] == 0 => return Class::failed_poll(call),
            Mpi::Ready | Mpi::ReadyRange | Mpi::ReadyList | Mpi::Arrived => {
                self.partitioned.progress(seen, form)
            }
            Mpi::Start => {
                self.partitioned.start(seen);
                self.start_all(seen);
            }
            Mpi::FreeRequest => {
                self.partitioned.free((seen.process, n[0]));
                self.free(seen, n[0]);
            }
            Mpi::Cancel => {
                if let Some(request) = self.locals[seen.process as usize].requests.get(n[0], seen.thread) {
                    request.cancelled = Some((seen.thread, seen.record));
                }
            }
            Mpi::Test if n[1] == 0 => return Class::failed_poll(call),
            Mpi::Wait | Mpi::Test => {
                self.partitioned.complete(seen, &mut self.found);
                bytes = self.complete_all(seen);
            }
            Mpi::Init => {
                self.arrive(seen, COMM_WORLD, NOBODY, (0, 0));
                let world = self.worlds.known(seen.process).map(|(world, _)| world as usize);
                if world.is_some_and(|world| self.worlds.worlds[world].started_by.is_some()) {
                    self.bridged.insert(seen.thread, Made::by(How::Begin, seen));
                }
            }
            Mpi::Finalize => self.arrive(seen, COMM_WORLD, NOBODY, (0, 0)),
            Mpi::StartWorld => self.start_world(seen, n[2]),
            Mpi::MakeCommunicator(members) => self.create(seen, members),
            Mpi::FreeCommunicator => self.communicators.free(seen.process, n[0]),
            Mpi::Collective(_) => {
                if collective::is_among_neighbours(call) {
                    self.count_unmatched(seen);
                }
                bytes = n[0].max(0).saturating_add(n[1].max(0));
                self.arrive(seen, n[3], n[2], (n[0], n[1]));
            }
            Mpi::CollectiveRequest(_) => {
                if collective::is_among_neighbours(call) {
                    self.count_unmatched(seen);
                }
                self.begin(seen, n[4], gathering(seen));
            }
            Mpi::CollectiveInit(_) => self.prepare(seen, n[4], gathering(seen)),
            Mpi::OpenFile
            | Mpi::CloseFile
            | Mpi::DeleteFile
            | Mpi::ResizeFile
            | Mpi::AskFile
            | Mpi::ViewFile
            | Mpi::SeekFile
            | Mpi::SeekSharedFile
            | Mpi::TransferFile
            | Mpi::TransferFileRequest
            | Mpi::BeginTransferFile
            | Mpi::EndTransferFile => {}
            Mpi::MakeWindow => self.make_window(seen, n[2], n[3]),
            Mpi::MakeDynamicWindow => self.make_window(seen, n[0], n[1]),
            Mpi::FreeWindow => self.free_window(seen, n[0]),
            Mpi::Fence => self.fence(seen, n[0]),
            Mpi::TestExposure if n[1] == 0 => return Class::failed_poll(call),
            Mpi::OpenAccess
            | Mpi::OpenExposure
            | Mpi::CloseAccess
            | Mpi::CloseExposure
            | Mpi::TestExposure => {
                self.epochs.follow(seen, form, n[0], &mut self.communicators, &mut self.found);
            }
            Mpi::LockTarget
            | Mpi::LockAll
            | Mpi::FlushTarget
            | Mpi::FlushAll
            | Mpi::UnlockTarget
            | Mpi::UnlockAll => {
                self.count_unmatched(seen);
                self.window_locks.follow(seen, form, &mut self.communicators);
            }
            Mpi::Rma | Mpi::RmaRequest => bytes = n[0],
        }
        Class::new(call, bytes)
    }
}

/// The collective operation that a request stands for.
fn gathering(seen: &Seen<'_>) -> Persistent {
    let (call, n) = (seen.event.call, &seen.event.numbers);
    let (traffic, noted) = ((n[0].max(0), n[1].max(0)), (seen.thread, seen.record));
    Persistent::Collective(Gathering { call, traffic, root: n[2], comm: n[3], noted })
}

impl Visitor for Matcher<'_> {
    fn see(&mut self, seen: &Seen<'_>, _: &Touched, _: &Descriptors) {
        let behind_ns = std::mem::replace(&mut self.behind_ns[seen.thread as usize], seen.end_ns);
        if seen.event.call.layer().is_mpi() && self.notes.follow(seen) {
            match seen.event.call {
                Call::MpiWinGroup => self.epochs.open(seen, &self.notes, self.worlds, &mut self.found),
                Call::MpiRemoteGroup => self.bridge(seen),
                _ => {}
            }
            return;
        }
        if seen.event.call.layer() != Layer::Mpi {
            // What MPI does for its files is the application's I/O; nobody is known to wait for anybody there.
            let again = matches!(seen.event.call.effect(), Effect::Mpi(_)) && seen.event.result == 0;
            if self.keeps_log && again && seen.first_inside < seen.record && self.worlds.is_one(seen.process)
            {
                let (first, call) = (seen.first_inside, seen.record);
                let around = Around { first, call, communicates: false, entry: None };
                self.log.around_files[seen.thread as usize].push(around);
            }
            return;
        }
        let behind_ns = if communicates(seen.event.call) { 0 } else { behind_ns };
        let succeeded = seen.event.result == 0 || seen.event.has(record::BEGAN);
        let class = if succeeded { self.follow(seen) } else { Class::new(seen.event.call, 0) };
        if !self.keeps_log {
            return;
        }
        if seen.first_inside < seen.record {
            let (first, call) = (seen.first_inside, seen.record);
            let communicates = communicates(seen.event.call);
            let entry = entry(seen.event.call).filter(|_| seen.event.result == 0);
            self.log.around[seen.thread as usize].push(Around { first, call, communicates, entry });
        }
        self.log.threads[seen.thread as usize].push(TimedCall {
            start_ns: seen.start_ns.max(behind_ns),
            end_ns: seen.end_ns,
            record: seen.record,
            class,
            kept: seen.event.kept_inside() && seen.first_inside == seen.record,
        });
    }
}
