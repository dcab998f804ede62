//! Sockets.

use super::{Context, Seen, Side, half, value};
use crate::address::Address;
use crate::calls::Call;
use crate::record::MAX_LIST;

/// Bytes of a `struct sockaddr_storage`.
const STORAGE: usize = 128;

fn name_of<W: Context>(seen: &mut Seen<'_, W>, fd: i32, side: Side) -> Address {
    let mut raw = [0; STORAGE];
    let length = if fd < 0 { 0 } else { seen.context.name_of_socket(fd, side, &mut raw) };
    Address::of(&raw[..length.min(STORAGE)])
}

/// True when the call has looked at the addresses and messages that it was given: on errors that may come before,
/// the pointers may be anything.
fn were_read<W: Context>(seen: &Seen<'_, W>) -> bool {
    const BEFORE: [i32; 7] =
        [libc::EFAULT, libc::EBADF, libc::ENOTSOCK, libc::EINVAL, libc::EMSGSIZE, libc::ENOMEM, libc::ENOSYS];
    seen.errno().is_none_or(|errno| BEFORE.iter().all(|&before| i64::from(before) != errno))
}

/// The address of this length in the program's memory.
fn address_at<W: Context>(seen: &mut Seen<'_, W>, address: u64, length: i64) -> Address {
    let mut raw = [0; STORAGE];
    let length = (length.max(0) as usize).min(STORAGE);
    let is_there = address != 0 && length > 0 && seen.context.read(address, &mut raw[..length]);
    Address::of(if is_there { &raw[..length] } else { &[] })
}

/// The address that the program gave.
fn given<W: Context>(seen: &mut Seen<'_, W>, address: usize, length: usize) -> Address {
    if !were_read(seen) {
        return Address::NONE;
    }
    address_at(seen, seen.call.args[address], seen.int(length))
}

/// How much room there is for an address; the call writes over it how much it would have needed.
pub(super) fn room_for_address<W: Context>(length: u64, context: &mut W) -> i64 {
    let room: Option<u32> = value(length, W::try_read, context);
    room.map_or(0, i64::from)
}

/// The same of a message.
pub(super) fn room_for_name<W: Context>(message: u64, context: &mut W) -> i64 {
    let room: Option<u32> = value(message.wrapping_add(NAME_LENGTH as u64), W::try_read, context);
    room.map_or(0, i64::from)
}

fn inode<W: Context>(seen: &mut Seen<'_, W>, fd: i32) -> i64 {
    seen.context.status(fd)[2]
}

pub(super) fn socket<W: Context>(seen: &mut Seen<'_, W>) {
    let inode = inode(seen, seen.new_descriptor());
    seen.put(Call::Socket, [seen.int(0), seen.int(1), seen.int(2), inode]);
}

pub(super) fn socketpair<W: Context>(seen: &mut Seen<'_, W>) {
    let ends: Option<[i32; 2]> = if seen.succeeded() { seen.at(3) } else { None };
    let [first, second] = ends.unwrap_or([-1, -1]);
    let inodes = [inode(seen, first), inode(seen, second)];
    let [domain, kind, protocol] = [seen.int(0), seen.int(1), seen.int(2)];
    seen.put(Call::Socketpair, [first.into(), second.into(), domain, kind, protocol, inodes[0], inodes[1]]);
}

/// The name that it has afterwards: the kernel chooses a port or a name where none is given. Where nobody may ask for that, the given one.
pub(super) fn bind<W: Context>(seen: &mut Seen<'_, W>) {
    let fd = seen.int(0);
    let asks = if seen.succeeded() { fd as i32 } else { -1 };
    let named = name_of(seen, asks, Side::Local);
    let address = if named.bytes().is_empty() { given(seen, 1, 2) } else { named };
    seen.context.record(Call::Bind, seen.outcome, &[fd], &[address.bytes()], &[]);
}

pub(super) fn accept<W: Context>(seen: &mut Seen<'_, W>) {
    let flags = if seen.call.number == libc::SYS_accept4 { seen.int(3) } else { 0 };
    let new = seen.new_descriptor();
    let inode = inode(seen, new);
    let names = [name_of(seen, new, Side::Local), name_of(seen, new, Side::Peer)];
    // Only of a Unix socket does the kernel know the process at the other end.
    let peer = if names[0].is_unix() { seen.context.peer_process(new) } else { 0 };
    let numbers = [seen.int(0), flags, inode, peer];
    seen.context.record(Call::Accept, seen.outcome, &numbers, &[names[0].bytes(), names[1].bytes()], &[]);
}

/// The connection goes on also when the call does not wait for it or is interrupted.
pub(super) fn connect<W: Context>(seen: &mut Seen<'_, W>) {
    let fd = seen.int(0);
    let goes_on = seen.succeeded_or(&[libc::EINPROGRESS, libc::EINTR]);
    let local = name_of(seen, if goes_on { fd as i32 } else { -1 }, Side::Local);
    let address = given(seen, 1, 2);
    seen.context.record(Call::Connect, seen.outcome, &[fd], &[local.bytes(), address.bytes()], &[]);
}

