//! Which memory of this process holds mapped files.
//!
//! Fixed in size, static, and without locks: mappings are made and unmade inside allocators, in signal handlers and in
//! forked children. A slot is taken by setting its bit, and is whole when the start stands there. What is about to be
//! unmapped is marked first and taken out afterwards: in between, another thread may be given the same addresses, and
//! what it has put in is not marked. Beside the mark stand the addresses that are being unmapped. Looks by other calls leave
//! them out: the call that unmaps them has recorded their touched pages, and something else may be mapped there by now.
//!
//! Most programs map few files, and some map thousands. A call searches the table several times, so all but the first
//! slots are found by their mappings' addresses ([`by_address`]).
//!
//! The loader maps libraries by system calls of its own; those mappings are put in behind it, where they are not the system's
//! (`hooks/loading/objects.rs`).

mod by_address;
pub mod inherited;
pub mod lines;
#[cfg(test)]
mod tests;

use crate::recording::process;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Mappings that can be known at the same time.
const SLOTS: usize = by_address::SLOTS;
/// Bytes of a page.
pub const PAGE: usize = 4096;

/// In place of a start: the slot is free, or somebody is at work on it.
const NONE: usize = 0;
/// In the low bits of a start: a call that unmaps some of it has begun.
const MARKED: usize = 2;

/// Can be, or could once be, written to.
pub const WRITABLE: u32 = 1;
/// Writes go to the file.
pub const SHARED: u32 = 2;
/// Of a regular file or block device: its pages are data, and worth counting.
pub const DATA: u32 = 4;
/// Made by the loader, of a program or library: in a forked child, of which most touch little of them that is not in memory, they are
/// left out.
pub const LOADED: u32 = 8;

/// Slots whose numbers follow each other. Starts, which every search reads, lie side by side.
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
/// The first slots are never filed by their address: most processes use no others, and searching them one by one is as
/// fast and touches a single page.
const FIRST: usize = 48;

const BLOCKS: usize = SLOTS / IN_BLOCK;

/// A set of slots, a bit for each.
type Slots = [AtomicU64; BLOCKS];

/// The first block and the sets take up a single page, as most programs map few files.
#[repr(C, align(4096))]
struct Table {
    /// The slots in use.
    taken: Slots,
    /// Those of them that are not filed by their address: the first ones, and what there was no room for.
    unfiled: Slots,
    blocks: [Block; BLOCKS],
}

const _: () = assert!(core::mem::offset_of!(Table, blocks) + size_of::<Block>() <= PAGE);

#[unsafe(link_section = ".bss.tables")]
static TABLE: Table = Table {
    taken: [const { AtomicU64::new(0) }; BLOCKS],
    unfiled: [const { AtomicU64::new(0) }; BLOCKS],
    blocks: [const {
        Block {
            starts: [const { AtomicUsize::new(NONE) }; IN_BLOCK],
            ends: [const { AtomicUsize::new(0) }; IN_BLOCK],
            offsets: [const { AtomicU64::new(0) }; IN_BLOCK],
            traits: [const { AtomicU32::new(0) }; IN_BLOCK],
            owners: [const { AtomicU32::new(0) }; IN_BLOCK],
            leaving: [const { [const { AtomicUsize::new(0) }; 2] }; IN_BLOCK],
        }
    }; BLOCKS],
};

/// The block that a slot is in, and its place there.
#[inline(always)]
fn block(slot: usize) -> (&'static Block, usize) {
    (&TABLE.blocks[slot / IN_BLOCK], slot % IN_BLOCK)
}

/// Where the mapping in a slot starts, or `NONE`.
#[inline(always)]
fn start_of(slot: usize) -> &'static AtomicUsize {
    let (block, place) = block(slot);
    &block.starts[place]
}

