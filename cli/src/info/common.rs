//! What is known of runs and plans alike.

use crate::survey::{NotEntered, Unobserved};
use serde::Serialize;
use std::collections::BTreeMap;

/// What `syn info --json` prints for both kinds; the rest follows by kind.
#[derive(Serialize)]
pub struct Common {
    /// `run` or `plan`.
    pub kind: &'static str,
    /// Version of the format.
    pub format: u32,
    /// The command of the first process that is not a launcher.
    pub command: String,
    /// Its host.
    pub host: String,
    /// All hosts.
    pub hosts: Vec<String>,
    /// The MPI implementation.
    pub mpi: Option<String>,
    /// How many process images there are.
    pub processes: u64,
    /// How many threads.
    pub threads: u64,
    /// Size of `MPI_COMM_WORLD`, 0 without MPI.
    pub ranks: u32,
    /// Of a run, records; of a plan, those it was made from.
    pub events: u64,
    /// Bytes in use in the files.
    pub bytes: u64,
    /// Elapsed time of the application.
    pub elapsed_s: f64,
    /// True when nothing was missed.
    pub complete: bool,
    /// Records that could not be written.
    pub dropped: u64,
    /// Processes that left no trace although something started them.
    pub not_entered: Vec<NotEntered>,
    /// What could not be seen.
    pub unobserved: Vec<Unobserved>,
}

/// Numbers by name, in the order of the names.
pub type Counts = BTreeMap<&'static str, u64>;
