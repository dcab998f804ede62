//! The kernel's asynchronous I/O, through libaio or by system calls of the program's own.
//!
//! libaio makes its system calls with libc's `syscall`, which is hooked as well, or by itself. Its functions return a negative errno value and leave
//! errno as it was; `io_queue_init`, `io_queue_run` and `io_queue_release` go through the others. The functions of version
//! `LIBAIO_0.1` with another argument list are older than this architecture.
//!
//! Control blocks are read before the call: when it returns, another thread may have seen their completion and
//! given the memory back. They are kept in the thread's scratch memory.

use super::aio::timeout_ns;
use crate::core::readable::Reader;
use crate::recording::library_calls::{Failure, Library, function, inside, is_inside};
use crate::recording::list::List;
use crate::recording::span::{self, Span, note};
use core::ffi::{c_int, c_long, c_uint, c_void};
use core::slice::from_mut;
use libc::timespec;
use syn_trace::calls::Call;
use syn_trace::record::MAX_LIST;

/// A control block (`struct iocb`).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Block {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    eventfd: u32,
}

/// A completion (`struct io_event`).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Completion {
    data: u64,
    block: u64,
    result: i64,
    second_result: i64,
}

const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const PREADV: u16 = 7;
const PWRITEV: u16 = 8;

/// `syscall(SYS_io_setup, …)`, made by `real`.
///
/// # Safety
/// The arguments are those of the system call.
pub unsafe fn setup(events: c_uint, context: *const usize, real: impl FnOnce() -> c_long) -> c_long {
    if is_inside(Library::Asynchronous) {
        real()
    } else {
        // SAFETY: as the caller vouches.
        unsafe { set_up(Failure::InErrno, events, context, real) }
    }
}

/// `syscall(SYS_io_destroy, …)`, made by `real`.
pub fn destroy(context: usize, real: impl FnOnce() -> c_long) -> c_long {
    if is_inside(Library::Asynchronous) {
        real()
    } else {
        simple(Call::IoDestroy, Failure::InErrno, &[context as i64], real)
    }
}

/// `syscall(SYS_io_submit, …)`, made by `real`.
///
/// # Safety
/// The arguments are those of the system call.
pub unsafe fn submit(
    context: usize,
    count: c_long,
    blocks: *const *const Block,
    real: impl FnOnce() -> c_long,
) -> c_long {
    if is_inside(Library::Asynchronous) {
        real()
    } else {
        hand_over(Failure::InErrno, context, count, blocks, real)
    }
}

/// `syscall(SYS_io_getevents, …)` and `syscall(SYS_io_pgetevents, …)`, made by `real`.
///
/// # Safety
/// The arguments are those of the system call.
pub unsafe fn getevents(
    context: usize,
    least: c_long,
    most: c_long,
    events: *const Completion,
    timeout: *const timespec,
    real: impl FnOnce() -> c_long,
) -> c_long {
    if is_inside(Library::Asynchronous) {
        return real();
    }
    // SAFETY: as the caller vouches.
    unsafe { collect(Failure::InErrno, context, [least, most], events, timeout, real) }
}

/// `syscall(SYS_io_cancel, …)`, made by `real`.
pub fn cancel(context: usize, block: *const Block, real: impl FnOnce() -> c_long) -> c_long {
    let numbers = [context as i64, block as i64];
    if is_inside(Library::Asynchronous) {
        real()
    } else {
        simple(Call::IoCancel, Failure::InErrno, &numbers, real)
    }
}

#[inline]
fn simple<const N: usize>(
    call: Call,
    failure: Failure,
    numbers: &[i64; N],
    real: impl FnOnce() -> c_long,
) -> c_long {
    let Some(mut span) = span::enter(call, 0) else { return real() };
    let result = inside(Library::Asynchronous, real);
    span.returned();
    let (failed, outcome) = failure.outcome(result);
    span.leave(call, failed, outcome, numbers, &[], &[]);
    result
}

/// # Safety
/// After a call that did not fail, `context` points to what it filled in.
unsafe fn set_up(
    failure: Failure,
    events: c_uint,
    context: *const usize,
    real: impl FnOnce() -> c_long,
) -> c_long {
    let Some(mut span) = span::enter(Call::IoSetup, 0) else { return real() };
    let result = inside(Library::Asynchronous, real);
    span.returned();
    let (failed, outcome) = failure.outcome(result);
    // SAFETY: as the caller vouches.
    let made = if failed { 0 } else { unsafe { *context as i64 } };
    span.leave(Call::IoSetup, failed, outcome, &[i64::from(events), made], &[], &[]);
    result
}

fn hand_over(
    failure: Failure,
    context: usize,
    count: c_long,
    blocks: *const *const Block,
    real: impl FnOnce() -> c_long,
) -> c_long {
    let Some(mut span) = span::enter(Call::IoSubmit, 0) else { return real() };
    let kept = Kept::gather(&span, count, blocks);
    let result = inside(Library::Asynchronous, real);
    span.returned();
    let (failed, outcome) = failure.outcome(result);
    span.record(Call::IoSubmit, failed, outcome, &[context as i64, count], &[], &[]);
    kept.record(&mut span, result.max(0) as usize);
    span.forget();
    result
}

/// Integers of an `iocb` record.
type Numbers = [i64; 5];

