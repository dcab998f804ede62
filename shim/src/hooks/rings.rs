//! io_uring: what goes through the queues that a program shares with the kernel.
//!
//! A submission is recorded when a call shows it, just before that call is made: then whatever it points to must be
//! there. A completion is recorded at the return of the first call after which it is seen, whoever took it out of the
//! queue. Entries that were written over before such a call are counted, and so are those of rings that are served by
//! system calls nobody can see: when the ring ends, its counters tell how many there were.

mod entries;
mod liburing;
mod queues;
mod registrations;
mod ring;
mod table;

use super::nesting::{Failure, inside, is_inside};
use crate::span::{self, Span};
use core::ffi::{c_int, c_long, c_uint, c_void};
use core::sync::atomic::{AtomicBool, Ordering};
use entries::{note_missed, record_completions, record_submissions};
use registrations::give;
use ring::{REGISTERED, Ring, SETUP_REGISTERED_FD_ONLY, SETUP_SQPOLL};
use syn_trace::calls::Call;

pub use ring::Parameters;

const ENTER_REGISTERED_RING: u32 = 1 << 4;

/// `syscall(SYS_io_uring_setup, …)`, made by `real`.
///
/// # Safety
/// The arguments are those of the system call.
pub unsafe fn setup(entries: c_uint, parameters: *const Parameters, real: impl FnOnce() -> c_long) -> c_long {
    // SAFETY: as the caller vouches.
    if is_inside() { real() } else { unsafe { set_up(Failure::InErrno, entries, parameters, real) } }
}

/// `syscall(SYS_io_uring_enter, …)`, made by `real`.
pub fn enter(
    fd: c_uint,
    to_submit: c_uint,
    min_complete: c_uint,
    flags: c_uint,
    real: impl FnOnce() -> c_long,
) -> c_long {
    let numbers = [to_submit, min_complete, flags];
    if is_inside() { real() } else { go_in(Failure::InErrno, fd as c_int, numbers, real) }
}

/// `syscall(SYS_io_uring_register, …)`, made by `real`.
///
/// # Safety
/// The arguments are those of the system call.
pub unsafe fn register(
    fd: c_uint,
    opcode: c_uint,
    argument: *const c_void,
    count: c_uint,
    real: impl FnOnce() -> c_long,
) -> c_long {
    if is_inside() {
        return real();
    }
    // SAFETY: as the caller vouches.
    unsafe { give(Failure::InErrno, fd as c_int, opcode, argument, count, real) }
}

/// The program has mapped `fd` from `offset` on at `address`. Does nothing where there is no ring.
#[inline]
pub fn ring_mapped(fd: c_int, offset: i64, address: usize) {
    if table::has_any()
        && let Some(ring) = table::by_descriptor(fd)
    {
        ring.mapped(offset, address);
    }
}

/// The program is about to unmap this memory. Does nothing where there is no ring.
#[inline]
pub fn ring_unmapped(address: usize, length: usize) {
    if !table::has_any() {
        return;
    }
    for ring in table::all().filter(|ring| ring.lies_in(address, length)) {
        settle(ring);
        ring.forget();
    }
}

/// The process image ends: records what has not been seen of its rings.
#[inline]
pub fn finish() {
    if table::has_any() {
        table::all().for_each(settle);
    }
}

/// Says once in a process what cannot be recorded.
fn note_once(said: &AtomicBool, span: &Span, what: &[u8]) {
    if !said.swap(true, Ordering::Relaxed) {
        // SAFETY: this thread's state.
        span::note(unsafe { &mut *span.state() }, Call::Unobserved, 0, &[], &[what]);
    }
}

fn note_unknown(span: &Span) {
    static SAID: AtomicBool = AtomicBool::new(false);
    note_once(&SAID, span, b"io_uring: a ring's queues could not be found, or there are too many rings; its entries are not recorded");
}

/// # Safety
/// After a call that did not fail, `parameters` points to what it filled in.
unsafe fn set_up(
    failure: Failure,
    entries: c_uint,
    parameters: *const Parameters,
    real: impl FnOnce() -> c_long,
) -> c_long {
    let Some(mut span) = span::enter(Call::IoUringSetup, 0) else { return real() };
    let result = inside(real);
    span.returned();
    let (failed, outcome) = failure.outcome(result);
    // SAFETY: as the caller vouches.
    let parameters = (!failed).then(|| unsafe { &*parameters });
    let flags = parameters.map_or(0, |parameters| parameters.flags);
    span.record(Call::IoUringSetup, failed, outcome, &[i64::from(entries), i64::from(flags)], &[], &[]);
    if let Some(parameters) = parameters {
        describe(&span, result as c_int, parameters);
    }
    span.forget();
    result
}

fn describe(span: &Span, fd: c_int, parameters: &Parameters) {
    let has_descriptor = parameters.flags & SETUP_REGISTERED_FD_ONLY == 0;
    let key = if has_descriptor { fd } else { fd | REGISTERED };
    let Some(ring) = table::make(key) else { return note_unknown(span) };
    ring.describe(parameters);
    ring.publish(key);
    if !has_descriptor {
        table::register(ring, fd as u32);
    }
    if parameters.flags & SETUP_SQPOLL != 0 {
        static SAID: AtomicBool = AtomicBool::new(false);
        let what = b"io_uring: the kernel takes a ring's submissions without a call; they are recorded when a call shows them";
        note_once(&SAID, span, what);
    }
}

fn go_in(
    failure: Failure,
    fd: c_int,
    [to_submit, least, flags]: [u32; 3],
    real: impl FnOnce() -> c_long,
) -> c_long {
    let Some(mut span) = span::enter(Call::IoUringEnter, 0) else { return real() };
    let is_place = flags & ENTER_REGISTERED_RING != 0;
    let ring = if is_place { table::by_place(fd as u32) } else { table::by_descriptor(fd) };
    span.returned();
    if let Some(ring) = ring
        && let Some(view) = ring.view()
    {
        record_submissions(&mut span, ring, &view, view.sq_tail);
    }
    let result = inside(real);
    span.returned();
    let (failed, outcome) = failure.outcome(result);
    let numbers = [
        i64::from(ring.map_or(fd, Ring::descriptor)),
        i64::from(to_submit),
        i64::from(least),
        i64::from(flags),
    ];
    span.record(Call::IoUringEnter, failed, outcome, &numbers, &[], &[]);
    match ring.filter(|ring| ring.is_visible()) {
        Some(ring) => record_completions(&mut span, ring),
        None if failed => {}
        None => note_unknown(&span),
    }
    span.forget();
    result
}

/// Records what has come to the completion queue, if anything has.
fn reap(ring: &Ring) {
    let has_news = |view: ring::View| view.cq_tail != ring.completed.load(Ordering::Relaxed);
    if ring.view().is_some_and(has_news)
        && let Some(mut span) = span::enter(Call::Cqe, 0)
    {
        span.returned();
        record_completions(&mut span, ring);
        span.forget();
    }
}

/// Records what has no record yet in a ring that nobody will use any more, and says what was missed.
fn settle(ring: &Ring) {
    if !ring.can_be_read() {
        return;
    }
    let Some(view) = ring.view() else { return };
    let Some(mut span) = span::enter(Call::Sqe, 0) else { return };
    span.returned();
    record_submissions(&mut span, ring, &view, view.sq_tail);
    record_completions(&mut span, ring);
    note_missed(&span, ring);
    span.forget();
}
