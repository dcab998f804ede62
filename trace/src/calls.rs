//! The one table of calls: number on disk, name, layer, and what a record of the call holds.
//!
//! The shim encodes by it, every reader decodes by it, `syn dump` prints by it and the export test of the built
//! library checks it. A number, once released, is never given to another call; a changed argument list is a new
//! format version.
//!
//! A record's arguments come in three groups, always in this order: integers, then texts, then one list.

/// Which interface a call belongs to; the `layer` of `syn dump --json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// File and directory calls of POSIX.
    Posix,
    /// C streams (`FILE *`).
    Stdio,
    /// Process creation, replacement, end, and the threads of a process.
    Process,
    /// Synchronization between threads.
    Sync,
    /// Sleeps.
    Time,
    /// The Message Passing Interface.
    Mpi,
}

impl Layer {
    /// The name in `syn dump --json`.
    pub const fn name(self) -> &'static str {
        match self {
            Layer::Posix => "posix",
            Layer::Stdio => "stdio",
            Layer::Process => "process",
            Layer::Sync => "sync",
            Layer::Time => "time",
            Layer::Mpi => "mpi",
        }
    }
}

/// What an argument is, so that readers can print it and follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A plain number.
    Int,
    /// A file descriptor.
    Fd,
    /// The directory descriptor a relative path starts from, or `AT_FDCWD`.
    DirFd,
    /// A number of bytes.
    Bytes,
    /// A position in a file, bytes.
    Offset,
    /// Flags of `open(2)`.
    OpenFlags,
    /// Permission bits, octal; or `st_mode` with the file type.
    Mode,
    /// A process or thread id.
    Pid,
    /// A duration in nanoseconds.
    Nanos,
    /// An address or opaque handle.
    Handle,
    /// An MPI communicator in canonical form: 0 null, 1 world, 2 self, otherwise the handle in this process.
    Comm,
    /// A rank in the call's communicator; [`ANY`] and [`NOBODY`] stand for the wildcards.
    Rank,
    /// A message tag; [`ANY`] stands for the wildcard.
    Tag,
    /// A path as the program gave it.
    Path,
    /// Any other text.
    Text,
    /// Request handles, in call order.
    Requests,
    /// Completed requests, four numbers each: handle, source, tag, bytes.
    Completions,
    /// Ranks in `MPI_COMM_WORLD` of a communicator's members, in rank order.
    Members,
}

impl Kind {
    /// True for the kinds that are stored as integers.
    pub const fn is_number(self) -> bool {
        !self.is_text() && !self.is_list()
    }
    /// True for the kinds that are stored as bytes.
    pub const fn is_text(self) -> bool {
        matches!(self, Kind::Path | Kind::Text)
    }
    /// True for the kinds that are stored as a list of integers.
    pub const fn is_list(self) -> bool {
        matches!(self, Kind::Requests | Kind::Completions | Kind::Members)
    }
}

/// `MPI_ANY_SOURCE` and `MPI_ANY_TAG` in canonical form.
pub const ANY: i64 = -1;
/// `MPI_PROC_NULL` in canonical form.
pub const NOBODY: i64 = -2;
/// `MPI_ROOT` in canonical form.
pub const ROOT: i64 = -3;
/// `MPI_UNDEFINED` in canonical form.
pub const UNDEFINED: i64 = -4;
/// `MPI_COMM_NULL` in canonical form.
pub const COMM_NULL: i64 = 0;
/// `MPI_COMM_WORLD` in canonical form.
pub const COMM_WORLD: i64 = 1;
/// `MPI_COMM_SELF` in canonical form.
pub const COMM_SELF: i64 = 2;

/// One argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arg {
    /// The name in the manual page; facts that the shim adds have the name of the field they come from.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
}

/// What the table says about one call.
#[derive(Debug)]
pub struct CallInfo {
    /// The libc or MPI name; `64`, `__` and `_chk` twins are recorded under the plain one.
    pub name: &'static str,
    /// The interface it belongs to.
    pub layer: Layer,
    /// What a record holds, integers first.
    pub args: &'static [Arg],
}

