//! Which slots hold the mappings near an address, so that a search in a table of thousands does not go through all.
//!
//! Memory is cut into pieces, in several sizes. A mapping is filed under the piece in which it starts, of the smallest
//! size that is not smaller than itself, and so ends in that piece or in the next. A search looks at the pieces that its
//! range has a part of and at the one before them, for each size in use. A piece has one of the buckets, by a hash.
//!
//! Without locks, as the table: an entry is changed only by who has the slot.

use core::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

/// Sizes of pieces, each 8 times the one before: as many mappings of a size, side by side, start in one piece.
const SIZES: u32 = 16;
/// The smallest are of 8 KiB.
const SMALLEST_BITS: u32 = 13;
const STEP_BITS: u32 = 3;

const BUCKET_BITS: u32 = 11;
/// Room for eight times the mappings that there can be: few buckets ever fill up.
const IN_BUCKET: usize = 16;

/// An entry is the number of a slot, never 0, and above it the number of the size.
const SLOT_BITS: u32 = 12;
/// Numbers of slots are below this.
pub const SLOTS: usize = 1 << SLOT_BITS;
const NONE: u16 = 0;

#[repr(align(32))]
struct Bucket([AtomicU16; IN_BUCKET]);

#[unsafe(link_section = ".bss.tables")]
static BUCKETS: [Bucket; 1 << BUCKET_BITS] =
    [const { Bucket([const { AtomicU16::new(NONE) }; IN_BUCKET]) }; 1 << BUCKET_BITS];

/// Sizes under which something was ever filed, a bit for each.
static USED_SIZES: AtomicUsize = AtomicUsize::new(0);

/// A piece of memory.
#[derive(Clone, Copy)]
pub struct Piece {
    /// The number of its size.
    size: u32,
    /// How many of its size lie in front of it.
    number: usize,
}

impl Piece {
    fn with(size: u32, address: usize) -> Piece {
        Piece { size, number: address >> bits_of(size) }
    }

    fn bucket(self) -> &'static [AtomicU16; IN_BUCKET] {
        const FACTOR: usize = 0x9e37_79b9_7f4a_7c15; // 2^64 divided by the golden ratio.
        // Eight that follow each other have buckets side by side: fewer pages and cache lines are touched.
        let (group, place) = (self.number / 8, self.number % 8);
        let key = group * SIZES as usize + self.size as usize;
        &BUCKETS[key.wrapping_mul(FACTOR) >> (usize::BITS - BUCKET_BITS) ^ place].0
    }

    fn entry_of(self, slot: usize) -> u16 {
        (self.size << SLOT_BITS) as u16 | slot as u16
    }

    /// True of a mapping that starts here.
    pub fn has(self, start: usize) -> bool {
        start >> bits_of(self.size) == self.number
    }
}

/// The binary logarithm of a size, in bytes.
fn bits_of(size: u32) -> u32 {
    SMALLEST_BITS + size * STEP_BITS
}

fn used_sizes() -> impl Iterator<Item = u32> {
    let used = USED_SIZES.load(Ordering::Acquire);
    (0..usize::BITS - used.leading_zeros()).filter(move |size| used >> size & 1 != 0)
}

/// Files a slot whose mapping lies between the addresses; false when there is no room.
pub fn add(slot: usize, start: usize, end: usize) -> bool {
    let bits = usize::BITS - end.saturating_sub(start).saturating_sub(1).leading_zeros();
    let size = bits.saturating_sub(SMALLEST_BITS).div_ceil(STEP_BITS).min(SIZES - 1);
    let piece = Piece::with(size, start);
    if USED_SIZES.load(Ordering::Relaxed) >> size & 1 == 0 {
        USED_SIZES.fetch_or(1 << size, Ordering::AcqRel);
    }
    piece.bucket().iter().any(|entry| {
        entry.load(Ordering::Relaxed) == NONE
            && entry.compare_exchange(NONE, piece.entry_of(slot), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    })
}

/// Takes out a slot whose mapping starts there, whatever its end has become since it was filed.
pub fn take_out(slot: usize, start: usize) {
    let pieces = used_sizes().map(|size| Piece::with(size, start));
    for (piece, entry) in pieces.flat_map(|piece| piece.bucket().iter().map(move |entry| (piece, entry))) {
        if entry.load(Ordering::Relaxed) == piece.entry_of(slot) {
            entry.store(NONE, Ordering::Release);
            return;
        }
    }
}

/// Slots whose mappings may have a part between the addresses, and under which pieces they were found. Those of other
/// pieces with the same bucket are among them, so ask [`Piece::has`]; then each slot comes once.
pub fn search(start: usize, end: usize) -> Search {
    Search { start, end, sizes: USED_SIZES.load(Ordering::Acquire), ..no_search() }
}

/// A search that finds nothing.
pub fn no_search() -> Search {
    Search { start: 0, end: 0, sizes: 0, piece: Piece { size: 0, number: 0 }, last: 0, entries: [].iter() }
}

/// Such a search.
pub struct Search {
    start: usize,
    end: usize,
    /// The sizes that are still to come.
    sizes: usize,
    /// The present piece, the number of the last of its size, and what is left of its bucket.
    piece: Piece,
    last: usize,
    entries: core::slice::Iter<'static, AtomicU16>,
}

impl Iterator for Search {
    type Item = (Piece, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<(Piece, usize)> {
        loop {
            let of_size = |entry: &u16| *entry != NONE && u32::from(*entry) >> SLOT_BITS == self.piece.size;
            let entry = self.entries.by_ref().map(|entry| entry.load(Ordering::Acquire)).find(of_size);
            if let Some(entry) = entry {
                return Some((self.piece, usize::from(entry) % SLOTS));
            }
            if self.piece.number < self.last {
                self.piece.number += 1;
            } else if self.sizes != 0 {
                let size = self.sizes.trailing_zeros();
                self.sizes &= self.sizes - 1;
                let (first, last) = numbers(size, self.start, self.end);
                (self.piece, self.last) = (Piece { size, number: first }, last);
            } else {
                return None;
            }
            self.entries = self.piece.bucket().iter();
        }
    }
}

/// At how many pieces a search looks.
pub fn count_pieces(start: usize, end: usize) -> usize {
    used_sizes().map(|size| numbers(size, start, end)).map(|(first, last)| last - first + 1).sum()
}

/// The numbers of the first piece and the last one at which a search looks.
fn numbers(size: u32, start: usize, end: usize) -> (usize, usize) {
    let (first, last) = (Piece::with(size, start).number, Piece::with(size, end.saturating_sub(1)).number);
    let first = first.saturating_sub(1);
    (first, last.max(first))
}

/// In all buckets.
#[cfg(test)]
pub fn count_entries() -> usize {
    let entries = BUCKETS.iter().flat_map(|bucket| &bucket.0);
    entries.filter(|entry| entry.load(Ordering::Relaxed) != NONE).count()
}
