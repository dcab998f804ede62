//! Signals that the program sends, now or by a timer, and those that it waits for. Arrivals: [`super::trampolines`].
//!
//! `killpg` is recorded as `kill` of the negated group, `tgkill` as `kill` of the thread's id, `ualarm` as `setitimer`,
//! `sigpause` as `sigsuspend`. A signal that may end this process has a record in front of the call, with the flag
//! `began`; if the call returns after all, another one follows. `abort` is recorded as `raise`, and a failed assertion
//! too; where libc finds its heap damaged the trace just ends.

use super::files::ErrorNumber;
use super::handlers::in_force;
use super::hooks;
use super::ipc::limit;
use crate::core::real::Outcome;
use crate::core::sys;
use crate::recording::process;
use crate::recording::span::{self, Span, note};
use core::ffi::{c_char, c_int, c_uint, c_void};
use libc::{clockid_t, itimerspec, itimerval, pid_t, pthread_t, sigset_t, timespec};
use syn_trace::calls::Call;
use syn_trace::record;
use syn_trace::system_calls::{nanoseconds, nanoseconds_of};

/// True when the signal's action is the default one, and that one ends the process.
fn is_deadly(signal: c_int) -> bool {
    match signal {
        libc::SIGKILL => true,
        libc::SIGCHLD | libc::SIGCONT | libc::SIGURG | libc::SIGWINCH => false,
        libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => false,
        _ => in_force(signal).is_some_and(|(handler, _)| handler == libc::SIG_DFL),
    }
}

/// True when a signal to `pid`, as `kill(2)` takes it, comes to this process.
fn is_us(pid: pid_t) -> bool {
    // SAFETY: no arguments.
    let group = || unsafe { sys::call(libc::SYS_getpgrp, [0; 6]) } as pid_t;
    pid == process::pid() as pid_t || pid == 0 || (pid < -1 && pid.wrapping_neg() == group())
}

/// Writes the record of a signal that may not let the call return.
#[inline(never)]
fn note_before<const N: usize>(span: &Span, call: Call, numbers: &[i64; N]) {
    // SAFETY: this thread's state, while the hook runs.
    note::write(span.state(), call, record::BEGAN, numbers, &[]);
}

/// Hooks of calls that send a signal: `Call: names (arguments) comes to us if -> result, [integers, the signal last]`.
macro_rules! sends {
    ($( $call:ident: $($name:ident)|+ ($($sig:tt)*) to_us $to_us:expr => $result:ident : $ret:ty, $numbers:expr; )*) => { $(
        sends!(@each $call ($($sig)*) $to_us, ($result: $ret) $numbers, [$($name)+]);
    )* };
    (@each $call:ident $sig:tt $to_us:expr, ($result:ident : $ret:ty) $numbers:expr, [$($name:ident)+]) => { $(
        sends!(@one $name $call $sig $to_us, ($result: $ret) $numbers);
    )+ };
    (@one $name:ident $call:ident ($($arg:ident : $ty:ty),*) $to_us:expr, ($result:ident : $ret:ty) $numbers:expr) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
            type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
            let Some(address) = super::real!($name).address() else { return super::missing() };
            // SAFETY: the function behind this name has this type.
            let real = unsafe { core::mem::transmute::<usize, Function>(address) };
            sends!(@body real, 0, $call ($($arg),*) $to_us, ($result: $ret) $numbers)
        }
    };
    (@body $real:ident, $flags:expr, $call:ident ($($arg:ident),*) $to_us:expr, ($result:ident : $ret:ty) $numbers:expr) => {{
        let Some(mut span) = span::enter(Call::$call, $flags) else {
            // SAFETY: the caller's own arguments.
            return unsafe { $real($($arg),*) };
        };
        let numbers = $numbers;
        let [.., signal] = numbers;
        if $to_us && is_deadly(signal as c_int) {
            note_before(&span, Call::$call, &numbers);
        }
        // SAFETY: the caller's own arguments.
        let $result: $ret = unsafe { $real($($arg),*) };
        span.returned();
        let failed = $result.failed();
        let outcome = if failed { span::errno() } else { $result.number() };
        span.leave(Call::$call, failed, outcome, &numbers, &[], &[]);
        $result
    }};
}