/// The most integers, texts a call has; checked below for every call.
pub const MAX_NUMBERS: usize = 12;
/// See [`MAX_NUMBERS`].
pub const MAX_TEXTS: usize = 4;

macro_rules! calls {
    ($( $(#[$doc:meta])* $id:literal $variant:ident $name:literal $layer:ident ( $($arg:ident : $kind:ident),* ); )*) => {
        /// A call that can stand in a trace.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        #[allow(missing_docs)]
        pub enum Call { $( $(#[$doc])* $variant = $id, )* }

        impl Call {
            /// Every call, by rising number.
            pub const ALL: &'static [Call] = &[ $( Call::$variant, )* ];

            /// What the table says about this call.
            #[inline(always)]
            pub const fn info(self) -> &'static CallInfo {
                match self { $( Call::$variant => &CallInfo {
                    name: $name,
                    layer: Layer::$layer,
                    args: const { &[ $( Arg { name: arg_name(stringify!($arg)), kind: Kind::$kind }, )* ] },
                }, )* }
            }

            /// The call with this number on disk.
            pub const fn from_id(id: u64) -> Option<Call> {
                match id { $( $id => Some(Call::$variant), )* _ => None }
            }
        }
    };
}

/// `r#type` is written `type` in a trace.
const fn arg_name(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', plain @ ..] => match core::str::from_utf8(plain) {
            Ok(plain) => plain,
            Err(_) => name,
        },
        _ => name,
    }
}

calls! {
    1 Read "read" Posix (fd: Fd, count: Bytes);
    2 Write "write" Posix (fd: Fd, count: Bytes);
    3 Pread "pread" Posix (fd: Fd, count: Bytes, offset: Offset);
    4 Pwrite "pwrite" Posix (fd: Fd, count: Bytes, offset: Offset);
    5 Readv "readv" Posix (fd: Fd, count: Bytes, iovcnt: Int);
    6 Writev "writev" Posix (fd: Fd, count: Bytes, iovcnt: Int);
    7 Preadv "preadv" Posix (fd: Fd, count: Bytes, offset: Offset, iovcnt: Int, flags: Int);
    8 Pwritev "pwritev" Posix (fd: Fd, count: Bytes, offset: Offset, iovcnt: Int, flags: Int);
    9 Lseek "lseek" Posix (fd: Fd, offset: Offset, whence: Int);
    10 Open "open" Posix (flags: OpenFlags, mode: Mode, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path);
    11 Openat "openat" Posix (dirfd: DirFd, flags: OpenFlags, mode: Mode, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path);
    12 Creat "creat" Posix (mode: Mode, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path);
    13 Close "close" Posix (fd: Fd);
    14 CloseRange "close_range" Posix (first: Fd, last: Fd, flags: Int);
    15 Fsync "fsync" Posix (fd: Fd);
    16 Fdatasync "fdatasync" Posix (fd: Fd);
    17 SyncFileRange "sync_file_range" Posix (fd: Fd, offset: Offset, nbytes: Bytes, flags: Int);
    18 Syncfs "syncfs" Posix (fd: Fd);
    19 Sync "sync" Posix ();
    20 Truncate "truncate" Posix (length: Bytes, path: Path);
    21 Ftruncate "ftruncate" Posix (fd: Fd, length: Bytes);
    22 Fallocate "fallocate" Posix (fd: Fd, mode: Int, offset: Offset, len: Bytes);
    23 PosixFallocate "posix_fallocate" Posix (fd: Fd, offset: Offset, len: Bytes);
    24 Stat "stat" Posix (st_mode: Mode, st_size: Bytes, pathname: Path);
    25 Lstat "lstat" Posix (st_mode: Mode, st_size: Bytes, pathname: Path);
    26 Fstat "fstat" Posix (fd: Fd, st_mode: Mode, st_size: Bytes);
    27 Fstatat "fstatat" Posix (dirfd: DirFd, flags: Int, st_mode: Mode, st_size: Bytes, pathname: Path);
    28 Statx "statx" Posix (dirfd: DirFd, flags: Int, mask: Int, st_mode: Mode, st_size: Bytes, pathname: Path);
    29 Access "access" Posix (mode: Int, pathname: Path);
    30 Faccessat "faccessat" Posix (dirfd: DirFd, mode: Int, flags: Int, pathname: Path);
    31 Unlink "unlink" Posix (pathname: Path);
    32 Unlinkat "unlinkat" Posix (dirfd: DirFd, flags: Int, pathname: Path);
    33 Rename "rename" Posix (oldpath: Path, newpath: Path);
    34 Renameat "renameat" Posix (olddirfd: DirFd, newdirfd: DirFd, flags: Int, oldpath: Path, newpath: Path);
    35 Link "link" Posix (oldpath: Path, newpath: Path);
    36 Linkat "linkat" Posix (olddirfd: DirFd, newdirfd: DirFd, flags: Int, oldpath: Path, newpath: Path);
    37 Symlink "symlink" Posix (target: Text, linkpath: Path);
    38 Symlinkat "symlinkat" Posix (newdirfd: DirFd, target: Text, linkpath: Path);
    39 Mkdir "mkdir" Posix (mode: Mode, pathname: Path);
    40 Mkdirat "mkdirat" Posix (dirfd: DirFd, mode: Mode, pathname: Path);
    41 Rmdir "rmdir" Posix (pathname: Path);
    42 Readlink "readlink" Posix (bufsiz: Bytes, pathname: Path);
    43 Readlinkat "readlinkat" Posix (dirfd: DirFd, bufsiz: Bytes, pathname: Path);
    44 Opendir "opendir" Posix (fd: Fd, name: Path);
    45 Fdopendir "fdopendir" Posix (fd: Fd);
    /// One entry handed to the application; the result is 1, at the end of the directory 0.
    46 Readdir "readdir" Posix (fd: Fd);
    47 Closedir "closedir" Posix (fd: Fd);
    48 Dup "dup" Posix (oldfd: Fd);
    49 Dup2 "dup2" Posix (oldfd: Fd, newfd: Fd);
    50 Dup3 "dup3" Posix (oldfd: Fd, newfd: Fd, flags: OpenFlags);
    51 Fcntl "fcntl" Posix (fd: Fd, cmd: Int, arg: Int);
    52 Chdir "chdir" Posix (path: Path);
    53 Fchdir "fchdir" Posix (fd: Fd);
    54 Pipe "pipe" Posix (read_fd: Fd, write_fd: Fd, flags: OpenFlags);
    55 Rewinddir "rewinddir" Posix (fd: Fd);

    64 Fopen "fopen" Stdio (fd: Fd, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path, mode: Text);
    65 Freopen "freopen" Stdio (fd: Fd, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path, mode: Text);
    66 Fclose "fclose" Stdio (fd: Fd);
    67 Fflush "fflush" Stdio (fd: Fd);
    68 Fread "fread" Stdio (fd: Fd, size: Int, nmemb: Int);
    69 Fwrite "fwrite" Stdio (fd: Fd, size: Int, nmemb: Int);
    70 Popen "popen" Stdio (fd: Fd, command: Text, r#type: Text);
    71 Pclose "pclose" Stdio (fd: Fd);

    /// Not a call: the first record of a process image.
    80 ProcessStart "process-start" Process (ppid: Pid, exe: Path, cwd: Path, command: Text);
    /// Not a call: a descriptor that was open when the process image started.
    81 InheritedFd "inherited-fd" Process (fd: Fd, flags: OpenFlags, offset: Offset, st_mode: Mode, st_size: Bytes, st_ino: Int, path: Path);
    /// Not a call: the first record of a further thread. `creator` is the thread that made it, 0 when unknown.
    82 ThreadStart "thread-start" Process (thread: Handle, creator: Pid);
    /// Not a call: the thread ended in an orderly way.
    83 ThreadEnd "thread-end" Process ();
    /// Not a call: something that could not be observed, and why.
    84 Unobserved "unobserved" Process (what: Text);
    85 Fork "fork" Process ();
    86 Vfork "vfork" Process ();
    /// A record with the flag `began` is written before the call; another one follows only if it failed.
    87 Execve "execve" Process (pathname: Path);
    88 PosixSpawn "posix_spawn" Process (pid: Pid, path: Path);
    89 Waitpid "waitpid" Process (pid: Pid, status: Int, options: Int);
    90 Waitid "waitid" Process (idtype: Int, id: Pid, options: Int);
    /// Written before the call, with the flag `began`: it does not return.
    91 Exit "_exit" Process (status: Int);
    92 System "system" Process (command: Text);
    93 PthreadCreate "pthread_create" Process (thread: Handle);
    94 PthreadJoin "pthread_join" Process (thread: Handle);
    95 PthreadDetach "pthread_detach" Process (thread: Handle);

    110 Nanosleep "nanosleep" Time (rqtp: Nanos);
    111 ClockNanosleep "clock_nanosleep" Time (clockid: Int, flags: Int, request: Nanos);
    112 Usleep "usleep" Time (usec: Nanos);
    113 Sleep "sleep" Time (seconds: Nanos);

    128 MpiInit "MPI_Init" Mpi (rank: Rank, size: Int, required: Int, library: Text);
    129 MpiInitThread "MPI_Init_thread" Mpi (rank: Rank, size: Int, required: Int, library: Text);
    130 MpiFinalize "MPI_Finalize" Mpi ();
    /// Written before the call, with the flag `began`: it does not return.
    131 MpiAbort "MPI_Abort" Mpi (comm: Comm, errorcode: Int);

    136 MpiSend "MPI_Send" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm);
    137 MpiBsend "MPI_Bsend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm);
    138 MpiSsend "MPI_Ssend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm);
    139 MpiRsend "MPI_Rsend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm);
    140 MpiIsend "MPI_Isend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle);
    141 MpiIbsend "MPI_Ibsend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle);
    142 MpiIssend "MPI_Issend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle);
    143 MpiIrsend "MPI_Irsend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle);
    144 MpiRecv "MPI_Recv" Mpi (bytes: Bytes, source: Rank, tag: Tag, comm: Comm, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes);
    145 MpiIrecv "MPI_Irecv" Mpi (bytes: Bytes, source: Rank, tag: Tag, comm: Comm, request: Handle);
    146 MpiSendrecv "MPI_Sendrecv" Mpi (send_bytes: Bytes, dest: Rank, sendtag: Tag, recv_bytes: Bytes, source: Rank, recvtag: Tag, comm: Comm, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes);
    147 MpiSendrecvReplace "MPI_Sendrecv_replace" Mpi (send_bytes: Bytes, dest: Rank, sendtag: Tag, recv_bytes: Bytes, source: Rank, recvtag: Tag, comm: Comm, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes);
    148 MpiProbe "MPI_Probe" Mpi (source: Rank, tag: Tag, comm: Comm, flag: Int, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes);
    149 MpiIprobe "MPI_Iprobe" Mpi (source: Rank, tag: Tag, comm: Comm, flag: Int, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes);
    150 MpiMprobe "MPI_Mprobe" Mpi (source: Rank, tag: Tag, comm: Comm, flag: Int, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes, message: Handle);
    151 MpiImprobe "MPI_Improbe" Mpi (source: Rank, tag: Tag, comm: Comm, flag: Int, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes, message: Handle);
    152 MpiMrecv "MPI_Mrecv" Mpi (bytes: Bytes, message: Handle, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes);
    153 MpiImrecv "MPI_Imrecv" Mpi (bytes: Bytes, message: Handle, request: Handle);
    154 MpiSendInit "MPI_Send_init" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle);
    155 MpiBsendInit "MPI_Bsend_init" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle);
    156 MpiSsendInit "MPI_Ssend_init" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle);
    157 MpiRsendInit "MPI_Rsend_init" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle);
    158 MpiRecvInit "MPI_Recv_init" Mpi (bytes: Bytes, source: Rank, tag: Tag, comm: Comm, request: Handle);
    159 MpiStart "MPI_Start" Mpi (count: Int, requests: Requests);
    160 MpiStartall "MPI_Startall" Mpi (count: Int, requests: Requests);
    161 MpiRequestFree "MPI_Request_free" Mpi (request: Handle);
    162 MpiCancel "MPI_Cancel" Mpi (request: Handle);
    /// The completion calls all have the same form: how many requests were passed, which of them completed.
    163 MpiWait "MPI_Wait" Mpi (incount: Int, outcount: Int, completed: Completions);
    164 MpiWaitall "MPI_Waitall" Mpi (incount: Int, outcount: Int, completed: Completions);
    165 MpiWaitany "MPI_Waitany" Mpi (incount: Int, outcount: Int, completed: Completions);
    166 MpiWaitsome "MPI_Waitsome" Mpi (incount: Int, outcount: Int, completed: Completions);
    167 MpiTest "MPI_Test" Mpi (incount: Int, outcount: Int, completed: Completions);
    168 MpiTestall "MPI_Testall" Mpi (incount: Int, outcount: Int, completed: Completions);
    169 MpiTestany "MPI_Testany" Mpi (incount: Int, outcount: Int, completed: Completions);
    170 MpiTestsome "MPI_Testsome" Mpi (incount: Int, outcount: Int, completed: Completions);

    /// Collectives: what this rank contributes and receives, bytes; `root` is -2 where there is none.
    180 MpiBarrier "MPI_Barrier" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    181 MpiBcast "MPI_Bcast" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    182 MpiReduce "MPI_Reduce" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    183 MpiAllreduce "MPI_Allreduce" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    184 MpiGather "MPI_Gather" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    185 MpiGatherv "MPI_Gatherv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    186 MpiScatter "MPI_Scatter" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    187 MpiScatterv "MPI_Scatterv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    188 MpiAllgather "MPI_Allgather" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    189 MpiAllgatherv "MPI_Allgatherv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    190 MpiAlltoall "MPI_Alltoall" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    191 MpiAlltoallv "MPI_Alltoallv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    192 MpiAlltoallw "MPI_Alltoallw" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    193 MpiReduceScatter "MPI_Reduce_scatter" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    194 MpiReduceScatterBlock "MPI_Reduce_scatter_block" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    195 MpiScan "MPI_Scan" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);
    196 MpiExscan "MPI_Exscan" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm);

    /// Communicator creation, all of one form: the communicator it was made from, the new one (0 where this rank
    /// is not in it), and who is in it.
    210 MpiCommDup "MPI_Comm_dup" Mpi (comm: Comm, newcomm: Comm, members: Members);
    211 MpiCommSplit "MPI_Comm_split" Mpi (comm: Comm, newcomm: Comm, members: Members);
    212 MpiCommCreate "MPI_Comm_create" Mpi (comm: Comm, newcomm: Comm, members: Members);
    213 MpiCommCreateGroup "MPI_Comm_create_group" Mpi (comm: Comm, newcomm: Comm, members: Members);
    214 MpiCommSplitType "MPI_Comm_split_type" Mpi (comm: Comm, newcomm: Comm, members: Members);
    215 MpiCartCreate "MPI_Cart_create" Mpi (comm: Comm, newcomm: Comm, members: Members);
    216 MpiCartSub "MPI_Cart_sub" Mpi (comm: Comm, newcomm: Comm, members: Members);
    217 MpiGraphCreate "MPI_Graph_create" Mpi (comm: Comm, newcomm: Comm, members: Members);
    218 MpiDistGraphCreate "MPI_Dist_graph_create" Mpi (comm: Comm, newcomm: Comm, members: Members);
    219 MpiDistGraphCreateAdjacent "MPI_Dist_graph_create_adjacent" Mpi (comm: Comm, newcomm: Comm, members: Members);
    220 MpiIntercommCreate "MPI_Intercomm_create" Mpi (comm: Comm, newcomm: Comm, members: Members);
    221 MpiIntercommMerge "MPI_Intercomm_merge" Mpi (comm: Comm, newcomm: Comm, members: Members);
    222 MpiCommDupWithInfo "MPI_Comm_dup_with_info" Mpi (comm: Comm, newcomm: Comm, members: Members);
    223 MpiCommFree "MPI_Comm_free" Mpi (comm: Comm);
    224 MpiCommDisconnect "MPI_Comm_disconnect" Mpi (comm: Comm);
}

