//! liburing, which makes its system calls by itself, so that only its functions can be hooked.
//!
//! Not every one of them enters the kernel: it does so when there is something to hand over, to wait for or to ask
//! for. That is found out from the queues before the call, as the library does it, and only then is an
//! `io_uring_enter` recorded: one for each call of the library, which may repeat it. Functions of its header
//! (`io_uring_get_sqe`, `io_uring_wait_cqe`, `io_uring_cqe_seen`) are part of the program; those that wait end in
//! `__io_uring_get_cqe`. `liburing-ffi` has them as functions of its own.
//!
//! Source: the installed headers of liburing 2.0 to 2.9, in which `struct io_uring` begins alike.

use super::entries::{record_completions, record_submissions};
use super::table::{self, REGISTERED, Ring, SETUP_SQPOLL, View};
use super::registrations::give;
use super::{Parameters, go_in, note_unknown, reap, set_up, settle};
use crate::hooks::libaio::{Failure, function, note_use};
use crate::hooks::real;
use crate::span;
use core::ffi::{c_int, c_long, c_uint, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use syn_trace::calls::Call;
use syn_trace::record;

/// Set once the program has called a function of liburing.
pub(super) static USES_LIBRARY: AtomicBool = AtomicBool::new(false);

#[repr(C)]
struct SubmissionQueue {
    head: usize,
    tail: usize,
    mask: usize,
    entries: usize,
    flags: *mut u32,
    dropped: usize,
    array: usize,
    sqes: usize,
    /// Entries between these two are not yet handed over.
    sqe_head: u32,
    sqe_tail: u32,
    ring_bytes: usize,
    ring: usize,
    reserved: [u32; 4],
}

#[repr(C)]
struct CompletionQueue {
    head: usize,
    tail: usize,
    mask: usize,
    entries: usize,
    flags: usize,
    overflow: usize,
    cqes: usize,
    ring_bytes: usize,
    ring: usize,
    reserved: [u32; 4],
}

/// `struct io_uring`
#[repr(C)]
pub struct Queues {
    sq: SubmissionQueue,
    cq: CompletionQueue,
    flags: u32,
    ring_fd: c_int,
    features: u32,
    enter_ring_fd: c_int,
}

const SETUP_IOPOLL: u32 = 1;
const SQ_NEED_WAKEUP: u32 = 1;
const SQ_CQ_OVERFLOW: u32 = 2;
const SQ_TASKRUN: u32 = 4;
const ENTER_GETEVENTS: u32 = 1;
const ENTER_SQ_WAKEUP: u32 = 2;
/// A queue's counters lie within its first page; more than this away from its start they are something else.
const FURTHEST: usize = 1 << 20;

impl Queues {
    fn bases(&self) -> [usize; 3] {
        [self.sq.ring, self.cq.ring, self.sq.sqes]
    }

    /// In the order of the table's fields.
    fn addresses(&self) -> [usize; 8] {
        let (sq, cq) = (&self.sq, &self.cq);
        [sq.head, sq.tail, sq.mask, sq.array, cq.head, cq.tail, cq.mask, cq.cqes]
    }

    /// The number under which the table knows it.
    fn key(&self) -> c_int {
        if self.ring_fd >= 0 { self.ring_fd } else { self.enter_ring_fd | REGISTERED }
    }

    /// The descriptor as it is recorded.
    pub(super) fn descriptor(&self) -> i64 {
        i64::from(self.key() & !REGISTERED)
    }

    /// The queues have been moved, with the counters that they had.
    pub(super) fn relocate(&self) {
        if let Some(ring) = table::by_descriptor(self.key())
            && self.is_consistent()
        {
            ring.locate(self.flags, self.bases(), self.addresses());
        }
    }

    /// The ring, made known if it is not yet. `None` if its queues do not lie where this layout says.
    fn ring(&self) -> Option<&'static Ring> {
        let (key, bases) = (self.key(), self.bases());
        if let Some(ring) = table::by_descriptor(key).filter(|ring| ring.is_at(bases)) {
            return Some(ring);
        }
        if !self.is_consistent() {
            return None;
        }
        let ring = table::make(key)?;
        ring.locate(self.flags, bases, self.addresses());
        if let Some(view) = ring.view() {
            // What went through before it was known cannot be told apart from nothing.
            ring.submitted.store(view.sq_head, Ordering::Relaxed);
            ring.completed.store(view.cq_head, Ordering::Relaxed);
            ring.missed[0].store(view.sq_head, Ordering::Relaxed);
            ring.missed[1].store(view.cq_head, Ordering::Relaxed);
        }
        ring.publish(key);
        Some(ring)
    }

    fn is_consistent(&self) -> bool {
        let near = |base: usize, addresses: &[usize]| {
            base != 0 && addresses.iter().all(|address| address.wrapping_sub(base) < FURTHEST && address % 4 == 0)
        };
        let sq = &self.sq;
        let cq = &self.cq;
        near(sq.ring, &[sq.head, sq.tail, sq.mask, sq.entries])
            && near(cq.ring, &[cq.head, cq.tail, cq.mask, cq.entries, cq.cqes])
            && sq.sqes != 0
            && [(sq.mask, sq.entries), (cq.mask, cq.entries)].into_iter().all(|(mask, entries)| {
                // SAFETY: both lie in the ring's memory, as was just checked.
                let (mask, entries) = unsafe { (*(mask as *const u32), *(entries as *const u32)) };
                entries.is_power_of_two() && mask == entries - 1
            })
    }

    fn sq_flags(&self) -> u32 {
        // SAFETY: the queue was found consistent, and the flags lie beside the other counters.
        unsafe { AtomicU32::from_ptr(self.sq.flags).load(Ordering::Relaxed) }
    }

    /// What the library would enter the kernel with; `None` if it would not.
    fn entering(&self, view: &View, wish: Wish) -> Option<[i64; 4]> {
        let submit = if wish.submits { self.sq.sqe_tail.wrapping_sub(view.sq_head) } else { 0 };
        let available = view.cq_tail.wrapping_sub(view.cq_head);
        let sq_flags = self.sq_flags();
        let overflowed = self.flags & SETUP_IOPOLL != 0 || sq_flags & (SQ_CQ_OVERFLOW | SQ_TASKRUN) != 0;
        let asks = match wish.kind {
            Kind::Submit => wish.least > 0 || overflowed,
            Kind::Take => wish.least > available || (available == 0 && wish.least == 0 && submit == 0 && overflowed),
            Kind::Ask => true,
        };
        let polled = self.flags & SETUP_SQPOLL != 0;
        let wakes = polled && sq_flags & SQ_NEED_WAKEUP != 0;
        if !asks && (submit == 0 || (polled && !wakes)) {
            return None;
        }
        let mut flags = 0;
        if asks {
            flags |= ENTER_GETEVENTS;
        }
        if submit > 0 && wakes {
            flags |= ENTER_SQ_WAKEUP;
        }
        Some([self.descriptor(), i64::from(submit), i64::from(wish.least), i64::from(flags)])
    }
}

