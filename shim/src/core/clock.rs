//! Ticks: the time stamp counter where it is invariant, `CLOCK_MONOTONIC` elsewhere.

use crate::core::{elf, sys};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use syn_trace::header::{self, ClockPair};

/// Where the kernel does not tell whether the thread kept its processor, stretches at least this long get a reading of its
/// CPU clock (a system call of about 0.6 µs).
const LONG_NS: u64 = 64_000;
/// Readings are at least so far apart, at 2 ticks per ns.
const RARELY_NS: u64 = 50_000;
/// Record times are in units of 2^3 ticks: about 3 ns at 2.5 GHz.
const TSC_SHIFT: u32 = 3;

static USE_TSC: AtomicBool = AtomicBool::new(false);
/// The same, but for a time in which no clock is read.
static CHOSE_TSC: AtomicBool = AtomicBool::new(false);
/// The counter when it was read for the last time, 0 while it may be.
static FROZEN: AtomicU64 = AtomicU64::new(0);
// Zero until the clock is chosen: what begins with a value of its own lies elsewhere, in one more page for every process.
static LONG_TICKS: AtomicU64 = AtomicU64::new(0);
static RARELY_TICKS: AtomicU64 = AtomicU64::new(0);

/// Decides which clock to use, once per process.
pub fn choose() {
    let invariant = tsc_is_invariant();
    CHOSE_TSC.store(invariant, Ordering::Relaxed);
    USE_TSC.store(invariant, Ordering::Relaxed);
    // The rate is measured by the readers from clock pairs; here 2 ticks per ns are near enough for a threshold.
    let ticks_per_ns = if invariant { 2 } else { 1 };
    LONG_TICKS.store(ticks_per_ns * LONG_NS, Ordering::Relaxed);
    RARELY_TICKS.store(ticks_per_ns * RARELY_NS, Ordering::Relaxed);
}

/// CPUID 8000_0007h, EDX bit 8 (AMD64 manual, volume 3, appendix E.4.6): the counter's rate never changes. Asked of libc,
/// which has asked the processor already: in a virtual machine that takes some 10 µs.
fn tsc_is_invariant() -> bool {
    const INVARIANT: u32 = 1 << 8;
    /// EDX among the registers of a leaf, and this leaf: `<sys/platform/x86.h>`, since glibc 2.33.
    const EDX: usize = 3;
    const LEAF_8000_0007: u32 = 4;
    type LeafFunction = unsafe extern "C" fn(u32) -> *const [u32; 4];
    if let Some(address) = elf::function_started_with(c"__x86_get_cpuid_feature_leaf") {
        // SAFETY: the function of this name has this type, and its result begins with the four registers.
        unsafe {
            let leaf = core::mem::transmute::<usize, LeafFunction>(address)(LEAF_8000_0007);
            return (*leaf)[EDX] & INVARIANT != 0;
        }
    }
    // Unsafe in Rust 1.89, safe in 1.95.
    #[allow(unused_unsafe)]
    // SAFETY: every processor that this is compiled for has the instruction.
    let asked = |leaf| unsafe { core::arch::x86_64::__cpuid(leaf) };
    asked(0x8000_0000).eax >= 0x8000_0007 && asked(0x8000_0007).edx & INVARIANT != 0
}

/// The counter.
#[inline(always)]
pub fn ticks() -> u64 {
    if USE_TSC.load(Ordering::Relaxed) {
        // SAFETY: every x86-64 processor has the instruction, and the process has not been denied it: see `freeze`.
        unsafe { core::arch::x86_64::_rdtsc() }
    } else {
        ticks_otherwise()
    }
}

#[cold]
fn ticks_otherwise() -> u64 {
    match FROZEN.load(Ordering::Relaxed) {
        0 => sys::clock_ns(libc::CLOCK_MONOTONIC),
        ticks => ticks,
    }
}

/// From now on no clock is read: time stands still. For a process that is to lose both the counter and system calls
/// (the strict mode of seccomp(2) takes the time stamp counter away, too), or a thread that is to lose the counter. False if it
/// stood still already.
pub fn freeze() -> bool {
    let stops = FROZEN.compare_exchange(0, ticks(), Ordering::Relaxed, Ordering::Relaxed).is_ok();
    USE_TSC.store(false, Ordering::Relaxed);
    stops
}

/// Time goes on: the process was not denied anything after all.
pub fn thaw() {
    if FROZEN.swap(0, Ordering::Relaxed) != 0 {
        USE_TSC.store(CHOSE_TSC.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// [`LONG_NS`] in ticks.
#[inline(always)]
pub fn long_ticks() -> u64 {
    LONG_TICKS.load(Ordering::Relaxed)
}

/// [`RARELY_NS`] in ticks.
pub fn rarely_ticks() -> u64 {
    RARELY_TICKS.load(Ordering::Relaxed)
}

/// The header's `clock` and `tick_shift`.
pub fn description() -> (u32, u32) {
    if CHOSE_TSC.load(Ordering::Relaxed) {
        (header::CLOCK_TSC, TSC_SHIFT)
    } else {
        (header::CLOCK_MONOTONIC, TSC_SHIFT)
    }
}

/// From ticks to the units of a record.
#[inline(always)]
pub fn units(ticks: u64) -> u64 {
    ticks >> TSC_SHIFT
}

/// From the units of a record to ticks.
pub fn ticks_of(units: u64) -> u64 {
    units << TSC_SHIFT
}

/// Both clocks at one instant: the counter is read on both sides and the middle taken. Of a few readings the closest, since
/// the thread may lose its processor in between.
#[unsafe(link_section = ".text.startup")]
pub fn pair() -> ClockPair {
    const READINGS: usize = 3;
    let mut closest = (u64::MAX, ClockPair { ticks: 0, monotonic_ns: 0 });
    for _ in 0..READINGS {
        let before = ticks();
        let monotonic_ns = sys::clock_ns(libc::CLOCK_MONOTONIC);
        let width = ticks().saturating_sub(before);
        if width < closest.0 {
            closest = (width, ClockPair { ticks: before + width / 2, monotonic_ns });
        }
    }
    closest.1
}

/// CPU time of this thread, nanoseconds.
#[unsafe(link_section = ".text.startup")]
pub fn thread_cpu_ns() -> u64 {
    sys::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of another thread of this process, nanoseconds; 0 if there is none of this number.
pub fn cpu_ns_of(tid: u32) -> u64 {
    sys::clock_ns(sys::cpu_clock_of(tid))
}

/// CPU time of this process, ended threads and earlier images included, nanoseconds.
pub fn process_cpu_ns() -> u64 {
    sys::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of all children that this process has waited for, and of theirs, nanoseconds.
pub fn children_cpu_ns() -> u64 {
    let libc::rusage { ru_utime: user, ru_stime: system, .. } = usage(libc::RUSAGE_CHILDREN);
    let us = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    (us(user) + us(system)) * 1000
}

/// How often this thread gave up its processor of its own accord, where the kernel may be asked.
pub fn voluntary_switches() -> Option<u64> {
    sys::may_ask_usage().then(|| usage(libc::RUSAGE_THREAD).ru_nvcsw as u64)
}

fn usage(whose: i32) -> libc::rusage {
    // SAFETY: a zeroed rusage is valid, and the call fills it in.
    unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        sys::getrusage(whose, &mut usage);
        usage
    }
}
