//! Names and what stands behind them: status, access, links, renaming, special files, the current folder and the root.

use super::loading::objects;
use super::{WrittenOver, checked, hooks};
use crate::recording::thread::window;
use core::ffi::{c_char, c_int, c_uint, c_void};
use libc::{dev_t, mode_t, stat as Status, statx as StatusX};

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

/// # Safety
/// After a call that did not fail, `device` points to the number that libc has passed on.
unsafe fn device_at(device: *const dev_t, result: c_int) -> i64 {
    // SAFETY: as the caller vouches.
    if result != 0 || device.is_null() { 0 } else { unsafe { *device as i64 } }
}

hooks! {
    // libc makes all but statx(2), and fstat since glibc 2.39, of fstatat(2), and of the four with a version before 2.33: these
    // entries see the calls that it makes for itself.
    Stat quiet: stat | stat64 (path: *const c_char, status: *mut Status) -> result: c_int, { reported(status, result) }, [path];
    Stat quiet: __xstat | __xstat64 + __xstat64 (version: c_int, path: *const c_char, status: *mut Status) -> result: c_int,
        { reported(status, result) }, [path];
    Lstat quiet: lstat | lstat64 (path: *const c_char, status: *mut Status) -> result: c_int, { reported(status, result) }, [path];
    Lstat quiet: __lxstat | __lxstat64 + __lxstat64 (version: c_int, path: *const c_char, status: *mut Status) -> result: c_int,
        { reported(status, result) }, [path];
    Fstat quiet: fstat | fstat64 + fstat64 (fd: c_int, status: *mut Status) -> result: c_int,
        { let [mode, size] = reported(status, result); [fd as i64, mode, size] }, [];
    Fstat quiet: __fxstat | __fxstat64 + __fxstat64 (version: c_int, fd: c_int, status: *mut Status) -> result: c_int,
        { let [mode, size] = reported(status, result); [fd as i64, mode, size] }, [];
    Fstatat: fstatat | fstatat64 + fstatat64
        (dirfd: c_int, path: *const c_char, status: *mut Status, flags: c_int) -> result: c_int,
        { let [mode, size] = reported(status, result); [dirfd as i64, flags as i64, mode, size] }, [path];
    Fstatat quiet: __fxstatat | __fxstatat64 + __fxstatat64
        (version: c_int, dirfd: c_int, path: *const c_char, status: *mut Status, flags: c_int) -> result: c_int,
        { let [mode, size] = reported(status, result); [dirfd as i64, flags as i64, mode, size] }, [path];
    Statx: statx
        (dirfd: c_int, path: *const c_char, flags: c_int, mask: c_uint, status: *mut StatusX) -> result: c_int,
        { let [mode, size] = reported_x(status, result); [dirfd as i64, flags as i64, i64::from(mask), mode, size] }, [path];

    Access: access + access (path: *const c_char, mode: c_int) -> result: c_int, [mode as i64], [path];
    // It is made of stat(2) and access(2), which are recorded inside it.
    Faccessat: eaccess | euidaccess (path: *const c_char, mode: c_int) -> result: c_int,
        [i64::from(libc::AT_FDCWD), mode as i64, i64::from(libc::AT_EACCESS)], [path];
    Faccessat: faccessat + faccessat (dirfd: c_int, path: *const c_char, mode: c_int, flags: c_int) -> result: c_int,
        [dirfd as i64, mode as i64, flags as i64], [path];
    Readlink: readlink + readlink
        (path: *const c_char, buffer: *mut c_char, bytes: usize) [|span| named = WrittenOver::of(path, buffer, bytes, span)] -> result: isize,
        [bytes as i64], [named];
    Readlinkat: readlinkat
        (dirfd: c_int, path: *const c_char, buffer: *mut c_char, bytes: usize) [|span| named = WrittenOver::of(path, buffer, bytes, span)]
        -> result: isize, [dirfd as i64, bytes as i64], [named];

    // Before a library changes its name, or is another file by the name that the loader knows, it is told of.
    Unlink: unlink + unlink (path: *const c_char) [|span| _told = objects::tell_late_ones_in(span)]
        -> result: c_int, [], [path];
    Unlinkat: unlinkat (dirfd: c_int, path: *const c_char, flags: c_int) [|span| _told = objects::tell_late_ones_in(span)]
        -> result: c_int, [dirfd as i64, flags as i64], [path];
    Rename: rename (old: *const c_char, new: *const c_char) [|span| _told = objects::tell_late_ones_in(span)]
        -> result: c_int, [], [old, new];
    Renameat: renameat (olddirfd: c_int, old: *const c_char, newdirfd: c_int, new: *const c_char)
        [|span| _told = objects::tell_late_ones_in(span)] -> result: c_int,
        [olddirfd as i64, newdirfd as i64, 0], [old, new];
    Renameat: renameat2
        (olddirfd: c_int, old: *const c_char, newdirfd: c_int, new: *const c_char, flags: c_uint)
        [|span| _told = objects::tell_late_ones_in(span)] -> result: c_int,
        [olddirfd as i64, newdirfd as i64, i64::from(flags)], [old, new];
    Link: link + link (old: *const c_char, new: *const c_char) -> result: c_int, [], [old, new];
    Linkat: linkat
        (olddirfd: c_int, old: *const c_char, newdirfd: c_int, new: *const c_char, flags: c_int) -> result: c_int,
        [olddirfd as i64, newdirfd as i64, flags as i64], [old, new];
    Symlink: symlink (target: *const c_char, path: *const c_char) -> result: c_int, [], [target, path];
    Symlinkat: symlinkat (target: *const c_char, dirfd: c_int, path: *const c_char) -> result: c_int,
        [dirfd as i64], [target, path];
    Mkdir: mkdir + mkdir (path: *const c_char, mode: mode_t) -> result: c_int, [i64::from(mode)], [path];
    Mkdirat: mkdirat (dirfd: c_int, path: *const c_char, mode: mode_t) -> result: c_int,
        [dirfd as i64, i64::from(mode)], [path];
    Mknod: mknod (path: *const c_char, mode: mode_t, device: dev_t) -> result: c_int,
        [i64::from(mode), device as i64], [path];
    Mknod: __xmknod (version: c_int, path: *const c_char, mode: mode_t, device: *const dev_t) -> result: c_int,
        [i64::from(mode), device_at(device, result)], [path];
    Mknod: mkfifo (path: *const c_char, mode: mode_t) -> result: c_int, [i64::from(mode | libc::S_IFIFO), 0], [path];
    Mknodat: mknodat (dirfd: c_int, path: *const c_char, mode: mode_t, device: dev_t) -> result: c_int,
        [dirfd as i64, i64::from(mode), device as i64], [path];
    Mknodat: __xmknodat
        (version: c_int, dirfd: c_int, path: *const c_char, mode: mode_t, device: *const dev_t) -> result: c_int,
        [dirfd as i64, i64::from(mode), device_at(device, result)], [path];
    Mknodat: mkfifoat (dirfd: c_int, path: *const c_char, mode: mode_t) -> result: c_int,
        [dirfd as i64, i64::from(mode | libc::S_IFIFO), 0], [path];
    Rmdir: rmdir + rmdir (path: *const c_char) -> result: c_int, [], [path];
    Chdir: chdir + chdir (path: *const c_char) [|span| _told = objects::tell_late_ones_in(span)]
        -> result: c_int, [], [path];
    Fchdir: fchdir + fchdir (fd: c_int) [|span| _told = objects::tell_late_ones_in(span)]
        -> result: c_int, [fd as i64], [];
    // Behind a new root the run folder is out of reach.
    Chroot: chroot (path: *const c_char) [_room = window::grow_ahead()] -> result: c_int, [], [path];
}

checked! {
    Readlink: __readlink_chk (path: *const c_char, buffer: *mut c_char, bytes: usize, room: usize)
        if bytes <= room => readlink
        (path: *const c_char, buffer: *mut c_char, bytes: usize) [|span| named = WrittenOver::of(path, buffer, bytes, span)] -> result: isize,
        [bytes as i64], [named];
    Readlinkat: __readlinkat_chk
        (dirfd: c_int, path: *const c_char, buffer: *mut c_char, bytes: usize, room: usize)
        if bytes <= room => readlinkat
        (dirfd: c_int, path: *const c_char, buffer: *mut c_char, bytes: usize) [|span| named = WrittenOver::of(path, buffer, bytes, span)]
        -> result: isize, [dirfd as i64, bytes as i64], [named];
}

/// A `DIR *` or `FILE *`, which only libc looks into.
pub type Opaque = *mut c_void;