sends! {
    Kill: kill (pid: pid_t, signal: c_int) to_us is_us(pid) => result: c_int, [i64::from(pid), i64::from(signal)];
    Kill: killpg (group: pid_t, signal: c_int) to_us is_us(group.wrapping_neg()) => result: c_int,
        [-i64::from(group), i64::from(signal)];
    Kill: tgkill (pid: pid_t, tid: pid_t, signal: c_int) to_us is_us(pid) => result: c_int,
        [i64::from(tid), i64::from(signal)];
    Sigqueue: sigqueue (pid: pid_t, signal: c_int, value: usize) to_us is_us(pid) => result: c_int,
        [i64::from(pid), i64::from(signal)];
    PidfdSendSignal: pidfd_send_signal (pidfd: c_int, signal: c_int, info: *mut c_void, flags: c_uint) to_us false => result: c_int,
        [i64::from(pidfd), i64::from(signal)];
    PthreadKill: pthread_kill (thread: pthread_t, signal: c_int) to_us true => error: ErrorNumber,
        [thread as i64, i64::from(signal)];
    PthreadKill: pthread_sigqueue (thread: pthread_t, signal: c_int, value: usize) to_us true => error: ErrorNumber,
        [thread as i64, i64::from(signal)];
    Raise: raise | gsignal (signal: c_int) to_us true => result: c_int, [i64::from(signal)];
}

