//! Files, descriptors and mappings.

use super::{Context, Seen, half, number};
use crate::birth::CREAT;
use crate::calls::Call;
use libc::c_int;

/// The mode argument, which is there only when the flags ask for it.
fn mode_with(flags: i64, mode: i64) -> i64 {
    const TMPFILE: c_int = libc::O_TMPFILE & !libc::O_DIRECTORY;
    if flags & i64::from(libc::O_CREAT | TMPFILE) != 0 { mode } else { 0 }
}

pub(super) fn open<W: Context>(seen: &mut Seen<'_, W>) {
    let flags = seen.int(1);
    let [kind, size, inode] = seen.context.opened(seen.new_descriptor(), flags as c_int);
    seen.put_text(Call::Open, [flags, mode_with(flags, seen.unsigned(2)), kind, size, inode], 0);
}

pub(super) fn openat<W: Context>(seen: &mut Seen<'_, W>) {
    let (folder, flags) = (seen.int(0), seen.int(2));
    let [kind, size, inode] = seen.context.opened(seen.new_descriptor(), flags as c_int);
    seen.put_text(Call::Openat, [folder, flags, mode_with(flags, seen.unsigned(3)), kind, size, inode], 1);
}

/// The third argument points to a `struct open_how`: flags, mode and resolve, 8 bytes each.
pub(super) fn openat2<W: Context>(seen: &mut Seen<'_, W>) {
    // Found out with the flags in hand; EFAULT, EINVAL and E2BIG may be about where these stand, and EPERM a filter's.
    let was_read = seen.succeeded_or(&[
        libc::ENOENT,
        libc::EACCES,
        libc::EXDEV,
        libc::ELOOP,
        libc::EEXIST,
        libc::ENOTDIR,
        libc::EISDIR,
        libc::EROFS,
        libc::ENXIO,
        libc::ETXTBSY,
        libc::ENOSPC,
        libc::EBADF,
        libc::ENAMETOOLONG,
    ]);
    let how: Option<[i64; 3]> = if was_read { seen.at(2) } else { None };
    let [flags, mode, resolve] = how.unwrap_or_default();
    let [kind, size, inode] = seen.context.opened(seen.new_descriptor(), flags as c_int);
    seen.put_text(Call::Openat2, [seen.int(0), flags, mode, resolve, kind, size, inode], 1);
}

pub(super) fn creat<W: Context>(seen: &mut Seen<'_, W>) {
    let [kind, size, inode] = seen.context.opened(seen.new_descriptor(), CREAT);
    seen.put_text(Call::Creat, [seen.unsigned(1), kind, size, inode], 0);
}

pub(super) fn memfd_create<W: Context>(seen: &mut Seen<'_, W>) {
    let [_, _, inode] = seen.context.status(seen.new_descriptor());
    seen.put_text(Call::MemfdCreate, [seen.unsigned(1), inode], 0);
}

/// `pipe2` has flags in its second argument; `pipe` has no second.
pub(super) fn pipe<W: Context>(seen: &mut Seen<'_, W>) {
    let flags = if seen.call.number == libc::SYS_pipe2 { seen.int(1) } else { 0 };
    let ends: Option<[i32; 2]> = if seen.succeeded() { seen.at(0) } else { None };
    let [reader, writer] = ends.unwrap_or([-1, -1]);
    let [_, _, inode] = seen.context.status(reader);
    seen.put(Call::Pipe, [reader.into(), writer.into(), flags, inode]);
}

/// `st_mode` and `st_size` of what the call has filled in: `struct stat`, 144 bytes.
fn reported<W: Context>(seen: &mut Seen<'_, W>, position: usize) -> [i64; 2] {
    const MODE: usize = core::mem::offset_of!(libc::stat, st_mode);
    const SIZE: usize = core::mem::offset_of!(libc::stat, st_size);
    let mut found = [0; 2];
    if seen.succeeded() {
        seen.for_each::<{ size_of::<libc::stat>() }>(seen.call.args[position], 1, |status, _| {
            found = [half(status, MODE).into(), number(status, SIZE)];
            true
        });
    }
    found
}

pub(super) fn stat<W: Context>(seen: &mut Seen<'_, W>) {
    let call = if seen.call.number == libc::SYS_stat { Call::Stat } else { Call::Lstat };
    let reported = reported(seen, 1);
    seen.put_text(call, reported, 0);
}

pub(super) fn fstat<W: Context>(seen: &mut Seen<'_, W>) {
    let [mode, size] = reported(seen, 1);
    seen.put(Call::Fstat, [seen.int(0), mode, size]);
}

pub(super) fn fstatat<W: Context>(seen: &mut Seen<'_, W>) {
    let [mode, size] = reported(seen, 2);
    seen.put_text(Call::Fstatat, [seen.int(0), seen.int(3), mode, size], 1);
}

