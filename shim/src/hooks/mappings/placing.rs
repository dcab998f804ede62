//! The calls that make, move and unmake mappings, around the real ones.
//!
//! Each has a short path for memory in which no file is mapped, and a long one. On that, what is about to be unmapped is
//! marked before the real call and taken out of the table after it; see [`crate::recording::mappings`].

use crate::hooks::status_of;
use crate::recording::library_calls::{Library, inside, is_inside};
use crate::recording::mappings::{
    self as table, DATA, Mapping, SHARED, WRITABLE, end_of, inherited, is_range,
};
use crate::recording::process;
use crate::recording::span::{self, Span, note};
use crate::{io_uring, page_scans};
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};
use libc::off_t;
use syn_trace::calls::Call;
use syn_trace::record::Flags;

/// The traits of a mapping with these arguments of mmap(2).
fn traits_of(fd: c_int, protection: c_int, flags: c_int) -> u32 {
    let mode = status_of(fd)[0];
    let is_data = [libc::S_IFREG, libc::S_IFBLK].contains(&(mode as u32 & libc::S_IFMT));
    let mut traits = if is_data { DATA } else { 0 };
    // MAP_SHARED_VALIDATE has the bit of MAP_SHARED too.
    if flags & libc::MAP_SHARED != 0 {
        traits |= SHARED;
    }
    if protection & libc::PROT_WRITE != 0 {
        traits |= WRITABLE;
    }
    traits
}

/// Says once that there are more mappings than can be followed.
#[cold]
pub fn note_overflow(span: &Span) {
    static NOTED: AtomicBool = AtomicBool::new(false);
    if !NOTED.swap(true, Ordering::Relaxed) {
        let what: &[u8] =
            b"mapped files: more than 4096 at a time; calls about the further ones are not recorded";
        // SAFETY: this thread's state, while the hook runs.
        note::write(span.state(), Call::Unobserved, 0, &[], &[what]);
    }
}

/// After a call that was to unmap what lies between the addresses; false when there was no room for what it left.
fn settle_or_remove(failed: bool, start: usize, end: usize) -> bool {
    if failed {
        table::settle(start, end);
    }
    failed || table::remove(start, end)
}

type MapFunction = unsafe extern "C-unwind" fn(usize, usize, c_int, c_int, c_int, off_t) -> isize;
type UnmapFunction = unsafe extern "C-unwind" fn(usize, usize) -> c_int;
type RemapFunction = unsafe extern "C-unwind" fn(usize, usize, usize, c_int, usize) -> isize;

#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn map(
    real: MapFunction,
    from: Flags,
    address: usize,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> isize {
    let anonymous = flags & libc::MAP_ANONYMOUS != 0;
    // What a process shares with its children may hold locks.
    let private = flags & (libc::MAP_ANONYMOUS | libc::MAP_SHARED) == libc::MAP_ANONYMOUS;
    if private && (flags & libc::MAP_FIXED == 0 || !table::overlaps(address, end_of(address, bytes))) {
        // SAFETY: the caller's own arguments.
        return unsafe { real(address, bytes, protection, flags, fd, offset) };
    }
    let fd = if anonymous { -1 } else { fd };
    // SAFETY: as above; the kernel ignores the descriptor of anonymous memory.
    unsafe { map_file(real, from, address, bytes, protection, flags, fd, offset) }
}

