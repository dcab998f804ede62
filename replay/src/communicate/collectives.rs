//! Collective operations.
//!
//! Data are bytes. What is reduced are sums of double-precision numbers where the sizes allow it, as most programs do, and
//! bytes otherwise.

#![allow(unsafe_code)]

use mpi::ffi::{self, MPI_Aint, MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request};
use std::os::raw::{c_int, c_void};
use syn_plan::{Collective, CommId, FIRST_COMMUNICATOR, Group, ListId, Mpi, Op, Plan, Topologies};

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
    /// By communicator: how many members it has, and which one the rank is.
    members: Vec<(usize, c_int)>,
    /// By list of the plan, of those that operations have: bytes per member.
    bytes: Vec<Option<Box<Each>>>,
    /// The same in numbers of eight bytes.
    doubles: Vec<Option<Box<Each>>>,
    /// As many types of a byte as the longest of them has entries.
    types: Vec<MPI_Datatype>,
    /// By communicator: from how many neighbours the rank receives, and to how many it sends.
    neighbours: Vec<(c_int, c_int)>,
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
        let members: Vec<_> =
            groups.map(|group| (group.len() as usize, group.position(rank).unwrap_or(0) as c_int)).collect();
        let topologies = Topologies::of(plan);
        let neighbours = comms()
            .map(|comm| topologies.neighbours(plan, rank, comm).unwrap_or_default())
            .map(|(sources, destinations)| (sources.len() as c_int, destinations.len() as c_int));
        let (bytes, doubles, types) = (Vec::new(), Vec::new(), Vec::new());
        let mut numbers = Numbers { members, bytes, doubles, types, neighbours: neighbours.collect() };
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

    /// Displacements in bytes, as addresses.
    fn addresses(&self, list: ListId) -> *const MPI_Aint {
        let each = self.bytes.get(list as usize).and_then(Option::as_ref);
        each.map_or(std::ptr::null(), |each| each.addresses.as_ptr())
    }

    /// Counts and displacements in bytes.
    fn bytes(&self, list: ListId) -> [*const c_int; 2] {
        pointers(&self.bytes, list)
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

fn pointers(lists: &[Option<Box<Each>>], list: ListId) -> [*const c_int; 2] {
    let each = lists.get(list as usize).and_then(Option::as_ref);
    each.map_or([std::ptr::null(); 2], |each| [each.counts.as_ptr(), each.places.as_ptr()])
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
        let Gathering { kind, root, sent, received, .. } = *self;
        let (members, mine) = numbers.members[self.comm as usize];
        let from = from.cast_const();
        // SAFETY: as the caller vouches.
        unsafe {
            let byte = ffi::RSMPI_UINT8_T;
            let (unit, item, sum) = reduced(match kind {
                Collective::ReduceScatter => {
                    numbers.doubles.get(self.counts as usize).is_some_and(Option::is_some)
                }
                Collective::ReduceScatterBlock => received.is_multiple_of(8),
                _ => sent.is_multiple_of(8),
            });
            let items = (sent / unit) as c_int;
            let ([gives, gets], each) =
                ([sent, received].map(|bytes| bytes as c_int), (sent / members as u64) as c_int);
            match kind {
                Collective::Barrier => either!(request, MPI_Barrier, MPI_Ibarrier, comm),
                Collective::Bcast => {
                    let (at, bytes) = if mine == root { (from.cast_mut(), gives) } else { (to, gets) };
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
                    either!(request, MPI_Gather, MPI_Igather, from, gives, byte, to, gives, byte, root, comm)
                }
                Collective::Scatter => {
                    either!(request, MPI_Scatter, MPI_Iscatter, from, gets, byte, to, gets, byte, root, comm)
                }
                Collective::Allgather => {
                    either!(request, MPI_Allgather, MPI_Iallgather, from, gives, byte, to, gives, byte, comm)
                }
                Collective::Alltoall => {
                    either!(request, MPI_Alltoall, MPI_Ialltoall, from, each, byte, to, each, byte, comm)
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
                    let [at, _] = pointers(lists, self.counts);
                    either!(request, MPI_Reduce_scatter, MPI_Ireduce_scatter, from, to, at, item, sum, comm)
                }
                Collective::Gatherv | Collective::Scatterv | Collective::Allgatherv => {
                    let [count, place] = numbers.bytes(self.counts);
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
                    let [count, place] = numbers.bytes(self.from);
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
                    let ([a, b], [c, d]) = (numbers.bytes(self.counts), numbers.bytes(self.from));
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
                    let ([a, _], [c, _]) = (numbers.bytes(self.counts), numbers.bytes(self.from));
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
                    let ([a, b], [c, d]) = (numbers.bytes(self.counts), numbers.bytes(self.from));
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
