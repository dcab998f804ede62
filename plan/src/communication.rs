//! Whether the calls of MPI in a plan can be made, and whether they match each other.
//!
//! That every number refers to something is checked whenever a plan is read. Whether what one rank waits for is done by another
//! is asked before the calls are made ([`Plan::check_communication`]): as many messages are sent on every channel as are
//! received there, and all members of a communicator take part in the same collective operations with the same sizes. What
//! order MPI allows them in depends on the MPI, so that who makes the calls bounds how long they may take.

use crate::fault::Fault;
use crate::mpi::{ANY, Collective, Creation, Epoch, FIRST_COMMUNICATOR, Mpi, NOBODY, NONE, SELF, WORLD};
use crate::possible::{Arguments, MAX_BYTES, MAX_REQUESTS};
use crate::topologies::Topologies;
use crate::windows::Windows;
use crate::{CommId, Counted, Op, Plan, Referent};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// More ranks than any machine runs; nothing is made as large as a plan says that has more.
const MAX_RANKS: u32 = 1 << 22;

/// In place of bytes, where neighbours are added up.
const EDGE: u64 = u64::MAX;
/// Tells calls on files from others where they are added up.
const FILE_CALL: u32 = 0x66;

/// The members of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group<'a> {
    /// All of so many ranks.
    World(u32),
    /// The rank that asks.
    Alone,
    /// Runs of ranks: first, stride, count.
    Runs(&'a [(u32, i32, u32)]),
}

impl Group<'_> {
    /// How many there are.
    pub fn len(&self) -> u64 {
        match *self {
            Group::World(ranks) => ranks.into(),
            Group::Alone => 1,
            Group::Runs(runs) => runs.iter().map(|&(.., count)| u64::from(count)).sum(),
        }
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position of a rank of `MPI_COMM_WORLD` among them.
    pub fn position(&self, rank: u32) -> Option<u64> {
        let runs = match *self {
            Group::World(ranks) => return (rank < ranks).then_some(rank.into()),
            Group::Alone => return Some(0),
            Group::Runs(runs) => runs,
        };
        let mut before = 0;
        for &(first, stride, count) in runs {
            let (distance, stride) = (i64::from(rank) - i64::from(first), i64::from(stride));
            let index = match stride {
                0 => (distance == 0).then_some(0),
                _ => (distance % stride == 0).then_some(distance / stride),
            };
            if let Some(index) = index.filter(|&index| (0..i64::from(count)).contains(&index)) {
                return Some(before + index as u64);
            }
            before += u64::from(count);
        }
        None
    }

    /// The ranks in `MPI_COMM_WORLD`, in order; not of [`Group::Alone`].
    pub fn ranks(&self) -> impl Iterator<Item = u32> + '_ {
        let world = [(0, 1, if let Group::World(ranks) = *self { ranks } else { 0 })];
        let runs = if let Group::Runs(runs) = *self { runs.to_vec() } else { world.to_vec() };
        runs.into_iter().flat_map(|(first, stride, count)| {
            (0..i64::from(count)).map(move |index| (i64::from(first) + i64::from(stride) * index) as u32)
        })
    }
}

impl Arguments for Plan {
    fn size(&self, comm: CommId) -> u64 {
        self.group(comm).map_or(0, |group| group.len())
    }

    fn list(&self, list: u32) -> &[u64] {
        self.lists.get(list as usize).map_or(&[], |list| list)
    }
}

impl Plan {
    /// True when it has calls of MPI.
    pub fn communicates(&self) -> bool {
        !self.lists.is_empty() || !self.communicators.is_empty()
    }

    /// Who is in a communicator of the plan.
    pub fn group(&self, comm: CommId) -> Option<Group<'_>> {
        match comm {
            WORLD => Some(Group::World(self.about.ranks)),
            SELF => Some(Group::Alone),
            NONE => None,
            _ => self.communicators.get((comm - FIRST_COMMUNICATOR) as usize).map(|runs| Group::Runs(runs)),
        }
    }

    /// Checks that messages are received as often as they are sent, and that all members of a communicator take part in the
    /// same operations.
    ///
    /// # Errors
    /// [`Fault::Unmatched`].
    pub fn check_communication(&self) -> Result<(), Fault> {
        Windows::of(self).check(self).map_err(|what| Fault::Unmatched { what })?;
        let topologies = Topologies::of(self);
        topologies.check().map_err(|what| Fault::Unmatched { what })?;
        let mut traffic = Traffic::new(self, topologies);
        for program in &self.programs {
            let Some(rank) = program.thread.rank else { continue };
            for Counted { step, times, .. } in program.steps.counted() {
                if let Op::Mpi { call, .. } = step.op {
                    traffic.add(program.thread.process, rank, &call, times);
                }
            }
        }
        traffic.settle().map_err(|what| Fault::Unmatched { what })
    }
}

