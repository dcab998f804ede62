//! Memory that the program names before the kernel has looked at it, or after it has not: a bad pointer must fail there, not
//! here, and another thread may unmap meanwhile what a question has found to be there. So the kernel copies it.
//!
//! Source: process_vm_readv(2). Where there is one thread, or a filter or an old kernel refuses the call, which takes some
//! microseconds, pages are asked about and then read.

use crate::core::preemption::{self, Mark};
use crate::core::{single_thread, stack_start, sys};
use core::ffi::c_char;
use libc::iovec;

pub const PAGE: usize = 4096;
/// The most parts of one transfer (`UIO_MAXIOV`); the kernel takes no more.
const MOST_PARTS: usize = 1024;

/// Whether others may have given back, while a call went on, what the program had handed over to it: the kernel has copied that at once,
/// and the thread has lost its processor since. Where nobody knows the latter, it is taken to be there.
#[inline(always)]
pub fn may_be_gone() -> bool {
    preemption::is_known() && !Mark::Told.stands() && !single_thread::says_libc()
}

/// Copies what lies at `address`, which must not go beyond a page. False where it cannot be read.
#[unsafe(link_section = ".text.startup")]
pub fn copy_bytes(address: usize, to: &mut [u8]) -> bool {
    if !single_thread::says_libc() {
        let parts =
            [to.as_mut_ptr().cast(), address as *mut _].map(|iov_base| iovec { iov_base, iov_len: to.len() });
        // SAFETY: the kernel writes to `to`, and reads from the other part what can be read.
        let copied = unsafe { sys::process_vm_readv(sys::gettid() as i32, &parts[0], 1, &parts[1], 1, 0) };
        if copied != -(libc::EPERM as isize) && copied != -(libc::ENOSYS as isize) {
            return copied == to.len() as isize;
        }
    }
    if sys::word_at((address & !3) as *const u32).is_none() {
        return false;
    }
    // By an instruction, not by `memcpy`: that may be a sanitizer's, which minds what lies between the program's variables.
    // SAFETY: the kernel has just read a word of the page, and `to` is as long as said.
    unsafe {
        core::arch::asm!(
            "rep movsb",
            inout("rcx") to.len() => _,
            inout("rsi") address => _,
            inout("rdi") to.as_mut_ptr() => _,
            options(nostack, preserves_flags),
        );
    }
    true
}

/// A copy of what lies at `address`, if it can be read.
///
/// # Safety
/// Every bit pattern must be a `T`.
pub unsafe fn copy<T: Copy>(address: usize) -> Option<T> {
    let mut value = core::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: zeros are initialised bytes.
    let bytes = unsafe { core::slice::from_raw_parts_mut(value.as_mut_ptr().cast(), size_of::<T>()) };
    // SAFETY: whatever is there is a T.
    copy_all(address, bytes).then(|| unsafe { value.assume_init() })
}

/// The bytes that the parts of a transfer add up to, as far as they can be read.
#[cold]
pub fn total(vector: usize, parts: usize) -> i64 {
    // SAFETY: an iovec is two words.
    total_by(|part| unsafe { copy(part) }, vector, parts)
}

fn total_by(mut copy: impl FnMut(usize) -> Option<iovec>, vector: usize, parts: usize) -> i64 {
    let parts =
        (0..parts.min(MOST_PARTS)).map_while(|index| copy(vector.wrapping_add(index * size_of::<iovec>())));
    parts.fold(0, |bytes: i64, part| bytes.saturating_add(part.iov_len as i64))
}

/// As [`copy_bytes`], also beyond a page.
pub fn copy_all(address: usize, mut to: &mut [u8]) -> bool {
    let mut at = address;
    while !to.is_empty() {
        let (part, rest) = to.split_at_mut((PAGE - at % PAGE).min(to.len()));
        if !copy_bytes(at, part) {
            return false;
        }
        (at, to) = (at.wrapping_add(part.len()), rest);
    }
    true
}

