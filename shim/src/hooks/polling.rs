//! Waiting for descriptors: poll, select, epoll. Recorded is what was ready, as far as a record has room for it.
//!
//! Of libc's own waiting only that by poll(2) is seen (getaddrinfo(3)); it does not use the others.

use super::{checked, system_calls};
use core::ffi::{c_int, c_void};
use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

system_calls! {
    SYS_poll: poll | __poll + poll (fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int;
    SYS_ppoll: ppoll (fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    SYS_select: select | __select
        (count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *mut timeval) -> c_int;
    SYS_pselect6: pselect
        (count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *const timespec, mask: *const sigset_t)
        -> c_int;
    SYS_epoll_create: epoll_create (size: c_int) -> c_int;
    SYS_epoll_create1: epoll_create1 (flags: c_int) -> c_int;
    SYS_epoll_ctl: epoll_ctl (epfd: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int;
    SYS_epoll_wait: epoll_wait (epfd: c_int, events: *mut epoll_event, most: c_int, timeout: c_int) -> c_int;
    SYS_epoll_pwait: epoll_pwait
        (epfd: c_int, events: *mut epoll_event, most: c_int, timeout: c_int, mask: *const sigset_t) -> c_int;
    SYS_epoll_pwait2: epoll_pwait2
        (epfd: c_int, events: *mut epoll_event, most: c_int, timeout: *const timespec, mask: *const c_void) -> c_int;
}

/// True when `bytes` hold `count` entries of poll(2).
fn hold(bytes: usize, count: nfds_t) -> bool {
    (bytes / size_of::<pollfd>()) as nfds_t >= count
}

checked! {
    SYS_poll: __poll_chk (fds: *mut pollfd, count: nfds_t, timeout: c_int, bytes: usize)
        if hold(bytes, count) => poll (fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int;
    SYS_ppoll: __ppoll_chk
        (fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t, bytes: usize)
        if hold(bytes, count) => ppoll
        (fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int;
}
