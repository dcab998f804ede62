//! A recorded run as a profile: its calls say what sampling cannot see. Sizes of reads, writes and messages, files and the
//! file systems they lie on, the ends of connections.

use crate::metrics::Metrics;
use crate::profile::{FileRow, Head, Outcome, ProcessRow, Source, Tail};
use crate::profiler::Options;
use crate::sample::{Block, BlockKind, COLUMNS, FIELDS, Field, Sample, WIDTH, add_block, bin_of};
use crate::store::{Amendment, Live, Store};
use anyhow::{Context, ensure};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;
use syn_trace::calls::Effect;
use syn_trace::descriptors::{Descriptors, Touched, Transfer};
use syn_trace::record::FAILED;
use syn_trace::{Event, Run};

/// Length of a sample that is made of calls, nanoseconds; `--rate` chooses another one.
const SPAN_NS: u64 = 10_000_000;

/// What only calls tell, beside sizes: how often each kind of call that moves no data was made.
const CALLS: [Field; 5] = [Field::Syncs, Field::Seeks, Field::Opens, Field::Stats, Field::Names];

/// What the calls of a run have moved.
#[derive(Default)]
struct Moved {
    samples: BTreeMap<u64, Sample>,
    files: BTreeMap<(bool, String), FileRow>,
    blocks: Vec<Block>,
}

