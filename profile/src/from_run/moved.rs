//! What the calls of a recorded run have moved, over time and by file.

use crate::metrics::{Metrics, ROOM};
use crate::profile::{FileRow, ProcessRow};
use crate::sample::{Block, BlockKind, Field, Sample, add_block, bin_of};
use rustix::fs::FileType;
use rustix::mm::{MapFlags, ProtFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn_trace::calls::Effect;
use syn_trace::descriptors::{Descriptors, OpenFile, OpenId, Touched, Transfer};
use syn_trace::record::FAILED;
use syn_trace::{Event, Run};

/// What only calls tell, beside sizes: how often each kind of call that moves no data was made.
pub const CALLS: [Field; 5] = [Field::Syncs, Field::Seeks, Field::Opens, Field::Stats, Field::Names];

/// What the calls of a run have moved.
#[derive(Default)]
pub struct Moved {
    /// By number; empty ones are left out.
    pub samples: BTreeMap<u64, Sample>,
    /// Files and connections, by whether it is a connection, and name.
    pub files: BTreeMap<(bool, String), FileRow>,
    /// Sizes of all calls, but those on pipes and devices.
    pub blocks: Vec<Block>,
    /// Bytes and calls on pipes and devices: read, written.
    pipes: [[u64; 2]; 2],
    /// Files that were mapped so that what is written into memory goes to them.
    mapped: BTreeSet<String>,
}

/// Where bytes of a call come from, or go to.
#[derive(Clone, Copy)]
enum End<'a> {
    /// A file.
    File(&'a str),
    /// The other end of a connection.
    Connection(&'a str),
    /// A pipe, a terminal or another device, by its name if it has one; or nobody knows.
    Other(Option<&'a str>),
}

impl Moved {
    /// Of a run, in samples of this length.
    pub fn of(run: &Run, span_ns: u64) -> Moved {
        let mut moved = Moved::default();
        for (index, process) in run.processes.iter().enumerate() {
            let mut descriptors = Descriptors::new(&process.cwd, process.threads.len());
            for (thread, event) in run.process_events(index) {
                let thread = &run.threads[thread];
                let touched = descriptors.apply(&event, thread.start_ns(&event), thread.returned_ns(&event));
                moved.take(&event, &touched, &descriptors, thread.end_ns(&event) / span_ns);
            }
        }
        moved
    }

    /// A call that moved bytes, as the kernel sees it: what streams do inside is theirs, and is on record as well.
    fn take(&mut self, event: &Event<'_>, touched: &Touched, descriptors: &Descriptors, place: u64) {
        if event.has(FAILED) || event.call.is_on_stream() {
            return;
        }
        let bytes = event.result.max(0) as u64;
        match event.call.effect() {
            Effect::Read(_) => self.add(false, end(touched.file, touched, descriptors), bytes, place),
            Effect::Write(_) => self.add(true, end(touched.file, touched, descriptors), bytes, place),
            Effect::Transfer => {
                let bytes = Transfer::of(event).map_or(0, |transfer| transfer.bytes);
                let from = end(touched.file, touched, descriptors);
                let second = Touched { path: touched.second_path.clone(), ..Touched::default() };
                let to = end(touched.second_file, &second, descriptors);
                // Bytes that come from a pipe or go into one are moved once: those of the file or connection.
                for (write, end) in [(false, from), (true, to)] {
                    if !matches!(end, End::Other(_)) {
                        self.add(write, end, bytes, place);
                    }
                }
            }
            Effect::SendMessage => {
                self.add(true, End::Connection(touched.peer.as_deref().unwrap_or(UNKNOWN)), bytes, place);
            }
            Effect::ReceiveMessage => {
                self.add(false, End::Connection(touched.peer.as_deref().unwrap_or(UNKNOWN)), bytes, place);
            }
            Effect::Map => {
                let [_, _, prot, flags, ..] = event.numbers;
                let shared = flags as u32 & MapFlags::SHARED.bits() != 0;
                let written = prot as u32 & ProtFlags::WRITE.bits() != 0;
                if let (true, End::File(path)) = (shared && written, end(touched.file, touched, descriptors))
                {
                    self.mapped.insert(path.to_owned());
                }
            }
            effect => {
                if let Some(field) = counted_in(effect) {
                    let sample = self.samples.entry(place).or_default();
                    sample.set(field, sample.get(field) + 1);
                }
            }
        }
    }

    fn add(&mut self, write: bool, end: End<'_>, bytes: u64, place: u64) {
        let socket = matches!(end, End::Connection(_));
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
        if let End::Other(_) = end {
            let [all, calls] = &mut self.pipes[usize::from(write)];
            (*all, *calls) = (*all + bytes, *calls + 1);
        } else {
            add_block(&mut sample.blocks, block);
            add_block(&mut self.blocks, block);
        }
        let name = match end {
            End::File(name) | End::Connection(name) | End::Other(Some(name)) => name,
            End::Other(None) => OTHER,
        };
        let row = self.files.entry((socket, name.to_owned())).or_insert_with(|| FileRow {
            system: match end {
                End::File(path) => file_system(path),
                End::Connection(_) => "socket".into(),
                End::Other(_) => NO_SYSTEM.into(),
            },
            path: name.to_owned(),
            bytes: [0; 2],
            calls: [0; 2],
            blocks: Vec::new(),
        });
        add_block(&mut row.blocks, block);
        row.bytes[usize::from(write)] += bytes;
        row.calls[usize::from(write)] += 1;
    }

    /// Takes what is known not to be storage out of what the kernel has counted. `sampled`: the metrics of the profile.
    pub fn without_pipes(&self, sampled: &Metrics, wall_ns: u64, metrics: &mut Metrics) {
        for (what, pipes) in ["read", "written"].iter().zip(self.pipes) {
            let [name, calls_name] = ["bytes", "calls"].map(|amount| format!("storage.{amount}_{what}"));
            let row = |name: &str| sampled.rows.iter().find(|row| row.name == name);
            let (Some(bytes), Some(calls)) = (row(&name), row(&calls_name)) else { continue };
            if pipes[1] == 0 {
                continue;
            }
            let how = format!("{}; without storage.pipes_{what}", bytes.how);
            let [bytes, calls] = [(bytes, pipes[0]), (calls, pipes[1])]
                .map(|(row, pipes)| (row.value.unwrap_or(0.0) - pipes as f64).max(0.0));
            metrics.measured(&name, "B", bytes, &how);
            metrics.measured(&calls_name, "", calls, &how);
            metrics.measured(&format!("storage.block_{what}"), "B", bytes / calls.max(1.0), "bytes / calls");
            let rate = bytes / (wall_ns as f64 / 1e9).max(1e-9);
            metrics.measured(&format!("storage.rate_{what}"), "B/s", rate, "bytes / run time");
            if let (Some(room), "written") = (row(ROOM), *what) {
                let left = room.value.unwrap_or(0.0) - pipes[0] as f64;
                metrics.measured(ROOM, "B", left.clamp(0.0, bytes), &format!("{}; without pipes", room.how));
            }
        }
    }

    /// Puts recorded messages in the place of those that sampling saw, where they are more: it sees TCP alone, and that of no connection
    /// that lived between two looks. `sampled`: the metrics of the profile.
    pub fn with_messages(&self, sampled: &Metrics, metrics: &mut Metrics) {
        let inner = sampled.get("network.bytes_inner").unwrap_or(0.0);
        for (what, kind) in [("sent", BlockKind::Send), ("received", BlockKind::Receive)] {
            let name = format!("network.bytes_{what}");
            let seen = sampled.get(&name).unwrap_or(0.0);
            let of_kind = self.blocks.iter().filter(|block| block.kind == kind);
            let recorded = of_kind.map(|block| block.bytes).sum::<u64>() as f64;
            if recorded > seen + inner {
                let how = format!(
                    "recorded calls, by whichever socket and to whomever; of TCP sampling saw {seen} B to or from others, {inner} B within"
                );
                metrics.measured(&name, "B", recorded, &how);
            }
        }
    }

    /// CPU time and threads over time, from what lies between calls; the processes.
    pub fn processors(&mut self, run: &Run, span_ns: u64) -> Vec<ProcessRow> {
        let mut rows = Vec::new();
        for process in &run.processes {
            let mut row = ProcessRow {
                pid: process.pid as i32,
                ppid: process.ppid as i32,
                name: process.image().to_owned(),
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

    /// Samples without a hole; the last one ends with the last record.
    pub fn in_order(&mut self, span_ns: u64, end_ns: u64) -> Vec<Sample> {
        let last = self.samples.keys().next_back().copied().unwrap_or(0);
        (0..=last)
            .map(|place| {
                let mut sample = self.samples.remove(&place).unwrap_or_default();
                let start_ns = place * span_ns;
                sample.end_ns = if place == last { end_ns.max(start_ns + 1) } else { start_ns + span_ns };
                sample.span_ns = sample.end_ns - start_ns;
                CALLS.iter().for_each(|&field| sample.set(field, sample.get(field)));
                sample
            })
            .collect()
    }

    /// What only calls tell.
    pub fn metrics(&self, metrics: &mut Metrics) {
        let how = "recorded calls";
        let names = [
            (BlockKind::Read, ["storage.recorded_read", "storage.recorded_block_read"]),
            (BlockKind::Write, ["storage.recorded_written", "storage.recorded_block_written"]),
            (BlockKind::Send, ["network.recorded_sent", "network.block_sent"]),
            (BlockKind::Receive, ["network.recorded_received", "network.block_received"]),
        ];
        for (kind, name) in names {
            let of_kind = || self.blocks.iter().filter(|block| block.kind == kind);
            let bytes: u64 = of_kind().map(|block| block.bytes).sum();
            let calls: u64 = of_kind().map(|block| block.count).sum();
            metrics.measured(name[0], "B", bytes as f64, how);
            metrics.measured(
                name[1],
                "B",
                bytes as f64 / calls.max(1) as f64,
                "bytes / calls, of recorded calls",
            );
        }
        for (name, [bytes, _]) in ["storage.pipes_read", "storage.pipes_written"].iter().zip(self.pipes) {
            metrics.measured(
                name,
                "B",
                bytes as f64,
                "recorded calls on pipes, terminals and other devices: no storage",
            );
        }
        let connections = self.files.keys().filter(|(socket, _)| *socket).count();
        let others = self.files.values().filter(|row| row.system == NO_SYSTEM).count();
        metrics.measured("storage.files", "", (self.files.len() - connections - others) as f64, how);
        metrics.measured("network.recorded_endpoints", "", connections as f64, how);
        if let Some(first) = self.mapped.first() {
            metrics.notes.push(format!(
                "what was written into shared mappings of files ({}, the first of them {first}) is in no bytes of calls; what of it a device got is in storage.device_bytes_written",
                self.mapped.len()
            ));
        }
    }
}

/// What an open file is; `touched` has its name.
fn end<'a>(file: Option<OpenId>, touched: &'a Touched, descriptors: &'a Descriptors) -> End<'a> {
    let open = file.map(|file| descriptors.open_file(file));
    let is_socket = open.is_some_and(|open| FileType::from_raw_mode(open.st_mode) == FileType::Socket);
    let peer = touched.peer.as_deref().or_else(|| open?.peer.as_deref()).or(is_socket.then_some(UNKNOWN));
    match (peer, touched.path.as_deref()) {
        (Some(peer), _) => End::Connection(peer),
        (None, Some(path)) if !open.is_some_and(is_no_storage) => End::File(path),
        (None, name) => End::Other(name),
    }
}

/// A pipe with a name, or a device.
fn is_no_storage(open: &OpenFile) -> bool {
    matches!(FileType::from_raw_mode(open.st_mode), FileType::Fifo | FileType::CharacterDevice)
}

/// What has no file system.
const NO_SYSTEM: &str = "-";

/// What has no name, all together.
const OTHER: &str = "(pipe, terminal or without a name)";

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
