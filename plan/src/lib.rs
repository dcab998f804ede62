//! The plan: what a recorded application does, per thread, in a form that can be replayed anywhere.
//!
//! A plan is a list of [`File`]s to prepare and a list of [`Program`]s, one per recorded thread. A program is a
//! list of [`Step`]s: computation, I/O, and `SIGNAL`/`WAIT` on numbered [`Edge`]s (//TRACE, section 3: an event stream
//! of `COMPUTE`, I/O, `SIGNAL` and `WAIT`). `PLAN.md` beside this crate describes the file byte by byte.
//!
//! An edge is a counter. `SIGNAL e` adds one to it; `WAIT e n` goes on when it has reached `n`. A message is one
//! signal and one wait for 1; a barrier of m ranks is m signals and m waits for m; a broadcast one signal and
//! m - 1 waits for 1. So a collective of m ranks takes 2 m steps, not m².

#![deny(unsafe_code)]

mod balance;
mod check;
mod communication;
mod datatype;
mod demand;
mod edge;
mod error;
mod excerpt;
mod fault;
mod fields;
pub mod figures;
mod file;
mod folders;
mod group;
mod layout;
mod mpi;
mod ops;
mod orders;
mod possible;
mod progress;
mod seconds;
mod steps;
mod text;
mod topologies;
mod traffic;
mod turns;
mod windows;
mod writer;

pub use balance::{Balance, LONGEST_WAKE_NS};
pub use datatype::{Constructor, Datatype};
pub use demand::{Demand, KERNELS};
pub use edge::{Edge, Evidence, Guarantee, Rule};
pub use error::PlanError;
pub use excerpt::Excerpt;
pub use fault::{Fault, MAX_NAME, MAX_PATH, MAX_QUEUES};
pub use fields::Referent;
pub use file::PlanFile;
pub use folders::Folders;
pub use group::{BETWEEN, Group};
pub use layout::{MAGIC, VERSION};
pub use mpi::{
    ANY, Access, Collective, Completion, Creation, Epoch, FIRST_COMMUNICATOR, FileCall, FileTransfer, Lock,
    MPI_ROWS, Mpi, NOBODY, NONE, SELF, SendMode, WORLD, Window,
};
pub use ops::{AT_POSITION, ENGINES, Io, ROWS, Row};
pub use possible::Arguments;
pub use seconds::{BalanceSeconds, LeftOutSeconds};
pub use steps::{Counted, Steps, Unrolled};
pub use topologies::Topologies;
pub use turns::turns;
pub use writer::PlanWriter;

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
    /// How waiting for a message behaved: the share of the waiting time in which the processor was used, 0 to 1;
    /// preemption is left out.
    /// A library that polls has a share near 1 and takes processor time from others.
    pub busy_waiting: f64,
    /// Online processors of the machines it was recorded on, all together; 0 when unknown.
    pub cores: u32,
    /// What could not be observed or was left out, each with its reason.
    pub remarks: Vec<String>,
    /// Recorded calls that the plan holds no operation for, most time first.
    pub left_out: Vec<LeftOut>,
    /// Threads of the plan's processes that are not in the plan: those that MPI or another library made for itself.
    pub left_out_threads: Vec<LeftOutThreads>,
    /// By process of the plan: what its program was called by, empty where that is not known. May be shorter than
    /// there are processes.
    pub images: Vec<String>,
}

/// Recorded calls of one kind that became no operation: in a replay they are time, if anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The call, and in parentheses what it was on where that is why it is left out: `read (pipe)`.
    pub call: String,
    /// How many.
    pub count: u64,
    /// Bytes they moved or asked for, 0 where that is not known.
    pub bytes: u64,
    /// Time in them, nanoseconds.
    pub ns: u64,
}

/// Threads of a process that became no program: those that libraries made for themselves, and that of the launcher which the
/// process was before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutThreads {
    /// Which process of the plan.
    pub process: u32,
    /// How many.
    pub threads: u32,
    /// CPU time they used, nanoseconds.
    pub cpu_ns: u64,
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

/// An extended attribute that a file has before the first program starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// Which file.
    pub file: FileId,
    /// Its name.
    pub name: NameId,
    /// The size of its value.
    pub bytes: u64,
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
    /// True when it lived as its process exited: the exit ends it, it does not finish by itself.
    pub ends_with_process: bool,
}

