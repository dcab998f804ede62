//! `syn pack`: makes the traces of run folders small, in place.

use crate::output::{complain, on_stdout};
use crate::{DONE, LOOK};
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use syn_trace::pack::{self, Times};
use syn_trace::reader::Ending;
use syn_trace::run::EXTENSION;
use syn_trace::{ThreadTrace, header};

/// Compresses the traces of run folders, in place; everything else reads them as before.
#[derive(clap::Args)]
pub struct Args {
    /// Run folders.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// Keeps every bit of the times. Without it they are rounded by at most 3.2 %, which does not add up over a trace.
    #[arg(long)]
    exact: bool,
    /// Packs traces of processes that still run, too: what they record from then on is lost.
    #[arg(long)]
    force: bool,
}

/// What packing did.
#[derive(Default)]
struct Sum {
    files: u64,
    before: u64,
    after: u64,
    events: u64,
    left: u64,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let times = if args.exact { Times::Exact } else { Times::Rounded };
    let mut files = Vec::new();
    for run in &args.runs {
        files.extend(traces(run)?);
    }
    let style = ProgressStyle::with_template("packing {pos} of {len} {bar:40}").context("a progress bar")?;
    let bar = ProgressBar::new(files.len() as u64).with_style(style);
    let mut sum = Sum::default();
    for file in &files {
        if let Err(error) = pack_one(file, times, args.force, &mut sum) {
            sum.left += 1;
            bar.suspend(|| complain(&format!("{error:#}; it is left as it is")));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    on_stdout(|out| {
        let per_event = |bytes: u64| bytes as f64 / sum.events.max(1) as f64;
        writeln!(
            out,
            "packed {} traces of {} events: {} bytes before, {} after; {:.1} and {:.2} an event",
            sum.files,
            sum.events,
            sum.before,
            sum.after,
            per_event(sum.before),
            per_event(sum.after)
        )
        .context(crate::output::WRITING)?;
        Ok(if sum.left == 0 { DONE } else { LOOK })
    })
}

fn traces(run: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listed = std::fs::read_dir(run).with_context(|| format!("cannot list {}", run.display()))?;
    let mut files = Vec::new();
    for entry in listed {
        let path = entry.with_context(|| format!("cannot list {}", run.display()))?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            files.push(path);
        }
    }
    if files.is_empty() {
        bail!("{} is not a run folder: it holds no traces", run.display());
    }
    files.sort();
    Ok(files)
}

/// Packs one file; the packed one takes its place in one step.
fn pack_one(path: &Path, times: Times, force: bool, sum: &mut Sum) -> anyhow::Result<()> {
    let before = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if pack::is_packed(&before) {
        return Ok(());
    }
    let trace = ThreadTrace::open(path)?;
    if !force && is_being_recorded(&trace) {
        bail!("{}: process {} still records into it", path.display(), trace.header().pid);
    }
    let packed = pack::pack(&before, times).map_err(|ending| match ending {
        Ending::Whole => anyhow::anyhow!("{}: changed while it was read", path.display()),
        ending => anyhow::anyhow!(
            "{}: {}",
            path.display(),
            crate::survey::describe_ending(ending).unwrap_or_default()
        ),
    })?;
    let (events, used) = count(&trace);
    let new = path.with_extension("pack");
    let written = std::fs::write(&new, &packed).and_then(|()| std::fs::rename(&new, path));
    if let Err(error) = written {
        let _ = std::fs::remove_file(&new);
        return Err(error).with_context(|| format!("cannot write {}", new.display()));
    }
    sum.files += 1;
    sum.events += events;
    sum.before += used;
    sum.after += packed.len() as u64;
    Ok(())
}

/// Calls, and bytes in use.
fn count(trace: &ThreadTrace) -> (u64, u64) {
    let mut events = trace.events();
    let calls = events.by_ref().map(|event| match event.call {
        syn_trace::Call::Repeats => event.numbers[0].max(0) as u64,
        _ => 1,
    });
    (calls.sum(), events.bytes_read())
}

/// True when the trace has not been ended, and its process is there on this machine.
fn is_being_recorded(trace: &ThreadTrace) -> bool {
    let head = trace.header();
    let here = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: Vec<u32> = here.chars().filter_map(|digit| digit.to_digit(16)).collect();
    let same_boot = digits.len() == 32
        && digits.chunks(2).zip(head.boot_id).all(|(pair, byte)| pair[0] * 16 + pair[1] == u32::from(byte));
    let exists =
        Path::new("/proc").join(head.pid.to_string()).join("task").join(head.tid.to_string()).exists();
    head.state.load(Relaxed) == header::STATE_RECORDING && same_boot && exists
}
