//! The report for people.

use super::total::{Seconds, Totals};
use super::{Report, calls, threads};
use crate::communicate::Comm;
use std::fmt::{self, Write};

impl Report {
    /// Some lines of text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        match self.write(&mut out) {
            Ok(()) => out,
            Err(error) => unreachable!("writing to a string: {error}"),
        }
    }

    /// What was replayed with, where, and how.
    pub(super) fn how(&self) -> String {
        let is_mpi = self.transport == "mpi";
        let processes = if is_mpi { "MPI ranks" } else { "local processes" };
        let mut comm = if is_mpi { format!(", communication {}", self.comm.name()) } else { String::new() };
        if self.comm == Comm::Full {
            comm += &format!(", MPI-IO {}", self.mpi_io.name());
        }
        format!("replayed with {processes} on {}, mode {}{comm}", self.storage, self.mode.name())
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "{}", self.command)?;
        writeln!(out, "{}", self.how())?;
        self.totals.write(out)?;
        if self.replays > 1 {
            writeln!(out, "the tables are of replay {}, the nearest to the median", self.shown_replay)?;
        }
        self.balance.write(out)?;
        if self.ranks.len() > 1 || self.ranks.iter().any(|rank| rank.rank.is_some()) {
            threads::write(out, &self.ranks)?;
        }
        if !self.calls.is_empty() {
            calls::write(out, &self.calls)?;
        }
        if let Some(late) = &self.lateness_us {
            let (p50, p95, p99, max) = (late.p50, late.p95, late.p99, late.max);
            writeln!(out, "\nissued late by, µs: p50 {p50:.1}, p95 {p95:.1}, p99 {p99:.1}, max {max:.1}")?;
        }
        self.divergences.write(out, &self.left_out)?;
        self.remarks.iter().try_for_each(|remark| writeln!(out, "remark: {remark}"))?;
        self.warnings.iter().try_for_each(|warning| writeln!(out, "warning: {warning}"))
    }
}

impl Totals {
    pub(super) fn write(&self, out: &mut String) -> fmt::Result {
        write!(out, "\nrecorded    {:.6} s", self.recorded_s)?;
        cost_of_recording(out, self.recording_s)?;
        if let Some(spread) = self.recorded_spread_percent {
            let runs = self.recorded_runs_s.len();
            write!(out, " (recorded {runs} runs, spread {spread:.2} %)")?;
        }
        match &self.replayed_s {
            Seconds::One(one) => write!(out, "\nreplayed    {one:.6} s")?,
            Seconds::Each(each) => write!(out, "\nreplayed   {} s", list(each))?,
        }
        compared(out, "change", self.change_percent, self.change_percent_range)?;
        if !self.application_s.is_empty() {
            write!(out, "\napplication{} s", list(&self.application_s))?;
            cost_of_recording(out, self.application_recording_s.iter().copied().fold(0.0, f64::max))?;
            if let Some(spread) = self.application_spread_percent {
                write!(out, " (spread {spread:.2} %)")?;
            }
            compared(out, "error of the replay", self.error_percent, self.error_percent_range)?;
        }
        writeln!(out)
    }
}

fn cost_of_recording(out: &mut String, most_s: f64) -> fmt::Result {
    match most_s > 0.0 {
        true => write!(out, ", of which recording cost a thread {most_s:.6} s at most"),
        false => Ok(()),
    }
}

fn list(seconds: &[f64]) -> String {
    seconds.iter().map(|one| format!(" {one:.6}")).collect()
}

fn compared(out: &mut String, what: &str, percent: Option<f64>, range: Option<[f64; 2]>) -> fmt::Result {
    if let Some(percent) = percent {
        write!(out, ", {what} {percent:+.2} %")?;
    }
    match range {
        Some([low, high]) => write!(out, " (median; {low:+.2} to {high:+.2})"),
        None => Ok(()),
    }
}
