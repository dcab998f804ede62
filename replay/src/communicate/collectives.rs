//! Collective operations.
//!
//! Data are bytes. What is reduced are sums of double-precision numbers where the sizes allow it, as most programs do, and
//! bytes otherwise.

#![allow(unsafe_code)]

use mpi::ffi::{self, MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request};
use std::os::raw::{c_int, c_void};
use syn_plan::{Collective, CommId, ListId, Plan};

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

/// What MPI reads until an operation is complete: counts and displacements for what is sent and received, and types.
#[derive(Debug, Default)]
pub struct Kept {
    _numbers: [Vec<c_int>; 4],
    _types: Vec<MPI_Datatype>,
}

/// Bytes per member, as MPI takes them.
fn counts(plan: &Plan, list: ListId, unit: u64) -> (Vec<c_int>, Vec<c_int>) {
    let counts: Vec<c_int> = plan.lists[list as usize].iter().map(|&bytes| (bytes / unit) as c_int).collect();
    let places = counts.iter().scan(0, |behind, &count| Some(std::mem::replace(behind, *behind + count)));
    let places = places.collect();
    (counts, places)
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
    /// Makes the call on `comm`, as the second of `members`, from and to these places.
    ///
    /// # Safety
    /// The places have room for all that the operation moves, and stay until it is complete, as what is returned does.
    #[expect(clippy::too_many_lines, reason = "one arm for each of MPI's operations")]
    pub unsafe fn make(
        &self,
        plan: &Plan,
        comm: MPI_Comm,
        (members, mine): (usize, c_int),
        (from, to): (*mut c_void, *mut c_void),
        request: Option<&mut MPI_Request>,
    ) -> Kept {
        let Gathering { kind, root, sent, received, .. } = *self;
        let from = from.cast_const();
        let mut kept = Kept::default();
        // SAFETY: as the caller vouches.
        unsafe {
            let byte = ffi::RSMPI_UINT8_T;
            let (unit, item, sum) = reduced(match kind {
                Collective::ReduceScatter => {
                    plan.lists[self.counts as usize].iter().all(|bytes| bytes.is_multiple_of(8))
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
                    let (each, _) = counts(plan, self.counts, unit);
                    let at = each.as_ptr();
                    kept._numbers[0] = each;
                    either!(request, MPI_Reduce_scatter, MPI_Ireduce_scatter, from, to, at, item, sum, comm)
                }
                Collective::Gatherv | Collective::Scatterv | Collective::Allgatherv => {
                    let (each, places) = counts(plan, self.counts, 1);
                    let (count, place) = (each.as_ptr(), places.as_ptr());
                    (kept._numbers[0], kept._numbers[1]) = (each, places);
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
                Collective::Alltoallv | Collective::Alltoallw => {
                    let ((out, out_at), (back, back_at)) =
                        (counts(plan, self.counts, 1), counts(plan, self.from, 1));
                    let [a, b, c, d] = [&out, &out_at, &back, &back_at].map(|numbers| numbers.as_ptr());
                    kept._numbers = [out, out_at, back, back_at];
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
                        kept._types = vec![byte; members];
                        let types = kept._types.as_ptr();
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
        kept
    }
}
