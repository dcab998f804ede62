//! Which memory of this process holds mapped files.
//!
//! Fixed in size, static, and without locks: mappings are made and unmade inside allocators, in signal handlers and in
//! forked children. A slot is taken by setting its start from `FREE` to `BUSY`, and is whole when the start stands
//! there. What is about to be unmapped is marked first and taken out afterwards: in between, another thread may be given
//! the same addresses, and what it has put in is not marked. Which addresses are being unmapped stands beside the mark:
//! what is mapped there was told about by the call that unmaps it, or is nothing of ours.
//!
//! The loader maps libraries by system calls of its own; those mappings are not in here.

pub mod inherited;
pub mod lines;

use crate::recording::process;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Mappings that can be known at the same time.
const SLOTS: usize = 4096;
/// Bytes of a page.
pub const PAGE: usize = 4096;

const FREE: usize = 0;
const BUSY: usize = 1;
/// In the low bits of a start: a call that unmaps some of it has begun.
const MARKED: usize = 2;

/// Can be, or could once be, written to.
pub const WRITABLE: u32 = 1;
/// Writes go to the file.
pub const SHARED: u32 = 2;
/// Of a regular file or block device: its pages are data, and worth counting.
pub const DATA: u32 = 4;

/// Slots whose numbers follow each other. Starts, which every search reads, lie side by side; and the first ones take up a single page, as
/// most programs map few files.
struct Block {
    starts: [AtomicUsize; IN_BLOCK],
    ends: [AtomicUsize; IN_BLOCK],
    offsets: [AtomicU64; IN_BLOCK],
    traits: [AtomicU32; IN_BLOCK],
    owners: [AtomicU32; IN_BLOCK],
    /// Between which addresses a call under way unmaps; the end is 0 where there is none.
    leaving: [[AtomicUsize; 2]; IN_BLOCK],
}

const IN_BLOCK: usize = 64;

#[repr(align(4096))]
struct Blocks([Block; SLOTS / IN_BLOCK]);

#[unsafe(link_section = ".bss.tables")]
static BLOCKS: Blocks = Blocks(
    [const {
        Block {
            starts: [const { AtomicUsize::new(FREE) }; IN_BLOCK],
            ends: [const { AtomicUsize::new(0) }; IN_BLOCK],
            offsets: [const { AtomicU64::new(0) }; IN_BLOCK],
            traits: [const { AtomicU32::new(0) }; IN_BLOCK],
            owners: [const { AtomicU32::new(0) }; IN_BLOCK],
            leaving: [const { [const { AtomicUsize::new(0) }; 2] }; IN_BLOCK],
        }
    }; SLOTS / IN_BLOCK],
);

/// The block that a slot is in, and its place there.
#[inline(always)]
fn block(slot: usize) -> (&'static Block, usize) {
    (&BLOCKS.0[slot / IN_BLOCK], slot % IN_BLOCK)
}

/// Where the mapping in a slot starts, or `FREE`, or `BUSY`.
#[inline(always)]
fn start_of(slot: usize) -> &'static AtomicUsize {
    let (block, place) = block(slot);
    &block.starts[place]
}

/// Slots in use.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// One more than the highest slot that was ever in use.
static BOUND: AtomicUsize = AtomicUsize::new(0);
/// Between which addresses there ever was a mapping: most of what allocators unmap lies outside, and takes no look into
/// the slots. (The first as its complement: all that begins as zero lies in one page.)
static NOT_LOWEST: AtomicUsize = AtomicUsize::new(0);
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

/// A mapping of a file.
#[derive(Clone, Copy)]
pub struct Mapping {
    /// The first address.
    pub start: usize,
    /// The address behind the last.
    pub end: usize,
    /// The place in the file of the first address.
    pub offset: u64,
    /// [`WRITABLE`], [`SHARED`], [`DATA`].
    pub traits: u32,
    /// The process in whose trace it is known: another one than this in a forked child.
    pub owner: u32,
    /// What of it a call under way unmaps: from the first address to before the second.
    pub leaving: [usize; 2],
}

