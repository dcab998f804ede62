//! Collective calls among neighbours: each process exchanges data with those that its communicator's topology names.

use core::ffi::c_int;
use syn_trace::Call;

use super::Ptr;
use super::collective::{collective, size, total, total_typed};
use crate::abi::Mpi;
use crate::language::Language;
use crate::recorder::Recorder;

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
    // SAFETY: as the caller vouches; the array has an entry per source.
    let traffic = |mpi: Mpi, comm| unsafe {
        let (sources, _) = mpi.neighbours_in(comm);
        let received = total::<L>(mpi, receive_counts, sources, receive_type);
        (size::<L>(mpi, send_count, send_type), received)
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, None, comm, request, traffic) }
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
    let traffic = |mpi: Mpi, comm| unsafe {
        let (sources, destinations) = mpi.neighbours_in(comm);
        let sent = total::<L>(mpi, send_counts, destinations, send_type);
        (sent, total::<L>(mpi, receive_counts, sources, receive_type))
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, None, comm, request, traffic) }
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
    let traffic = |mpi: Mpi, comm| unsafe {
        let (sources, destinations) = mpi.neighbours_in(comm);
        let sent = total_typed::<L>(mpi, send_counts, destinations, send_types);
        (sent, total_typed::<L>(mpi, receive_counts, sources, receive_types))
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, None, comm, request, traffic) }
}
