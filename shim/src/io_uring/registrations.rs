//! What is registered with a ring: files above all, which are then named by their place.

use super::queues::Queues;
use super::ring::Ring;
use super::table;
use crate::recording::library_calls::{Failure, Library, inside};
use crate::recording::list::List;
use crate::recording::span::{self, Span};
use core::ffi::{c_int, c_long, c_void};
use syn_trace::calls::Call;
use syn_trace::record::MAX_LIST;

pub(super) const REGISTER_FILES: u32 = 2;
pub(super) const UNREGISTER_FILES: u32 = 3;
pub(super) const REGISTER_FILES_UPDATE: u32 = 6;
pub(super) const REGISTER_FILES2: u32 = 13;
pub(super) const REGISTER_FILES_UPDATE2: u32 = 14;
pub(super) const REGISTER_RING_FDS: u32 = 20;
pub(super) const REGISTER_FILE_ALLOC_RANGE: u32 = 25;
const REGISTER_RESIZE_RINGS: u32 = 33;
const REGISTER_USE_REGISTERED_RING: u32 = 1 << 31;
/// In place of a descriptor.
const NO_RING: i64 = -1;

/// `struct io_uring_files_update`, and the front of its successors.
#[repr(C)]
struct Update {
    offset: u32,
    reserved: u32,
    data: u64,
    tags: u64,
    count: u32,
}

/// `struct io_uring_rsrc_register`
#[repr(C)]
struct Registration {
    count: u32,
    flags: u32,
    reserved: u64,
    data: u64,
}

/// # Safety
/// After a call that did not fail, `argument` is what the operation demands.
pub(super) unsafe fn register_with(
    failure: Failure,
    fd: c_int,
    opcode: u32,
    argument: *const c_void,
    count: u32,
    real: impl FnOnce() -> c_long,
) -> c_long {
    let Some(mut span) = span::enter(Call::IoUringRegister, 0) else { return real() };
    let is_place = opcode & REGISTER_USE_REGISTERED_RING != 0;
    let opcode = opcode & !REGISTER_USE_REGISTERED_RING;
    let ring = if is_place { table::by_place(fd as u32) } else { table::by_descriptor(fd) };
    let result = inside(Library::Asynchronous, real);
    span.returned();
    let (failed, outcome) = failure.outcome(result);
    // SAFETY: as the caller vouches.
    let files = if failed { Files::NONE } else { unsafe { Files::of(opcode, argument, count) } };
    let numbers = [i64::from(ring.map_or(fd, Ring::descriptor)), i64::from(opcode), i64::from(count)];
    files.record(&mut span, failed, outcome, &numbers);
    if !failed {
        // SAFETY: as the caller vouches.
        unsafe { follow(ring, opcode, argument, count) };
    }
    span.forget();
    result
}

/// The same through a function of liburing, with what it registers.
///
/// # Safety
/// `queues` is the program's, which the library reads without a question; `files` are readable after a call that did
/// not fail.
pub(super) unsafe fn register_files(
    queues: *const Queues,
    opcode: u32,
    count: u32,
    files: Files,
    real: impl FnOnce() -> c_long,
) -> c_long {
    // SAFETY: as the caller vouches.
    unsafe { register(|| (*queues).descriptor(), opcode, count, files, real) }
}

/// The same with a ring's descriptor.
///
/// # Safety
/// As for [`register_files`].
unsafe fn register(
    descriptor: impl FnOnce() -> i64,
    opcode: u32,
    count: u32,
    files: Files,
    real: impl FnOnce() -> c_long,
) -> c_long {
    let Some(mut span) = span::enter(Call::IoUringRegister, 0) else { return real() };
    let descriptor = descriptor();
    let result = inside(Library::Asynchronous, real);
    span.returned();
    let (failed, outcome) = Failure::Negated.outcome(result);
    let files = if failed { Files::NONE } else { files };
    files.record(&mut span, failed, outcome, &[descriptor, i64::from(opcode), i64::from(count)]);
    span.forget();
    result
}

