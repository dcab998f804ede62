//! The pages of mapped files that this process has touched, as its page tables tell when they are about to be lost.
//!
//! How precise that is stands in `trace/FORMAT.md`.

mod pagemap;
mod smaps;

use crate::core::clock;
use crate::recording::mappings::{self as table, DATA, LOADED, Mapping, PAGE, SHARED, WRITABLE, inherited};
use crate::recording::process;
use crate::recording::span::{Span, note};
use crate::recording::thread::private_table;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use pagemap::{FILE, PRESENT, Pagemap, Query, Region, Room, SWAPPED};
use syn_trace::calls::Call;

/// Numbers in the list for every run of pages.
const PER_RUN: usize = 3;
/// The most records about one mapping that list its runs; what lies behind them is told as a sum.
const MOST_LISTS: usize = 16;
/// A mapping below this is small: the kernel brings 16 pages into the page table when one of them is read, if they are
/// in the page cache, so that a look says little of fewer. What of them is dirty is not worth the milliseconds that smaps takes in
/// a process with hundreds of mappings.
const SMALL_BYTES: usize = 16 * PAGE;
/// Runs of pages for which there is room on the stack: a forked shell's mapped locale has some twenty.
const FEW_REGIONS: usize = 32;
/// What may be left out, and costs more than a look, gets one part in so many of the process's time.
const TIME_SHARE: u64 = 50;

/// The third number of a run.
const READ: i64 = 0;
const WRITTEN: i64 = 1;
const EITHER: i64 = 2;
/// In place of a number of bytes.
const UNKNOWN: i64 = -1;

/// Ticks when the first file was mapped, and what has been spent of the time share since.
static SINCE: AtomicU64 = AtomicU64::new(0);
static SPENT: AtomicU64 = AtomicU64::new(0);

/// Notes that there is something to be looked at, now or later.
pub fn begin() {
    if SINCE.load(Ordering::Relaxed) == 0 {
        SINCE.store(clock::ticks(), Ordering::Relaxed);
    }
}

/// Does what may be left out, unless there has been too much of it: the first time always.
fn within_share<T>(work: impl FnOnce() -> T) -> Option<T> {
    let (spent, began) = (SPENT.load(Ordering::Relaxed), clock::ticks());
    if spent.saturating_mul(TIME_SHARE) > began.saturating_sub(SINCE.load(Ordering::Relaxed)) {
        return None;
    }
    let done = work();
    SPENT.fetch_add(clock::ticks().saturating_sub(began), Ordering::Relaxed);
    Some(done)
}

/// The thread's scratch memory, divided.
struct Scratch {
    regions: &'static mut [Region],
    words: &'static mut [u64],
    list: &'static mut [i64],
    text: &'static mut [u8],
}

impl Scratch {
    fn of(span: &Span) -> Scratch {
        const REGION_WORDS: usize = 8 << 10;
        let scratch = span.scratch();
        // SAFETY: a look uses these fields only by what is returned here.
        let (words, list) = unsafe { (scratch.words.lend(), scratch.list.lend()) };
        let (regions, rest) = words.split_at_mut(REGION_WORDS);
        let (words, text) = rest.split_at_mut(REGION_WORDS);
        // SAFETY: regions are numbers, which are bytes.
        unsafe { Scratch { regions: regions.align_to_mut().1, words, list, text: text.align_to_mut().1 } }
    }
}

/// The mappings of data between the addresses, each cut to what lies there. What another thread is unmapping has been
/// told by it.
fn data_between(start: usize, end: usize) -> impl Iterator<Item = Mapping> {
    let is_this_process_s = |mapping: &Mapping| mapping.owner == process::pid() || mapping.is_inherited();
    let found =
        table::in_range(start, end).filter(move |mapping| mapping.is(DATA) && is_this_process_s(mapping));
    found.map(move |mapping| mapping.between(start, end)).filter(|mapping| !mapping.is_leaving())
}

/// Tells what has been touched of the files mapped between the addresses, before it is unmapped. Of small mappings only
/// that they are, once the looks have taken too long: programs that map thousands of small files do not wait for it.
#[cold]
pub fn tell(span: &mut Span, start: usize, end: usize) {
    if data_between(start, end).any(|mapping| mapping.bytes() >= SMALL_BYTES) {
        look(span, start, end);
    } else if within_share(|| look(span, start, end)).is_none() {
        let Scratch { list, text, .. } = Scratch::of(span);
        data_between(start, end).for_each(|mapping| Scan::of(mapping, list, text).tell_nothing(span));
    }
}

/// What is left of mappings of files at the end of the process image.
pub fn tell_all(span: &mut Span) {
    look(span, 0, usize::MAX);
}