/// What a function of the library is there for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It hands over, and waits if it is to.
    Submit,
    /// It waits only for what is not there yet.
    Take,
    /// It always asks the kernel for completions.
    Ask,
}

#[derive(Clone, Copy)]
struct Wish {
    kind: Kind,
    submits: bool,
    least: u32,
}

/// A function of the library that may hand over entries and wait for completions.
///
/// # Safety
/// `queues` is the program's, which the library reads without a question.
unsafe fn through(queues: *const Queues, wish: Wish, real: impl FnOnce() -> c_long) -> c_long {
    // SAFETY: as the caller vouches.
    let known = unsafe { &*queues };
    let Some((ring, view)) = known.ring().and_then(|ring| Some((ring, ring.view()?))) else {
        return unseen(real);
    };
    let tail = if wish.submits { known.sq.sqe_tail } else { view.sq_tail };
    let entering = known.entering(&view, wish);
    if entering.is_none() && tail == ring.submitted.load(Ordering::Relaxed) {
        let result = real();
        reap(ring);
        return result;
    }
    let Some(mut span) = span::enter(Call::IoUringEnter, 0) else { return real() };
    span.returned();
    record_submissions(&mut span, ring, &view, tail);
    let result = real();
    span.returned();
    if let Some(numbers) = entering {
        let (failed, outcome) = Failure::Negated.outcome(result);
        span.record(Call::IoUringEnter, failed, outcome, &numbers, &[], &[]);
    }
    record_completions(&mut span, ring);
    span.forget();
    result
}

