//! The application measured on the storage that is replayed on: what a replay's error is relative to.

use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use syn_plan::Plan;
use syn_trace::run::{Balance, Process};
use syn_trace::{Run, TraceError};

/// Runs of the application.
#[derive(Debug, Default)]
pub struct Application {
    /// The elapsed time of each, nanoseconds.
    pub runs_ns: Vec<u64>,
    /// What recording cost the thread of each that it cost most, nanoseconds.
    pub recording_ns: Vec<u64>,
    /// Where they differ from the plan in what cannot be: another program, another number of ranks.
    pub warnings: Vec<String>,
    /// Where they differ in what may be: arguments, which may name the storage.
    pub remarks: Vec<String>,
}

impl Application {
    /// The runs in the folders `paths`; `None` when there are none.
    ///
    /// # Errors
    /// When one is not a run folder, or is of another version of the format.
    pub fn of(paths: &[PathBuf], plan: &Plan) -> anyhow::Result<Option<Application>> {
        let mut application = Application::default();
        for path in paths {
            application.add(path, plan).context("--against takes run folders of the application")?;
        }
        Ok((!paths.is_empty()).then_some(application))
    }

    fn add(&mut self, path: &Path, plan: &Plan) -> anyhow::Result<()> {
        let name = path.display();
        if Plan::is_plan(path) {
            bail!("{name} is a plan; name the plan to replay before --against");
        }
        let run = Run::open(path)?;
        for error in &run.unreadable {
            match error {
                TraceError::Older { .. } | TraceError::Newer { .. } => bail!("{error}"),
                error => self.warnings.push(format!("{name}: left out: {error}")),
            }
        }
        let Some((start_ns, end_ns)) = run.application_span_ns() else {
            bail!("{name} holds no application, so nobody knows how long it took");
        };
        self.runs_ns.push(end_ns.saturating_sub(start_ns));
        let cost_ns = |thread: &Balance| thread.recording_ns.saturating_add(thread.startup.recording_ns);
        self.recording_ns.push(run.balances().threads.iter().map(cost_ns).max().unwrap_or(0));
        let processes = || run.processes.iter().filter(|process| !process.process_only);
        let ranks = processes().map(|process| process.ranks).max().unwrap_or(0);
        if ranks != plan.about.ranks {
            self.warnings.push(format!("{name} has {ranks} ranks, the plan has {}", plan.about.ranks));
        }
        self.compare_commands(&name, command(processes()), &plan.about.command);
        Ok(())
    }

    fn compare_commands(&mut self, name: &dyn std::fmt::Display, here: &str, there: &str) {
        if program(here) != program(there) {
            self.warnings.push(format!("{name} ran `{here}`, the plan is of `{there}`"));
        } else if here != there {
            self.remarks.push(format!("{name} ran with other arguments: `{here}`; the plan is of `{there}`"));
        }
    }
}

/// The command of the first process that has one.
fn command<'a>(mut processes: impl Iterator<Item = &'a Process>) -> &'a str {
    processes.find(|process| !process.command.is_empty()).map_or("", |process| &process.command)
}

/// The program of a command, without its folder.
fn program(command: &str) -> &str {
    let path = command.split_whitespace().next().unwrap_or("");
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_program_is_a_warning_other_arguments_a_remark() {
        let mut application = Application::default();
        application.compare_commands(&"a", "/opt/lmp -in x", "/opt/lmp -in x");
        assert!(application.warnings.is_empty() && application.remarks.is_empty());
        application.compare_commands(&"b", "/usr/bin/lmp -out /disk", "lmp -out /dev/shm");
        assert_eq!((application.warnings.len(), application.remarks.len()), (0, 1));
        application.compare_commands(&"c", "gmx", "lmp");
        assert!(application.warnings[0].starts_with("c ran `gmx`"), "{:?}", application.warnings);
    }
}
