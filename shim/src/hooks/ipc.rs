//! Semaphores, shared memory and message queues of System V; message queues and named semaphores of POSIX.
//!
//! A queue of POSIX is a descriptor on Linux: `mq_close` is recorded as `close`. Not hooked: `mq_getattr`, `mq_setattr`
//! and `mq_notify`, which neither wait nor move anything; `shm_open` and `shm_unlink`, whose open and unlink of a file
//! below `/dev/shm` are seen as such.
//!
//! What hands over its arguments alone is written here, and not left to the decoder: 5 ns less.

use super::{hooks, system_calls};
use crate::core::elf;
use crate::recording::span::{self, Span};
use core::ffi::{c_char, c_int, c_long, c_uint, c_void};
use libc::{key_t, mode_t, sembuf, timespec};
use syn_trace::system_calls::nanoseconds;

/// Nanoseconds of a time that the call has read; -1 for none, or where it may not have read it.
///
/// # Safety
/// Unless the call failed with EFAULT or EINVAL, `time` is null or valid.
pub(super) unsafe fn limit(time: *const timespec, failed: bool) -> i64 {
    let unread = failed && [libc::EFAULT, libc::EINVAL].map(i64::from).contains(&span::errno());
    if time.is_null() || unread {
        return -1;
    }
    // SAFETY: as the caller vouches.
    unsafe { nanoseconds(*time) }
}

hooks! {
    Semget: semget (key: key_t, count: c_int, flags: c_int) -> result: c_int, [i64::from(key), count as i64, flags as i64], [];
    // The last argument is a variadic one; as a fixed machine word it goes on unread.
    Semctl: semctl (id: c_int, number: c_int, command: c_int, argument: usize) -> result: c_int,
        [id as i64, number as i64, command as i64], [];
    Shmget: shmget (key: key_t, size: usize, flags: c_int) -> result: c_int, [i64::from(key), size as i64, flags as i64], [];
    // The result is an address, or -1.
    Shmat: shmat (id: c_int, address: *const c_void, flags: c_int) -> result: isize, [id as i64, flags as i64], [];
    Shmdt: shmdt (address: *const c_void) -> result: c_int, [address as i64], [];
    Shmctl: shmctl (id: c_int, command: c_int, buffer: *mut c_void) -> result: c_int, [id as i64, command as i64], [];

    Msgget: msgget (key: key_t, flags: c_int) -> result: c_int, [i64::from(key), flags as i64], [];
    Msgsnd: msgsnd (id: c_int, message: *const c_void, size: usize, flags: c_int) -> result: c_int,
        [id as i64, size as i64, flags as i64], [];
    Msgrcv: msgrcv (id: c_int, message: *mut c_void, size: usize, kind: c_long, flags: c_int) -> result: isize,
        [id as i64, size as i64, kind, flags as i64], [];
    Msgctl: msgctl (id: c_int, command: c_int, buffer: *mut c_void) -> result: c_int, [id as i64, command as i64], [];

    // Mode and attributes are variadic arguments, there only with O_CREAT.
    MqOpen: mq_open (name: *const c_char, flags: c_int, mode: mode_t, attributes: *const c_void) -> queue: c_int,
        { let [_, _, inode] = super::status_of(queue); [flags as i64, mode_with(flags, mode), inode] }, [name];
    MqOpen: __mq_open_2 (name: *const c_char, flags: c_int) -> queue: c_int,
        { let [_, _, inode] = super::status_of(queue); [flags as i64, 0, inode] }, [name];
    Close: mq_close (queue: c_int) -> result: c_int, [queue as i64], [];
    MqUnlink: mq_unlink (name: *const c_char) -> result: c_int, [], [name];
    MqSend: mq_send (queue: c_int, message: *const c_char, size: usize, priority: c_uint) -> result: c_int,
        [queue as i64, size as i64, i64::from(priority), -1], [];
    MqSend: mq_timedsend
        (queue: c_int, message: *const c_char, size: usize, priority: c_uint, time: *const timespec) -> result: c_int,
        [queue as i64, size as i64, i64::from(priority), limit(time, result != 0)], [];
    MqReceive: mq_receive (queue: c_int, message: *mut c_char, size: usize, priority: *mut c_uint) -> result: isize,
        [queue as i64, size as i64, received(priority, result), -1], [];
    MqReceive: mq_timedreceive
        (queue: c_int, message: *mut c_char, size: usize, priority: *mut c_uint, time: *const timespec) -> result: isize,
        [queue as i64, size as i64, received(priority, result), limit(time, result < 0)], [];

    SemOpen quiet_in_libpthread: sem_open (name: *const c_char, flags: c_int, mode: mode_t, value: c_uint) -> semaphore: *mut c_void,
        [flags as i64, semaphore as i64], [name];
    SemClose: sem_close (semaphore: *mut c_void) -> result: c_int, [semaphore as i64], [];
    SemUnlink quiet_in_libpthread: sem_unlink (name: *const c_char) -> result: c_int, [], [name];
}

system_calls! {
    SYS_semop: semop (id: c_int, operations: *const sembuf, count: usize) -> c_int;
    SYS_semtimedop: semtimedop (id: c_int, operations: *const sembuf, count: usize, time: *const timespec) -> c_int;
}

trait OfLibpthread {
    /// Before glibc 2.34 the function is in libpthread. Of what that calls only a part is seen, such as a link to a file that
    /// nobody has made: then nothing of it is recorded.
    fn quiet_in_libpthread(&mut self);
}

impl OfLibpthread for Span {
    fn quiet_in_libpthread(&mut self) {
        if elf::function_of_libc(c"sem_open").is_none() {
            self.quiet();
        }
    }
}

fn mode_with(flags: c_int, mode: mode_t) -> i64 {
    if flags & libc::O_CREAT != 0 { i64::from(mode) } else { 0 }
}

/// The priority of the message that came.
///
/// # Safety
/// After a call that did not fail, `priority` is null or has been filled in.
unsafe fn received(priority: *const c_uint, result: isize) -> i64 {
    // SAFETY: as the caller vouches.
    if result >= 0 && !priority.is_null() { i64::from(unsafe { *priority }) } else { 0 }
}
