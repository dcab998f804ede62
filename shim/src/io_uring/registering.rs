//! The functions of liburing that register something with a ring.

use super::liburing::of_library;
use super::queues::Queues;
use super::registrations::*;
use crate::hooks::real;
use crate::recording::library_calls::{Library, function, is_inside};
use core::ffi::{c_int, c_long, c_uint, c_void};

type Ptr = *const c_void;

const CLONE_BUFFERS: u32 = 30;

const fn files(place: u32, fds: *const c_int, count: u32) -> Files {
    Files { place: place as i64, fds, count: count as usize }
}

of_library! {
    io_uring_register_files(queues: *mut Queues, fds: *const c_int, count: c_uint) -> c_int, real =>
        register_files(queues, REGISTER_FILES, count, files(0, fds, count), real);
    io_uring_register_files_tags(queues: *mut Queues, fds: *const c_int, tags: Ptr, count: c_uint) -> c_int, real =>
        register_files(queues, REGISTER_FILES2, count, files(0, fds, count), real);
    io_uring_register_files_update(queues: *mut Queues, place: c_uint, fds: *const c_int, count: c_uint) -> c_int, real =>
        register_files(queues, REGISTER_FILES_UPDATE, count, files(place, fds, count), real);
    io_uring_register_files_update_tag
        (queues: *mut Queues, place: c_uint, fds: *const c_int, tags: Ptr, count: c_uint) -> c_int, real =>
        register_files(queues, REGISTER_FILES_UPDATE2, count, files(place, fds, count), real);
    io_uring_register_files_sparse(queues: *mut Queues, count: c_uint) -> c_int, real =>
        register_other(queues, REGISTER_FILES2, count, real);
    io_uring_unregister_files(queues: *mut Queues) -> c_int, real => register_other(queues, UNREGISTER_FILES, 0, real);
    io_uring_register_file_alloc_range(queues: *mut Queues, place: c_uint, count: c_uint) -> c_int, real =>
        register_other(queues, REGISTER_FILE_ALLOC_RANGE, 0, real);
    io_uring_register_buffers(queues: *mut Queues, buffers: Ptr, count: c_uint) -> c_int, real =>
        register_other(queues, 0, count, real);
    io_uring_register_buffers_tags(queues: *mut Queues, buffers: Ptr, tags: Ptr, count: c_uint) -> c_int, real =>
        register_other(queues, 15, count, real);
    io_uring_register_buffers_sparse(queues: *mut Queues, count: c_uint) -> c_int, real => register_other(queues, 15, count, real);
    io_uring_register_buffers_update_tag
        (queues: *mut Queues, place: c_uint, buffers: Ptr, tags: Ptr, count: c_uint) -> c_int, real =>
        register_other(queues, 16, count, real);
    io_uring_unregister_buffers(queues: *mut Queues) -> c_int, real => register_other(queues, 1, 0, real);
    io_uring_register_eventfd(queues: *mut Queues, fd: c_int) -> c_int, real => register_other(queues, 4, 1, real);
    io_uring_register_eventfd_async(queues: *mut Queues, fd: c_int) -> c_int, real => register_other(queues, 7, 1, real);
    io_uring_unregister_eventfd(queues: *mut Queues) -> c_int, real => register_other(queues, 5, 0, real);
    io_uring_register_probe(queues: *mut Queues, probe: Ptr, count: c_uint) -> c_int, real => register_other(queues, 8, count, real);
    io_uring_register_personality(queues: *mut Queues) -> c_int, real => register_other(queues, 9, 0, real);
    io_uring_unregister_personality(queues: *mut Queues, id: c_int) -> c_int, real => register_other(queues, 10, id as u32, real);
    io_uring_register_restrictions(queues: *mut Queues, restrictions: Ptr, count: c_uint) -> c_int, real =>
        register_other(queues, 11, count, real);
    io_uring_enable_rings(queues: *mut Queues) -> c_int, real => register_other(queues, 12, 0, real);
    io_uring_register_iowq_aff(queues: *mut Queues, bytes: usize, mask: Ptr) -> c_int, real =>
        register_other(queues, 17, bytes as u32, real);
    io_uring_unregister_iowq_aff(queues: *mut Queues) -> c_int, real => register_other(queues, 18, 0, real);
    io_uring_register_iowq_max_workers(queues: *mut Queues, values: Ptr) -> c_int, real => register_other(queues, 19, 2, real);
    io_uring_register_ring_fd(queues: *mut Queues) -> c_int, real => register_other(queues, REGISTER_RING_FDS, 1, real);
    io_uring_unregister_ring_fd(queues: *mut Queues) -> c_int, real => register_other(queues, 21, 1, real);
    io_uring_register_buf_ring(queues: *mut Queues, ring: Ptr, flags: c_uint) -> c_int, real => register_other(queues, 22, 1, real);
    io_uring_unregister_buf_ring(queues: *mut Queues, group: c_int) -> c_int, real => register_other(queues, 23, 1, real);
    io_uring_register_sync_cancel(queues: *mut Queues, what: Ptr) -> c_int, real => register_other(queues, 24, 1, real);
    io_uring_resize_rings(queues: *mut Queues, parameters: Ptr) -> c_int, real => resize(queues, real);
    io_uring_free_buf_ring(queues: *mut Queues, ring: Ptr, entries: c_uint, group: c_int) -> c_int, real =>
        register_other(queues, 23, 1, real);
    io_uring_buf_ring_head(queues: *mut Queues, group: c_int, head: *mut u16) -> c_int, real => register_other(queues, 26, 1, real);
    io_uring_register_napi(queues: *mut Queues, settings: Ptr) -> c_int, real => register_other(queues, 27, 1, real);
    io_uring_unregister_napi(queues: *mut Queues, settings: Ptr) -> c_int, real => register_other(queues, 28, 1, real);
    io_uring_register_clock(queues: *mut Queues, clock: Ptr) -> c_int, real => register_other(queues, 29, 0, real);
    io_uring_clone_buffers(queues: *mut Queues, from: Ptr) -> c_int, real => register_other(queues, CLONE_BUFFERS, 1, real);
    io_uring_clone_buffers_offset
        (queues: *mut Queues, from: Ptr, place: c_uint, first: c_uint, count: c_uint, flags: c_uint) -> c_int, real =>
        register_other(queues, CLONE_BUFFERS, 1, real);
    __io_uring_clone_buffers(queues: *mut Queues, from: Ptr, flags: c_uint) -> c_int, real =>
        register_other(queues, CLONE_BUFFERS, 1, real);
    __io_uring_clone_buffers_offset
        (queues: *mut Queues, from: Ptr, place: c_uint, first: c_uint, count: c_uint, flags: c_uint) -> c_int, real =>
        register_other(queues, CLONE_BUFFERS, 1, real);
    io_uring_register_sync_msg(entry: Ptr) -> c_int, real => register_without_ring(31, 1, real);
    io_uring_register_ifq(queues: *mut Queues, interface: Ptr) -> c_int, real => register_other(queues, 32, 1, real);
    io_uring_register_region(queues: *mut Queues, region: Ptr) -> c_int, real => register_other(queues, 34, 1, real);
    io_uring_register_bpf_filter(queues: *mut Queues, filter: Ptr) -> c_int, real => register_other(queues, 37, 1, real);
    io_uring_register_bpf_filter_task(filter: Ptr) -> c_int, real => register_without_ring(37, 1, real);
}

/// Returns the buffers' ring, and where there is none, why, in `error`.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn io_uring_setup_buf_ring(
    queues: *mut Queues,
    entries: c_uint,
    group: c_int,
    flags: c_uint,
    error: *mut c_int,
) -> *mut c_void {
    type Function =
        unsafe extern "C-unwind" fn(*mut Queues, c_uint, c_int, c_uint, *mut c_int) -> *mut c_void;
    // SAFETY: the function behind this name has this type; it gets the caller's own arguments, and writes to `error` where it
    // returns nothing.
    unsafe {
        let Some(address) = function(real!(io_uring_setup_buf_ring)) else {
            *error = -libc::ENOSYS;
            return core::ptr::null_mut();
        };
        let real = || core::mem::transmute::<usize, Function>(address)(queues, entries, group, flags, error);
        if is_inside(Library::Asynchronous) {
            return real();
        }
        let mut ring = core::ptr::null_mut();
        register_other(queues, 22, 1, || {
            ring = real();
            if ring.is_null() { c_long::from(*error) } else { 0 }
        });
        ring
    }
}
