//! io_uring in a recorder that is built without the feature `io-uring`: not seen, which every process's trace says.

use core::ffi::{c_int, c_long, c_uint, c_void};

/// `syscall(SYS_io_uring_setup, …)`, made by `real`.
///
/// # Safety
/// None.
pub unsafe fn setup(_: c_uint, _: *const c_void, real: impl FnOnce() -> c_long) -> c_long {
    real()
}

/// `syscall(SYS_io_uring_enter, …)`, made by `real`.
pub fn enter(_: c_uint, _: c_uint, _: c_uint, _: c_uint, real: impl FnOnce() -> c_long) -> c_long {
    real()
}

/// `syscall(SYS_io_uring_register, …)`, made by `real`.
///
/// # Safety
/// None.
pub unsafe fn register(
    _: c_uint,
    _: c_uint,
    _: *const c_void,
    _: c_uint,
    real: impl FnOnce() -> c_long,
) -> c_long {
    real()
}

/// The program has mapped a file.
pub fn mapped(_: c_int, _: i64, _: usize) {}

/// The program is about to unmap memory.
pub fn unmapped(_: usize, _: usize) {}

/// The process image ends.
pub fn finish() {}
