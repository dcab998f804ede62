//! What did not come out as recorded, and what was not tried.

use crate::divergence::{Divergence, told};
use crate::measure::Outcome;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use syn_plan::LeftOutSeconds;

/// Causes told in full, all programs together.
const EXAMPLES: usize = 10;

/// Operations that did not come out as recorded, of the replay that had most of them.
#[derive(Debug, Serialize)]
pub struct DivergenceReport {
    /// Which replay, from 1.
    replay: usize,
    /// Causes and consequences.
    pub total: u64,
    /// Operations that are nobody's consequence.
    causes: u64,
    by_call: BTreeMap<String, u64>,
    examples: Vec<Divergence>,
    /// The total of every replay.
    each: Vec<u64>,
    /// Operations replayed.
    #[serde(skip)]
    operations: u64,
}

impl DivergenceReport {
    pub(crate) fn of(replays: &[Vec<Outcome>]) -> DivergenceReport {
        let by_call: Vec<BTreeMap<String, u64>> = replays.iter().map(|outcomes| by_call(outcomes)).collect();
        let each: Vec<u64> = by_call.iter().map(|counts| counts.values().sum()).collect();
        let most = (0..each.len()).max_by_key(|&index| (each[index], std::cmp::Reverse(index))).unwrap_or(0);
        let outcomes = replays.get(most).map_or(&[][..], |outcomes| outcomes);
        let all = outcomes.iter().map(|outcome| &outcome.divergences);
        let operations = outcomes.iter().flat_map(|outcome| outcome.classes.values());
        DivergenceReport {
            replay: most + 1,
            total: each.get(most).copied().unwrap_or(0),
            causes: all.clone().map(|divergences| divergences.causes).sum(),
            by_call: by_call.into_iter().nth(most).unwrap_or_default(),
            examples: told(all, EXAMPLES),
            each,
            operations: operations.map(|class| class.latencies.count()).sum(),
        }
    }

    /// What they were, a line each; empty when there were none.
    pub fn text(&self) -> String {
        let mut out = String::new();
        match if self.total > 0 { self.write_found(&mut out) } else { Ok(()) } {
            Ok(()) => out,
            Err(error) => unreachable!("writing to a string: {error}"),
        }
    }

    pub(crate) fn write(&self, out: &mut String, left_out: &[LeftOutSeconds]) -> fmt::Result {
        writeln!(out)?;
        if self.total > 0 {
            self.write_found(out)?;
        } else if self.operations == 0 {
            writeln!(out, "no I/O operation was replayed: the plan has none")?;
        } else if left_out.is_empty() {
            writeln!(out, "all operations came out as recorded")?;
        } else {
            writeln!(out, "all {} replayed operations came out as recorded", self.operations)?;
        }
        write_left_out(out, left_out)
    }

    fn write_found(&self, out: &mut String) -> fmt::Result {
        write!(out, "{} operations did not come out as recorded", self.total)?;
        if self.each.len() > 1 {
            let each: Vec<String> = self.each.iter().map(u64::to_string).collect();
            write!(out, " in replay {} (in each: {})", self.replay, each.join(", "))?;
        }
        writeln!(out, ": {}", listed(&self.by_call))?;
        let consequences = self.total - self.causes.min(self.total);
        if consequences > 0 {
            writeln!(out, "{consequences} of them because {} others did not", self.causes)?;
        }
        self.examples.iter().try_for_each(|one| write_example(out, one))
    }
}

fn by_call(outcomes: &[Outcome]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let classes = outcomes.iter().flat_map(|outcome| &outcome.classes);
    for (name, class) in classes.filter(|(_, class)| class.divergent > 0) {
        *counts.entry(name.clone()).or_default() += class.divergent;
    }
    counts
}

/// `3 close, 1 open`.
fn listed(counts: &BTreeMap<String, u64>) -> String {
    counts.iter().map(|(call, count)| format!("{count} {call}")).collect::<Vec<_>>().join(", ")
}

fn write_example(out: &mut String, one: &Divergence) -> fmt::Result {
    let file = one.file.as_deref().unwrap_or("no file");
    let (program, step, call) = (one.program, one.step, &one.call);
    let (expected, found) = (outcome(one.expected), outcome(one.found));
    write!(out, "  program {program}, step {step}: {call} ({file}): recorded {expected}, here {found}")?;
    if one.times > 1 {
        write!(out, " ({} times)", one.times)?;
    }
    writeln!(out)?;
    if one.consequences.is_empty() {
        return Ok(());
    }
    writeln!(out, "    and so were not as recorded: {}", listed(&one.consequences))
}

/// A result in words: a number, or what the errno means.
fn outcome(result: i64) -> String {
    match result.checked_neg().and_then(|errno| i32::try_from(errno).ok()) {
        Some(errno) if errno > 0 => std::io::Error::from_raw_os_error(errno).to_string(),
        _ => result.to_string(),
    }
}

fn write_left_out(out: &mut String, left_out: &[LeftOutSeconds]) -> fmt::Result {
    if left_out.is_empty() {
        return Ok(());
    }
    let calls = left_out.iter().fold(0, |sum: u64, one| sum.saturating_add(one.count));
    let names: Vec<&str> = left_out.iter().map(|one| one.call.as_str()).collect();
    writeln!(out, "{calls} calls of {} kinds are not replayed: {}", names.len(), names.join(", "))?;
    writeln!(out, "\n{:<24} {:>9} {:>15} {:>11}", "recorded, not replayed", "count", "bytes", "recorded s")?;
    left_out.iter().try_for_each(|LeftOutSeconds { call, count, bytes, s }| {
        writeln!(out, "{call:<24} {count:>9} {bytes:>15} {s:>11.6}")
    })
}
