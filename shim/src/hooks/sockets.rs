//! Sockets: made, named, connected, configured, and data without a message header ([`super::messages`] has the others).
//!
//! What libc does itself on behalf of getaddrinfo(3), getifaddrs(3) and syslog(3) is seen: the functions that it calls
//! there have detours. (It closes the socket by which the kernel tells of interfaces without calling one; that is not
//! seen.) The others do not, as each costs time at the start of every process; they are called inside libc by nobody but
//! rcmd(3), rexec(3) and what is left of Sun RPC.

use super::{checked, hooks, system_calls};
use core::ffi::{c_int, c_void};
use libc::{sockaddr, socklen_t};

system_calls! {
    SYS_socket: socket + socket (domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    SYS_socketpair: socketpair (domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int;
    SYS_bind: bind + bind (fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    SYS_listen: listen (fd: c_int, backlog: c_int) -> c_int;
    SYS_accept: accept (fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    SYS_accept4: accept4 (fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int;
    SYS_connect: connect | __connect + connect (fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    SYS_shutdown: shutdown (fd: c_int, how: c_int) -> c_int;
    SYS_setsockopt: setsockopt + setsockopt
        (fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int;
    SYS_getsockopt: getsockopt
        (fd: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t) -> c_int;
    SYS_getsockname: getsockname + getsockname (fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    SYS_getpeername: getpeername (fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;

    SYS_sendto: sendto + sendto
        (fd: c_int, buffer: *const c_void, count: usize, flags: c_int, address: *const sockaddr, length: socklen_t) -> isize;
    SYS_recvfrom: recvfrom + recvfrom
        (fd: c_int, buffer: *mut c_void, count: usize, flags: c_int, address: *mut sockaddr, length: *mut socklen_t) -> isize;
}

hooks! {
    // What sendto and recvfrom do without an address. So common that each has a hook of its own: 30 ns less.
    Send: send | __send + send (fd: c_int, buffer: *const c_void, count: usize, flags: c_int) -> result: isize,
        [i64::from(fd), count as i64, i64::from(flags)], [];
    Recv: recv (fd: c_int, buffer: *mut c_void, count: usize, flags: c_int) -> result: isize,
        [i64::from(fd), count as i64, i64::from(flags)], [];
}

checked! {
    SYS_recvfrom: __recv_chk (fd: c_int, buffer: *mut c_void, count: usize, size: usize, flags: c_int)
        if count <= size => recv (fd: c_int, buffer: *mut c_void, count: usize, flags: c_int) -> isize;
    SYS_recvfrom: __recvfrom_chk
        (fd: c_int, buffer: *mut c_void, count: usize, size: usize, flags: c_int, address: *mut sockaddr, length: *mut socklen_t)
        if count <= size => recvfrom
        (fd: c_int, buffer: *mut c_void, count: usize, flags: c_int, address: *mut sockaddr, length: *mut socklen_t) -> isize;
}