/// # Safety
/// As for [`register_files`].
pub(super) unsafe fn register_other(
    queues: *const Queues,
    opcode: u32,
    count: u32,
    real: impl FnOnce() -> c_long,
) -> c_long {
    // SAFETY: as the caller vouches.
    unsafe { register_files(queues, opcode, count, Files::NONE, real) }
}

/// What concerns no ring, but the thread that asks for it.
pub(super) fn register_without_ring(opcode: u32, count: u32, real: impl FnOnce() -> c_long) -> c_long {
    // SAFETY: no files.
    unsafe { register(|| NO_RING, opcode, count, Files::NONE, real) }
}

/// # Safety
/// As for [`register_files`]; the queues lie elsewhere afterwards.
pub(super) unsafe fn resize(queues: *const Queues, real: impl FnOnce() -> c_long) -> c_long {
    // SAFETY: as the caller vouches.
    unsafe {
        let result = register_other(queues, REGISTER_RESIZE_RINGS, 1, real);
        if result >= 0 {
            (*queues).relocate();
        }
        result
    }
}

/// What a registration changes in how a ring is found.
///
/// # Safety
/// As for [`register_with`].
unsafe fn follow(ring: Option<&Ring>, opcode: u32, argument: *const c_void, count: u32) {
    match opcode {
        REGISTER_RING_FDS => {
            for index in 0..count as usize {
                // SAFETY: as the caller vouches; these have two words each.
                let update = unsafe { argument.cast::<[u32; 4]>().add(index).read_unaligned() };
                if let Some(ring) = table::by_descriptor(update[2] as c_int) {
                    table::register(ring, update[0]);
                }
            }
        }
        REGISTER_RESIZE_RINGS => {
            if let Some(ring) = ring {
                // SAFETY: as the caller vouches.
                ring.resized(unsafe { &*argument.cast() });
            }
        }
        _ => {}
    }
}

/// Descriptors that become registered files: the place of the first, and where they stand.
pub(super) struct Files {
    pub(super) place: i64,
    pub(super) fds: *const c_int,
    pub(super) count: usize,
}

impl Files {
    const NONE: Files = Files { place: 0, fds: core::ptr::null(), count: 0 };

    /// # Safety
    /// As for [`register_with`].
    unsafe fn of(opcode: u32, argument: *const c_void, count: u32) -> Files {
        // SAFETY: as the caller vouches.
        let (place, fds, count) = unsafe {
            match opcode {
                REGISTER_FILES => (0, argument as u64, count),
                REGISTER_FILES2 => {
                    let files = &*argument.cast::<Registration>();
                    (0, files.data, files.count)
                }
                REGISTER_FILES_UPDATE => {
                    let files = argument.cast::<Update>();
                    ((*files).offset, (*files).data, count)
                }
                REGISTER_FILES_UPDATE2 => {
                    let files = &*argument.cast::<Update>();
                    (files.offset, files.data, files.count)
                }
                _ => return Files::NONE,
            }
        };
        let fds = fds as *const c_int;
        Files { place: i64::from(place), fds, count: if fds.is_null() { 0 } else { count as usize } }
    }

    /// Writes the record of the call; what does not fit into one list goes into further records.
    fn record(&self, span: &mut Span, failed: bool, outcome: i64, numbers: &[i64; 3]) {
        let mut done = 0;
        loop {
            let mut list = List::new();
            if done < self.count {
                list.push([self.place + done as i64]);
            }
            let part = (self.count - done).min(MAX_LIST - 1);
            for index in done..done + part {
                // SAFETY: the kernel has just read them.
                list.push([i64::from(unsafe { *self.fds.add(index) })]);
            }
            span.record(Call::IoUringRegister, failed, outcome, numbers, &[], &list);
            done += part;
            if done >= self.count {
                return;
            }
        }
    }
}
