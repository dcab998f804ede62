//! The files that a process has mapped, while it does.

use crate::follow::touched_pages::{Parts, Tried};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use syn_plan::HandleId;
use syn_trace::descriptors::OpenId;

const PAGE: u64 = 4096;

/// What a thread waits for the pages of one read at most: a disk that turns, and others in front.
const LONGEST_READ_NS: u64 = 20_000_000;
/// So many reads an object is loaded by at most, as far as waiting is taken to be for that: what the loader needs lies in a few places.
const READS_TO_LOAD: u64 = 16;
/// Pages are read ahead, so many bytes at a time (`read_ahead_kb`).
const READ_AHEAD_BYTES: u64 = 128 << 10;

/// By how many reads at most: of what is not there, a folder.
pub fn reads_to_load(tried: &Tried) -> u64 {
    if tried.is_opened { READS_TO_LOAD } else { 1 }
}

/// The files of the plan that a process has mapped.
#[derive(Debug, Default)]
pub struct Mappings {
    /// Those that are mapped now, and of those that are written to what that goes to.
    pub of: HashMap<OpenId, Option<Kept>>,
    /// How long its threads may yet wait for pages where they make no call, nanoseconds.
    faults_ns: u64,
    /// What it loads before its first call, and by each dlopen(3) to come, is of the plan: how long it may wait for that.
    starts_ns: u64,
    loads_ns: VecDeque<u64>,
    /// Of its threads that have called dlopen(3), the same until their next record.
    loading_ns: HashMap<u32, u64>,
}

impl Mappings {
    /// Of a process that loads objects of the plan by so many reads before its first call, and by each call of dlopen(3).
    pub fn of_process_that_loads(at_start: u64, later: impl Iterator<Item = u64>) -> Mappings {
        let ns = |reads: u64| reads.saturating_mul(LONGEST_READ_NS);
        Mappings { starts_ns: ns(at_start), loads_ns: later.map(ns).collect(), ..Mappings::default() }
    }

    /// How much of the waiting before its first call may be for what it loads.
    pub fn start(&mut self, waited_ns: u64) -> u64 {
        waited_ns.min(std::mem::take(&mut self.starts_ns))
    }

    /// A thread calls dlopen(3). What that waits for is waiting for pages.
    pub fn load(&mut self, thread: u32) {
        let ns = self.loads_ns.pop_front().filter(|ns| *ns > 0);
        self.loading_ns.extend(ns.map(|ns| (thread, ns)));
    }

    /// The thread's next record: for how long it may have waited in front of that for what it has loaded.
    pub fn loaded(&mut self, thread: u32) -> u64 {
        if self.loading_ns.is_empty() { 0 } else { self.loading_ns.remove(&thread).unwrap_or(0) }
    }

    /// Whether the plan has this one among them.
    pub fn have(&self, file: Option<OpenId>) -> bool {
        file.is_some_and(|file| self.of.contains_key(&file))
    }

    /// How much of the waiting outside of calls may be for pages. It is not there for others any more.
    pub fn faults(&mut self, waited_ns: u64) -> u64 {
        let faults_ns = if self.of.is_empty() { 0 } else { waited_ns.min(self.faults_ns) };
        self.faults_ns -= faults_ns;
        faults_ns
    }

    /// Nothing of this one is mapped any more: what it was written by.
    pub fn remove(&mut self, file: OpenId) -> Option<Kept> {
        let kept = self.of.remove(&file);
        if self.of.is_empty() {
            self.faults_ns = 0;
        }
        kept.flatten()
    }

    /// These are touched, each run by as many reads as it takes at least.
    pub fn expect(&mut self, pages: &[Range<u64>], at_random: bool) {
        let bytes = if at_random { PAGE } else { READ_AHEAD_BYTES };
        let reads = |range: &Range<u64>| (range.end - range.start) / bytes + 1;
        let reads = pages.iter().map(reads).fold(0, u64::saturating_add);
        self.faults_ns = self.faults_ns.saturating_add(reads.saturating_mul(LONGEST_READ_NS));
    }
}

/// What is written goes here: a mapping holds its file open on its own (mmap(2)).
#[derive(Debug)]
pub struct Kept {
    /// A descriptor of its own in the replay.
    pub handle: HandleId,
    /// The only thread that has used it, if it is one.
    pub user: Option<u32>,
    /// The address of the latest mapping, and of which byte of the file that is.
    pub at: (u64, u64),
    /// What the page scans since the last msync(2) found written, and whether they tell: where nothing is new and no bytes are counted, they
    /// do not.
    pub looked: Option<(Vec<Range<u64>>, bool)>,
    /// The same before the latest msync(2) of so many bytes in front of which there was one.
    pub usual: HashMap<u64, Parts>,
}
