//! Waiting for descriptors: poll, select, epoll. Recorded is what was ready, as far as a record has room for it.
//!
//! Of libc's own waiting only that by poll(2) is seen (getaddrinfo(3)); it does not use the others.

use super::{checked, hooks};
use crate::core::readable;
use crate::recording::list::List;
use crate::recording::span;
use core::ffi::{c_int, c_ulong, c_void};
use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

/// In a record, no timeout.
const FOREVER: i64 = -1;
/// The bits of a descriptor that select(2) found ready.
const TO_READ: i64 = 1;
const TO_WRITE: i64 = 2;
const EXCEPTIONAL: i64 = 4;

fn milliseconds(timeout: c_int) -> i64 {
    if timeout < 0 { FOREVER } else { i64::from(timeout) * 1_000_000 }
}

/// The timeout of a call that returned `result`; 0 where that does not tell that the kernel has read it.
///
/// # Safety
/// If the call succeeded or was interrupted, `timeout` is null or valid.
unsafe fn time(timeout: *const timespec, result: c_int) -> i64 {
    if timeout.is_null() {
        return FOREVER;
    }
    if result < 0 && span::errno() != i64::from(libc::EINTR) {
        return 0;
    }
    // SAFETY: as the caller vouches.
    unsafe { (*timeout).tv_sec.saturating_mul(1_000_000_000).saturating_add((*timeout).tv_nsec) }
}

/// The timeout of select(2), which writes over it what was left. Read before the call, as libc does; 0 where it cannot
/// be read.
fn time_asked(timeout: *const timeval) -> i64 {
    if timeout.is_null() {
        return FOREVER;
    }
    // SAFETY: two numbers, which may be any.
    let asked = unsafe { readable::copy::<timeval>(timeout as usize) };
    let Some(timeval { tv_sec, tv_usec }) = asked else { return 0 };
    tv_sec.saturating_mul(1_000_000_000).saturating_add(tv_usec.saturating_mul(1000))
}

/// # Safety
/// After a call that returned `result`, which is not negative, `fds` has `count` entries.
#[inline(never)]
unsafe fn ready(fds: *const pollfd, count: nfds_t, result: c_int) -> List {
    let (mut list, mut index, mut missing) = (List::new(), 0, result.max(0));
    while missing > 0 && index < count {
        // SAFETY: as the caller vouches.
        let pollfd { fd, revents, .. } = unsafe { *fds.add(index as usize) };
        if revents != 0 {
            missing -= 1;
            if !list.push([i64::from(fd), i64::from(revents)]) {
                break;
            }
        }
        index += 1;
    }
    list
}

/// The descriptors in the sets that select(2) has left. The kernel looks at no more of the sets than there can be
/// descriptors, however large `count` is, and neither does this: it ends at the last of the `result` bits.
///
/// # Safety
/// After a call that returned `result`, which is not negative, each set is null or has all bits that are set.
#[inline(never)]
unsafe fn ready_in(sets: [*const fd_set; 3], count: c_int, result: c_int) -> List {
    const BITS: c_int = c_ulong::BITS as c_int;
    let (mut list, mut missing) = (List::new(), result.max(0));
    let mut first = 0;
    while missing > 0 && first < count {
        let words = sets.map(|set| match set.is_null() {
            true => 0,
            // SAFETY: as the caller vouches.
            false => unsafe { *set.cast::<c_ulong>().add((first / BITS) as usize) },
        });
        for bit in 0..BITS.min(count - first) {
            let has = |index: usize, meaning: i64| if words[index] >> bit & 1 != 0 { meaning } else { 0 };
            let found = [has(0, TO_READ), has(1, TO_WRITE), has(2, EXCEPTIONAL)];
            missing -= found.iter().filter(|&&meaning| meaning != 0).count() as c_int;
            let all = found[0] | found[1] | found[2];
            if all != 0 && !list.push([i64::from(first + bit), all]) {
                return list;
            }
        }
        first += BITS;
    }
    list
}

