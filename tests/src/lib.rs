//! What the end-to-end tests share: real programs, built on demand, run with and without the shim.
//!
//! ```no_run
//! let quake = tests::mpirun(4).arg(tests::program("quake")).arg("--fsync");
//! let recorded = tests::record(&quake); // the same output, exit code and files, or a panic that says what differs
//! assert!(recorded.run.processes.iter().any(|process| process.rank == Some(3)));
//! ```
//!
//! The functions panic instead of returning errors: whatever goes wrong here is a failed test.

#![forbid(unsafe_code)]

mod dump;
pub mod hosts;
mod job;
mod order;
mod programs;
mod recording;
pub mod strace;
mod turns;
pub mod workloads;

#[cfg(test)]
mod unrecorded;

pub use dump::{Direction, Dump, Seen, Tally, syn};
pub use job::{Job, Outcome, has_component, is_missing, launched, mpich, mpirun};
pub use order::{Write, unordered, writes, writes_by};
pub use programs::{
    copy_program, has_go, library, profile_folder, program, program_fortified, program_sanitized,
    program_static,
};
pub use recording::{Comparison, Recorded, differences, record, record_but, run_recorded, shim};
pub use turns::{replayed_out_of_order, replays};
