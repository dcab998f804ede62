//! Names and what stands behind them: status, access, links, renaming, the current folder.

use super::hooks;
use core::ffi::{c_char, c_int, c_uint, c_void};
use libc::{mode_t, stat as Status, statx as StatusX};

/// Type and size as the call has reported them.
///
/// # Safety
/// After a call that did not fail, `status` points to what it filled in.
unsafe fn reported(status: *const Status, result: c_int) -> [i64; 2] {
    if result != 0 || status.is_null() {
        return [0; 2];
    }
    // SAFETY: as the caller vouches.
    unsafe { [i64::from((*status).st_mode), (*status).st_size] }
}

/// # Safety
/// As for [`reported`].
unsafe fn reported_x(status: *const StatusX, result: c_int) -> [i64; 2] {
    if result != 0 || status.is_null() {
        return [0; 2];
    }
    // SAFETY: as the caller vouches.
    unsafe { [i64::from((*status).stx_mode), (*status).stx_size as i64] }
}

hooks! {
    Stat: stat | stat64 (path: *const c_char, status: *mut Status) -> result: c_int, { reported(status, result) }, [path];
    Stat: __xstat | __xstat64 (version: c_int, path: *const c_char, status: *mut Status) -> result: c_int,
        { reported(status, result) }, [path];
    Lstat: lstat | lstat64 (path: *const c_char, status: *mut Status) -> result: c_int, { reported(status, result) }, [path];
    Lstat: __lxstat | __lxstat64 (version: c_int, path: *const c_char, status: *mut Status) -> result: c_int,
        { reported(status, result) }, [path];
    Fstat: fstat | fstat64 (fd: c_int, status: *mut Status) -> result: c_int,
        { let [mode, size] = reported(status, result); [fd as i64, mode, size] }, [];
    Fstat: __fxstat | __fxstat64 (version: c_int, fd: c_int, status: *mut Status) -> result: c_int,
        { let [mode, size] = reported(status, result); [fd as i64, mode, size] }, [];
    Fstatat: fstatat | fstatat64
        (dirfd: c_int, path: *const c_char, status: *mut Status, flags: c_int) -> result: c_int,
        { let [mode, size] = reported(status, result); [dirfd as i64, flags as i64, mode, size] }, [path];
    Fstatat: __fxstatat | __fxstatat64
        (version: c_int, dirfd: c_int, path: *const c_char, status: *mut Status, flags: c_int) -> result: c_int,
        { let [mode, size] = reported(status, result); [dirfd as i64, flags as i64, mode, size] }, [path];
    Statx: statx
        (dirfd: c_int, path: *const c_char, flags: c_int, mask: c_uint, status: *mut StatusX) -> result: c_int,
        { let [mode, size] = reported_x(status, result); [dirfd as i64, flags as i64, i64::from(mask), mode, size] }, [path];

    Access: access | eaccess | euidaccess (path: *const c_char, mode: c_int) -> result: c_int, [mode as i64], [path];
    Faccessat: faccessat (dirfd: c_int, path: *const c_char, mode: c_int, flags: c_int) -> result: c_int,
        [dirfd as i64, mode as i64, flags as i64], [path];
    Readlink: readlink (path: *const c_char, buffer: *mut c_char, bytes: usize) -> result: isize, [bytes as i64], [path];
    Readlink: __readlink_chk (path: *const c_char, buffer: *mut c_char, bytes: usize, room: usize) -> result: isize,
        [bytes as i64], [path];
    Readlinkat: readlinkat (dirfd: c_int, path: *const c_char, buffer: *mut c_char, bytes: usize) -> result: isize,
        [dirfd as i64, bytes as i64], [path];
    Readlinkat: __readlinkat_chk
        (dirfd: c_int, path: *const c_char, buffer: *mut c_char, bytes: usize, room: usize) -> result: isize,
        [dirfd as i64, bytes as i64], [path];

    Unlink: unlink + unlink (path: *const c_char) -> result: c_int, [], [path];
    Unlinkat: unlinkat (dirfd: c_int, path: *const c_char, flags: c_int) -> result: c_int,
        [dirfd as i64, flags as i64], [path];
    Rename: rename (old: *const c_char, new: *const c_char) -> result: c_int, [], [old, new];
    Renameat: renameat (olddirfd: c_int, old: *const c_char, newdirfd: c_int, new: *const c_char) -> result: c_int,
        [olddirfd as i64, newdirfd as i64, 0], [old, new];
    Renameat: renameat2
        (olddirfd: c_int, old: *const c_char, newdirfd: c_int, new: *const c_char, flags: c_uint) -> result: c_int,
        [olddirfd as i64, newdirfd as i64, i64::from(flags)], [old, new];
    Link: link (old: *const c_char, new: *const c_char) -> result: c_int, [], [old, new];
    Linkat: linkat
        (olddirfd: c_int, old: *const c_char, newdirfd: c_int, new: *const c_char, flags: c_int) -> result: c_int,
        [olddirfd as i64, newdirfd as i64, flags as i64], [old, new];
    Symlink: symlink (target: *const c_char, path: *const c_char) -> result: c_int, [], [target, path];
    Symlinkat: symlinkat (target: *const c_char, dirfd: c_int, path: *const c_char) -> result: c_int,
        [dirfd as i64], [target, path];
    Mkdir: mkdir + mkdir (path: *const c_char, mode: mode_t) -> result: c_int, [i64::from(mode)], [path];
    Mkdirat: mkdirat (dirfd: c_int, path: *const c_char, mode: mode_t) -> result: c_int,
        [dirfd as i64, i64::from(mode)], [path];
    Rmdir: rmdir + rmdir (path: *const c_char) -> result: c_int, [], [path];
    Chdir: chdir (path: *const c_char) -> result: c_int, [], [path];
    Fchdir: fchdir (fd: c_int) -> result: c_int, [fd as i64], [];
}

/// A `DIR *` or `FILE *`, which only libc looks into.
pub type Opaque = *mut c_void;
