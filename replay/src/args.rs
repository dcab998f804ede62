//! The command line.

use crate::communicate::{Comm, MpiIo};
use crate::mode::{Mode, Waiting};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// What to replay, where and how.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The plan to replay, as `syn-merge` wrote it
    #[arg(value_name = "FILE", default_value = "merged.syn")]
    pub plan: PathBuf,

    /// Folder on the storage to replay on; everything happens in a fresh folder below it
    #[arg(long, value_name = "DIR")]
    pub storage: PathBuf,

    /// When to issue an I/O operation
    #[arg(long, value_enum, default_value_t)]
    pub mode: Mode,

    /// Replay this often, each time from freshly prepared files
    #[arg(long, value_name = "N", default_value = "1")]
    pub repeat: NonZeroU32,

    /// Write the report to this file, as JSON
    #[arg(long, value_name = "F.json")]
    pub report: Option<PathBuf>,

    /// Draw the report on a page for a browser
    #[arg(long, value_name = "F.html")]
    pub html: Option<PathBuf>,

    /// Run folders of the application, recorded on the storage that is replayed on: the report then says how wrong
    /// the replay is. The plan is named before this
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub against: Vec<PathBuf>,

    /// Drop the prepared files from the page cache before the replay starts
    #[arg(long)]
    pub cold: bool,

    /// Leave the replayed files where they are
    #[arg(long)]
    pub keep: bool,

    /// Multiply all computation by this factor
    #[arg(long, value_name = "F", default_value = "1", value_parser = scale)]
    pub cpu_scale: f64,

    /// The partner of a plan's demands on the network, started there with `syn emulate --serve`; without it a thread of
    /// the replay
    #[arg(long, value_name = "HOST:PORT")]
    pub peer: Option<String>,
    /// For tests: delay computation and operations at random, by up to 2 ms each, and report when each operation was done.
    /// The same seed gives the same delays; of several replays each has others
    #[arg(long, value_name = "SEED")]
    pub inject_delays: Option<u64>,
    /// What to do with the communication through MPI; by default `full` under mpirun, and else `order`
    #[arg(long, value_enum)]
    pub comm: Option<Comm>,

    /// On which level to replay files that the application used through MPI; by default `mpi` with `--comm full`, and else
    /// `posix`
    #[arg(long, value_enum)]
    pub mpi_io: Option<MpiIo>,

    /// How to wait for another rank; `auto` does as the recorded application did
    #[arg(long, value_enum, default_value_t)]
    pub wait: Waiting,
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor >= 0.0 => Ok(factor),
        _ => Err("expected a number of at least 0, such as 1.5".into()),
    }
}
