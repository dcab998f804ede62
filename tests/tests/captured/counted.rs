//! Calls that move no bytes, counted by thread and outcome as strace saw them and as they are on record.

use crate::transfers::{for_each_of_programs, for_each_record};
use std::collections::BTreeMap;
use std::path::Path;
use tests::Seen;
use tests::strace::Syscall;

/// How many calls, by thread, class, and whether they failed.
pub type Counted = BTreeMap<(u32, &'static str, bool), u64>;

/// The class, the kernel's names, the names in a trace. Where libc makes one call of several functions, or the other way
/// round, they are one class.
const CLASSES: [(&str, &[&str], &[&str]); 40] = [
    ("tee", &["tee"], &["tee"]),
    ("vmsplice", &["vmsplice"], &["vmsplice"]),
    ("fallocate", &["fallocate"], &["fallocate", "posix_fallocate"]),
    ("truncate", &["truncate", "ftruncate"], &["truncate", "ftruncate"]),
    ("fadvise", &["fadvise64"], &["posix_fadvise"]),
    ("readahead", &["readahead"], &["readahead"]),
    ("sync", &["sync", "syncfs", "fsync", "fdatasync"], &["sync", "syncfs", "fsync", "fdatasync"]),
    ("sync_file_range", &["sync_file_range"], &["sync_file_range"]),
    ("memfd_create", &["memfd_create"], &["memfd_create"]),
    ("flock", &["flock"], &["flock"]),
    ("lock", &["fcntl"], &["fcntl", "lockf"]),
    ("ioctl", &["ioctl"], &["ioctl", "ioctl_ficlonerange", "ioctl_tiocgptn"]),
    ("statfs", &["statfs", "fstatfs"], &["statfs", "fstatfs"]),
    ("chmod", &["chmod"], &["chmod"]),
    ("fchmod", &["fchmod"], &["fchmod"]),
    ("fchmodat", &["fchmodat", "?fchmodat2"], &["fchmodat"]),
    ("chown", &["chown"], &["chown"]),
    ("lchown", &["lchown"], &["lchown"]),
    ("fchown", &["fchown"], &["fchown"]),
    ("fchownat", &["fchownat"], &["fchownat"]),
    ("times", &["utime", "utimes", "futimesat", "utimensat"], &["utimensat", "futimens"]),
    ("mknod", &["mknod", "mknodat"], &["mknod", "mknodat"]),
    ("chroot", &["chroot"], &["chroot"]),
    ("getxattr", &["getxattr"], &["getxattr"]),
    ("lgetxattr", &["lgetxattr"], &["lgetxattr"]),
    ("fgetxattr", &["fgetxattr"], &["fgetxattr"]),
    ("setxattr", &["setxattr"], &["setxattr"]),
    ("lsetxattr", &["lsetxattr"], &["lsetxattr"]),
    ("fsetxattr", &["fsetxattr"], &["fsetxattr"]),
    ("listxattr", &["listxattr"], &["listxattr"]),
    ("llistxattr", &["llistxattr"], &["llistxattr"]),
    ("flistxattr", &["flistxattr"], &["flistxattr"]),
    ("removexattr", &["removexattr"], &["removexattr"]),
    ("lremovexattr", &["lremovexattr"], &["lremovexattr"]),
    ("fremovexattr", &["fremovexattr"], &["fremovexattr"]),
    ("unlink", &["unlink", "unlinkat"], &["unlink", "unlinkat"]),
    ("rename", &["rename", "renameat", "renameat2"], &["rename", "renameat"]),
    ("link", &["link", "linkat", "symlink", "symlinkat"], &["link", "linkat", "symlink", "symlinkat"]),
    ("mkdir", &["mkdir", "mkdirat"], &["mkdir", "mkdirat"]),
    ("rmdir", &["rmdir"], &["rmdir"]),
];

/// The commands of fcntl(2) that are about locks: the others also serve libc itself.
const LOCK_COMMANDS: [(&str, i64); 6] = [
    ("F_GETLK", 5),
    ("F_SETLK", 6),
    ("F_SETLKW", 7),
    ("F_OFD_GETLK", 36),
    ("F_OFD_SETLK", 37),
    ("F_OFD_SETLKW", 38),
];

const EACCES: i32 = 13;
const AT_SYMLINK_NOFOLLOW: i64 = 0x100;

/// The calls that strace is to tell, separated by commas.
pub fn calls() -> String {
    CLASSES.iter().flat_map(|(_, kernel, _)| *kernel).copied().collect::<Vec<_>>().join(",")
}

/// What strace saw in `output` of a job that was started in `folder`.
pub fn seen_by_kernel(output: &Path, folder: &Path, launchers: &[&str]) -> Counted {
    let mut counted = Counted::new();
    for_each_of_programs(output, folder, launchers, |tid, call| {
        if let Some(class) = class_of_kernel(call) {
            *counted.entry((tid, class, call.error.is_some())).or_default() += 1;
        }
    });
    counted
}

fn class_of_kernel(call: &Syscall) -> Option<&'static str> {
    match call.name.as_str() {
        "fcntl" if !LOCK_COMMANDS.iter().any(|(name, _)| call.argument(1) == *name) => None,
        // How libc changes the mode of what may be a link.
        "chmod" if call.text(0).is_some_and(|path| path.starts_with("/proc/self/fd/")) => Some("fchmodat"),
        // As below, where libc leaves it to the kernel.
        "fchmodat2" if call.error.is_some() && call.argument(3).contains("NOFOLLOW") => None,
        "fchmodat2" => Some("fchmodat"),
        name => CLASSES.iter().find(|(_, kernel, _)| kernel.contains(&name)).map(|(class, ..)| *class),
    }
}

/// What is on record in the run folder.
pub fn seen_by_shim(folder: &Path) -> Counted {
    let mut counted = Counted::new();
    for_each_record(folder, |seen| {
        if let Some(class) = class_of_record(seen) {
            *counted.entry((seen.tid, class, has_failed(seen))).or_default() += 1;
        }
    });
    counted
}

/// Whether the system call failed.
fn has_failed(seen: &Seen) -> bool {
    match seen.call.as_str() {
        // The error is the result.
        "posix_fallocate" | "posix_fadvise" => seen.result != 0,
        // The kernel tells of the lock that is in the way; libc makes an error of it.
        "lockf" => seen.errno.is_some_and(|errno| errno != EACCES),
        _ => seen.errno.is_some(),
    }
}

fn class_of_record(seen: &Seen) -> Option<&'static str> {
    let number = |name: &str| seen.args[name].as_i64().unwrap_or(0);
    match seen.call.as_str() {
        "fcntl" if !LOCK_COMMANDS.iter().any(|(_, command)| number("cmd") == *command) => None,
        // What libc itself refuses: an unknown command, no descriptor, a link or nothing where a file should be.
        "lockf" if !(0..=3).contains(&number("cmd")) => None,
        "futimens" if number("fd") < 0 => None,
        "fchmodat" if number("flags") & AT_SYMLINK_NOFOLLOW != 0 && has_failed(seen) => None,
        name => CLASSES.iter().find(|(.., trace)| trace.contains(&name)).map(|(class, ..)| *class),
    }
}
