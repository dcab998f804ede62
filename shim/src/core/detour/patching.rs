//! Overwriting entries of libc, which are in its text.

use super::patch::{JUMP_BYTES, PAGE, Patch};
use crate::core::{elf, sys};
use core::ops::Range;

/// From the end of a page with an entry to that of the next one, if both are to be writable in one piece: each further piece costs
/// two calls and a mapping of its own, each further page 50 ns a call.
const GAP_BYTES: usize = 80 * PAGE;

/// Whether all entries lie in this text.
pub fn are_within(text: &elf::Segment, patches: &[Patch]) -> bool {
    let entries = text.start..text.start + text.bytes - JUMP_BYTES;
    moved(patches).all(|patch| entries.contains(&patch.address))
}

/// The part of it that has the entries, by whole pages.
pub fn part_of(text: elf::Segment, patches: &[Patch]) -> elf::Segment {
    let of_text = text.start..text.start + text.bytes;
    let entries = || patches.iter().map(|patch| patch.address).filter(|address| of_text.contains(address));
    let first = entries().min().unwrap_or(text.start) & !(PAGE - 1);
    let end = entries().map(|address| (address + JUMP_BYTES).next_multiple_of(PAGE)).max().unwrap_or(first);
    elf::Segment {
        start: first,
        bytes: end - first,
        offset: text.offset + (first - text.start) as u64,
        ..text
    }
}

/// Overwrites the entries by their jumps. False where that cannot be done; then all is as it was.
pub fn write_jumps(text: &elf::Segment, patches: &[Patch]) -> bool {
    let mut done = text.start;
    while let Some(piece) = next_piece(patches, done) {
        // SAFETY: the entries lie in libc's text, and the process has one thread.
        match unsafe { with_text_writable(&piece, patches) } {
            Outcome::Placed => done = piece.end,
            Outcome::Refused if done == text.start => return false,
            _ => {
                // SAFETY: as above.
                unsafe { map_again(text) };
                return false;
            }
        }
    }
    true
}

/// What came of a piece of text.
enum Outcome {
    Placed,
    /// It cannot be written to, and is as it was.
    Refused,
    /// It cannot be made executable again.
    Stuck,
}

/// The patches whose functions can be moved.
pub fn moved(patches: &[Patch]) -> impl Iterator<Item = &Patch> + Clone {
    patches.iter().filter(|patch| patch.trampoline != 0)
}

/// The next pages behind `from` that are to be writable in one piece.
fn next_piece(patches: &[Patch], from: usize) -> Option<Range<usize>> {
    let start =
        moved(patches).map(|patch| patch.address & !(PAGE - 1)).filter(|&start| start >= from).min()?;
    let mut end = start;
    // The patches are in no order.
    while let Some(next) = moved(patches)
        .map(|patch| (patch.address + JUMP_BYTES).next_multiple_of(PAGE))
        .filter(|next| (end + 1..=end + GAP_BYTES).contains(next))
        .max()
    {
        end = next;
    }
    Some(start..end)
}

/// These pages of libc's text are writable meanwhile and not executable: in between nothing of
/// libc may be called, not even its `memcpy`, and so system calls are made directly and bytes are stored one by one.
///
/// # Safety
/// The pages hold libc's text, and the process has one thread, which executes this function meanwhile.
unsafe fn with_text_writable(piece: &Range<usize>, patches: &[Patch]) -> Outcome {
    // SAFETY: as the caller vouches.
    unsafe {
        if sys::mprotect(piece.start, piece.len(), libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return Outcome::Refused;
        }
        for patch in moved(patches).filter(|patch| piece.contains(&patch.address)) {
            for (index, byte) in patch.jump.iter().enumerate() {
                core::ptr::write_volatile((patch.address + index) as *mut u8, *byte);
            }
        }
        // A mapping of its own from now on, as its neighbours are not so: where it were one with them again, each fork would copy the
        // page tables of all of libc's text. A page of it that is not in memory yet is read alone.
        sys::madvise(piece.start, piece.len(), libc::MADV_RANDOM);
        match sys::mprotect(piece.start, piece.len(), libc::PROT_READ | libc::PROT_EXEC) {
            0 => Outcome::Placed,
            _ => Outcome::Stuck,
        }
    }
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
