//! Memory that the program names before the kernel has looked at it: a bad pointer must fail there, not here.

use crate::core::sys;
use core::ffi::c_char;
use libc::iovec;
use syn_trace::record::MAX_TEXT_BYTES;

const PAGE: usize = 4096;
/// The most parts of one transfer (`UIO_MAXIOV`); the kernel takes no more.
const MOST_PARTS: usize = 1024;

/// Asks the kernel which pages can be read, and remembers the latest one: what is looked at lies close together.
pub struct Reader {
    page: usize,
}

impl Reader {
    /// Knows nothing yet.
    pub const fn new() -> Reader {
        Reader { page: usize::MAX }
    }

    /// True when all of these bytes can be read.
    pub fn can_read(&mut self, address: usize, bytes: usize) -> bool {
        let Some(end) = address.checked_add(bytes) else { return false };
        let mut page = address & !(PAGE - 1);
        while page < end {
            if page != self.page {
                if sys::word_at(page as *const u32).is_none() {
                    return false;
                }
                self.page = page;
            }
            page += PAGE;
        }
        true
    }

    /// A copy of what lies at `address`, if it can be read.
    ///
    /// # Safety
    /// Every bit pattern must be a `T`.
    pub unsafe fn copy<T: Copy>(&mut self, address: usize) -> Option<T> {
        if !self.can_read(address, size_of::<T>()) {
            return None;
        }
        // SAFETY: readable, and whatever is there is a T.
        Some(unsafe { (address as *const T).read_unaligned() })
    }

    /// The C string at `address` without its final zero, or the first `most` bytes of a longer one; `None` where it goes on
    /// into memory that cannot be read.
    pub fn string<'a>(&mut self, address: usize, most: usize) -> Option<&'a [u8]> {
        let mut length = 0;
        while length < most {
            let at = address.checked_add(length)?;
            let part = (PAGE - at % PAGE).min(most - length);
            if !self.can_read(at, part) {
                return None;
            }
            // SAFETY: this part can be read.
            let filled = unsafe { libc::strnlen(at as *const c_char, part) };
            length += filled;
            if filled < part {
                break;
            }
        }
        // SAFETY: so much can be read.
        Some(unsafe { core::slice::from_raw_parts(address as *const u8, length) })
    }

    /// What a record takes of the text at `pointer`; empty where that cannot be read.
    pub fn text<'a>(&mut self, pointer: *const c_char) -> &'a [u8] {
        self.string(pointer as usize, MAX_TEXT_BYTES).unwrap_or(&[])
    }

    /// The bytes that the parts of a transfer add up to, as far as they can be read.
    pub fn total(&mut self, vector: usize, parts: usize) -> i64 {
        let mut bytes = 0i64;
        for index in 0..parts.min(MOST_PARTS) {
            // SAFETY: an iovec is two words.
            let part = unsafe { self.copy::<iovec>(vector.wrapping_add(index * size_of::<iovec>())) };
            let Some(part) = part else { break };
            bytes = bytes.saturating_add(part.iov_len as i64);
        }
        bytes
    }
}
