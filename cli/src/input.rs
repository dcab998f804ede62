//! What the path on the command line names: a run folder, one thread's trace, or a plan.

use anyhow::{Context, bail};
use std::path::Path;
use syn_plan::Plan;
use syn_trace::{Run, TraceError};

/// Something that `info`, `dump` and `check` can look into.
pub enum Input {
    /// A run folder, or a single trace as a run of one thread.
    Run(Run),
    /// A plan.
    Plan(Box<Plan>),
}

impl Input {
    /// Opens whatever is at `path`.
    pub fn open(path: &Path) -> anyhow::Result<Input> {
        let about = std::fs::metadata(path).with_context(|| format!("cannot open {}", path.display()))?;
        if about.is_dir() {
            return open_folder(path).map(Input::Run);
        }
        if !about.is_file() {
            bail!("{} is neither a folder nor a regular file", path.display());
        }
        if Plan::is_plan(path) {
            return Ok(Input::Plan(Box::new(Plan::load(path)?)));
        }
        match Run::open_file(path) {
            Ok(run) => Ok(Input::Run(run)),
            Err(TraceError::NotOurs { path, found }) => bail!(
                "{} is neither a trace nor a plan of syn: it begins with {found:?}, a trace with {:?}, a plan with {:?}",
                path.display(),
                String::from_utf8_lossy(&syn_trace::header::MAGIC),
                String::from_utf8_lossy(&syn_plan::MAGIC),
            ),
            Err(error) => Err(error.into()),
        }
    }
}

/// A run folder in which at least one trace can be read.
pub fn open_folder(path: &Path) -> anyhow::Result<Run> {
    let run = Run::open(path)?;
    if !run.threads.is_empty() {
        return Ok(run);
    }
    if let (true, Some(about)) = (run.unreadable.is_empty(), run.about_empty()) {
        bail!("no trace in {} can be read: {about}", path.display());
    }
    if run.unreadable.is_empty() {
        bail!(
            "{} is not a run folder: it holds no traces; record one with `syn record -- command`{}",
            path.display(),
            folder_of_runs(path)
        );
    }
    let reasons: Vec<String> = run.unreadable.iter().map(|error| format!("\n  {error}")).collect();
    bail!("no trace in {} can be read:{}", path.display(), reasons.concat());
}

/// A hint for those who name the folder around the run folders.
fn folder_of_runs(path: &Path) -> String {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut runs: Vec<_> = entries.map(|entry| entry.path()).filter(|inner| Run::is_run(inner)).collect();
    runs.sort();
    runs.first().map_or(String::new(), |run| format!(" (did you mean {}?)", run.display()))
}
