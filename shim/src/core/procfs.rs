//! Small files and folders, as `/proc` has them, and the numbers in their names. No allocation.

use crate::core::sys;
use core::ffi::{CStr, c_int};

/// Reads all of a small file into `buffer`; what does not fit is left out. `Err`: a negated errno, if it cannot be opened.
pub fn read_file<'a>(path: &CStr, buffer: &'a mut [u8]) -> Result<&'a [u8], isize> {
    // SAFETY: the path ends with a zero byte, the buffer is as long as said.
    unsafe {
        let fd = sys::openat(libc::AT_FDCWD, path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC, 0);
        if fd < 0 {
            return Err(fd);
        }
        let fd = fd as c_int;
        let mut filled = 0;
        while filled < buffer.len() {
            let got = sys::read(fd, buffer.as_mut_ptr().add(filled), buffer.len() - filled);
            if got <= 0 {
                break;
            }
            filled += got as usize;
        }
        sys::close(fd);
        Ok(&buffer[..filled])
    }
}

/// The names in a buffer that getdents64(2) has filled.
pub fn directory_entries(entries: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = entries;
    core::iter::from_fn(move || {
        // struct linux_dirent64: inode 8, offset 8, length of the entry 2, type 1, name.
        let length = usize::from(u16::from_ne_bytes(rest.get(16..18)?.try_into().ok()?));
        let (entry, behind) = rest.split_at_checked(length)?;
        rest = behind;
        CStr::from_bytes_until_nul(entry.get(19..)?).ok().map(CStr::to_bytes)
    })
}

/// A name that is a number.
pub fn parse_number(name: &[u8]) -> Option<i32> {
    core::str::from_utf8(name).ok()?.parse().ok()
}

/// `number` in decimal.
#[unsafe(link_section = ".text.startup")]
pub fn decimal(number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let (mut rest, mut at) = (number, digits.len());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return &digits[at..];
        }
    }
}
