//! `syn info`: what a run folder, a trace or a plan holds, on one screen or as one JSON object.

mod balance;
mod plan;
mod run;
mod run_balance;
pub mod statement;
mod table;

pub use plan::kind_of;

use crate::input::Input;
use crate::output::{self, WRITING};
use crate::{DONE, LOOK};
use anyhow::Context;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

/// Shows what a run folder, a trace or a plan holds, and what could not be seen.
#[derive(clap::Args)]
pub struct Args {
    /// Run folder, trace or plan.
    path: PathBuf,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
    /// Lists every process and every fault, however many there are.
    #[arg(long)]
    all: bool,
}

/// What `syn info --json` prints for both kinds; the rest follows by kind.
#[derive(Serialize)]
struct Common {
    /// `run` or `plan`.
    kind: &'static str,
    /// Version of the format.
    format: u32,
    /// The command of the first process that is not a launcher.
    command: String,
    /// Its host.
    host: String,
    /// All hosts.
    hosts: Vec<String>,
    /// The MPI implementation.
    mpi: Option<String>,
    /// How many process images there are.
    processes: u64,
    /// How many threads.
    threads: u64,
    /// Size of `MPI_COMM_WORLD`, 0 without MPI.
    ranks: u32,
    /// Of a run, records; of a plan, those it was made from.
    events: u64,
    /// Bytes in use in the files.
    bytes: u64,
    /// Elapsed time of the application.
    elapsed_s: f64,
    /// True when nothing was missed.
    complete: bool,
    /// Records that could not be written.
    dropped: u64,
    /// Processes that left no trace although something started them.
    not_entered: Vec<crate::survey::NotEntered>,
    /// What could not be seen.
    unobserved: Vec<crate::survey::Unobserved>,
}

/// Numbers by name, in the order of the names.
type Counts = BTreeMap<&'static str, u64>;

/// Runs the subcommand.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let rows = if args.all { usize::MAX } else { table::ROWS };
    let (json, screen, complete) = match Input::open(&args.path)? {
        Input::Run(run) => {
            let info = run::Info::of(&run);
            (serde_json::to_string(&info)?, run::screen(&run, &info, rows), info.common.complete)
        }
        Input::Plan(plan) => {
            let info = plan::Info::of(&plan, &args.path, rows)?;
            (serde_json::to_string(&info)?, plan::screen(&info, rows), info.common.complete)
        }
    };
    output::on_stdout(|out| {
        if args.json { writeln!(out, "{json}") } else { write!(out, "{screen}") }.context(WRITING)?;
        Ok(if complete { DONE } else { LOOK })
    })
}
