//! Descriptors that tell of events: eventfd, signalfd, timerfd, inotify, pidfd. They are read and written like files;
//! eventfd_read(3) and eventfd_write(3) call read and write inside libc, and are seen there.

use super::hooks;
use crate::recording::first_records;
use crate::recording::thread::current;
use core::ffi::{c_char, c_int, c_uint};
use libc::{itimerspec, pid_t, sigset_t, timespec};

/// The first 64 signals of a mask, as the kernel takes it.
///
/// # Safety
/// After a call that succeeded, `mask` is valid.
unsafe fn signals(mask: *const sigset_t, result: c_int) -> i64 {
    // SAFETY: as the caller vouches.
    if result < 0 { 0 } else { unsafe { mask.cast::<i64>().read() } }
}

fn nanoseconds(time: timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// When a timer is to expire, and the time between further expirations.
///
/// # Safety
/// After a call that succeeded, `times` is valid.
unsafe fn timer(times: *const itimerspec, result: c_int) -> [i64; 2] {
    if result != 0 {
        return [0; 2];
    }
    // SAFETY: as the caller vouches.
    let itimerspec { it_interval, it_value } = unsafe { *times };
    [nanoseconds(it_value), nanoseconds(it_interval)]
}

/// Notes what the descriptor is that was taken from another process.
fn note_taken(fd: c_int) {
    let state = current::get();
    if fd >= 0 && current::is_state(state) {
        // SAFETY: this thread's state.
        unsafe { first_records::inherited_descriptor(&mut *state, fd, &mut (*state).scratch().texts) };
    }
}

hooks! {
    Eventfd: eventfd (initial: c_uint, flags: c_int) -> fd: c_int, [i64::from(initial), i64::from(flags)], [];
    Signalfd: signalfd (fd: c_int, mask: *const sigset_t, flags: c_int) -> result: c_int,
        [i64::from(fd), signals(mask, result), i64::from(flags)], [];
    TimerfdCreate: timerfd_create (clock: c_int, flags: c_int) -> fd: c_int, [i64::from(clock), i64::from(flags)], [];
    TimerfdSettime: timerfd_settime
        (fd: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> result: c_int,
        { let [value, interval] = timer(new, result); [i64::from(fd), i64::from(flags), value, interval] }, [];
    TimerfdGettime: timerfd_gettime (fd: c_int, now: *mut itimerspec) -> result: c_int, [i64::from(fd)], [];
    InotifyInit: inotify_init () -> fd: c_int, [0], [];
    InotifyInit: inotify_init1 (flags: c_int) -> fd: c_int, [i64::from(flags)], [];
    InotifyAddWatch: inotify_add_watch (fd: c_int, path: *const c_char, mask: u32) -> watch: c_int,
        [i64::from(fd), i64::from(mask)], [path];
    InotifyRmWatch: inotify_rm_watch (fd: c_int, watch: c_int) -> result: c_int, [i64::from(fd), i64::from(watch)], [];
    PidfdOpen: pidfd_open (pid: pid_t, flags: c_uint) -> fd: c_int, [i64::from(pid), i64::from(flags)], [];
    PidfdGetfd: pidfd_getfd (pidfd: c_int, target: c_int, flags: c_uint) -> fd: c_int,
        [i64::from(pidfd), i64::from(target), i64::from(flags)], [], &[], then note_taken(fd);
}
