//! What can be wrong with a plan, and how much of everything there may be.

/// The most handles one process may use; a replay keeps a table of that size.
pub const MAX_HANDLES: u32 = 1 << 22;
/// The most queues of asynchronous I/O that one process may use, as above.
pub const MAX_QUEUES: u32 = 1 << 16;
/// The most processes a plan may have.
pub const MAX_PROCESSES: u32 = 1 << 20;
/// The longest path, below the storage root, that Linux takes.
pub const MAX_PATH: usize = 4095;
/// The longest name of a file.
pub const MAX_NAME: usize = 255;

/// What makes a plan impossible to replay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A number is too large for what it refers to.
    #[error("program {program}, step {step}: {what} {number} does not exist (there are {limit})")]
    NoSuch {
        /// Index of the program.
        program: usize,
        /// Index of the step.
        step: u64,
        /// What the number refers to.
        what: &'static str,
        /// The number.
        number: u64,
        /// How many there are.
        limit: u64,
    },
    /// A repeat reaches behind the end, or holds what it must not.
    #[error("program {program}, step {step}: a repeat of {steps} steps {why}")]
    BadRepeat {
        /// Index of the program.
        program: usize,
        /// Index of the step.
        step: u64,
        /// Its length.
        steps: u32,
        /// What is wrong.
        why: &'static str,
    },
    /// A file's path is not absolute, or climbs.
    #[error("file {file}: the path {path:?} is not an absolute path without `..`; nothing was touched")]
    BadPath {
        /// Index of the file.
        file: usize,
        /// Its path.
        path: String,
    },
    /// A file or folder must be there at the start, and cannot be.
    #[error("file {file}: {path:?} is in {folder:?}, which is a regular file at the start")]
    FileInFile {
        /// Index of the file.
        file: usize,
        /// Its path.
        path: String,
        /// What it is in.
        folder: String,
    },
    /// A name that no file system takes.
    #[error(
        "file {file}: the path {path:?} is longer than {MAX_PATH} bytes, or a name in it than {MAX_NAME}"
    )]
    LongName {
        /// Index of the file.
        file: usize,
        /// Its path.
        path: String,
    },
    /// An extended attribute is changed, or there at the start, that is not a user's: others give rights.
    #[error(
        "the extended attribute {name:?} would be changed; a replay changes those of users alone (`user.…`)"
    )]
    BadAttribute {
        /// Its name.
        name: String,
    },
    /// A file that is not there at the start has an extended attribute.
    #[error("file {file}: {path:?} is not there at the start, and has an extended attribute")]
    AttributeOfNothing {
        /// Index of the file.
        file: usize,
        /// Its path.
        path: String,
    },
    /// Something is made that is no file, FIFO or socket.
    #[error(
        "program {program}, step {step}: makes a node of type {mode:#o}, which is no regular file, FIFO or socket"
    )]
    BadNode {
        /// Index of the program.
        program: usize,
        /// Index of the step.
        step: u64,
        /// The type and permissions.
        mode: u32,
    },
    /// A file is renamed in a way that makes another one.
    #[error(
        "program {program}, step {step}: renames with flags {flags:#x}, of which a replay does `RENAME_NOREPLACE` and `RENAME_EXCHANGE` alone"
    )]
    BadRename {
        /// Index of the program.
        program: usize,
        /// Index of the step.
        step: u64,
        /// The flags of renameat2(2).
        flags: u32,
    },
    /// An edge gets another number of signals than it says.
    #[error("edge {edge} gets {found} signals, but is said to get {expected}")]
    Signals {
        /// Index of the edge.
        edge: usize,
        /// As counted.
        found: u64,
        /// As said.
        expected: u32,
    },
    /// Some threads would wait for ever.
    #[error(
        "would wait for ever: program {program} at step {step} waits for {count} signals on edge {edge}, and all that can run has run"
    )]
    Deadlock {
        /// Index of the program.
        program: usize,
        /// Index of the step.
        step: u64,
        /// Index of the edge.
        edge: u32,
        /// How many signals it waits for.
        count: u32,
    },
    /// Repeats whose signals and waits depend on each other in so many ways that nobody can say whether they end.
    #[error(
        "after {steps} steps in repeats it was not clear whether all programs come to their ends; write these repeats out"
    )]
    TooLong {
        /// How many steps were looked at.
        steps: u64,
    },
    /// A communicator has members that are no ranks, or has them twice.
    #[error("communicator {comm} has a member that is no rank of the {ranks}, or is in it twice")]
    BadCommunicator {
        /// Its number.
        comm: u32,
        /// How many ranks there are.
        ranks: u32,
    },
    /// A call of MPI that no MPI could do.
    #[error("program {program}, step {step}: {call}: {why}")]
    BadMpi {
        /// Index of the program.
        program: usize,
        /// Index of the step.
        step: u64,
        /// The call.
        call: &'static str,
        /// What is wrong.
        why: &'static str,
    },
    /// Calls of MPI that wait for what nobody does.
    #[error("the calls of MPI do not match each other: {what}")]
    Unmatched {
        /// Where.
        what: String,
    },
    /// An edge is said to come from a call that has no name.
    #[error("edge {edge} goes between calls of which number {call} does not exist (there are {limit})")]
    NoCall {
        /// Index of the edge.
        edge: usize,
        /// The number.
        call: u16,
        /// How many there are.
        limit: usize,
    },
    /// A program stands behind one of a higher rank.
    #[error("program {program} stands behind one of a higher rank, or of none")]
    Order {
        /// Index of the program.
        program: usize,
    },
    /// A thread names a process number that is too large.
    #[error("program {program} runs in process {process}, more than {MAX_PROCESSES}")]
    Process {
        /// Index of the program.
        program: usize,
        /// Its process.
        process: u32,
    },
}
