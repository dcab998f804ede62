//! Collective calls with a root. In an intercommunicator the root itself passes `MPI_ROOT`, the others of its group
//! `MPI_PROC_NULL`, and the other group the root's rank.

use core::ffi::c_int;
use syn_trace::Call;

use super::Ptr;
use super::collective::{collective, own, size, total};
use crate::abi::Mpi;
use crate::language::Language;
use crate::recorder::Recorder;

/// What this process is in a call with a root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Root,
    /// Exchanges data with the root.
    Leaf,
    /// In the root's group of an intercommunicator, but not the root.
    NonParticipant,
}

unsafe fn role<L: Language>(mpi: Mpi, root: L::Int, comm: usize) -> Role {
    // SAFETY: an input of the call.
    let root = unsafe { L::int(root) };
    if root == mpi.abi.root {
        Role::Root
    } else if root == mpi.abi.proc_null {
        Role::NonParticipant
    } else if mpi.rank_in(comm) == Some(root) && !mpi.is_inter(comm) {
        Role::Root
    } else {
        Role::Leaf
    }
}

/// `MPI_Bcast`
pub unsafe fn broadcast<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    count: L::Count,
    datatype: L::Handle,
    root: L::Int,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; a non-participant's buffer is not significant.
    let traffic = |mpi, comm| unsafe {
        match role::<L>(mpi, root, comm) {
            Role::Root => (size::<L>(mpi, count, datatype), 0),
            Role::Leaf => (0, size::<L>(mpi, count, datatype)),
            Role::NonParticipant => (0, 0),
        }
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, Some(root), comm, request, traffic) }
}

/// `MPI_Reduce`
pub unsafe fn reduce<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    count: L::Count,
    datatype: L::Handle,
    root: L::Int,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; a non-participant's arguments are not significant.
    let traffic = |mpi: Mpi, comm| unsafe {
        match role::<L>(mpi, root, comm) {
            Role::Root => {
                let bytes = size::<L>(mpi, count, datatype);
                // The root in an intercommunicator only receives.
                (if L::int(root) == mpi.abi.root { 0 } else { bytes }, bytes)
            }
            Role::Leaf => (size::<L>(mpi, count, datatype), 0),
            Role::NonParticipant => (0, 0),
        }
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, Some(root), comm, request, traffic) }
}

/// `MPI_Gather`
pub unsafe fn gather<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send: Ptr,
    send_count: L::Count,
    send_type: L::Handle,
    receive_count: L::Count,
    receive_type: L::Handle,
    root: L::Int,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; the receive arguments are significant at the root only.
    let traffic = |mpi: Mpi, comm| unsafe {
        match role::<L>(mpi, root, comm) {
            Role::Root => {
                let each = size::<L>(mpi, receive_count, receive_type);
                let sent = if L::int(root) == mpi.abi.root {
                    0
                } else if L::is_in_place(mpi, send) {
                    each
                } else {
                    size::<L>(mpi, send_count, send_type)
                };
                (sent, each * i64::from(mpi.peers_in(comm)))
            }
            Role::Leaf => (size::<L>(mpi, send_count, send_type), 0),
            Role::NonParticipant => (0, 0),
        }
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, Some(root), comm, request, traffic) }
}

/// `MPI_Gatherv`
pub unsafe fn gather_varying<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send: Ptr,
    send_count: L::Count,
    send_type: L::Handle,
    receive_counts: Ptr,
    receive_type: L::Handle,
    root: L::Int,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; the receive arguments are significant at the root only.
    let traffic = |mpi: Mpi, comm| unsafe {
        match role::<L>(mpi, root, comm) {
            Role::Root => {
                let sent = if L::int(root) == mpi.abi.root {
                    0
                } else if L::is_in_place(mpi, send) {
                    own::<L>(mpi, receive_counts, comm, receive_type)
                } else {
                    size::<L>(mpi, send_count, send_type)
                };
                (sent, total::<L>(mpi, receive_counts, mpi.peers_in(comm), receive_type))
            }
            Role::Leaf => (size::<L>(mpi, send_count, send_type), 0),
            Role::NonParticipant => (0, 0),
        }
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, Some(root), comm, request, traffic) }
}

/// `MPI_Scatter`
pub unsafe fn scatter<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send_count: L::Count,
    send_type: L::Handle,
    receive: Ptr,
    receive_count: L::Count,
    receive_type: L::Handle,
    root: L::Int,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; the send arguments are significant at the root only.
    let traffic = |mpi: Mpi, comm| unsafe {
        match role::<L>(mpi, root, comm) {
            Role::Root => {
                let each = size::<L>(mpi, send_count, send_type);
                let received = if L::int(root) == mpi.abi.root {
                    0
                } else if L::is_in_place(mpi, receive) {
                    each
                } else {
                    size::<L>(mpi, receive_count, receive_type)
                };
                (each * i64::from(mpi.peers_in(comm)), received)
            }
            Role::Leaf => (0, size::<L>(mpi, receive_count, receive_type)),
            Role::NonParticipant => (0, 0),
        }
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, Some(root), comm, request, traffic) }
}

/// `MPI_Scatterv`
pub unsafe fn scatter_varying<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send_counts: Ptr,
    send_type: L::Handle,
    receive: Ptr,
    receive_count: L::Count,
    receive_type: L::Handle,
    root: L::Int,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; the send arguments are significant at the root only.
    let traffic = |mpi: Mpi, comm| unsafe {
        match role::<L>(mpi, root, comm) {
            Role::Root => {
                let received = if L::int(root) == mpi.abi.root {
                    0
                } else if L::is_in_place(mpi, receive) {
                    own::<L>(mpi, send_counts, comm, send_type)
                } else {
                    size::<L>(mpi, receive_count, receive_type)
                };
                (total::<L>(mpi, send_counts, mpi.peers_in(comm), send_type), received)
            }
            Role::Leaf => (0, size::<L>(mpi, receive_count, receive_type)),
            Role::NonParticipant => (0, 0),
        }
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, Some(root), comm, request, traffic) }
}
