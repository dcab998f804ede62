//! The plan: what a recorded application does, per thread, in a form that can be replayed anywhere.
//!
//! A plan is a list of [`File`]s to prepare and a list of [`Program`]s, one per recorded thread. A program is a
//! list of [`Step`]s: computation, I/O, and `SIGNAL`/`WAIT` on numbered [`Edge`]s (//TRACE, section 3: an event stream
//! of `COMPUTE`, I/O, `SIGNAL` and `WAIT`). `PLAN.md` beside this crate describes the file byte by byte.
//!
//! An edge is a counter. `SIGNAL e` adds one to it; `WAIT e n` goes on when it has reached `n`. A message is one
//! signal and one wait for 1; a barrier of m ranks is m signals and m waits for m; a broadcast one signal and
//! m - 1 waits for 1. So a collective of m ranks takes 2 m steps, not m².

#![forbid(unsafe_code)]

mod check;
mod file;
mod steps;
mod text;

pub use check::Fault;
pub use file::{MAGIC, PlanError, VERSION};
pub use steps::Steps;

use serde::{Deserialize, Serialize};

/// What the plan was made from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The command of the first process that is not a launcher.
    pub command: String,
    /// Host names, first the one of rank 0.
    pub hosts: Vec<String>,
    /// The MPI implementation.
    pub mpi: Option<String>,
    /// Ranks in `MPI_COMM_WORLD`, 0 without MPI.
    pub ranks: u32,
    /// Elapsed time of the application in the run the plan follows, nanoseconds.
    pub recorded_ns: u64,
    /// The same in every run that was merged, the one above among them: the application's own spread.
    pub runs_ns: Vec<u64>,
    /// Events the plan was made from.
    pub events: u64,
    /// Records the shim could not write, in all runs.
    pub dropped: u64,
    /// How waiting for a message behaved: the share of the waiting time in which the processor was used, 0 to 1.
    /// A library that polls has a share near 1 and takes processor time from others.
    pub busy_waiting: f64,
    /// What could not be observed or was left out, each with its reason.
    pub remarks: Vec<String>,
}

/// How a file must be before the replay starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Initial {
    /// Not there; the replay makes it, or expects not to find it.
    Absent,
    /// A regular file of this many bytes.
    Regular {
        /// Its size.
        bytes: u64,
    },
    /// A directory.
    Directory,
}

/// A file or directory that a program names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Its absolute path where it was recorded; below the storage root when replayed.
    pub path: String,
    /// Its state before the first program starts.
    pub initial: Initial,
}

/// Why one thread waits for another: the rule that found the dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Rule {
    /// A process starts after the call that created it.
    ProcessCreate,
    /// A wait for a process returns after the process ended.
    ProcessJoin,
    /// A thread starts after the call that created it.
    ThreadCreate,
    /// A join returns after the thread ended.
    ThreadJoin,
    /// A receive completes after its send started.
    Message,
    /// A send of a long message completes after its receive was posted.
    Rendezvous,
    /// A collective completes as its kind demands.
    Collective,
    /// A file is opened after the process that created it did so.
    FileCreate,
    /// Bytes are read after they were written.
    FileData,
}

impl Rule {
    /// Every rule, by order of trust.
    pub const ALL: [Rule; 9] = [
        Rule::ProcessCreate,
        Rule::ProcessJoin,
        Rule::ThreadCreate,
        Rule::ThreadJoin,
        Rule::Message,
        Rule::Rendezvous,
        Rule::Collective,
        Rule::FileCreate,
        Rule::FileData,
    ];
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::ProcessCreate => "process-create",
            Rule::ProcessJoin => "process-join",
            Rule::ThreadCreate => "thread-create",
            Rule::ThreadJoin => "thread-join",
            Rule::Message => "message",
            Rule::Rendezvous => "rendezvous",
            Rule::Collective => "collective",
            Rule::FileCreate => "file-create",
            Rule::FileData => "file-data",
        }
    }
}

/// One dependency, as a counter; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// Which rule found it.
    pub rule: Rule,
    /// How many signals it gets in all; no wait may ask for more.
    pub signals: u32,
}

/// One recorded thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Which process of the plan it runs in, from 0; threads of one process share descriptors.
    pub process: u32,
    /// Rank in `MPI_COMM_WORLD` of its process; a process without one belongs to the rank it descends from.
    pub rank: Option<u32>,
    /// Process id where it was recorded.
    pub pid: u32,
    /// Thread id where it was recorded.
    pub tid: u32,
}

/// A thread and what it does.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Who it is.
    pub thread: Thread,
    /// What it does, in order.
    pub steps: Steps,
}

