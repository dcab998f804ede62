//! Counts into the profiler's file (`syn_trace::allocations`).

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering::Relaxed};
use syn_trace::allocations::{BYTES, Counters, SLOTS, Slot, bin_of};

/// The mapped file; null when nothing is counted.
static FILE: AtomicPtr<Counters> = AtomicPtr::new(null_mut());
/// What this process holds. A forked child begins with what it has inherited.
static HELD: AtomicI64 = AtomicI64::new(0);

/// A thread tells the process what it holds when it has changed by so many bytes.
const TOLD: isize = 32 << 10;

/// What the thread has taken and given back since it told.
mod untold {
    syn_trace::thread_word!("syn_alloc_untold");
}

/// Maps the profiler's file, if it is one.
pub fn map(path: &CStr) {
    let Ok(file) = openat(CWD, path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) else { return };
    if fstat(&file).map_or(0, |stat| stat.st_size) < BYTES as i64 {
        return;
    }
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice; the file is as long.
    let Ok(start) = (unsafe { mmap(null_mut(), BYTES, protection, MapFlags::SHARED, &file, 0) }) else {
        return;
    };
    let counters = start.cast::<Counters>();
    // SAFETY: the mapping is as long as the counters and begins on a page; what changes in them is atomic.
    let head = unsafe { &*counters };
    if head.is_valid() {
        head.head.loaded.fetch_add(1, Relaxed);
        FILE.store(counters, Relaxed);
    }
}

/// A block was taken: asked for so many bytes, got so many.
pub fn taken(asked: usize, got: usize) {
    let Some(counters) = counters() else { return };
    let slot = slot_of(counters);
    let [calls, bytes] = &slot.asked[bin_of(asked)];
    calls.fetch_add(1, Relaxed);
    bytes.fetch_add(asked as u64, Relaxed);
    slot.taken.fetch_add(got as u64, Relaxed);
    holds(counters, got as isize);
}

/// A block was given back.
pub fn given_back(got: usize) {
    let Some(counters) = counters() else { return };
    let slot = slot_of(counters);
    slot.returns.fetch_add(1, Relaxed);
    slot.given_back.fetch_add(got as u64, Relaxed);
    holds(counters, -(got as isize));
}

fn counters() -> Option<&'static Counters> {
    // SAFETY: null, or the mapping of `map`, which stays.
    unsafe { FILE.load(Relaxed).as_ref() }
}

/// Threads have their variables in pages of their own, and so mostly slots of their own.
fn slot_of(counters: &Counters) -> &Slot {
    let page = thread_pointer() >> 12;
    &counters.slots[page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - SLOTS.ilog2())]
}

/// Where the thread's control block lies.
fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the first word of the control block is its own address (System V ABI, x86-64 TLS).
    unsafe {
        std::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly));
    }
    pointer
}

fn holds(counters: &Counters, change: isize) {
    let untold = untold::get() as isize + change;
    if untold.abs() < TOLD {
        untold::set(untold as usize);
        return;
    }
    untold::set(0);
    let held = HELD.fetch_add(untold as i64, Relaxed) + untold as i64;
    counters.head.peak.fetch_max(held.max(0) as u64, Relaxed);
}
