//! Messages: data with a header, which may carry descriptors (`SCM_RIGHTS`, unix(7)).

use super::addresses::{given, written};
use super::hooks;
use crate::core::readable::{self, Reader};
use crate::recording::first_records;
use crate::recording::list::List;
use crate::recording::thread::current;
use core::ffi::{c_int, c_uint};
use core::mem::offset_of;
use libc::{cmsghdr, mmsghdr, msghdr, timespec};
use syn_trace::address::Address;

/// The header of a message. Of a call that failed it is not known whether it has looked there.
///
/// # Safety
/// If the call has succeeded, `message` is valid.
unsafe fn header(message: *const msghdr, failed: bool) -> Option<msghdr> {
    // SAFETY: as the caller vouches, or readable; whatever is there is a header.
    unsafe { if failed { readable::copy(message as usize) } else { Some(message.read_unaligned()) } }
}

/// The bytes of the buffers that a message names.
///
/// # Safety
/// As for [`header`].
#[inline(never)]
unsafe fn room_in(message: *const msghdr, result: isize) -> i64 {
    // SAFETY: as the caller vouches.
    let Some(header) = (unsafe { header(message, result < 0) }) else { return 0 };
    if result < 0 {
        return total_unread(header.msg_iov as usize, header.msg_iovlen);
    }
    // SAFETY: the kernel has read the vector. It takes a part of what is asked for where the sum is too large.
    let lengths = (0..header.msg_iovlen).map(|index| unsafe { (*header.msg_iov.add(index)).iov_len as i64 });
    lengths.fold(0, i64::saturating_add)
}

/// The bytes of the parts of a transfer that failed.
fn total_unread(vector: usize, parts: usize) -> i64 {
    let state = current::get();
    if !current::is_state(state) {
        return 0;
    }
    // SAFETY: this thread's state, whose window belongs to the call under way.
    Reader::new(unsafe { &mut (*state).scratch().windows[0] }).total(vector, parts)
}

/// Where a message was to go.
///
/// # Safety
/// As for [`header`].
#[inline(never)]
unsafe fn receiver(message: *const msghdr, result: isize) -> Address {
    // SAFETY: as the caller vouches.
    match unsafe { header(message, result < 0) } {
        // SAFETY: as above, as far as the call has succeeded.
        Some(header) => unsafe { given(header.msg_name.cast(), header.msg_namelen, result < 0) },
        None => Address::NONE,
    }
}

/// Where a message came from; `room` is the length of the buffer for that.
///
/// # Safety
/// After a call that succeeded, `message` is valid.
#[inline(never)]
unsafe fn sender(message: *const msghdr, room: Option<u32>, result: isize) -> Address {
    if result < 0 {
        return Address::NONE;
    }
    // SAFETY: as the caller vouches.
    unsafe { written((*message).msg_name.cast(), (*message).msg_namelen, room) }
}

/// The room that a message to be received has for an address, read before the call.
fn name_room(message: *const msghdr) -> Option<u32> {
    // SAFETY: a number, which may be any.
    unsafe { readable::copy((message as usize).wrapping_add(offset_of!(msghdr, msg_namelen))) }
}

/// Calls `with` for every descriptor that goes with a message. The control data of a message is a row of headers, each
/// on a multiple of 8 bytes, with its data behind it (cmsg(3)).
///
/// # Safety
/// The message was read or written by the kernel.
unsafe fn each_right(message: *const msghdr, mut with: impl FnMut(c_int)) {
    // SAFETY: the kernel has accepted or written the control data, and nothing behind its length is read.
    unsafe {
        let (control, end) = ((*message).msg_control.cast::<u8>(), (*message).msg_controllen);
        let mut at = 0;
        while !control.is_null() && at + size_of::<cmsghdr>() <= end {
            let header: cmsghdr = control.add(at).cast::<cmsghdr>().read_unaligned();
            if header.cmsg_len < size_of::<cmsghdr>() || header.cmsg_len > end - at {
                break;
            }
            if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let first = control.add(at + size_of::<cmsghdr>()).cast::<c_int>();
                let count = (header.cmsg_len - size_of::<cmsghdr>()) / size_of::<c_int>();
                (0..count).for_each(|index| with(first.add(index).read_unaligned()));
            }
            at += header.cmsg_len.next_multiple_of(align_of::<cmsghdr>());
        }
    }
}

/// The descriptors that went or came with a message.
///
/// # Safety
/// After a call that succeeded, `message` is valid.
#[inline(never)]
unsafe fn rights(message: *const msghdr, result: isize) -> List {
    let mut list = List::new();
    if result >= 0 {
        // SAFETY: as the caller vouches.
        unsafe { each_right(message, |fd| _ = list.push([i64::from(fd)])) };
    }
    list
}

/// Notes what the descriptors are that came with a message.
///
/// # Safety
/// As for [`rights`].
#[inline(never)]
unsafe fn note_received(message: *const msghdr, result: isize) {
    let state = current::get();
    if result < 0 || !current::is_state(state) {
        return;
    }
    // SAFETY: this thread's state; otherwise as the caller vouches.
    unsafe {
        each_right(message, |fd| {
            _ = first_records::inherited_descriptor(&mut *state, fd, &mut (*state).scratch().texts)
        })
    };
}

/// The bytes of the messages that were sent or received.
///
/// # Safety
/// After a call that returned `count`, as many messages are valid.
unsafe fn moved(messages: *const mmsghdr, count: c_int) -> i64 {
    // SAFETY: as the caller vouches.
    (0..count.max(0) as usize).map(|index| i64::from(unsafe { (*messages.add(index)).msg_len })).sum()
}

/// # Safety
/// As for [`moved`].
#[inline(never)]
unsafe fn note_all_received(messages: *const mmsghdr, count: c_int) {
    for index in 0..count.max(0) as usize {
        // SAFETY: as the caller vouches.
        unsafe { note_received(&raw const (*messages.add(index)).msg_hdr, 0) };
    }
}

hooks! {
    Sendmsg: sendmsg (fd: c_int, message: *const msghdr, flags: c_int) -> result: isize,
        [i64::from(fd), room_in(message, result), i64::from(flags)], [receiver(message, result)], &rights(message, result);
    Recvmsg: recvmsg + recvmsg (fd: c_int, message: *mut msghdr, flags: c_int) [room = name_room(message)] -> result: isize,
        [i64::from(fd), room_in(message, result), i64::from(flags)], [sender(message, room, result)],
        &rights(message, result), then note_received(message, result);
    Sendmmsg: sendmmsg + sendmmsg
        (fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> result: c_int,
        [i64::from(fd), moved(messages, result), i64::from(count), i64::from(flags)], [];
    Recvmmsg: recvmmsg
        (fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, timeout: *mut timespec) -> result: c_int,
        [i64::from(fd), moved(messages, result), i64::from(count), i64::from(flags)], [],
        &[], then note_all_received(messages, result);
}
