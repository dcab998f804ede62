//! What a file is apart from its bytes: permissions, owner, times, extended attributes; and what file system it is on.
//!
//! Not seen: the statfs(2) that libc makes in pathconf(3) and fpathconf(3), which need it for a few of their questions.

use super::hooks;
use core::ffi::{c_char, c_int, c_void};
use libc::{gid_t, mode_t, uid_t};

hooks! {
    Statfs: statfs | statfs64 | __statfs | statvfs | statvfs64 (path: *const c_char, status: *mut c_void) -> result: c_int,
        [], [path];
    Fstatfs: fstatfs | fstatfs64 | fstatvfs | fstatvfs64 (fd: c_int, status: *mut c_void) -> result: c_int,
        [fd as i64], [];

    Chmod: chmod (path: *const c_char, mode: mode_t) -> result: c_int, [i64::from(mode)], [path];
    Fchmod: fchmod (fd: c_int, mode: mode_t) -> result: c_int, [fd as i64, i64::from(mode)], [];
    // Without following links, libc opens the file, looks at it, changes it through /proc and closes it.
    Fchmodat quiet: fchmodat (dirfd: c_int, path: *const c_char, mode: mode_t, flags: c_int) -> result: c_int,
        [dirfd as i64, i64::from(mode), flags as i64], [path];
    Fchmodat quiet: lchmod (path: *const c_char, mode: mode_t) -> result: c_int,
        [i64::from(libc::AT_FDCWD), i64::from(mode), i64::from(libc::AT_SYMLINK_NOFOLLOW)], [path];
    Chown: chown (path: *const c_char, owner: uid_t, group: gid_t) -> result: c_int,
        [id(owner), id(group)], [path];
    Lchown: lchown (path: *const c_char, owner: uid_t, group: gid_t) -> result: c_int, [id(owner), id(group)], [path];
    Fchown: fchown (fd: c_int, owner: uid_t, group: gid_t) -> result: c_int, [fd as i64, id(owner), id(group)], [];
    Fchownat: fchownat (dirfd: c_int, path: *const c_char, owner: uid_t, group: gid_t, flags: c_int) -> result: c_int,
        [dirfd as i64, id(owner), id(group), flags as i64], [path];

    Utimensat: utimensat (dirfd: c_int, path: *const c_char, times: *const c_void, flags: c_int) -> result: c_int,
        [dirfd as i64, flags as i64], [path];
    // The path may be null: then it is the descriptor's times that change.
    Utimensat: futimesat (dirfd: c_int, path: *const c_char, times: *const c_void) -> result: c_int,
        [dirfd as i64, 0], [path];
    Utimensat: utimes | utime (path: *const c_char, times: *const c_void) -> result: c_int,
        [i64::from(libc::AT_FDCWD), 0], [path];
    Utimensat: lutimes (path: *const c_char, times: *const c_void) -> result: c_int,
        [i64::from(libc::AT_FDCWD), i64::from(libc::AT_SYMLINK_NOFOLLOW)], [path];
    Futimens: futimens | futimes (fd: c_int, times: *const c_void) -> result: c_int, [fd as i64], [];

    Getxattr: getxattr (path: *const c_char, name: *const c_char, value: *mut c_void, size: usize) -> result: isize,
        [size as i64], [path, name];
    Lgetxattr: lgetxattr (path: *const c_char, name: *const c_char, value: *mut c_void, size: usize) -> result: isize,
        [size as i64], [path, name];
    Fgetxattr: fgetxattr (fd: c_int, name: *const c_char, value: *mut c_void, size: usize) -> result: isize,
        [fd as i64, size as i64], [name];
    Setxattr: setxattr
        (path: *const c_char, name: *const c_char, value: *const c_void, size: usize, flags: c_int) -> result: c_int,
        [size as i64, flags as i64], [path, name];
    Lsetxattr: lsetxattr
        (path: *const c_char, name: *const c_char, value: *const c_void, size: usize, flags: c_int) -> result: c_int,
        [size as i64, flags as i64], [path, name];
    Fsetxattr: fsetxattr (fd: c_int, name: *const c_char, value: *const c_void, size: usize, flags: c_int) -> result: c_int,
        [fd as i64, size as i64, flags as i64], [name];
    Listxattr: listxattr (path: *const c_char, list: *mut c_char, size: usize) -> result: isize, [size as i64], [path];
    Llistxattr: llistxattr (path: *const c_char, list: *mut c_char, size: usize) -> result: isize, [size as i64], [path];
    Flistxattr: flistxattr (fd: c_int, list: *mut c_char, size: usize) -> result: isize, [fd as i64, size as i64], [];
    Removexattr: removexattr (path: *const c_char, name: *const c_char) -> result: c_int,
        [], [path, name];
    Lremovexattr: lremovexattr (path: *const c_char, name: *const c_char) -> result: c_int,
        [], [path, name];
    Fremovexattr: fremovexattr (fd: c_int, name: *const c_char) -> result: c_int,
        [fd as i64], [name];
}

/// A user or group; `(uid_t) -1` leaves it as it is, and is recorded as -1.
fn id(number: u32) -> i64 {
    if number == u32::MAX { -1 } else { i64::from(number) }
}
