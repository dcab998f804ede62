//! Installing signal handlers. The program's handlers are installed behind a stub ([`super::trampolines`]), and what
//! libc reports as installed is translated back, so that the program reads what it set.
//!
//! Not hooked: `siginterrupt`, which leaves the handler as it is, and masks (`sigprocmask` and its kin, `sighold`,
//! `sigrelse`), which neither wait nor move anything. libc's own uses (`system`, `posix_spawn`, `abort`) keep or
//! reset what is installed.

use super::trampolines::{handler_of, is_function, stub_for};
use crate::core::sys;
use crate::recording::span;
use core::ffi::{c_int, c_ulong};
use core::mem::MaybeUninit;
use libc::sigaction as Action;
use syn_trace::calls::Call;

/// The kernel's form of a signal's action (`struct kernel_sigaction` in glibc).
#[repr(C)]
struct KernelAction {
    handler: usize,
    flags: c_ulong,
    restorer: usize,
    mask: u64,
}

/// The flag with which libc tells the kernel how to come back from a handler; programs do not see it.
const SA_RESTORER: c_ulong = 0x0400_0000;
const LAST_SIGNAL: c_int = 64;

/// Handler and flags that are in force for `signal`; `None` when there is no such signal.
pub(super) fn in_force(signal: c_int) -> Option<(usize, i64)> {
    let mut action = MaybeUninit::<KernelAction>::uninit();
    let arguments = [signal as usize, 0, action.as_mut_ptr() as usize, size_of::<u64>(), 0, 0];
    // SAFETY: only asks; the kernel fills in the action if it returns 0.
    unsafe {
        let known = sys::call(libc::SYS_rt_sigaction, arguments) == 0;
        known.then(|| {
            let action = action.assume_init();
            (action.handler, (action.flags & !SA_RESTORER) as i64)
        })
    }
}

/// As in the table of calls: 0 for the default action, 1 to ignore the signal, 2 for a function.
fn kind(handler: usize) -> i64 {
    if is_function(handler) { 2 } else { i64::from(handler == libc::SIG_IGN) }
}

/// What a record says of a signal's action after a call that may have changed it.
fn action_now(signal: c_int) -> [i64; 3] {
    let (handler, flags) = in_force(signal).unwrap_or((libc::SIG_DFL, 0));
    [i64::from(signal), kind(handler), flags]
}

macro_rules! sigactions {
    ($($name:ident),*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(link_section = ".text.startup")]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
            type Function = unsafe extern "C-unwind" fn(c_int, *const Action, *mut Action) -> c_int;
            let Some(address) = super::real!($name).address() else { return super::missing() };
            // SAFETY: the function behind this name has this type, and gets the caller's own arguments.
            unsafe { set_action(signal, new, old, core::mem::transmute::<usize, Function>(address)) }
        }
    )* };
}
sigactions!(sigaction, __sigaction);

/// # Safety
/// The arguments are those of `sigaction(2)`.
// With the code of starts: shells call it between fork and exec.
#[unsafe(link_section = ".text.startup")]
unsafe fn set_action(
    signal: c_int,
    new: *const Action,
    old: *mut Action,
    real: unsafe extern "C-unwind" fn(c_int, *const Action, *mut Action) -> c_int,
) -> c_int {
    let span = span::enter(Call::Sigaction, 0);
    let mut with_stub = MaybeUninit::<Action>::uninit();
    let (mut given, mut numbers) = (new, [i64::from(signal), -1, 0]);
    // libc reads the action after it has looked at the signal.
    if !new.is_null() && (1..=LAST_SIGNAL).contains(&signal) {
        // SAFETY: libc reads the same bytes.
        unsafe {
            let action = with_stub.write(*new);
            (numbers[1], numbers[2]) = (kind(action.sa_sigaction), i64::from(action.sa_flags));
            action.sa_sigaction = stub_for(action.sa_sigaction);
            given = action;
        }
    }
    // SAFETY: the caller's own arguments, but for the handler.
    let result = unsafe { real(signal, given, old) };
    let failed = result != 0;
    if !failed && !old.is_null() {
        // SAFETY: libc has just filled in the old action.
        unsafe { (*old).sa_sigaction = handler_of((*old).sa_sigaction) };
    }
    if let Some(mut span) = span {
        span.returned();
        let outcome = if failed { span::errno() } else { 0 };
        span.leave(Call::Sigaction, failed, outcome, &numbers, &[], &[]);
    }
    result
}

/// `signal` and its kin: they take a handler and return the one before, or `SIG_ERR`.
macro_rules! signals {
    ($($name:ident),*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name(signal: c_int, handler: usize) -> usize {
            type Function = unsafe extern "C-unwind" fn(c_int, usize) -> usize;
            let Some(address) = super::real!($name).address() else {
                let _: c_int = super::missing();
                return libc::SIG_ERR;
            };
            let span = span::enter(Call::Sigaction, 0);
            // SAFETY: the function behind this name has this type, and gets the caller's own arguments, but for the
            // handler.
            let before = unsafe { core::mem::transmute::<usize, Function>(address)(signal, stub_for(handler)) };
            if let Some(mut span) = span {
                span.returned();
                let failed = before == libc::SIG_ERR;
                let outcome = if failed { span::errno() } else { 0 };
                span.leave(Call::Sigaction, failed, outcome, &action_now(signal), &[], &[]);
            }
            handler_of(before)
        }
    )* };
}
signals!(signal, bsd_signal, ssignal, sysv_signal, __sysv_signal, sigset);

super::hooks! {
    Sigaction: sigignore (signal: c_int) -> result: c_int, { action_now(signal) }, [];
}

/// `struct sigvec`, of programs that were linked before glibc 2.21.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Vector {
    handler: usize,
    mask: c_int,
    flags: c_int,
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn sigvec(signal: c_int, new: *const Vector, old: *mut Vector) -> c_int {
    type Function = unsafe extern "C-unwind" fn(c_int, *const Vector, *mut Vector) -> c_int;
    let Some(address) = super::real!(sigvec).address() else { return super::missing() };
    let span = span::enter(Call::Sigaction, 0);
    let mut with_stub = MaybeUninit::<Vector>::uninit();
    // SAFETY: the function behind this name has this type, and gets the caller's own arguments, but for the handler;
    // libc reads the new vector as well, and fills in the old one if it returns 0.
    let result = unsafe {
        let mut given = new;
        if !new.is_null() {
            let vector = with_stub.write(*new);
            vector.handler = stub_for(vector.handler);
            given = vector;
        }
        let result = core::mem::transmute::<usize, Function>(address)(signal, given, old);
        if result == 0 && !old.is_null() {
            (*old).handler = handler_of((*old).handler);
        }
        result
    };
    if let Some(mut span) = span {
        span.returned();
        let failed = result != 0;
        let outcome = if failed { span::errno() } else { 0 };
        span.leave(Call::Sigaction, failed, outcome, &action_now(signal), &[], &[]);
    }
    result
}