pub(super) fn statx<W: Context>(seen: &mut Seen<'_, W>) {
    const MODE: usize = core::mem::offset_of!(libc::statx, stx_mode);
    const SIZE: usize = core::mem::offset_of!(libc::statx, stx_size);
    let [mut mode, mut size] = [0; 2];
    if seen.succeeded() {
        seen.for_each::<{ size_of::<libc::statx>() }>(seen.call.args[4], 1, |status, _| {
            // Two bytes, and two that are spare behind them.
            (mode, size) = (i64::from(half(status, MODE) as u16), number(status, SIZE));
            true
        });
    }
    seen.put_text(Call::Statx, [seen.int(0), seen.int(2), seen.unsigned(3), mode, size], 1);
}

/// Without a path it is futimens(3).
pub(super) fn utimensat<W: Context>(seen: &mut Seen<'_, W>) {
    match seen.call.args[1] {
        0 => seen.put(Call::Futimens, [seen.int(0)]),
        _ => seen.put_text(Call::Utimensat, [seen.int(0), seen.int(3)], 1),
    }
}

/// The calls on I/O vectors; those with a position have it in the fourth argument (the fifth is its upper half where
/// words are short), `preadv2` and `pwritev2` have flags in the sixth.
pub(super) fn vectored<W: Context>(seen: &mut Seen<'_, W>) {
    let (fd, count) = (seen.int(0), seen.int(2));
    let total = if seen.succeeded() { seen.total(seen.call.args[1], count.max(0) as u64) } else { 0 };
    let offset = seen.word(3);
    let flags = seen.int(5);
    match seen.call.number {
        libc::SYS_readv => seen.put(Call::Readv, [fd, total, count]),
        libc::SYS_writev => seen.put(Call::Writev, [fd, total, count]),
        libc::SYS_preadv => seen.put(Call::Preadv, [fd, total, offset, count, 0]),
        libc::SYS_pwritev => seen.put(Call::Pwritev, [fd, total, offset, count, 0]),
        libc::SYS_preadv2 => seen.put(Call::Preadv, [fd, total, offset, count, flags]),
        _ => seen.put(Call::Pwritev, [fd, total, offset, count, flags]),
    }
}

pub(super) fn vmsplice<W: Context>(seen: &mut Seen<'_, W>) {
    let total = if seen.succeeded() { seen.total(seen.call.args[1], seen.call.args[2]) } else { 0 };
    seen.put(Call::Vmsplice, [seen.int(0), total, seen.word(2), seen.unsigned(3)]);
}

/// What the argument of a command of fcntl(2) is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FcntlArgument {
    /// A number.
    Number,
    /// A `struct flock`. 64-bit systems have one form of it and one number for each command.
    Lock,
    /// None, or a pointer to something else.
    Other,
}

/// See [`FcntlArgument`].
pub fn fcntl_argument(command: c_int) -> FcntlArgument {
    const F_SETSIG: c_int = 10;
    match command {
        libc::F_DUPFD
        | libc::F_DUPFD_CLOEXEC
        | libc::F_SETFD
        | libc::F_SETFL
        | libc::F_SETOWN
        | F_SETSIG
        | libc::F_SETLEASE
        | libc::F_NOTIFY
        | libc::F_SETPIPE_SZ
        | libc::F_ADD_SEALS => FcntlArgument::Number,
        libc::F_GETLK
        | libc::F_SETLK
        | libc::F_SETLKW
        | libc::F_OFD_GETLK
        | libc::F_OFD_SETLK
        | libc::F_OFD_SETLKW => FcntlArgument::Lock,
        _ => FcntlArgument::Other,
    }
}

/// Errors of a lock command that come after the kernel has read the `struct flock`.
pub const AFTER_THE_LOCK: [c_int; 6] =
    [libc::EAGAIN, libc::EACCES, libc::EINTR, libc::EDEADLK, libc::ENOLCK, libc::EOVERFLOW];

pub(super) fn fcntl<W: Context>(seen: &mut Seen<'_, W>) {
    let command = seen.call.args[1] as c_int;
    let kind = fcntl_argument(command);
    let argument = if kind == FcntlArgument::Number { seen.int(2) } else { 0 };
    let mut length = 0;
    if kind == FcntlArgument::Lock && seen.succeeded_or(&AFTER_THE_LOCK) {
        // struct flock: type 2, whence 2, start 8 (at 8), length 8.
        seen.for_each::<24>(seen.call.args[2], 1, |lock, list| {
            let (kind, whence) = (half(lock, 0) as i16, (half(lock, 0) >> 16) as i16);
            list[..4].copy_from_slice(&[kind.into(), whence.into(), number(lock, 8), number(lock, 16)]);
            length = 4;
            true
        });
    }
    seen.put_list(Call::Fcntl, [seen.int(0), command.into(), argument], length);
}

