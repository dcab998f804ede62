//! Whether a call that may make its file has made it.
//!
//! The call's own result does not say; a file system that keeps the birth of a file (statx(2): ext4, XFS, Btrfs, tmpfs since
//! Linux 6.6) does. A file that was made just now has changed last when it was made. One that was there and was emptied has
//! changed now. Both are the file system's clock: a server's may differ from ours.

use libc::{c_int, statx, statx_timestamp};

/// What to ask statx(2) for, of a file that is as good as new: see [`crate::status::MASK`].
pub const MASK: u32 = libc::STATX_CTIME | libc::STATX_BTIME;
/// Above the bits of `st_mode` in the record of a call that may have made its file: it was there before.
pub const FOUND: i64 = 1 << 20;
/// The same: the call made it. Neither where the file system does not tell.
pub const MADE: i64 = 1 << 21;
/// The flags that `creat` stands for: open(2).
pub const CREAT: c_int = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
/// The clock of the kernel's times may stand still for so long.
const TICK_NS: i128 = 20_000_000;

/// [`FOUND`], [`MADE`] or nothing, of an empty file behind an open with these flags.
pub fn of(status: &statx, flags: c_int) -> i64 {
    if status.stx_mask & MASK != MASK || flags & libc::O_CREAT == 0 {
        return 0;
    }
    let ns = |time: statx_timestamp| i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
    if ns(status.stx_ctime) - ns(status.stx_btime) > TICK_NS {
        FOUND
    } else if flags & libc::O_TRUNC != 0 {
        MADE
    } else {
        // It may have been empty, and untouched, for long.
        0
    }
}

/// True if of a file of this kind and size it is worth asking, behind an open with these flags: what was there before shows
/// by what is in it, and who makes a file for certain need not ask.
pub fn is_open(st_mode: i64, st_size: i64, flags: c_int) -> bool {
    let is_regular = st_mode as u32 & libc::S_IFMT == libc::S_IFREG;
    is_regular && st_size == 0 && flags & (libc::O_CREAT | libc::O_EXCL) == libc::O_CREAT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn born_and_changed(birth_s: i64, changed_s: i64, flags: c_int) -> i64 {
        // SAFETY: zeros are a valid status.
        let mut status: statx = unsafe { core::mem::zeroed() };
        status.stx_mask = MASK;
        (status.stx_btime.tv_sec, status.stx_ctime.tv_sec) = (birth_s, changed_s);
        of(&status, flags)
    }

    #[test]
    fn what_changed_after_its_birth_was_there() {
        const EMPTIES: c_int = libc::O_CREAT | libc::O_TRUNC;
        assert_eq!(born_and_changed(10, 20, EMPTIES), FOUND);
        assert_eq!(born_and_changed(20, 20, EMPTIES), MADE);
        assert_eq!(born_and_changed(20, 20, libc::O_CREAT), 0, "nobody may have touched it since");
        assert_eq!(born_and_changed(10, 20, 0), 0);
    }
}