impl Mapping {
    /// The part that lies between two addresses; nothing of it need.
    pub fn between(mut self, start: usize, end: usize) -> Mapping {
        let skipped = start.saturating_sub(self.start);
        self.offset = self.offset.wrapping_add(skipped as u64);
        self.start += skipped;
        self.end = self.end.min(end);
        self
    }

    /// How long it is.
    pub fn bytes(&self) -> usize {
        self.end.saturating_sub(self.start)
    }

    #[cfg_attr(not(feature = "page-scans"), allow(dead_code))]
    /// True when a call under way unmaps all of it: it may be gone, and something else be there.
    pub fn is_leaving(&self) -> bool {
        self.leaving[0] <= self.start && self.end <= self.leaving[1]
    }

    #[cfg_attr(not(feature = "page-scans"), allow(dead_code))]
    /// True when all of the traits are there.
    pub fn is(&self, traits: u32) -> bool {
        self.traits & traits == traits
    }
}

/// True when a file is mapped somewhere between the addresses.
#[inline(always)]
pub fn overlaps(start: usize, end: usize) -> bool {
    LIVE.load(Ordering::Relaxed) != 0
        && start < HIGHEST.load(Ordering::Relaxed)
        && end > !NOT_LOWEST.load(Ordering::Relaxed)
        && is_any_in(start, end)
}

#[inline(never)]
fn is_any_in(start: usize, end: usize) -> bool {
    in_range(start, end).next().is_some()
}

/// The slots that a mapping may be in.
fn used_slots() -> Range<usize> {
    0..BOUND.load(Ordering::Acquire)
}

/// The mappings that have a part between the addresses, in no order.
pub fn in_range(start: usize, end: usize) -> impl Iterator<Item = Mapping> {
    used_slots().filter_map(move |slot| overlapping(slot, start, end))
}

/// The mapping in this slot, if a part of it lies between the addresses.
#[inline(always)]
fn overlapping(slot: usize, start: usize, end: usize) -> Option<Mapping> {
    let (block, place) = block(slot);
    let found = block.starts[place].load(Ordering::Acquire);
    if found <= BUSY || found & !MARKED >= end || block.ends[place].load(Ordering::Relaxed) <= start {
        return None;
    }
    let mapping = Mapping {
        start: found & !MARKED,
        end: block.ends[place].load(Ordering::Relaxed),
        offset: block.offsets[place].load(Ordering::Relaxed),
        traits: block.traits[place].load(Ordering::Relaxed),
        owner: block.owners[place].load(Ordering::Relaxed),
        leaving: block.leaving[place].each_ref().map(|address| address.load(Ordering::Relaxed)),
    };
    // Another thread may have put another mapping here meanwhile.
    (block.starts[place].load(Ordering::Acquire) & !MARKED == mapping.start).then_some(mapping)
}

/// Puts a new mapping in; false when there is no room.
pub fn insert(mapping: Mapping) -> bool {
    put(mapping, 0)
}