/// The C string at `address` without its final zero, or as much of a longer one as there is room for; empty where that cannot be
/// read.
#[unsafe(link_section = ".text.startup")]
pub fn text(address: usize, room: &mut [u8]) -> &[u8] {
    let mut filled = 0;
    while filled < room.len() {
        let Some(at) = address.checked_add(filled) else { return &[] };
        let part = (PAGE - at % PAGE).min(room.len() - filled);
        let part = &mut room[filled..filled + part];
        if !copy_bytes(at, part) {
            return &[];
        }
        match part.iter().position(|&byte| byte == 0) {
            Some(length) => return &room[..filled + length],
            None => filled += part.len(),
        }
    }
    room
}

/// Reads page by page into windows, the oldest first: what is looked at one after the other lies in a few pages.
pub struct Reader<'a> {
    windows: &'a mut [[u8; PAGE]],
    /// The pages that they show.
    pages: [usize; MOST_WINDOWS],
    oldest: usize,
    /// All is there, and read where it is.
    trusts: bool,
}

/// The most windows of one reader.
pub const MOST_WINDOWS: usize = 3;

impl<'a> Reader<'a> {
    /// Knows nothing yet. There are one to [`MOST_WINDOWS`] windows.
    pub fn new(windows: &'a mut [[u8; PAGE]]) -> Reader<'a> {
        Reader { windows, pages: [usize::MAX; MOST_WINDOWS], oldest: 0, trusts: false }
    }

    /// Copies nothing.
    ///
    /// # Safety
    /// What it is asked about can be read, and nobody changes it meanwhile.
    pub unsafe fn trusting() -> Reader<'a> {
        Reader { trusts: true, ..Reader::new(&mut []) }
    }

    /// What lies from `address` to the end of its page.
    #[unsafe(link_section = ".text.startup")]
    fn rest_of_page(&mut self, address: usize) -> Option<&[u8]> {
        let page = address & !(PAGE - 1);
        if self.trusts {
            // SAFETY: as the maker vouches; what follows in the page of a byte that can be read can be, too.
            return Some(unsafe { core::slice::from_raw_parts(address as *const u8, page + PAGE - address) });
        }
        let shown = self.pages.iter().position(|&shown| shown == page);
        let index = match shown {
            Some(index) => index,
            None => {
                let index = self.oldest;
                self.oldest = (index + 1) % self.windows.len().min(MOST_WINDOWS);
                self.pages[index] = usize::MAX;
                if !copy_bytes(page, self.windows.get_mut(index)?) {
                    return None;
                }
                self.pages[index] = page;
                index
            }
        };
        self.windows.get(index)?.get(address % PAGE..)
    }

    /// A copy of what lies at `address`, if it can be read.
    ///
    /// # Safety
    /// Every bit pattern must be a `T`.
    pub unsafe fn copy<T: Copy>(&mut self, address: usize) -> Option<T> {
        let mut value = core::mem::MaybeUninit::<T>::zeroed();
        // SAFETY: zeros are initialised bytes.
        let mut to: &mut [u8] =
            unsafe { core::slice::from_raw_parts_mut(value.as_mut_ptr().cast(), size_of::<T>()) };
        let mut at = address;
        while !to.is_empty() {
            let found = self.rest_of_page(at)?;
            let (part, rest) = to.split_at_mut(found.len().min(to.len()));
            part.copy_from_slice(&found[..part.len()]);
            (at, to) = (at.wrapping_add(part.len()), rest);
        }
        // SAFETY: whatever is there is a T.
        Some(unsafe { value.assume_init() })
    }