/// A thread and what it does.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Who it is.
    pub thread: Thread,
    /// Where its time went in the recording.
    pub balance: Balance,
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
    /// The names of extended attributes.
    pub names: Vec<String>,
    /// The extended attributes that are there before the first program starts.
    pub attributes: Vec<Attribute>,
    /// The dependencies between its programs.
    pub edges: Vec<Edge>,
    /// The names of the calls that edges go between.
    pub calls: Vec<String>,
    /// The communicators of the application, but for [`WORLD`] and [`SELF`]; numbers from 2 on refer to them.
    pub communicators: Vec<Members>,
    /// Lists of numbers that steps of MPI refer to: requests, bytes per member.
    pub lists: Vec<Vec<u64>>,
    /// One program per recorded thread, by rank; those without one come last.
    pub programs: Vec<Program>,
}

impl Plan {
    /// What the program of a thread's process was called by, fit to be printed; `None` where it is not known.
    pub fn image(&self, thread: &Thread) -> Option<String> {
        let image = self.about.images.get(thread.process as usize).filter(|image| !image.is_empty())?;
        Some(image.escape_debug().to_string())
    }

    /// The process of a thread, for people: what ran in it, and its number where it was recorded, as in `gzip (4711)`.
    pub fn process_name(&self, thread: &Thread) -> String {
        match self.image(thread) {
            Some(image) => format!("{image} ({})", thread.pid),
            None => format!("process {}", thread.pid),
        }
    }
}

/// The members of a communicator in the order of their ranks: runs of ranks in `MPI_COMM_WORLD` as (first, stride, count). Those of
/// an inter-communicator are of both groups, with [`BETWEEN`] in the middle.
pub type Members = Vec<(u32, i32, u32)>;
/// A communicator: [`WORLD`], [`SELF`], or two more than the index into the plan's.
pub type CommId = u32;
/// Index into the plan's lists.
pub type ListId = u32;
/// A request or a matched message in a process, numbered from 0; never the recorded handle.
pub type RequestId = u32;
/// An open file in a process, numbered from 0; never the recorded descriptor, which may stand for several files.
pub type HandleId = u32;
/// Number of a queue of asynchronous I/O in a process.
pub type QueueId = u32;
/// Index into the plan's files.
pub type FileId = u32;
/// Index into the plan's names of extended attributes.
pub type NameId = u32;
/// Index into the plan's edges.
pub type EdgeId = u32;
/// Index into the plan's names of calls.
pub type CallId = u16;

/// So many repeats may be nested.
pub const MAX_DEPTH: usize = 16;

/// One step: what to do, when it was done in the recording, and how long it took there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// When it began in the recording, nanoseconds since the start of the run.
    pub start_ns: u64,
    /// How long it took in the recording, nanoseconds.
    pub took_ns: u64,
    /// What to do.
    pub op: Op,
}

impl Step {
    /// Does nothing, in no time: what is there before a step is decoded.
    pub const NOTHING: Step = Step { start_ns: 0, took_ns: 0, op: Op::Sleep { ns: 0 } };
}

/// What a step does. I/O operations carry `result`: bytes moved, 0, or the negated errno of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
    /// Wait with a time limit that was over in the recording: sleep, but go on when what ended the wait that came next has
    /// happened.
    TimedWait {
        /// Its edge.
        edge: EdgeId,
        /// How many signals.
        count: u32,
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
        /// In a repeat: how many more each time that this step is done.
        stride: u32,
    },
    /// An I/O operation.
    Io {
        /// Which.
        call: Io,
        /// Bytes moved, 0, or the negated errno.
        result: i64,
    },
    /// What a sample of a profile consumed.
    Demand(Demand),
    /// A call of MPI. Who replays the order alone does `cpu_ns` of work and lets `idle_ns` pass in its place: what the call
    /// cost besides what the waits before it stand for.
    Mpi {
        /// Which.
        call: Mpi,
        /// Processor time.
        cpu_ns: u64,
        /// Waiting that no rule explains.
        idle_ns: u64,
    },
    /// Do the next `steps` steps `count` times. Repeats may be in each other, [`MAX_DEPTH`] deep. The steps carry the times
    /// of the first iteration, the repeat itself the time of all; see [`Steps::unrolled`].
    Repeat {
        /// How often.
        count: u32,
        /// How many steps, those of repeats among them counted once.
        steps: u32,
    },
}
