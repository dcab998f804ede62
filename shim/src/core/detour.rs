//! Entry detours inside libc, for the functions that its stdio calls directly.
//!
//! `fprintf` ends in `call __write` inside libc: no symbol is looked up, so no preloaded library is asked. `write` and
//! `__write` are one address, so a jump at that address sees both kinds of caller. The overwritten instructions are
//! relocated by a decoder library into a trampoline near libc, from which the function goes on.
//!
//! ```text
//!   write:  jmp ─► stub: jmp [hook]  ─► hook ─► trampoline: first instructions, jmp write + n
//! ```
//!
//! Others patch such entries as well, at any time, with longer jumps: allocators and network libraries those of `mmap` and
//! its kin. Functions that do no more than a system call make it from the trampoline, and never come back to bytes that may
//! not be theirs any more; see [`present`].
//!
//! Patching happens once, while the process has one thread. A page is writable or executable, never both. Where a
//! check fails nothing is patched, and the trace says that libc's own calls were not seen.

mod area;
mod patch;
mod patching;
mod shared;

use crate::core::elf;
use area::{Area, ENTRY_AT, SLOT_BYTES, STUB_BYTES};
use core::sync::atomic::{AtomicUsize, Ordering};
pub use patch::Patch;
use patch::{JUMP_BYTES, NEAR_JUMP};
pub use shared::NOTE_BYTES;
use shared::SharedText;

/// Where the detours' code lies, and its length; 0 while there is none.
static AREA_START: AtomicUsize = AtomicUsize::new(0);
static AREA_BYTES: AtomicUsize = AtomicUsize::new(0);

/// True when libc's own calls are seen.
pub fn in_place() -> bool {
    AREA_BYTES.load(Ordering::Relaxed) != 0
}

/// The function at `address` without its detour, if it has one.
pub fn behind(address: usize) -> usize {
    let area = AREA_BYTES.load(Ordering::Relaxed);
    if area == 0 {
        return address;
    }
    match jump_at(address) {
        Some(target) if target.wrapping_sub(AREA_START.load(Ordering::Relaxed)) < area => target + STUB_BYTES,
        _ => address,
    }
}

/// Where the near jump at a function's entry leads, if there is one.
#[inline]
fn jump_at(address: usize) -> Option<usize> {
    // SAFETY: the entry of a function, which is longer than a jump.
    let entry = unsafe { (address as *const [u8; JUMP_BYTES]).read_unaligned() };
    let distance = i32::from_le_bytes([entry[1], entry[2], entry[3], entry[4]]);
    (entry[0] == NEAR_JUMP).then(|| (address + JUMP_BYTES).wrapping_add_signed(distance as isize))
}

/// What [`behind`] gave for a function, or its entry, where that has been patched since by somebody who wants to be called.
#[inline]
pub fn present(address: usize) -> usize {
    let within = address.wrapping_sub(AREA_START.load(Ordering::Relaxed));
    if within >= AREA_BYTES.load(Ordering::Relaxed) {
        return address;
    }
    let slot = address - within % SLOT_BYTES;
    // SAFETY: every slot that is in use has the address there.
    let entry = unsafe { ((slot + ENTRY_AT) as *const usize).read() };
    if jump_at(entry) == Some(slot) { address } else { entry }
}

/// Why there are no detours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No free memory within reach of the entries.
    NoRoom,
    /// An entry that is needed cannot be moved.
    Immovable,
    /// The system does not let code be changed.
    Forbidden,
}

/// Places detours at all entries that can be moved, if these are `enough`, or none. The process must have one thread; it is `pid`, and
/// what its run has in common may lie in `folder`: the note is returned that one process of it has left for the others. This one may leave `note`
/// where there is none.
///
/// # Errors
/// Why there are none.
pub fn place(
    patches: &mut [Patch],
    enough: fn(&[Patch]) -> bool,
    (pid, folder): (u32, &[u8]),
    note: impl FnOnce() -> [u8; NOTE_BYTES],
) -> Result<Option<[u8; NOTE_BYTES]>, Refused> {
    let text = patches.first().and_then(|patch| elf::segment_of(patch.address)).ok_or(Refused::NoRoom)?;
    let area = Area::near(text.start, patches.len()).ok_or(Refused::NoRoom)?;
    let part = patching::part_of(text, patches);
    let shared = SharedText::of(&part, patches, &area, folder);
    let opened = shared.open(&part, &area);
    let is_missing = matches!(opened, Err(error) if error == -(libc::ENOENT as isize));
    let found = opened.ok().filter(|copy| {
        area.take_over(patches);
        enough(patches) && area.make_executable() && copy.map(&part)
    });
    if found.is_none() {
        if !is_missing && !area.clear() {
            return Err(Refused::Forbidden);
        }
        for (index, patch) in patches.iter_mut().enumerate() {
            patch.trampoline = area.fill(index, patch).unwrap_or(0);
        }
        if !enough(patches) {
            return Err(Refused::Immovable);
        }
        let is_placed = patching::are_within(&text, patches)
            && area.make_executable()
            && patching::write_jumps(&text, patches);
        if !is_placed {
            return Err(Refused::Forbidden);
        }
        if is_missing {
            shared.make(&part, patches, &area, pid, note);
        }
    }
    AREA_START.store(area.start, Ordering::Relaxed);
    AREA_BYTES.store(area.bytes, Ordering::Relaxed);
    Ok(found.map(|copy| copy.note))
}
