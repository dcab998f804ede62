//! The report for people.

use super::{CallReport, RankReport, Report};
use crate::report::total::Seconds;
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

    fn write(&self, out: &mut String) -> fmt::Result {
        let processes = if self.transport == "mpi" { "MPI ranks" } else { "local processes" };
        writeln!(out, "{}", self.command)?;
        writeln!(out, "replayed with {processes} on {}, mode {}", self.storage, self.mode.name())?;
        self.write_totals(out)?;
        if self.ranks.len() > 1 || self.ranks.iter().any(|rank| rank.rank.is_some()) {
            writeln!(
                out,
                "\n{:<6} {:>11} {:>11} {:>9} | {:>10} {:>10} {:>10} {:>10}",
                "rank", "recorded s", "replayed s", "error %", "compute s", "sleep s", "I/O s", "waiting s"
            )?;
            self.ranks.iter().try_for_each(|rank| rank.write(out))?;
        }
        if !self.calls.is_empty() {
            writeln!(
                out,
                "\n{:<16} {:>9} {:>15} {:>11} {:>11} | {:>9} {:>9} {:>9} {:>10}",
                "call", "count", "bytes", "recorded s", "replayed s", "p50 µs", "p95 µs", "p99 µs", "max µs"
            )?;
            self.calls.iter().try_for_each(|(name, call)| call.write(out, name))?;
        }
        if let Some(late) = &self.lateness_us {
            let (p50, p95, p99, max) = (late.p50, late.p95, late.p99, late.max);
            writeln!(out, "\nissued late by, µs: p50 {p50:.1}, p95 {p95:.1}, p99 {p99:.1}, max {max:.1}")?;
        }
        self.write_divergences(out)?;
        self.remarks.iter().try_for_each(|remark| writeln!(out, "remark: {remark}"))?;
        self.warnings.iter().try_for_each(|warning| writeln!(out, "warning: {warning}"))
    }

    fn write_totals(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "\nrecorded  {:.6} s", self.recorded_s)?;
        match &self.replayed_s {
            Seconds::One(one) => write!(out, "replayed  {one:.6} s")?,
            Seconds::Each(each) => {
                write!(out, "replayed ")?;
                each.iter().try_for_each(|one| write!(out, " {one:.6}"))?;
                write!(out, " s")?;
            }
        }
        if let Some(error) = self.error_percent {
            write!(out, ", error {error:+.2} %")?;
        }
        if let Some([low, high]) = self.error_percent_range {
            write!(out, " (median; {low:+.2} to {high:+.2})")?;
        }
        writeln!(out)?;
        match self.application_spread_percent {
            Some(spread) => {
                let runs = self.application_s.len();
                writeln!(
                    out,
                    "the application itself: {runs} runs, {spread:.2} % between fastest and slowest"
                )
            }
            None => Ok(()),
        }
    }

    fn write_divergences(&self, out: &mut String) -> fmt::Result {
        let found = &self.divergences;
        if found.total == 0 {
            return writeln!(out, "\nall operations came out as recorded");
        }
        let by_call: Vec<String> =
            found.by_call.iter().map(|(call, count)| format!("{count} {call}")).collect();
        writeln!(out, "\n{} operations did not come out as recorded: {}", found.total, by_call.join(", "))?;
        for one in &found.examples {
            let file = one.file.as_deref().unwrap_or("no file");
            let (program, step, call) = (one.program, one.step, &one.call);
            let (expected, got) = (outcome(one.expected), outcome(one.found));
            writeln!(
                out,
                "  program {program}, step {step}: {call} ({file}): recorded {expected}, here {got}"
            )?;
        }
        Ok(())
    }
}

/// A result in words: a number, or what the errno means.
fn outcome(result: i64) -> String {
    match i32::try_from(-result) {
        Ok(errno) if errno > 0 => std::io::Error::from_raw_os_error(errno).to_string(),
        _ => result.to_string(),
    }
}

impl RankReport {
    fn write(&self, out: &mut String) -> fmt::Result {
        let rank = self.rank.map_or("none".into(), |rank| rank.to_string());
        let error = self.error_percent.map_or("-".into(), |error| format!("{error:+.2}"));
        writeln!(
            out,
            "{rank:<6} {:>11.6} {:>11.6} {error:>9} | {:>10.6} {:>10.6} {:>10.6} {:>10.6}",
            self.recorded_s, self.replayed_s, self.compute_s, self.sleep_s, self.io_s, self.waiting_s
        )
    }
}

impl CallReport {
    fn write(&self, out: &mut String, name: &str) -> fmt::Result {
        let late = &self.replayed.latency_us;
        let (recorded, replayed) = (self.recorded.total_s, self.replayed.total_s);
        writeln!(
            out,
            "{name:<16} {:>9} {:>15} {recorded:>11.6} {replayed:>11.6} | {:>9.1} {:>9.1} {:>9.1} {:>10.1}",
            self.count, self.bytes, late.p50, late.p95, late.p99, late.max
        )
    }
}
