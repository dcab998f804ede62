//! Sleeps, with the time that was asked for.

use super::files::ErrorNumber;
use super::hooks;
use crate::recording::span;
use core::ffi::{c_int, c_uint};
use libc::timespec;
use syn_trace::system_calls::nanoseconds;

/// Nanoseconds of a time the kernel has just read.
///
/// # Safety
/// If the call did not fail with EFAULT or EINVAL, `time` is valid.
unsafe fn asked(time: *const timespec, readable: bool) -> i64 {
    if !readable || time.is_null() {
        return 0;
    }
    // SAFETY: as the caller vouches.
    unsafe { nanoseconds(*time) }
}

/// The result of `thrd_sleep`: 0, -1 when a signal came, another negative number on failure. errno is not its matter.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct SleepResult(c_int);

impl crate::core::real::Outcome for SleepResult {
    const MISSING: SleepResult = SleepResult(-2);
    fn failed(self) -> bool {
        false
    }
    fn number(self) -> i64 {
        i64::from(self.0)
    }
}

hooks! {
    Nanosleep: nanosleep | __nanosleep (request: *const timespec, remaining: *mut timespec) -> result: c_int,
        [asked(request, result == 0 || span::errno() == i64::from(libc::EINTR))], [];
    Nanosleep: thrd_sleep (request: *const timespec, remaining: *mut timespec) -> result: SleepResult,
        [asked(request, matches!(result.0, 0 | -1))], [];
    ClockNanosleep: clock_nanosleep
        (clock: c_int, flags: c_int, request: *const timespec, remaining: *mut timespec) -> error: ErrorNumber,
        [clock as i64, flags as i64, asked(request, error.is(0) || error.is(libc::EINTR))], [];
    Usleep: usleep (microseconds: c_uint) -> result: c_int, [i64::from(microseconds) * 1000], [];
    // The result is what was left of it, in seconds, when a signal came.
    Sleep: sleep (seconds: c_uint) -> result: c_uint, [i64::from(seconds) * 1_000_000_000], [];
}
