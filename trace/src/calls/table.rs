//! The rows of the table.
//!
//! `number variant "name" layer (argument: kind, …) [effect, fact, …] also "name" …;` — what is recorded under a name is
//! listed behind `also`: functions that do the same with other arguments. The comment above a row goes into `FORMAT.md`.

use super::argument::{Arg, Kind};
use super::effect::Collective::{
    AllForAll, AllForRoot, Exchange, LaterForEarlier, Meeting, Neighbours, RootForAll,
};
use super::effect::Effect::{self, *};
use super::effect::Follow::{ByFlags, Followed, Itself};
use super::effect::Members::{Between, Group, Merged, Within};
use super::effect::Mode::{Buffered, Standard, Synchronous};
use super::effect::Mpi::*;
use super::effect::Place::{Either, Offset, Position};
use super::effect::Sync::*;
use super::{CallInfo, Fact, Layer};

macro_rules! calls {
    ($(
        $(#[doc = $doc:literal])*
        $id:literal $variant:ident $name:literal $layer:ident ( $($arg:ident : $kind:ident),* )
        $( [ $effect:expr $(, $fact:ident)* ] )? $( also $($twin:literal)+ )?;
    )*) => {
        /// A call that can stand in a trace.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        #[allow(missing_docs)]
        pub enum Call { $( $(#[doc = $doc])* $variant = $id, )* }

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
                    effect: effect!($( $effect )?),
                    facts: &[ $( $( Fact::$fact, )* )? ],
                    also: &[ $( $( $twin, )+ )? ],
                    comment: &[ $( $doc, )* ],
                }, )* }
            }

            /// The call with this number on disk.
            pub const fn from_id(id: u64) -> Option<Call> {
                match id { $( $id => Some(Call::$variant), )* _ => None }
            }
        }
    };
}

