//! The rules, one file each. A rule is given what belongs together and says which moment waits for which.
//!
//! The kernel, libc and MPI guarantee some of them; of others the recording shows only that they held
//! ([`syn_plan::Rule::guarantee`]).

pub mod barrier;
mod by_entry;
pub mod collective;
pub mod condition;
pub mod datagram;
pub mod eventfd;
pub mod file_create;
pub mod file_data;
pub mod file_lock;
pub mod futex;
pub mod ipc;
pub mod message;
pub mod mutex;
pub mod open_file;
pub mod partitioned;
pub mod pipe;
pub mod process_create;
pub mod process_exec;
pub mod process_join;
pub mod processes;
pub mod rendezvous;
pub mod rwlock;
pub mod semaphore;
pub mod signal;
pub mod socket;
pub mod stream;
pub mod terminal;
pub mod thread_create;
pub mod thread_join;
pub mod waking;
pub mod window_lock;