/// A call on a ring whose queues were not found.
#[cold]
fn unseen(real: impl FnOnce() -> c_long) -> c_long {
    if let Some(span) = span::enter(Call::IoUringEnter, 0) {
        note_unknown(&span);
        span.forget();
    }
    real()
}

/// Makes a ring known that the library has set up, by whichever of its functions.
///
/// # Safety
/// After a call that did not fail, `queues` points to what it filled in.
unsafe fn set_up_queues(entries: c_uint, queues: *const Queues, real: impl FnOnce() -> c_long) -> c_long {
    let Some(mut span) = span::enter(Call::IoUringSetup, 0) else { return real() };
    let result = real();
    span.returned();
    let (failed, outcome) = Failure::Negated.outcome(result);
    if failed {
        span.leave(Call::IoUringSetup, true, outcome, &[i64::from(entries), 0], &[], &[]);
        return result;
    }
    // SAFETY: as the caller vouches.
    let queues = unsafe { &*queues };
    let numbers = [i64::from(entries), i64::from(queues.flags)];
    span.record(Call::IoUringSetup, false, queues.descriptor(), &numbers, &[], &[]);
    if queues.ring().is_none() {
        note_unknown(&span);
    }
    span.forget();
    result
}

/// # Safety
/// As for [`set_up_queues`].
unsafe fn map_queues(queues: *const Queues, real: impl FnOnce() -> c_long) -> c_long {
    let result = real();
    if result >= 0 {
        // SAFETY: as the caller vouches.
        let _ = unsafe { (*queues).ring() };
    }
    result
}

/// The ring's memory goes, then its descriptor, which the library closes by itself.
///
/// # Safety
/// As for [`through`].
unsafe fn leave(queues: *const Queues, real: impl FnOnce() -> c_long) -> c_long {
    // SAFETY: as the caller vouches.
    let queues = unsafe { &*queues };
    let fd = queues.ring_fd;
    if let Some(ring) = table::by_descriptor(queues.key()).filter(|ring| ring.is_at(queues.bases())) {
        settle(ring);
        ring.forget();
    }
    let Some(mut span) = span::enter(Call::Close, record::INNER) else { return real() };
    let result = real();
    span.returned();
    if fd >= 0 {
        span.record(Call::Close, false, 0, &[i64::from(fd)], &[], &[]);
    }
    span.forget();
    result
}

/// Functions of the library, which return a negative errno value; what is recorded stands behind the arrow.
macro_rules! of_library {
    ($( $name:ident ($($arg:ident : $ty:ty),*) -> $ret:ty, $real:ident => $recorded:expr; )*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
            type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
            let place = $crate::hooks::real!($name);
            let Some(address) = $crate::hooks::libaio::function(place, place.name()) else { return -libc::ENOSYS as $ret };
            $crate::hooks::libaio::note_use(&USES_LIBRARY);
            let $real = || {
                // SAFETY: the function behind this name has this type; it gets the caller's own arguments.
                unsafe { core::ffi::c_long::from(core::mem::transmute::<usize, Function>(address)($($arg),*)) }
            };
            // SAFETY: the arguments are the caller's.
            #[allow(unused_unsafe)]
            let result = unsafe { $recorded };
            result as $ret
        }
    )* };
}
pub(super) use of_library;

type Ptr = *const c_void;

const fn submit(least: u32) -> Wish {
    Wish { kind: Kind::Submit, submits: true, least }
}
const fn take(submits: bool, least: u32) -> Wish {
    Wish { kind: Kind::Take, submits, least }
}
const fn ask(submits: bool) -> Wish {
    Wish { kind: Kind::Ask, submits, least: 0 }
}