macro_rules! effect {
    () => {
        Effect::Other
    };
    ($effect:expr) => {
        $effect
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
    1 Read "read" Posix (fd: Fd, count: Bytes) [Read(Position), Waits, MovesAtMost];
    2 Write "write" Posix (fd: Fd, count: Bytes) [Write(Position), Waits, MovesAtMost];
    3 Pread "pread" Posix (fd: Fd, count: Bytes, offset: Offset) [Read(Offset), Waits, MovesAtMost];
    4 Pwrite "pwrite" Posix (fd: Fd, count: Bytes, offset: Offset) [Write(Offset), Waits, MovesAtMost];
    5 Readv "readv" Posix (fd: Fd, count: Bytes, iovcnt: Int) [Read(Position), Waits, MovesAtMost];
    6 Writev "writev" Posix (fd: Fd, count: Bytes, iovcnt: Int) [Write(Position), Waits, MovesAtMost];
    7 Preadv "preadv" Posix (fd: Fd, count: Bytes, offset: Offset, iovcnt: Int, flags: Int) [Read(Either), Waits, MovesAtMost];
    8 Pwritev "pwritev" Posix (fd: Fd, count: Bytes, offset: Offset, iovcnt: Int, flags: Int) [Write(Either), Waits, MovesAtMost];
    9 Lseek "lseek" Posix (fd: Fd, offset: Offset, whence: Whence) [Seek];
    10 Open "open" Posix (flags: OpenFlags, mode: Mode, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path) [Open];
    11 Openat "openat" Posix (dirfd: DirFd, flags: OpenFlags, mode: Mode, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path) [Open];
    12 Creat "creat" Posix (mode: Mode, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path) [Create];
    13 Close "close" Posix (fd: Fd) [Close] also "io_uring_close_ring_fd" "io_uring_queue_exit" "mq_close";
    14 CloseRange "close_range" Posix (first: Fd, last: Fd, flags: Int) [CloseRange] also "closefrom";
    15 Fsync "fsync" Posix (fd: Fd) [Fsync, Waits];
    16 Fdatasync "fdatasync" Posix (fd: Fd) [Fdatasync, Waits];
    17 SyncFileRange "sync_file_range" Posix (fd: Fd, offset: Offset, nbytes: Bytes, flags: SyncRangeFlags) [SyncRange, Waits];
    18 Syncfs "syncfs" Posix (fd: Fd) [SyncFileSystem, Waits];
    19 Sync "sync" Posix () [SyncAll];
    20 Truncate "truncate" Posix (length: Bytes, path: Path) [Truncate];
    21 Ftruncate "ftruncate" Posix (fd: Fd, length: Bytes) [Truncate];
    22 Fallocate "fallocate" Posix (fd: Fd, mode: AllocateFlags, offset: Offset, len: Bytes) [Allocate, Waits];
    23 PosixFallocate "posix_fallocate" Posix (fd: Fd, offset: Offset, len: Bytes) [Allocate, Waits, ReturnsError];
    24 Stat "stat" Posix (st_mode: Mode, st_size: Bytes, pathname: Path) [Stat(Followed)] also "xstat";
    25 Lstat "lstat" Posix (st_mode: Mode, st_size: Bytes, pathname: Path) [Stat(Itself)] also "lxstat";
    26 Fstat "fstat" Posix (fd: Fd, st_mode: Mode, st_size: Bytes) [Stat(Followed)] also "fxstat";
    27 Fstatat "fstatat" Posix (dirfd: DirFd, flags: StatFlags, st_mode: Mode, st_size: Bytes, pathname: Path) [Stat(ByFlags)] also "fxstatat";
    28 Statx "statx" Posix (dirfd: DirFd, flags: StatFlags, mask: Int, st_mode: Mode, st_size: Bytes, pathname: Path) [Stat(ByFlags)];
    29 Access "access" Posix (mode: AccessMode, pathname: Path) [Access] also "eaccess" "euidaccess";
    30 Faccessat "faccessat" Posix (dirfd: DirFd, mode: AccessMode, flags: AccessFlags, pathname: Path) [Access];
    31 Unlink "unlink" Posix (pathname: Path) [Unlink];
    32 Unlinkat "unlinkat" Posix (dirfd: DirFd, flags: UnlinkFlags, pathname: Path) [Unlink];
    33 Rename "rename" Posix (oldpath: Path, newpath: Path) [Rename];
    34 Renameat "renameat" Posix (olddirfd: DirFd, newdirfd: DirFd, flags: RenameFlags, oldpath: Path, newpath: Path) [Rename] also "renameat2";
    35 Link "link" Posix (oldpath: Path, newpath: Path) [Link];
    36 Linkat "linkat" Posix (olddirfd: DirFd, newdirfd: DirFd, flags: LinkFlags, oldpath: Path, newpath: Path) [Link];
    37 Symlink "symlink" Posix (target: Text, linkpath: Path) [Symlink];
    38 Symlinkat "symlinkat" Posix (newdirfd: DirFd, target: Text, linkpath: Path) [Symlink];
    39 Mkdir "mkdir" Posix (mode: Mode, pathname: Path) [MakeFolder];
    40 Mkdirat "mkdirat" Posix (dirfd: DirFd, mode: Mode, pathname: Path) [MakeFolder];
    41 Rmdir "rmdir" Posix (pathname: Path) [RemoveFolder];
    42 Readlink "readlink" Posix (bufsiz: Bytes, pathname: Path) [ReadLink];
    43 Readlinkat "readlinkat" Posix (dirfd: DirFd, bufsiz: Bytes, pathname: Path) [ReadLink];
    44 Opendir "opendir" Posix (fd: Fd, name: Path) [OpenFolderStream, Stream];
    45 Fdopendir "fdopendir" Posix (fd: Fd) [Other, Stream];
    /// One entry handed to the application; the result is 1, at the end of the directory 0.
    46 Readdir "readdir" Posix (fd: Fd) [ReadEntry, Waits] also "readdir_r";
    47 Closedir "closedir" Posix (fd: Fd) [CloseStream, Stream];
    48 Dup "dup" Posix (oldfd: Fd) [Duplicate];
    49 Dup2 "dup2" Posix (oldfd: Fd, newfd: Fd) [DuplicateTo];
    50 Dup3 "dup3" Posix (oldfd: Fd, newfd: Fd, flags: OpenFlags) [DuplicateTo];
    /// Of the commands that take a `struct flock`, the list holds `l_type`, `l_whence`, `l_start`, `l_len`.
    51 Fcntl "fcntl" Posix (fd: Fd, cmd: FcntlCommand, arg: Int, lock: List) [Control];
    52 Chdir "chdir" Posix (path: Path) [ChangeFolder];
    53 Fchdir "fchdir" Posix (fd: Fd) [ChangeFolder];
    54 Pipe "pipe" Posix (read_fd: Fd, write_fd: Fd, flags: OpenFlags, st_ino: Int) [Pipe] also "pipe2";
    55 Rewinddir "rewinddir" Posix (fd: Fd) [Rewind];
    /// An offset of -1 stands for a null pointer: the position of the open file is used and moved.
    56 CopyFileRange "copy_file_range" Posix (fd_in: Fd, fd_out: Fd, off_in: Offset, off_out: Offset, count: Bytes, flags: Int) [Transfer, Waits, MovesAtMost];
    /// An offset of -1 stands for a null pointer, as above.
    57 Sendfile "sendfile" Posix (in_fd: Fd, out_fd: Fd, offset: Offset, count: Bytes) [Transfer, Waits, MovesAtMost];
    /// An offset of -1 stands for a null pointer, as above.
    58 Splice "splice" Posix (fd_in: Fd, fd_out: Fd, off_in: Offset, off_out: Offset, count: Bytes, flags: SpliceFlags) [Transfer, Waits, MovesAtMost];
    59 Getdents "getdents64" Posix (fd: Fd, count: Bytes) [ReadEntries, Waits] also "getdents";
    /// Of a file, of anything else in place of one, or of memory that processes share: other anonymous memory has no record.
    /// The result is the address.
    60 Mmap "mmap" Mmap (fd: Fd, length: Bytes, prot: Int, flags: Int, offset: Offset) [Map, MovesAll];
    /// Of memory in which a file was mapped.
    61 Munmap "munmap" Mmap (addr: Handle, length: Bytes) [Unmap];
    62 Msync "msync" Mmap (addr: Handle, length: Bytes, flags: Int) [SyncPages];
    63 Madvise "madvise" Mmap (addr: Handle, length: Bytes, advice: Int) [AdvisePages] also "posix_madvise";

    64 Fopen "fopen" Stdio (fd: Fd, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path, mode: Text) [OpenStream];
    65 Freopen "freopen" Stdio (fd: Fd, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path, mode: Text) [ReopenStream];
    66 Fclose "fclose" Stdio (fd: Fd) [CloseStream];
    67 Fflush "fflush" Stdio (fd: Fd) [Other, Waits];
    68 Fread "fread" Stdio (fd: Fd, size: Int, nmemb: Int) [ReadStream, Waits];
    69 Fwrite "fwrite" Stdio (fd: Fd, size: Int, nmemb: Int) [WriteStream, Waits];
    /// What the descriptor is stands in an `inherited-fd` record behind this one.
    70 Popen "popen" Stdio (fd: Fd, command: Text, r#type: Text) [OpenProcessStream];
    71 Pclose "pclose" Stdio (fd: Fd) [CloseProcessStream];
    72 Ioctl "ioctl" Posix (fd: Fd, request: IoctlRequest) [ControlDevice] also "tcgetattr" "tcsetattr";
    73 Flock "flock" Posix (fd: Fd, operation: FlockOperation) [LockFile, Waits];
    /// Not a call: how much of a mapping of a file has been touched since it was made, as found out before a call that
    /// writes back or unmaps. -1 stands for unknown. The list holds three numbers for every run of pages: page number
    /// from the start of `addr`, how many, and 0 for read, 1 for written, 2 where the two cannot be told apart.
    74 PagesTouched "pages-touched" Mmap (addr: Handle, length: Bytes, offset: Offset, present: Bytes, dirty: Bytes, pages: List) [UsePages, Note];
    /// Not a call: what the call of the record before did again, `count` times, with the same arguments and result;
    /// so many of them were timed.
    75 Repeats "repeats" Process (count: Int, timed: Int);
    /// Not a call: a signal arrived; its handler begins.
    76 SignalDelivered "signal-delivered" Sync (signum: Int) [Other, Note];
    /// The requests `FICLONE` and `FICLONERANGE` of ioctl(2), as `cp --reflink` makes them. `count` is what was cloned, also
    /// where the request says "to the end of the file"; `FIDEDUPERANGE`, which moves nothing, is an `ioctl`.
    77 CloneRange "ioctl_ficlonerange" Posix (src_fd: Fd, dest_fd: Fd, src_offset: Offset, dest_offset: Offset, count: Bytes) [Share, Waits];
    /// Not a call: the call with this number has been entered, and something inside it is on record before it. Its own
    /// record follows when it returns; what lay before it is told here.
    78 Entered "call-entered" Process (call: Int) [Other, Note];
    /// The request `TIOCGPTN` of ioctl(2), as ptsname(3) makes it: the slave of this pseudoterminal is `/dev/pts/<number>`.
    79 TerminalNumber "ioctl_tiocgptn" Posix (fd: Fd, number: Int) [NumberTerminal];

    /// Not a call: the first record of a process image.
    80 ProcessStart "process-start" Process (ppid: Pid, exe: Path, cwd: Path, command: Text);
    /// Not a call: a descriptor that was open when the process image started. Of the null device `path` is the usual one, of
    /// pipes and sockets without a name it is empty.
    81 InheritedFd "inherited-fd" Process (fd: Fd, flags: OpenFlags, offset: Offset, st_mode: Mode, st_size: Bytes, st_ino: Int, path: Path) [Inherit, Note];
    /// Not a call: the first record of a further thread. `creator` is the thread that made it, 0 when unknown.
    82 ThreadStart "thread-start" Process (thread: Handle, creator: Pid);
    /// Not a call: the thread ended in an orderly way. What destructors and libc do behind that may follow.
    83 ThreadEnd "thread-end" Process ();
    /// Not a call: something that could not be observed, and why.
    84 Unobserved "unobserved" Process (what: Text) [Other, Note];
    85 Fork "fork" Process () [Fork] also "_Fork";
    86 Vfork "vfork" Process () [Fork, AwaitsExec];
    /// A record with the flag `began` is written before the call; another one follows only if it failed.
    87 Execve "execve" Process (pathname: Path) [Exec] also "execl" "execle" "execlp" "execv" "execveat" "execvp" "execvpe" "fexecve";
    88 PosixSpawn "posix_spawn" Process (pid: Pid, path: Path) [Spawn, AwaitsExec, ReturnsError] also "posix_spawnp";
    89 Waitpid "waitpid" Process (pid: Pid, status: Int, options: Int) [AwaitProcess] also "wait" "wait3" "wait4";
    /// With `P_ALL` and `P_PGID`, `id` is the child that was found, or 0.
    90 Waitid "waitid" Process (idtype: Int, id: Pid, options: Int) [AwaitProcessById];
    /// Written before the call, with the flag `began`: it does not return.
    91 Exit "_exit" Process (status: Int) [Exit] also "_Exit";
    92 System "system" Process (command: Text) [RunCommand];
    93 PthreadCreate "pthread_create" Process (thread: Handle) [CreateThread, ReturnsError] also "thrd_create";
    94 PthreadJoin "pthread_join" Process (thread: Handle) [JoinThread, ReturnsError] also "pthread_clockjoin_np" "pthread_timedjoin_np" "pthread_tryjoin_np" "thrd_join";
    95 PthreadDetach "pthread_detach" Process (thread: Handle) also "thrd_detach";
    96 Send "send" Socket (fd: Fd, count: Bytes, flags: MessageFlags) [SendMessage, Waits, MovesAtMost];
    97 Recv "recv" Socket (fd: Fd, count: Bytes, flags: MessageFlags) [ReceiveMessage, Waits, MovesAtMost];
    98 Sendto "sendto" Socket (fd: Fd, count: Bytes, flags: MessageFlags, dest_addr: Text) [SendMessage, Waits, MovesAtMost];
    99 Recvfrom "recvfrom" Socket (fd: Fd, count: Bytes, flags: MessageFlags, src_addr: Text) [ReceiveMessage, Waits, MovesAtMost];
    /// The list holds the descriptors that go with the message (`SCM_RIGHTS`).
    100 Sendmsg "sendmsg" Socket (fd: Fd, count: Bytes, flags: MessageFlags, dest_addr: Text, fds: List) [SendMessage, Waits, MovesAtMost];
    /// As above; each descriptor that came has an `inherited-fd` record behind this one.
    101 Recvmsg "recvmsg" Socket (fd: Fd, count: Bytes, flags: MessageFlags, src_addr: Text, fds: List) [ReceiveMessage, Waits, MovesAtMost];
    /// The list holds a pair for every ready descriptor: `fd`, `revents`. A timeout of -1 is none. The result tells how
    /// many were ready when there are more than a list has room for; the same holds for the two calls below.
    102 Poll "poll" Socket (nfds: Int, timeout: Nanos, ready: List) [AwaitReadiness] also "ppoll";
    /// The list holds a pair for every event: `data`, `events`. A timeout of -1 is none.
    103 EpollWait "epoll_wait" Socket (epfd: Fd, maxevents: Int, timeout: Nanos, ready: List) [AwaitReadiness, Waits] also "epoll_pwait" "epoll_pwait2";
    /// The list holds a pair for every ready descriptor: `fd`, and 1 to read, 2 to write, 4 exceptional.
    104 Select "select" Socket (nfds: Int, timeout: Nanos, ready: List) [AwaitReadiness] also "pselect";
    105 EpollCtl "epoll_ctl" Socket (epfd: Fd, op: EpollOperation, fd: Fd, events: EpollEvents, data: Handle) [WatchDescriptor];
    106 MutexLock "pthread_mutex_lock" Sync (mutex: Handle) [Sync(LockMutex)] also "mtx_lock";
    107 MutexUnlock "pthread_mutex_unlock" Sync (mutex: Handle) [Sync(UnlockMutex)] also "mtx_unlock";
    108 CondWait "pthread_cond_wait" Sync (cond: Handle, mutex: Handle) [Sync(AwaitCondition)] also "cnd_wait";
    109 CondSignal "pthread_cond_signal" Sync (cond: Handle) [Sync(SignalCondition)] also "cnd_signal";

    110 Nanosleep "nanosleep" Time (rqtp: Nanos) [Sleep] also "thrd_sleep";
    111 ClockNanosleep "clock_nanosleep" Time (clockid: Int, flags: Int, request: Nanos) [Sleep];
    112 Usleep "usleep" Time (usec: Nanos) [Sleep];
    113 Sleep "sleep" Time (seconds: Nanos) [Sleep];
    114 CondBroadcast "pthread_cond_broadcast" Sync (cond: Handle) [Sync(BroadcastCondition)] also "cnd_broadcast";
    115 CondTimedwait "pthread_cond_timedwait" Sync (cond: Handle, mutex: Handle, clockid: Int, abstime: Nanos) [Sync(AwaitCondition)] also "cnd_timedwait" "pthread_cond_clockwait";
    116 SemWait "sem_wait" Sync (sem: Handle) [Sync(TakeSemaphore)] also "sem_trywait";
    117 SemPost "sem_post" Sync (sem: Handle) [Sync(PostSemaphore)];
    118 RwlockRdlock "pthread_rwlock_rdlock" Sync (rwlock: Handle) [Sync(LockToRead)] also "pthread_rwlock_clockrdlock" "pthread_rwlock_timedrdlock";
    119 RwlockWrlock "pthread_rwlock_wrlock" Sync (rwlock: Handle) [Sync(LockToWrite)] also "pthread_rwlock_clockwrlock" "pthread_rwlock_timedwrlock";
    120 RwlockUnlock "pthread_rwlock_unlock" Sync (rwlock: Handle) [Sync(UnlockRwlock)];
    121 BarrierWait "pthread_barrier_wait" Sync (barrier: Handle) [Sync(AwaitBarrier)];
    122 SpinLock "pthread_spin_lock" Sync (lock: Handle);
    123 Futex "futex" Sync (uaddr: Handle, op: Int, val: Int) [Sync(Futex)];
    124 MutexTimedlock "pthread_mutex_timedlock" Sync (mutex: Handle, abstime: Nanos) [Sync(LockMutex)] also "mtx_timedlock" "pthread_mutex_clocklock";
    125 SemTimedwait "sem_timedwait" Sync (sem: Handle, abstime: Nanos) [Sync(TakeSemaphore)] also "sem_clockwait";
    /// A system call made by number that is not in this table.
    126 Syscall "syscall" Posix (number: Int) [Unknown];

    128 MpiInit "MPI_Init" Mpi (rank: Rank, size: Int, required: Int, library: Text) [Mpi(Init)];
    129 MpiInitThread "MPI_Init_thread" Mpi (rank: Rank, size: Int, required: Int, library: Text) [Mpi(Init)];
    130 MpiFinalize "MPI_Finalize" Mpi () [Mpi(Finalize)];
    /// Written before the call, with the flag `began`: it does not return.
    131 MpiAbort "MPI_Abort" Mpi (comm: Comm, errorcode: Int);

    136 MpiSend "MPI_Send" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm) [Mpi(Send(Standard))] also "MPI_Send_c";
    137 MpiBsend "MPI_Bsend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm) [Mpi(Send(Buffered))] also "MPI_Bsend_c";
    138 MpiSsend "MPI_Ssend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm) [Mpi(Send(Synchronous))] also "MPI_Ssend_c";
    139 MpiRsend "MPI_Rsend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm) [Mpi(Send(Standard))] also "MPI_Rsend_c";
    140 MpiIsend "MPI_Isend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle) [Mpi(SendRequest(Standard))] also "MPI_Isend_c";
    141 MpiIbsend "MPI_Ibsend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle) [Mpi(SendRequest(Buffered))] also "MPI_Ibsend_c";
    142 MpiIssend "MPI_Issend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle) [Mpi(SendRequest(Synchronous))] also "MPI_Issend_c";
    143 MpiIrsend "MPI_Irsend" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle) [Mpi(SendRequest(Standard))] also "MPI_Irsend_c";
    144 MpiRecv "MPI_Recv" Mpi (bytes: Bytes, source: Rank, tag: Tag, comm: Comm, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes) [Mpi(Receive)] also "MPI_Recv_c";
    145 MpiIrecv "MPI_Irecv" Mpi (bytes: Bytes, source: Rank, tag: Tag, comm: Comm, request: Handle) [Mpi(ReceiveRequest)] also "MPI_Irecv_c";
    146 MpiSendrecv "MPI_Sendrecv" Mpi (send_bytes: Bytes, dest: Rank, sendtag: Tag, recv_bytes: Bytes, source: Rank, recvtag: Tag, comm: Comm, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes) [Mpi(SendReceive)] also "MPI_Sendrecv_c";
    147 MpiSendrecvReplace "MPI_Sendrecv_replace" Mpi (send_bytes: Bytes, dest: Rank, sendtag: Tag, recv_bytes: Bytes, source: Rank, recvtag: Tag, comm: Comm, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes) [Mpi(SendReceive)] also "MPI_Sendrecv_replace_c";
    148 MpiProbe "MPI_Probe" Mpi (source: Rank, tag: Tag, comm: Comm, flag: Int, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes) [Mpi(Probe)];
    149 MpiIprobe "MPI_Iprobe" Mpi (source: Rank, tag: Tag, comm: Comm, flag: Int, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes) [Mpi(Probe)];
    150 MpiMprobe "MPI_Mprobe" Mpi (source: Rank, tag: Tag, comm: Comm, flag: Int, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes, message: Handle) [Mpi(MatchedProbe)];
    151 MpiImprobe "MPI_Improbe" Mpi (source: Rank, tag: Tag, comm: Comm, flag: Int, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes, message: Handle) [Mpi(MatchedProbe)];
    152 MpiMrecv "MPI_Mrecv" Mpi (bytes: Bytes, message: Handle, matched_source: Rank, matched_tag: Tag, matched_bytes: Bytes) [Mpi(MatchedReceive)] also "MPI_Mrecv_c";
    153 MpiImrecv "MPI_Imrecv" Mpi (bytes: Bytes, message: Handle, request: Handle) [Mpi(MatchedReceiveRequest)] also "MPI_Imrecv_c";
    154 MpiSendInit "MPI_Send_init" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle) [Mpi(SendInit(Standard))] also "MPI_Send_init_c";
    155 MpiBsendInit "MPI_Bsend_init" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle) [Mpi(SendInit(Buffered))] also "MPI_Bsend_init_c";
    156 MpiSsendInit "MPI_Ssend_init" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle) [Mpi(SendInit(Synchronous))] also "MPI_Ssend_init_c";
    157 MpiRsendInit "MPI_Rsend_init" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle) [Mpi(SendInit(Standard))] also "MPI_Rsend_init_c";
    158 MpiRecvInit "MPI_Recv_init" Mpi (bytes: Bytes, source: Rank, tag: Tag, comm: Comm, request: Handle) [Mpi(ReceiveInit)] also "MPI_Recv_init_c";
    159 MpiStart "MPI_Start" Mpi (count: Int, requests: Requests) [Mpi(Start)];
    160 MpiStartall "MPI_Startall" Mpi (count: Int, requests: Requests) [Mpi(Start)];
    161 MpiRequestFree "MPI_Request_free" Mpi (request: Handle) [Mpi(FreeRequest)];
    162 MpiCancel "MPI_Cancel" Mpi (request: Handle) [Mpi(Cancel)];
    /// The completion calls all have the same form: how many requests were passed, which of them completed.
    163 MpiWait "MPI_Wait" Mpi (incount: Int, outcount: Int, completed: Completions) [Mpi(Wait)];
    164 MpiWaitall "MPI_Waitall" Mpi (incount: Int, outcount: Int, completed: Completions) [Mpi(Wait)];
    165 MpiWaitany "MPI_Waitany" Mpi (incount: Int, outcount: Int, completed: Completions) [Mpi(Wait)];
    166 MpiWaitsome "MPI_Waitsome" Mpi (incount: Int, outcount: Int, completed: Completions) [Mpi(Wait)];
    167 MpiTest "MPI_Test" Mpi (incount: Int, outcount: Int, completed: Completions) [Mpi(Test)];
    168 MpiTestall "MPI_Testall" Mpi (incount: Int, outcount: Int, completed: Completions) [Mpi(Test)];
    169 MpiTestany "MPI_Testany" Mpi (incount: Int, outcount: Int, completed: Completions) [Mpi(Test)];
    170 MpiTestsome "MPI_Testsome" Mpi (incount: Int, outcount: Int, completed: Completions) [Mpi(Test)];

    /// Collectives: what this rank contributes and receives, bytes; `root` is -2 where there is none.
    180 MpiBarrier "MPI_Barrier" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(Meeting))];
    181 MpiBcast "MPI_Bcast" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(AllForRoot))] also "MPI_Bcast_c";
    182 MpiReduce "MPI_Reduce" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(RootForAll))] also "MPI_Reduce_c";
    183 MpiAllreduce "MPI_Allreduce" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(AllForAll))] also "MPI_Allreduce_c";
    184 MpiGather "MPI_Gather" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(RootForAll))] also "MPI_Gather_c";
    185 MpiGatherv "MPI_Gatherv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(RootForAll))] also "MPI_Gatherv_c";
    186 MpiScatter "MPI_Scatter" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(AllForRoot))] also "MPI_Scatter_c";
    187 MpiScatterv "MPI_Scatterv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(AllForRoot))] also "MPI_Scatterv_c";
    188 MpiAllgather "MPI_Allgather" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(AllForAll))] also "MPI_Allgather_c";
    189 MpiAllgatherv "MPI_Allgatherv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(AllForAll))] also "MPI_Allgatherv_c";
    190 MpiAlltoall "MPI_Alltoall" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(AllForAll))] also "MPI_Alltoall_c";
    191 MpiAlltoallv "MPI_Alltoallv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(Exchange))] also "MPI_Alltoallv_c";
    192 MpiAlltoallw "MPI_Alltoallw" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(Exchange))] also "MPI_Alltoallw_c";
    193 MpiReduceScatter "MPI_Reduce_scatter" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(AllForAll))] also "MPI_Reduce_scatter_c";
    194 MpiReduceScatterBlock "MPI_Reduce_scatter_block" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(AllForAll))] also "MPI_Reduce_scatter_block_c";
    195 MpiScan "MPI_Scan" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(LaterForEarlier))] also "MPI_Scan_c";
    196 MpiExscan "MPI_Exscan" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(LaterForEarlier))] also "MPI_Exscan_c";

    /// Communicator creation, all of one form: the communicator it was made from, the new one (0 where this rank
    /// is not in it), and who is in it.
    210 MpiCommDup "MPI_Comm_dup" Mpi (comm: Comm, newcomm: Comm, members: Members) [Mpi(MakeCommunicator(Within))];
    211 MpiCommSplit "MPI_Comm_split" Mpi (comm: Comm, newcomm: Comm, members: Members) [Mpi(MakeCommunicator(Within))];
    212 MpiCommCreate "MPI_Comm_create" Mpi (comm: Comm, newcomm: Comm, members: Members) [Mpi(MakeCommunicator(Within))];
    213 MpiCommCreateGroup "MPI_Comm_create_group" Mpi (comm: Comm, newcomm: Comm, members: Members) [Mpi(MakeCommunicator(Group))];
    214 MpiCommSplitType "MPI_Comm_split_type" Mpi (comm: Comm, newcomm: Comm, members: Members) [Mpi(MakeCommunicator(Within))];
    215 MpiCartCreate "MPI_Cart_create" Mpi (comm: Comm, newcomm: Comm, members: Members) [Mpi(MakeCommunicator(Within))];
    216 MpiCartSub "MPI_Cart_sub" Mpi (comm: Comm, newcomm: Comm, members: Members) [Mpi(MakeCommunicator(Within))];
    217 MpiGraphCreate "MPI_Graph_create" Mpi (comm: Comm, newcomm: Comm, members: Members) [Mpi(MakeCommunicator(Within))];
    218 MpiDistGraphCreate "MPI_Dist_graph_create" Mpi (comm: Comm, newcomm: Comm, members: Members) [Mpi(MakeCommunicator(Within))];
    219 MpiDistGraphCreateAdjacent "MPI_Dist_graph_create_adjacent" Mpi (comm: Comm, newcomm: Comm, members: Members) [Mpi(MakeCommunicator(Within))];
    220 MpiIntercommCreate "MPI_Intercomm_create" Mpi (comm: Comm, newcomm: Comm, members: Members) [Mpi(MakeCommunicator(Between))];
    221 MpiIntercommMerge "MPI_Intercomm_merge" Mpi (comm: Comm, newcomm: Comm, members: Members) [Mpi(MakeCommunicator(Merged))];
    222 MpiCommDupWithInfo "MPI_Comm_dup_with_info" Mpi (comm: Comm, newcomm: Comm, members: Members) [Mpi(MakeCommunicator(Within))];
    223 MpiCommFree "MPI_Comm_free" Mpi (comm: Comm) [Mpi(FreeCommunicator)];
    224 MpiCommDisconnect "MPI_Comm_disconnect" Mpi (comm: Comm) [Mpi(FreeCommunicator)];
    /// Not a call: before the call with this number, which follows, the thread was held so long, to see who waits for it; `reason`
    /// is 1 when all others had exited or were blocked, 2 when the longest time was over, 3 when there was no watchdog.
    225 Held "thread-held" Process (call: Int, reason: Int) [Other, Note];
    /// Not a call: of the `MPI_Alltoallv` or `w` of the record before, the bytes that go to each rank, then those that come from each; of a collective among neighbours with a `v` or `w`, likewise of the neighbours, for `MPI_Neighbor_allgatherv` the bytes that go to each of them once. The list may go on in further records.
    226 MpiCounts "counts" Mpi (comm: Comm, bytes: List) [Other, Note];
    /// Not a call: of the communicator with a topology that the record before has made, whether that is a grid (1) or a graph (0), from how many neighbours this rank receives, these, and those to which it sends, as ranks in it; -2 is nobody. The list may go on in further records.
    227 MpiNeighbours "neighbours" Mpi (comm: Comm, neighbours: List) [Other, Note];
    /// Not a call: of the inter-communicator that the record before has made, the other group; behind `MPI_Init` of a world that was started at run time, of that with those who have started it. The list may go on in further records.
    228 MpiRemoteGroup "remote-group" Mpi (comm: Comm, members: Members) [Other, Note];

    256 Tee "tee" Posix (fd_in: Fd, fd_out: Fd, count: Bytes, flags: SpliceFlags) [Tee, Waits, MovesResult];
    257 Vmsplice "vmsplice" Posix (fd: Fd, count: Bytes, nr_segs: Int, flags: SpliceFlags) [MoveMemory, Waits, MovesResult];
    258 Openat2 "openat2" Posix (dirfd: DirFd, flags: OpenFlags, mode: Mode, resolve: Int, st_mode: Mode, st_size: Bytes, st_ino: Int, pathname: Path) [Open];
    259 MemfdCreate "memfd_create" Posix (flags: MemfdFlags, st_ino: Int, name: Text) [OpenMemory];
    260 PosixFadvise "posix_fadvise" Posix (fd: Fd, offset: Offset, len: Bytes, advice: FileAdvice) [Advise, ReturnsError];
    261 Readahead "readahead" Posix (fd: Fd, offset: Offset, count: Bytes) [ReadAhead];
    262 Statfs "statfs" Posix (path: Path) [StatFileSystem] also "statvfs";
    263 Fstatfs "fstatfs" Posix (fd: Fd) [StatFileSystem] also "fstatvfs";
    264 Chmod "chmod" Posix (mode: Mode, pathname: Path) [SetMode(Followed)];
    265 Fchmod "fchmod" Posix (fd: Fd, mode: Mode) [SetMode(Followed)];
    266 Fchmodat "fchmodat" Posix (dirfd: DirFd, mode: Mode, flags: PathFlags, pathname: Path) [SetMode(ByFlags)] also "lchmod";
    267 Chown "chown" Posix (owner: Int, group: Int, pathname: Path) [SetOwner(Followed)];
    268 Lchown "lchown" Posix (owner: Int, group: Int, pathname: Path) [SetOwner(Itself)];
    269 Fchown "fchown" Posix (fd: Fd, owner: Int, group: Int) [SetOwner(Followed)];
    270 Fchownat "fchownat" Posix (dirfd: DirFd, owner: Int, group: Int, flags: PathFlags, pathname: Path) [SetOwner(ByFlags)];
    271 Utimensat "utimensat" Posix (dirfd: DirFd, flags: PathFlags, pathname: Path) [SetTimes(ByFlags)] also "futimesat" "lutimes" "utime" "utimes";
    272 Futimens "futimens" Posix (fd: Fd) [SetTimes(Followed)] also "futimes";
    273 Mknod "mknod" Posix (mode: Mode, dev: Int, pathname: Path) [MakeNode] also "mkfifo" "xmknod";
    274 Mknodat "mknodat" Posix (dirfd: DirFd, mode: Mode, dev: Int, pathname: Path) [MakeNode] also "mkfifoat" "xmknodat";
    275 Chroot "chroot" Posix (path: Path);
    276 Lockf "lockf" Posix (fd: Fd, cmd: LockfCommand, len: Offset) [LockFileAtPosition, Waits];
    280 Getxattr "getxattr" Posix (size: Bytes, path: Path, name: Text) [GetAttribute(Followed)];
    281 Lgetxattr "lgetxattr" Posix (size: Bytes, path: Path, name: Text) [GetAttribute(Itself)];
    282 Fgetxattr "fgetxattr" Posix (fd: Fd, size: Bytes, name: Text) [GetAttribute(Followed)];
    283 Setxattr "setxattr" Posix (size: Bytes, flags: AttributeFlags, path: Path, name: Text) [SetAttribute(Followed)];
    284 Lsetxattr "lsetxattr" Posix (size: Bytes, flags: AttributeFlags, path: Path, name: Text) [SetAttribute(Itself)];
    285 Fsetxattr "fsetxattr" Posix (fd: Fd, size: Bytes, flags: AttributeFlags, name: Text) [SetAttribute(Followed)];
    286 Listxattr "listxattr" Posix (size: Bytes, path: Path) [ListAttributes(Followed)];
    287 Llistxattr "llistxattr" Posix (size: Bytes, path: Path) [ListAttributes(Itself)];
    288 Flistxattr "flistxattr" Posix (fd: Fd, size: Bytes) [ListAttributes(Followed)];
    289 Removexattr "removexattr" Posix (path: Path, name: Text) [RemoveAttribute(Followed)];
    290 Lremovexattr "lremovexattr" Posix (path: Path, name: Text) [RemoveAttribute(Itself)];
    291 Fremovexattr "fremovexattr" Posix (fd: Fd, name: Text) [RemoveAttribute(Followed)];

    300 Mremap "mremap" Mmap (old_address: Handle, old_size: Bytes, new_size: Bytes, flags: Int) [Remap];
    301 Mincore "mincore" Mmap (addr: Handle, length: Bytes) [UsePages];
    302 Mlock "mlock" Mmap (addr: Handle, len: Bytes, flags: Int) [UsePages] also "mlock2";
    303 Mlockall "mlockall" Mmap (flags: Int);
    304 Munlock "munlock" Mmap (addr: Handle, len: Bytes) [UsePages];
    305 Munlockall "munlockall" Mmap ();
    /// Not a call: a mapping of a file that a forked child has from its parent.
    306 InheritedMapping "inherited-mapping" Mmap (addr: Handle, length: Bytes, prot: Int, flags: Int, offset: Offset, path: Path) [InheritMapping, Note];
    /// Not a call: what follows with 2147483647 as a descriptor or folder, the kernel and the loader have done, at the latest by now, to find
    /// and map this program or library.
    307 Loaded "object-loaded" Mmap (path: Text) [Other, Note];
    /// Stands before the call, which is not timed. What it has loaded is told later, by `object-loaded`, but in a namespace of its own.
    308 Dlopen "dlopen" Mmap (flags: Int, filename: Text) [Load, Note] also "dlmopen";

    310 AioRead "aio_read" Aio (fd: Fd, count: Bytes, offset: Offset, aiocbp: Handle) [AsynchronousRead];
    311 AioWrite "aio_write" Aio (fd: Fd, count: Bytes, offset: Offset, aiocbp: Handle) [AsynchronousWrite];
    312 AioFsync "aio_fsync" Aio (fd: Fd, op: Int, aiocbp: Handle) [AsynchronousSync];
    313 AioError "aio_error" Aio (fd: Fd, aiocbp: Handle) [AsynchronousError];
    314 AioReturn "aio_return" Aio (fd: Fd, aiocbp: Handle) [AsynchronousResult];
    /// The list holds the control blocks that were waited for.
    315 AioSuspend "aio_suspend" Aio (nitems: Int, timeout: Nanos, aiocbs: List) [AwaitAsynchronous];
    316 AioCancel "aio_cancel" Aio (fd: Fd, aiocbp: Handle);
    /// Each transfer has a record of `aio_read` or `aio_write` before this one, as of a call inside it.
    317 LioListio "lio_listio" Aio (mode: Int, nitems: Int) [AsynchronousList];
    320 IoSetup "io_setup" Aio (nr_events: Int, ctx: Handle) [SetUpBlocks];
    321 IoDestroy "io_destroy" Aio (ctx: Handle) [DestroyBlocks];
    /// Each block that was taken has an `iocb` record behind this one.
    322 IoSubmit "io_submit" Aio (ctx: Handle, nr: Int) [SubmitBlocks];
    /// Not a call: a control block of `io_submit`; `iocb` is its address.
    323 Iocb "iocb" Aio (fd: Fd, opcode: Int, count: Bytes, offset: Offset, iocb: Handle) [BlockEntry, Note];
    /// The list holds a pair for every completion: the address of the control block, and the result.
    324 IoGetevents "io_getevents" Aio (ctx: Handle, min_nr: Int, nr: Int, timeout: Nanos, completed: List) [AwaitBlocks] also "io_pgetevents";
    325 IoCancel "io_cancel" Aio (ctx: Handle, iocb: Handle);
    330 IoUringSetup "io_uring_setup" Aio (entries: Int, flags: Int) [OpenRing] also "io_uring_queue_init" "io_uring_queue_init_mem" "io_uring_queue_init_params";
    331 IoUringEnter "io_uring_enter" Aio (fd: Fd, to_submit: Int, min_complete: Int, flags: Int) [AwaitRing] also "io_uring_enter2" "io_uring_get_cqe" "io_uring_get_events" "io_uring_peek_batch_cqe" "io_uring_peek_cqe" "io_uring_sqring_wait" "io_uring_submit" "io_uring_submit_and_get_events" "io_uring_submit_and_wait" "io_uring_submit_and_wait_min_timeout" "io_uring_submit_and_wait_reg" "io_uring_submit_and_wait_timeout" "io_uring_wait_cqe" "io_uring_wait_cqe_nr" "io_uring_wait_cqe_timeout" "io_uring_wait_cqes" "io_uring_wait_cqes_min_timeout";
    /// Of the operations that register files, the list holds the place of the first one, then their descriptors.
    332 IoUringRegister "io_uring_register" Aio (fd: Fd, opcode: Int, nr_args: Int, files: List) [RegisterWithRing] also "io_uring_buf_ring_head" "io_uring_clone_buffers" "io_uring_clone_buffers_offset" "io_uring_enable_rings" "io_uring_free_buf_ring" "io_uring_resize_rings" "io_uring_setup_buf_ring";
    /// Not a call: an entry of a submission queue, which the `io_uring_enter` behind it hands over. `fd` is the file's, or
    /// its place among the registered ones when the entry's flags say so. Of an fsync (opcode 3), `count` is its flags.
    333 Sqe "sqe" Aio (ring_fd: Fd, opcode: Int, flags: Int, fd: Fd, count: Bytes, offset: Offset, user_data: Handle) [RingEntry, Note];
    /// Not a call: an entry of a completion queue, first seen at the return of the call before. The result is the entry's; a
    /// descriptor that comes out of it has an `inherited-fd` record behind this one.
    334 Cqe "cqe" Aio (ring_fd: Fd, res: Int, flags: Int, user_data: Handle) [RingCompletion, Note];

    /// `count` is what was sent: the bytes of as many messages as the result tells.
    340 Sendmmsg "sendmmsg" Socket (fd: Fd, count: Bytes, vlen: Int, flags: MessageFlags) [SendMessage, Waits, MovesAll];
    /// As above; each descriptor that came has an `inherited-fd` record behind this one.
    341 Recvmmsg "recvmmsg" Socket (fd: Fd, count: Bytes, vlen: Int, flags: MessageFlags) [ReceiveMessage, Waits, MovesAll];
    342 Socket "socket" Socket (domain: AddressFamily, r#type: SocketType, protocol: Int, st_ino: Int) [OpenSocket];
    343 Socketpair "socketpair" Socket (first: Fd, second: Fd, domain: AddressFamily, r#type: SocketType, protocol: Int, first_ino: Int, second_ino: Int) [OpenSocketPair];
    /// Addresses are written `inet:127.0.0.1:80`, `inet6:[::1]:80`, `unix:/path`, `unix:@abstract`, `unix:` (unnamed),
    /// `family:16` (any other), and are empty where there is none. This one is as it turned out: the kernel may have
    /// chosen the port.
    344 Bind "bind" Socket (fd: Fd, addr: Text) [BindSocket];
    345 Listen "listen" Socket (fd: Fd, backlog: Int) [Listen];
    /// `pid` is the peer's, of a Unix socket.
    346 Accept "accept" Socket (fd: Fd, flags: AcceptFlags, st_ino: Int, pid: Pid, local: Text, peer: Text) [Accept] also "accept4";
    /// `local` is empty where the call came to nothing.
    347 Connect "connect" Socket (fd: Fd, local: Text, addr: Text) [Connect, Waits];
    348 Shutdown "shutdown" Socket (fd: Fd, how: ShutdownHow) [Shutdown];
    349 Setsockopt "setsockopt" Socket (fd: Fd, level: SocketLevel, optname: Int, optlen: Bytes);
    350 Getsockopt "getsockopt" Socket (fd: Fd, level: SocketLevel, optname: Int);
    351 Getsockname "getsockname" Socket (fd: Fd, addr: Text) [TellLocalAddress];
    352 Getpeername "getpeername" Socket (fd: Fd, addr: Text) [TellPeerAddress];
    360 EpollCreate "epoll_create" Socket (flags: EpollFlags) [OpenAnonymous] also "epoll_create1";
    361 Eventfd "eventfd" Socket (initval: Int, flags: EventfdFlags) [OpenCounter];
    362 Signalfd "signalfd" Socket (fd: Fd, mask: Handle, flags: SignalfdFlags) [OpenSignals];
    363 TimerfdCreate "timerfd_create" Time (clockid: Int, flags: TimerfdFlags) [OpenTimer];
    364 TimerfdSettime "timerfd_settime" Time (fd: Fd, flags: TimerfdSetFlags, value: Nanos, interval: Nanos);
    365 TimerfdGettime "timerfd_gettime" Time (fd: Fd);
    366 InotifyInit "inotify_init" Posix (flags: InotifyFlags) [OpenAnonymous] also "inotify_init1";
    367 InotifyAddWatch "inotify_add_watch" Posix (fd: Fd, mask: InotifyMask, pathname: Path);
    368 InotifyRmWatch "inotify_rm_watch" Posix (fd: Fd, wd: Int);
    369 PidfdOpen "pidfd_open" Process (pid: Pid, flags: PidfdFlags) [OpenProcess];
    /// What the descriptor is that was taken stands in an `inherited-fd` record behind this one.
    370 PidfdGetfd "pidfd_getfd" Process (pidfd: Fd, targetfd: Int, flags: Int);
    371 PidfdSendSignal "pidfd_send_signal" Sync (pidfd: Fd, sig: Int);

    380 Semget "semget" Sync (key: Int, nsems: Int, semflg: Int);
    381 Semctl "semctl" Sync (semid: Int, semnum: Int, cmd: Int);
    /// The list holds three numbers for every operation: `sem_num`, `sem_op`, `sem_flg`. A timeout of -1 is none.
    382 Semop "semop" Sync (semid: Int, timeout: Nanos, sops: List) [Sync(ChangeSemaphores)] also "semtimedop";
    383 Shmget "shmget" Sync (key: Int, size: Bytes, shmflg: Int) [Sync(GetSegment)];
    384 Shmat "shmat" Sync (shmid: Int, shmflg: Int) [Sync(AttachSegment)];
    385 Shmdt "shmdt" Sync (shmaddr: Handle) [Sync(DetachSegment)];
    386 Shmctl "shmctl" Sync (shmid: Int, cmd: Int);
    387 Msgget "msgget" Sync (key: Int, msgflg: Int);
    388 Msgsnd "msgsnd" Sync (msqid: Int, msgsz: Bytes, msgflg: Int) [Sync(SendToQueue), MovesAll];
    389 Msgrcv "msgrcv" Sync (msqid: Int, msgsz: Bytes, msgtyp: Int, msgflg: Int) [Sync(ReceiveFromQueue), MovesResult];
    390 Msgctl "msgctl" Sync (msqid: Int, cmd: Int);
    391 MqOpen "mq_open" Sync (oflag: OpenFlags, mode: Mode, st_ino: Int, name: Text) [OpenQueue];
    392 MqSend "mq_send" Sync (mqdes: Fd, msg_len: Bytes, msg_prio: Int, abs_timeout: Nanos) [Sync(SendToOpenQueue), Waits, MovesAll] also "mq_timedsend";
    393 MqReceive "mq_receive" Sync (mqdes: Fd, msg_len: Bytes, msg_prio: Int, abs_timeout: Nanos) [Sync(ReceiveFromOpenQueue), Waits, MovesResult] also "mq_timedreceive";
    394 MqUnlink "mq_unlink" Sync (name: Text);
    395 SemOpen "sem_open" Sync (oflag: OpenFlags, sem: Handle, name: Text) [Sync(OpenSemaphore)];
    396 SemClose "sem_close" Sync (sem: Handle);
    397 SemUnlink "sem_unlink" Sync (name: Text) [Sync(UnlinkSemaphore)];
    /// `handler` is 0 for the default action, 1 to ignore the signal, 2 for a function, -1 when it was only asked for.
    410 Sigaction "sigaction" Sync (signum: Int, handler: Int, flags: Int) [SetAction] also "bsd_signal" "sigignore" "signal" "sigset" "sigvec" "ssignal" "sysv_signal";
    411 Kill "kill" Sync (pid: Pid, sig: Int) [SendSignal] also "killpg" "tgkill";
    412 PthreadKill "pthread_kill" Sync (thread: Handle, sig: Int) [SendSignalToThread] also "pthread_sigqueue";
    413 Raise "raise" Sync (sig: Int) also "abort" "assert_fail" "gsignal";
    414 Sigqueue "sigqueue" Sync (pid: Pid, sig: Int) [SendSignal];
    415 Pause "pause" Sync ();
    416 Sigsuspend "sigsuspend" Sync (mask: Handle) also "sigpause" "xpg_sigpause";
    /// The result is the signal. A timeout of -1 is none.
    417 Sigwait "sigwait" Sync (set: Handle, timeout: Nanos) [AwaitSignal] also "sigtimedwait" "sigwaitinfo";
    418 Alarm "alarm" Time (seconds: Nanos);
    419 Setitimer "setitimer" Time (which: Int, value: Nanos, interval: Nanos) also "ualarm";
    420 TimerCreate "timer_create" Time (clockid: Int, sig: Int, timerid: Handle);
    421 TimerSettime "timer_settime" Time (timerid: Handle, flags: Int, value: Nanos, interval: Nanos);
    422 TimerDelete "timer_delete" Time (timerid: Handle);
    430 Clone "clone" Process (flags: Handle) [Clone];
    /// Not a call: which program the child of the `vfork` before has called `execve` for, in its parent's memory; why it could not be
    /// executed, if it has failed.
    431 ChildExecve "child-execve" Process (pid: Pid, pathname: Path) [ChildExec, Note];
    /// Not a call: CPU time of all children whose end the process has seen so far, and of theirs (getrusage(2), `RUSAGE_CHILDREN`).
    /// The call of the record before has seen one.
    432 ChildrenUsed "children-used" Process (cpu: Nanos) [UsedByChildren, Note];

    /// Collectives that make a request, and those that make a persistent one.
    440 MpiIBarrier "MPI_Ibarrier" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(Meeting))];
    441 MpiIBcast "MPI_Ibcast" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(AllForRoot))] also "MPI_Ibcast_c";
    442 MpiIReduce "MPI_Ireduce" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(RootForAll))] also "MPI_Ireduce_c";
    443 MpiIAllreduce "MPI_Iallreduce" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(AllForAll))] also "MPI_Iallreduce_c";
    444 MpiIGather "MPI_Igather" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(RootForAll))] also "MPI_Igather_c";
    445 MpiIGatherv "MPI_Igatherv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(RootForAll))] also "MPI_Igatherv_c";
    446 MpiIScatter "MPI_Iscatter" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(AllForRoot))] also "MPI_Iscatter_c";
    447 MpiIScatterv "MPI_Iscatterv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(AllForRoot))] also "MPI_Iscatterv_c";
    448 MpiIAllgather "MPI_Iallgather" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(AllForAll))] also "MPI_Iallgather_c";
    449 MpiIAllgatherv "MPI_Iallgatherv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(AllForAll))] also "MPI_Iallgatherv_c";
    450 MpiIAlltoall "MPI_Ialltoall" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(AllForAll))] also "MPI_Ialltoall_c";
    451 MpiIAlltoallv "MPI_Ialltoallv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(Exchange))] also "MPI_Ialltoallv_c";
    452 MpiIAlltoallw "MPI_Ialltoallw" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(Exchange))] also "MPI_Ialltoallw_c";
    453 MpiIReduceScatter "MPI_Ireduce_scatter" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(AllForAll))] also "MPI_Ireduce_scatter_c";
    454 MpiIReduceScatterBlock "MPI_Ireduce_scatter_block" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(AllForAll))] also "MPI_Ireduce_scatter_block_c";
    455 MpiIScan "MPI_Iscan" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(LaterForEarlier))] also "MPI_Iscan_c";
    456 MpiIExscan "MPI_Iexscan" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(LaterForEarlier))] also "MPI_Iexscan_c";
    460 MpiBarrierInit "MPI_Barrier_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(Meeting))];
    461 MpiBcastInit "MPI_Bcast_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(AllForRoot))] also "MPI_Bcast_init_c";
    462 MpiReduceInit "MPI_Reduce_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(RootForAll))] also "MPI_Reduce_init_c";
    463 MpiAllreduceInit "MPI_Allreduce_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(AllForAll))] also "MPI_Allreduce_init_c";
    464 MpiGatherInit "MPI_Gather_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(RootForAll))] also "MPI_Gather_init_c";
    465 MpiGathervInit "MPI_Gatherv_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(RootForAll))] also "MPI_Gatherv_init_c";
    466 MpiScatterInit "MPI_Scatter_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(AllForRoot))] also "MPI_Scatter_init_c";
    467 MpiScattervInit "MPI_Scatterv_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(AllForRoot))] also "MPI_Scatterv_init_c";
    468 MpiAllgatherInit "MPI_Allgather_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(AllForAll))] also "MPI_Allgather_init_c";
    469 MpiAllgathervInit "MPI_Allgatherv_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(AllForAll))] also "MPI_Allgatherv_init_c";
    470 MpiAlltoallInit "MPI_Alltoall_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(AllForAll))] also "MPI_Alltoall_init_c";
    471 MpiAlltoallvInit "MPI_Alltoallv_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(Exchange))] also "MPI_Alltoallv_init_c";
    472 MpiAlltoallwInit "MPI_Alltoallw_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(Exchange))] also "MPI_Alltoallw_init_c";
    473 MpiReduceScatterInit "MPI_Reduce_scatter_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(AllForAll))] also "MPI_Reduce_scatter_init_c";
    474 MpiReduceScatterBlockInit "MPI_Reduce_scatter_block_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(AllForAll))] also "MPI_Reduce_scatter_block_init_c";
    475 MpiScanInit "MPI_Scan_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(LaterForEarlier))] also "MPI_Scan_init_c";
    476 MpiExscanInit "MPI_Exscan_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(LaterForEarlier))] also "MPI_Exscan_init_c";
    /// Collectives among neighbours: bytes to and from all of them.
    480 MpiNeighborAllgather "MPI_Neighbor_allgather" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(Neighbours))] also "MPI_Neighbor_allgather_c";
    481 MpiINeighborAllgather "MPI_Ineighbor_allgather" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(Neighbours))] also "MPI_Ineighbor_allgather_c";
    482 MpiNeighborAllgatherInit "MPI_Neighbor_allgather_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(Neighbours))] also "MPI_Neighbor_allgather_init_c";
    483 MpiNeighborAllgatherv "MPI_Neighbor_allgatherv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(Neighbours))] also "MPI_Neighbor_allgatherv_c";
    484 MpiINeighborAllgatherv "MPI_Ineighbor_allgatherv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(Neighbours))] also "MPI_Ineighbor_allgatherv_c";
    485 MpiNeighborAllgathervInit "MPI_Neighbor_allgatherv_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(Neighbours))] also "MPI_Neighbor_allgatherv_init_c";
    486 MpiNeighborAlltoall "MPI_Neighbor_alltoall" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(Neighbours))] also "MPI_Neighbor_alltoall_c";
    487 MpiINeighborAlltoall "MPI_Ineighbor_alltoall" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(Neighbours))] also "MPI_Ineighbor_alltoall_c";
    488 MpiNeighborAlltoallInit "MPI_Neighbor_alltoall_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(Neighbours))] also "MPI_Neighbor_alltoall_init_c";
    489 MpiNeighborAlltoallv "MPI_Neighbor_alltoallv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(Neighbours))] also "MPI_Neighbor_alltoallv_c";
    490 MpiINeighborAlltoallv "MPI_Ineighbor_alltoallv" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(Neighbours))] also "MPI_Ineighbor_alltoallv_c";
    491 MpiNeighborAlltoallvInit "MPI_Neighbor_alltoallv_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(Neighbours))] also "MPI_Neighbor_alltoallv_init_c";
    492 MpiNeighborAlltoallw "MPI_Neighbor_alltoallw" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm) [Mpi(Collective(Neighbours))] also "MPI_Neighbor_alltoallw_c";
    493 MpiINeighborAlltoallw "MPI_Ineighbor_alltoallw" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveRequest(Neighbours))] also "MPI_Ineighbor_alltoallw_c";
    494 MpiNeighborAlltoallwInit "MPI_Neighbor_alltoallw_init" Mpi (send_bytes: Bytes, recv_bytes: Bytes, root: Rank, comm: Comm, request: Handle) [Mpi(CollectiveInit(Neighbours))] also "MPI_Neighbor_alltoallw_init_c";
    500 MpiIsendrecv "MPI_Isendrecv" Mpi (send_bytes: Bytes, dest: Rank, sendtag: Tag, recv_bytes: Bytes, source: Rank, recvtag: Tag, comm: Comm, request: Handle) also "MPI_Isendrecv_c";
    501 MpiIsendrecvReplace "MPI_Isendrecv_replace" Mpi (send_bytes: Bytes, dest: Rank, sendtag: Tag, recv_bytes: Bytes, source: Rank, recvtag: Tag, comm: Comm, request: Handle) also "MPI_Isendrecv_replace_c";
    /// Partitioned messages: `bytes` is the length of one partition.
    502 MpiPsendInit "MPI_Psend_init" Mpi (bytes: Bytes, dest: Rank, tag: Tag, comm: Comm, request: Handle, partitions: Int) [Mpi(SendPartitions)];
    503 MpiPrecvInit "MPI_Precv_init" Mpi (bytes: Bytes, source: Rank, tag: Tag, comm: Comm, request: Handle, partitions: Int) [Mpi(ReceivePartitions)];
    504 MpiPready "MPI_Pready" Mpi (partition: Int, request: Handle) [Mpi(Ready)];
    505 MpiPreadyRange "MPI_Pready_range" Mpi (partition_low: Int, partition_high: Int, request: Handle) [Mpi(ReadyRange)];
    506 MpiPreadyList "MPI_Pready_list" Mpi (length: Int, request: Handle) [Mpi(ReadyList)];
    507 MpiParrived "MPI_Parrived" Mpi (request: Handle, partition: Int, flag: Int) [Mpi(Arrived)];
    508 MpiRequestGetStatus "MPI_Request_get_status" Mpi (request: Handle, flag: Int);
    509 MpiBufferDetach "MPI_Buffer_detach" Mpi () also "MPI_Buffer_detach_c";
    510 MpiBufferFlush "MPI_Buffer_flush" Mpi ();
    /// Windows; `disp_unit` is 0 where there is none.
    520 MpiWinCreate "MPI_Win_create" Mpi (bytes: Bytes, disp_unit: Int, comm: Comm, win: Handle) [Mpi(MakeWindow)] also "MPI_Win_create_c";
    521 MpiWinAllocate "MPI_Win_allocate" Mpi (bytes: Bytes, disp_unit: Int, comm: Comm, win: Handle) [Mpi(MakeWindow)] also "MPI_Win_allocate_c";
    522 MpiWinAllocateShared "MPI_Win_allocate_shared" Mpi (bytes: Bytes, disp_unit: Int, comm: Comm, win: Handle) [Mpi(MakeWindow)] also "MPI_Win_allocate_shared_c";
    523 MpiWinCreateDynamic "MPI_Win_create_dynamic" Mpi (comm: Comm, win: Handle) [Mpi(MakeDynamicWindow)];
    524 MpiWinFree "MPI_Win_free" Mpi (win: Handle) [Mpi(FreeWindow)];
    525 MpiWinFence "MPI_Win_fence" Mpi (win: Handle) [Mpi(Fence)];
    526 MpiWinStart "MPI_Win_start" Mpi (win: Handle) [Mpi(OpenAccess)];
    527 MpiWinComplete "MPI_Win_complete" Mpi (win: Handle) [Mpi(CloseAccess)];
    528 MpiWinPost "MPI_Win_post" Mpi (win: Handle) [Mpi(OpenExposure)];
    529 MpiWinWait "MPI_Win_wait" Mpi (win: Handle) [Mpi(CloseExposure)];
    530 MpiWinTest "MPI_Win_test" Mpi (win: Handle, flag: Int) [Mpi(TestExposure)];
    531 MpiWinLock "MPI_Win_lock" Mpi (win: Handle, rank: Rank, exclusive: Int) [Mpi(LockTarget)];
    532 MpiWinLockAll "MPI_Win_lock_all" Mpi (win: Handle) [Mpi(LockAll)];
    533 MpiWinUnlock "MPI_Win_unlock" Mpi (win: Handle, rank: Rank) [Mpi(UnlockTarget)];
    534 MpiWinUnlockAll "MPI_Win_unlock_all" Mpi (win: Handle) [Mpi(UnlockAll)];
    535 MpiWinFlush "MPI_Win_flush" Mpi (win: Handle, rank: Rank) [Mpi(FlushTarget)];
    536 MpiWinFlushAll "MPI_Win_flush_all" Mpi (win: Handle) [Mpi(FlushAll)];
    537 MpiWinFlushLocal "MPI_Win_flush_local" Mpi (win: Handle, rank: Rank) [Mpi(FlushTarget)];
    538 MpiWinFlushLocalAll "MPI_Win_flush_local_all" Mpi (win: Handle) [Mpi(FlushAll)];
    /// `bytes` at the target; `target_disp` in units of the window.
    539 MpiPut "MPI_Put" Mpi (bytes: Bytes, target: Rank, target_disp: Int, win: Handle) [Mpi(Rma)] also "MPI_Put_c";
    540 MpiGet "MPI_Get" Mpi (bytes: Bytes, target: Rank, target_disp: Int, win: Handle) [Mpi(Rma)] also "MPI_Get_c";
    541 MpiAccumulate "MPI_Accumulate" Mpi (bytes: Bytes, target: Rank, target_disp: Int, win: Handle) [Mpi(Rma)] also "MPI_Accumulate_c";
    542 MpiGetAccumulate "MPI_Get_accumulate" Mpi (bytes: Bytes, target: Rank, target_disp: Int, win: Handle) [Mpi(Rma)] also "MPI_Get_accumulate_c";
    543 MpiFetchAndOp "MPI_Fetch_and_op" Mpi (bytes: Bytes, target: Rank, target_disp: Int, win: Handle) [Mpi(Rma)];
    544 MpiCompareAndSwap "MPI_Compare_and_swap" Mpi (bytes: Bytes, target: Rank, target_disp: Int, win: Handle) [Mpi(Rma)];
    545 MpiRput "MPI_Rput" Mpi (bytes: Bytes, target: Rank, target_disp: Int, win: Handle, request: Handle) [Mpi(RmaRequest)] also "MPI_Rput_c";
    546 MpiRget "MPI_Rget" Mpi (bytes: Bytes, target: Rank, target_disp: Int, win: Handle, request: Handle) [Mpi(RmaRequest)] also "MPI_Rget_c";
    547 MpiRaccumulate "MPI_Raccumulate" Mpi (bytes: Bytes, target: Rank, target_disp: Int, win: Handle, request: Handle) [Mpi(RmaRequest)] also "MPI_Raccumulate_c";
    548 MpiRgetAccumulate "MPI_Rget_accumulate" Mpi (bytes: Bytes, target: Rank, target_disp: Int, win: Handle, request: Handle) [Mpi(RmaRequest)] also "MPI_Rget_accumulate_c";
    /// Not a call: the group of the `MPI_Win_start` or `MPI_Win_post` of the record before.
    549 MpiWinGroup "window-group" Mpi (win: Handle, members: Members) [Other, Note];
    /// Processes made at run time: `count` is `maxprocs`, or the number of commands, which the root alone needs to say. A `remote-group` behind the record tells how many they are: each is -4, since none has a rank in this world.
    560 MpiCommSpawn "MPI_Comm_spawn" Mpi (count: Int, root: Rank, comm: Comm, intercomm: Comm) [Mpi(StartWorld)];
    561 MpiCommSpawnMultiple "MPI_Comm_spawn_multiple" Mpi (count: Int, root: Rank, comm: Comm, intercomm: Comm) [Mpi(StartWorld)];
    /// Processes that meet at run time. Who is in the new communicator is not recorded.
    562 MpiCommAccept "MPI_Comm_accept" Mpi (root: Rank, comm: Comm, newcomm: Comm);
    563 MpiCommConnect "MPI_Comm_connect" Mpi (root: Rank, comm: Comm, newcomm: Comm);
    564 MpiCommJoin "MPI_Comm_join" Mpi (intercomm: Comm);
    /// MPI-IO. What the library does to the file is on record inside these calls.
    580 MpiFileOpen "MPI_File_open" MpiIo (amode: FileMode, comm: Comm, fh: Handle, filename: Path) [Mpi(OpenFile)];
    581 MpiFileClose "MPI_File_close" MpiIo (fh: Handle) [Mpi(CloseFile)];
    582 MpiFileDelete "MPI_File_delete" MpiIo (filename: Path) [Mpi(DeleteFile)];
    583 MpiFileSetSize "MPI_File_set_size" MpiIo (size: Bytes, fh: Handle) [Mpi(ResizeFile)];
    584 MpiFilePreallocate "MPI_File_preallocate" MpiIo (size: Bytes, fh: Handle) [Mpi(ResizeFile)];
    585 MpiFileGetSize "MPI_File_get_size" MpiIo (fh: Handle) [Mpi(AskFile)];
    /// `disp` in bytes; the sizes are those of the datatypes, without their gaps.
    586 MpiFileSetView "MPI_File_set_view" MpiIo (disp: Int, etype_bytes: Bytes, filetype_bytes: Bytes, fh: Handle) [Mpi(ViewFile)];
    587 MpiFileSync "MPI_File_sync" MpiIo (fh: Handle) [Mpi(AskFile)];
    588 MpiFileSetAtomicity "MPI_File_set_atomicity" MpiIo (fh: Handle, flag: Int) [Mpi(AskFile)];
    589 MpiFileSetInfo "MPI_File_set_info" MpiIo (fh: Handle) [Mpi(AskFile)];
    590 MpiFileSeek "MPI_File_seek" MpiIo (offset: Int, whence: Whence, fh: Handle) [Mpi(SeekFile)];
    591 MpiFileSeekShared "MPI_File_seek_shared" MpiIo (offset: Int, whence: Whence, fh: Handle) [Mpi(SeekSharedFile)];
    592 MpiFileGetPositionShared "MPI_File_get_position_shared" MpiIo (fh: Handle) [Mpi(AskFile)];
    /// Not a call: how the file type of the view was made that the record before has set. The list holds the constructor (0 a basic type, 1 `dup`, 2 `contiguous`, 3 `vector`, 4 `hvector`, 5 `indexed`, 6 `hindexed`, 7 `indexed_block`, 8 `hindexed_block`, 9 `struct`, 10 `subarray`, 11 `resized`), how many integers, addresses and datatypes it takes, these integers and addresses as `MPI_Type_get_contents` gives them, then each datatype in the same way; of a basic type, 0 and its size. The order of an array is 0 for C and 1 for Fortran. The list is empty where the constructor is another, or the list too long.
    593 MpiFileType "filetype" MpiIo (fh: Handle, made: List) [Other, Note];
    /// Not a call: the hints that the record before has given a file, as lines of `key=value`.
    594 MpiFileHints "file-hints" MpiIo (fh: Handle, hints: Text) [Other, Note];
    /// `offset` in units of the view's elementary datatype; -1 is the pointer of the file, or the shared one.
    600 MpiFileReadAt "MPI_File_read_at" MpiIo (bytes: Bytes, offset: Int, fh: Handle, moved_bytes: Bytes) [Mpi(TransferFile)] also "MPI_File_read_at_c";
    601 MpiFileReadAtAll "MPI_File_read_at_all" MpiIo (bytes: Bytes, offset: Int, fh: Handle, moved_bytes: Bytes) [Mpi(TransferFile)] also "MPI_File_read_at_all_c";
    602 MpiFileRead "MPI_File_read" MpiIo (bytes: Bytes, offset: Int, fh: Handle, moved_bytes: Bytes) [Mpi(TransferFile)] also "MPI_File_read_c";
    603 MpiFileReadAll "MPI_File_read_all" MpiIo (bytes: Bytes, offset: Int, fh: Handle, moved_bytes: Bytes) [Mpi(TransferFile)] also "MPI_File_read_all_c";
    604 MpiFileReadShared "MPI_File_read_shared" MpiIo (bytes: Bytes, offset: Int, fh: Handle, moved_bytes: Bytes) [Mpi(TransferFile)] also "MPI_File_read_shared_c";
    605 MpiFileReadOrdered "MPI_File_read_ordered" MpiIo (bytes: Bytes, offset: Int, fh: Handle, moved_bytes: Bytes) [Mpi(TransferFile)] also "MPI_File_read_ordered_c";
    606 MpiFileWriteAt "MPI_File_write_at" MpiIo (bytes: Bytes, offset: Int, fh: Handle, moved_bytes: Bytes) [Mpi(TransferFile)] also "MPI_File_write_at_c";
    607 MpiFileWriteAtAll "MPI_File_write_at_all" MpiIo (bytes: Bytes, offset: Int, fh: Handle, moved_bytes: Bytes) [Mpi(TransferFile)] also "MPI_File_write_at_all_c";
    608 MpiFileWrite "MPI_File_write" MpiIo (bytes: Bytes, offset: Int, fh: Handle, moved_bytes: Bytes) [Mpi(TransferFile)] also "MPI_File_write_c";
    609 MpiFileWriteAll "MPI_File_write_all" MpiIo (bytes: Bytes, offset: Int, fh: Handle, moved_bytes: Bytes) [Mpi(TransferFile)] also "MPI_File_write_all_c";
    610 MpiFileWriteShared "MPI_File_write_shared" MpiIo (bytes: Bytes, offset: Int, fh: Handle, moved_bytes: Bytes) [Mpi(TransferFile)] also "MPI_File_write_shared_c";
    611 MpiFileWriteOrdered "MPI_File_write_ordered" MpiIo (bytes: Bytes, offset: Int, fh: Handle, moved_bytes: Bytes) [Mpi(TransferFile)] also "MPI_File_write_ordered_c";
    612 MpiFileIreadAt "MPI_File_iread_at" MpiIo (bytes: Bytes, offset: Int, fh: Handle, request: Handle) [Mpi(TransferFileRequest)] also "MPI_File_iread_at_c";
    613 MpiFileIreadAtAll "MPI_File_iread_at_all" MpiIo (bytes: Bytes, offset: Int, fh: Handle, request: Handle) [Mpi(TransferFileRequest)] also "MPI_File_iread_at_all_c";
    614 MpiFileIread "MPI_File_iread" MpiIo (bytes: Bytes, offset: Int, fh: Handle, request: Handle) [Mpi(TransferFileRequest)] also "MPI_File_iread_c";
    615 MpiFileIreadAll "MPI_File_iread_all" MpiIo (bytes: Bytes, offset: Int, fh: Handle, request: Handle) [Mpi(TransferFileRequest)] also "MPI_File_iread_all_c";
    616 MpiFileIreadShared "MPI_File_iread_shared" MpiIo (bytes: Bytes, offset: Int, fh: Handle, request: Handle) [Mpi(TransferFileRequest)] also "MPI_File_iread_shared_c";
    617 MpiFileIwriteAt "MPI_File_iwrite_at" MpiIo (bytes: Bytes, offset: Int, fh: Handle, request: Handle) [Mpi(TransferFileRequest)] also "MPI_File_iwrite_at_c";
    618 MpiFileIwriteAtAll "MPI_File_iwrite_at_all" MpiIo (bytes: Bytes, offset: Int, fh: Handle, request: Handle) [Mpi(TransferFileRequest)] also "MPI_File_iwrite_at_all_c";
    619 MpiFileIwrite "MPI_File_iwrite" MpiIo (bytes: Bytes, offset: Int, fh: Handle, request: Handle) [Mpi(TransferFileRequest)] also "MPI_File_iwrite_c";
    620 MpiFileIwriteAll "MPI_File_iwrite_all" MpiIo (bytes: Bytes, offset: Int, fh: Handle, request: Handle) [Mpi(TransferFileRequest)] also "MPI_File_iwrite_all_c";
    621 MpiFileIwriteShared "MPI_File_iwrite_shared" MpiIo (bytes: Bytes, offset: Int, fh: Handle, request: Handle) [Mpi(TransferFileRequest)] also "MPI_File_iwrite_shared_c";
    622 MpiFileReadAtAllBegin "MPI_File_read_at_all_begin" MpiIo (bytes: Bytes, offset: Int, fh: Handle) [Mpi(BeginTransferFile)] also "MPI_File_read_at_all_begin_c";
    623 MpiFileReadAtAllEnd "MPI_File_read_at_all_end" MpiIo (fh: Handle, moved_bytes: Bytes) [Mpi(EndTransferFile)];
    624 MpiFileReadAllBegin "MPI_File_read_all_begin" MpiIo (bytes: Bytes, offset: Int, fh: Handle) [Mpi(BeginTransferFile)] also "MPI_File_read_all_begin_c";
    625 MpiFileReadAllEnd "MPI_File_read_all_end" MpiIo (fh: Handle, moved_bytes: Bytes) [Mpi(EndTransferFile)];
    626 MpiFileReadOrderedBegin "MPI_File_read_ordered_begin" MpiIo (bytes: Bytes, offset: Int, fh: Handle) [Mpi(BeginTransferFile)] also "MPI_File_read_ordered_begin_c";
    627 MpiFileReadOrderedEnd "MPI_File_read_ordered_end" MpiIo (fh: Handle, moved_bytes: Bytes) [Mpi(EndTransferFile)];
    628 MpiFileWriteAtAllBegin "MPI_File_write_at_all_begin" MpiIo (bytes: Bytes, offset: Int, fh: Handle) [Mpi(BeginTransferFile)] also "MPI_File_write_at_all_begin_c";
    629 MpiFileWriteAtAllEnd "MPI_File_write_at_all_end" MpiIo (fh: Handle, moved_bytes: Bytes) [Mpi(EndTransferFile)];
    630 MpiFileWriteAllBegin "MPI_File_write_all_begin" MpiIo (bytes: Bytes, offset: Int, fh: Handle) [Mpi(BeginTransferFile)] also "MPI_File_write_all_begin_c";
    631 MpiFileWriteAllEnd "MPI_File_write_all_end" MpiIo (fh: Handle, moved_bytes: Bytes) [Mpi(EndTransferFile)];
    632 MpiFileWriteOrderedBegin "MPI_File_write_ordered_begin" MpiIo (bytes: Bytes, offset: Int, fh: Handle) [Mpi(BeginTransferFile)] also "MPI_File_write_ordered_begin_c";
    633 MpiFileWriteOrderedEnd "MPI_File_write_ordered_end" MpiIo (fh: Handle, moved_bytes: Bytes) [Mpi(EndTransferFile)];
}
