//! Bytes that go from one descriptor to another inside the kernel, and hints on what will be read.
//!
//! The offsets these calls take by pointer are moved by the kernel. What is recorded is where the transfer began. As lines of
//! [`system_calls!`](super::system_calls) they would be recorded alike, and take 5 to 10 ns more.

use super::files::{ErrorNumber, total};
use super::hooks;
use core::ffi::{c_int, c_uint, c_void};
use libc::{iovec, off_t};

/// The offset before a call that has moved it by `moved` bytes: -1 for a null pointer, 0 if the call failed, since
/// then the kernel may not have looked at it.
///
/// # Safety
/// After a call that did not fail, `offset` is null or points to what the kernel has updated.
unsafe fn began_at(offset: *const off_t, moved: isize) -> i64 {
    if offset.is_null() {
        return -1;
    }
    // SAFETY: as the caller vouches; the program may have packed it into a structure.
    if moved < 0 { 0 } else { unsafe { offset.read_unaligned() }.wrapping_sub(moved as i64) }
}

hooks! {
    CopyFileRange: copy_file_range
        (fd_in: c_int, off_in: *mut off_t, fd_out: c_int, off_out: *mut off_t, count: usize, flags: c_uint) -> moved: isize,
        [fd_in as i64, fd_out as i64, began_at(off_in, moved), began_at(off_out, moved), count as i64, i64::from(flags)], [];
    Sendfile: sendfile | sendfile64 (out_fd: c_int, in_fd: c_int, offset: *mut off_t, count: usize) -> moved: isize,
        [in_fd as i64, out_fd as i64, began_at(offset, moved), count as i64], [];
    Splice: splice
        (fd_in: c_int, off_in: *mut off_t, fd_out: c_int, off_out: *mut off_t, count: usize, flags: c_uint) -> moved: isize,
        [fd_in as i64, fd_out as i64, began_at(off_in, moved), began_at(off_out, moved), count as i64, i64::from(flags)], [];
    Tee: tee (fd_in: c_int, fd_out: c_int, count: usize, flags: c_uint) -> moved: isize,
        [fd_in as i64, fd_out as i64, count as i64, i64::from(flags)], [];
    Vmsplice: vmsplice (fd: c_int, vector: *const iovec, segments: usize, flags: c_uint) -> moved: isize,
        [fd as i64, total(vector, segments as c_int, moved), segments as i64, i64::from(flags)], [];

    PosixFadvise: posix_fadvise | posix_fadvise64
        (fd: c_int, offset: off_t, length: off_t, advice: c_int) -> error: ErrorNumber,
        [fd as i64, offset, length, advice as i64], [];
    Readahead: readahead (fd: c_int, offset: off_t, count: usize) -> result: isize, [fd as i64, offset, count as i64], [];

    Getdents: getdents64 + getdents64 (fd: c_int, buffer: *mut c_void, count: usize) -> filled: isize,
        [fd as i64, count as i64], [];
}
