//! Collective operations.
//!
//! Data are bytes. What is reduced are sums of double-precision numbers where the sizes allow it, as most programs do, and
//! bytes otherwise.

#![allow(unsafe_code)]

use mpi::ffi::{self, MPI_Aint, MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request};
use std::os::raw::{c_int, c_void};
use syn_plan::{Collective, CommId, FIRST_COMMUNICATOR, Group, ListId, Mpi, NOBODY, Op, Plan, Topologies};

/// An operation, as the plan has it.
#[derive(Clone, Copy, Debug)]
pub struct Gathering {
    pub kind: Collective,
    pub comm: CommId,
    pub root: i32,
    pub sent: u64,
    pub received: u64,
    pub counts: ListId,
    pub from: ListId,
}

/// What MPI reads until an operation is complete, as it takes it: made before the first.
#[derive(Debug)]
pub struct Numbers {
    /// By communicator.
    sides: Vec<Side>,
    /// By list of the plan, of those that operations have: bytes per member.
    bytes: Vec<Option<Box<Each>>>,
    /// The same in numbers of eight bytes.
    doubles: Vec<Option<Box<Each>>>,
    /// As many types of a byte as the longest of them has entries.
    types: Vec<MPI_Datatype>,
    /// By communicator: from how many neighbours the rank receives, and to how many it sends.
    neighbours: Vec<(c_int, c_int)>,
}

/// Where a rank is in a communicator, and those with which it communicates. In the plan's numbers, which in an inter-communicator
/// are of both groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    mine: c_int,
    /// All, or the other group: from which number on, and how many.
    first_peer: c_int,
    peers: u64,
    /// Where in a list of all that of the own group begins.
    first_own: usize,
    pub(super) is_between: bool,
}

impl Side {
    fn of(group: Group<'_>, rank: u32) -> Side {
        let mine = group.position(rank).unwrap_or(0);
        let [own, peers] = group.sides(mine);
        Side {
            mine: mine as c_int,
            first_peer: peers.start as c_int,
            peers: peers.end - peers.start,
            first_own: own.start as usize,
            is_between: group.first_group().is_some(),
        }
    }

    /// What MPI calls the rank.
    pub(super) fn place(&self) -> c_int {
        self.mine - self.first_own as c_int
    }

    /// What MPI calls a peer.
    #[inline]
    pub(super) fn rank(&self, peer: c_int) -> c_int {
        peer - self.first_peer
    }

    /// Whether another member of the own group is the root, so that the rank takes no part.
    fn is_bystander(&self, root: c_int) -> bool {
        let is_peer = (self.first_peer..self.first_peer + self.peers as c_int).contains(&root);
        self.is_between && root != NOBODY && root != self.mine && !is_peer
    }

    /// What MPI takes for a root.
    fn root(&self, root: c_int) -> c_int {
        match self.is_between {
            true if root == self.mine => ffi::MPI_ROOT,
            // SAFETY: a constant of the MPI that is linked.
            true if self.is_bystander(root) => unsafe { ffi::RSMPI_PROC_NULL },
            _ => self.rank(root),
        }
    }
}

/// Counts and displacements.
#[derive(Debug, Default)]
struct Each {
    counts: Vec<c_int>,
    places: Vec<c_int>,
    /// The places once more, for calls that take them as addresses.
    addresses: Vec<MPI_Aint>,
}

impl Each {
    fn of(list: &[u64], unit: u64) -> Each {
        let counts: Vec<c_int> = list.iter().map(|&bytes| (bytes / unit) as c_int).collect();
        let places = counts.iter().scan(0, |behind, &count| Some(std::mem::replace(behind, *behind + count)));
        let places: Vec<c_int> = places.collect();
        let addresses = places.iter().map(|&place| place as MPI_Aint).collect();
        Each { counts, places, addresses }
    }
}

