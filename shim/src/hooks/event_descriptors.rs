//! Descriptors that tell of events: eventfd, signalfd, timerfd, inotify, pidfd. They are read and written like files;
//! eventfd_read(3) and eventfd_write(3) call read and write inside libc, and are seen there.

use super::{hooks, system_calls};
use core::ffi::{c_char, c_int, c_uint};
use libc::{itimerspec, pid_t, sigset_t};

/// The first 64 signals of a mask, as the kernel takes it.
///
/// # Safety
/// After a call that succeeded, `mask` is valid.
unsafe fn signals(mask: *const sigset_t, result: c_int) -> i64 {
    // SAFETY: as the caller vouches.
    if result < 0 { 0 } else { unsafe { mask.cast::<i64>().read() } }
}

hooks! {
    // The system call has an argument more, the size of the mask.
    Signalfd: signalfd (fd: c_int, mask: *const sigset_t, flags: c_int) -> result: c_int,
        [i64::from(fd), signals(mask, result), i64::from(flags)], [];
}

system_calls! {
    SYS_eventfd2: eventfd (initial: c_uint, flags: c_int) -> c_int;
    SYS_timerfd_create: timerfd_create (clock: c_int, flags: c_int) -> c_int;
    SYS_timerfd_settime: timerfd_settime (fd: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int;
    SYS_timerfd_gettime: timerfd_gettime (fd: c_int, now: *mut itimerspec) -> c_int;
    SYS_inotify_init: inotify_init () -> c_int;
    SYS_inotify_init1: inotify_init1 (flags: c_int) -> c_int;
    SYS_inotify_add_watch: inotify_add_watch (fd: c_int, path: *const c_char, mask: u32) -> c_int;
    SYS_inotify_rm_watch: inotify_rm_watch (fd: c_int, watch: c_int) -> c_int;
    SYS_pidfd_open: pidfd_open (pid: pid_t, flags: c_uint) -> c_int;
    SYS_pidfd_getfd: pidfd_getfd (pidfd: c_int, target: c_int, flags: c_uint) -> c_int;
}
