//! What arguments of MPI's calls can be: what no MPI does without, and no replay.

use crate::CommId;
use crate::datatype::Datatype;
use crate::mpi::{ANY, Collective, FIRST_COMMUNICATOR, Mpi, NOBODY, NONE, SELF, WORLD};

/// The most requests and matched messages of a process; a replay keeps a table of that size.
pub(crate) const MAX_REQUESTS: u32 = 1 << 20;
/// More memory than any process has.
const MAX_WINDOW: u64 = 1 << 46;
/// The most bytes of a call: what MPI's counts hold.
pub const MAX_BYTES: u64 = i32::MAX as u64;

/// Where it stands what calls refer to.
pub trait Arguments {
    /// How many members a communicator has; 0 for one that is not there.
    fn size(&self, comm: CommId) -> u64;

    /// The numbers of a list; none for one that is not there.
    fn list(&self, list: u32) -> &[u64];
}

impl Mpi {
    /// Whether the call can be made, given that all that it refers to is there.
    pub fn is_possible(&self, arguments: &impl Arguments) -> bool {
        let size = |comm| arguments.size(comm);
        let below = |list: u32, limit: u64| arguments.list(list).iter().all(|&number| number < limit);
        let is_possible = match *self {
            Mpi::MakeComm { comm, new, .. } => comm != NONE && new != WORLD && new != SELF,
            Mpi::MakeTopology { comm, new, sources, destinations } => {
                comm != NONE
                    && (FIRST_COMMUNICATOR..NONE).contains(&new)
                    && below(sources, size(new))
                    && below(destinations, size(new))
            }
            Mpi::MakeBridge { comm, new } => comm != NONE && (FIRST_COMMUNICATOR..NONE).contains(&new),
            Mpi::FreeComm { comm } => (FIRST_COMMUNICATOR..NONE).contains(&comm),
            Mpi::Start { list, .. } | Mpi::Complete { list, .. } => below(list, MAX_REQUESTS.into()),
            Mpi::Collective { kind, comm, counts, from, .. }
            | Mpi::Icollective { kind, comm, counts, from, .. }
            | Mpi::CollectiveInit { kind, comm, counts, from, .. } => {
                let (needs_counts, needs_from) = kind.needs_lists();
                let fits = |needed: bool, list: u32| {
                    let list = arguments.list(list);
                    let bytes = list.iter().fold(0u64, |sum, &bytes| sum.saturating_add(bytes));
                    let is_whole = || size(comm) > 0 && list.len() as u64 == size(comm);
                    bytes <= MAX_BYTES && (!needed || is_whole())
                };
                comm != NONE && fits(needs_counts, counts) && fits(needs_from, from)
            }
            Mpi::WinMake { comm, window, bytes, unit, .. } => {
                comm != NONE && window < MAX_REQUESTS && bytes <= MAX_WINDOW && (1..=1 << 30).contains(&unit)
            }
            Mpi::WinSync { members, .. } => below(members, size(WORLD)),
            Mpi::Rma { how, bytes, .. } => {
                !how.makes_request() && (!how.is_atomic() || [1, 2, 4, 8].contains(&bytes))
            }
            Mpi::RmaRequest { how, .. } => how.makes_request(),
            Mpi::FileOpen { comm, opened, .. } => comm != NONE && opened < MAX_REQUESTS,
            Mpi::FileView { opened, etype, bytes, made, .. } => {
                let made = arguments.list(made);
                opened < MAX_REQUESTS
                    && etype >= 1
                    && etype.max(bytes) <= MAX_BYTES
                    && (made.is_empty() || Datatype::of(made).is_some_and(|datatype| datatype.is_bounded()))
            }
            Mpi::FileTransfer { how, opened, .. } => opened < MAX_REQUESTS && !how.makes_request(),
            Mpi::FileItransfer { how, opened, .. } => opened < MAX_REQUESTS && how.makes_request(),
            Mpi::FileClose { opened } | Mpi::FileSeek { opened, .. } | Mpi::FileCall { opened, .. } => {
                opened < MAX_REQUESTS
            }
            _ => true,
        };
        is_possible && self.names_members(size)
    }

    /// Whether the other ranks that it names are in its communicator.
    fn names_members(&self, size: impl Fn(CommId) -> u64) -> bool {
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
            | Mpi::CollectiveInit { kind, comm, root, .. } => match kind.has_root() {
                true => is_there(comm, root, &[]),
                false => root == NOBODY,
            },
            _ => true,
        }
    }
}

impl Collective {
    /// Whether it needs bytes per member to send, and to receive.
    const fn needs_lists(self) -> (bool, bool) {
        use Collective::*;
        match self {
            Gatherv | Scatterv | Allgatherv | ReduceScatter => (true, false),
            Alltoallv | Alltoallw => (true, true),
            _ => (false, false),
        }
    }

    const fn has_root(self) -> bool {
        use Collective::*;
        matches!(self, Bcast | Reduce | Gather | Gatherv | Scatter | Scatterv)
    }
}