/// Makes a profile of a run folder; its number in the store.
///
/// # Errors
/// When the folder cannot be read, or the store not written.
pub fn profile(folder: &Path, options: &Options, store: &mut Store) -> anyhow::Result<i64> {
    let run = Run::open(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    ensure!(!run.threads.is_empty(), "{} holds no recorded thread", folder.display());
    let span_ns = match options.rate {
        crate::rate::Rate::Auto => SPAN_NS,
        crate::rate::Rate::Fixed(hertz) => (1e9 / hertz) as u64,
    };
    let mut moved = Moved::of(&run, span_ns);
    let processes = moved.processors(&run, span_ns);
    let first = run.processes.iter().find(|process| !process.process_only).or(run.processes.first());
    let head = Head {
        command: first
            .map_or_else(Vec::new, |process| process.command.split(' ').map(str::to_owned).collect()),
        tags: options.tags.clone(),
        started_ns: SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as i64),
        rate: (1e9 / span_ns as f64).to_string(),
        source: Source::Recorded,
        machine: crate::machine::fingerprint(),
    };
    let mut totals: [Option<u64>; WIDTH] = [None; WIDTH];
    let mut live = Live::begin(store, &head)?;
    let samples = moved.in_order(span_ns);
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
    let mut more = Amendment { metrics, blocks: moved.blocks, ..Amendment::default() };
    more.files = moved.files.into_values().collect();
    let ends: Vec<u64> = store.all_samples(id)?.iter().map(|sample| sample.end_ns).collect();
    if let Some(last) = ends.len().checked_sub(1) {
        let mut values = BTreeMap::new();
        for (place, sample) in moved.samples {
            // The first record comes a moment after the command's start; what this moves is less than a sample from a run.
            let number = ends.partition_point(|&end_ns| end_ns <= place * SPAN_NS).min(last);
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
    }
    Ok(store.amend(id, &more)?)
}

impl Moved {
    fn of(run: &Run, span_ns: u64) -> Moved {
        let mut moved = Moved::default();
        for (index, process) in run.processes.iter().enumerate() {
            let mut descriptors = Descriptors::new(&process.cwd, process.threads.len());
            for (thread, event) in run.process_events(index) {
                let thread = &run.threads[thread];
                let touched = descriptors.apply(&event, thread.start_ns(&event), thread.returned_ns(&event));
                moved.take(&event, &touched, thread.end_ns(&event) / span_ns);
            }
        }
        moved
    }

    /// A call that moved bytes, as the kernel sees it: what streams do inside is theirs, and is on record as well.
    fn take(&mut self, event: &Event<'_>, touched: &Touched, place: u64) {
        if event.has(FAILED) || event.call.is_on_stream() {
            return;
        }
        let bytes = event.result.max(0) as u64;
        match event.call.effect() {
            Effect::Read(_) => {
                self.add(false, touched.path.as_deref(), touched.peer.as_deref(), bytes, place)
            }
            Effect::Write(_) => {
                self.add(true, touched.path.as_deref(), touched.peer.as_deref(), bytes, place)
            }
            Effect::Transfer => {
                let bytes = Transfer::of(event).map_or(0, |transfer| transfer.bytes);
                self.add(false, touched.path.as_deref(), touched.peer.as_deref(), bytes, place);
                self.add(true, touched.second_path.as_deref(), None, bytes, place);
            }
            Effect::SendMessage => {
                self.add(true, None, Some(touched.peer.as_deref().unwrap_or(UNKNOWN)), bytes, place);
            }
            Effect::ReceiveMessage => {
                self.add(false, None, Some(touched.peer.as_deref().unwrap_or(UNKNOWN)), bytes, place);
            }
            effect => {
                if let Some(field) = counted_in(effect) {
                    let sample = self.samples.entry(place).or_default();
                    sample.set(field, sample.get(field) + 1);
                }
            }
        }
    }

    fn add(&mut self, write: bool, path: Option<&str>, peer: Option<&str>, bytes: u64, place: u64) {
        let socket = peer.is_some();
        let (kind, fields) = match (socket, write) {
            (false, false) => (BlockKind::Read, (Field::ReadBytes, Some(Field::Reads))),
            (false, true) => (BlockKind::Write, (Field::WriteBytes, Some(Field::Writes))),
            (true, true) => (BlockKind::Send, (Field::SentBytes, None)),
            (true, false) => (BlockKind::Receive, (Field::ReceivedBytes, None)),
        };
        let sample = self.samples.entry(place).or_default();
        sample.set(fields.0, sample.get(fields.0) + bytes);
        if let Some(calls) = fields.1 {
            sample.set(calls, sample.get(calls) + 1);
        }
        let block = Block { kind, bin: bin_of(bytes), count: 1, bytes };
        add_block(&mut sample.blocks, block);
        add_block(&mut self.blocks, block);
        let name = peer.or(path).unwrap_or("(pipe, terminal or without a name)").to_owned();
        let row = self.files.entry((socket, name.clone())).or_insert_with(|| FileRow {
            system: if socket { "socket".into() } else { path.map_or_else(|| "-".into(), file_system) },
            path: name,
            bytes: [0; 2],
            calls: [0; 2],
        });
        row.bytes[usize::from(write)] += bytes;
        row.calls[usize::from(write)] += 1;
    }

    /// CPU time and threads over time, from what lies between calls; the processes.
    fn processors(&mut self, run: &Run, span_ns: u64) -> Vec<ProcessRow> {
        let mut rows = Vec::new();
        for process in &run.processes {
            let mut row = ProcessRow {
                pid: process.pid as i32,
                ppid: process.ppid as i32,
                name: process.exe.rsplit('/').next().unwrap_or_default().to_owned(),
                seen_ns: [u64::MAX, 0],
                cpu_ns: 0,
                bytes: None,
                peak_bytes: 0,
                threads: process.threads.len() as u64,
            };
            for &index in &process.threads {
                let thread = &run.threads[index];
                for (event, measured) in thread.measured() {
                    let gap = measured.before;
                    self.spread(gap.start_ns, gap.wall_ns, gap.cpu_ns, span_ns);
                    // Of a call that may wait nobody knows how much of it was computing: short ones are taken to be all.
                    let (start, end) = (thread.start_ns(&event), thread.end_ns(&event));
                    let call_ns = if end - start < 1_000_000 && event.depth() == 0 { end - start } else { 0 };
                    self.spread(start, end - start, call_ns, span_ns);
                    row.cpu_ns += gap.cpu_ns + call_ns;
                    row.seen_ns = [row.seen_ns[0].min(start), row.seen_ns[1].max(end)];
                }
            }
            rows.push(row);
        }
        for (&place, sample) in &mut self.samples {
            let (from, to) = (place * span_ns, (place + 1) * span_ns);
            let alive = || rows.iter().filter(|row| row.seen_ns[0] < to && row.seen_ns[1] >= from);
            sample.set(Field::Processes, alive().count() as u64);
            sample.set(Field::Threads, alive().map(|row| row.threads).sum());
        }
        rows
    }

    /// CPU time that came evenly over a stretch.
    fn spread(&mut self, start_ns: u64, wall_ns: u64, cpu_ns: u64, span_ns: u64) {
        let (mut at, end) = (start_ns, start_ns + wall_ns);
        while at < end && cpu_ns > 0 {
            let next = ((at / span_ns + 1) * span_ns).min(end);
            let share = (cpu_ns as f64 * (next - at) as f64 / wall_ns as f64) as u64;
            let sample = self.samples.entry(at / span_ns).or_default();
            sample.set(Field::Cpu, sample.get(Field::Cpu) + share);
            at = next;
        }
    }

    /// Samples without a hole.
    fn in_order(&mut self, span_ns: u64) -> Vec<Sample> {
        let last = self.samples.keys().next_back().copied().unwrap_or(0);
        (0..=last)
            .map(|place| {
                let mut sample = self.samples.remove(&place).unwrap_or_default();
                sample.span_ns = span_ns;
                sample.end_ns = (place + 1) * span_ns;
                CALLS.iter().for_each(|&field| sample.set(field, sample.get(field)));
                sample
            })
            .collect()
    }

    fn metrics(&self, metrics: &mut Metrics) {
        let how = "recorded calls";
        for kind in BlockKind::ALL {
            let of_kind = || self.blocks.iter().filter(|block| block.kind == kind);
            let bytes: u64 = of_kind().map(|block| block.bytes).sum();
            let calls: u64 = of_kind().map(|block| block.count).sum();
            let name = match kind {
                BlockKind::Read => ["storage.recorded_read", "storage.recorded_block_read"],
                BlockKind::Write => ["storage.recorded_written", "storage.recorded_block_written"],
                BlockKind::Send => ["network.recorded_sent", "network.block_sent"],
                BlockKind::Receive => ["network.recorded_received", "network.block_received"],
            };
            metrics.measured(name[0], "B", bytes as f64, how);
            metrics.measured(
                name[1],
                "B",
                bytes as f64 / calls.max(1) as f64,
                "bytes / calls, of recorded calls",
            );
        }
        let files = self.files.keys().filter(|(socket, _)| !socket).count();
        metrics.measured("storage.files", "", files as f64, how);
        metrics.measured("network.recorded_endpoints", "", (self.files.len() - files) as f64, how);
    }
}

/// Of connections whose other end is not on record.
const UNKNOWN: &str = "(unknown)";

/// The column that counts calls of this effect.
fn counted_in(effect: Effect) -> Option<Field> {
    use Effect::*;
    Some(match effect {
        Fsync | Fdatasync | SyncRange | SyncFileSystem | SyncAll => Field::Syncs,
        Seek => Field::Seeks,
        Open | Create => Field::Opens,
        Stat(_) | Access | ReadLink | GetAttribute(_) | ListAttributes(_) | StatFileSystem => Field::Stats,
        effect if effect.changes_path() => Field::Names,
        _ => return None,
    })
}

/// The file system that a path lies on here and now, by the longest mount point.
fn file_system(path: &str) -> String {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let fits = fields.filter(|fields| fields.len() > 2 && Path::new(path).starts_with(fields[1]));
    fits.max_by_key(|fields| fields[1].len()).map_or_else(|| "-".into(), |fields| fields[2].to_owned())
}
