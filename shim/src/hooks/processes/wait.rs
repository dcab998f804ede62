//! Waiting for the end of a process.

use crate::core::{clock, sys};
use crate::hooks::hooks;
use crate::recording::span::note;
use crate::recording::thread::current;
use core::ffi::{c_int, c_uint, c_void};
use libc::{pid_t, siginfo_t};
use syn_trace::Call;
use syn_trace::system_calls::waited_for;

/// # Safety
/// `status` is null or what the call has filled in.
unsafe fn status(status: *const c_int, result: pid_t) -> i64 {
    // SAFETY: as the caller vouches.
    if result > 0 && !status.is_null() { unsafe { i64::from(*status) } } else { 0 }
}

/// The child that waitid(2) has found, or 0.
///
/// # Safety
/// `info` is null or what the call has filled in.
unsafe fn found(info: *const siginfo_t, result: c_int) -> pid_t {
    // SAFETY: as the caller vouches.
    if result == 0 && !info.is_null() { unsafe { (*info).si_pid() } } else { 0 }
}

/// Tells what the children have used, behind a call that has seen one of them end.
pub fn tell_used(has_seen_an_end: bool) {
    if has_seen_an_end
        && let Some(state) = current::state()
        && sys::may_ask_usage()
    {
        let used = clock::children_cpu_ns() as i64;
        note::write(state, Call::ChildrenUsed, 0, &[used], &[]);
    }
}

/// wait(2) has seen a child end: it was not stopped, nor has it gone on.
unsafe fn has_ended(status: *const c_int, result: pid_t) -> bool {
    // SAFETY: as the caller vouches.
    result > 0 && (status.is_null() || unsafe { !libc::WIFSTOPPED(*status) && !libc::WIFCONTINUED(*status) })
}

hooks! {
    Waitpid: wait | __wait (child_status: *mut c_int) -> result: pid_t, [-1, status(child_status, result), 0], [], &[], then tell_used(has_ended(child_status, result));
    Waitpid: waitpid | __waitpid (pid: pid_t, child_status: *mut c_int, options: c_int) -> result: pid_t,
        [i64::from(pid), status(child_status, result), options as i64], [], &[], then tell_used(has_ended(child_status, result));
    Waitpid: wait3 (child_status: *mut c_int, options: c_int, usage: *mut c_void) -> result: pid_t,
        [-1, status(child_status, result), options as i64], [], &[], then tell_used(has_ended(child_status, result));
    Waitpid: wait4 (pid: pid_t, child_status: *mut c_int, options: c_int, usage: *mut c_void) -> result: pid_t,
        [i64::from(pid), status(child_status, result), options as i64], [], &[], then tell_used(has_ended(child_status, result));
    Waitid: waitid (kind: c_uint, id: c_uint, info: *const siginfo_t, options: c_int) -> result: c_int,
        [i64::from(kind), waited_for(kind.into(), id.into(), found(info, result)), options as i64], [], &[], then tell_used(result == 0 && options & libc::WNOWAIT == 0);
}
