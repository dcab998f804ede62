//! Waiting for the end of a process.

use crate::hooks::hooks;
use core::ffi::{c_int, c_uint, c_void};
use libc::pid_t;

/// # Safety
/// `status` is null or what the call has filled in.
unsafe fn status(status: *const c_int, result: pid_t) -> i64 {
    // SAFETY: as the caller vouches.
    if result > 0 && !status.is_null() { unsafe { i64::from(*status) } } else { 0 }
}

hooks! {
    Waitpid: wait | __wait (child_status: *mut c_int) -> result: pid_t, [-1, status(child_status, result), 0], [];
    Waitpid: waitpid | __waitpid (pid: pid_t, child_status: *mut c_int, options: c_int) -> result: pid_t,
        [i64::from(pid), status(child_status, result), options as i64], [];
    Waitpid: wait3 (child_status: *mut c_int, options: c_int, usage: *mut c_void) -> result: pid_t,
        [-1, status(child_status, result), options as i64], [];
    Waitpid: wait4 (pid: pid_t, child_status: *mut c_int, options: c_int, usage: *mut c_void) -> result: pid_t,
        [i64::from(pid), status(child_status, result), options as i64], [];
    Waitid: waitid (kind: c_uint, id: c_uint, info: *mut c_void, options: c_int) -> result: c_int,
        [i64::from(kind), i64::from(id), options as i64], [];
}
