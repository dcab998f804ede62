//! What can go wrong.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Why a command could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command itself cannot be executed.
    #[error("cannot run {program}: {cause}")]
    Command {
        /// Its first word.
        program: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// The kernel does not let us trace.
    #[error(
        "cannot trace a process here: {cause}. In a container ptrace(2) has to be allowed (docker run --cap-add \
         SYS_PTRACE), on a host look at /proc/sys/kernel/yama/ptrace_scope; a process that is traced itself cannot \
         be recorded either. Without it, only --backend=shim remains"
    )]
    Trace {
        /// What the kernel said.
        cause: io::Error,
    },
    /// The kernel does not take the filter.
    #[error(
        "cannot install a filter of system calls: {cause}. Recording through ptrace needs Linux 5.3 or newer with \
         seccomp filters (CONFIG_SECCOMP_FILTER), in a container also the permission to use them"
    )]
    Filter {
        /// What the kernel said.
        cause: io::Error,
    },
    /// A command cannot be passed on.
    #[error("the command has a word with a zero byte in it: {word:?}")]
    ZeroByte {
        /// The word.
        word: OsString,
    },
    /// The run folder cannot be written to.
    #[error("cannot write the trace {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// Something went wrong that has nothing to do with the command.
    #[error("cannot {doing}: {cause}")]
    System {
        /// What we were doing.
        doing: &'static str,
        /// What the kernel said.
        cause: io::Error,
    },
}

impl Error {
    /// What the latest system call has failed with.
    pub fn last(doing: &'static str) -> Error {
        Error::System { doing, cause: io::Error::last_os_error() }
    }
}
