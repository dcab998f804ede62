//! Opening, closing, reading, writing, positioning, syncing.
//!
//! Not hooked: `openat2`, which glibc has no function for; and what goes on to calls that are recorded here
//! where libc makes them: `mkstemp`, `tmpfile`, `shm_open`, `remove`.

use super::{checked, hooks, opened_status, status_of};
use crate::core::readable;
use core::ffi::{c_char, c_int, c_uint, c_void};
use libc::{iovec, mode_t, off_t};

/// The bytes an I/O vector asks for. Read only after the real call has read it.
///
/// # Safety
/// After a call that did not fail, `vector` points to `count` entries.
pub(super) unsafe fn total(vector: *const iovec, count: c_int, result: isize) -> i64 {
    if result < 0 || vector.is_null() {
        return 0;
    }
    if readable::may_be_gone() {
        return readable::total(vector as usize, count.max(0) as usize);
    }
    // SAFETY: as the caller vouches.
    unsafe { (0..count.max(0) as usize).map(|index| (*vector.add(index)).iov_len as i64).sum() }
}

/// The mode argument, which is there only when the flags ask for it.
fn mode_of(flags: c_int, mode: c_uint) -> i64 {
    const TMPFILE: c_int = libc::O_TMPFILE & !libc::O_DIRECTORY;
    if flags & (libc::O_CREAT | TMPFILE) != 0 { i64::from(mode) } else { 0 }
}

fn opened(flags: c_int, mode: c_uint, fd: c_int) -> [i64; 5] {
    let [kind, size, inode] = opened_status(fd, flags);
    [i64::from(flags), mode_of(flags, mode), kind, size, inode]
}

fn opened_at(dirfd: c_int, flags: c_int, mode: c_uint, fd: c_int) -> [i64; 6] {
    let [flags, mode, kind, size, inode] = opened(flags, mode, fd);
    [i64::from(dirfd), flags, mode, kind, size, inode]
}

