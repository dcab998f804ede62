//! io_uring: what goes through the queues that a program shares with the kernel.
//!
//! A submission is recorded when a call shows it, just before that call is made: then whatever it points to must be
//! there. A completion is recorded at the return of the first call after which it is seen, whoever took it out of the
//! queue. Entries that were written over before such a call are counted, and so are those of rings that are served by
//! system calls nobody can see: when the ring ends, its counters tell how many there were.

mod calls;
mod entries;
mod liburing;
mod queues;
mod registering;
mod registrations;
mod ring;
mod table;

use crate::recording::library_calls::{Failure, Library, is_inside};
use calls::{enter_ring, set_up, settle};
use core::ffi::{c_int, c_long, c_uint, c_void};
use registrations::register_with;
use ring::Parameters;

/// `syscall(SYS_io_uring_setup, …)`, made by `real`.
///
/// # Safety
/// The arguments are those of the system call.
pub unsafe fn setup(entries: c_uint, parameters: *const c_void, real: impl FnOnce() -> c_long) -> c_long {
    if is_inside(Library::Asynchronous) {
        real()
    } else {
        // SAFETY: as the caller vouches.
        unsafe { set_up(Failure::InErrno, entries, parameters.cast::<Parameters>(), real) }
    }
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
    if is_inside(Library::Asynchronous) {
        real()
    } else {
        enter_ring(Failure::InErrno, fd as c_int, numbers, real)
    }
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
    if is_inside(Library::Asynchronous) {
        return real();
    }
    // SAFETY: as the caller vouches.
    unsafe { register_with(Failure::InErrno, fd as c_int, opcode, argument, count, real) }
}

/// The program has mapped `fd` from `offset` on at `address`. Does nothing where there is no ring.
#[inline]
pub fn mapped(fd: c_int, offset: i64, address: usize) {
    if table::has_any()
        && let Some(ring) = table::by_descriptor(fd)
    {
        ring.mapped(offset, address);
    }
}

/// The program is about to unmap this memory. Does nothing where there is no ring.
#[inline]
pub fn unmapped(address: usize, length: usize) {
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
