//! What a merge tells: one screen of text, and the same as JSON.

use crate::merge::Merged;
use std::fmt::Write;
use std::path::Path;
use syn_plan::figures::{self, seconds};
use syn_plan::{Guarantee, LeftOut, LeftOutSeconds, Rule};

/// Kinds of calls that the screen has room for.
const MOST_LEFT_OUT: usize = 8;

/// The screen.
pub fn screen(merged: &Merged, output: &Path, bytes: u64) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = lines(&mut text, merged, output, bytes);
    text
}

fn lines(text: &mut String, merged: &Merged, output: &Path, bytes: u64) -> std::fmt::Result {
    let about = &merged.plan.about;
    writeln!(text, "command    {}", about.command)?;
    let mpi = about.mpi.as_deref().unwrap_or("no MPI");
    writeln!(
        text,
        "recorded   {} runs, {} ranks ({mpi}), {} processes, {} threads, {} events",
        about.runs_ns.len(),
        about.ranks,
        merged.processes,
        merged.plan.programs.len(),
        about.events
    )?;
    let elapsed: Vec<String> = about.runs_ns.iter().map(|&ns| format!("{:.3}", seconds(ns))).collect();
    writeln!(text, "elapsed    {} s{}", elapsed.join(", "), spread(&about.runs_ns))?;
    writeln!(text, "files      {}", merged.plan.files.len())?;
    writeln!(text, "{:<18} {:>12} {:>12}  order is", "rule", "waits found", "waits kept")?;
    for (rule, count) in &merged.counts {
        let order = rule.guarantee().name();
        writeln!(text, "{:<18} {:>12} {:>12}  {order}", rule.name(), count.found, count.kept)?;
    }
    let balance = &merged.balance;
    writeln!(
        text,
        "time       {:.3} s of all threads: work {:.3}, I/O {:.3}, sleeps {:.3}, preempted {:.3}, recording {:.3}, unmeasured {:.3}",
        seconds(balance.wall_ns),
        seconds(balance.work_ns),
        seconds(balance.calls_cpu_ns.saturating_add(balance.calls_wait_ns)),
        seconds(balance.sleep_ns),
        seconds(balance.preempted_ns),
        seconds(balance.recording_ns),
        seconds(balance.unmeasured_ns),
    )?;
    writeln!(
        text,
        "waiting    {:.3} s explained by rules, {:.3} in calls that are not replayed, {:.3} that nothing explains",
        seconds(balance.explained()),
        seconds(balance.unexplained_calls_ns),
        seconds(balance.unexplained_ns),
    )?;
    for left_out in about.left_out.iter().take(MOST_LEFT_OUT) {
        let LeftOut { call, count, bytes, ns } = left_out;
        writeln!(text, "left out   {call}: {count} calls, {bytes} bytes, {:.3} s", seconds(*ns))?;
    }
    if let Some(more) = about.left_out.len().checked_sub(MOST_LEFT_OUT + 1) {
        let more = more + 1;
        writeln!(text, "left out   {more} more kinds of calls; `syn info --all` lists them")?;
    }
    for fact in &merged.notes.facts {
        writeln!(text, "note       {fact}")?;
    }
    for remark in &merged.notes.remarks {
        writeln!(text, "remark     {remark}")?;
    }
    for warning in &merged.notes.warnings {
        writeln!(text, "warning    {warning}")?;
    }
    writeln!(text, "plan       {} ({bytes} bytes)", output.display())
}

fn spread(runs_ns: &[u64]) -> String {
    figures::spread_percent(runs_ns)
        .map_or(String::new(), |spread| format!(" (spread {spread:.1} %; the first is the base)"))
}

/// The same as one JSON object.
pub fn json(merged: &Merged, output: &Path, bytes: u64) -> serde_json::Value {
    let about = &merged.plan.about;
    let rules: serde_json::Map<String, serde_json::Value> = Rule::ALL
        .iter()
        .map(|rule| {
            let count = merged.counts.get(rule).copied().unwrap_or_default();
            let (found, kept, certain) = (count.found, count.kept, rule.guarantee() == Guarantee::Certain);
            let weak = merged.weak.get(rule).copied().unwrap_or_default();
            let counts =
                serde_json::json!({ "found": found, "kept": kept, "weak": weak, "certain": certain });
            (rule.name().into(), counts)
        })
        .collect();
    let alignment: Vec<serde_json::Value> = merged
        .alignment
        .iter()
        .map(
            |(run, thread)| serde_json::json!({ "run": run, "thread": thread.thread, "rate": thread.rate() }),
        )
        .collect();
    let left_out: Vec<LeftOutSeconds> = about.left_out.iter().map(LeftOutSeconds::from).collect();
    serde_json::json!({
        "command": about.command,
        "hosts": about.hosts,
        "mpi": about.mpi,
        "ranks": about.ranks,
        "processes": merged.processes,
        "threads": merged.plan.programs.len(),
        "events": about.events,
        "dropped": about.dropped,
        "elapsed_s": about.runs_ns.iter().map(|&ns| seconds(ns)).collect::<Vec<_>>(),
        "files": merged.plan.files.len(),
        "edges": rules,
        "work_s": seconds(merged.balance.work_ns),
        "explained_s": seconds(merged.balance.explained()),
        "unexplained_calls_s": seconds(merged.balance.unexplained_calls_ns),
        "unexplained_s": seconds(merged.balance.unexplained_ns),
        "left_out": left_out,
        "busy_waiting": about.busy_waiting,
        "agreement": alignment,
        "notes": merged.notes.facts,
        "remarks": merged.notes.remarks,
        "warnings": merged.notes.warnings,
        "plan": output,
        "plan_bytes": bytes,
    })
}
