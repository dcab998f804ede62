//! What a merge tells: one screen of text, and the same as JSON.

use crate::merge::Merged;
use std::fmt::Write;
use std::path::Path;
use syn_plan::Rule;

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
    writeln!(text, "{:<18} {:>12} {:>12}", "rule", "waits found", "waits kept")?;
    for (rule, count) in &merged.counts {
        writeln!(text, "{:<18} {:>12} {:>12}", rule.name(), count.found, count.kept)?;
    }
    let all_ns = merged.compute_ns.saturating_add(merged.unobserved_ns);
    let share = if all_ns == 0 { 0.0 } else { merged.unobserved_ns as f64 / all_ns as f64 };
    writeln!(
        text,
        "computing  {:.3} s of work, {:.3} s of waiting that nobody observed ({:.1} %)",
        seconds(merged.compute_ns),
        seconds(merged.unobserved_ns),
        share * 100.0
    )?;
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

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn spread(runs_ns: &[u64]) -> String {
    match (runs_ns.iter().min(), runs_ns.iter().max()) {
        (Some(&least), Some(&most)) if runs_ns.len() > 1 && least > 0 => {
            format!(" (spread {:.1} %; the first is the base)", (most - least) as f64 / least as f64 * 100.0)
        }
        _ => String::new(),
    }
}

/// The same as one JSON object.
pub fn json(merged: &Merged, output: &Path, bytes: u64) -> serde_json::Value {
    let about = &merged.plan.about;
    let rules: serde_json::Map<String, serde_json::Value> = Rule::ALL
        .iter()
        .map(|rule| {
            let count = merged.counts.get(rule).copied().unwrap_or_default();
            (rule.name().into(), serde_json::json!({ "found": count.found, "kept": count.kept }))
        })
        .collect();
    let agreement: Vec<serde_json::Value> = merged
        .agreement
        .iter()
        .map(
            |(run, thread)| serde_json::json!({ "run": run, "thread": thread.thread, "rate": thread.rate() }),
        )
        .collect();
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
        "compute_s": seconds(merged.compute_ns),
        "unobserved_s": seconds(merged.unobserved_ns),
        "busy_waiting": about.busy_waiting,
        "agreement": agreement,
        "notes": merged.notes.facts,
        "remarks": merged.notes.remarks,
        "warnings": merged.notes.warnings,
        "plan": output,
        "plan_bytes": bytes,
    })
}
