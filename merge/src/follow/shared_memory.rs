//! What lies at an address: two processes may have one lock at different addresses, and two locks at one address.
//!
//! Memory is a process's own unless a record says that it is shared: `mmap` with `MAP_SHARED`, `shmat`, `sem_open`. A forked
//! child has the shared memory of its parent at the same addresses; a program that is started has none. Where anonymous shared
//! memory ends is not on record: it counts as shared until something else is mapped there.

use crate::clocks::Clocks;
use crate::follow::file_ids::FileIds;
use crate::follow::pass::Seen;
use std::collections::{BTreeMap, HashMap};
use syn_trace::Run;
use syn_trace::calls::effect::{Effect, Sync};
use syn_trace::calls::{Call, Field};
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::record;

/// A place in memory: whose (a process's own, or that of a shared segment, numbered behind the processes), and where in it.
pub type Place = (u32, u64);

/// `sizeof(sem_t)`.
const SEMAPHORE_BYTES: u64 = 32;
/// Of a segment whose `shmget` is not on record.
const LEAST_SEGMENT_BYTES: u64 = 4096;

/// What shared memory is known by, on a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    /// A file.
    File(u32),
    /// A segment of `shmget`.
    Segment(i64),
    /// A name of `sem_open`, and how often it had been given away before.
    Semaphore(Vec<u8>, u32),
    /// Made without a name by this record of this thread.
    Anonymous(u32, u32),
}

/// A part of a process's memory: the address behind it, the segment, and the place of its first address in that.
type Piece = (u64, u32, u64);

/// The shared memory of a run.
#[derive(Debug)]
pub struct SharedMemory {
    /// By process: the host, and the parent whose memory it may have.
    origins: Vec<(usize, Option<usize>)>,
    /// By process, by first address.
    pieces: Vec<BTreeMap<u64, Piece>>,
    segments: HashMap<(usize, Name), u32>,
    files: FileIds,
    /// Of segments of `shmget`, by host and id, bytes.
    sizes: HashMap<(usize, i64), u64>,
    /// How often a name of `sem_open` was removed.
    removed: HashMap<(usize, Vec<u8>), u32>,
}

impl SharedMemory {
    /// Of a run, with nothing seen yet.
    pub fn new(run: &Run, clocks: &Clocks) -> SharedMemory {
        let mut latest = HashMap::new();
        let mut origins = Vec::with_capacity(run.processes.len());
        // Processes come in the order of their starts. One that had another image before has its memory from nobody.
        for (index, process) in run.processes.iter().enumerate() {
            let host = clocks.host_of(&process.boot_id);
            let parent: Option<usize> = latest.get(&(host, process.ppid)).copied();
            let is_first = latest.insert((host, process.pid), index).is_none();
            origins.push((host, parent.filter(|_| is_first)));
        }
        SharedMemory {
            origins,
            pieces: vec![BTreeMap::new(); run.processes.len()],
            segments: HashMap::new(),
            files: FileIds::default(),
            sizes: HashMap::new(),
            removed: HashMap::new(),
        }
    }

    /// What lies at an address of a process.
    pub fn at(&self, process: u32, address: i64) -> Place {
        let address = address as u64;
        let below = self.pieces[process as usize].range(..=address).next_back();
        match below.filter(|(_, (end, ..))| address < *end) {
            Some((&start, &(_, segment, offset))) => {
                (self.pieces.len() as u32 + segment, offset.saturating_add(address - start))
            }
            None => (process, address),
        }
    }

    /// Follows one event.
    #[inline]
    pub fn follow(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let event = seen.event;
        match event.call.effect() {
            _ if event.call == Call::ProcessStart => self.start(seen.process as usize),
            _ if event.has(record::FAILED) => {}
            Effect::Map => self.map(seen, touched, descriptors),
            Effect::Unmap => self.forget(seen.process, event.numbers[0], event.numbers[1].max(0) as u64),
            Effect::Sync(sync) => self.follow_rare(seen, sync),
            _ => {}
        }
    }

    fn start(&mut self, process: usize) {
        if let Some(parent) = self.origins[process].1 {
            self.pieces[process] = self.pieces[parent].clone();
        }
    }

    fn follow_rare(&mut self, seen: &Seen<'_>, sync: Sync) {
        let (event, host) = (seen.event, self.origins[seen.process as usize].0);
        let name = || event.texts[0].bytes().into_owned();
        match sync {
            Sync::OpenSemaphore => {
                let removed = self.removed.get(&(host, name())).copied().unwrap_or(0);
                self.put(
                    seen.process,
                    event.numbers[1],
                    SEMAPHORE_BYTES,
                    Name::Semaphore(name(), removed),
                    0,
                );
            }
            Sync::UnlinkSemaphore => *self.removed.entry((host, name())).or_default() += 1,
            Sync::GetSegment => {
                let bytes = event.field(Field::Bytes).unwrap_or(0).max(0) as u64;
                let known = self.sizes.entry((host, event.result)).or_default();
                *known = bytes.max(*known);
            }
            Sync::AttachSegment => {
                let id = event.numbers[0];
                let bytes = self.sizes.get(&(host, id)).copied().unwrap_or(0).max(LEAST_SEGMENT_BYTES);
                self.put(seen.process, event.result, bytes, Name::Segment(id), 0);
            }
            Sync::DetachSegment => {
                self.pieces[seen.process as usize].remove(&(event.numbers[0] as u64));
            }
            _ => {}
        }
    }

    /// `mmap`: of a file that others may map too, of memory that children share, or in place of such.
    fn map(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let [_, bytes, _, flags, offset, ..] = seen.event.numbers;
        let bytes = bytes.max(0) as u64;
        if flags & i64::from(libc::MAP_SHARED) == 0 {
            return self.forget(seen.process, seen.event.result, bytes);
        }
        let host = self.origins[seen.process as usize].0;
        let file = touched.file.and_then(|file| self.files.of(host, descriptors.open_file(file)));
        let name = file.map_or(Name::Anonymous(seen.thread, seen.record), Name::File);
        self.put(seen.process, seen.event.result, bytes, name, offset.max(0) as u64);
    }

    fn put(&mut self, process: u32, address: i64, bytes: u64, name: Name, offset: u64) {
        self.forget(process, address, bytes);
        let free = self.segments.len() as u32;
        let segment = *self.segments.entry((self.origins[process as usize].0, name)).or_insert(free);
        let start = address as u64;
        self.pieces[process as usize].insert(start, (start.saturating_add(bytes), segment, offset));
    }

    /// Something else, or nothing, is at these addresses.
    fn forget(&mut self, process: u32, address: i64, bytes: u64) {
        let pieces = &mut self.pieces[process as usize];
        let (start, end) = (address as u64, (address as u64).saturating_add(bytes));
        while let Some((&first, &(behind, segment, offset))) =
            pieces.range(..end).next_back().filter(|(_, (behind, ..))| *behind > start)
        {
            pieces.remove(&first);
            if behind > end {
                pieces.insert(end, (behind, segment, offset.saturating_add(end - first)));
            }
            if first < start {
                pieces.insert(first, (start, segment, offset));
                break;
            }
        }
    }
}
