//! Locks on files, and the two calls whose last argument depends on their second: `fcntl` and `ioctl`.
//!
//! Every third argument of these is an int or a pointer; as a machine word it goes on untouched.

use super::hooks;
use core::ffi::{c_int, c_ulong, c_void};
use libc::off_t;

/// The commands whose argument is a number.
const NUMBERS: [c_int; 10] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_SETFD,
    libc::F_SETFL,
    libc::F_SETOWN,
    F_SETSIG,
    libc::F_SETLEASE,
    libc::F_NOTIFY,
    libc::F_SETPIPE_SZ,
    libc::F_ADD_SEALS,
];

/// The argument is a `struct flock`. 64-bit systems have one form of it and one number for each command.
const LOCKS: [c_int; 6] =
    [libc::F_GETLK, libc::F_SETLK, libc::F_SETLKW, libc::F_OFD_GETLK, libc::F_OFD_SETLK, libc::F_OFD_SETLKW];

/// Errors of a lock command that come after the kernel has read the structure.
const AFTER_THE_LOCK: [c_int; 6] =
    [libc::EAGAIN, libc::EACCES, libc::EINTR, libc::EDEADLK, libc::ENOLCK, libc::EOVERFLOW];

const F_SETSIG: c_int = 10;

hooks! {
    Fcntl: fcntl | fcntl64 | __fcntl + fcntl64 (fd: c_int, command: c_int, argument: usize) -> result: c_int,
        [fd as i64, command as i64, number_of(command, argument)], [], lock_of(command, argument, result).fields();
    Ioctl: ioctl + ioctl (fd: c_int, request: c_ulong, argument: usize) -> result: c_int, [fd as i64, request as i64], [];
    // isatty(3) is made of it.
    Ioctl: tcgetattr + tcgetattr (fd: c_int, settings: *mut c_void) -> result: c_int, [fd as i64, libc::TCGETS as i64], [];
    Ioctl: tcsetattr (fd: c_int, action: c_int, settings: *const c_void) -> result: c_int,
        [fd as i64, libc::TCSETS as i64 + i64::from(action)], [];
    Flock: flock (fd: c_int, operation: c_int) -> result: c_int, [fd as i64, operation as i64], [];
    // It is made of fcntl.
    Lockf quiet: lockf | lockf64 (fd: c_int, command: c_int, length: off_t) -> result: c_int,
        [fd as i64, command as i64, length], [];
}

/// The argument where it is a number; pointers are not recorded.
fn number_of(command: c_int, argument: usize) -> i64 {
    if NUMBERS.contains(&command) { i64::from(argument as c_int) } else { 0 }
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
    let was_read = result != -1 || AFTER_THE_LOCK.contains(&crate::sys::errno());
    if !LOCKS.contains(&command) || !was_read {
        return Lock { fields: [0; 4], known: false };
    }
    // SAFETY: as the caller vouches; the program may have packed it into a structure of its own.
    let lock = unsafe { (argument as *const libc::flock).read_unaligned() };
    Lock { fields: [i64::from(lock.l_type), i64::from(lock.l_whence), lock.l_start, lock.l_len], known: true }
}
