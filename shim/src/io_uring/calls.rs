//! The three system calls of io_uring, by whichever way the program makes them, and the end of a ring.

use super::entries::{note_missed, record_completions, record_submissions};
use super::ring::{Parameters, REGISTERED, Ring, SETUP_REGISTERED_FD_ONLY, SETUP_SQPOLL, View};
use super::table;
use crate::recording::library_calls::{Failure, Library, inside};
use crate::recording::span::{self, Span, note};
use core::ffi::{c_int, c_long, c_uint};
use core::sync::atomic::{AtomicBool, Ordering};
use syn_trace::calls::Call;

const ENTER_REGISTERED_RING: u32 = 1 << 4;

/// Says once in a process what cannot be recorded.
fn note_once(said: &AtomicBool, span: &Span, what: &[u8]) {
    if !said.swap(true, Ordering::Relaxed) {
        // SAFETY: this thread's state.
        note::write(span.state(), Call::Unobserved, 0, &[], &[what]);
    }
}

pub(super) fn note_unknown(span: &Span) {
    static SAID: AtomicBool = AtomicBool::new(false);
    note_once(&SAID, span, b"io_uring: a ring's queues could not be found, or there are too many rings; its entries are not recorded");
}

/// # Safety
/// After a call that did not fail, `parameters` points to what it filled in.
pub(super) unsafe fn set_up(
    failure: Failure,
    entries: c_uint,
    parameters: *const Parameters,
    real: impl FnOnce() -> c_long,
) -> c_long {
    let Some(mut span) = span::enter(Call::IoUringSetup, 0) else { return real() };
    let result = inside(Library::Asynchronous, real);
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

pub(super) fn enter_ring(
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
    let result = inside(Library::Asynchronous, real);
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
pub(super) fn reap(ring: &Ring) {
    let has_news = |view: View| view.cq_tail != ring.completed.load(Ordering::Relaxed);
    if ring.view().is_some_and(has_news)
        && let Some(mut span) = span::enter(Call::Cqe, 0)
    {
        span.returned();
        record_completions(&mut span, ring);
        span.forget();
    }
}

/// Records what has no record yet in a ring that nobody will use any more, and says what was missed.
pub(super) fn settle(ring: &Ring) {
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