/// Looks at what is mapped between the addresses, and tells what has been touched of it.
#[cold]
#[unsafe(link_section = ".text.startup")]
fn look(span: &mut Span, start: usize, end: usize) {
    if data_between(start, end).next().is_none() {
        return;
    }
    let mut room = Scratch::of(span);
    let looked = private_table::run(|| look_through(span, (start, end), &mut room));
    if looked.is_err() {
        let Scratch { list, text, .. } = room;
        data_between(start, end).for_each(|mapping| Scan::of(mapping, list, text).tell_nothing(span));
        // Of what the program has not mapped itself it is not missed.
        if data_between(start, end).any(|mapping| !mapping.is(LOADED)) {
            note_limitation(span);
        }
    }
}

/// The same where the process's page tables can be read. `Err`, a negated errno, where they cannot.
#[cold]
#[inline(never)]
#[unsafe(link_section = ".text.startup")]
fn look_through(span: &mut Span, (start, end): (usize, usize), room: &mut Scratch) -> Result<(), isize> {
    let Scratch { regions, words, list, text } = room;
    let pagemap = Pagemap::open()?;
    // A page of the scratch memory would be one more to be filled.
    let mut few = [Region { start: 0, end: 0, categories: 0 }; FEW_REGIONS];
    let (more, regions) = regions.split_at_mut(regions.len() / 2);
    let untouched = Untouched::of(&pagemap, (start, end), [&mut few, more]);
    for mapping in data_between(start, end).filter(|mapping| !untouched.has(mapping)) {
        let mut scan = Scan::of(mapping, list, text);
        let mut room = Room { regions, words };
        if scan.look(span, &pagemap, &mut room) {
            scan.tell_rest(span);
        } else {
            scan.tell_nothing(span);
        }
    }
    pagemap.close();
    Ok(())
}

/// What a forked child has not touched of the files that it found mapped to be read, by one look at all of them: it mostly has
/// not touched any, as those of the locale, and tells only of what it has.
struct Untouched<'a> {
    range: (usize, usize),
    /// What is in the page table there; `None` if that is not known.
    present: Option<&'a [Region]>,
}

impl<'a> Untouched<'a> {
    /// A look at more than this takes longer than a look at each.
    const MOST_BYTES: usize = 64 << 20;

    #[unsafe(link_section = ".text.startup")]
    fn of(pagemap: &Pagemap, (start, end): (usize, usize), rooms: [&'a mut [Region]; 2]) -> Untouched<'a> {
        let found = data_between(start, end).filter(Untouched::may_have);
        let range =
            found.fold((usize::MAX, 0), |(low, high), found| (low.min(found.start), high.max(found.end)));
        let bytes = range.1.saturating_sub(range.0);
        let wanted = (1..=Untouched::MOST_BYTES).contains(&bytes);
        for room in rooms.into_iter().take_while(|_| wanted) {
            let Some(count) = pagemap.scan(range, Dirtiness::ReadOnly.query(), room) else { break };
            if count < room.len() {
                return Untouched { range, present: Some(&room[..count]) };
            }
        }
        Untouched { range, present: None }
    }

    fn may_have(mapping: &Mapping) -> bool {
        mapping.owner != process::pid() && Dirtiness::of(mapping) == Dirtiness::ReadOnly
    }

    #[unsafe(link_section = ".text.startup")]
    fn has(&self, mapping: &Mapping) -> bool {
        let is_known = self.range.0 <= mapping.start && mapping.end <= self.range.1;
        let overlaps =
            |region: &Region| (region.start as usize) < mapping.end && mapping.start < region.end as usize;
        is_known && Untouched::may_have(mapping) && self.present.is_some_and(|all| !all.iter().any(overlaps))
    }
}

/// The same before a write-back, which takes nothing away, or what may unmap a library: only while that costs little.
#[cold]
pub fn tell_while_cheap(span: &mut Span, start: usize, end: usize) {
    within_share(|| look(span, start, end));
}

#[cold]
fn note_limitation(span: &Span) {
    static NOTED: AtomicBool = AtomicBool::new(false);
    if !NOTED.swap(true, Ordering::Relaxed) {
        let what: &[u8] = b"pages touched in mapped files: /proc/self/pagemap cannot be opened";
        // SAFETY: this thread's state, while the hook runs.
        note::write(span.state(), Call::Unobserved, 0, &[], &[what]);
    }
}

/// What tells a page that was written to.
#[derive(Clone, Copy, PartialEq)]
enum Dirtiness {
    /// Nothing needs to: the mapping could never be written to.
    ReadOnly,
    /// It is a copy of the file's.
    Copied,
    /// Nothing does: the file's own pages are written in place.
    Missing,
}

impl Dirtiness {
    fn of(mapping: &Mapping) -> Dirtiness {
        match (mapping.is(WRITABLE), mapping.is(SHARED)) {
            (false, _) => Dirtiness::ReadOnly,
            (true, false) => Dirtiness::Copied,
            (true, true) => Dirtiness::Missing,
        }
    }

    fn query(self) -> Query {
        match self {
            Dirtiness::ReadOnly | Dirtiness::Missing => Query { any_of: PRESENT, tell: PRESENT },
            Dirtiness::Copied => Query { any_of: PRESENT | SWAPPED, tell: FILE },
        }
    }

    fn kind_of(self, categories: u64) -> i64 {
        match self {
            Dirtiness::Copied if categories & FILE == 0 => WRITTEN,
            Dirtiness::ReadOnly | Dirtiness::Copied => READ,
            Dirtiness::Missing => EITHER,
        }
    }
}

/// A look at one mapping, and the record that is being made of it.
struct Scan<'a> {
    mapping: Mapping,
    dirtiness: Dirtiness,
    list: &'a mut [i64],
    text: &'a mut [u8],
    /// Where the record begins, and how much of the list it fills.
    begin: usize,
    filled: usize,
    /// Records written.
    lists: usize,
    present: usize,
    written: usize,
}

impl<'a> Scan<'a> {
    fn of(mapping: Mapping, list: &'a mut [i64], text: &'a mut [u8]) -> Scan<'a> {
        let (begin, dirtiness) = (mapping.start, Dirtiness::of(&mapping));
        Scan { mapping, dirtiness, list, text, begin, filled: 0, lists: 0, present: 0, written: 0 }
    }