/// Slots in use.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// How many blocks have ever been in use, and have ever had a slot that is not filed.
static BLOCKS_TAKEN: AtomicUsize = AtomicUsize::new(0);
static BLOCKS_UNFILED: AtomicUsize = AtomicUsize::new(0);
/// Between which addresses there ever was a mapping that is not the loader's: most of what allocators unmap lies outside, and takes no look
/// into the slots. (The first as its complement: all that begins as zero lies in one page.)
static NOT_LOWEST: AtomicUsize = AtomicUsize::new(0);
static HIGHEST: AtomicUsize = AtomicUsize::new(0);
/// The owner of all mappings; 0 before the first, `SEVERAL` when they may have several.
static OWNER: AtomicU32 = AtomicU32::new(0);
const SEVERAL: u32 = u32::MAX;

/// A mapping of a file.
#[derive(Clone, Copy)]
pub struct Mapping {
    /// The first address.
    pub start: usize,
    /// The address behind the last.
    pub end: usize,
    /// The place in the file of the first address.
    pub offset: u64,
    /// [`WRITABLE`], [`SHARED`], [`DATA`], [`LOADED`].
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

    /// True when all of the traits are there.
    pub fn is(&self, traits: u32) -> bool {
        self.traits & traits == traits
    }

    /// True where it has been the parent's, and has no record in this process's trace yet, but is to have one.
    pub fn is_inherited(&self) -> bool {
        self.owner != process::pid() && !self.is(LOADED)
    }
}

/// True when a file is mapped somewhere between the addresses, by the program itself.
#[inline(always)]
pub fn overlaps(start: usize, end: usize) -> bool {
    LIVE.load(Ordering::Relaxed) != 0
        && start < HIGHEST.load(Ordering::Relaxed)
        && end > !NOT_LOWEST.load(Ordering::Relaxed)
        && is_any_in(start, end)
}

#[inline(never)]
fn is_any_in(start: usize, end: usize) -> bool {
    find(start, end).next().is_some()
}

/// The mappings that have a part between the addresses, in no order.
pub fn in_range(start: usize, end: usize) -> impl Iterator<Item = Mapping> {
    find(start, end).map(|(_, mapping)| mapping)
}

/// The same, with the slots they are in.
fn find(start: usize, end: usize) -> Search {
    /// A look at the bucket of a piece takes as long as one at so many slots.
    const PIECE_COST: usize = 16;
    let pieces_cost = by_address::count_pieces(start, end).saturating_mul(PIECE_COST);
    let (set, blocks, filed) = if pieces_cost <= LIVE.load(Ordering::Relaxed) {
        (&TABLE.unfiled, &BLOCKS_UNFILED, by_address::search(start, end))
    } else {
        (&TABLE.taken, &BLOCKS_TAKEN, by_address::no_search())
    };
    let blocks = 0..blocks.load(Ordering::Acquire);
    Search { start, end, set, blocks, block: 0, bits: 0, filed }
}

/// A search for what has a part between the addresses.
struct Search {
    start: usize,
    end: usize,
    /// Where to look slot by slot, the blocks of it that are still to come, and the present one and what is left of it.
    set: &'static Slots,
    blocks: Range<usize>,
    block: usize,
    bits: u64,
    /// Where to look behind that.
    filed: by_address::Search,
}

impl Iterator for Search {
    type Item = (usize, Mapping);

    // In one place: it is called wherever memory is mapped and unmapped, and when a process ends.
    #[inline(never)]
    fn next(&mut self) -> Option<(usize, Mapping)> {
        loop {
            while self.bits != 0 {
                let slot = self.block * IN_BLOCK + self.bits.trailing_zeros() as usize;
                self.bits &= self.bits - 1;
                if let Some(mapping) = overlapping(slot, self.start, self.end) {
                    return Some((slot, mapping));
                }
            }
            let Some(block) = self.blocks.next() else { break };
            (self.block, self.bits) = (block, self.set[block].load(Ordering::Acquire));
        }
        let (start, end) = (self.start, self.end);
        self.filed.find_map(|(piece, slot)| {
            let mapping = overlapping(slot, start, end)?;
            piece.has(mapping.start).then_some((slot, mapping))
        })
    }
}

