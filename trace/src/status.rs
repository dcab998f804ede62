//! What recorders ask of a file that a call has opened.

/// What to ask statx(2) for: kind, permissions, size and number.
///
/// No times: who is asked for them has to make them true first. Since Linux 6.13 the next write after such a question notes its
/// time to the nanosecond and not to the tick, which takes it 0.2 µs longer on tmpfs and 0.6 µs on ext4, and shows in the file;
/// NFS writes back what is not yet written. fstat(2) always asks for all.
pub const MASK: u32 = libc::STATX_TYPE | libc::STATX_MODE | libc::STATX_SIZE | libc::STATX_INO;

/// How to ask it: for what is known here. Asked otherwise, a file system on a network asks its server once more, which is a
/// message that the program does not send: FUSE of a folder in which something was made or removed, and of a file that was written to.
pub const AS_KNOWN: i32 = libc::AT_STATX_DONT_SYNC;

/// True of a file of this mode and size, behind an open with these flags, that may be longer than is known here: a client of
/// Lustre learns the size when it needs it, and says 0 till then.
pub fn may_be_longer(st_mode: i64, st_size: i64, flags: i32) -> bool {
    const MAKES: i32 = libc::O_CREAT | libc::O_EXCL;
    let is_new = flags & libc::O_TRUNC != 0 || flags & MAKES == MAKES;
    st_mode as u32 & libc::S_IFMT == libc::S_IFREG && st_size == 0 && !is_new
}

/// What the kernel adds to the name of a file that has none any more (proc_pid_fd(5)).
pub const DELETED: &str = " (deleted)";

/// The file system of POSIX's message queues, as statfs(2) names it (`MQUEUE_MAGIC`).
pub const QUEUES: i64 = 0x1980_0202;

/// `st_mode`, `st_size`, `st_ino` of an answer to such a question. Above the 32 bits of the mode is the device: two file systems
/// have the same inodes.
pub fn numbers(status: &libc::statx) -> [i64; 3] {
    let device = i64::from(status.stx_dev_major << 20 | status.stx_dev_minor);
    [i64::from(status.stx_mode) | device << 32, status.stx_size as i64, status.stx_ino as i64]
}

/// The device beside an `st_mode`; 0 where it is not on record.
pub fn device(st_mode: i64) -> u32 {
    (st_mode as u64 >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use libc::{O_CREAT, O_EXCL, O_RDWR, O_TRUNC, S_IFDIR, S_IFREG};

    #[test]
    fn only_a_file_that_was_there_may_be_longer() {
        let [file, folder] = [S_IFREG | 0o644, S_IFDIR | 0o755].map(i64::from);
        assert!(may_be_longer(file, 0, O_RDWR) && may_be_longer(file, 0, O_CREAT));
        assert!(!may_be_longer(file, 0, O_TRUNC) && !may_be_longer(file, 0, O_CREAT | O_EXCL));
        assert!(!may_be_longer(file, 1, O_RDWR) && !may_be_longer(folder, 0, O_RDWR));
    }
}