/// A whole plan; its steps stay encoded (about ten bytes each) until they are iterated over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What it was made from.
    pub about: About,
    /// The files and directories it names.
    pub files: Vec<File>,
    /// The dependencies between its programs.
    pub edges: Vec<Edge>,
    /// One program per recorded thread.
    pub programs: Vec<Program>,
}

/// An open file in a process, numbered from 0; never the recorded descriptor, which may stand for several files.
pub type HandleId = u32;
/// Index into the plan's files.
pub type FileId = u32;
/// Index into the plan's edges.
pub type EdgeId = u32;

/// One step: what to do, when it was done in the recording, and how long it took there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// When it began in the recording, nanoseconds since the start of the run.
    pub start_ns: u64,
    /// How long it took in the recording, nanoseconds.
    pub took_ns: u64,
    /// What to do.
    pub op: Op,
}

/// What a step does. I/O operations carry `result`: bytes moved, 0, or the negated errno of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// Use the processor for `cpu_ns` nanoseconds of the recording machine's work, then let `idle_ns` pass: waiting
    /// that nobody observed, so that no edge explains it.
    Compute {
        /// Work.
        cpu_ns: u64,
        /// Unexplained waiting.
        idle_ns: u64,
    },
    /// Sleep, as the application asked for.
    Sleep {
        /// For how long.
        ns: u64,
    },
    /// Add one to an edge.
    Signal {
        /// Which.
        edge: EdgeId,
    },
    /// Go on when an edge has had `count` signals.
    Wait {
        /// Which.
        edge: EdgeId,
        /// How many.
        count: u32,
    },
    /// An I/O operation.
    Io {
        /// Which.
        call: Io,
        /// Bytes moved, 0, or the negated errno.
        result: i64,
    },
    /// Do the next `steps` steps `count` times. They hold no `Signal`, `Wait` or further `Repeat`. The steps carry
    /// the times of the first iteration, the repeat itself the time of all; see [`Steps::unrolled`].
    Repeat {
        /// How often.
        count: u32,
        /// How many steps.
        steps: u32,
    },
}

/// An I/O operation on a file by number, or on an open file by handle. Sizes and offsets are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Io {
    /// open(2); `handle` is what it becomes when it succeeds. `flags` are those of `open(2)` on Linux x86-64.
    Open { file: FileId, handle: HandleId, flags: i32, mode: u32 },
    /// close(2).
    Close { handle: HandleId },
    /// dup(2): `new` is the same open file as `handle`.
    Dup { handle: HandleId, new: HandleId },
    /// read(2), readv(2).
    Read { handle: HandleId, bytes: u64 },
    /// write(2), writev(2).
    Write { handle: HandleId, bytes: u64 },
    /// pread(2), preadv(2).
    ReadAt { handle: HandleId, bytes: u64, offset: u64 },
    /// pwrite(2), pwritev(2).
    WriteAt { handle: HandleId, bytes: u64, offset: u64 },
    /// lseek(2), to an absolute position.
    Seek { handle: HandleId, offset: u64 },
    /// fsync(2).
    Fsync { handle: HandleId },
    /// fdatasync(2).
    Fdatasync { handle: HandleId },
    /// sync_file_range(2).
    SyncRange { handle: HandleId, offset: u64, bytes: u64, flags: u32 },
    /// syncfs(2); sync(2) is replayed as this, on the storage root.
    SyncFs,
    /// truncate(2).
    Truncate { file: FileId, bytes: u64 },
    /// ftruncate(2).
    Ftruncate { handle: HandleId, bytes: u64 },
    /// fallocate(2), posix_fallocate(3).
    Allocate { handle: HandleId, mode: i32, offset: u64, bytes: u64 },
    /// stat(2) and its kin; `follow` is false for lstat(2).
    Stat { file: FileId, follow: bool },
    /// fstat(2).
    Fstat { handle: HandleId },
    /// access(2), with its mode.
    Access { file: FileId, mode: i32 },
    /// readlink(2).
    Readlink { file: FileId },
    /// unlink(2).
    Unlink { file: FileId },
    /// rename(2).
    Rename { from: FileId, to: FileId },
    /// link(2).
    Link { from: FileId, to: FileId },
    /// symlink(2): `link` points to `target`, both below the storage root.
    Symlink { target: FileId, link: FileId },
    /// mkdir(2).
    Mkdir { file: FileId, mode: u32 },
    /// rmdir(2).
    Rmdir { file: FileId },
    /// Read up to `entries` entries of an open directory.
    ReadDir { handle: HandleId, entries: u32 },
}
