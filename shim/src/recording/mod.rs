//! A recording: the process, its threads and their files, calls under way.

pub mod beginning;
pub mod detours;
pub mod environment;
pub mod first_records;
pub mod jumps;
pub mod library_calls;
pub mod list;
pub mod mappings;
pub mod process;
pub mod span;
pub mod thread;
pub mod vfork_child;
