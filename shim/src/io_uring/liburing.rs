//! liburing, which makes its system calls by itself, so that only its functions can be hooked.
//!
//! Not every one of them enters the kernel: it does so when there is something to hand over, to wait for or to ask
//! for. That is found out from the queues before the call, as the library does it, and only then is an
//! `io_uring_enter` recorded: one for each call of the library, which may repeat it. Functions of its header
//! (`io_uring_get_sqe`, `io_uring_wait_cqe`, `io_uring_cqe_seen`) are part of the program; those that wait end in
//! `__io_uring_get_cqe`. `liburing-ffi` has them as functions of its own.

use super::calls::{enter_ring, note_unknown, reap, set_up, settle};
use super::entries::{record_completions, record_submissions};
use super::queues::{Kind, Queues, Wish};
use super::registrations::register_with;
use super::ring::Parameters;
use super::table;
use crate::hooks::real;
use crate::recording::library_calls::{Failure, Library, function, inside, is_inside};
use crate::recording::span;
use core::ffi::{c_int, c_long, c_uint, c_void};
use core::sync::atomic::Ordering;
use syn_trace::calls::Call;
use syn_trace::record;

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
    let tail = if wish.submits { known.prepared() } else { view.sq_tail };
    let entering = known.entering(&view, wish);
    if entering.is_none() && tail == ring.submitted.load(Ordering::Relaxed) {
        let result = real();
        reap(ring);
        return result;
    }
    let Some(mut span) = span::enter(Call::IoUringEnter, 0) else { return real() };
    span.returned();
    record_submissions(&mut span, ring, &view, tail);
    let result = inside(Library::Asynchronous, real);
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
    let result = inside(Library::Asynchronous, real);
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
unsafe fn leave(queues: *const Queues, real: impl FnOnce()) {
    // SAFETY: as the caller vouches.
    let queues = unsafe { &*queues };
    let fd = queues.ring_fd;
    if let Some(ring) = table::by_descriptor(queues.key()).filter(|ring| ring.is_at(queues.bases())) {
        settle(ring);
        ring.forget();
    }
    let Some(mut span) = span::enter(Call::Close, record::INNER) else { return real() };
    inside(Library::Asynchronous, real);
    span.returned();
    if fd >= 0 {
        span.record(Call::Close, false, 0, &[i64::from(fd)], &[], &[]);
    }
    span.forget();
}

/// Closes the descriptor of a ring, which goes on under the number by which the calling thread has registered it.
///
/// # Safety
/// As for [`through`].
unsafe fn close_descriptor(queues: *const Queues, real: impl FnOnce() -> c_long) -> c_long {
    // SAFETY: as the caller vouches.
    let queues = unsafe { &*queues };
    let fd = queues.ring_fd;
    let ring = queues.ring();
    let Some(mut span) = span::enter(Call::Close, record::INNER) else { return real() };
    let result = inside(Library::Asynchronous, real);
    span.returned();
    if result >= 0 {
        span.record(Call::Close, false, 0, &[i64::from(fd)], &[], &[]);
        ring.inspect(|ring| ring.publish(queues.key()));
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
            let Some(address) = $crate::recording::library_calls::function($crate::hooks::real!($name)) else {
                return -libc::ENOSYS as $ret;
            };
            let $real = || {
                // SAFETY: the function behind this name has this type; it gets the caller's own arguments.
                unsafe { core::ffi::c_long::from(core::mem::transmute::<usize, Function>(address)($($arg),*)) }
            };
            if $crate::recording::library_calls::is_inside($crate::recording::library_calls::Library::Asynchronous) {
                return $real() as $ret;
            }
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
        enter_ring(Failure::Negated, fd as c_int, [to_submit, least, flags], real);
    io_uring_enter2(fd: c_uint, to_submit: c_uint, least: c_uint, flags: c_uint, argument: Ptr, bytes: usize) -> c_int, real =>
        enter_ring(Failure::Negated, fd as c_int, [to_submit, least, flags], real);
    io_uring_register(fd: c_uint, opcode: c_uint, argument: Ptr, count: c_uint) -> c_int, real =>
        register_with(Failure::Negated, fd as c_int, opcode, argument, count, real);

    io_uring_queue_init(entries: c_uint, queues: *mut Queues, flags: c_uint) -> c_int, real =>
        set_up_queues(entries, queues, real);
    io_uring_queue_init_params(entries: c_uint, queues: *mut Queues, parameters: *mut Parameters) -> c_int, real =>
        set_up_queues(entries, queues, real);
    io_uring_queue_init_mem(entries: c_uint, queues: *mut Queues, parameters: *mut Parameters, memory: Ptr, bytes: usize) -> c_int,
        real => set_up_queues(entries, queues, real);
    io_uring_queue_mmap(fd: c_int, parameters: *mut Parameters, queues: *mut Queues) -> c_int, real => map_queues(queues, real);

    io_uring_close_ring_fd(queues: *mut Queues) -> c_int, real => close_descriptor(queues, real);

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
    __io_uring_sqring_wait(queues: *mut Queues) -> c_int, real =>
        through(queues, Wish { kind: Kind::Room, submits: false, least: 0 }, real);
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
    let Some(address) = function(real!(io_uring_queue_exit)) else { return };
    // SAFETY: the function behind this name has this type; it gets the caller's own argument.
    unsafe {
        let real = core::mem::transmute::<usize, Function>(address);
        if is_inside(Library::Asynchronous) { real(queues) } else { leave(queues, || real(queues)) }
    }
}
