//! The one table of what is compared: which system calls and which records are the same class of call.

use Object::{Copied, Descriptor, Nothing, Path, PathAt};

/// What a call is about, by the positions of the system call's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// Nothing that has a name.
    Nothing,
    /// A descriptor.
    Descriptor(usize),
    /// A path; relative ones start from the current folder.
    Path(usize),
    /// The descriptor of a folder and, behind it, a path that may be empty.
    PathAt(usize),
    /// Two descriptors: what is read and what is written.
    Copied(usize, usize),
}

/// Calls that are counted together.
#[derive(Debug)]
pub struct Class {
    /// What it is called in reports.
    pub name: &'static str,
    /// Whether the result is a number of bytes, to be added up.
    pub bytes: bool,
    /// The system calls, by what they are about.
    pub kernel: &'static [(Object, &'static str)],
    /// The records, by the names that they have in the trace.
    pub trace: &'static str,
}

const fn calls(name: &'static str, kernel: &'static [(Object, &'static str)], trace: &'static str) -> Class {
    Class { name, bytes: false, kernel, trace }
}

const fn moves(name: &'static str, kernel: &'static [(Object, &'static str)], trace: &'static str) -> Class {
    Class { name, bytes: true, kernel, trace }
}

/// Names are separated by spaces.
pub const CLASSES: &[Class] = &[
    moves("read", &[(Descriptor(0), "read pread64 readv preadv preadv2")], "read pread readv preadv"),
    moves(
        "write",
        &[(Descriptor(0), "write pwrite64 writev pwritev pwritev2")],
        "write pwrite writev pwritev",
    ),
    moves("receive", &[(Descriptor(0), "recvfrom recvmsg")], "recv recvfrom recvmsg"),
    moves("send", &[(Descriptor(0), "sendto sendmsg")], "send sendto sendmsg"),
    calls("receive several", &[(Descriptor(0), "recvmmsg")], "recvmmsg"),
    calls("send several", &[(Descriptor(0), "sendmmsg")], "sendmmsg"),
    moves(
        "copy",
        &[(Copied(0, 2), "copy_file_range splice"), (Copied(1, 0), "sendfile"), (Copied(0, 1), "tee")],
        "copy_file_range splice sendfile tee",
    ),
    moves("vmsplice", &[(Descriptor(0), "vmsplice")], "vmsplice"),
    calls("open", &[(Path(0), "open creat"), (PathAt(0), "openat openat2")], "open creat openat openat2"),
    calls("close", &[(Descriptor(0), "close")], "close"),
    calls("close range", &[(Nothing, "close_range")], "close_range"),
    calls("seek", &[(Descriptor(0), "lseek")], "lseek"),
    calls(
        "status",
        &[(Path(0), "stat lstat"), (Descriptor(0), "fstat"), (PathAt(0), "newfstatat statx")],
        "stat lstat fstat fstatat statx",
    ),
    calls("file system", &[(Path(0), "statfs"), (Descriptor(0), "fstatfs")], "statfs fstatfs"),
    calls("access", &[(Path(0), "access"), (PathAt(0), "faccessat faccessat2")], "access faccessat"),
    moves("list", &[(Descriptor(0), "getdents64")], "getdents64"),
    calls("truncate", &[(Path(0), "truncate"), (Descriptor(0), "ftruncate")], "truncate ftruncate"),
    calls("allocate", &[(Descriptor(0), "fallocate")], "fallocate posix_fallocate"),
    calls("advise", &[(Descriptor(0), "fadvise64 readahead")], "posix_fadvise readahead"),
    calls(
        "synchronize",
        &[(Descriptor(0), "fsync fdatasync sync_file_range syncfs"), (Nothing, "sync")],
        "fsync fdatasync sync_file_range syncfs sync",
    ),
    calls("remove", &[(Path(0), "unlink rmdir"), (PathAt(0), "unlinkat")], "unlink rmdir unlinkat"),
    calls("rename", &[(Path(0), "rename"), (PathAt(0), "renameat renameat2")], "rename renameat"),
    calls("link", &[(Path(0), "link"), (PathAt(0), "linkat")], "link linkat"),
    calls("symbolic link", &[(Path(1), "symlink"), (PathAt(1), "symlinkat")], "symlink symlinkat"),
    calls("read link", &[(Path(0), "readlink"), (PathAt(0), "readlinkat")], "readlink readlinkat"),
    calls("make folder", &[(Path(0), "mkdir"), (PathAt(0), "mkdirat")], "mkdir mkdirat"),
    calls("make node", &[(Path(0), "mknod"), (PathAt(0), "mknodat")], "mknod mknodat"),
    calls(
        "mode",
        &[(Path(0), "chmod"), (Descriptor(0), "fchmod"), (PathAt(0), "fchmodat fchmodat2")],
        "chmod fchmod fchmodat",
    ),
    calls(
        "owner",
        &[(Path(0), "chown lchown"), (Descriptor(0), "fchown"), (PathAt(0), "fchownat")],
        "chown lchown fchown fchownat",
    ),
    calls("times", &[(Path(0), "utime utimes"), (PathAt(0), "utimensat futimesat")], "utimensat futimens"),
    calls(
        "attributes",
        &[
            (Path(0), "getxattr lgetxattr setxattr lsetxattr listxattr llistxattr removexattr lremovexattr"),
            (Descriptor(0), "fgetxattr fsetxattr flistxattr fremovexattr"),
        ],
        "getxattr lgetxattr setxattr lsetxattr listxattr llistxattr removexattr lremovexattr \
         fgetxattr fsetxattr flistxattr fremovexattr",
    ),
    calls("folder", &[(Path(0), "chdir"), (Descriptor(0), "fchdir")], "chdir fchdir"),
    calls("root", &[(Path(0), "chroot")], "chroot"),
    calls("duplicate", &[(Descriptor(0), "dup dup2 dup3")], "dup dup2 dup3"),
    calls("control", &[(Descriptor(0), "fcntl")], "fcntl lockf"),
    calls("device control", &[(Descriptor(0), "ioctl")], "ioctl ioctl_ficlonerange ioctl_tiocgptn"),
    calls("lock", &[(Descriptor(0), "flock")], "flock"),
    calls("map", &[(Descriptor(4), "mmap")], "mmap"),
    calls("memory file", &[(Nothing, "memfd_create")], "memfd_create"),
    calls("pipe", &[(Nothing, "pipe pipe2")], "pipe"),
    calls("socket", &[(Nothing, "socket")], "socket"),
    calls("socket pair", &[(Nothing, "socketpair")], "socketpair"),
    calls(
        "socket call",
        &[(Descriptor(0), "bind listen shutdown setsockopt getsockopt getsockname getpeername")],
        "bind listen shutdown setsockopt getsockopt getsockname getpeername",
    ),
    calls("accept", &[(Descriptor(0), "accept accept4")], "accept"),
    calls("connect", &[(Descriptor(0), "connect")], "connect"),
    calls("poll", &[(Nothing, "poll ppoll select pselect6")], "poll select"),
    calls("poll set", &[(Nothing, "epoll_create epoll_create1")], "epoll_create"),
    calls("poll set change", &[(Descriptor(0), "epoll_ctl")], "epoll_ctl"),
    calls("poll set wait", &[(Descriptor(0), "epoll_wait epoll_pwait epoll_pwait2")], "epoll_wait"),
    calls("event counter", &[(Nothing, "eventfd eventfd2")], "eventfd"),
    calls("signal descriptor", &[(Nothing, "signalfd signalfd4")], "signalfd"),
    calls("timer descriptor", &[(Nothing, "timerfd_create")], "timerfd_create"),
    calls(
        "timer descriptor call",
        &[(Descriptor(0), "timerfd_settime timerfd_gettime")],
        "timerfd_settime timerfd_gettime",
    ),
    calls("notices", &[(Nothing, "inotify_init inotify_init1")], "inotify_init"),
    calls(
        "notices change",
        &[(Descriptor(0), "inotify_add_watch inotify_rm_watch")],
        "inotify_add_watch inotify_rm_watch",
    ),
    calls("aio context", &[(Nothing, "io_setup io_destroy")], "io_setup io_destroy"),
    calls("aio submission", &[(Nothing, "io_submit")], "io_submit"),
    calls("ring", &[(Nothing, "io_uring_setup")], "io_uring_setup"),
    calls(
        "ring entry",
        &[(Descriptor(0), "io_uring_enter io_uring_register")],
        "io_uring_enter io_uring_register",
    ),
    calls("process descriptor", &[(Nothing, "pidfd_open")], "pidfd_open"),
];

/// Creation, replacement and end of processes, which are recorded of launchers too. What makes processes and threads, and
/// programs and ends, is counted by its outcome: [`super::kernel`] and [`super::recorded`].
pub const WAIT: Class = calls("wait", &[(Nothing, "wait4 waitid")], "waitpid waitid");

/// Calls of the traced kinds that are compared by what comes of them, or not at all.
pub const LEFT_OUT: &[(&str, &str)] = &[
    (
        "clone clone3 fork vfork execve execveat exit exit_group",
        "compared as processes, threads, programs and ends",
    ),
    ("getcwd", "tells a process where it is, and moves nothing"),
    ("io_getevents io_pgetevents", "libaio takes completions out of the ring in memory where it can"),
    ("kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal", "signals are no I/O"),
    (
        "landlock_create_ruleset landlock_add_rule landlock_restrict_self",
        "takes rights away, and moves nothing",
    ),
    ("io_cancel", "nothing has been cancelled yet by any kernel file system"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use syn_trace::calls::Call;

    #[test]
    fn every_name_stands_once_and_every_record_is_in_the_table() {
        let (mut kernel, mut trace) = (BTreeSet::new(), BTreeSet::new());
        for class in CLASSES.iter().chain([&WAIT]) {
            for name in class.kernel.iter().flat_map(|(_, names)| names.split_whitespace()) {
                assert!(kernel.insert(name), "{name} stands twice");
            }
            for name in class.trace.split_whitespace() {
                assert!(trace.insert(name), "{name} stands twice");
                assert!(Call::from_name(name).is_some(), "{name} is no record");
            }
        }
        let left_out = LEFT_OUT.iter().flat_map(|(names, _)| names.split_whitespace());
        assert!(left_out.into_iter().all(|name| kernel.insert(name)), "nothing is compared and left out");
    }
}
