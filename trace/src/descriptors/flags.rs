//! `open(2)` flags as they stand in a trace: those of Linux on x86-64.

/// Bits of the access mode.
pub const O_ACCMODE: i32 = 0o3;
/// Write only.
pub const O_WRONLY: i32 = 0o1;
/// Read and write.
pub const O_RDWR: i32 = 0o2;
/// Create if missing.
pub const O_CREAT: i32 = 0o100;
/// Fail if it exists.
pub const O_EXCL: i32 = 0o200;
/// A terminal does not become the controlling one.
pub const O_NOCTTY: i32 = 0o400;
/// Cut to zero length.
pub const O_TRUNC: i32 = 0o1000;
/// Every write goes to the end.
pub const O_APPEND: i32 = 0o2000;
/// Do not block.
pub const O_NONBLOCK: i32 = 0o4000;
/// Data are on storage when a write returns.
pub const O_DSYNC: i32 = 0o10000;
/// Signal when ready.
pub const O_ASYNC: i32 = 0o20000;
/// Around the page cache.
pub const O_DIRECT: i32 = 0o40000;
/// Large offsets are allowed; the kernel reports it, 64-bit programs need not ask for it.
pub const O_LARGEFILE: i32 = 0o100000;
/// Must be a directory.
pub const O_DIRECTORY: i32 = 0o200000;
/// Do not follow a symbolic link.
pub const O_NOFOLLOW: i32 = 0o400000;
/// Do not update the access time.
pub const O_NOATIME: i32 = 0o1000000;
/// Close at `execve`.
pub const O_CLOEXEC: i32 = 0o2000000;
/// Data and metadata are on storage when a write returns; includes the bit of `O_DSYNC`.
pub const O_SYNC: i32 = 0o4010000;
/// Only name a place in the tree.
pub const O_PATH: i32 = 0o10000000;
/// A file without a name; includes the bit of `O_DIRECTORY`.
pub const O_TMPFILE: i32 = 0o20200000;

/// Whether these are of a file without a name: all bits, as one is that of `O_DIRECTORY`.
pub fn have_no_name(flags: i32) -> bool {
    flags & O_TMPFILE == O_TMPFILE
}

/// The flags that `fcntl(F_SETFL)` can change.
pub(super) const SETTABLE: i32 = O_APPEND | O_ASYNC | O_DIRECT | O_NOATIME | O_NONBLOCK;

/// What a stream's mode (`fopen(3)`) means in flags of `open(2)`.
pub fn of_stream_mode(mode: &[u8]) -> i32 {
    // What follows a comma names a character encoding.
    let mode = mode.split(|&byte| byte == b',').next().unwrap_or_default();
    let has = |letter: u8| mode.contains(&letter);
    let access = match mode.first() {
        _ if has(b'+') => O_RDWR,
        Some(b'w' | b'a') => O_WRONLY,
        _ => 0,
    };
    let creation = match mode.first() {
        Some(b'w') => O_CREAT | O_TRUNC,
        Some(b'a') => O_CREAT | O_APPEND,
        _ => 0,
    };
    let exclusive = if has(b'x') { O_EXCL } else { 0 };
    let at_exec = if has(b'e') { O_CLOEXEC } else { 0 };
    access | creation | exclusive | at_exec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_modes() {
        assert_eq!(of_stream_mode(b"r"), 0);
        assert_eq!(of_stream_mode(b"rb+"), O_RDWR);
        assert_eq!(of_stream_mode(b"w+"), O_RDWR | O_CREAT | O_TRUNC);
        assert_eq!(of_stream_mode(b"wxe"), O_WRONLY | O_CREAT | O_TRUNC | O_EXCL | O_CLOEXEC);
        assert_eq!(of_stream_mode(b"a,ccs=utf-8+x"), O_WRONLY | O_CREAT | O_APPEND);
        assert_eq!(of_stream_mode(b""), 0);
    }
}
