//! The parts of a screen that runs and plans share.

use super::common::{Common, Counts};
use crate::survey::{NotEntered, Unobserved};
use std::fmt::Write;

/// Rows of a list before it is cut, so that everything fits one screen.
pub const ROWS: usize = 16;

/// Two columns: a name and its value.
pub fn row(out: &mut String, name: &str, value: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{name:<12} {value}");
}

/// What ran where.
pub fn heading(out: &mut String, common: &Common) {
    row(out, "command", if common.command.is_empty() { "unknown" } else { &common.command });
    row(out, "host", common.hosts.join(", "));
    if let Some(mpi) = &common.mpi {
        row(out, "mpi", format_args!("{mpi}, {} ranks", common.ranks));
    }
    row(out, "processes", format_args!("{}, threads {}", common.processes, common.threads));
    row(out, "elapsed", format_args!("{:.3} s", common.elapsed_s));
}

/// `name count, name count, …`, the largest first.
pub fn counts(out: &mut String, name: &str, counts: &Counts) {
    let mut sorted: Vec<_> = counts.iter().filter(|&(_, &count)| count > 0).collect();
    sorted.sort_by_key(|&(name, &count)| (std::cmp::Reverse(count), *name));
    let listed: Vec<String> = sorted.iter().map(|(name, count)| format!("{name} {count}")).collect();
    row(out, name, if listed.is_empty() { "none".into() } else { listed.join(", ") });
}

/// A list under a heading, cut after `rows` lines.
pub fn list(out: &mut String, heading: &str, lines: &[String], rows: usize) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{heading}");
    for line in lines.iter().take(rows) {
        let _ = writeln!(out, "  {line}");
    }
    if lines.len() > rows {
        let _ = writeln!(out, "  … {} more; all of them with --all", lines.len() - rows);
    }
}

/// What is missing; the last thing on the screen.
pub fn missing(out: &mut String, common: &Common, rows: usize) {
    list(out, "left no trace:", &NotEntered::describe(&common.not_entered), rows);
    list(out, "could not be seen:", &Unobserved::describe(&common.unobserved), rows);
    let _ = writeln!(out);
    let complete = match (common.complete, common.kind) {
        (false, _) => "no, see above",
        // Processes that nobody recorded are known to their run only.
        (true, "plan") => "yes, nothing was missed in the processes that were recorded",
        (true, _) => "yes, nothing was missed",
    };
    row(out, "complete", complete);
}
