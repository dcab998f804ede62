//! `syn info`: what a run folder, a trace or a plan holds, on one screen or as one JSON object.

mod balance;
mod common;
mod plan;
mod run;
mod run_balance;
pub mod statement;
mod table;

pub use plan::kind_of;

use crate::exit_code::{DONE, LOOK};
use crate::input::Input;
use crate::output::{self, WRITING};
use anyhow::Context;
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
