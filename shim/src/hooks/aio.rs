//! POSIX asynchronous I/O.
//!
//! The transfers themselves are made by threads of libc's own, with `pread64` and `pwrite64`, and are recorded there
//! as calls from inside libc. What is recorded here is what the program asked for, and what it was told.
//!
//! A control block is read before the call: when it returns, another thread may have seen the completion and given
//! the memory back. libc itself reads it, in the program's name, right after.

use super::files::ErrorNumber;
use super::hooks;
use crate::recording::list::List;
use crate::recording::span::{self, note};
use crate::recording::thread::current;
use core::ffi::{c_int, c_void};
use libc::{aiocb, timespec};
use syn_trace::calls::Call;
use syn_trace::record;
use syn_trace::system_calls::nanoseconds;

/// Nanoseconds of a timeout, -1 if there is none.
///
/// # Safety
/// If `readable`, `timeout` is null or valid.
pub(super) unsafe fn timeout_ns(timeout: *const timespec, readable: bool) -> i64 {
    if timeout.is_null() || !readable {
        return -1;
    }
    // SAFETY: as the caller vouches.
    nanoseconds(unsafe { *timeout })
}

/// The descriptor in a control block that the program passes to libc.
fn descriptor(block: *const aiocb) -> i64 {
    // SAFETY: libc reads it right after this, without a question.
    unsafe { i64::from((*block).aio_fildes) }
}

/// The descriptor that is to be synchronized; of an unknown operation libc does not look at the control block.
fn synchronized(operation: c_int, block: *const aiocb) -> i64 {
    if [libc::O_SYNC, libc::O_DSYNC].contains(&operation) { descriptor(block) } else { -1 }
}

/// What a control block asks for that the program passes to libc.
fn transfer(block: *const aiocb) -> [i64; 4] {
    // SAFETY: as above.
    let fields = unsafe { &*block };
    [i64::from(fields.aio_fildes), fields.aio_nbytes as i64, fields.aio_offset, block as i64]
}

macro_rules! returns {
    ($($name:ident),*) => { $(
        /// The reason of a failure stands in the control block, and `aio_error` tells it; errno is not set.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name(block: *mut aiocb) -> isize {
            type Return = unsafe extern "C-unwind" fn(*mut aiocb) -> isize;
            type Error = unsafe extern "C-unwind" fn(*const aiocb) -> c_int;
            let (Some(real), Some(reason)) = (super::real!($name).address(), super::real!(aio_error).address()) else {
                return super::missing();
            };
            // SAFETY: the functions behind these names have these types.
            let (real, reason) = unsafe {
                (core::mem::transmute::<usize, Return>(real), core::mem::transmute::<usize, Error>(reason))
            };
            let Some(mut span) = span::enter(Call::AioReturn, 0) else {
                // SAFETY: the caller's own argument.
                return unsafe { real(block) };
            };
            // SAFETY: the caller's own argument, which libc reads without a question.
            let (fd, error, moved) = unsafe { (descriptor(block), reason(block), real(block)) };
            span.returned();
            let failed = moved == -1;
            let outcome = if failed { i64::from(error) } else { moved as i64 };
            span.leave(Call::AioReturn, failed, outcome, &[fd, block as i64], &[], &[]);
            moved
        }
    )* };
}
returns!(aio_return, aio_return64);

hooks! {
    AioRead: aio_read | aio_read64 (block: *mut aiocb) [numbers = transfer(block)] -> result: c_int, { numbers }, [];
    AioWrite: aio_write | aio_write64 (block: *mut aiocb) [numbers = transfer(block)] -> result: c_int, { numbers }, [];
    AioFsync: aio_fsync | aio_fsync64 (operation: c_int, block: *mut aiocb) [fd = synchronized(operation, block)] -> result: c_int,
        [fd, operation as i64, block as i64], [];
    AioError: aio_error | aio_error64 (block: *const aiocb) [fd = descriptor(block)] -> error: ErrorNumber,
        [fd, block as i64], [];
    AioCancel: aio_cancel | aio_cancel64 (fd: c_int, block: *mut aiocb) -> result: c_int, [fd as i64, block as i64], [];
    AioSuspend: aio_suspend | aio_suspend64
        (blocks: *const *const aiocb, count: c_int, timeout: *const timespec) -> result: c_int,
        [count as i64, timeout_ns(timeout, count >= 0)], [], &waited_for(blocks, count);
    LioListio: lio_listio | lio_listio64
        (mode: c_int, blocks: *const *mut aiocb, count: c_int, event: *mut c_void) [listed = note_each(mode, blocks, count)] -> result: c_int,
        [mode as i64, listed], [];
}

/// The control blocks that a call waited for.
///
/// # Safety
/// `blocks` points to `count` entries.
unsafe fn waited_for(blocks: *const *const aiocb, count: c_int) -> List {
    let mut list = List::new();
    for index in 0..count.max(0) as usize {
        // SAFETY: as the caller vouches.
        let block = unsafe { *blocks.add(index) };
        if !block.is_null() && !list.push([block as i64]) {
            break;
        }
    }
    list
}

/// Notes each transfer of a list that the program passes to libc, as asked for by a call inside the one under way; in an
/// unknown mode, libc does not look at the list.
fn note_each(mode: c_int, blocks: *const *mut aiocb, count: c_int) -> i64 {
    // A hook is under way.
    let Some(state) = current::state() else { return 0 };
    let read = if [libc::LIO_WAIT, libc::LIO_NOWAIT].contains(&mode) { count.max(0) as usize } else { 0 };
    for index in 0..read {
        // SAFETY: as above, for every control block that is not null.
        unsafe {
            let block = *blocks.add(index);
            if block.is_null() {
                continue;
            }
            let call = match (*block).aio_lio_opcode {
                libc::LIO_READ => Call::AioRead,
                libc::LIO_WRITE => Call::AioWrite,
                _ => continue,
            };
            note::write(state, call, record::INNER, &transfer(block), &[]);
        }
    }
    i64::from(count)
}
