//! `syn profiles show`.

use super::chosen::Chosen;
use super::words::outcome;
use crate::page;
use crate::profile::Profile;
use crate::sample::BlockKind;
use crate::screen::print;
use anyhow::Context;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::PathBuf;

/// What to show.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// As JSON: one object a profile.
    #[arg(long)]
    json: bool,
    /// Writes a page with charts. Of several profiles: the last, with the others beside it as repeats.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Lays another profile over it, for instance that of its emulation.
    #[arg(long, value_name = "ID", requires = "html")]
    over: Option<i64>,
    #[command(flatten)]
    chosen: Chosen,
}

/// Runs it.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let (store, profiles) = args.chosen.find()?;
    if let Some(path) = &args.html {
        let text = page::page(&store, &profiles, args.over)?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        return Ok(0);
    }
    for profile in &profiles {
        let mut out = String::new();
        if args.json {
            writeln!(out, "{}", serde_json::to_string(profile)?)?;
        } else {
            write(&mut out, profile, store.sample_count(profile.id)?)?;
        }
        print(&out)?;
    }
    Ok(0)
}

fn write(out: &mut String, profile: &Profile, samples: u64) -> fmt::Result {
    writeln!(out, "profile    {}", profile.id)?;
    writeln!(out, "command    {}", profile.command_line())?;
    for tag in profile.tags() {
        writeln!(out, "tag        {tag}")?;
    }
    writeln!(out, "machine    {}", profile.head.machine)?;
    writeln!(out, "outcome    {}", outcome(profile.tail.outcome))?;
    writeln!(out, "samples    {samples}, rate {}", profile.head.rate)?;
    for note in &profile.tail.metrics.notes {
        writeln!(out, "note       {note}")?;
    }
    writeln!(out, "\n{:<30} {:>20} {:<14} how", "metric", "value", "unit")?;
    for metric in &profile.tail.metrics.rows {
        match metric.value {
            Some(value) => {
                writeln!(out, "{:<30} {:>20} {:<14} {}", metric.name, figure(value), metric.unit, metric.how)
            }
            None => writeln!(
                out,
                "{:<30} {:>20} {:<14} not known, because: {}",
                metric.name, "-", metric.unit, metric.how
            ),
        }?;
    }
    if !profile.tail.processes.is_empty() {
        writeln!(
            out,
            "\n{:>8} {:>8} {:<16} {:>11} {:>11} {:>11} {:>13} {:>7}",
            "process", "parent", "name", "from s", "to s", "cpu s", "peak B", "threads"
        )?;
    }
    for row in &profile.tail.processes {
        writeln!(
            out,
            "{:>8} {:>8} {:<16} {:>11.6} {:>11.6} {:>11.6} {:>13} {:>7}",
            row.pid,
            row.ppid,
            row.name,
            row.seen_ns[0] as f64 / 1e9,
            row.seen_ns[1] as f64 / 1e9,
            row.cpu_ns as f64 / 1e9,
            row.peak_bytes,
            row.threads
        )?;
    }
    if !profile.tail.blocks.is_empty() {
        writeln!(out, "\n{:<8} {:>14} {:>12} {:>16}", "calls", "up to B", "count", "bytes")?;
    }
    for block in &profile.tail.blocks {
        let end = largest(block.bin);
        writeln!(out, "{:<8} {end:>14} {:>12} {:>16}", block.kind.name(), block.count, block.bytes)?;
    }
    let systems = sizes_by_system(profile);
    if !systems.is_empty() {
        writeln!(out, "\n{:<10} {:<8} {:>14} {:>12} {:>16}", "system", "calls", "up to B", "count", "bytes")?;
    }
    for ((system, kind, bin), [count, bytes]) in systems {
        writeln!(out, "{system:<10} {:<8} {:>14} {count:>12} {bytes:>16}", kind.name(), largest(bin))?;
    }
    if !profile.tail.files.is_empty() {
        writeln!(out, "\n{:>14} {:>14} {:<10} file", "read B", "written B", "system")?;
    }
    for file in &profile.tail.files {
        writeln!(out, "{:>14} {:>14} {:<10} {}", file.bytes[0], file.bytes[1], file.system, file.path)?;
    }
    Ok(())
}

/// Calls and bytes by file system, kind and size.
fn sizes_by_system(profile: &Profile) -> BTreeMap<(&str, BlockKind, u8), [u64; 2]> {
    let mut sizes = BTreeMap::new();
    for file in &profile.tail.files {
        for block in &file.blocks {
            let [count, bytes] = sizes.entry((file.system.as_str(), block.kind, block.bin)).or_insert([0; 2]);
            *count += block.count;
            *bytes += block.bytes;
        }
    }
    sizes
}

/// The largest size in a bin.
fn largest(bin: u8) -> u128 {
    (1 << bin) - 1
}

/// Whole numbers without a point.
fn figure(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value:.0}") } else { format!("{value:.6}") }
}
