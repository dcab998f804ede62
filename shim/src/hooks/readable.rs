//! Memory that the program names before the kernel has looked at it: a bad pointer must fail there, not here.

use crate::sys;
use libc::iovec;

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
