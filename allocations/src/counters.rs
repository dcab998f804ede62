//! The file of counters: 64-bit numbers, added to by every thread of every process.
//!
//! | at | what |
//! |---|---|
//! | 0 | the word "SYNALLOC", version 1, number of slots, most bytes that one process held at once |
//! | 4096 + 1024 n | slot n: calls and bytes asked for by size (48 pairs; pair b: sizes from 2^(b-1) to 2^b - 1), then bytes taken, calls that gave back, bytes given back |
//!
//! Bytes taken and given back are those that the allocator uses, which are a few more than it was asked for. The reader is
//! `profile/src/watch/allocations.rs`.

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::cell::Cell;
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, Ordering::Relaxed};

const MAGIC: u64 = u64::from_le_bytes(*b"SYNALLOC");
const VERSION: u64 = 1;
const SLOTS: usize = 32;
const BINS: usize = 48;
const HEAD: usize = 4096;
const SLOT: usize = 1024;
const LENGTH: usize = HEAD + SLOTS * SLOT;

const PEAK: usize = 3;
const TAKEN: usize = 2 * BINS;
const RETURNS: usize = TAKEN + 1;
const GIVEN_BACK: usize = TAKEN + 2;

/// The mapped file; null when nothing is counted.
static FILE: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());
/// What this process holds. A forked child begins with what it has inherited.
static HELD: AtomicI64 = AtomicI64::new(0);

/// A thread tells the process what it holds when it has changed by so many bytes.
const TOLD: i64 = 32 << 10;

thread_local! {
    /// What the thread has taken and given back since it told.
    static UNTOLD: Cell<i64> = const { Cell::new(0) };
}

/// Maps the profiler's file, if it is one.
pub fn map(path: &CStr) {
    let Ok(file) = openat(CWD, path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) else { return };
    if fstat(&file).map_or(0, |stat| stat.st_size) < LENGTH as i64 {
        return;
    }
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice; the file is as long.
    let Ok(start) = (unsafe { mmap(null_mut(), LENGTH, protection, MapFlags::SHARED, &file, 0) }) else {
        return;
    };
    let words = start.cast::<AtomicU64>();
    // SAFETY: the first two words of the mapping.
    let head = unsafe { [(*words).load(Relaxed), (*words.add(1)).load(Relaxed)] };
    if head == [MAGIC, VERSION] {
        FILE.store(words, Relaxed);
    }
}

/// A block was taken: asked for so many bytes, got so many.
pub fn taken(asked: usize, got: usize) {
    let Some(file) = Counters::get() else { return };
    let bin = (usize::BITS - asked.leading_zeros()).min(BINS as u32 - 1) as usize;
    file.add(2 * bin, 1);
    file.add(2 * bin + 1, asked as u64);
    file.add(TAKEN, got as u64);
    file.holds(got as i64);
}

/// A block was given back.
pub fn given_back(got: usize) {
    let Some(file) = Counters::get() else { return };
    file.add(RETURNS, 1);
    file.add(GIVEN_BACK, got as u64);
    file.holds(-(got as i64));
}

struct Counters(*const AtomicU64);

impl Counters {
    fn get() -> Option<Counters> {
        let file = FILE.load(Relaxed);
        (!file.is_null()).then_some(Counters(file))
    }

    fn add(&self, place: usize, amount: u64) {
        // Threads have their variables in pages of their own, and so mostly slots of their own.
        let mine = UNTOLD.with(|cell| std::ptr::from_ref(cell).addr()) >> 12;
        let slot = mine.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59;
        // SAFETY: a slot below `SLOTS` (5 bits), a place within it.
        unsafe { (*self.0.add((HEAD + slot * SLOT) / 8 + place)).fetch_add(amount, Relaxed) };
    }

    fn holds(&self, change: i64) {
        UNTOLD.with(|cell| {
            let untold = cell.get() + change;
            if untold.abs() < TOLD {
                cell.set(untold);
                return;
            }
            cell.set(0);
            let held = HELD.fetch_add(untold, Relaxed) + untold;
            // SAFETY: a word of the head.
            unsafe { (*self.0.add(PEAK)).fetch_max(held.max(0) as u64, Relaxed) };
        });
    }
}
