//! What a descriptor stands for.

use crate::core::{file_status, sys};
use core::ffi::c_int;
use syn_trace::{birth, status};

/// As [`status_of`], of what a call with these flags has just opened, with the bits of [`syn_trace::birth`].
pub fn opened_status(fd: c_int, flags: c_int) -> [i64; 3] {
    if fd < 0 {
        return [0; 3];
    }
    let [mode, size, inode] = file_status::opened(fd, flags, status::numbers).unwrap_or_default();
    if !birth::is_open(mode, size, flags) || sys::is_confined() {
        return [mode, size, inode];
    }
    let born = file_status::as_known(fd, birth::MASK, |status| birth::of(status, flags)).unwrap_or(0);
    [mode | born, size, inode]
}

/// What an open file is: `st_mode`, `st_size`, `st_ino`; zeros if the descriptor is not valid.
pub fn status_of(fd: c_int) -> [i64; 3] {
    opened_status(fd, 0)
}