impl Numbers {
    /// For the operations in which `rank` takes part.
    pub fn of(plan: &Plan, rank: u32) -> Numbers {
        let comms = || 0..FIRST_COMMUNICATOR + plan.communicators.len() as u32;
        let groups = comms().map(|comm| plan.group(comm).unwrap_or(Group::Alone));
        let sides = groups.map(|group| Side::of(group, rank)).collect();
        let topologies = Topologies::of(plan);
        let neighbours = comms()
            .map(|comm| topologies.neighbours(plan, rank, comm).unwrap_or_default())
            .map(|(sources, destinations)| (sources.len() as c_int, destinations.len() as c_int));
        let (bytes, doubles, types) = (Vec::new(), Vec::new(), Vec::new());
        let mut numbers = Numbers { sides, bytes, doubles, types, neighbours: neighbours.collect() };
        for step in plan.programs.iter().flat_map(|program| program.steps.iter()) {
            let Op::Mpi {
                call:
                    Mpi::Collective { kind, counts, from, .. }
                    | Mpi::Icollective { kind, counts, from, .. }
                    | Mpi::CollectiveInit { kind, counts, from, .. },
                ..
            } = step.op
            else {
                continue;
            };
            match kind {
                Collective::ReduceScatter if in_doubles(plan, counts) => {
                    keep(&mut numbers.doubles, plan, counts, 8);
                }
                _ => [counts, from].into_iter().for_each(|list| keep(&mut numbers.bytes, plan, list, 1)),
            }
            if matches!(kind, Collective::Alltoallw | Collective::NeighborAlltoallw) {
                let entries = [counts, from].map(|list| plan.lists[list as usize].len());
                let entries = entries.into_iter().fold(numbers.types.len(), usize::max);
                // SAFETY: a constant of the MPI that is linked.
                numbers.types.resize(entries, unsafe { ffi::RSMPI_UINT8_T });
            }
        }
        numbers
    }

    /// Where the rank is in a communicator.
    #[inline]
    pub(super) fn side(&self, comm: CommId) -> &Side {
        &self.sides[comm as usize]
    }

    /// Displacements in bytes, as addresses.
    fn addresses(&self, list: ListId) -> *const MPI_Aint {
        let each = self.bytes.get(list as usize).and_then(Option::as_ref);
        each.map_or(std::ptr::null(), |each| each.addresses.as_ptr())
    }

    /// Counts and displacements in bytes, from the `first` entry on.
    fn bytes(&self, list: ListId, first: usize) -> [*const c_int; 2] {
        pointers(&self.bytes, list, first)
    }
}

fn in_doubles(plan: &Plan, list: ListId) -> bool {
    plan.lists[list as usize].iter().all(|bytes| bytes.is_multiple_of(8))
}

/// Enters a list, if it is none yet.
fn keep(lists: &mut Vec<Option<Box<Each>>>, plan: &Plan, list: ListId, unit: u64) {
    // Of nobody as well: some MPIs take no null pointers.
    let (numbers, list) = (&plan.lists[list as usize], list as usize);
    if lists.len() <= list {
        lists.resize_with(list + 1, || None);
    }
    lists[list].get_or_insert_with(|| Box::new(Each::of(numbers, unit)));
}

fn pointers(lists: &[Option<Box<Each>>], list: ListId, first: usize) -> [*const c_int; 2] {
    let each = lists.get(list as usize).and_then(Option::as_ref);
    let from = |numbers: &[c_int]| numbers.get(first..).map_or(std::ptr::null(), <[_]>::as_ptr);
    each.map_or([std::ptr::null(); 2], |each| [from(&each.counts), from(&each.places)])
}

/// How many bytes an item has that is reduced, its type, and how.
unsafe fn reduced(in_doubles: bool) -> (u64, MPI_Datatype, MPI_Op) {
    // SAFETY: constants of the MPI that is linked.
    unsafe {
        match in_doubles {
            true => (8, ffi::RSMPI_DOUBLE, ffi::RSMPI_SUM),
            false => (1, ffi::RSMPI_UINT8_T, ffi::RSMPI_BOR),
        }
    }
}

/// The function that blocks, or the one that makes a request.
macro_rules! either {
    ($request:expr, $blocking:ident, $begins:ident, $($argument:expr),+ $(,)?) => {
        match $request {
            None => ffi::$blocking($($argument),+),
            Some(request) => ffi::$begins($($argument),+, request),
        }
    };
}