/// The control blocks of a submission under way.
struct Kept {
    room: &'static mut [Numbers],
    count: usize,
}

impl Kept {
    /// Reads as many control blocks as there is room for.
    fn gather(span: &Span, count: c_long, blocks: *const *const Block) -> Kept {
        let scratch = span.scratch();
        // SAFETY: words are numbers; a submission uses these fields only here.
        let mut kept = Kept { room: unsafe { scratch.words.lend().align_to_mut().1 }, count: 0 };
        // SAFETY: as above.
        let [pointers, blocks_read, ..] = unsafe { scratch.windows.lend() };
        let (mut pointers, mut reader) =
            (Reader::new(from_mut(pointers)), Reader::new(from_mut(blocks_read)));
        for index in 0..(count.max(0) as usize).min(kept.room.len()) {
            // SAFETY: addresses and the fields of a control block may have any value.
            let read = unsafe {
                let address = pointers.copy::<usize>(blocks.wrapping_add(index) as usize);
                address.and_then(|address| Some((address, reader.copy::<Block>(address)?)))
            };
            let Some((address, block)) = read else { break };
            kept.room[index] = numbers_of(&mut reader, address, &block);
            kept.count += 1;
        }
        kept
    }

    /// Records those that the kernel took.
    fn record(self, span: &mut Span, taken: usize) {
        for numbers in &self.room[..taken.min(self.count)] {
            span.record(Call::Iocb, false, 0, numbers, &[], &[]);
        }
        if taken > self.count {
            let what: &[u8] = b"io_submit: more control blocks at once than are kept; those without a record are not listed";
            // SAFETY: this thread's state.
            note::write(span.state(), Call::Unobserved, 0, &[], &[what]);
        }
    }
}

fn numbers_of(reader: &mut Reader<'_>, address: usize, block: &Block) -> Numbers {
    let bytes = match block.opcode {
        PREAD | PWRITE => block.bytes as i64,
        PREADV | PWRITEV => reader.total(block.buffer as usize, block.bytes as usize),
        _ => 0,
    };
    [i64::from(block.fd as c_int), i64::from(block.opcode), bytes, block.offset, address as i64]
}

/// # Safety
/// After a call that did not fail, `events` points to as many completions as it returned; `timeout` is null or was
/// read by the kernel unless the call says otherwise.
unsafe fn collect(
    failure: Failure,
    context: usize,
    [least, most]: [c_long; 2],
    events: *const Completion,
    timeout: *const timespec,
    real: impl FnOnce() -> c_long,
) -> c_long {
    let Some(mut span) = span::enter(Call::IoGetevents, 0) else { return real() };
    let result = inside(Library::Asynchronous, real);
    span.returned();
    let (failed, outcome) = failure.outcome(result);
    // SAFETY: as the caller vouches.
    let waits = unsafe { timeout_ns(timeout, !failed || outcome == i64::from(libc::EINTR)) };
    let numbers = [context as i64, least, most, waits];
    if result <= 0 {
        span.leave(Call::IoGetevents, failed, outcome, &numbers, &[], &[]);
        return result;
    }
    // What does not fit into one record goes into further ones, each with its own part of the result.
    let mut done = 0;
    while done < result as usize {
        let part = (result as usize - done).min(MAX_LIST / 2);
        let mut completed = List::new();
        for index in done..done + part {
            // SAFETY: as the caller vouches.
            let event = unsafe { &*events.add(index) };
            completed.push([event.block as i64, event.result]);
        }
        span.record(Call::IoGetevents, false, part as i64, &numbers, &[], &completed);
        done += part;
    }
    span.forget();
    result
}

macro_rules! of_library {
    ($( $name:ident ($($arg:ident : $ty:ty),*) $real:ident => $recorded:expr; )*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> c_int {
            type Function = unsafe extern "C-unwind" fn($($ty),*) -> c_int;
            let Some(address) = function(super::real!($name)) else { return -libc::ENOSYS };
            let $real = || {
                // SAFETY: the function behind this name has this type; it gets the caller's own arguments.
                unsafe { c_long::from(core::mem::transmute::<usize, Function>(address)($($arg),*)) }
            };
            if is_inside(Library::Asynchronous) {
                return $real() as c_int;
            }
            // SAFETY: the arguments are the caller's.
            #[allow(unused_unsafe)]
            let result = unsafe { $recorded };
            result as c_int
        }
    )* };
}

of_library! {
    io_setup(events: c_int, context: *mut usize) real => set_up(Failure::Negated, events as c_uint, context, real);
    io_destroy(context: usize) real => simple(Call::IoDestroy, Failure::Negated, &[context as i64], real);
    io_submit(context: usize, count: c_long, blocks: *const *const Block) real =>
        hand_over(Failure::Negated, context, count, blocks, real);
    io_cancel(context: usize, block: *const Block, event: *mut Completion) real =>
        simple(Call::IoCancel, Failure::Negated, &[context as i64, block as i64], real);
    io_getevents(context: usize, least: c_long, most: c_long, events: *mut Completion, timeout: *const timespec) real =>
        collect(Failure::Negated, context, [least, most], events, timeout, real);
    io_pgetevents(context: usize, least: c_long, most: c_long, events: *mut Completion, timeout: *const timespec,
        mask: *const c_void) real => collect(Failure::Negated, context, [least, most], events, timeout, real);
}
