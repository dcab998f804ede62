//! The ranks that calls of MPI name.

use crate::CommId;
use crate::mpi::{ANY, Collective, Mpi, NOBODY};

impl Mpi {
    /// Whether the other ranks that it names are in its communicator, given how many members each has: what no MPI does without,
    /// and no replay.
    pub fn names_members(&self, size: impl Fn(CommId) -> u64) -> bool {
        let is_there = |comm: CommId, rank: i32, or: &[i32]| {
            or.contains(&rank) || u64::try_from(rank).is_ok_and(|rank| rank < size(comm))
        };
        match *self {
            Mpi::Send { comm, peer, .. }
            | Mpi::Isend { comm, peer, .. }
            | Mpi::SendInit { comm, peer, .. } => is_there(comm, peer, &[NOBODY]),
            Mpi::Recv { comm, peer, .. }
            | Mpi::Irecv { comm, peer, .. }
            | Mpi::RecvInit { comm, peer, .. }
            | Mpi::Probe { comm, peer, .. }
            | Mpi::Mprobe { comm, peer, .. } => is_there(comm, peer, &[NOBODY, ANY]),
            Mpi::Sendrecv { comm, peer, source, .. } => {
                is_there(comm, peer, &[NOBODY]) && is_there(comm, source, &[NOBODY, ANY])
            }
            Mpi::Collective { kind, comm, root, .. }
            | Mpi::Icollective { kind, comm, root, .. }
            | Mpi::CollectiveInit { kind, comm, root, .. } => !kind.has_root() || is_there(comm, root, &[]),
            _ => true,
        }
    }
}

impl Collective {
    const fn has_root(self) -> bool {
        use Collective::*;
        matches!(self, Bcast | Reduce | Gather | Gatherv | Scatter | Scatterv)
    }
}