impl Gathering {
    /// Makes the call on `comm`, from and to these places.
    ///
    /// # Safety
    /// The places have room for all that the operation moves, and stay until it is complete, as `numbers` does, which has been made
    /// for the operation.
    #[expect(clippy::too_many_lines, reason = "one arm for each of MPI's operations")]
    pub unsafe fn make(
        &self,
        numbers: &Numbers,
        comm: MPI_Comm,
        (from, to): (*mut c_void, *mut c_void),
        request: Option<&mut MPI_Request>,
    ) {
        let Gathering { kind, sent, received, .. } = *self;
        let side = numbers.side(self.comm);
        let (is_root, root) = (side.mine == self.root, side.root(self.root));
        let from = from.cast_const();
        let peers = side.first_peer as usize;
        // Of a bystander MPI takes no data, but Open MPI counts a call only if it seems to have some, and the others' are counted.
        let is_bystander = side.is_bystander(self.root);
        // The root of another group gives nothing.
        let summed = if side.is_between && is_root { received } else { sent };
        // SAFETY: as the caller vouches.
        unsafe {
            let byte = ffi::RSMPI_UINT8_T;
            let (unit, item, sum) = reduced(match kind {
                Collective::ReduceScatter => {
                    numbers.doubles.get(self.counts as usize).is_some_and(Option::is_some)
                }
                Collective::ReduceScatterBlock => received.is_multiple_of(8),
                _ => summed.is_multiple_of(8),
            });
            let items = if is_bystander { 1 } else { (summed / unit) as c_int };
            let [gives, gets] = [sent, received].map(|bytes| if is_bystander { 1 } else { bytes as c_int });
            let each = (sent / side.peers) as c_int;
            // What comes from each of the other group may be another length than what goes to each.
            let (from_each, to_each) = match side.is_between {
                true if is_bystander => (1, 1),
                true => ((received / side.peers) as c_int, each),
                false if kind == Collective::Alltoall => (each, each),
                false => (gives, gets),
            };
            match kind {
                Collective::Barrier => either!(request, MPI_Barrier, MPI_Ibarrier, comm),
                Collective::Bcast => {
                    let (at, bytes) = if is_root { (from.cast_mut(), gives) } else { (to, gets) };
                    either!(request, MPI_Bcast, MPI_Ibcast, at, bytes, byte, root, comm)
                }
                Collective::Reduce => {
                    either!(request, MPI_Reduce, MPI_Ireduce, from, to, items, item, sum, root, comm)
                }
                Collective::Allreduce => {
                    either!(request, MPI_Allreduce, MPI_Iallreduce, from, to, items, item, sum, comm)
                }
                Collective::Scan => either!(request, MPI_Scan, MPI_Iscan, from, to, items, item, sum, comm),
                Collective::Exscan => {
                    either!(request, MPI_Exscan, MPI_Iexscan, from, to, items, item, sum, comm)
                }
                Collective::Gather => {
                    either!(
                        request,
                        MPI_Gather,
                        MPI_Igather,
                        from,
                        gives,
                        byte,
                        to,
                        from_each,
                        byte,
                        root,
                        comm
                    )
                }
                Collective::Scatter => {
                    either!(
                        request,
                        MPI_Scatter,
                        MPI_Iscatter,
                        from,
                        to_each,
                        byte,
                        to,
                        gets,
                        byte,
                        root,
                        comm
                    )
                }
                Collective::Allgather => {
                    either!(
                        request,
                        MPI_Allgather,
                        MPI_Iallgather,
                        from,
                        gives,
                        byte,
                        to,
                        from_each,
                        byte,
                        comm
                    )
                }
                Collective::Alltoall => {
                    either!(
                        request,
                        MPI_Alltoall,
                        MPI_Ialltoall,
                        from,
                        to_each,
                        byte,
                        to,
                        from_each,
                        byte,
                        comm
                    )
                }
                Collective::ReduceScatterBlock => {
                    let items = (received / unit) as c_int;
                    either!(
                        request,
                        MPI_Reduce_scatter_block,
                        MPI_Ireduce_scatter_block,
                        from,
                        to,
                        items,
                        item,
                        sum,
                        comm
                    )
                }
                Collective::ReduceScatter => {
                    let lists = if unit == 8 { &numbers.doubles } else { &numbers.bytes };
                    let [at, _] = pointers(lists, self.counts, side.first_own);
                    either!(request, MPI_Reduce_scatter, MPI_Ireduce_scatter, from, to, at, item, sum, comm)
                }
                Collective::Gatherv | Collective::Scatterv | Collective::Allgatherv => {
                    let [count, place] = numbers.bytes(self.counts, peers);
                    match kind {
                        Collective::Gatherv => either!(
                            request,
                            MPI_Gatherv,
                            MPI_Igatherv,
                            from,
                            gives,
                            byte,
                            to,
                            count,
                            place,
                            byte,
                            root,
                            comm
                        ),
                        Collective::Scatterv => either!(
                            request,
                            MPI_Scatterv,
                            MPI_Iscatterv,
                            from,
                            count,
                            place,
                            byte,
                            to,
                            gets,
                            byte,
                            root,
                            comm
                        ),
                        _ => either!(
                            request,
                            MPI_Allgatherv,
                            MPI_Iallgatherv,
                            from,
                            gives,
                            byte,
                            to,
                            count,
                            place,
                            byte,
                            comm
                        ),
                    }
                }
                Collective::NeighborAllgather => {
                    let each = (received / numbers.neighbours[self.comm as usize].0.max(1) as u64) as c_int;
                    either!(
                        request,
                        MPI_Neighbor_allgather,
                        MPI_Ineighbor_allgather,
                        from,
                        gives,
                        byte,
                        to,
                        each,
                        byte,
                        comm
                    )
                }
                Collective::NeighborAllgatherv => {
                    let [count, place] = numbers.bytes(self.from, 0);
                    either!(
                        request,
                        MPI_Neighbor_allgatherv,
                        MPI_Ineighbor_allgatherv,
                        from,
                        gives,
                        byte,
                        to,
                        count,
                        place,
                        byte,
                        comm
                    )
                }
                Collective::NeighborAlltoall => {
                    let (sources, destinations) = numbers.neighbours[self.comm as usize];
                    let to_each = (sent / destinations.max(1) as u64) as c_int;
                    let from_each = (received / sources.max(1) as u64) as c_int;
                    either!(
                        request,
                        MPI_Neighbor_alltoall,
                        MPI_Ineighbor_alltoall,
                        from,
                        to_each,
                        byte,
                        to,
                        from_each,
                        byte,
                        comm
                    )
                }
                Collective::NeighborAlltoallv => {
                    let ([a, b], [c, d]) = (numbers.bytes(self.counts, 0), numbers.bytes(self.from, 0));
                    either!(
                        request,
                        MPI_Neighbor_alltoallv,
                        MPI_Ineighbor_alltoallv,
                        from,
                        a,
                        b,
                        byte,
                        to,
                        c,
                        d,
                        byte,
                        comm
                    )
                }
                Collective::NeighborAlltoallw => {
                    let ([a, _], [c, _]) = (numbers.bytes(self.counts, 0), numbers.bytes(self.from, 0));
                    let (b, d) = (numbers.addresses(self.counts), numbers.addresses(self.from));
                    let types = numbers.types.as_ptr();
                    either!(
                        request,
                        MPI_Neighbor_alltoallw,
                        MPI_Ineighbor_alltoallw,
                        from,
                        a,
                        b,
                        types,
                        to,
                        c,
                        d,
                        types,
                        comm
                    )
                }
                Collective::Alltoallv | Collective::Alltoallw => {
                    let ([a, b], [c, d]) =
                        (numbers.bytes(self.counts, peers), numbers.bytes(self.from, peers));
                    if kind == Collective::Alltoallv {
                        either!(
                            request,
                            MPI_Alltoallv,
                            MPI_Ialltoallv,
                            from,
                            a,
                            b,
                            byte,
                            to,
                            c,
                            d,
                            byte,
                            comm
                        )
                    } else {
                        let types = numbers.types.as_ptr();
                        either!(
                            request,
                            MPI_Alltoallw,
                            MPI_Ialltoallw,
                            from,
                            a,
                            b,
                            types,
                            to,
                            c,
                            d,
                            types,
                            comm
                        )
                    }
                }
            };
        }
    }
}
