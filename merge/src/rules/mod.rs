//! The rules, one file each. A rule is given what belongs together and says which moment waits for which.
//!
//! In order of trust: the kernel and MPI guarantee the first six; of the last two the recording shows only that
//! they held.

pub mod collective;
pub mod file_create;
pub mod file_data;
pub mod message;
pub mod open_file;
pub mod process_create;
pub mod process_join;
pub mod processes;
pub mod rendezvous;
pub mod thread_create;
pub mod thread_join;
