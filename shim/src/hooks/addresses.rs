//! The addresses of sockets, as the kernel tells them or the program gives them.

use super::Text;
use crate::core::readable;
use crate::core::sys;
use crate::recording::span::Span;
use core::ffi::c_int;
use libc::{sockaddr, sockaddr_storage, socklen_t};
use syn_trace::address::Address;

impl Text for Address {
    unsafe fn bytes(&self, _: bool, _: &Span, _: usize) -> &[u8] {
        Address::bytes(self)
    }
}

/// Asks the kernel for one of the names of a socket, by way of getsockname(2) or getpeername(2).
#[inline(never)]
fn asked(fd: c_int, ask: unsafe fn(c_int, *mut u8, *mut socklen_t) -> isize) -> Address {
    let mut raw = [0u8; size_of::<sockaddr_storage>()];
    let mut length = raw.len() as socklen_t;
    // SAFETY: the buffer is as long as said.
    if fd < 0 || unsafe { ask(fd, raw.as_mut_ptr(), &mut length) } < 0 {
        return Address::NONE;
    }
    Address::of(&raw[..raw.len().min(length as usize)])
}

/// The socket's own address, as the kernel has it.
pub fn local_of(fd: c_int) -> Address {
    asked(fd, sys::getsockname)
}

/// The address that the socket is connected to, as the kernel has it.
pub fn peer_of(fd: c_int) -> Address {
    asked(fd, sys::getpeername)
}

/// The process at the other end of a Unix socket; 0 where the kernel does not tell.
pub fn peer_process(fd: c_int) -> i64 {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as socklen_t;
    if fd >= 0 {
        // SAFETY: both are valid for writing, the length is that of `peer`.
        unsafe {
            let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
            sys::getsockopt(fd, level, option, (&raw mut peer).cast(), &mut length);
        }
    }
    i64::from(peer.pid)
}

/// The address that the program gave to a call. Of one that failed it is not known whether it has looked there.
///
/// # Safety
/// If the call has succeeded, `address` is null or has `length` bytes.
#[inline(never)]
pub unsafe fn given(address: *const sockaddr, length: socklen_t, failed: bool) -> Address {
    let length = (length as usize).min(size_of::<sockaddr_storage>());
    if address.is_null() {
        return Address::NONE;
    }
    if failed {
        let mut copy = [0u8; size_of::<sockaddr_storage>()];
        let was_copied = readable::copy_all(address as usize, &mut copy[..length]);
        return if was_copied { Address::of(&copy[..length]) } else { Address::NONE };
    }
    // SAFETY: as the caller vouches.
    Address::of(unsafe { core::slice::from_raw_parts(address.cast(), length) })
}

/// The address that a call which succeeded has written: `room` bytes were there, `length` would have been needed.
///
/// # Safety
/// `address` is null or has `room` bytes.
pub unsafe fn written(address: *const sockaddr, length: socklen_t, room: Option<socklen_t>) -> Address {
    match room {
        // SAFETY: as the caller vouches.
        Some(room) if length <= room => unsafe { given(address, length, false) },
        _ => Address::NONE,
    }
}
