//! `syn pack`: makes the traces of run folders small, in place.
//!
//! Traces of one folder go into packed files of [`GROUP_BYTES`] or so. A packed file is read back and compared with what
//! went into it before it stands in the folder, whole and written out; only then are the files with the traces taken
//! away. Whatever interrupts that, each trace is there once at least, and readers take it once.

use crate::exit_code::{DONE, LOOK};
use crate::output::{complain, on_stdout};
use crate::survey::describe_ending;
use anyhow::{Context, bail, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use syn_trace::pack::{self, Packer, Times};
use syn_trace::reader::Ending;
use syn_trace::run::EXTENSION;
use syn_trace::{Run, ThreadTrace, TraceError, shared_libc};

/// Traces are packed together until they have so many bytes: enough to share what they have in common, and little
/// enough to be in memory at once.
const GROUP_BYTES: u64 = 64 << 20;

/// Compresses the traces of run folders, in place; everything else reads them as before.
#[derive(clap::Args)]
pub struct Args {
    /// Run folders.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// Keeps every bit of the times. Without it they are rounded by at most 3.2 %, which does not add up over a trace.
    #[arg(long)]
    exact: bool,
    /// Packs traces of processes that still run, or may still run on another machine, too: what they record from then on is lost.
    #[arg(long)]
    force: bool,
}

/// A trace of another machine that has not been ended, and to which something was written in this time, may still be recorded.
const MAY_BE_WRITTEN: Duration = Duration::from_secs(5 * 60);

/// What packing did.
#[derive(Default)]
struct Sum {
    traces: u64,
    before: u64,
    after: u64,
    events: u64,
    left: u64,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let times = if args.exact { Times::Exact } else { Times::Rounded };
    let mut runs = Vec::new();
    for run in &args.runs {
        runs.push(traces(run)?);
    }
    let style = ProgressStyle::with_template("packing {pos} of {len} {bar:40}").context("a progress bar")?;
    let all = runs.iter().map(|files| files.len() as u64).sum();
    let bar = ProgressBar::new(all).with_style(style);
    let mut sum = Sum::default();
    let say = |error: anyhow::Error| bar.suspend(|| complain(&format!("{error:#}")));
    for files in &runs {
        let mut group = Group::new(times);
        for file in files {
            if let Err(error) = group.add(file, args.force) {
                sum.left += 1;
                say(anyhow::anyhow!("{error:#}; it is left as it is"));
            }
            if group.packer.unpacked_bytes() >= GROUP_BYTES {
                let full = std::mem::replace(&mut group, Group::new(times));
                full.put(&mut sum).unwrap_or_else(say);
            }
            bar.inc(1);
        }
        group.put(&mut sum).unwrap_or_else(say);
    }
    for copy in args.runs.iter().flat_map(|run| shared_libc::in_run(run)) {
        // It was there to be mapped.
        let _ = std::fs::remove_file(copy);
    }
    bar.finish_and_clear();
    on_stdout(|out| {
        let per_event = |bytes: u64| bytes as f64 / sum.events.max(1) as f64;
        writeln!(
            out,
            "packed {} traces of {} events: {} bytes before, {} after; {:.1} and {:.2} an event",
            sum.traces,
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

/// The files of a run that are not packed.
fn traces(run: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listed = std::fs::read_dir(run).with_context(|| format!("cannot list {}", run.display()))?;
    let mut files = Vec::new();
    for entry in listed {
        let path = entry.with_context(|| format!("cannot list {}", run.display()))?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            files.push(path);
        }
    }
    if files.is_empty() && !Run::is_run(run) {
        bail!("{} is not a run folder: it holds no traces", run.display());
    }
    files.sort();
    if !files.is_empty() {
        finish_interrupted(run, &mut files)?;
    }
    Ok(files)
}

/// Takes away the files of a run whose traces are in a packed file already: packing was interrupted before it came to that.
fn finish_interrupted(run: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let listed = std::fs::read_dir(run).with_context(|| format!("cannot list {}", run.display()))?;
    let is_packed = |path: &PathBuf| path.extension().is_some_and(|extension| extension == pack::EXTENSION);
    let packed: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).filter(is_packed).collect();
    for packed in packed {
        // One that cannot be read has nothing that may be relied on.
        let Ok(bytes) = std::fs::read(&packed) else { continue };
        let members = pack::unpack(&bytes).unwrap_or_default();
        let members: HashMap<String, Vec<u8>> =
            members.into_iter().map(|member| (member.name, member.bytes)).collect();
        let is_in_it = |trace: &Result<ThreadTrace, TraceError>| {
            let Ok(trace) = trace else { return false };
            let member = members.get(&name_of(trace));
            member.is_some_and(|bytes| pack::is_same(&trace.contiguous(), bytes, Times::Rounded))
        };
        let mut place = 0;
        while place < files.len() {
            let traces = ThreadTrace::open_all(&files[place]).unwrap_or_default();
            match !traces.is_empty() && traces.iter().all(is_in_it) {
                true => remove(&files.remove(place), &packed)?,
                false => place += 1,
            }
        }
    }
    Ok(())
}

/// The name of a trace among those that are packed together.
fn name_of(trace: &ThreadTrace) -> String {
    format!("{}.{EXTENSION}", trace.name())
}

/// Files whose traces are packed together.
struct Group {
    times: Times,
    packer: Packer,
    files: Vec<PathBuf>,
    traces: Vec<Vec<u8>>,
    sum: Sum,
}

impl Group {
    fn new(times: Times) -> Group {
        let packer = Packer::new(times);
        Group { times, packer, files: Vec::new(), traces: Vec::new(), sum: Sum::default() }
    }

    /// Adds the traces of a file: all of them or none.
    fn add(&mut self, path: &Path, force: bool) -> anyhow::Result<()> {
        let mut whole = Vec::new();
        for trace in ThreadTrace::open_all(path)? {
            let trace = trace?;
            if !force && trace.is_being_recorded() {
                bail!("{}: process {} still records into it", path.display(), trace.header().pid);
            }
            if !force && trace.may_be_recorded_elsewhere() && was_written_lately(path)? {
                bail!(
                    "{}: process {} on {} may still record into it, which was written to in the last {} minutes; --force packs it",
                    path.display(),
                    trace.header().pid,
                    trace.host(),
                    MAY_BE_WRITTEN.as_secs() / 60
                );
            }
            let counted = count(&trace);
            // Packed, what is cut between records would look whole.
            if let Some(fault) = describe_ending(counted.2) {
                bail!("{}: {fault}", path.display());
            }
            whole.push((name_of(&trace), trace.contiguous(), counted));
        }
        ensure!(!whole.is_empty(), "{}: it holds no trace", path.display());
        for (name, trace, (events, used, _)) in whole {
            let added = self.packer.add(&name, &trace);
            added.map_err(|_| anyhow::anyhow!("{}: it changed while it was read", path.display()))?;
            self.sum.traces += 1;
            self.sum.events += events;
            self.sum.before += used;
            self.traces.push(trace);
        }
        self.files.push(path.to_owned());
        Ok(())
    }

    /// Puts the packed file in the place of its traces.
    fn put(self, sum: &mut Sum) -> anyhow::Result<()> {
        let Some(first) = self.files.first() else { return Ok(()) };
        let packed = self.packer.finish();
        let path = unused(first);
        let new = path.with_extension("packing");
        if let Err(error) = place(&packed, &new, &path, self.times, &self.traces) {
            let _ = std::fs::remove_file(&new);
            sum.left += self.sum.traces;
            return Err(
                error.context(format!("cannot write {}; its traces are left as they are", new.display()))
            );
        }
        sum.traces += self.sum.traces;
        sum.events += self.sum.events;
        sum.before += self.sum.before;
        sum.after += packed.len() as u64;
        for file in &self.files {
            remove(file, &path).inspect_err(|_| sum.left += 1)?;
        }
        Ok(())
    }
}

/// A time that lies ahead is one of now: the clock of a file server may be another one.
fn was_written_lately(path: &Path) -> anyhow::Result<bool> {
    let written = std::fs::metadata(path).and_then(|about| about.modified());
    let written = written.with_context(|| format!("cannot look at {}", path.display()))?;
    Ok(written.elapsed().unwrap_or_default() < MAY_BE_WRITTEN)
}

/// Writes a packed file, compares it with its traces and gives it its name, on the disk too: the traces go next.
fn place(packed: &[u8], new: &Path, path: &Path, times: Times, traces: &[Vec<u8>]) -> anyhow::Result<()> {
    let mut file = File::create(new)?;
    file.write_all(packed)?;
    file.sync_all()?;
    compare(&std::fs::read(new)?, times, traces)?;
    std::fs::rename(new, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok(File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?)
}

fn remove(file: &Path, packed: &Path) -> anyhow::Result<()> {
    std::fs::remove_file(file)
        .with_context(|| format!("cannot remove {}, which is packed in {}", file.display(), packed.display()))
}

/// The name of the packed file that begins with this trace.
fn unused(first: &Path) -> PathBuf {
    let path = first.with_extension(pack::EXTENSION);
    let further = (2..).map(|number: u32| first.with_extension(format!("{number}.{}", pack::EXTENSION)));
    std::iter::once(path.clone()).chain(further).find(|path| !path.exists()).unwrap_or(path)
}

/// Reads the packed file back: what is not in it as it was must not be taken away.
fn compare(packed: &[u8], times: Times, traces: &[Vec<u8>]) -> anyhow::Result<()> {
    let members = pack::unpack(packed)?;
    ensure!(members.len() == traces.len(), "it does not hold all traces when it is read back");
    for (member, trace) in members.iter().zip(traces) {
        ensure!(
            pack::is_same(trace, &member.bytes, times),
            "{} is not in it as it was when it is read back",
            member.name
        );
    }
    Ok(())
}

/// Calls, bytes in use, and how the records end.
fn count(trace: &ThreadTrace) -> (u64, u64, Ending) {
    let mut events = trace.events();
    let calls = events.by_ref().map(|event| match event.call {
        syn_trace::Call::Repeats => event.numbers[0].max(0) as u64,
        _ => 1,
    });
    let calls = calls.sum();
    (calls, events.bytes_read(), events.ending().unwrap_or(Ending::Whole))
}