/// # Safety
/// After a call that returned `count`, which is not negative, `events` has as many entries.
#[inline(never)]
unsafe fn events_in(events: *const epoll_event, count: c_int) -> List {
    let mut list = List::new();
    for index in 0..count.max(0) as usize {
        // SAFETY: as the caller vouches; the structure is packed, and read as a whole.
        let epoll_event { events, u64: data } = unsafe { events.add(index).read_unaligned() };
        if !list.push([data as i64, i64::from(events)]) {
            break;
        }
    }
    list
}

/// What a descriptor is to be watched for, and what is to be told then.
///
/// # Safety
/// If the call succeeded or failed with one of the errors below, and is not `EPOLL_CTL_DEL`, `event` is valid.
unsafe fn watched(operation: c_int, event: *const epoll_event, result: c_int) -> [i64; 2] {
    const AFTER_IT_WAS_READ: [c_int; 2] = [libc::EEXIST, libc::ENOENT];
    let read = result == 0 || AFTER_IT_WAS_READ.iter().any(|&error| span::errno() == i64::from(error));
    if !read || operation == libc::EPOLL_CTL_DEL {
        return [0; 2];
    }
    // SAFETY: as the caller vouches.
    let epoll_event { events, u64: data } = unsafe { event.read_unaligned() };
    [i64::from(events), data as i64]
}

hooks! {
    Poll: poll | __poll + poll (fds: *mut pollfd, count: nfds_t, timeout: c_int) -> result: c_int,
        [count as i64, milliseconds(timeout)], [], &ready(fds, count, result);
    Poll: ppoll (fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> result: c_int,
        [count as i64, time(timeout, result)], [], &ready(fds, count, result);
    Select: select | __select
        (count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *mut timeval)
        [asked = time_asked(timeout)] -> result: c_int,
        [i64::from(count), asked], [], &ready_in([read, write, except], count, result);
    Select: pselect
        (count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *const timespec, mask: *const sigset_t)
        -> result: c_int,
        [i64::from(count), time(timeout, result)], [], &ready_in([read, write, except], count, result);
    EpollCreate: epoll_create (size: c_int) -> fd: c_int, [0], [];
    EpollCreate: epoll_create1 (flags: c_int) -> fd: c_int, [i64::from(flags)], [];
    EpollCtl: epoll_ctl (epfd: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> result: c_int,
        { let [events, data] = watched(operation, event, result);
          [i64::from(epfd), i64::from(operation), i64::from(fd), events, data] }, [];
    EpollWait: epoll_wait (epfd: c_int, events: *mut epoll_event, most: c_int, timeout: c_int) -> result: c_int,
        [i64::from(epfd), i64::from(most), milliseconds(timeout)], [], &events_in(events, result);
    EpollWait: epoll_pwait
        (epfd: c_int, events: *mut epoll_event, most: c_int, timeout: c_int, mask: *const sigset_t) -> result: c_int,
        [i64::from(epfd), i64::from(most), milliseconds(timeout)], [], &events_in(events, result);
    EpollWait: epoll_pwait2
        (epfd: c_int, events: *mut epoll_event, most: c_int, timeout: *const timespec, mask: *const c_void) -> result: c_int,
        [i64::from(epfd), i64::from(most), time(timeout, result)], [], &events_in(events, result);
}

/// True when `bytes` hold `count` entries of poll(2).
fn hold(bytes: usize, count: nfds_t) -> bool {
    (bytes / size_of::<pollfd>()) as nfds_t >= count
}

checked! {
    Poll: __poll_chk (fds: *mut pollfd, count: nfds_t, timeout: c_int, bytes: usize)
        if hold(bytes, count) => poll (fds: *mut pollfd, count: nfds_t, timeout: c_int) -> result: c_int,
        [count as i64, milliseconds(timeout)], [], &ready(fds, count, result);
    Poll: __ppoll_chk
        (fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t, bytes: usize)
        if hold(bytes, count) => ppoll
        (fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> result: c_int,
        [count as i64, time(timeout, result)], [], &ready(fds, count, result);
}
