//! How the traces of several threads share a file.
//!
//! A file is divided into units. The first holds the [`FileHead`]; of the others, threads take some at a time, by one atomic
//! addition in that head: a *chunk*. A chunk begins with a [`ChunkHead`], and the first one of a thread has its
//! [`Header`] behind it; then come records, which never reach into another chunk. A chunk without a head was taken by a
//! thread that was killed before it wrote one.

use crate::header::{HEADER_BYTES, Header, MAGIC, VERSION};
use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a unit: a page, so that a thread which does little takes little.
pub const UNIT_BYTES: usize = 4096;
/// The first eight bytes of a chunk.
pub const CHUNK_MAGIC: [u8; 8] = *b"SYNCHUNK";
/// Bytes of a chunk's head.
pub const CHUNK_HEAD_BYTES: usize = size_of::<ChunkHead>();
/// Bytes in front of the records in the first chunk of a thread, and in the others.
pub const IN_FRONT: [usize; 2] = [CHUNK_HEAD_BYTES + HEADER_BYTES, CHUNK_HEAD_BYTES];

/// What a file begins with. It is mapped by all processes that record into it.
#[derive(Debug)]
#[repr(C)]
pub struct FileHead {
    /// [`MAGIC`]. It is written last: a file without it is one whose head was never finished.
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: u32,
    /// [`UNIT_BYTES`].
    pub unit_bytes: u32,
    /// How many units are taken, the first one included.
    pub taken: AtomicU64,
    /// How many units the file is long; no more are taken.
    pub units: AtomicU64,
}

/// What a chunk begins with.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ChunkHead {
    /// [`CHUNK_MAGIC`]. It is written last.
    pub magic: [u8; 8],
    /// The unit with which the thread's first chunk begins.
    pub first: u64,
    /// How many chunks the thread had before.
    pub number: u32,
    /// Units of the chunk.
    pub units: u32,
}

impl FileHead {
    /// The head of a file of so many units of which so many are taken.
    pub const fn new(taken: u64, units: u64) -> FileHead {
        FileHead {
            magic: AtomicU64::new(u64::from_le_bytes(MAGIC)),
            version: VERSION,
            unit_bytes: UNIT_BYTES as u32,
            taken: AtomicU64::new(taken),
            units: AtomicU64::new(units),
        }
    }

    /// Takes units: the number of the first one. `None`: the file is too short.
    pub fn take(&self, units: u64) -> Option<u64> {
        let fits = |taken: u64| {
            taken.checked_add(units).filter(|&behind| behind <= self.units.load(Ordering::Acquire))
        };
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).ok()
    }
}

impl ChunkHead {
    /// Writes the head of a chunk to its first bytes, where zeros are: what is in the chunk becomes part of the file.
    ///
    /// # Safety
    /// `at` is valid for writing a head there, which nobody else does.
    pub unsafe fn publish(at: *mut u8, first: u64, number: u32, units: u32) {
        let head = at.cast::<ChunkHead>();
        // SAFETY: as the caller vouches; a chunk begins with a page.
        unsafe {
            (*head).first = first;
            (*head).number = number;
            (*head).units = units;
            let magic = AtomicU64::from_ptr((&raw mut (*head).magic).cast());
            magic.store(u64::from_le_bytes(CHUNK_MAGIC), Ordering::Release);
        }
    }
}

const _: () =
    assert!(size_of::<FileHead>() <= UNIT_BYTES && CHUNK_HEAD_BYTES.is_multiple_of(align_of::<Header>()));
