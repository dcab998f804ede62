//! Overwriting entries of libc, which are in its text.

use super::patch::{JUMP_BYTES, Patch};
use crate::core::{elf, sys};

/// Overwrites the entries by their jumps. False where that cannot be done; then all is as it was.
pub fn write_jumps(patches: &[Patch]) -> bool {
    let mut moved = patches.iter().filter(|patch| patch.trampoline != 0);
    let Some(text) = moved.clone().next().and_then(|patch| elf::segment_of(patch.address)) else {
        return false;
    };
    let is_within =
        |patch: &Patch| (text.start..text.start + text.bytes - JUMP_BYTES).contains(&patch.address);
    // SAFETY: the entries lie in libc's text, and the process has one thread.
    moved.all(is_within) && unsafe { with_text_writable(&text, patches) }
}

/// All of libc's text is writable meanwhile and not executable: in between nothing of
/// libc may be called, not even its `memcpy`, and so system calls are made directly and bytes are stored one by one. (Where
/// the protection of a part changes, the kernel keeps the parts apart from then on: every fork and end of a process pays.)
///
/// # Safety
/// The pages hold libc's text, and the process has one thread, which executes this function meanwhile.
unsafe fn with_text_writable(text: &elf::Segment, patches: &[Patch]) -> bool {
    // SAFETY: as the caller vouches.
    unsafe {
        if sys::mprotect(text.start, text.bytes, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return false;
        }
        for patch in patches.iter().filter(|patch| patch.trampoline != 0) {
            for (index, byte) in patch.jump.iter().enumerate() {
                core::ptr::write_volatile((patch.address + index) as *mut u8, *byte);
            }
        }
        if sys::mprotect(text.start, text.bytes, libc::PROT_READ | libc::PROT_EXEC) == 0 {
            return true;
        }
        map_again(text);
    }
    false
}

/// A system that forbids changed text to become executable: maps the pages from libc's file once more, as they were. Where not
/// even that is to be had, there is no way on from here.
///
/// # Safety
/// `text` is what is mapped there.
#[cold]
unsafe fn map_again(text: &elf::Segment) {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_FIXED);
    // SAFETY: as the caller vouches; the path is the loader's.
    unsafe {
        let fd = sys::openat(libc::AT_FDCWD, text.path.cast(), libc::O_RDONLY | libc::O_CLOEXEC, 0) as i32;
        let mapped = sys::mmap(text.start, text.bytes, protection, flags, fd, text.offset);
        sys::close(fd);
        if mapped as usize != text.start {
            sys::complain(&[
                b"syn: this system does not let libc's pages become executable again; set SYN_DETOURS=0\n",
            ]);
            sys::call(libc::SYS_exit_group, [127, 0, 0, 0, 0, 0]);
        }
    }
}
