//! What a record of a call holds: arguments and what they are.

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
    /// What a position is counted from, of `lseek(2)`.
    Whence,
    /// A command of `fcntl(2)`.
    FcntlCommand,
    /// A command of `lockf(3)`.
    LockfCommand,
    /// An operation of `flock(2)`.
    FlockOperation,
    /// A request of `ioctl(2)`.
    IoctlRequest,
    /// Advice of `posix_fadvise(2)`.
    FileAdvice,
    /// Flags of `fallocate(2)`.
    AllocateFlags,
    /// Flags of `sync_file_range(2)`.
    SyncRangeFlags,
    /// Flags of `splice(2)` and its kind.
    SpliceFlags,
    /// Flags of `memfd_create(2)`.
    MemfdFlags,
    /// Flags of `renameat2(2)`.
    RenameFlags,
    /// Flags of `setxattr(2)`.
    AttributeFlags,
    /// Flags of `unlinkat(2)`.
    UnlinkFlags,
    /// Flags of `faccessat(2)`.
    AccessFlags,
    /// What is asked for by `access(2)`.
    AccessMode,
    /// Flags of `linkat(2)`.
    LinkFlags,
    /// Flags of `fstatat(2)` and `statx(2)`.
    StatFlags,
    /// Flags of other calls whose path starts from a descriptor.
    PathFlags,
    /// A domain of `socket(2)`.
    AddressFamily,
    /// A type of `socket(2)`, with flags.
    SocketType,
    /// Flags of `accept4(2)`.
    AcceptFlags,
    /// Which half `shutdown(2)` ends.
    ShutdownHow,
    /// Which protocol an option of a socket belongs to.
    SocketLevel,
    /// Flags of `send(2)` and `recv(2)`.
    MessageFlags,
    /// An operation of `epoll_ctl(2)`.
    EpollOperation,
    /// Events of `epoll_ctl(2)`.
    EpollEvents,
    /// Flags of `epoll_create1(2)`.
    EpollFlags,
    /// Flags of `eventfd(2)`.
    EventfdFlags,
    /// Flags of `signalfd(2)`.
    SignalfdFlags,
    /// Flags of `timerfd_create(2)`.
    TimerfdFlags,
    /// Flags of `timerfd_settime(2)`.
    TimerfdSetFlags,
    /// Flags of `inotify_init1(2)`.
    InotifyFlags,
    /// Events of `inotify_add_watch(2)`.
    InotifyMask,
    /// Flags of `pidfd_open(2)`.
    PidfdFlags,
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
    /// Flags of `MPI_File_open`: bits 0 to 8 are `MPI_MODE_CREATE`, `_RDONLY`, `_WRONLY`, `_RDWR`, `_DELETE_ON_CLOSE`,
    /// `_UNIQUE_OPEN`, `_EXCL`, `_APPEND`, `_SEQUENTIAL`.
    FileMode,
    /// A message tag; [`ANY`] stands for the wildcard.
    Tag,
    /// A path as the program gave it.
    Path,
    /// Any other text.
    Text,
    /// Request handles, in call order.
    Requests,
    /// Completed requests, four numbers each: handle, source, tag, bytes. Of one that was cancelled the source is [`UNDEFINED`].
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
