//! What a descriptor stands for.

use crate::core::{file_status, sys};
use crate::recording::process;
use crate::recording::span::note;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};
use syn_trace::{birth, status};

/// As [`status_of`], of what a call with these flags has just opened, with the bits of [`syn_trace::birth`].
pub fn opened_status(fd: c_int, flags: c_int) -> [i64; 3] {
    if fd < 0 {
        return [0; 3];
    }
    if !sys::may_ask_about_files() {
        note_filter();
    }
    let [mode, size, inode] = file_status::opened(fd, flags, status::numbers).unwrap_or_default();
    if !birth::is_open(mode, size, flags) {
        return [mode, size, inode];
    }
    let born = file_status::as_known(fd, birth::MASK, |status| birth::of(status, flags)).unwrap_or(0);
    [mode | born, size, inode]
}

/// What an open file is: `st_mode`, `st_size`, `st_ino`; zeros if the descriptor is not valid.
pub fn status_of(fd: c_int) -> [i64; 3] {
    opened_status(fd, 0)
}

/// Says once in a process that the kernel cannot be asked.
#[cold]
pub fn note_filter() {
    static NOTED_BY: AtomicU32 = AtomicU32::new(0);
    let pid = process::pid();
    let what = b"files and sockets: behind a filter of seccomp(2), or where system calls are dispatched to the program, nobody can ask what a descriptor stands for";
    if NOTED_BY.swap(pid, Ordering::Relaxed) != pid && !note::unobserved(what) {
        NOTED_BY.store(0, Ordering::Relaxed);
    }
}
