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
    /// Files mapped into memory.
    Mmap,
    /// Asynchronous I/O: POSIX, libaio, io_uring.
    Aio,
    /// Sockets, and waiting for descriptors to become ready.
    Socket,
    /// Process creation, replacement, end, and the threads of a process.
    Process,
    /// Synchronization between threads and between processes, signals.
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
            Layer::Mmap => "mmap",
            Layer::Aio => "aio",
            Layer::Socket => "socket",
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
    /// Numbers whose meaning the call's comment tells.
    List,
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
        matches!(self, Kind::Requests | Kind::Completions | Kind::Members | Kind::List)
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
    /// Of the commands that take a `struct flock`, the list holds `l_type`, `l_whence`, `l_start`, `l_len`.
    51 Fcntl "fcntl" Posix (fd: Fd, cmd: Int, arg: Int, lock: List);
    52 Chdir "chdir" Posix (path: Path);
    53 Fchdir "fchdir" Posix (fd: Fd);
    54 Pipe "pipe" Posix (read_fd: Fd, write_fd: Fd, flags: OpenFlags, st_ino: Int);
    55 Rewinddir "rewinddir" Posix (fd: Fd);
    /// An offset of -1 stands for a null pointer: the position of the open file is used and moved.
    56 CopyFileRange "copy_file_range" Posix (fd_in: Fd, fd_out: Fd, off_in: Offset, off_out: Offset, count: Bytes, flags: Int);
    /// An offset of -1 stands for a null pointer, as above.
    57 Sendfile "sendfile" Posix (in_fd: Fd, out_fd: Fd, offset: Offset, count: Bytes);
    /// An offset of -1 stands for a null pointer, as above.
    58 Splice "splice" Posix (fd_in: Fd, fd_out: Fd, off_in: Offset, off_out: Offset, count: Bytes, flags: Int);
    59 Getdents "getdents64" Posix (fd: Fd, count: Bytes);
    /// Of a file, or of anything else in place of one: anonymous memory is no I/O and has no record. The result is the
    /// address.
    60 Mmap "mmap" Mmap (fd: Fd, length: Bytes, prot: Int, flags: Int, offset: Offset);
    /// Of memory in which a file was mapped.
    61 Munmap "munmap" Mmap (addr: Handle, length: Bytes);
    62 Msync "msync" Mmap (addr: Handle, length: Bytes, flags: Int);
    63 Madvise "madvise" Mmap (addr: Handle, length: Bytes, advice: Int);

    64 Fopen "fopen" Stdio (fd: Fd, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path, mode: Text);
    65 Freopen "freopen" Stdio (fd: Fd, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path, mode: Text);
    66 Fclose "fclose" Stdio (fd: Fd);
    67 Fflush "fflush" Stdio (fd: Fd);
    68 Fread "fread" Stdio (fd: Fd, size: Int, nmemb: Int);
    69 Fwrite "fwrite" Stdio (fd: Fd, size: Int, nmemb: Int);
    70 Popen "popen" Stdio (fd: Fd, command: Text, r#type: Text);
    71 Pclose "pclose" Stdio (fd: Fd);
    72 Ioctl "ioctl" Posix (fd: Fd, request: Int);
    73 Flock "flock" Posix (fd: Fd, operation: Int);
    /// Not a call: how much of a mapping of a file has been touched since it was made, as found out before a call that
    /// writes back or unmaps. -1 stands for unknown. The list holds three numbers for every run of pages: page number
    /// from the start of `addr`, how many, and 0 for read, 1 for written, 2 where the two cannot be told apart.
    74 PagesTouched "pages-touched" Mmap (addr: Handle, length: Bytes, offset: Offset, present: Bytes, dirty: Bytes, pages: List);
    /// Not a call: what the call of the record before did again, `count` times, with the same arguments and result;
    /// so many of them were timed.
    75 Repeats "repeats" Process (count: Int, timed: Int);
    /// Not a call: a signal arrived; its handler begins.
    76 SignalDelivered "signal-delivered" Sync (signum: Int);
    /// The requests `FICLONE` and `FICLONERANGE` of ioctl(2), as `cp --reflink` makes them. `count` is what was cloned, also
    /// where the request says "to the end of the file"; `FIDEDUPERANGE`, which moves nothing, is an `ioctl`.
    77 CloneRange "ioctl_ficlonerange" Posix (src_fd: Fd, dest_fd: Fd, src_offset: Offset, dest_offset: Offset, count: Bytes);
    /// Not a call: the call with this number has been entered, and something inside it is on record before it. Its own
    /// record follows when it returns; what lay before it is told here.
    78 Entered "call-entered" Process (call: Int);

    /// Not a call: the first record of a process image.
    80 ProcessStart "process-start" Process (ppid: Pid, exe: Path, cwd: Path, command: Text);
    /// Not a call: a descriptor that was open when the process image started. Of the null device `path` is the usual one, of
    /// pipes and sockets without a name it is empty.
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
    96 Send "send" Socket (fd: Fd, count: Bytes, flags: Int);
    97 Recv "recv" Socket (fd: Fd, count: Bytes, flags: Int);
    98 Sendto "sendto" Socket (fd: Fd, count: Bytes, flags: Int, dest_addr: Text);
    99 Recvfrom "recvfrom" Socket (fd: Fd, count: Bytes, flags: Int, src_addr: Text);
    /// The list holds the descriptors that go with the message (`SCM_RIGHTS`).
    100 Sendmsg "sendmsg" Socket (fd: Fd, count: Bytes, flags: Int, dest_addr: Text, fds: List);
    /// As above; each descriptor that came has an `inherited-fd` record behind this one.
    101 Recvmsg "recvmsg" Socket (fd: Fd, count: Bytes, flags: Int, src_addr: Text, fds: List);
    /// The list holds a pair for every ready descriptor: `fd`, `revents`. A timeout of -1 is none. The result tells how
    /// many were ready when there are more than a list has room for; the same holds for the two calls below.
    102 Poll "poll" Socket (nfds: Int, timeout: Nanos, ready: List);
    /// The list holds a pair for every event: `data`, `events`. A timeout of -1 is none.
    103 EpollWait "epoll_wait" Socket (epfd: Fd, maxevents: Int, timeout: Nanos, ready: List);
    /// The list holds a pair for every ready descriptor: `fd`, and 1 to read, 2 to write, 4 exceptional.
    104 Select "select" Socket (nfds: Int, timeout: Nanos, ready: List);
    105 EpollCtl "epoll_ctl" Socket (epfd: Fd, op: Int, fd: Fd, events: Int, data: Handle);
    106 MutexLock "pthread_mutex_lock" Sync (mutex: Handle);
    107 MutexUnlock "pthread_mutex_unlock" Sync (mutex: Handle);
    108 CondWait "pthread_cond_wait" Sync (cond: Handle, mutex: Handle);
    109 CondSignal "pthread_cond_signal" Sync (cond: Handle);

    110 Nanosleep "nanosleep" Time (rqtp: Nanos);
    111 ClockNanosleep "clock_nanosleep" Time (clockid: Int, flags: Int, request: Nanos);
    112 Usleep "usleep" Time (usec: Nanos);
    113 Sleep "sleep" Time (seconds: Nanos);
    114 CondBroadcast "pthread_cond_broadcast" Sync (cond: Handle);
    115 CondTimedwait "pthread_cond_timedwait" Sync (cond: Handle, mutex: Handle, clockid: Int, abstime: Nanos);
    116 SemWait "sem_wait" Sync (sem: Handle);
    117 SemPost "sem_post" Sync (sem: Handle);
    118 RwlockRdlock "pthread_rwlock_rdlock" Sync (rwlock: Handle);
    119 RwlockWrlock "pthread_rwlock_wrlock" Sync (rwlock: Handle);
    120 RwlockUnlock "pthread_rwlock_unlock" Sync (rwlock: Handle);
    121 BarrierWait "pthread_barrier_wait" Sync (barrier: Handle);
    122 SpinLock "pthread_spin_lock" Sync (lock: Handle);
    123 Futex "futex" Sync (uaddr: Handle, op: Int, val: Int);
    124 MutexTimedlock "pthread_mutex_timedlock" Sync (mutex: Handle, abstime: Nanos);
    125 SemTimedwait "sem_timedwait" Sync (sem: Handle, abstime: Nanos);
    /// A system call made by number that is not in this table.
    126 Syscall "syscall" Posix (number: Int);

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

    256 Tee "tee" Posix (fd_in: Fd, fd_out: Fd, count: Bytes, flags: Int);
    257 Vmsplice "vmsplice" Posix (fd: Fd, count: Bytes, nr_segs: Int, flags: Int);
    258 Openat2 "openat2" Posix (dirfd: DirFd, flags: OpenFlags, mode: Mode, resolve: Int, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path);
    259 MemfdCreate "memfd_create" Posix (flags: Int, st_ino: Int, name: Text);
    260 PosixFadvise "posix_fadvise" Posix (fd: Fd, offset: Offset, len: Bytes, advice: Int);
    261 Readahead "readahead" Posix (fd: Fd, offset: Offset, count: Bytes);
    262 Statfs "statfs" Posix (path: Path);
    263 Fstatfs "fstatfs" Posix (fd: Fd);
    264 Chmod "chmod" Posix (mode: Mode, pathname: Path);
    265 Fchmod "fchmod" Posix (fd: Fd, mode: Mode);
    266 Fchmodat "fchmodat" Posix (dirfd: DirFd, mode: Mode, flags: Int, pathname: Path);
    267 Chown "chown" Posix (owner: Int, group: Int, pathname: Path);
    268 Lchown "lchown" Posix (owner: Int, group: Int, pathname: Path);
    269 Fchown "fchown" Posix (fd: Fd, owner: Int, group: Int);
    270 Fchownat "fchownat" Posix (dirfd: DirFd, owner: Int, group: Int, flags: Int, pathname: Path);
    271 Utimensat "utimensat" Posix (dirfd: DirFd, flags: Int, pathname: Path);
    272 Futimens "futimens" Posix (fd: Fd);
    273 Mknod "mknod" Posix (mode: Mode, dev: Int, pathname: Path);
    274 Mknodat "mknodat" Posix (dirfd: DirFd, mode: Mode, dev: Int, pathname: Path);
    275 Chroot "chroot" Posix (path: Path);
    276 Lockf "lockf" Posix (fd: Fd, cmd: Int, len: Offset);
    280 Getxattr "getxattr" Posix (size: Bytes, path: Path, name: Text);
    281 Lgetxattr "lgetxattr" Posix (size: Bytes, path: Path, name: Text);
    282 Fgetxattr "fgetxattr" Posix (fd: Fd, size: Bytes, name: Text);
    283 Setxattr "setxattr" Posix (size: Bytes, flags: Int, path: Path, name: Text);
    284 Lsetxattr "lsetxattr" Posix (size: Bytes, flags: Int, path: Path, name: Text);
    285 Fsetxattr "fsetxattr" Posix (fd: Fd, size: Bytes, flags: Int, name: Text);
    286 Listxattr "listxattr" Posix (size: Bytes, path: Path);
    287 Llistxattr "llistxattr" Posix (size: Bytes, path: Path);
    288 Flistxattr "flistxattr" Posix (fd: Fd, size: Bytes);
    289 Removexattr "removexattr" Posix (path: Path, name: Text);
    290 Lremovexattr "lremovexattr" Posix (path: Path, name: Text);
    291 Fremovexattr "fremovexattr" Posix (fd: Fd, name: Text);

    300 Mremap "mremap" Mmap (old_address: Handle, old_size: Bytes, new_size: Bytes, flags: Int);
    301 Mincore "mincore" Mmap (addr: Handle, length: Bytes);
    302 Mlock "mlock" Mmap (addr: Handle, len: Bytes, flags: Int);
    303 Mlockall "mlockall" Mmap (flags: Int);
    304 Munlock "munlock" Mmap (addr: Handle, len: Bytes);
    305 Munlockall "munlockall" Mmap ();
    /// Not a call: a mapping of a file that a forked child has from its parent.
    306 InheritedMapping "inherited-mapping" Mmap (addr: Handle, length: Bytes, prot: Int, flags: Int, offset: Offset, path: Path);

    310 AioRead "aio_read" Aio (fd: Fd, count: Bytes, offset: Offset, aiocbp: Handle);
    311 AioWrite "aio_write" Aio (fd: Fd, count: Bytes, offset: Offset, aiocbp: Handle);
    312 AioFsync "aio_fsync" Aio (fd: Fd, op: Int, aiocbp: Handle);
    313 AioError "aio_error" Aio (fd: Fd, aiocbp: Handle);
    314 AioReturn "aio_return" Aio (fd: Fd, aiocbp: Handle);
    /// The list holds the control blocks that were waited for.
    315 AioSuspend "aio_suspend" Aio (nitems: Int, timeout: Nanos, aiocbs: List);
    316 AioCancel "aio_cancel" Aio (fd: Fd, aiocbp: Handle);
    /// Each transfer has a record of `aio_read` or `aio_write` before this one, as of a call inside it.
    317 LioListio "lio_listio" Aio (mode: Int, nitems: Int);
    320 IoSetup "io_setup" Aio (nr_events: Int, ctx: Handle);
    321 IoDestroy "io_destroy" Aio (ctx: Handle);
    /// Each block that was taken has an `iocb` record behind this one.
    322 IoSubmit "io_submit" Aio (ctx: Handle, nr: Int);
    /// Not a call: a control block of `io_submit`; `iocb` is its address.
    323 Iocb "iocb" Aio (fd: Fd, opcode: Int, count: Bytes, offset: Offset, iocb: Handle);
    /// The list holds a pair for every completion: the address of the control block, and the result.
    324 IoGetevents "io_getevents" Aio (ctx: Handle, min_nr: Int, nr: Int, timeout: Nanos, completed: List);
    325 IoCancel "io_cancel" Aio (ctx: Handle, iocb: Handle);
    330 IoUringSetup "io_uring_setup" Aio (entries: Int, flags: Int);
    331 IoUringEnter "io_uring_enter" Aio (fd: Fd, to_submit: Int, min_complete: Int, flags: Int);
    /// Of the operations that register files, the list holds the place of the first one, then their descriptors.
    332 IoUringRegister "io_uring_register" Aio (fd: Fd, opcode: Int, nr_args: Int, files: List);
    /// Not a call: an entry of a submission queue, which the `io_uring_enter` behind it hands over. `fd` is the file's, or
    /// its place among the registered ones when the entry's flags say so.
    333 Sqe "sqe" Aio (ring_fd: Fd, opcode: Int, flags: Int, fd: Fd, count: Bytes, offset: Offset, user_data: Handle);
    /// Not a call: an entry of a completion queue, first seen at the return of the call before. The result is the entry's; a
    /// descriptor that comes out of it has an `inherited-fd` record behind this one.
    334 Cqe "cqe" Aio (ring_fd: Fd, res: Int, flags: Int, user_data: Handle);

    /// `count` is what was sent: the bytes of as many messages as the result tells.
    340 Sendmmsg "sendmmsg" Socket (fd: Fd, count: Bytes, vlen: Int, flags: Int);
    /// As above; each descriptor that came has an `inherited-fd` record behind this one.
    341 Recvmmsg "recvmmsg" Socket (fd: Fd, count: Bytes, vlen: Int, flags: Int);
    342 Socket "socket" Socket (domain: Int, r#type: Int, protocol: Int, st_ino: Int);
    343 Socketpair "socketpair" Socket (first: Fd, second: Fd, domain: Int, r#type: Int, protocol: Int, first_ino: Int, second_ino: Int);
    /// Addresses are written `inet:127.0.0.1:80`, `inet6:[::1]:80`, `unix:/path`, `unix:@abstract`, `unix:` (unnamed),
    /// `family:16` (any other), and are empty where there is none. This one is as it turned out: the kernel may have
    /// chosen the port.
    344 Bind "bind" Socket (fd: Fd, addr: Text);
    345 Listen "listen" Socket (fd: Fd, backlog: Int);
    /// `pid` is the peer's, of a Unix socket.
    346 Accept "accept" Socket (fd: Fd, flags: Int, st_ino: Int, pid: Pid, local: Text, peer: Text);
    /// `local` is empty where the call came to nothing.
    347 Connect "connect" Socket (fd: Fd, local: Text, addr: Text);
    348 Shutdown "shutdown" Socket (fd: Fd, how: Int);
    349 Setsockopt "setsockopt" Socket (fd: Fd, level: Int, optname: Int, optlen: Bytes);
    350 Getsockopt "getsockopt" Socket (fd: Fd, level: Int, optname: Int);
    351 Getsockname "getsockname" Socket (fd: Fd, addr: Text);
    352 Getpeername "getpeername" Socket (fd: Fd, addr: Text);
    360 EpollCreate "epoll_create" Socket (flags: Int);
    361 Eventfd "eventfd" Socket (initval: Int, flags: Int);
    362 Signalfd "signalfd" Socket (fd: Fd, mask: Handle, flags: Int);
    363 TimerfdCreate "timerfd_create" Time (clockid: Int, flags: Int);
    364 TimerfdSettime "timerfd_settime" Time (fd: Fd, flags: Int, value: Nanos, interval: Nanos);
    365 TimerfdGettime "timerfd_gettime" Time (fd: Fd);
    366 InotifyInit "inotify_init" Posix (flags: Int);
    367 InotifyAddWatch "inotify_add_watch" Posix (fd: Fd, mask: Int, pathname: Path);
    368 InotifyRmWatch "inotify_rm_watch" Posix (fd: Fd, wd: Int);
    369 PidfdOpen "pidfd_open" Process (pid: Pid, flags: Int);
    /// What the descriptor is that was taken stands in an `inherited-fd` record behind this one.
    370 PidfdGetfd "pidfd_getfd" Process (pidfd: Fd, targetfd: Int, flags: Int);
    371 PidfdSendSignal "pidfd_send_signal" Sync (pidfd: Fd, sig: Int);

    380 Semget "semget" Sync (key: Int, nsems: Int, semflg: Int);
    381 Semctl "semctl" Sync (semid: Int, semnum: Int, cmd: Int);
    /// The list holds three numbers for every operation: `sem_num`, `sem_op`, `sem_flg`. A timeout of -1 is none.
    382 Semop "semop" Sync (semid: Int, timeout: Nanos, sops: List);
    383 Shmget "shmget" Sync (key: Int, size: Bytes, shmflg: Int);
    384 Shmat "shmat" Sync (shmid: Int, shmflg: Int);
    385 Shmdt "shmdt" Sync (shmaddr: Handle);
    386 Shmctl "shmctl" Sync (shmid: Int, cmd: Int);
    387 Msgget "msgget" Sync (key: Int, msgflg: Int);
    388 Msgsnd "msgsnd" Sync (msqid: Int, msgsz: Bytes, msgflg: Int);
    389 Msgrcv "msgrcv" Sync (msqid: Int, msgsz: Bytes, msgtyp: Int, msgflg: Int);
    390 Msgctl "msgctl" Sync (msqid: Int, cmd: Int);
    391 MqOpen "mq_open" Sync (oflag: OpenFlags, mode: Mode, st_ino: Int, name: Text);
    392 MqSend "mq_send" Sync (mqdes: Fd, msg_len: Bytes, msg_prio: Int, abs_timeout: Nanos);
    393 MqReceive "mq_receive" Sync (mqdes: Fd, msg_len: Bytes, msg_prio: Int, abs_timeout: Nanos);
    394 MqUnlink "mq_unlink" Sync (name: Text);
    395 SemOpen "sem_open" Sync (oflag: OpenFlags, sem: Handle, name: Text);
    396 SemClose "sem_close" Sync (sem: Handle);
    397 SemUnlink "sem_unlink" Sync (name: Text);
    /// `handler` is 0 for the default action, 1 to ignore the signal, 2 for a function, -1 when it was only asked for.
    410 Sigaction "sigaction" Sync (signum: Int, handler: Int, flags: Int);
    411 Kill "kill" Sync (pid: Pid, sig: Int);
    412 PthreadKill "pthread_kill" Sync (thread: Handle, sig: Int);
    413 Raise "raise" Sync (sig: Int);
    414 Sigqueue "sigqueue" Sync (pid: Pid, sig: Int);
    415 Pause "pause" Sync ();
    416 Sigsuspend "sigsuspend" Sync (mask: Handle);
    /// The result is the signal. A timeout of -1 is none.
    417 Sigwait "sigwait" Sync (set: Handle, timeout: Nanos);
    418 Alarm "alarm" Time (seconds: Nanos);
    419 Setitimer "setitimer" Time (which: Int, value: Nanos, interval: Nanos);
    420 TimerCreate "timer_create" Time (clockid: Int, sig: Int, timerid: Handle);
    421 TimerSettime "timer_settime" Time (timerid: Handle, flags: Int, value: Nanos, interval: Nanos);
    422 TimerDelete "timer_delete" Time (timerid: Handle);
    430 Clone "clone" Process (flags: Handle);
    /// Not a call: which program the child of the `vfork` before has called `execve` for, in its parent's memory.
    431 ChildExecve "child-execve" Process (pid: Pid, pathname: Path);
}

/// One more than the largest number that a call has, or may come to have.
pub const NUMBERS: usize = 512;

/// The shape of every call by its number, so that decoding looks it up; numbers without a call have none.
static SHAPES: [[u8; 4]; NUMBERS] = {
    let mut shapes = [[0; 4]; NUMBERS];
    let mut index = 0;
    while index < Call::ALL.len() {
        shapes[Call::ALL[index] as usize] = Call::ALL[index].count_shape();
        index += 1;
    }
    shapes
};

/// The interface of every call by its number. The shim asks for nothing else of the table above, whose names and addresses
/// would be a quarter of what the loader relocates in every process.
static LAYERS: [Layer; NUMBERS] = {
    let mut layers = [Layer::Posix; NUMBERS];
    let mut index = 0;
    while index < Call::ALL.len() {
        layers[Call::ALL[index] as usize] = Call::ALL[index].info().layer;
        index += 1;
    }
    layers
};

impl Call {
    /// The libc or MPI name.
    pub const fn name(self) -> &'static str {
        self.info().name
    }
    /// The interface the call belongs to.
    #[inline(always)]
    pub fn layer(self) -> Layer {
        LAYERS[self as usize]
    }
    /// What a record of the call holds.
    pub const fn args(self) -> &'static [Arg] {
        self.info().args
    }
    /// How many integers, texts and lists (0 or 1) a record of the call holds.
    #[inline(always)]
    pub fn shape(self) -> (usize, usize, usize) {
        let [numbers, texts, lists, _] = SHAPES[self as usize];
        (numbers as usize, texts as usize, lists as usize)
    }
    /// True when a call is likely to come again with the same arguments and result: not with a path or address in them,
    /// and not with a place in a file, which moves on. Of a count of repetitions the writer remembers nothing, since it
    /// changes the record while it counts; a reader that did would take it for what has its place.
    #[inline(always)]
    pub fn recurs(self) -> bool {
        SHAPES[self as usize][3] != 0
    }
    const fn count_shape(self) -> [u8; 4] {
        let args = self.args();
        let (mut numbers, mut texts, mut lists, mut index, mut moves) = (0, 0, 0, 0, false);
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
            moves |= matches!(args[index].kind, Kind::Offset);
            index += 1;
        }
        assert!(numbers <= MAX_NUMBERS && texts <= MAX_TEXTS && lists <= 1);
        let recurs = texts == 0 && !moves && !matches!(self, Call::Repeats);
        [numbers as u8, texts as u8, lists as u8, recurs as u8]
    }
    /// The call with this name, as `syn dump` prints it.
    pub fn from_name(name: &str) -> Option<Call> {
        Call::ALL.iter().copied().find(|call| call.name() == name)
    }
    /// True when a call says that nothing has happened yet: the program asked and will ask again.
    #[inline(always)]
    pub fn is_idle(self, failed: bool, outcome: i64, numbers: &[i64]) -> bool {
        const EAGAIN: i64 = 11;
        const EINPROGRESS: i64 = 115;
        if failed {
            return outcome == EAGAIN;
        }
        let is_zero = |position: usize| numbers.get(position) == Some(&0);
        match self {
            // The completed requests are counted.
            Call::MpiTest | Call::MpiTestany | Call::MpiTestsome | Call::MpiTestall => is_zero(1),
            Call::MpiIprobe | Call::MpiImprobe => is_zero(3),
            Call::Poll | Call::Select => outcome == 0 && is_zero(1),
            Call::EpollWait => outcome == 0 && is_zero(2),
            Call::AioError => outcome == EINPROGRESS,
            _ => false,
        }
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
            | Call::Pwritev
            | Call::Send
            | Call::Recv
            | Call::Sendto
            | Call::Recvfrom
            | Call::Sendmsg
            | Call::Recvmsg => Some(1),
            Call::Sendfile => Some(3),
            Call::CopyFileRange | Call::Splice => Some(4),
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