fn put(mapping: Mapping, mark: usize) -> bool {
    for slot in 0..SLOTS {
        let start = start_of(slot);
        if start.load(Ordering::Relaxed) == FREE
            && start.compare_exchange(FREE, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
        {
            BOUND.fetch_max(slot + 1, Ordering::AcqRel);
            NOT_LOWEST.fetch_max(!mapping.start, Ordering::Relaxed);
            HIGHEST.fetch_max(mapping.end, Ordering::Relaxed);
            LIVE.fetch_add(1, Ordering::Relaxed);
            fill(slot, mapping, mark);
            return true;
        }
    }
    false
}

/// Fills a slot that is `BUSY` because of us.
fn fill(slot: usize, mapping: Mapping, mark: usize) {
    let (block, place) = block(slot);
    block.ends[place].store(mapping.end, Ordering::Relaxed);
    block.offsets[place].store(mapping.offset, Ordering::Relaxed);
    block.traits[place].store(mapping.traits, Ordering::Relaxed);
    block.owners[place].store(mapping.owner, Ordering::Relaxed);
    set_leaving(slot, mapping.leaving);
    block.starts[place].store(mapping.start | mark, Ordering::Release);
}

fn set_leaving(slot: usize, addresses: [usize; 2]) {
    let (block, place) = block(slot);
    for (to, address) in block.leaving[place].iter().zip(addresses) {
        to.store(address, Ordering::Relaxed);
    }
}

/// Marks what lies between the addresses, before a call that may unmap it; [`settle`] is to follow. The mark stays, also
/// when the call fails: it says only that the mapping is older than some call that began to unmap.
pub fn mark(start: usize, end: usize) {
    for slot in used_slots() {
        if let Some(mapping) = overlapping(slot, start, end) {
            let marked = mapping.start | MARKED;
            let _ =
                start_of(slot).compare_exchange(mapping.start, marked, Ordering::AcqRel, Ordering::Relaxed);
            if mapping.leaving[1] == 0 {
                set_leaving(slot, [start, end]);
            }
        }
    }
}

/// After a call that was to unmap what lies between the addresses: what is left of it stays.
pub fn settle(start: usize, end: usize) {
    for slot in used_slots() {
        if overlapping(slot, start, end).is_some_and(|mapping| mapping.leaving == [start, end]) {
            set_leaving(slot, [0, 0]);
        }
    }
}

/// Takes out what lies between the addresses and is marked; false when a mapping fell in two and there was no room for
/// the second part.
pub fn remove(start: usize, end: usize) -> bool {
    let mut kept_all = true;
    for slot in used_slots() {
        let Some(mapping) = overlapping(slot, start, end) else { continue };
        let marked = mapping.start | MARKED;
        if start_of(slot).compare_exchange(marked, BUSY, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            continue;
        }
        let (before, behind) = (mapping.between(0, start), mapping.between(end, usize::MAX));
        let has_behind = behind.start < behind.end;
        if before.start < before.end {
            fill(slot, before, MARKED);
            kept_all &= !has_behind || put(behind, MARKED);
        } else if has_behind {
            fill(slot, behind, MARKED);
        } else {
            LIVE.fetch_sub(1, Ordering::Relaxed);
            start_of(slot).store(FREE, Ordering::Release);
        }
    }
    kept_all
}

/// What mremap(2) did: `old_bytes` at `old` have become `new_bytes` at `new`. `keeps` the old ones too. False when there
/// was no room.
pub fn relocate(old: usize, old_bytes: usize, new: usize, new_bytes: usize, keeps: bool) -> bool {
    let mut kept_all = true;
    // Without old bytes it makes a second mapping of what begins there.
    let old_end = if old_bytes == 0 { old + PAGE } else { old + old_bytes };
    for slot in used_slots() {
        let Some(mapping) = overlapping(slot, old, old_end) else { continue };
        if start_of(slot).load(Ordering::Relaxed) & MARKED == 0 {
            continue; // Put in by this loop.
        }
        let part = mapping.between(old, old_end);
        let start = new + (part.start - old);
        // What was the end of the range is that of the new one, however long.
        let end = if part.end == old_end { new + new_bytes } else { new + (part.end - old) };
        let end = end.min(new + new_bytes);
        if start < end {
            kept_all &= insert(Mapping { start, end, leaving: [0, 0], ..part });
        }
    }
    if !keeps {
        kept_all &= remove(old, old_end);
    }
    kept_all
}

/// What lies between the addresses can be written to from now on.
pub fn set_writable(start: usize, end: usize) {
    for slot in used_slots() {
        if overlapping(slot, start, end).is_some() {
            let (block, place) = block(slot);
            block.traits[place].fetch_or(WRITABLE, Ordering::Relaxed);
        }
    }
}

/// In a forked child: every mapping is known in this process's trace from now on, and no other thread unmaps any.
pub fn adopt_all() {
    for slot in used_slots() {
        set_leaving(slot, [0, 0]);
        let (block, place) = block(slot);
        block.owners[place].store(process::pid(), Ordering::Relaxed);
    }
}

/// The address behind `bytes` at `start`, to the end of its page.
pub fn end_of(start: usize, bytes: usize) -> usize {
    start.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(PAGE)).unwrap_or(usize::MAX)
}

/// True when the kernel takes these for a part of memory: otherwise the call fails and changes nothing.
pub fn is_range(start: usize, bytes: usize) -> bool {
    start.is_multiple_of(PAGE) && bytes != 0
}
