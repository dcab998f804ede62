//! From recorded runs to a plan.
//!
//! ```text
//! run folders ─► load ─► connect ───────────────────────► graph ─► reduce ─► schedule ─► lower ─► plan
//!                        pass: mpi, process_tree, file_tracker                    costs
//!                        clocks, rules/*
//! ```
//!
//! A run is read twice, each time in one pass over all its threads in time order ([`follow::pass`]): once to count,
//! check, and find what depends on what, once to write the steps. Of several runs each is read once before. No pass holds events; what is held between
//! them is the dependencies (24 bytes each and 24 for every moment that takes part: 72 for a message), 24 bytes for
//! each MPI call, 4 bytes for every pair of threads that depend on others, and in the end the plan itself, about ten
//! bytes a step.

#![forbid(unsafe_code)]

mod align;
mod clocks;
mod connect;
mod costs;
mod follow;
mod graph;
mod load;
mod lower;
mod merge;
mod mpi;
mod notes;
mod progress;
mod report;
mod rules;

pub use align::Alignment;
pub use graph::schedule::Count;
pub use merge::{Merged, Options, merge};
pub use notes::Notes;

use anyhow::{Context, Result};
use std::io::Write;
use std::path::PathBuf;
use syn_plan::Rule;

/// Makes a plan of one run, or of several runs of the same application.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Run folders. Of several, the one that took the median time becomes the plan; the others give the spread.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Where to write the plan.
    #[arg(short, long, default_value = "merged.syn", value_name = "FILE")]
    pub output: PathBuf,
    /// Also replay what was only read of the system (/run, /etc, /usr, libraries), and what MPI keeps for itself.
    #[arg(long)]
    pub all_files: bool,
    /// Go on when there is no trace of some ranks.
    #[arg(long)]
    pub partial: bool,
    /// Leave out what these rules find, separated by commas; `syn info` names the rules.
    #[arg(long, value_name = "RULE,…", value_delimiter = ',', value_parser = rule)]
    pub without: Vec<Rule>,
    /// Write what was found as JSON as well.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// The rule of this name.
fn rule(name: &str) -> Result<Rule, String> {
    let names = || Rule::ALL.map(Rule::name).join(", ");
    let found = Rule::ALL.into_iter().find(|rule| rule.name() == name);
    found.ok_or_else(|| format!("no rule is called so; there are {}", names()))
}

/// Merges, writes the plan, and prints what was found. Returns the exit code: 0, or 3 when the plan needs a look.
///
/// # Errors
/// When a run cannot be used or the plan not be written.
pub fn run(args: Args) -> Result<u8> {
    let Args { runs, output, all_files, partial, without, json } = args;
    let merged = merge(&Options { runs, all_files, partial, without })?;
    // A replay would refuse it.
    merged.plan.check().context(
        "the plan that came out cannot be replayed, which is a fault of syn-merge; nothing was written",
    )?;
    merged.plan.save(&output)?;
    let bytes = std::fs::metadata(&output).map_or(0, |metadata| metadata.len());
    let screen = report::screen(&merged, &output, bytes);
    std::io::stdout().write_all(screen.as_bytes()).context("cannot write to standard output")?;
    if let Some(path) = json {
        let text = format!("{:#}\n", report::json(&merged, &output, bytes));
        std::fs::write(&path, text).with_context(|| format!("cannot write the report {}", path.display()))?;
    }
    Ok(if merged.notes.warnings.is_empty() { 0 } else { 3 })
}
