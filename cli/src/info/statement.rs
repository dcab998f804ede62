//! The completeness statement of a run: process by process, what was observable and what is missing.

use crate::survey::{NotEntered, Survey, describe_ending, grouped};
use serde::Serialize;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;
use syn_trace::run::Process;
use syn_trace::{Run, header};

/// The file in a run folder that holds the statement; written when the command of `syn record` has ended.
pub const FILE: &str = "completeness.txt";

/// What was observable in a process image.
#[derive(Serialize)]
pub struct Observed {
    /// How its calls were seen.
    pub seen_by: &'static str,
    /// Calls of MPI were seen.
    pub mpi: bool,
    /// Records that could not be written.
    pub dropped: u64,
    /// System calls made by number that are not in the table of calls, and so are known by their number alone.
    pub not_understood: u64,
    /// What could not be seen, and why.
    pub unobserved: Vec<String>,
}

impl Observed {
    /// Of the process image at `index` of the run.
    pub fn of(run: &Run, index: usize, survey: &Survey) -> Observed {
        let process = &run.processes[index];
        let mut observed = Observed {
            seen_by: seen_by(run, process),
            mpi: process.rank.is_some(),
            dropped: 0,
            not_understood: 0,
            unobserved: Vec::new(),
        };
        for &thread in &process.threads {
            let trace = &run.threads[thread].trace;
            observed.dropped += trace.header().dropped.load(Relaxed);
            let found = &survey.threads[thread];
            observed.not_understood += found.not_understood;
            observed.unobserved.extend(describe_ending(found.ending));
            for reason in &found.unobserved {
                if !observed.unobserved.contains(reason) {
                    observed.unobserved.push(reason.clone());
                }
            }
        }
        observed
    }

    /// In one line.
    fn describe(&self) -> String {
        let mut line = self.seen_by.to_owned();
        if self.mpi {
            line += ", MPI";
        }
        if self.dropped > 0 {
            let _ = write!(line, "; {} records dropped", self.dropped);
        }
        if self.not_understood > 0 {
            let _ = write!(line, "; {} system calls known by number only", self.not_understood);
        }
        line
    }
}

fn seen_by(run: &Run, process: &Process) -> &'static str {
    let capabilities = process
        .threads
        .iter()
        .fold(0, |all, &thread| all | run.threads[thread].trace.header().capabilities.load(Relaxed));
    if capabilities & header::BY_PTRACE != 0 {
        "system calls, by ptrace (not which pages of mapped files were touched)"
    } else if capabilities & header::PROCESS_ONLY != 0 {
        "process creation only"
    } else if capabilities & header::SEES_LIBC_INTERNAL != 0 {
        "calls of libc, and those that libc makes itself (detours in place)"
    } else {
        "calls of libc, not those that libc makes itself (no detours)"
    }
}

/// The whole statement. `unmade` tells of traces that could not be made.
pub fn text(run: &Run, survey: &Survey, unmade: Option<&str>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "Completeness of the run in {}", run.path.display());
    let _ = writeln!(
        out,
        "{} process images, {} threads, {} events, {} records dropped, {} processes not entered",
        run.processes.len(),
        run.threads.len(),
        survey.events(),
        survey.dropped,
        survey.not_entered.len()
    );
    let processes = run.processes.iter().enumerate().map(|(index, process)| {
        let observed = Observed::of(run, index, survey);
        let mut about = format!("{}\n  seen: {}", process.command, observed.describe());
        for reason in &observed.unobserved {
            let _ = write!(about, "\n  not seen: {reason}");
        }
        (about, format!("process {}", process.pid))
    });
    for line in grouped(processes) {
        let _ = writeln!(out, "\n{line}");
    }
    if !survey.not_entered.is_empty() {
        let _ = writeln!(out, "\nNot entered:");
        for line in NotEntered::describe(&survey.not_entered) {
            let _ = writeln!(out, "  {line}");
        }
    }
    for error in &run.unreadable {
        let _ = writeln!(out, "\nUnreadable: {error}");
    }
    if let Some(about) = run.about_empty() {
        let _ = writeln!(out, "\nEmpty: {about}");
    }
    if let Some(unmade) = unmade {
        let _ = writeln!(out, "\nNot recorded: {unmade}");
    }
    let complete = survey.complete() && run.empty.is_empty() && unmade.is_none();
    let verdict = if complete { "Nothing was missed." } else { "Something was missed: see above." };
    let _ = writeln!(out, "\n{verdict}");
    out
}