/// Nothing tells whether `abort` will end the process: a handler of `SIGABRT` may leave it.
fn note_abort(flags: record::Flags) {
    if let Some(span) = span::enter(Call::Raise, flags) {
        // SAFETY: this thread's state, while the hook runs.
        let state = span.state();
        note::write(state, Call::Raise, record::BEGAN | flags, &[i64::from(libc::SIGABRT)], &[]);
        span.forget();
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn abort() -> ! {
    note_abort(0);
    if let Some(address) = super::real!(abort).address() {
        // SAFETY: the function behind this name has this type.
        unsafe { core::mem::transmute::<usize, unsafe extern "C-unwind" fn()>(address)() };
    }
    loop {
        // SAFETY: ends the process.
        unsafe { sys::call(libc::SYS_exit_group, [127, 0, 0, 0, 0, 0]) };
    }
}

/// A failed `assert` calls `abort` inside libc, and never comes back either.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn __assert_fail(
    assertion: *const c_char,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
) -> ! {
    type Function = unsafe extern "C-unwind" fn(*const c_char, *const c_char, c_uint, *const c_char);
    note_abort(record::INNER);
    if let Some(address) = super::real!(__assert_fail).address() {
        // SAFETY: the function behind this name has this type; the caller's own arguments.
        unsafe { core::mem::transmute::<usize, Function>(address)(assertion, file, line, function) };
    }
    // SAFETY: no arguments.
    unsafe { abort() }
}

/// The signals 1 to 64 of a set that the kernel has read.
///
/// # Safety
/// Unless the call failed with EFAULT or EINVAL, `set` is valid.
unsafe fn members(set: *const sigset_t, failed: bool, errno: i64) -> i64 {
    let unread = failed && [libc::EFAULT, libc::EINVAL].map(i64::from).contains(&errno);
    // SAFETY: as the caller vouches; the kernel's part of a set is its first 64 bits.
    if unread || set.is_null() { 0 } else { unsafe { *set.cast::<i64>() } }
}

/// The signals that this thread blocks, without one of them.
fn blocked_without(signal: c_int) -> i64 {
    let mut blocked = 0u64;
    let arguments = [libc::SIG_BLOCK as usize, 0, (&raw mut blocked) as usize, size_of::<u64>(), 0, 0];
    // SAFETY: only asks; `blocked` is valid for writing.
    unsafe { sys::call(libc::SYS_rt_sigprocmask, arguments) };
    (blocked & !(1u64.checked_shl(signal.wrapping_sub(1).cast_unsigned()).unwrap_or(0))).cast_signed()
}

hooks! {
    Pause: pause () -> result: c_int, [], [];
    Sigsuspend: sigsuspend | __sigsuspend (mask: *const sigset_t) -> result: c_int,
        [members(mask, result != 0, span::errno())], [];
    Sigsuspend: sigpause (mask: c_int) -> result: c_int, [i64::from(mask.cast_unsigned())], [];
    Sigsuspend: __xpg_sigpause (signal: c_int) -> result: c_int, [blocked_without(signal)], [];
    Sigsuspend: __sigpause (signal_or_mask: c_int, is_signal: c_int) -> result: c_int, [if is_signal != 0 {
        blocked_without(signal_or_mask)
    } else {
        i64::from(signal_or_mask.cast_unsigned())
    }], [];
    Sigwait: sigwaitinfo (set: *const sigset_t, info: *mut c_void) -> signal: c_int,
        [members(set, signal < 0, span::errno()), -1], [];
    Sigwait: sigtimedwait (set: *const sigset_t, info: *mut c_void, time: *const timespec) -> signal: c_int,
        [members(set, signal < 0, span::errno()), limit(time, signal < 0)], [];

    // The result is what was left of the alarm before, in seconds.
    Alarm: alarm (seconds: c_uint) -> left: c_uint, [i64::from(seconds) * 1_000_000_000], [];
    Setitimer: ualarm (microseconds: c_uint, interval: c_uint) -> left: c_uint,
        [i64::from(libc::ITIMER_REAL), i64::from(microseconds) * 1000, i64::from(interval) * 1000], [];
    Setitimer: setitimer (which: c_int, new: *const itimerval, old: *mut itimerval) -> result: c_int,
        { let [value, interval] = interval_timer(new, result); [i64::from(which), value, interval] }, [];
    TimerCreate: timer_create (clock: clockid_t, event: *const Event, timer: *mut usize) -> result: c_int,
        { let [signal, timer] = created(event, timer, result); [i64::from(clock), signal, timer] }, [];
    TimerSettime: timer_settime (timer: usize, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> result: c_int,
        { let [value, interval] = timer_times(new, result); [timer as i64, i64::from(flags), value, interval] }, [];
    TimerDelete: timer_delete (timer: usize) -> result: c_int, [timer as i64], [];
}

/// `sigwait` returns the error number, and the signal by way of a pointer.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int {
    type Function = unsafe extern "C-unwind" fn(*const sigset_t, *mut c_int) -> c_int;
    let Some(address) = super::real!(sigwait).address() else { return libc::ENOSYS };
    // SAFETY: the function behind this name has this type.
    let real = unsafe { core::mem::transmute::<usize, Function>(address) };
    let Some(mut span) = span::enter(Call::Sigwait, 0) else {
        // SAFETY: the caller's own arguments.
        return unsafe { real(set, signal) };
    };
    // SAFETY: the caller's own arguments.
    let error = unsafe { real(set, signal) };
    span.returned();
    let failed = error != 0;
    // SAFETY: the call has read the set, and filled in the signal if it returned 0.
    let (numbers, outcome) = unsafe {
        let outcome = if failed { error } else { *signal };
        ([members(set, failed, i64::from(error)), -1], i64::from(outcome))
    };
    span.leave(Call::Sigwait, failed, outcome, &numbers, &[], &[]);
    error
}

/// `struct sigevent`, as far as it tells which signal a timer sends.
#[repr(C)]
pub struct Event {
    value: usize,
    signal: c_int,
    notify: c_int,
}

/// The signal that a new timer sends, 0 for none, and the timer.
///
/// # Safety
/// After a call that returned 0, `event` is null or valid, and `timer` has been filled in.
unsafe fn created(event: *const Event, timer: *const usize, result: c_int) -> [i64; 2] {
    if result != 0 {
        return [0, 0];
    }
    // SAFETY: as the caller vouches.
    let (event, timer) = unsafe { (event.as_ref(), *timer) };
    let signal = event.map_or(libc::SIGALRM, |event| match event.notify {
        libc::SIGEV_SIGNAL | libc::SIGEV_THREAD_ID => event.signal,
        _ => 0,
    });
    [i64::from(signal), timer as i64]
}

/// Value and interval, nanoseconds; zeros after a failure.
///
/// # Safety
/// After a call that returned 0, `new` is null or valid.
unsafe fn interval_timer(new: *const itimerval, result: c_int) -> [i64; 2] {
    // SAFETY: as the caller vouches.
    let new = if result == 0 { unsafe { new.as_ref() } } else { None };
    new.map_or([0; 2], |new| [nanoseconds_of(new.it_value), nanoseconds_of(new.it_interval)])
}

/// As [`interval_timer`].
///
/// # Safety
/// As there.
unsafe fn timer_times(new: *const itimerspec, result: c_int) -> [i64; 2] {
    // SAFETY: as the caller vouches.
    let new = if result == 0 { unsafe { new.as_ref() } } else { None };
    new.map_or([0; 2], |new| [nanoseconds(new.it_value), nanoseconds(new.it_interval)])
}