    /// The C string at `address`: all of it where it lies, if that need not be asked for; else as much as there is `room` for, empty where
    /// it cannot be read.
    pub fn text<'r>(&self, address: usize, room: &'r mut [u8]) -> &'r [u8] {
        if self.trusts {
            // SAFETY: as the maker vouches.
            return unsafe { stack_start::string_at(address as *const c_char) }.to_bytes();
        }
        text(address, room)
    }

    /// Whether the C string at `address` begins like this; `None` where it cannot be read.
    #[unsafe(link_section = ".text.startup")]
    pub fn starts_with(&mut self, address: usize, prefix: &[u8]) -> Option<bool> {
        for (index, &byte) in prefix.iter().enumerate() {
            if self.rest_of_page(address.checked_add(index)?)?[0] != byte {
                return Some(false);
            }
        }
        Some(true)
    }

    /// As [`total`].
    pub fn total(&mut self, vector: usize, parts: usize) -> i64 {
        // SAFETY: an iovec is two words.
        total_by(|part| unsafe { self.copy(part) }, vector, parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pages, of which the second one cannot be read.
    fn one_readable_page() -> usize {
        let pages = sys::map_anonymous(2 * PAGE).expect("memory") as usize;
        // SAFETY: just mapped.
        assert_eq!(unsafe { sys::munmap(pages + PAGE, PAGE) }, 0);
        pages
    }

    #[test]
    fn what_cannot_be_read_is_not_there() {
        let page = one_readable_page();
        let end = page + PAGE;
        // SAFETY: in the page that is there.
        unsafe { core::ptr::copy_nonoverlapping(c"name".as_ptr(), (end - 5) as *mut _, 5) };
        let mut room = [0; 64];
        assert_eq!(text(end - 5, &mut room), b"name");
        assert_eq!(text(end - 5, &mut room[..2]), b"na");
        // SAFETY: numbers.
        unsafe {
            *((end - 1) as *mut u8) = b'!';
            assert_eq!(copy::<u32>(end - 4), Some(u32::from_ne_bytes(*b"ame!")));
            assert_eq!(copy::<u32>(end - 3), None);
        }
        for bad in [0, 1, end - 5, end, usize::MAX] {
            assert_eq!(text(bad, &mut room), b"", "{bad:x}");
        }
    }

    #[test]
    fn a_reader_goes_on_from_page_to_page() {
        let (page, mut windows) = (one_readable_page(), [[0; PAGE]; 1]);
        let mut reader = Reader::new(&mut windows);
        let vector = [iovec { iov_base: core::ptr::null_mut(), iov_len: 7 }; 3];
        assert_eq!(reader.total(vector.as_ptr() as usize, 3), 21);
        assert_eq!(reader.total(page + PAGE - 16, 2), 0);
        assert_eq!(reader.starts_with(c"SYN_JOB=x".as_ptr() as usize, b"SYN_JOB="), Some(true));
        assert_eq!(reader.starts_with(page + PAGE, b"S"), None);
    }

    /// Each page is read once, as long as there are windows.
    #[test]
    fn a_reader_remembers_as_many_pages_as_it_has_windows() {
        let pages = sys::map_anonymous(3 * PAGE).expect("memory");
        let mut windows = [[0; PAGE]; 2];
        let mut reader = Reader::new(&mut windows);
        let byte = |number: usize| pages.wrapping_add(number * PAGE);
        // SAFETY: numbers in the mapping.
        let mut see = |number: usize| unsafe { reader.copy::<u8>(byte(number) as usize) };
        let set = |number: usize, value: u8| {
            // SAFETY: just mapped.
            unsafe { byte(number).write(value) }
        };
        (0..3).for_each(|number| set(number, 1));
        assert_eq!([see(0), see(1), see(0)], [Some(1); 3]);
        (0..3).for_each(|number| set(number, 2));
        assert_eq!([see(0), see(1)], [Some(1); 2], "both are remembered");
        assert_eq!(
            [see(2), see(1), see(0)],
            [Some(2), Some(1), Some(2)],
            "the third took the first one's place"
        );
    }

    /// Where process_vm_readv(2) is refused, the kernel is asked about words before anything is read.
    #[test]
    fn a_word_is_there_or_not() {
        let page = one_readable_page();
        assert_eq!(sys::word_at((page + PAGE - 4) as *const u32), Some(0));
        for bad in [page + PAGE, page + 1, 0, usize::MAX - 3] {
            assert_eq!(sys::word_at(bad as *const u32), None, "{bad:x}");
        }
    }
}
