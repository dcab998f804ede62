//! The first time of a record, and its length, which is stored last and makes it be there.

use crate::varint::{self, zigzag};
use core::sync::atomic::{AtomicU8, Ordering};

/// From the end of the record before to the entry, as it is written: less than the time between the ends, and negative
/// for a call around others.
#[inline(always)]
pub(crate) fn gap(end: u64, took: u64) -> u64 {
    zigzag(end.wrapping_sub(took) as i64)
}

/// Stores the length in front of the body, its first byte last.
///
/// # Safety
/// `body` is `at + 1`, `end` the end of what was written there, with two more bytes of room behind it.
#[inline(always)]
pub(crate) unsafe fn commit(at: *mut u8, body: *mut u8, end: *mut u8) -> usize {
    let length = end as usize - body as usize;
    // SAFETY: as the caller vouches.
    unsafe {
        if length < 0x80 {
            AtomicU8::from_ptr(at).store(length as u8, Ordering::Release);
            return 1 + length;
        }
        let extra = if length < 1 << 14 { 1 } else { 2 };
        core::ptr::copy(body, body.add(extra), length);
        let mut field = [0u8; varint::MAX_BYTES];
        varint::write(field.as_mut_ptr(), length as u64);
        core::ptr::copy_nonoverlapping(field.as_ptr().add(1), body, extra);
        AtomicU8::from_ptr(at).store(field[0], Ordering::Release);
        1 + extra + length
    }
}