/// The offset before a call that has moved it by its result: -1 for a null pointer, 0 if the call failed, since then
/// the kernel may not have looked at it.
fn began_at<W: Context>(seen: &mut Seen<'_, W>, position: usize) -> i64 {
    if seen.call.args[position] == 0 {
        return -1;
    }
    let offset: Option<i64> = if seen.succeeded() { seen.at(position) } else { None };
    offset.map_or(0, |offset| offset.wrapping_sub(seen.call.result))
}

pub(super) fn sendfile<W: Context>(seen: &mut Seen<'_, W>) {
    let offset = began_at(seen, 2);
    seen.put(Call::Sendfile, [seen.int(1), seen.int(0), offset, seen.word(3)]);
}

pub(super) fn between<W: Context>(seen: &mut Seen<'_, W>) {
    let call = if seen.call.number == libc::SYS_splice { Call::Splice } else { Call::CopyFileRange };
    let (from, to) = (began_at(seen, 1), began_at(seen, 3));
    seen.put(call, [seen.int(0), seen.int(2), from, to, seen.word(4), seen.unsigned(5)]);
}

/// Requests of ioctl(2) that let a file share the blocks of another one (ioctl_ficlone(2)).
const FICLONE: u32 = 0x4004_9409;
const FICLONERANGE: u32 = 0x4020_940d;

/// The request that opens the other end of a pseudoterminal (ioctl_tty(2)), as openpty(3) makes it.
const TIOCGPTPEER: u32 = 0x5441;
/// The one that asks for the number of the other end, as ptsname(3) makes it.
const TIOCGPTN: u32 = 0x8004_5430;

/// True for the requests of ioctl(2) of which more is recorded than descriptor, request and result.
pub fn requests_more(request: u64) -> bool {
    // The kernel takes 32 bits of it.
    matches!(request as u32, FICLONE | FICLONERANGE | TIOCGPTPEER | TIOCGPTN)
}

pub(super) fn ioctl<W: Context>(seen: &mut Seen<'_, W>) {
    let request = seen.unsigned(1);
    if [FICLONE, FICLONERANGE].map(i64::from).contains(&request) {
        return clone(seen);
    }
    if request == i64::from(TIOCGPTN) {
        let number: Option<u32> = if seen.succeeded() { seen.at(2) } else { None };
        return seen.put(Call::TerminalNumber, [seen.int(0), number.map_or(-1, i64::from)]);
    }
    seen.put(Call::Ioctl, [seen.int(0), request]);
    if request == i64::from(TIOCGPTPEER) && seen.succeeded() {
        seen.context.record_descriptor(seen.new_descriptor());
    }
}

fn clone<W: Context>(seen: &mut Seen<'_, W>) {
    // struct file_clone_range: the source, where in it, how much, and where in the target.
    let whole = seen.unsigned(1) == i64::from(FICLONE);
    let range: Option<[i64; 4]> = if seen.succeeded() && !whole { seen.at(2) } else { None };
    let [source, from, length, to] = match range {
        Some(range) => range,
        None if whole => [seen.int(2), 0, 0, 0],
        None => [-1, 0, 0, 0],
    };
    let to_its_end = seen.succeeded() && length == 0;
    let count = match i32::try_from(source) {
        Ok(fd) if to_its_end => (seen.context.status(fd)[1] - from).max(0),
        _ => length,
    };
    seen.put(Call::CloneRange, [source, seen.int(0), from, to, count]);
}

/// Of a file; anonymous memory is no I/O.
pub(super) fn mmap<W: Context>(seen: &mut Seen<'_, W>) {
    let flags = seen.int(3);
    if flags & i64::from(libc::MAP_ANONYMOUS) == 0 {
        seen.put(Call::Mmap, [seen.int(4), seen.word(1), seen.int(2), flags, seen.word(5)]);
    }
}

/// What is done with memory that a file is mapped into; with other memory it is no I/O.
pub(super) fn of_mapping<W: Context>(seen: &mut Seen<'_, W>) {
    let (address, bytes) = (seen.word(0), seen.word(1));
    if !seen.context.maps_file(address as u64, bytes as u64) {
        return;
    }
    match seen.call.number {
        libc::SYS_munmap => seen.put(Call::Munmap, [address, bytes]),
        libc::SYS_msync => seen.put(Call::Msync, [address, bytes, seen.int(2)]),
        libc::SYS_madvise => seen.put(Call::Madvise, [address, bytes, seen.int(2)]),
        libc::SYS_mincore => seen.put(Call::Mincore, [address, bytes]),
        _ => seen.put(Call::Mremap, [address, bytes, seen.word(2), seen.int(3)]),
    }
}
