//! `syn profiles show`.

use super::{Chosen, outcome};
use crate::page;
use crate::profile::Profile;
use anyhow::Context;
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
        if args.json {
            println!("{}", serde_json::to_string(profile)?);
        } else {
            print(profile, store.sample_count(profile.id)?);
        }
    }
    Ok(0)
}

fn print(profile: &Profile, samples: u64) {
    println!("profile    {}", profile.id);
    println!("command    {}", profile.command_line());
    for (key, value) in &profile.head.tags {
        println!("tag        {key}={value}");
    }
    println!("machine    {}", profile.head.machine);
    println!("outcome    {}", outcome(profile.tail.outcome));
    println!("samples    {samples}, rate {}", profile.head.rate);
    for note in &profile.tail.metrics.notes {
        println!("note       {note}");
    }
    println!("\n{:<30} {:>20} {:<14} how", "metric", "value", "unit");
    for metric in &profile.tail.metrics.rows {
        match metric.value {
            Some(value) => {
                println!("{:<30} {:>20} {:<14} {}", metric.name, figure(value), metric.unit, metric.how)
            }
            None => println!(
                "{:<30} {:>20} {:<14} not on this machine, because: {}",
                metric.name, "-", metric.unit, metric.how
            ),
        }
    }
    if !profile.tail.processes.is_empty() {
        println!(
            "\n{:>8} {:>8} {:<16} {:>11} {:>11} {:>11} {:>13} {:>7}",
            "process", "parent", "name", "from s", "to s", "cpu s", "peak B", "threads"
        );
    }
    for row in &profile.tail.processes {
        println!(
            "{:>8} {:>8} {:<16} {:>11.6} {:>11.6} {:>11.6} {:>13} {:>7}",
            row.pid,
            row.ppid,
            row.name,
            row.seen_ns[0] as f64 / 1e9,
            row.seen_ns[1] as f64 / 1e9,
            row.cpu_ns as f64 / 1e9,
            row.peak_bytes,
            row.threads
        );
    }
    if !profile.tail.blocks.is_empty() {
        println!("\n{:<8} {:>14} {:>12} {:>16}", "calls", "up to B", "count", "bytes");
    }
    for block in &profile.tail.blocks {
        let end = if block.bin == 0 { 0 } else { (1_u128 << block.bin) - 1 };
        println!("{:<8} {end:>14} {:>12} {:>16}", block.kind.name(), block.count, block.bytes);
    }
    if !profile.tail.files.is_empty() {
        println!("\n{:>14} {:>14} {:<10} file", "read B", "written B", "system");
    }
    for file in &profile.tail.files {
        println!("{:>14} {:>14} {:<10} {}", file.bytes[0], file.bytes[1], file.system, file.path);
    }
}

/// Whole numbers without a point.
fn figure(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value:.0}") } else { format!("{value:.6}") }
}
