//! What recorders ask of a file that a call has opened.

/// What to ask statx(2) for: kind, permissions, size and number.
///
/// No times: who is asked for them has to make them true first. Since Linux 6.13 the next write after such a question notes its
/// time to the nanosecond and not to the tick, which takes it 0.2 µs longer on tmpfs and 0.6 µs on ext4, and shows in the file;
/// NFS writes back what is not yet written. fstat(2) always asks for all.
pub const MASK: u32 = libc::STATX_TYPE | libc::STATX_MODE | libc::STATX_SIZE | libc::STATX_INO;

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