/// The shape of every call by its number, so that decoding looks it up; numbers without a call have none.
static SHAPES: [[u8; 3]; 256] = {
    let mut shapes = [[0; 3]; 256];
    let mut index = 0;
    while index < Call::ALL.len() {
        shapes[Call::ALL[index] as usize] = Call::ALL[index].count_shape();
        index += 1;
    }
    shapes
};

impl Call {
    /// The libc or MPI name.
    pub const fn name(self) -> &'static str {
        self.info().name
    }
    /// The interface the call belongs to.
    #[inline(always)]
    pub const fn layer(self) -> Layer {
        self.info().layer
    }
    /// What a record of the call holds.
    pub const fn args(self) -> &'static [Arg] {
        self.info().args
    }
    /// How many integers, texts and lists (0 or 1) a record of the call holds.
    #[inline(always)]
    pub fn shape(self) -> (usize, usize, usize) {
        let [numbers, texts, lists] = SHAPES[self as usize];
        (numbers as usize, texts as usize, lists as usize)
    }
    const fn count_shape(self) -> [u8; 3] {
        let args = self.args();
        let (mut numbers, mut texts, mut lists, mut index) = (0, 0, 0, 0);
        while index < args.len() {
            if args[index].kind.is_number() {
                assert!(texts + lists == 0, "integers come first");
                numbers += 1;
            } else if args[index].kind.is_text() {
                assert!(lists == 0, "texts come before the list");
                texts += 1;
            } else {
                lists += 1;
            }
            index += 1;
        }
        assert!(numbers <= MAX_NUMBERS && texts <= MAX_TEXTS && lists <= 1);
        [numbers as u8, texts as u8, lists as u8]
    }
    /// The call with this name, as `syn dump` prints it.
    pub fn from_name(name: &str) -> Option<Call> {
        Call::ALL.iter().copied().find(|call| call.name() == name)
    }
    /// The position among the integers of the byte count that a complete transfer returns, if the call has one.
    #[inline]
    pub const fn requested(self) -> Option<usize> {
        match self {
            Call::Read
            | Call::Write
            | Call::Pread
            | Call::Pwrite
            | Call::Readv
            | Call::Writev
            | Call::Preadv
            | Call::Pwritev => Some(1),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_well_formed() {
        let mut last = 0;
        for &call in Call::ALL {
            let id = call as u16;
            assert!(id > last, "{call:?}: numbers rise");
            last = id;
            assert_eq!(Call::from_id(u64::from(id)), Some(call));
            assert_eq!(Call::from_name(call.name()), Some(call), "names are unique");
            call.shape();
            if let Some(position) = call.requested() {
                assert_eq!(call.args()[position].name, "count");
            }
        }
        assert_eq!(Call::from_id(0), None);
    }

    #[test]
    fn raw_identifiers_lose_their_mark() {
        assert_eq!(Call::Popen.args()[2].name, "type");
    }
}
