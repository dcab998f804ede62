//! The file in which `libsynalloc.so` counts what a command allocates. The profiler makes it and reads it; every thread of every
//! process of the command adds to it. Nobody waits for anybody.

#[cfg(feature = "std")]
mod file;

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
#[cfg(feature = "std")]
pub use file::CountersFile;

/// Environment variable that names the file.
pub const VARIABLE: &str = "SYN_ALLOCATIONS";
/// The first word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"SYNALLOC");
/// Of this layout.
pub const VERSION: u64 = 1;
/// Threads share so many slots; a power of two.
pub const SLOTS: usize = 32;
/// Sizes from 2^(b-1) to 2^b - 1 are in bin b, and larger ones in the last.
pub const BINS: usize = 48;

/// The front of the file.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct Head {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`VERSION`].
    pub version: u64,
    /// [`SLOTS`].
    pub slots: u64,
    /// Most bytes that one process held at once.
    pub peak: AtomicU64,
    /// How often the library was loaded into a program.
    pub loaded: AtomicU64,
}

/// What some threads have counted. Bytes taken and given back are those that the allocator uses, a few more than it was asked for.
#[derive(Debug)]
#[repr(C, align(1024))]
pub struct Slot {
    /// Calls, and bytes asked for, by size.
    pub asked: [[AtomicU64; 2]; BINS],
    /// Bytes taken.
    pub taken: AtomicU64,
    /// Calls that gave back.
    pub returns: AtomicU64,
    /// Bytes given back.
    pub given_back: AtomicU64,
}

/// The whole file.
#[derive(Debug)]
#[repr(C)]
pub struct Counters {
    /// Its front.
    pub head: Head,
    /// Counts, which add up.
    pub slots: [Slot; SLOTS],
}

/// Bytes of the file.
pub const BYTES: usize = size_of::<Counters>();

const _: () = assert!(BYTES == 4096 + 1024 * SLOTS && SLOTS.is_power_of_two());

/// The bin of a size.
pub const fn bin_of(bytes: usize) -> usize {
    let bin = (usize::BITS - bytes.leading_zeros()) as usize;
    if bin < BINS { bin } else { BINS - 1 }
}

impl Counters {
    /// True for memory that holds counters of this layout.
    pub fn is_valid(&self) -> bool {
        self.head.magic == MAGIC && self.head.version == VERSION
    }

    /// A counter, summed over all slots.
    pub fn sum(&self, counter: impl Fn(&Slot) -> &AtomicU64) -> u64 {
        self.slots.iter().map(|slot| counter(slot).load(Relaxed)).fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_have_powers_of_two_for_bounds() {
        assert_eq!([0, 1, 2, 3, 4, 4095, 4096, usize::MAX].map(bin_of), [0, 1, 2, 2, 3, 12, 13, BINS - 1]);
    }
}
