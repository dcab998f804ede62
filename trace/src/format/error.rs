//! Why files cannot be read as traces.

use crate::header;
use crate::pack::PackError;
use std::path::PathBuf;

/// Why a file cannot be read as a thread's trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system said no.
    #[error("cannot read the trace {}: {cause}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        cause: std::io::Error,
    },
    /// The file is empty, or ends inside its header or the part that has it.
    #[error(
        "{}: cut off in front of its first event ({bytes} bytes); the recording ended there, or the copy is incomplete",
        path.display()
    )]
    Short {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// The magic number is another one.
    #[error("{}: not a syn trace (it begins with {found:?}, a trace with {:?})", path.display(), String::from_utf8_lossy(&header::MAGIC))]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// Its first bytes, as text.
        found: String,
    },
    /// The file was written by an earlier version of the format.
    #[error("{}: trace format {found} is older than {}, which this program reads; read it with the release that wrote it", path.display(), header::VERSION)]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file was written by a later version of the format.
    #[error("{}: trace format {found} is newer than {}, which this program reads; update syn", path.display(), header::VERSION)]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// One thread's trace was to be read, and the file holds several.
    #[error("{}: it holds the traces of {found} threads; name the folder it is in", path.display())]
    Several {
        /// The file.
        path: PathBuf,
        /// How many.
        found: usize,
    },
    /// The file is a packed one, and cannot be unpacked.
    #[error("{}: {fault}", path.display())]
    Packed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: PackError,
    },
    /// The file is a packed one, and there is no room for what is in it.
    #[error(
        "{}: cannot unpack it into {}: {cause}; TMPDIR names another folder", path.display(), folder.display()
    )]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// Where it was to be unpacked.
        folder: PathBuf,
        /// What the operating system said.
        cause: std::io::Error,
    },
    /// The header holds values that cannot be.
    #[error("{}: damaged header ({what})", path.display())]
    BadHeader {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
}
