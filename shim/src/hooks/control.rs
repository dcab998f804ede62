//! Locks on files, and the two calls whose last argument depends on their second: `fcntl` and `ioctl`. A request of
//! `ioctl` that clones a file is recorded as such, with both files; one that opens a file, with that.
//!
//! Not seen: the locks that libc has on the files of utmpx(5) and wtmp, by a function of its own without a name.
//!
//! Every third argument of these is an int or a pointer; as a machine word it goes on untouched.

use super::decoded::decoded;
use super::hooks;
use crate::core::real::{Inner, usize_fn};
use crate::core::sys;
use crate::recording::span;
use core::ffi::{c_int, c_long, c_ulong, c_void};
use libc::off_t;
use syn_trace::calls::Call;
use syn_trace::record;
use syn_trace::system_calls::{AFTER_THE_LOCK, FcntlArgument, fcntl_argument, requests_more};

hooks! {
    Fcntl: fcntl | fcntl64 | __fcntl + fcntl64 (fd: c_int, command: c_int, argument: usize) -> result: c_int,
        [fd as i64, command as i64, number_of(command, argument)], [], lock_of(command, argument, result).fields();
    // isatty(3) is made of it.
    Ioctl: tcgetattr + tcgetattr (fd: c_int, settings: *mut c_void) -> result: c_int, [fd as i64, libc::TCGETS as i64], [];
    Ioctl: tcsetattr (fd: c_int, action: c_int, settings: *const c_void) -> result: c_int,
        [fd as i64, libc::TCSETS as i64 + i64::from(action)], [];
    Flock: flock (fd: c_int, operation: c_int) -> result: c_int, [fd as i64, operation as i64], [];
    // It is made of fcntl.
    Lockf quiet: lockf | lockf64 (fd: c_int, command: c_int, length: off_t) -> result: c_int,
        [fd as i64, command as i64, length], [];
}

type Control = unsafe extern "C-unwind" fn(c_int, c_ulong, usize) -> c_int;

/// Makes and records an `ioctl`. `flags` as for [`span::enter`].
///
/// # Safety
/// `real` does what `ioctl` does, and the arguments are for it.
#[inline(always)]
unsafe fn control(
    flags: record::Flags,
    fd: c_int,
    request: c_ulong,
    argument: usize,
    real: Control,
) -> c_int {
    // SAFETY: the caller's own arguments.
    let real = || unsafe { real(fd, request, argument) };
    if requests_more(request) {
        let arguments = [fd as usize, request as usize, argument, 0, 0, 0];
        return decoded::<{ libc::SYS_ioctl }>(flags, arguments, || c_long::from(real())) as c_int;
    }
    let Some(mut span) = span::enter(Call::Ioctl, flags) else { return real() };
    let result = real();
    span.returned();
    let failed = result == -1;
    let outcome = if failed { span::errno() } else { i64::from(result) };
    span.leave(Call::Ioctl, failed, outcome, &[i64::from(fd), request as i64], &[], &[]);
    result
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int {
    let Some(address) = super::real!(ioctl).address() else { return super::missing() };
    // SAFETY: the function behind this name has this type; it gets the caller's own arguments.
    unsafe { control(0, fd, request, argument, core::mem::transmute::<usize, Control>(address)) }
}

/// The entry of libc's own `ioctl`.
unsafe extern "C-unwind" fn inner_ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int {
    let Some(address) = INNER_IOCTL.address() else { return super::missing() };
    // SAFETY: as in `ioctl`; the trampoline does what the function of this name does.
    unsafe { control(record::INNER, fd, request, argument, core::mem::transmute::<usize, Control>(address)) }
}

#[used]
#[unsafe(link_section = "syn_inners")]
static INNER_IOCTL: Inner = Inner::new(
    c"ioctl",
    // SAFETY: only the address is used, as the target of a jump from a function of this type.
    unsafe { core::mem::transmute::<Control, usize_fn>(inner_ioctl) },
);

/// The argument where it is a number; pointers are not recorded.
fn number_of(command: c_int, argument: usize) -> i64 {
    if fcntl_argument(command) == FcntlArgument::Number { i64::from(argument as c_int) } else { 0 }
}

/// `l_type`, `l_whence`, `l_start`, `l_len`, if they are known.
struct Lock {
    fields: [i64; 4],
    known: bool,
}

impl Lock {
    fn fields(&self) -> &[i64] {
        if self.known { &self.fields } else { &[] }
    }
}

/// The lock that a command is about; of `F_GETLK`, what the kernel answered.
///
/// # Safety
/// If the command takes a structure and the kernel has read it, `argument` points to that.
unsafe fn lock_of(command: c_int, argument: usize, result: c_int) -> Lock {
    let was_read = result != -1 || AFTER_THE_LOCK.contains(&sys::errno());
    if fcntl_argument(command) != FcntlArgument::Lock || !was_read {
        return Lock { fields: [0; 4], known: false };
    }
    // SAFETY: as the caller vouches; the program may have packed it into a structure of its own.
    let lock = unsafe { (argument as *const libc::flock).read_unaligned() };
    Lock { fields: [i64::from(lock.l_type), i64::from(lock.l_whence), lock.l_start, lock.l_len], known: true }
}
