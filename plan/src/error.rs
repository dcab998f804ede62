//! What can be wrong with a plan file.

use crate::Fault;
use crate::layout::VERSION;
use std::io;
use std::path::PathBuf;

/// Why a plan could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The operating system said no.
    #[error("cannot {what} the plan {}: {cause}", path.display())]
    Io {
        /// "read" or "write".
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The magic number is another one.
    #[error("{}: not a syn plan; make one with `syn-merge runs/*`", .0.display())]
    NotOurs(PathBuf),
    /// It is a folder.
    #[error("{}: a folder, and no plan; if it is a run folder, merge it first (`syn-merge`)", .0.display())]
    Folder(PathBuf),
    /// The file was written by an earlier version of the format.
    #[error("{}: plan format {found} is older than {VERSION}, which this program reads; merge the run again", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file was written by a later version of the format.
    #[error("{}: plan format {found} is newer than {VERSION}, which this program reads; update syn", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// A step of a kind that this program does not know.
    #[error("{}: program {program} has a step of kind {number}, which this program does not know; update syn", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// Index of the program.
        program: usize,
        /// The number of the kind.
        number: u8,
    },
    /// The file ends too early.
    #[error("{}: cut off at byte {offset} {of}; copy or merge it again", path.display())]
    CutOff {
        /// The file.
        path: PathBuf,
        /// Its length.
        offset: u64,
        /// What it should be.
        of: String,
    },
    /// A section's checksum or form is wrong.
    #[error("{}: damaged in {section}, which begins at byte {offset}; copy or merge it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the section begins.
        offset: u64,
        /// Which section.
        section: String,
    },
    /// The file is whole, but what it says cannot be replayed.
    #[error("{}: {fault}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: Fault,
    },
}
