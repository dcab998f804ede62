//! The table of calls of MPI, and the kinds of calls that its rows tell apart.
//!
//! Ranks are those in the call's communicator; in an inter-communicator the second group is numbered on behind the first. A rank that is not there is [`NOBODY`] (`MPI_PROC_NULL`, or no root), one that
//! is not known [`ANY`]. Bytes count the application's data, whatever its datatype was.

use crate::CommId;
use crate::fields::{Bytes, Field, Referent, fields};
use crate::ops::{Row, operations};
use serde::Serialize;
use std::fmt::{Display, Formatter, Result};

/// The number of the first call in this table.
pub const FIRST: u8 = 128;
/// `MPI_COMM_WORLD`.
pub const WORLD: CommId = 0;
/// `MPI_COMM_SELF`.
pub const SELF: CommId = 1;
/// The first communicator of the plan's section.
pub const FIRST_COMMUNICATOR: CommId = 2;
/// No communicator: who makes one and does not belong to it.
pub const NONE: CommId = u32::MAX;
/// `MPI_ANY_SOURCE`, `MPI_ANY_TAG`.
pub const ANY: i32 = -1;
/// `MPI_PROC_NULL`; the root of a collective that has none.
pub const NOBODY: i32 = -2;

macro_rules! kinds {
    ($($(#[$meaning:meta])* $all:ident { $($variant:ident $name:literal),+ $(,)? })+) => {$(
        $(#[$meaning])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[allow(missing_docs)]
        pub enum $all {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
        }

        impl $all {
            /// All, by number.
            pub const ALL: &[$all] = &[$($all::$variant),+];

            /// The name of the function.
            pub const fn name(self) -> &'static str {
                match self {
                    $($all::$variant => $name,)+
                }
            }

            /// The one with this name.
            pub fn named(name: &str) -> Option<$all> {
                $all::ALL.iter().copied().find(|kind| kind.name() == name)
            }
        }

        impl Field for $all {
            type Value = $all;
            const TYPE: &'static str = stringify!($all);
            fn put(value: $all, out: &mut Vec<u8>) {
                out.push(value as u8);
            }
            fn take(bytes: &mut Bytes<'_>) -> Option<$all> {
                $all::ALL.get(usize::from(crate::fields::take::<u8>(bytes)?)).copied()
            }
            fn show(_: &str, value: $all, out: &mut Formatter<'_>) -> Result {
                write!(out, " {}", value.name())
            }
        }
    )+};
}

kinds! {
    /// How a send hands over its message.
    SendMode {
        Standard "MPI_Send", Buffered "MPI_Bsend", Synchronous "MPI_Ssend", Ready "MPI_Rsend",
    }
    /// How requests are completed.
    Completion {
        Wait "MPI_Wait", Waitall "MPI_Waitall", Waitany "MPI_Waitany", Waitsome "MPI_Waitsome",
        Test "MPI_Test", Testall "MPI_Testall", Testany "MPI_Testany", Testsome "MPI_Testsome",
    }
    /// A collective operation.
    Collective {
        Barrier "MPI_Barrier", Bcast "MPI_Bcast", Reduce "MPI_Reduce", Allreduce "MPI_Allreduce",
        Gather "MPI_Gather", Gatherv "MPI_Gatherv", Scatter "MPI_Scatter", Scatterv "MPI_Scatterv",
        Allgather "MPI_Allgather", Allgatherv "MPI_Allgatherv", Alltoall "MPI_Alltoall",
        Alltoallv "MPI_Alltoallv", Alltoallw "MPI_Alltoallw", ReduceScatter "MPI_Reduce_scatter",
        ReduceScatterBlock "MPI_Reduce_scatter_block", Scan "MPI_Scan", Exscan "MPI_Exscan",
        NeighborAllgather "MPI_Neighbor_allgather", NeighborAllgatherv "MPI_Neighbor_allgatherv",
        NeighborAlltoall "MPI_Neighbor_alltoall", NeighborAlltoallv "MPI_Neighbor_alltoallv",
        NeighborAlltoallw "MPI_Neighbor_alltoallw",
    }
    /// How a communicator is made. A split stands for one by type, too, and for those who do not belong to one with a topology.
    Creation {
        Dup "MPI_Comm_dup", DupWithInfo "MPI_Comm_dup_with_info", Split "MPI_Comm_split",
        Create "MPI_Comm_create", CreateGroup "MPI_Comm_create_group", Merge "MPI_Intercomm_merge",
    }
    /// How a window is made.
    Window {
        Create "MPI_Win_create", Allocate "MPI_Win_allocate", AllocateShared "MPI_Win_allocate_shared",
    }
    /// Opens, closes or completes epochs of a window.
    Epoch {
        Fence "MPI_Win_fence", Start "MPI_Win_start", Complete "MPI_Win_complete", Post "MPI_Win_post",
        Wait "MPI_Win_wait", Test "MPI_Win_test", LockAll "MPI_Win_lock_all", UnlockAll "MPI_Win_unlock_all",
        FlushAll "MPI_Win_flush_all", FlushLocalAll "MPI_Win_flush_local_all",
    }
    /// The same at one member.
    Lock {
        Lock "MPI_Win_lock", Unlock "MPI_Win_unlock", Flush "MPI_Win_flush", FlushLocal "MPI_Win_flush_local",
    }
    /// Reads or changes the memory of a member.
    Access {
        Put "MPI_Put", Get "MPI_Get", Accumulate "MPI_Accumulate", GetAccumulate "MPI_Get_accumulate",
        FetchAndOp "MPI_Fetch_and_op", CompareAndSwap "MPI_Compare_and_swap", Rput "MPI_Rput", Rget "MPI_Rget",
        Raccumulate "MPI_Raccumulate", RgetAccumulate "MPI_Rget_accumulate",
    }
    /// A call on a file that moves nothing.
    FileCall {
        GetSize "MPI_File_get_size", Sync "MPI_File_sync", SetAtomicity "MPI_File_set_atomicity",
        SetInfo "MPI_File_set_info", GetPositionShared "MPI_File_get_position_shared",
        SetSize "MPI_File_set_size", Preallocate "MPI_File_preallocate",
    }
    /// A transfer to or from a file. One without an offset is at the file's own pointer, or the shared one.
    FileTransfer {
        ReadAt "MPI_File_read_at", ReadAtAll "MPI_File_read_at_all", Read "MPI_File_read",
        ReadAll "MPI_File_read_all", ReadShared "MPI_File_read_shared", ReadOrdered "MPI_File_read_ordered",
        WriteAt "MPI_File_write_at", WriteAtAll "MPI_File_write_at_all", Write "MPI_File_write",
        WriteAll "MPI_File_write_all", WriteShared "MPI_File_write_shared", WriteOrdered "MPI_File_write_ordered",
        IreadAt "MPI_File_iread_at", IreadAtAll "MPI_File_iread_at_all", Iread "MPI_File_iread",
        IreadAll "MPI_File_iread_all", IreadShared "MPI_File_iread_shared",
        IwriteAt "MPI_File_iwrite_at", IwriteAtAll "MPI_File_iwrite_at_all", Iwrite "MPI_File_iwrite",
        IwriteAll "MPI_File_iwrite_all", IwriteShared "MPI_File_iwrite_shared",
        ReadAtAllBegin "MPI_File_read_at_all_begin", ReadAtAllEnd "MPI_File_read_at_all_end",
        ReadAllBegin "MPI_File_read_all_begin", ReadAllEnd "MPI_File_read_all_end",
        ReadOrderedBegin "MPI_File_read_ordered_begin", ReadOrderedEnd "MPI_File_read_ordered_end",
        WriteAtAllBegin "MPI_File_write_at_all_begin", WriteAtAllEnd "MPI_File_write_at_all_end",
        WriteAllBegin "MPI_File_write_all_begin", WriteAllEnd "MPI_File_write_all_end",
        WriteOrderedBegin "MPI_File_write_ordered_begin", WriteOrderedEnd "MPI_File_write_ordered_end",
    }
}

operations! {
    /// A call of MPI.
    Mpi, MPI_ROWS;
    128 Send "mpi_send" { mode: SendMode, comm: Comm, peer: Signed, tag: Signed, bytes: Number } "a blocking send";
    129 Isend "mpi_isend" { mode: SendMode, comm: Comm, peer: Signed, tag: Signed, bytes: Number, request: Request } "begins a send";
    130 SendInit "mpi_send_init" { mode: SendMode, comm: Comm, peer: Signed, tag: Signed, bytes: Number, request: Request } "makes a send that is to be started";
    131 Recv "mpi_recv" { comm: Comm, peer: Signed, tag: Signed, bytes: Number } "a blocking receive, with room for so many bytes; source and tag are those of the message that the recorded one got";
    132 Irecv "mpi_irecv" { comm: Comm, peer: Signed, tag: Signed, bytes: Number, request: Request } "begins a receive, likewise";
    133 RecvInit "mpi_recv_init" { comm: Comm, peer: Signed, tag: Signed, bytes: Number, request: Request } "makes a receive that is to be started";
    134 Sendrecv "mpi_sendrecv" { comm: Comm, peer: Signed, tag: Signed, bytes: Number, source: Signed, received_tag: Signed, room: Number, replace: Truth } "both at once; with `replace` in one buffer";
    135 Probe "mpi_probe" { comm: Comm, peer: Signed, tag: Signed, test: Truth } "waits until there is such a message; with `test` by `MPI_Iprobe`";
    136 Mprobe "mpi_mprobe" { comm: Comm, peer: Signed, tag: Signed, test: Truth, request: Request } "the same, and takes it";
    137 Mrecv "mpi_mrecv" { request: Request, bytes: Number } "receives what was taken";
    138 Imrecv "mpi_imrecv" { request: Request, bytes: Number, new: Request } "begins to";
    139 Start "mpi_start" { list: List, all: Truth } "starts the requests in the list; with `all` by `MPI_Startall`";
    140 RequestFree "mpi_request_free" { request: Request } "MPI_Request_free";
    141 Cancel "mpi_cancel" { request: Request } "MPI_Cancel";
    142 Complete "mpi_complete" { how: Completion, given: Count, list: List } "completes the requests in the list, as many as were recorded, of so many that the call was given; the others are null";
    143 Collective "mpi_collective" { kind: Collective, comm: Comm, root: Signed, sent: Number, received: Number, counts: List, from: List } "a collective operation: what this rank gives and gets, bytes; bytes per member where they differ (`from`: those that a rank gets in an alltoallv or alltoallw)";
    144 Icollective "mpi_icollective" { kind: Collective, comm: Comm, root: Signed, sent: Number, received: Number, counts: List, from: List, request: Request } "begins one";
    145 CollectiveInit "mpi_collective_init" { kind: Collective, comm: Comm, root: Signed, sent: Number, received: Number, counts: List, from: List, request: Request } "makes one that is to be started";
    146 MakeComm "mpi_comm_create" { how: Creation, comm: Comm, new: Comm } "makes a communicator from another; who is not in it has 4294967295";
    147 FreeComm "mpi_comm_free" { comm: Comm } "MPI_Comm_free";
    148 Init "mpi_init" "all ranks begin";
    149 Finalize "mpi_finalize" "all ranks have ended";
    150 FileOpen "mpi_file_open" { comm: Comm, file: File, opened: MpiFile, mode: Hex, hints: List } "opens a file together; the modes are 1 create, 2 read, 4 write, 8 both, 16 delete on close, 32 unique open, 64 exclusive, 128 append, 256 sequential";
    151 FileClose "mpi_file_close" { opened: MpiFile } "MPI_File_close";
    152 FileDelete "mpi_file_delete" { file: File } "MPI_File_delete";
    153 FileView "mpi_file_set_view" { opened: MpiFile, from: Number, etype: Number, bytes: Number, made: List, hints: List } "what of the file is seen: from which byte on, in elements of `etype` bytes, by a file type of so many bytes; a contiguous one where the list that says how it was made is empty";
    154 FileSeek "mpi_file_seek" { opened: MpiFile, distance: Distance, whence: Count, shared: Truth } "moves a pointer of the file, counted from its beginning (0), where it is (1) or the end (2)";
    155 FileCall "mpi_file_call" { how: FileCall, opened: MpiFile, number: Number, hints: List } "a call on a file that moves nothing; `number` is the size or the truth value that it takes";
    156 FileTransfer "mpi_file_transfer" { how: FileTransfer, opened: MpiFile, offset: Number, bytes: Number } "a transfer, or one half of it; the offset is in elements of the view, and counts where the call has one";
    157 FileItransfer "mpi_file_itransfer" { how: FileTransfer, opened: MpiFile, offset: Number, bytes: Number, request: Request } "begins one that makes a request";
    158 FileLeave "mpi_file_leave" "no call: stands where one on a file would that is not made again";
    159 FileEnter "mpi_file_enter" "no call: the steps from here up to the next of 150 to 158 are what the library did inside that call";
    160 WinMake "mpi_win_create" { how: Window, comm: Comm, window: WindowNumber, bytes: Number, unit: Count } "makes a window on so many bytes, in which places are counted in units of `unit` bytes";
    161 WinFree "mpi_win_free" { window: WindowNumber } "MPI_Win_free";
    162 WinSync "mpi_win_sync" { how: Epoch, window: WindowNumber, members: List } "opens, closes or completes epochs; the list has the ranks in `MPI_COMM_WORLD` of the group that a call takes";
    163 WinLock "mpi_win_lock" { how: Lock, window: WindowNumber, peer: Signed, exclusive: Truth } "the same at one member; whether a lock is exclusive";
    164 Rma "mpi_rma" { how: Access, window: WindowNumber, peer: Signed, at: Number, bytes: Number } "reads or changes the memory of a member";
    165 RmaRequest "mpi_rma_request" { how: Access, window: WindowNumber, peer: Signed, at: Number, bytes: Number, request: Request } "begins to";
    166 MakeTopology "mpi_dist_graph_create_adjacent" { comm: Comm, new: Comm, sources: List, destinations: List } "splits a communicator, and makes of the part one with a topology: the neighbours, as ranks in it, from which this rank receives, and to which it sends";
    167 InitEnter "mpi_init_enter" "no call: the steps from here up to the next 148 are what MPI did to begin";
    168 FinalizeEnter "mpi_finalize_enter" "no call: the steps from here up to the next 149 are what MPI did to end";
    169 MakeBridge "mpi_intercomm_create" { comm: Comm, new: Comm } "makes an inter-communicator of two groups, this rank's of which is a communicator";
}

impl Mpi {
    /// The bytes that this rank gives, and those that it makes room for.
    pub const fn bytes(&self) -> (u64, u64) {
        match *self {
            Mpi::Send { bytes, .. } | Mpi::Isend { bytes, .. } | Mpi::SendInit { bytes, .. } => (bytes, 0),
            Mpi::Recv { bytes, .. }
            | Mpi::Irecv { bytes, .. }
            | Mpi::RecvInit { bytes, .. }
            | Mpi::Mrecv { bytes, .. }
            | Mpi::Imrecv { bytes, .. } => (0, bytes),
            Mpi::Sendrecv { bytes, room, .. } => (bytes, room),
            Mpi::Collective { sent, received, .. }
            | Mpi::Icollective { sent, received, .. }
            | Mpi::CollectiveInit { sent, received, .. } => (sent, received),
            Mpi::Rma { bytes, .. } | Mpi::RmaRequest { bytes, .. } => (bytes, bytes),
            Mpi::FileTransfer { how, bytes, .. } | Mpi::FileItransfer { how, bytes, .. } => {
                if how.writes() {
                    (bytes, 0)
                } else {
                    (0, bytes)
                }
            }
            _ => (0, 0),
        }
    }

    /// True for calls on files, which stand behind what the library did inside them.
    pub const fn is_on_file(&self) -> bool {
        matches!(self.number(), 150..=158)
    }
}

impl Collective {
    /// True for those among neighbours: lists have an entry for each of these.
    pub const fn is_among_neighbours(self) -> bool {
        use Collective::*;
        matches!(
            self,
            NeighborAllgather | NeighborAllgatherv | NeighborAlltoall | NeighborAlltoallv | NeighborAlltoallw
        )
    }
}

impl FileTransfer {
    /// True for those that write.
    pub const fn writes(self) -> bool {
        use FileTransfer::*;
        matches!(
            self,
            WriteAt
                | WriteAtAll
                | Write
                | WriteAll
                | WriteShared
                | WriteOrdered
                | IwriteAt
                | IwriteAtAll
                | Iwrite
                | IwriteAll
                | IwriteShared
                | WriteAtAllBegin
                | WriteAtAllEnd
                | WriteAllBegin
                | WriteAllEnd
                | WriteOrderedBegin
                | WriteOrderedEnd
        )
    }

    /// True for those that all who have the file open make together.
    pub fn is_collective(self) -> bool {
        let name = self.name();
        name.contains("_all") || name.contains("_ordered")
    }

    /// True for those that make a request.
    pub fn makes_request(self) -> bool {
        self.name().starts_with("MPI_File_i")
    }
}

impl Access {
    /// True for those that make a request.
    pub const fn makes_request(self) -> bool {
        matches!(self, Access::Rput | Access::Rget | Access::Raccumulate | Access::RgetAccumulate)
    }

    /// True for those on one number.
    pub const fn is_atomic(self) -> bool {
        matches!(self, Access::FetchAndOp | Access::CompareAndSwap)
    }
}

impl FileCall {
    /// True for those that all who have the file open make together.
    pub const fn is_collective(self) -> bool {
        !matches!(self, FileCall::GetSize | FileCall::GetPositionShared)
    }
}
