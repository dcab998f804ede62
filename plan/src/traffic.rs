//! All communication of a plan, added up: what is sent must be received, and what is for all must be done by all.

use crate::mpi::{ANY, Collective, Creation, Epoch, FIRST_COMMUNICATOR, Mpi, NOBODY, SELF, WORLD};
use crate::topologies::Topologies;
use crate::{CommId, Plan};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// In place of bytes, where neighbours are added up.
const EDGE: u64 = u64::MAX;
/// Tells calls on files from others where they are added up.
const FILE_CALL: u32 = 0x66;

/// What goes where: communicator, ranks of sender and receiver in it, tag.
type Channel = (CommId, i32, i32, i32);

/// All communication of a plan, added up.
pub(crate) struct Traffic<'a> {
    plan: &'a Plan,
    hash: BuildHasherDefault<DefaultHasher>,
    /// Messages sent less those received.
    channels: HashMap<Channel, i64>,
    /// The same by receiver; and whether it receives from anybody.
    receivers: BTreeMap<(CommId, i32), (i64, bool)>,
    /// By communicator and member: the operations that it takes part in, as a sum that no order changes.
    gatherings: BTreeMap<(CommId, u64), (u64, u64)>,
    /// By communicator: what each rank sends each other in all-to-alls, less what that one expects; likewise.
    exchanged: BTreeMap<CommId, u64>,
    persistent: HashMap<(u32, u32), Mpi>,
    /// By process and number: the communicator of a file that is open.
    files: HashMap<(u32, u32), CommId>,
    /// The communicators of windows.
    windows: HashMap<u32, CommId>,
    topologies: Topologies,
    /// What cannot be made.
    wrong: Option<String>,
}