/// The mapping in this slot, if a part of it lies between the addresses.
#[inline(always)]
fn overlapping(slot: usize, start: usize, end: usize) -> Option<Mapping> {
    let (block, place) = block(slot);
    let found = block.starts[place].load(Ordering::Acquire);
    if found == NONE || found & !MARKED >= end || block.ends[place].load(Ordering::Relaxed) <= start {
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
    if OWNER.load(Ordering::Relaxed) != mapping.owner {
        let before = OWNER.compare_exchange(0, mapping.owner, Ordering::Relaxed, Ordering::Relaxed);
        if before.is_err_and(|owner| owner != mapping.owner) {
            OWNER.store(SEVERAL, Ordering::Relaxed);
        }
    }
    put(mapping, 0)
}

/// True when every mapping is known in this process's trace.
pub fn all_are_known() -> bool {
    OWNER.load(Ordering::Relaxed) == process::pid()
}

fn put(mapping: Mapping, mark: usize) -> bool {
    let Some(slot) = take_slot() else { return false };
    if !mapping.is(LOADED) {
        raise(&NOT_LOWEST, !mapping.start);
        raise(&HIGHEST, mapping.end);
    }
    LIVE.fetch_add(1, Ordering::Relaxed);
    file(slot, &mapping);
    fill(slot, mapping, mark);
    true
}

/// A look first: mostly the number is high enough, and changing it takes longer.
#[inline(always)]
fn raise(number: &AtomicUsize, least: usize) {
    if number.load(Ordering::Relaxed) < least {
        number.fetch_max(least, Ordering::AcqRel);
    }
}

/// Takes the lowest one that is free.
fn take_slot() -> Option<usize> {
    TABLE.taken.iter().enumerate().find_map(|(block, bits)| {
        loop {
            let taken = bits.load(Ordering::Relaxed);
            let place = taken.trailing_ones() as usize;
            if place == IN_BLOCK {
                return None;
            }
            if bits.fetch_or(1 << place, Ordering::AcqRel) >> place & 1 == 0 {
                raise(&BLOCKS_TAKEN, block + 1);
                return Some(block * IN_BLOCK + place);
            }
        }
    })
}

/// Lets a slot of ours be found by its mapping's address.
fn file(slot: usize, mapping: &Mapping) {
    if slot < FIRST || !by_address::add(slot, mapping.start, mapping.end) {
        let (block, place) = (slot / IN_BLOCK, slot % IN_BLOCK);
        TABLE.unfiled[block].fetch_or(1 << place, Ordering::AcqRel);
        raise(&BLOCKS_UNFILED, block + 1);
    }
}

/// Undoes that, for a mapping that starts there.
fn unfile(slot: usize, start: usize) {
    let (unfiled, bit) = (&TABLE.unfiled[slot / IN_BLOCK], 1 << (slot % IN_BLOCK));
    if unfiled.load(Ordering::Relaxed) & bit == 0 {
        by_address::take_out(slot, start);
    } else {
        unfiled.fetch_and(!bit, Ordering::AcqRel);
    }
}

/// Fills a slot of ours, whose start is `NONE`.
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

/// Marks what lies between the addresses, before a call that may unmap it; [`remove`] or [`settle`] is to follow. The
/// mark stays, also when the call fails: it says only that the mapping is older than some call that began to unmap.
pub fn mark(start: usize, end: usize) {
    for (slot, mapping) in find(start, end) {
        let marked = mapping.start | MARKED;
        let _ = start_of(slot).compare_exchange(mapping.start, marked, Ordering::AcqRel, Ordering::Relaxed);
        if mapping.leaving[1] == 0 {
            set_leaving(slot, [start, end]);
        }
    }
}

/// After a call that was to unmap what lies between the addresses, and has not: all of it stays.
pub fn settle(start: usize, end: usize) {
    for (slot, _) in find(start, end).filter(|(_, mapping)| mapping.leaving == [start, end]) {
        set_leaving(slot, [0, 0]);
    }
}

/// Takes out what lies between the addresses and is marked, and settles what is left; false when a mapping fell in two
/// and there was no room for the second part.
pub fn remove(start: usize, end: usize) -> bool {
    let mut kept_all = true;
    for (slot, mapping) in find(start, end) {
        let marked = mapping.start | MARKED;
        let is_ours = mapping.leaving == [start, end];
        if start_of(slot).compare_exchange(marked, NONE, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            if is_ours {
                set_leaving(slot, [0, 0]);
            }
            continue;
        }
        let mapping = Mapping { leaving: if is_ours { [0, 0] } else { mapping.leaving }, ..mapping };
        let (before, behind) = (mapping.between(0, start), mapping.between(end, usize::MAX));
        let has_behind = behind.start < behind.end;
        if before.start < before.end {
            // It starts where it did, and so is found where it was.
            fill(slot, before, MARKED);
            kept_all &= !has_behind || put(behind, MARKED);
            continue;
        }
        unfile(slot, mapping.start);
        if has_behind {
            file(slot, &behind);
            fill(slot, behind, MARKED);
        } else {
            release(slot);
        }
    }
    kept_all
}

/// Gives up a slot of ours, which is not filed any more.
fn release(slot: usize) {
    LIVE.fetch_sub(1, Ordering::Relaxed);
    TABLE.taken[slot / IN_BLOCK].fetch_and(!(1 << (slot % IN_BLOCK)), Ordering::AcqRel);
}

/// Takes out a mapping that is gone, and nothing else: other mappings may lie there by now. False where it is not there any more.
pub fn take_out(gone: &Mapping) -> bool {
    let is_it = |found: &Mapping| {
        let of =
            |mapping: &Mapping| (mapping.start, mapping.end, mapping.offset, mapping.traits, mapping.owner);
        of(found) == of(gone)
    };
    find(gone.start, gone.end).filter(|(_, found)| is_it(found)).any(|(slot, _)| {
        let start = start_of(slot).load(Ordering::Relaxed);
        let is_ours = start & !MARKED == gone.start
            && start_of(slot).compare_exchange(start, NONE, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if is_ours {
            unfile(slot, gone.start);
            release(slot);
        }
        is_ours
    })
}

/// What mremap(2) did: `old_bytes` at `old` have become `new_bytes` at `new`. `keeps` the old ones too. False when there
/// was no room.
pub fn relocate(old: usize, old_bytes: usize, new: usize, new_bytes: usize, keeps: bool) -> bool {
    let mut kept_all = true;
    // Without old bytes it makes a second mapping of what begins there.
    let old_end = if old_bytes == 0 { old + PAGE } else { old + old_bytes };
    for (slot, mapping) in find(old, old_end) {
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
    for (slot, _) in find(start, end) {
        let (block, place) = block(slot);
        block.traits[place].fetch_or(WRITABLE, Ordering::Relaxed);
    }
}

/// In a forked child: every mapping is known in this process's trace from now on, and no other thread unmaps any.
pub fn adopt_all() {
    for (slot, mapping) in find(0, usize::MAX) {
        set_leaving(slot, [0, 0]);
        let (block, place) = block(slot);
        if mapping.is_inherited() {
            block.owners[place].store(process::pid(), Ordering::Relaxed);
        }
    }
    OWNER.store(process::pid(), Ordering::Relaxed);
}

/// The address behind `bytes` at `start`, to the end of its page.
pub fn end_of(start: usize, bytes: usize) -> usize {
    start.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(PAGE)).unwrap_or(usize::MAX)
}

/// True when the kernel takes these for a part of memory: otherwise the call fails and changes nothing.
pub fn is_range(start: usize, bytes: usize) -> bool {
    start.is_multiple_of(PAGE) && bytes != 0
}
