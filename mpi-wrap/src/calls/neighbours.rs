//! Collective calls among neighbours: each process exchanges data with those that its communicator's topology names.

use core::ffi::c_int;
use syn_trace::Call;

use super::Ptr;
use super::collective::{Way, collective, exchange, size, size_at};
use crate::abi::Mpi;
use crate::language::{Handle, Language};
use crate::recorder::Recorder;

/// To how many neighbours data go, and from how many they come.
fn neighbours(mpi: Mpi, comm: usize) -> (usize, usize) {
    let (sources, destinations) = mpi.neighbours_in(comm);
    (destinations.max(0) as usize, sources.max(0) as usize)
}

/// Bytes of one element.
unsafe fn element<L: Language>(mpi: Mpi, datatype: L::Handle) -> i64 {
    // SAFETY: a significant input of a call that succeeded.
    mpi.bytes(1, unsafe { L::handle(mpi, Handle::Datatype, datatype) })
}

/// `MPI_Neighbor_allgather`: the same to every neighbour.
pub unsafe fn neighbour_gather<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send_count: L::Count,
    send_type: L::Handle,
    receive_count: L::Count,
    receive_type: L::Handle,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    let traffic = |mpi: Mpi, comm| unsafe {
        let (sources, _) = mpi.neighbours_in(comm);
        let received = size::<L>(mpi, receive_count, receive_type) * i64::from(sources);
        (size::<L>(mpi, send_count, send_type), received)
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, None, comm, request, traffic) }
}

/// `MPI_Neighbor_allgatherv`
pub unsafe fn neighbour_gather_varying<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send_count: L::Count,
    send_type: L::Handle,
    receive_counts: Ptr,
    receive_type: L::Handle,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; the array has an entry per source. What is sent is the same to all.
    let of = |mpi: Mpi| unsafe {
        let (all, each) = (size::<L>(mpi, send_count, send_type), element::<L>(mpi, receive_type));
        move |way, source| match way {
            Way::To => all,
            Way::From => L::count_at(receive_counts, source) * each,
        }
    };
    // SAFETY: as the caller vouches.
    unsafe { exchange::<R, L, _>(call, real, comm, request, |mpi, comm| (1, neighbours(mpi, comm).1), of) }
}

/// `MPI_Neighbor_alltoall`
pub unsafe fn neighbour_all_to_all<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send_count: L::Count,
    send_type: L::Handle,
    receive_count: L::Count,
    receive_type: L::Handle,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    let traffic = |mpi: Mpi, comm| unsafe {
        let (sources, destinations) = mpi.neighbours_in(comm);
        let sent = size::<L>(mpi, send_count, send_type) * i64::from(destinations);
        (sent, size::<L>(mpi, receive_count, receive_type) * i64::from(sources))
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, None, comm, request, traffic) }
}

/// `MPI_Neighbor_alltoallv`
pub unsafe fn neighbour_all_to_all_varying<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send_counts: Ptr,
    send_type: L::Handle,
    receive_counts: Ptr,
    receive_type: L::Handle,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; the arrays have an entry per destination and per source.
    let of = |mpi: Mpi| unsafe {
        let (sent, received) = (element::<L>(mpi, send_type), element::<L>(mpi, receive_type));
        move |way, neighbour| match way {
            Way::To => L::count_at(send_counts, neighbour) * sent,
            Way::From => L::count_at(receive_counts, neighbour) * received,
        }
    };
    // SAFETY: as the caller vouches.
    unsafe { exchange::<R, L, _>(call, real, comm, request, neighbours, of) }
}

/// `MPI_Neighbor_alltoallw`
pub unsafe fn neighbour_all_to_all_typed<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send_counts: Ptr,
    send_types: Ptr,
    receive_counts: Ptr,
    receive_types: Ptr,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; the arrays have an entry per destination and per source.
    let of = |mpi: Mpi| unsafe {
        move |way, neighbour| match way {
            Way::To => size_at::<L>(mpi, send_counts, neighbour, send_types),
            Way::From => size_at::<L>(mpi, receive_counts, neighbour, receive_types),
        }
    };
    // SAFETY: as the caller vouches.
    unsafe { exchange::<R, L, _>(call, real, comm, request, neighbours, of) }
}