/// getsockname(2) and getpeername(2).
pub(super) fn name<W: Context>(seen: &mut Seen<'_, W>) {
    let (call, side) = match seen.call.number {
        libc::SYS_getsockname => (Call::Getsockname, Side::Local),
        _ => (Call::Getpeername, Side::Peer),
    };
    let fd = seen.int(0);
    let name = name_of(seen, if seen.succeeded() { fd as i32 } else { -1 }, side);
    seen.context.record(call, seen.outcome, &[fd], &[name.bytes()], &[]);
}

/// Without an address it is what libc calls `send`.
pub(super) fn sendto<W: Context>(seen: &mut Seen<'_, W>) {
    let numbers = [seen.int(0), seen.word(2), seen.int(3)];
    if seen.call.args[4] == 0 {
        return seen.put(Call::Send, numbers);
    }
    let address = given(seen, 4, 5);
    seen.context.record(Call::Sendto, seen.outcome, &numbers, &[address.bytes()], &[]);
}

/// Without room for an address it is what libc calls `recv`.
pub(super) fn recvfrom<W: Context>(seen: &mut Seen<'_, W>) {
    let numbers = [seen.int(0), seen.word(2), seen.int(3)];
    if seen.call.args[4] == 0 {
        return seen.put(Call::Recv, numbers);
    }
    let written: Option<u32> = if seen.succeeded() { seen.at(5) } else { None };
    let address = whole(seen, seen.call.args[4], written.map_or(0, i64::from));
    seen.context.record(Call::Recvfrom, seen.outcome, &numbers, &[address.bytes()], &[]);
}

/// The address that a call has written, if there was room for all of it.
fn whole<W: Context>(seen: &mut Seen<'_, W>, address: u64, length: i64) -> Address {
    if length > seen.call.before { Address::NONE } else { address_at(seen, address, length) }
}

/// Bytes of a `struct msghdr`: name 8, its length 4 (and 4 spare), I/O vector 8, its length 8, control data 8, its length 8,
/// flags 4 (and 4 spare).
const HEADER: usize = 56;
const NAME_LENGTH: usize = 8;

/// sendmsg(2) and recvmsg(2).
pub(super) fn message<W: Context>(seen: &mut Seen<'_, W>) {
    let sends = seen.call.number == libc::SYS_sendmsg;
    let header: Option<[u64; HEADER / 8]> = if were_read(seen) { seen.at(1) } else { None };
    let [name, name_length, vector, count, control, control_length, _] = header.unwrap_or_default();
    let room = seen.total(vector, count);
    let length = i64::from(name_length as u32);
    let address = match (sends, seen.succeeded()) {
        (true, _) => address_at(seen, name, length),
        (false, true) => whole(seen, name, length),
        (false, false) => Address::NONE,
    };
    let rights = if seen.succeeded() { rights(seen, control, control_length) } else { 0 };
    let call = if sends { Call::Sendmsg } else { Call::Recvmsg };
    let numbers = [seen.int(0), room, seen.int(2)];
    seen.context.record(call, seen.outcome, &numbers, &[address.bytes()], &seen.room.list[..rights]);
    if !sends {
        for index in 0..rights {
            seen.context.record_descriptor(seen.room.list[index] as i32);
        }
    }
}

/// Puts the descriptors that go with a message into the list, and returns how many there are. The control data is a row
/// of headers, each on a multiple of 8 bytes, with its data behind it (cmsg(3)).
fn rights<W: Context>(seen: &mut Seen<'_, W>, control: u64, bytes: u64) -> usize {
    /// struct cmsghdr: length 8, level 4, type 4.
    const HEADER: u64 = 16;
    let (mut found, mut at) = (0, 0);
    while control != 0 && at + HEADER <= bytes {
        let Some([length, kind]) = seen.value::<[u64; 2]>(control.wrapping_add(at)) else { break };
        if length < HEADER || length > bytes - at {
            break;
        }
        if (kind as i32, (kind >> 32) as i32) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            let data = control.wrapping_add(at + HEADER);
            seen.for_each::<4>(data, (length - HEADER) / 4, |fd, list| {
                list[found] = i64::from(half(fd, 0) as i32);
                found += 1;
                found < MAX_LIST
            });
        }
        at = (at + length).next_multiple_of(8);
    }
    found
}

/// sendmmsg(2) and recvmmsg(2): a row of message headers, each with the number of bytes that it moved behind it.
pub(super) fn messages<W: Context>(seen: &mut Seen<'_, W>) {
    const ONE: usize = HEADER + 8;
    let count = if seen.succeeded() { seen.call.result as u64 } else { 0 };
    let receives = seen.call.number == libc::SYS_recvmmsg;
    let mut moved = 0;
    seen.for_each::<ONE>(seen.call.args[1], count, |one, _| {
        moved += i64::from(half(one, HEADER));
        true
    });
    let call = if receives { Call::Recvmmsg } else { Call::Sendmmsg };
    seen.put(call, [seen.int(0), moved, seen.unsigned(2), seen.int(3)]);
    for index in 0..if receives { count } else { 0 } {
        let at = seen.call.args[1].wrapping_add(index * ONE as u64);
        let Some(header) = seen.value::<[u64; HEADER / 8]>(at) else { return };
        for index in 0..rights(seen, header[4], header[5]) {
            seen.context.record_descriptor(seen.room.list[index] as i32);
        }
    }
}
