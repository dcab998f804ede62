//! From recorded runs to a plan.
//!
//! ```text
//! run folders ─► load ─► connect ───────────────────────► graph ─► reduce ─► schedule ─► lower ─► plan
//!                        pass: mpi, process_tree, file_tracker                    costs
//!                        clocks, rules/*
//! ```
//!
//! A run is read twice, each time in one pass over all its threads in time order ([`follow::pass`]): once to count,
//! check, and find what depends on what, once to write the steps. Of several runs each is read once before; then one after the
//! other is aligned with the base and its dependencies are compared with the base's ([`across`]), and all are read side by side
//! for how long computation takes. Another thread decodes ahead of a pass and puts the events in order. No pass holds events, nor the memory of traces that it
//! has read; what is held between them is the dependencies (16 bytes each and 16 for every moment that takes part: 48 for a
//! message), some 9 bytes for each MPI call, and in the end the plan itself, about ten bytes a step. The graph and the reduction
//! take some 16 bytes a moment while they are made, the schedule about ten, and 20 for each edge.

#![forbid(unsafe_code)]

mod across;
mod clocks;
mod connect;
mod costs;
mod exits;
mod follow;
mod graph;
mod load;
mod lower;
mod merge;
mod mpi;
mod notes;
mod progress;
#[cfg(test)]
mod random;
mod report;
mod rules;
mod throttled;

pub use across::align::Alignment;
pub use graph::schedule::Count;
pub use merge::{Merged, Options, merge};
pub use notes::Notes;

use anyhow::{Context, Result};
use std::io::Write;
use std::path::{Path, PathBuf};
use syn_plan::{Plan, PlanError, Rule};

/// Makes a plan of one run, or of several runs of the same application.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Run folders. Of several, the one that took the median time becomes the plan; the others say which orders always hold, how
    /// long computation usually takes, and how far runs differ. Runs that were short of processors, more than the others, tell of orders only.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Where to write the plan.
    #[arg(short, long, default_value = "merged.syn", value_name = "FILE")]
    pub output: PathBuf,
    /// Also replay what was only read of the system (/run, /etc, /usr, libraries), and what MPI keeps for itself.
    #[arg(long)]
    pub all_files: bool,
    /// Replay only what lies below this folder, by the name that the application has for it or, as far as that is known here, without
    /// symbolic links: all else, also the system's, takes as long as it took. May be given several times.
    #[arg(long, value_name = "FOLDER", value_parser = folder, conflicts_with = "all_files")]
    pub only: Vec<String>,
    /// Go on when there is no trace of some ranks.
    #[arg(long)]
    pub partial: bool,
    /// Leave out what these rules find, separated by commas; `syn info` names the rules.
    #[arg(long, value_name = "RULE,…", value_delimiter = ',', value_parser = rule)]
    pub without: Vec<Rule>,
    /// Of several runs, the one whose events become the plan; otherwise the one that took the median time of those that others did not disturb.
    #[arg(long, value_name = "RUN")]
    pub base: Option<PathBuf>,
    /// Also keep orders that were the other way round in another run.
    #[arg(long)]
    pub weak: bool,
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

/// The path of a folder, as paths are in a trace: absolute, with no slash at its end and nothing that leads elsewhere.
fn folder(path: &str) -> Result<String, String> {
    let names = || path.split('/').filter(|name| !name.is_empty());
    if !path.starts_with('/') || names().any(|name| name == "." || name == "..") {
        return Err("an absolute path is needed, without . and ..".into());
    }
    if names().next().is_none() {
        return Err("all files are below it; --all-files takes them".into());
    }
    Ok(names().map(|name| format!("/{name}")).collect())
}

/// Merges, writes the plan, and prints what was found. Returns the exit code: 0, or 3 when the plan needs a look.
///
/// # Errors
/// When a run cannot be used or the plan not be written.
pub fn run(args: Args) -> Result<u8> {
    let Args { runs, output, all_files, only, partial, without, base, weak, json } = args;
    let merged = merge(&Options { runs, all_files, only, partial, without, base, weak })?;
    write(&merged.plan, &output)?;
    let bytes = std::fs::metadata(&output).map_or(0, |metadata| metadata.len());
    let screen = report::screen(&merged, &output, bytes);
    std::io::stdout().write_all(screen.as_bytes()).context("cannot write to standard output")?;
    if let Some(path) = json {
        let text = format!("{:#}\n", report::json(&merged, &output, bytes));
        std::fs::write(&path, text).with_context(|| format!("cannot write the report {}", path.display()))?;
    }
    Ok(if merged.notes.warnings.is_empty() { 0 } else { 3 })
}

/// Writes a plan. Meanwhile it is checked: a replay would refuse one that fails, which does not come to be.
fn write(plan: &Plan, output: &Path) -> Result<()> {
    let mut unchecked = output.as_os_str().to_owned();
    unchecked.push(".unchecked");
    let unchecked = PathBuf::from(unchecked);
    let (checked, saved) = rayon::join(|| plan.check(), || plan.save(&unchecked));
    // What is told is about the plan that was asked for.
    let saved = saved.map_err(|error| match error {
        PlanError::Io { what, cause, .. } => PlanError::Io { what, path: output.to_owned(), cause },
        error => error,
    });
    let done = checked
        .context(
            "the plan that came out cannot be replayed, which is a fault of syn-merge; nothing was written",
        )
        .and_then(|()| Ok(saved?))
        .and_then(|()| {
            std::fs::rename(&unchecked, output)
                .with_context(|| format!("cannot write the plan {}", output.display()))
        });
    if done.is_err() {
        // The first error is the one to tell; the unchecked plan is of no use to anyone.
        let _ = std::fs::remove_file(&unchecked);
    }
    done
}
