//! Sockets: made, named, connected, configured, and data without a message header ([`super::messages`] has the others).
//!
//! What libc does itself on behalf of getaddrinfo(3), getifaddrs(3) and syslog(3) is seen: the functions that it calls
//! there have detours. (It closes the socket by which the kernel tells of interfaces without calling one; that is not
//! seen.) The others do not, as each costs time at the start of every process; they are called inside libc by nobody but
//! rcmd(3), rexec(3) and what is left of Sun RPC.

use super::addresses::{given, local_of, peer_of, peer_process, written};
use super::{checked, hooks, status_of};
use crate::core::readable;
use crate::recording::span;
use core::ffi::{c_int, c_void};
use libc::{sockaddr, socklen_t};
use syn_trace::address::Address;

fn made(fd: c_int) -> i64 {
    let [_, _, inode] = status_of(fd);
    inode
}

/// The ends of a pair, then the inodes of both.
///
/// # Safety
/// After a call that returned 0, `ends` points to two descriptors.
#[inline(never)]
unsafe fn pair(ends: *const c_int, result: c_int) -> [i64; 4] {
    if result != 0 {
        return [-1, -1, 0, 0];
    }
    // SAFETY: as the caller vouches.
    let [first, second] = unsafe { [*ends, *ends.add(1)] };
    [i64::from(first), i64::from(second), made(first), made(second)]
}

fn accepted(fd: c_int, flags: c_int, new: c_int) -> [i64; 4] {
    [i64::from(fd), i64::from(flags), made(new), peer_process(new)]
}

/// The name that the socket has after bind(2): the kernel chooses a port or a name where none is given.
///
/// # Safety
/// As for [`given`].
#[inline(never)]
unsafe fn bound(fd: c_int, address: *const sockaddr, length: socklen_t, result: c_int) -> Address {
    // SAFETY: as the caller vouches.
    if result == 0 { local_of(fd) } else { unsafe { given(address, length, true) } }
}

/// The socket's own address, once it is on its way to a connection, which goes on also when connect(2) does not wait
/// for it or is interrupted.
fn connecting(fd: c_int, result: c_int) -> Address {
    let goes_on = [libc::EINPROGRESS, libc::EINTR].iter().any(|&error| span::errno() == i64::from(error));
    if result == 0 || goes_on { local_of(fd) } else { Address::NONE }
}

/// Where a datagram came from.
///
/// # Safety
/// After a call that succeeded, `address` is null or has the room that `length` told before it.
#[inline(never)]
unsafe fn sender(
    address: *const sockaddr,
    length: *const socklen_t,
    room: Option<u32>,
    result: isize,
) -> Address {
    if result < 0 || address.is_null() || room.is_none() {
        return Address::NONE;
    }
    // SAFETY: as the caller vouches; the kernel has written the length.
    unsafe { written(address, *length, room) }
}

hooks! {
    Socket: socket + socket (domain: c_int, kind: c_int, protocol: c_int) -> fd: c_int,
        [i64::from(domain), i64::from(kind), i64::from(protocol), made(fd)], [];
    Socketpair: socketpair (domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> result: c_int,
        { let [first, second, inode, other] = pair(ends, result);
          [first, second, i64::from(domain), i64::from(kind), i64::from(protocol), inode, other] }, [];
    Bind: bind + bind (fd: c_int, address: *const sockaddr, length: socklen_t) -> result: c_int,
        [i64::from(fd)], [bound(fd, address, length, result)];
    Listen: listen (fd: c_int, backlog: c_int) -> result: c_int, [i64::from(fd), i64::from(backlog)], [];
    Accept: accept (fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> new: c_int,
        { accepted(fd, 0, new) }, [local_of(new), peer_of(new)];
    Accept: accept4 (fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> new: c_int,
        { accepted(fd, flags, new) }, [local_of(new), peer_of(new)];
    Connect: connect | __connect + connect (fd: c_int, address: *const sockaddr, length: socklen_t) -> result: c_int,
        [i64::from(fd)], [connecting(fd, result), given(address, length, result != 0)];
    Shutdown: shutdown (fd: c_int, how: c_int) -> result: c_int, [i64::from(fd), i64::from(how)], [];
    Setsockopt: setsockopt + setsockopt
        (fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> result: c_int,
        [i64::from(fd), i64::from(level), i64::from(name), i64::from(length)], [];
    Getsockopt: getsockopt
        (fd: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t) -> result: c_int,
        [i64::from(fd), i64::from(level), i64::from(name)], [];
    Getsockname: getsockname + getsockname (fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> result: c_int,
        [i64::from(fd)], [if result == 0 { local_of(fd) } else { Address::NONE }];
    Getpeername: getpeername (fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> result: c_int,
        [i64::from(fd)], [if result == 0 { peer_of(fd) } else { Address::NONE }];

    Send: send | __send + send (fd: c_int, buffer: *const c_void, count: usize, flags: c_int) -> result: isize,
        [i64::from(fd), count as i64, i64::from(flags)], [];
    Recv: recv (fd: c_int, buffer: *mut c_void, count: usize, flags: c_int) -> result: isize,
        [i64::from(fd), count as i64, i64::from(flags)], [];
    Sendto: sendto + sendto
        (fd: c_int, buffer: *const c_void, count: usize, flags: c_int, address: *const sockaddr, length: socklen_t) -> result: isize,
        [i64::from(fd), count as i64, i64::from(flags)], [given(address, length, result < 0)];
    Recvfrom: recvfrom + recvfrom
        (fd: c_int, buffer: *mut c_void, count: usize, flags: c_int, address: *mut sockaddr, length: *mut socklen_t)
        [room = room_of(address, length)] -> result: isize,
        [i64::from(fd), count as i64, i64::from(flags)], [sender(address, length, room, result)];
}

checked! {
    Recv: __recv_chk (fd: c_int, buffer: *mut c_void, count: usize, size: usize, flags: c_int)
        if count <= size => recv (fd: c_int, buffer: *mut c_void, count: usize, flags: c_int) -> result: isize,
        [i64::from(fd), count as i64, i64::from(flags)], [];
    Recvfrom: __recvfrom_chk
        (fd: c_int, buffer: *mut c_void, count: usize, size: usize, flags: c_int, address: *mut sockaddr, length: *mut socklen_t)
        if count <= size => recvfrom
        (fd: c_int, buffer: *mut c_void, count: usize, flags: c_int, address: *mut sockaddr, length: *mut socklen_t)
        [room = room_of(address, length)] -> result: isize,
        [i64::from(fd), count as i64, i64::from(flags)], [sender(address, length, room, result)];
}

/// How much room the program has for an address; the call writes over it how much it would have needed.
fn room_of(address: *const sockaddr, length: *const socklen_t) -> Option<u32> {
    // SAFETY: a number, which may be any.
    if address.is_null() { None } else { unsafe { readable::copy(length as usize) } }
}
