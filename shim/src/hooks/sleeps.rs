//! Sleeps, with the time that was asked for.

use super::files::ErrorNumber;
use super::hooks;
use crate::core::readable;
use crate::recording::span;
use core::ffi::{c_int, c_uint};
use libc::timespec;
use syn_trace::system_calls::nanoseconds;

/// Nanoseconds of a time the kernel has just read, or of what it was before the kernel wrote over it.
///
/// # Safety
/// If the call did not fail with EFAULT or EINVAL, `time` is valid.
unsafe fn asked(time: *const timespec, before: Option<i64>, readable: bool) -> i64 {
    match before {
        _ if !readable || time.is_null() => 0,
        Some(before) => before,
        // SAFETY: as the caller vouches.
        None => unsafe { nanoseconds(*time) },
    }
}

/// The same before the call, where the kernel writes what is left to the same place.
fn overwritten(request: *const timespec, remaining: *const timespec) -> Option<i64> {
    if request.is_null() || request != remaining {
        return None;
    }
    // SAFETY: every bit pattern is a time.
    unsafe { readable::copy::<timespec>(request.addr()) }.map(nanoseconds)
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
    Nanosleep: nanosleep | __nanosleep (request: *const timespec, remaining: *mut timespec)
        [before = overwritten(request, remaining)] -> result: c_int,
        [asked(request, before, result == 0 || span::errno() == i64::from(libc::EINTR))], [];
    Nanosleep: thrd_sleep (request: *const timespec, remaining: *mut timespec)
        [before = overwritten(request, remaining)] -> result: SleepResult,
        [asked(request, before, matches!(result.0, 0 | -1))], [];
    ClockNanosleep: clock_nanosleep (clock: c_int, flags: c_int, request: *const timespec, remaining: *mut timespec)
        [before = overwritten(request, remaining)] -> error: ErrorNumber,
        [clock as i64, flags as i64, asked(request, before, error.is(0) || error.is(libc::EINTR))], [];
    Usleep: usleep (microseconds: c_uint) -> result: c_int, [i64::from(microseconds) * 1000], [];
    // The result is what was left of it, in seconds, when a signal came.
    Sleep: sleep (seconds: c_uint) -> result: c_uint, [i64::from(seconds) * 1_000_000_000], [];
}
