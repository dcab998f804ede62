//! Chunks of the file, taken and mapped without a descriptor; see [`syn_trace::chunks`].

use super::state::PAGE;
use super::trace_file::{FIRST_UNITS, HEAD, allocate_and_map, lengthen, make_once, open};
use crate::core::sys;
use crate::recording::thread::private_table;
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, Ordering};
use syn_trace::chunks::{FileHead, UNIT_BYTES};

/// Small chunks are mapped together, in areas of so many bytes: to map each by itself takes three system calls, and two
/// to unmap it. An area stays mapped; a page of it takes no memory when its thread has ended.
const AREA_BYTES: usize = 1 << 20;
const AREA_UNITS: u64 = (AREA_BYTES / UNIT_BYTES) as u64;
/// Longer chunks are mapped by themselves.
const SMALL_BYTES: usize = 64 << 10;
/// So many areas behind the one at the front of the file, which is most processes' only one.
const AREAS: usize = 1024;
#[unsafe(link_section = ".bss.tables")]
static AREA: [AtomicPtr<u8>; AREAS] = [const { AtomicPtr::new(core::ptr::null_mut()) }; AREAS];
static FIRST_AREA: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());

fn area(number: u64) -> Option<&'static AtomicPtr<u8>> {
    match number.checked_sub(1) {
        None => Some(&FIRST_AREA),
        Some(further) => AREA.get(further as usize),
    }
}

/// A part of the file that is the calling thread's, mapped, its blocks reserved. It is zero.
pub struct Chunk {
    pub at: *mut u8,
    pub bytes: usize,
    /// The unit with which it begins.
    pub unit: u64,
    /// It lies in an area that stays mapped.
    pub in_area: bool,
}

/// Nothing uses these pages of the file any more.
///
/// # Safety
/// They are mapped, and nothing points into them.
pub unsafe fn let_go(at: usize, bytes: usize, in_area: bool) {
    // SAFETY: as the caller vouches. What was written is in the file.
    unsafe {
        if in_area {
            sys::madvise(at, bytes, libc::MADV_DONTNEED);
        } else {
            sys::munmap(at, bytes);
        }
    }
}

/// Takes a chunk of `bytes`, whole units; `room` is for a path. The first one of the file has a length of its own. `Err` is a
/// negated errno.
#[unsafe(link_section = ".text.startup")]
pub fn take(room: &mut [u8], bytes: usize) -> Result<Chunk, isize> {
    if HEAD.load(Ordering::Acquire).is_null() {
        match make_once(room, AREA_BYTES) {
            Ok(at) => {
                FIRST_AREA.store(at, Ordering::Release);
                let at = at.wrapping_add(UNIT_BYTES);
                return Ok(Chunk { at, bytes: FIRST_UNITS * UNIT_BYTES, unit: 1, in_area: true });
            }
            // Another thread has made it meanwhile.
            Err(_) if !HEAD.load(Ordering::Acquire).is_null() => {}
            Err(error) => return Err(error),
        }
    }
    // SAFETY: mapped as long as the process lives; all its fields that change are atomics.
    let head = unsafe { &*HEAD.load(Ordering::Acquire) };
    let units = (bytes / UNIT_BYTES) as u64;
    let unit = loop {
        match head.take(units) {
            Some(unit) => break unit,
            // Other threads may take all of what is new. Each time one of them has got on, so that this ends.
            None => lengthen(room, head, head.taken.load(Ordering::Relaxed) + units)?,
        }
    };
    if bytes <= SMALL_BYTES
        && let Some(at) = in_area(head, unit, units)
        // SAFETY: the pages are this thread's alone.
        && unsafe { reserve(at as usize, bytes) }
    {
        return Ok(Chunk { at, bytes, unit, in_area: true });
    }
    let at = match map(head, unit, bytes) {
        Some(at) => at,
        None => private_table::run(|| allocate_and_map(open(room, 0)?, unit, bytes))?,
    };
    Ok(Chunk { at, bytes, unit, in_area: false })
}

/// Where units are mapped, if they lie in one area.
#[unsafe(link_section = ".text.startup")]
fn in_area(head: &FileHead, unit: u64, units: u64) -> Option<*mut u8> {
    let area = area(unit / AREA_UNITS)?;
    if unit % AREA_UNITS + units > AREA_UNITS {
        return None;
    }
    let mut at = area.load(Ordering::Acquire);
    if at.is_null() {
        let new = map_once_more(head, unit / AREA_UNITS * AREA_UNITS, AREA_BYTES)?;
        at = match area.compare_exchange(at, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(others) => {
                // SAFETY: nobody knows the mapping.
                unsafe { sys::munmap(new as usize, AREA_BYTES) };
                others
            }
        };
    }
    Some(at.wrapping_add((unit % AREA_UNITS) as usize * UNIT_BYTES))
}

/// Maps a chunk. `None`: it cannot be had so, or its blocks cannot be reserved so.
fn map(head: &FileHead, unit: u64, bytes: usize) -> Option<*mut u8> {
    let at = map_once_more(head, unit, bytes)?;
    // SAFETY: the pages are this thread's alone.
    unsafe {
        if reserve(at as usize, bytes) {
            return Some(at);
        }
        sys::munmap(at as usize, bytes);
    }
    None
}

/// Maps a part of the file once more: mremap(2) does so where the old size is 0, from the page that is given on. `None`: it
/// cannot be had so (an address space that is limited).
#[unsafe(link_section = ".text.startup")]
fn map_once_more(head: &FileHead, unit: u64, bytes: usize) -> Option<*mut u8> {
    let (head, distance) = ((&raw const *head) as usize, unit as usize * UNIT_BYTES);
    // SAFETY: new mappings disturb nothing; what is unmapped is part of the new one.
    unsafe {
        // Where all memory is locked, all of the new mapping would be filled otherwise.
        sys::munlock(head, PAGE);
        let start = sys::mremap(head, 0, distance + bytes, libc::MREMAP_MAYMOVE, 0);
        if start <= 0 {
            return None;
        }
        if distance > 0 {
            sys::munmap(start as usize, distance);
        }
        Some((start as usize + distance) as *mut u8)
    }
}

/// Has the blocks of pages be there: a store where none is to be had would be a SIGBUS. False where they are not.
///
/// # Safety
/// The pages are ours, shared with the file, and zero.
#[unsafe(link_section = ".text.startup")]
unsafe fn reserve(at: usize, bytes: usize) -> bool {
    // SAFETY: as the caller vouches.
    match unsafe { sys::madvise(at, bytes, libc::MADV_POPULATE_WRITE) } {
        0 => true,
        // Before Linux 5.14: the kernel writes a byte to each page, and says where it cannot.
        error if error == -(libc::EINVAL as isize) => (at..at + bytes).step_by(PAGE).all(|page| {
            let zero = 0u8;
            let one = |at: usize| libc::iovec { iov_base: at as *mut _, iov_len: 1 };
            let (from, to) = (one(&raw const zero as usize), one(page));
            // SAFETY: as above; the byte outlives the call.
            unsafe {
                sys::process_vm_writev(sys::gettid() as c_int, &raw const from, 1, &raw const to, 1, 0) == 1
            }
        }),
        _ => false,
    }
}
