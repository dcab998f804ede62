//! The threads that have a trace: when the process ends, they end with it, and nobody else can say what they have used.
//!
//! A thread may end and unmap its header while another one is about to write there. So a place is marked while its header is
//! written to, and a thread whose place is marked leaves its header mapped.

use crate::core::clock;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use syn_trace::header::Header;

/// Threads beyond this many at a time have no end on record unless they end by themselves.
const MOST: usize = 1024;
#[unsafe(link_section = ".bss.tables")]
static PLACES: [AtomicPtr<Header>; MOST - NEAR] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST - NEAR];
/// The first places stand beside what else every process needs, and the others in pages that few processes touch.
const NEAR: usize = 16;
static NEAR_PLACES: [AtomicPtr<Header>; NEAR] = [const { AtomicPtr::new(ptr::null_mut()) }; NEAR];
/// The places up to this one have been used.
static USED: AtomicUsize = AtomicUsize::new(0);

fn places() -> impl Iterator<Item = &'static AtomicPtr<Header>> {
    NEAR_PLACES.iter().chain(&PLACES)
}

/// Those that are used, or have been.
fn used() -> impl Iterator<Item = &'static AtomicPtr<Header>> {
    places().take(USED.load(Ordering::Acquire))
}

fn place(number: usize) -> Option<&'static AtomicPtr<Header>> {
    if number < NEAR { NEAR_PLACES.get(number) } else { PLACES.get(number - NEAR) }
}

/// In a place whose header is being written to.
const MARKED: *mut Header = ptr::without_provenance_mut(1);

/// A thread begins; its place, or [`MOST`] if there is none left.
pub fn join(header: *mut Header) -> usize {
    let takes = |(number, place): (usize, &AtomicPtr<Header>)| {
        place.load(Ordering::Relaxed).is_null() && {
            // First: a child that another thread forks meanwhile goes through all that were used.
            USED.fetch_max(number + 1, Ordering::AcqRel);
            place.compare_exchange(ptr::null_mut(), header, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        }
    };
    places().enumerate().position(takes).unwrap_or(MOST)
}

/// A thread ends. False: its header is in use, and has to stay mapped.
pub fn leave(number: usize, header: *mut Header) -> bool {
    let Some(place) = place(number) else { return true };
    place.compare_exchange(header, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// In a forked child, of whose threads one is left.
pub fn begin_anew() {
    for place in used() {
        if !place.load(Ordering::Relaxed).is_null() {
            place.store(ptr::null_mut(), Ordering::Relaxed);
        }
    }
}

/// Writes down that a thread has ended, having used so much CPU time itself.
pub fn end(header: &Header, ticks: u64, cpu_ns: u64) {
    let helpers_cpu_ns = header.helpers_cpu_ns.load(Ordering::Relaxed);
    header.end_cpu_ns.store(cpu_ns.saturating_add(helpers_cpu_ns), Ordering::Relaxed);
    header.end_ticks.store(ticks, Ordering::Release);
}

/// The process ends, and all threads with it.
pub fn end_all() {
    for_each(|header| end(header, clock::ticks(), clock::cpu_ns_of(header.tid)));
}

/// It does not end after all.
pub fn go_on() {
    for_each(|header| header.end_ticks.store(0, Ordering::Relaxed));
}

/// A place that is marked is skipped: a handler may have interrupted this loop.
fn for_each(action: impl Fn(&Header)) {
    for place in used() {
        let header = place.load(Ordering::Acquire);
        if header.is_null()
            || header == MARKED
            || place.compare_exchange(header, MARKED, Ordering::AcqRel, Ordering::Relaxed).is_err()
        {
            continue;
        }
        // SAFETY: the thread unmaps its header only after it has taken it out of its place, where it is not now.
        action(unsafe { &*header });
        place.store(header, Ordering::Release);
    }
}