    /// False when there is nothing to be seen.
    fn look(&mut self, span: &mut Span, pagemap: &Pagemap, room: &mut Room<'_>) -> bool {
        let range = (self.mapping.start, self.mapping.end);
        pagemap.for_each(range, self.dirtiness.query(), room, |region| self.add(span, region))
    }

    fn add(&mut self, span: &mut Span, region: Region) {
        let (start, bytes) = (region.start as usize, (region.end - region.start) as usize);
        if self.filled + PER_RUN > self.list.len() && self.lists < MOST_LISTS {
            let dirty = if self.dirtiness == Dirtiness::Missing { UNKNOWN } else { self.written as i64 };
            self.write(span, start, dirty);
        }
        let kind = self.dirtiness.kind_of(region.categories);
        if self.lists < MOST_LISTS {
            let page = (start - self.begin) / PAGE;
            let run = [page as i64, (bytes / PAGE) as i64, kind];
            self.list[self.filled..self.filled + PER_RUN].copy_from_slice(&run);
            self.filled += PER_RUN;
        }
        self.present += bytes;
        self.written += if kind == WRITTEN { bytes } else { 0 };
    }

    /// The record of what has not been told yet.
    fn tell_rest(&mut self, span: &mut Span) {
        // A forked child's trace has no word of what it does not use.
        if self.mapping.owner != process::pid() && self.present == 0 && self.lists == 0 {
            return;
        }
        let dirty =
            if self.dirtiness == Dirtiness::Missing { self.dirty_by_smaps() } else { self.written as i64 };
        self.write(span, self.mapping.end, dirty);
    }

    /// What smaps counts: whole blocks of the page cache, less what has been written back. [`UNKNOWN`] of small mappings, where it
    /// would take too long, or where there are several records to share it.
    fn dirty_by_smaps(&mut self) -> i64 {
        if self.present == 0 {
            return 0;
        }
        if self.lists > 0 || self.mapping.bytes() < SMALL_BYTES {
            return UNKNOWN;
        }
        let (start, end) = (self.mapping.start, self.mapping.end);
        let counted = within_share(|| smaps::dirty_bytes(start, end, self.text)).flatten();
        counted.map_or(UNKNOWN, |dirty| (dirty as usize).min(self.present) as i64)
    }

    /// The record of a mapping that was not looked at.
    fn tell_nothing(&mut self, span: &mut Span) {
        let dirty = if self.dirtiness == Dirtiness::ReadOnly { 0 } else { UNKNOWN };
        self.filled = 0;
        self.write_with(span, self.mapping.end, UNKNOWN, dirty);
    }

    fn write(&mut self, span: &mut Span, end: usize, dirty: i64) {
        self.write_with(span, end, self.present as i64, dirty);
    }

    /// Writes what has been gathered, as a record of the mapping up to `end`, and begins anew there.
    fn write_with(&mut self, span: &mut Span, end: usize, present: i64, dirty: i64) {
        if self.mapping.owner != process::pid() {
            inherited::tell(span, self.text);
            self.mapping.owner = process::pid();
        }
        let part = self.mapping.between(self.begin, end);
        let numbers = [part.start as i64, part.bytes() as i64, part.offset as i64, present, dirty];
        span.returned();
        span.record(Call::PagesTouched, false, 0, &numbers, &[], &self.list[..self.filled]);
        self.lists += 1;
        (self.begin, self.filled, self.present, self.written) = (end, 0, 0, 0);
    }
}