of_library! {
    io_uring_setup(entries: c_uint, parameters: *mut Parameters) -> c_int, real =>
        set_up(Failure::Negated, entries, parameters, real);
    io_uring_enter(fd: c_uint, to_submit: c_uint, least: c_uint, flags: c_uint, mask: Ptr) -> c_int, real =>
        go_in(Failure::Negated, fd as c_int, [to_submit, least, flags], real);
    io_uring_enter2(fd: c_uint, to_submit: c_uint, least: c_uint, flags: c_uint, argument: Ptr, bytes: usize) -> c_int, real =>
        go_in(Failure::Negated, fd as c_int, [to_submit, least, flags], real);
    io_uring_register(fd: c_uint, opcode: c_uint, argument: Ptr, count: c_uint) -> c_int, real =>
        give(Failure::Negated, fd as c_int, opcode, argument, count, real);

    io_uring_queue_init(entries: c_uint, queues: *mut Queues, flags: c_uint) -> c_int, real =>
        set_up_queues(entries, queues, real);
    io_uring_queue_init_params(entries: c_uint, queues: *mut Queues, parameters: *mut Parameters) -> c_int, real =>
        set_up_queues(entries, queues, real);
    io_uring_queue_init_mem(entries: c_uint, queues: *mut Queues, parameters: *mut Parameters, memory: Ptr, bytes: usize) -> c_int,
        real => set_up_queues(entries, queues, real);
    io_uring_queue_mmap(fd: c_int, parameters: *mut Parameters, queues: *mut Queues) -> c_int, real => map_queues(queues, real);

    io_uring_submit(queues: *mut Queues) -> c_int, real => through(queues, submit(0), real);
    io_uring_submit_and_wait(queues: *mut Queues, least: c_uint) -> c_int, real => through(queues, submit(least), real);
    io_uring_submit_and_get_events(queues: *mut Queues) -> c_int, real => through(queues, ask(true), real);
    io_uring_get_events(queues: *mut Queues) -> c_int, real => through(queues, ask(false), real);
    io_uring_submit_and_wait_timeout(queues: *mut Queues, first: Ptr, least: c_uint, timeout: Ptr, mask: Ptr) -> c_int, real =>
        through(queues, take(true, least), real);
    io_uring_submit_and_wait_min_timeout
        (queues: *mut Queues, first: Ptr, least: c_uint, timeout: Ptr, shortest: c_uint, mask: Ptr) -> c_int, real =>
        through(queues, take(true, least), real);
    io_uring_submit_and_wait_reg(queues: *mut Queues, first: Ptr, least: c_uint, region: c_int) -> c_int, real =>
        through(queues, take(true, least), real);
    __io_uring_get_cqe(queues: *mut Queues, first: Ptr, handed_over: c_uint, least: c_uint, mask: Ptr) -> c_int, real =>
        through(queues, take(handed_over > 0, least), real);
    io_uring_wait_cqes(queues: *mut Queues, first: Ptr, least: c_uint, timeout: Ptr, mask: Ptr) -> c_int, real =>
        through(queues, take(false, least), real);
    io_uring_wait_cqes_min_timeout
        (queues: *mut Queues, first: Ptr, least: c_uint, timeout: Ptr, shortest: c_uint, mask: Ptr) -> c_int, real =>
        through(queues, take(false, least), real);
    io_uring_wait_cqe_timeout(queues: *mut Queues, first: Ptr, timeout: Ptr) -> c_int, real =>
        through(queues, take(false, 1), real);
    io_uring_peek_batch_cqe(queues: *mut Queues, completions: Ptr, most: c_uint) -> c_uint, real =>
        through(queues, take(false, 0), real);
    // Only in liburing-ffi.
    io_uring_wait_cqe(queues: *mut Queues, first: Ptr) -> c_int, real => through(queues, take(false, 1), real);
    io_uring_wait_cqe_nr(queues: *mut Queues, first: Ptr, least: c_uint) -> c_int, real =>
        through(queues, take(false, least), real);
    io_uring_peek_cqe(queues: *mut Queues, first: Ptr) -> c_int, real => through(queues, take(false, 0), real);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn io_uring_queue_exit(queues: *mut Queues) {
    type Function = unsafe extern "C-unwind" fn(*mut Queues);
    let place = real!(io_uring_queue_exit);
    let Some(address) = function(place, place.name()) else { return };
    note_use(&USES_LIBRARY);
    // SAFETY: the function behind this name has this type; it gets the caller's own argument.
    unsafe {
        leave(queues, || {
            core::mem::transmute::<usize, Function>(address)(queues);
            0
        });
    }
}