impl<'a> Traffic<'a> {
    pub(crate) fn new(plan: &'a Plan, topologies: Topologies) -> Traffic<'a> {
        Traffic {
            plan,
            hash: BuildHasherDefault::default(),
            channels: HashMap::new(),
            receivers: BTreeMap::new(),
            gatherings: BTreeMap::new(),
            exchanged: BTreeMap::new(),
            persistent: HashMap::new(),
            files: HashMap::new(),
            windows: HashMap::new(),
            topologies,
            wrong: None,
        }
    }

    /// A call of a rank, made so often.
    pub(crate) fn add(&mut self, process: u32, rank: u32, call: &Mpi, times: u64) {
        match *call {
            Mpi::Send { comm, peer, tag, .. } | Mpi::Isend { comm, peer, tag, .. } => {
                self.send(comm, rank, peer, tag, times);
            }
            Mpi::Recv { comm, peer, tag, .. }
            | Mpi::Irecv { comm, peer, tag, .. }
            | Mpi::Mprobe { comm, peer, tag, .. } => self.receive(comm, rank, peer, tag, times),
            Mpi::Sendrecv { comm, peer, tag, source, received_tag, .. } => {
                self.send(comm, rank, peer, tag, times);
                self.receive(comm, rank, source, received_tag, times);
            }
            Mpi::SendInit { request, .. }
            | Mpi::RecvInit { request, .. }
            | Mpi::CollectiveInit { request, .. } => {
                self.persistent.insert((process, request), *call);
            }
            Mpi::Start { list, .. } => {
                for &request in &self.plan.lists[list as usize] {
                    match self.persistent.get(&(process, request as u32)).copied() {
                        Some(Mpi::SendInit { comm, peer, tag, .. }) => {
                            self.send(comm, rank, peer, tag, times)
                        }
                        Some(Mpi::RecvInit { comm, peer, tag, .. }) => {
                            self.receive(comm, rank, peer, tag, times);
                        }
                        Some(collective) => self.gather(rank, &collective, times),
                        None => {}
                    }
                }
            }
            Mpi::MakeComm { how, comm, new } => {
                let together = if how == Creation::CreateGroup { new } else { comm };
                self.take_part(together, rank, self.hash.hash_one(how), times);
            }
            Mpi::MakeBridge { new, .. } => {
                self.take_part(new, rank, self.hash.hash_one(call.number()), times);
            }
            Mpi::MakeTopology { comm, new, sources, destinations } => {
                self.take_part(comm, rank, self.hash.hash_one(Creation::Split), times);
                // All that belong to it make a topology of it, or none.
                self.take_part(new, rank, self.hash.hash_one(call.number()), times);
                let plan = self.plan;
                let [sources, destinations] =
                    [sources, destinations].map(|list| &plan.lists[list as usize][..]);
                self.exchange(new, rank, destinations.iter().map(|&other| (other, EDGE)), false, times);
                self.exchange(new, rank, sources.iter().map(|&other| (other, EDGE)), true, times);
            }
            Mpi::Init | Mpi::Finalize => {
                self.take_part(WORLD, rank, self.hash.hash_one(call.number()), times)
            }
            Mpi::WinMake { how, comm, window, .. } => {
                self.windows.insert(window, comm);
                self.take_part(comm, rank, self.hash.hash_one((call.number(), how)), times);
            }
            Mpi::WinFree { window } | Mpi::WinSync { how: Epoch::Fence, window, .. } => {
                if let Some(&comm) = self.windows.get(&window) {
                    self.take_part(comm, rank, self.hash.hash_one((call.number(), window)), times);
                }
            }
            Mpi::FileOpen { comm, opened, .. } => {
                self.files.insert((process, opened), comm);
                self.take_part(comm, rank, self.hash.hash_one(call.number()), times);
            }
            Mpi::FileClose { opened } | Mpi::FileView { opened, .. } => {
                self.on_file(process, rank, opened, call.number().into(), times);
            }
            Mpi::FileSeek { opened, shared: true, .. } => {
                self.on_file(process, rank, opened, call.number().into(), times);
            }
            Mpi::FileCall { how, opened, .. } if how.is_collective() => {
                self.on_file(process, rank, opened, 1 << 8 | how as u32, times);
            }
            Mpi::FileTransfer { how, opened, .. } | Mpi::FileItransfer { how, opened, .. }
                if how.is_collective() =>
            {
                self.on_file(process, rank, opened, 1 << 9 | how as u32, times);
            }
            _ => self.gather(rank, call, times),
        }
    }

    fn member(&self, comm: CommId, rank: u32) -> i32 {
        self.plan.group(comm).and_then(|group| group.position(rank)).map_or(NOBODY, |place| place as i32)
    }

    /// The place of a rank that sends to a peer or receives from it, if that is somebody. Of two groups the peer is in the other one.
    fn place(&mut self, comm: CommId, rank: u32, peer: i32) -> Option<i32> {
        let group = self.plan.group(comm).filter(|_| comm != SELF && peer != NOBODY)?;
        let place = group.position(rank)?;
        let is_peer = u64::try_from(peer).is_ok_and(|peer| group.sides(place)[1].contains(&peer));
        if !is_peer && peer != ANY {
            self.wrong = Some(format!("on communicator {comm}, rank {place} does not meet rank {peer}"));
        }
        Some(place as i32)
    }

    fn send(&mut self, comm: CommId, rank: u32, peer: i32, tag: i32, times: u64) {
        if let Some(place) = self.place(comm, rank, peer) {
            *self.channels.entry((comm, place, peer, tag)).or_default() += times as i64;
            self.receivers.entry((comm, peer)).or_default().0 += times as i64;
        }
    }

    fn receive(&mut self, comm: CommId, rank: u32, peer: i32, tag: i32, times: u64) {
        if let Some(place) = self.place(comm, rank, peer) {
            *self.channels.entry((comm, peer, place, tag)).or_default() -= times as i64;
            let receiver = self.receivers.entry((comm, place)).or_default();
            receiver.0 -= times as i64;
            receiver.1 |= peer == ANY || tag == ANY;
        }
    }

    /// A collective operation.
    fn gather(&mut self, rank: u32, call: &Mpi, times: u64) {
        use Collective::*;
        let (Mpi::Collective { kind, comm, root, sent, received, counts, from }
        | Mpi::Icollective { kind, comm, root, sent, received, counts, from, .. }
        | Mpi::CollectiveInit { kind, comm, root, sent, received, counts, from, .. }) = *call
        else {
            return;
        };
        let is_between = self.plan.group(comm).is_some_and(|group| group.first_group().is_some());
        let bytes = match kind {
            Gatherv | Scatterv | Allgatherv | ReduceScatter => {
                self.hash.hash_one(&self.plan.lists[counts as usize])
            }
            // Of two groups each gives something else, and of that of a root nobody else does.
            _ if is_between => 0,
            Barrier | Alltoallv | Alltoallw => 0,
            Bcast => sent.max(received),
            Scatter | ReduceScatterBlock => received,
            Reduce | Allreduce | Gather | Allgather | Alltoall | Scan | Exscan => sent,
            NeighborAllgather | NeighborAllgatherv | NeighborAlltoall | NeighborAlltoallv
            | NeighborAlltoallw => 0,
        };
        self.take_part(comm, rank, self.hash.hash_one((kind, root, bytes)), times);
        let plan = self.plan;
        let [counts, from] = [counts, from].map(|list| &plan.lists[list as usize][..]);
        if kind.is_among_neighbours() {
            return self.gather_neighbours(comm, rank, (kind, times), [sent, received], [counts, from]);
        }
        if matches!(kind, Alltoallv | Alltoallw) {
            self.exchange(comm, rank, (0..).zip(counts.iter().copied()), false, times);
            self.exchange(comm, rank, (0..).zip(from.iter().copied()), true, times);
        }
    }

    /// An operation among neighbours: each gets what the others give it.
    fn gather_neighbours(
        &mut self,
        comm: CommId,
        rank: u32,
        (kind, times): (Collective, u64),
        [sent, received]: [u64; 2],
        [counts, from]: [&[u64]; 2],
    ) {
        use Collective::*;
        let known = self.topologies.neighbours(self.plan, rank, comm);
        let Some((sources, destinations)) = known else {
            self.wrong = Some(format!("rank {rank} has no neighbours in communicator {comm}"));
            return;
        };
        let part = |bytes: u64, of: &[u64]| bytes / (of.len() as u64).max(1);
        let of_each = |list: &[u64], at: usize, each: u64| if list.is_empty() { each } else { list[at] };
        let (to_each, from_each) = match kind {
            NeighborAlltoall => (part(sent, destinations), part(received, sources)),
            _ => (sent, part(received, sources)),
        };
        let (needs_counts, needs_from) = (
            matches!(kind, NeighborAlltoallv | NeighborAlltoallw),
            !matches!(kind, NeighborAllgather | NeighborAlltoall),
        );
        let fits = |list: &[u64], needed: bool, of: &[u64]| list.len() == if needed { of.len() } else { 0 };
        if !(fits(counts, needs_counts, destinations) && fits(from, needs_from, sources)) {
            self.wrong =
                Some(format!("on communicator {comm}, rank {rank} has not as many lengths as neighbours"));
            return;
        }
        let given = (0..).zip(destinations).map(|(at, &other)| (other, of_each(counts, at, to_each)));
        let got = (0..).zip(sources).map(|(at, &other)| (other, of_each(from, at, from_each)));
        self.exchange(comm, rank, given, false, times);
        self.exchange(comm, rank, got, true, times);
    }

    /// Bytes to or from others on a communicator.
    fn exchange(
        &mut self,
        comm: CommId,
        rank: u32,
        others: impl Iterator<Item = (u64, u64)>,
        is_from: bool,
        times: u64,
    ) {
        let mine = self.member(comm, rank) as u64;
        for (other, bytes) in others {
            let pair = if is_from { (other, mine) } else { (mine, other) };
            let moved = self.hash.hash_one((pair, bytes)).wrapping_mul(times);
            let sum = self.exchanged.entry(comm).or_default();
            *sum = if is_from { sum.wrapping_sub(moved) } else { sum.wrapping_add(moved) };
        }
    }

    /// A call that all make together who have a file open.
    fn on_file(&mut self, process: u32, rank: u32, opened: u32, what: u32, times: u64) {
        if let Some(&comm) = self.files.get(&(process, opened)) {
            self.take_part(comm, rank, self.hash.hash_one((FILE_CALL, what)), times);
        }
    }

    fn take_part(&mut self, comm: CommId, rank: u32, what: u64, times: u64) {
        if let Some(place) =
            self.plan.group(comm).and_then(|group| group.position(rank)).filter(|_| comm != SELF)
        {
            let (count, sum) = self.gatherings.entry((comm, place)).or_default();
            *count = count.wrapping_add(times);
            *sum = sum.wrapping_add(what.wrapping_mul(times));
        }
    }

    /// Says what is open.
    pub(crate) fn settle(self) -> Result<(), String> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let open = |&(_, &(count, _)): &(&(CommId, i32), &(i64, bool))| count != 0;
        if let Some((&(comm, rank), &(count, _))) = self.receivers.iter().find(open) {
            let (count, what) =
                (count.unsigned_abs(), if count > 0 { "are not received" } else { "are never sent" });
            return Err(format!("{count} messages to rank {rank} of communicator {comm} {what}"));
        }
        let from_anybody = |comm, to| self.receivers.get(&(comm, to)).is_some_and(|&(_, anybody)| anybody);
        let mut channels = self.channels.iter();
        let open = channels.find(|&(&(comm, _, to, _), &count)| count != 0 && !from_anybody(comm, to));
        if let Some((&(comm, from, to, tag), &count)) = open {
            return Err(format!(
                "on communicator {comm}, rank {from} sends rank {to} {count} messages with tag {tag} more than are received"
            ));
        }
        for (comm, group) in (0..FIRST_COMMUNICATOR + self.plan.communicators.len() as u32)
            .filter(|&comm| comm != SELF)
            .filter_map(|comm| Some((comm, self.plan.group(comm)?)))
        {
            let of = |place| self.gatherings.get(&(comm, place)).copied().unwrap_or_default();
            if let Some(other) = (1..group.len()).find(|&place| of(place) != of(0)) {
                return Err(format!(
                    "on communicator {comm}, rank {other} does not take part in the same operations as rank 0, or with other sizes"
                ));
            }
        }
        match self.exchanged.iter().find(|&(_, &sum)| sum != 0) {
            Some((comm, _)) => {
                Err(format!("on communicator {comm}, what ranks send each other is not what they expect"))
            }
            None => Ok(()),
        }
    }
}
