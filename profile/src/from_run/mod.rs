//! A recorded run as a profile: its calls say what sampling cannot see. Sizes of reads, writes and messages, files and the
//! file systems they lie on, the ends of connections.

mod moved;

use crate::metrics::Metrics;
use crate::profile::{Head, Outcome, Source, Tail};
use crate::profiler::Options;
use crate::sample::{Block, COLUMNS, FIELDS, Field, WIDTH, add_block};
use crate::store::{Amendment, Live, Selector, Store};
use anyhow::{Context, ensure};
use moved::{CALLS, Moved};
use std::collections::BTreeMap;
use std::path::Path;
use syn_trace::Run;

/// Length of a sample that is made of calls, nanoseconds; `--rate` chooses another one.
const SPAN_NS: u64 = 10_000_000;

/// Makes a profile of a run; its number in the store. `missed`: what is missing in the run, which becomes notes.
///
/// # Errors
/// When the run holds nothing, or the store cannot be written.
pub fn profile(run: &Run, missed: &[String], options: &Options, store: &mut Store) -> anyhow::Result<i64> {
    ensure!(!run.threads.is_empty(), "{} holds no recorded thread", run.path.display());
    let span_ns = match options.rate {
        crate::rate::Rate::Auto => SPAN_NS,
        crate::rate::Rate::Fixed(hertz) => (1e9 / hertz) as u64,
    };
    let mut moved = Moved::of(run, span_ns);
    let processes = moved.processors(run, span_ns);
    let first = run.processes.iter().find(|process| !process.process_only).or(run.processes.first());
    let head = Head {
        // Where its words end is not on record.
        command: first.map_or_else(Vec::new, |process| vec![process.command.clone()]),
        tags: options.tags.clone(),
        started_ns: run
            .threads
            .iter()
            .map(|thread| thread.trace.header().start_realtime_ns)
            .min()
            .unwrap_or(0) as i64,
        rate: (1e9 / span_ns as f64).to_string(),
        source: Source::Recorded,
        machine: machine_of(run),
    };
    let mut totals: [Option<u64>; WIDTH] = [None; WIDTH];
    let mut live = Live::begin(store, &head)?;
    let end_ns = processes.iter().map(|process| process.seen_ns[1]).max().unwrap_or(0);
    let samples = moved.in_order(span_ns, end_ns);
    let wall_ns = samples.last().map_or(0, |sample| sample.end_ns);
    for sample in samples {
        for ((total, value), column) in totals.iter_mut().zip(sample.values).zip(COLUMNS) {
            *total = match (*total, value) {
                (Some(total), Some(value)) => {
                    Some(if column.level { total.max(value) } else { total + value })
                }
                (total, value) => value.or(total),
            };
        }
        live.add(sample);
    }
    let mut metrics = Metrics::default();
    metrics.measured("system.run_time", "s", wall_ns as f64 / 1e9, "first to last record");
    metrics.measured(
        "cpu.time",
        "s",
        totals[Field::Cpu as usize].unwrap_or(0) as f64 / 1e9,
        "records: work and calls",
    );
    metrics.missing("memory.peak", "B", "a run folder holds files and messages, and no memory");
    metrics
        .notes
        .push("made of a recorded run: memory is not in it, CPU time is that of recorded threads".into());
    if run.dropped() > 0 {
        metrics.notes.push(format!("{} calls were not recorded", run.dropped()));
    }
    metrics.notes.extend_from_slice(missed);
    if !run.unreadable.is_empty() {
        metrics.notes.push("the command is that of the first process whose trace can be read".into());
    }
    if let Some(start_ns) = run.processes.iter().map(|process| process.start_monotonic_ns).min() {
        metrics.started(start_ns);
    }
    moved.metrics(&mut metrics);
    let tail = Tail {
        wall_ns,
        outcome: Outcome::Unknown,
        totals,
        metrics,
        processes,
        blocks: moved.blocks,
        files: moved.files.into_values().collect(),
    };
    let id = live.id();
    live.finish(&tail)?;
    Ok(id)
}

/// The machine that a run was recorded on: this one, if it has the name of its host. Of others no more is known than that.
fn machine_of(run: &Run) -> String {
    let here = rustix::system::uname();
    match run.processes.iter().find(|process| process.host.as_bytes() != here.nodename().to_bytes()) {
        Some(process) => format!("unknown machine, host {}", process.host),
        None => crate::machine::fingerprint(),
    }
}

/// Adds what a run folder tells to the profile that was sampled meanwhile.
///
/// # Errors
/// When the folder cannot be read, or the store not written.
pub fn amend(folder: &Path, id: i64, store: &mut Store) -> anyhow::Result<()> {
    let run = Run::open(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    ensure!(!run.threads.is_empty(), "nothing was recorded: the library cannot be loaded into this program");
    let moved = Moved::of(&run, SPAN_NS);
    let mut metrics = Metrics::default();
    moved.metrics(&mut metrics);
    let sampled = store.find(&Selector { id: Some(id), ..Selector::default() })?;
    if let Some(profile) = sampled.first() {
        moved.without_pipes(&profile.tail.metrics, profile.tail.wall_ns, &mut metrics);
        moved.with_messages(&profile.tail.metrics, &mut metrics);
    }
    let mut more = Amendment { metrics, blocks: moved.blocks, ..Amendment::default() };
    more.files = moved.files.into_values().collect();
    let ends: Vec<u64> = store.all_samples(id)?.iter().map(|sample| sample.end_ns).collect();
    if let Some(last) = ends.len().checked_sub(1) {
        let (mut values, mut blocks) = (BTreeMap::new(), BTreeMap::<u64, Vec<Block>>::new());
        for (place, sample) in moved.samples {
            // The first record comes a moment after the command's start; what this moves is less than a sample from a run.
            let number = ends.partition_point(|&end_ns| end_ns <= place * SPAN_NS).min(last);
            sample
                .blocks
                .iter()
                .for_each(|&block| add_block(blocks.entry(number as u64).or_default(), block));
            for field in CALLS {
                *values.entry((number as u64, field as usize)).or_insert(0) += sample.get(field);
            }
        }
        let value = |(&(number, place), &value): (&(u64, usize), &u64)| (number, FIELDS[place], value);
        more.samples = values.iter().filter(|&(_, &value)| value > 0).map(value).collect();
        let total = |field: Field| {
            let of_field = values.iter().filter(|((_, place), _)| *place == field as usize);
            (field, of_field.map(|(_, value)| value).sum())
        };
        more.totals = CALLS.map(total).to_vec();
        more.sample_blocks = blocks.into_iter().collect();
    }
    Ok(store.amend(id, &more)?)
}