/// The communicators of a plan, each of them in order.
pub(crate) struct Groups<'a> {
    plan: &'a Plan,
}

impl Groups<'_> {
    pub(crate) fn of(plan: &Plan) -> Result<Groups<'_>, Fault> {
        let ranks = plan.about.ranks;
        if plan.communicates() && ranks > MAX_RANKS {
            return Err(Fault::BadCommunicator { comm: WORLD, ranks });
        }
        for (comm, runs) in (FIRST_COMMUNICATOR..).zip(&plan.communicators) {
            let group = Group::Runs(runs);
            let bad = || Err(Fault::BadCommunicator { comm, ranks });
            if group.is_empty() || group.len() > u64::from(ranks) {
                return bad();
            }
            let is_rank = |&(first, stride, count): &(u32, i32, u32)| {
                let last = i64::from(first) + i64::from(stride) * (i64::from(count) - 1);
                count > 0 && first < ranks && (0..i64::from(ranks)).contains(&last)
            };
            let mut seen = vec![false; ranks as usize];
            if !runs.iter().all(is_rank)
                || group.ranks().any(|rank| std::mem::replace(&mut seen[rank as usize], true))
            {
                return bad();
            }
        }
        Ok(Groups { plan })
    }
}

/// Checks what a call of `rank` refers to: it is there, and the rank has to do with it.
pub(crate) fn refer_to_what_is(
    groups: &Groups<'_>,
    rank: Option<u32>,
    call: &Mpi,
) -> Result<(), &'static str> {
    let plan = groups.plan;
    let rank = rank.ok_or("is made by a process without a rank")?;
    let mut wrong = None;
    call.refer(|what, number| {
        let is_there = match what {
            Referent::Communicator if number == NONE => true,
            Referent::Communicator => plan.group(number).is_some_and(|group| group.position(rank).is_some()),
            Referent::List => (number as usize) < plan.lists.len(),
            Referent::Request => number < MAX_REQUESTS,
            Referent::File => (number as usize) < plan.files.len(),
            Referent::Handle => true,
        };
        if !is_there {
            wrong = Some("refers to what is not there, or the rank has nothing to do with");
        }
    });
    wrong.map_or(Ok(()), Err)?;
    let (sent, received) = call.bytes();
    if sent.max(received) > MAX_BYTES {
        return Err("moves more bytes than MPI counts");
    }
    call.is_possible(plan).then_some(()).ok_or("names a rank, a request or a list of bytes that cannot be")
}

/// What goes where: communicator, ranks of sender and receiver in it, tag.
type Channel = (CommId, i32, i32, i32);

/// All communication of a plan, added up.
struct Traffic<'a> {
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
    fn new(plan: &'a Plan, topologies: Topologies) -> Traffic<'a> {
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

    fn add(&mut self, process: u32, rank: u32, call: &Mpi, times: u64) {
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

    fn send(&mut self, comm: CommId, rank: u32, peer: i32, tag: i32, times: u64) {
        if peer != NOBODY && comm != SELF {
            *self.channels.entry((comm, self.member(comm, rank), peer, tag)).or_default() += times as i64;
            self.receivers.entry((comm, peer)).or_default().0 += times as i64;
        }
    }

    fn receive(&mut self, comm: CommId, rank: u32, peer: i32, tag: i32, times: u64) {
        if peer != NOBODY && comm != SELF {
            let member = self.member(comm, rank);
            *self.channels.entry((comm, peer, member, tag)).or_default() -= times as i64;
            let receiver = self.receivers.entry((comm, member)).or_default();
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
        let bytes = match kind {
            Barrier | Alltoallv | Alltoallw => 0,
            Bcast => sent.max(received),
            Scatter | ReduceScatterBlock => received,
            Gatherv | Scatterv | Allgatherv | ReduceScatter => {
                self.hash.hash_one(&self.plan.lists[counts as usize])
            }
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
    fn settle(self) -> Result<(), String> {
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