#[cold]
#[inline(never)]
#[allow(clippy::too_many_arguments)]
unsafe fn map_file(
    real: MapFunction,
    from: Flags,
    address: usize,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> isize {
    let library = Library::Memory(Call::Mmap, i64::from(fd));
    if is_inside(library) {
        // SAFETY: the caller's own arguments.
        return unsafe { real(address, bytes, protection, flags, fd, offset) };
    }
    let end = end_of(address, bytes);
    // MAP_FIXED takes the place of what is there, if it succeeds.
    let replaces = flags & libc::MAP_FIXED != 0 && is_range(address, bytes);
    let mut span = span::enter(Call::Mmap, from);
    if replaces {
        if let Some(span) = &mut span {
            inherited::introduce(span, address, end);
            page_scans::tell(span, address, end);
        }
        table::mark(address, end);
    }
    // SAFETY: the caller's own arguments.
    let result = inside(library, || unsafe { real(address, bytes, protection, flags, fd, offset) });
    if let Some(span) = &mut span {
        span.returned();
    }
    let failed = result == -1;
    let mut kept_all = !replaces || settle_or_remove(failed, address, end);
    let Some(span) = span else { return result };
    if !failed && fd >= 0 {
        let start = result as usize;
        let traits = traits_of(fd, protection, flags);
        let mapping = Mapping {
            start,
            end: end_of(start, bytes),
            offset: offset as u64,
            traits,
            owner: process::pid(),
            leaving: [0, 0],
        };
        page_scans::begin();
        kept_all &= table::insert(mapping);
        io_uring::mapped(fd, offset, start);
    }
    let numbers = [i64::from(fd), bytes as i64, i64::from(protection), i64::from(flags), offset];
    if !kept_all {
        note_overflow(&span);
    }
    span.leave(Call::Mmap, failed, if failed { span::errno() } else { result as i64 }, &numbers, &[], &[]);
    result
}

#[inline(always)]
pub unsafe fn unmap(real: UnmapFunction, from: Flags, address: usize, bytes: usize) -> c_int {
    if !table::overlaps(address, end_of(address, bytes)) {
        // SAFETY: the caller's own arguments.
        return unsafe { real(address, bytes) };
    }
    // SAFETY: as above.
    unsafe { unmap_file(real, from, address, bytes) }
}

#[cold]
#[inline(never)]
unsafe fn unmap_file(real: UnmapFunction, from: Flags, address: usize, bytes: usize) -> c_int {
    let library = Library::Memory(Call::Munmap, address as i64);
    if is_inside(library) {
        // SAFETY: the caller's own arguments.
        return unsafe { real(address, bytes) };
    }
    let end = end_of(address, bytes);
    io_uring::unmapped(address, bytes);
    let mut span = span::enter(Call::Munmap, from);
    if is_range(address, bytes) {
        if let Some(span) = &mut span {
            inherited::introduce(span, address, end);
            page_scans::tell(span, address, end);
        }
        table::mark(address, end);
    }
    // SAFETY: the caller's own arguments.
    let result = inside(library, || unsafe { real(address, bytes) });
    if let Some(span) = &mut span {
        span.returned();
    }
    let failed = result != 0;
    let kept_all = settle_or_remove(failed, address, end);
    if let Some(span) = span {
        if !kept_all {
            note_overflow(&span);
        }
        let outcome = if failed { span::errno() } else { 0 };
        span.leave(Call::Munmap, failed, outcome, &[address as i64, bytes as i64], &[], &[]);
    }
    result
}

#[inline(always)]
pub unsafe fn remap(
    real: RemapFunction,
    from: Flags,
    address: usize,
    old_bytes: usize,
    new_bytes: usize,
    flags: c_int,
    new_address: usize,
) -> isize {
    let replaces =
        || flags & libc::MREMAP_FIXED != 0 && table::overlaps(new_address, end_of(new_address, new_bytes));
    let concerns_file = table::overlaps(address, end_of(address, old_bytes.max(1))) || replaces();
    if !concerns_file {
        // SAFETY: the caller's own arguments.
        return unsafe { real(address, old_bytes, new_bytes, flags, new_address) };
    }
    // SAFETY: as above.
    unsafe { remap_file(real, from, address, old_bytes, new_bytes, flags, new_address) }
}

#[cold]
#[inline(never)]
unsafe fn remap_file(
    real: RemapFunction,
    from: Flags,
    address: usize,
    old_bytes: usize,
    new_bytes: usize,
    flags: c_int,
    new_address: usize,
) -> isize {
    let library = Library::Memory(Call::Mremap, address as i64);
    if is_inside(library) {
        // SAFETY: the caller's own arguments.
        return unsafe { real(address, old_bytes, new_bytes, flags, new_address) };
    }
    let (old_end, cut) = (end_of(address, old_bytes), end_of(address, new_bytes));
    let new_end = end_of(new_address, new_bytes);
    let replaces = flags & libc::MREMAP_FIXED != 0 && is_range(new_address, new_bytes);
    let mut span = span::enter(Call::Mremap, from);
    if let Some(span) = &mut span {
        inherited::introduce(span, address, end_of(address, old_bytes.max(1)));
        // What is cut off, and what is replaced.
        if cut < old_end {
            page_scans::tell(span, cut, old_end);
        }
        if replaces {
            inherited::introduce(span, new_address, new_end);
            page_scans::tell(span, new_address, new_end);
        }
    }
    let moved_end = end_of(address, old_bytes.max(1));
    table::mark(address, moved_end);
    if replaces {
        table::mark(new_address, new_end);
    }
    // SAFETY: the caller's own arguments.
    let result = inside(library, || unsafe { real(address, old_bytes, new_bytes, flags, new_address) });
    if let Some(span) = &mut span {
        span.returned();
    }
    let failed = result == -1;
    if !failed {
        let (old_bytes, new_bytes) = (old_end - address, end_of(0, new_bytes));
        let keeps = old_bytes == 0 || flags & libc::MREMAP_DONTUNMAP != 0;
        let kept_all = (!replaces || table::remove(new_address, new_end))
            & table::relocate(address, old_bytes, result as usize, new_bytes, keeps);
        if let (false, Some(span)) = (kept_all, &span) {
            note_overflow(span);
        }
    }
    table::settle(address, moved_end);
    if replaces {
        table::settle(new_address, new_end);
    }
    if let Some(span) = span {
        let outcome = if failed { span::errno() } else { result as i64 };
        let numbers = [address as i64, old_bytes as i64, new_bytes as i64, i64::from(flags)];
        span.leave(Call::Mremap, failed, outcome, &numbers, &[], &[]);
    }
    result
}