hooks! {
    // The mode is a variadic argument; as a fixed one it arrives in the same register, and goes on unread.
    Open: open | open64 | __open | __open64 + open64 | __open_nocancel | __open64_nocancel
        (path: *const c_char, flags: c_int, mode: c_uint) -> fd: c_int, { opened(flags, mode, fd) }, [path];
    Open quiet: __open_2 | __open64_2 (path: *const c_char, flags: c_int) -> fd: c_int, { opened(flags, 0, fd) }, [path];
    Openat: openat | openat64 | __openat64 + openat64
        (dirfd: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> fd: c_int, { opened_at(dirfd, flags, mode, fd) }, [path];
    Openat quiet: __openat_2 | __openat64_2
        (dirfd: c_int, path: *const c_char, flags: c_int) -> fd: c_int, { opened_at(dirfd, flags, 0, fd) }, [path];
    Creat quiet: creat | creat64 (path: *const c_char, mode: mode_t) -> fd: c_int,
        { let [kind, size, inode] = opened_status(fd, syn_trace::birth::CREAT); [i64::from(mode), kind, size, inode] }, [path];
    Close: close | __close + close | __close_nocancel (fd: c_int) -> result: c_int, [fd as i64], [];
    CloseRange: close_range (first: c_uint, last: c_uint, flags: c_int) -> result: c_int,
        [i64::from(first), i64::from(last), flags as i64], [];
    CloseRange: closefrom (first: c_int) -> result: (), [first as i64, i64::from(c_uint::MAX), 0], [];

    Read: read | __read + read | __read_nocancel (fd: c_int, buffer: *mut c_void, count: usize) -> result: isize,
        [fd as i64, count as i64], [];
    Write: write | __write + write | __write_nocancel (fd: c_int, buffer: *const c_void, count: usize) -> result: isize,
        [fd as i64, count as i64], [];
    Pread: pread | pread64 | __pread64 + pread64 | __pread64_nocancel
        (fd: c_int, buffer: *mut c_void, count: usize, offset: off_t) -> result: isize, [fd as i64, count as i64, offset], [];
    Pwrite: pwrite | pwrite64 | __pwrite64 + pwrite64
        (fd: c_int, buffer: *const c_void, count: usize, offset: off_t) -> result: isize, [fd as i64, count as i64, offset], [];
    Readv: readv + readv (fd: c_int, vector: *const iovec, count: c_int) -> result: isize,
        [fd as i64, total(vector, count, result), count as i64], [];
    Writev: writev + writev (fd: c_int, vector: *const iovec, count: c_int) -> result: isize,
        [fd as i64, total(vector, count, result), count as i64], [];
    Preadv: preadv | preadv64 (fd: c_int, vector: *const iovec, count: c_int, offset: off_t) -> result: isize,
        [fd as i64, total(vector, count, result), offset, count as i64, 0], [];
    Pwritev: pwritev | pwritev64 (fd: c_int, vector: *const iovec, count: c_int, offset: off_t) -> result: isize,
        [fd as i64, total(vector, count, result), offset, count as i64, 0], [];
    Preadv quiet: preadv2 | preadv64v2
        (fd: c_int, vector: *const iovec, count: c_int, offset: off_t, flags: c_int) -> result: isize,
        [fd as i64, total(vector, count, result), offset, count as i64, flags as i64], [];
    Pwritev quiet: pwritev2 | pwritev64v2
        (fd: c_int, vector: *const iovec, count: c_int, offset: off_t, flags: c_int) -> result: isize,
        [fd as i64, total(vector, count, result), offset, count as i64, flags as i64], [];

    Lseek: lseek | lseek64 | __lseek + lseek64 (fd: c_int, offset: off_t, whence: c_int) -> result: off_t,
        [fd as i64, offset, whence as i64], [];
    // Libraries that are loaded to look in themselves and libc first (`RTLD_DEEPBIND`) come by no hook.
    Fsync: fsync + fsync (fd: c_int) -> result: c_int, [fd as i64], [];
    Fdatasync: fdatasync + fdatasync (fd: c_int) -> result: c_int, [fd as i64], [];
    SyncFileRange: sync_file_range (fd: c_int, offset: off_t, bytes: off_t, flags: c_uint) -> result: c_int,
        [fd as i64, offset, bytes, i64::from(flags)], [];
    Syncfs: syncfs (fd: c_int) -> result: c_int, [fd as i64], [];
    Sync: sync () -> result: (), [], [];
    Truncate: truncate | truncate64 (path: *const c_char, length: off_t) -> result: c_int, [length], [path];
    Ftruncate: ftruncate | ftruncate64 (fd: c_int, length: off_t) -> result: c_int, [fd as i64, length], [];
    Fallocate: fallocate | fallocate64 (fd: c_int, mode: c_int, offset: off_t, length: off_t) -> result: c_int,
        [fd as i64, mode as i64, offset, length], [];

    MemfdCreate: memfd_create (name: *const c_char, flags: c_uint) -> fd: c_int,
        { let [_, _, inode] = status_of(fd); [i64::from(flags), inode] }, [name];
    Dup: dup (fd: c_int) -> result: c_int, [fd as i64], [];
    // By `daemon`, `login_tty` and `forkpty`, too.
    Dup2: dup2 | __dup2 + dup2 (fd: c_int, new: c_int) -> result: c_int, [fd as i64, new as i64], [];
    Dup3: dup3 + dup3 (fd: c_int, new: c_int, flags: c_int) -> result: c_int, [fd as i64, new as i64, flags as i64], [];
    Pipe: pipe | __pipe (ends: *mut c_int) -> result: c_int, { let [read, write, inode] = pipe_ends(ends, result); [read, write, 0, inode] }, [];
    Pipe: pipe2 (ends: *mut c_int, flags: c_int) -> result: c_int,
        { let [read, write, inode] = pipe_ends(ends, result); [read, write, flags as i64, inode] }, [];
}

checked! {
    Read: __read_chk (fd: c_int, buffer: *mut c_void, count: usize, room: usize)
        if count <= room => read (fd: c_int, buffer: *mut c_void, count: usize) -> result: isize,
        [fd as i64, count as i64], [];
    Pread: __pread_chk (fd: c_int, buffer: *mut c_void, count: usize, offset: off_t, room: usize)
        if count <= room => pread (fd: c_int, buffer: *mut c_void, count: usize, offset: off_t) -> result: isize,
        [fd as i64, count as i64, offset], [];
    Pread: __pread64_chk (fd: c_int, buffer: *mut c_void, count: usize, offset: off_t, room: usize)
        if count <= room => pread64 (fd: c_int, buffer: *mut c_void, count: usize, offset: off_t) -> result: isize,
        [fd as i64, count as i64, offset], [];
}

/// # Safety
/// After a call that did not fail, `ends` points to two descriptors.
unsafe fn pipe_ends(ends: *mut c_int, result: c_int) -> [i64; 3] {
    if result != 0 {
        return [-1, -1, 0];
    }
    // SAFETY: as the caller vouches.
    let [read, write] = unsafe { [*ends, *ends.add(1)] };
    let [_, _, inode] = status_of(read);
    [i64::from(read), i64::from(write), inode]
}

hooks! {
    PosixFallocate: posix_fallocate | posix_fallocate64
        (fd: c_int, offset: off_t, length: off_t) -> error: ErrorNumber, [fd as i64, offset, length], [];
}

/// The result of a function that returns errno in place of setting it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct ErrorNumber(pub(super) c_int);

impl ErrorNumber {
    /// True for this number.
    pub fn is(self, number: c_int) -> bool {
        self.0 == number
    }
}

impl crate::core::real::Outcome for ErrorNumber {
    const MISSING: ErrorNumber = ErrorNumber(libc::ENOSYS);
    fn failed(self) -> bool {
        false
    }
    /// The result as returned; readers see that it is not 0.
    fn number(self) -> i64 {
        i64::from(self.0)
    }
}
