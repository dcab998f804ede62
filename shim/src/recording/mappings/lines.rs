//! `/proc/self/maps` and `/proc/self/smaps`: what the kernel says of the process's mappings, line by line.

use crate::core::sys;
use crate::recording::thread::private_table;
use core::ffi::{CStr, c_int};

/// Calls `each` for every line of a file until it says false; a line that does not fit into the buffer is left out.
/// False when the file cannot be read.
pub fn for_each_line(path: &CStr, buffer: &mut [u8], mut each: impl FnMut(&[u8]) -> bool) -> bool {
    private_table::run(|| read_lines(path, buffer, &mut each)).is_ok()
}

/// `Err`: a negated errno, before the first line.
fn read_lines(path: &CStr, buffer: &mut [u8], mut each: impl FnMut(&[u8]) -> bool) -> Result<(), isize> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte.
    let fd = unsafe { sys::openat(libc::AT_FDCWD, path.as_ptr().cast(), flags, 0) };
    if fd < 0 {
        return Err(fd);
    }
    let fd = fd as c_int;
    let (mut filled, mut goes_on) = (0, true);
    while goes_on {
        let room = &mut buffer[filled..];
        // SAFETY: the room is as long as said.
        let got = unsafe { sys::read(fd, room.as_mut_ptr(), room.len()) };
        if got <= 0 {
            break;
        }
        filled += got as usize;
        let mut begin = 0;
        while let Some(length) = buffer[begin..filled].iter().position(|&byte| byte == b'\n') {
            goes_on = goes_on && each(&buffer[begin..begin + length]);
            begin += length + 1;
        }
        if begin == 0 && filled == buffer.len() {
            begin = filled;
        }
        buffer.copy_within(begin..filled, 0);
        filled -= begin;
    }
    // SAFETY: the descriptor is ours.
    unsafe { sys::close(fd) };
    Ok(())
}

/// Addresses and the rest of a line that begins with a mapping's: `start-end rest`, hexadecimal.
pub fn parse_addresses(line: &[u8]) -> Option<(usize, usize, &[u8])> {
    let (start, rest) = parse_number(line, 16)?;
    let (end, rest) = parse_number(rest.strip_prefix(b"-")?, 16)?;
    Some((start, end, rest.strip_prefix(b" ")?))
}

/// The number at the front, and what is behind it.
pub fn parse_number(text: &[u8], base: u32) -> Option<(usize, &[u8])> {
    let digits = text.iter().take_while(|&&byte| char::from(byte).is_digit(base)).count();
    let (number, rest) = text.split_at(digits);
    let number = core::str::from_utf8(number).ok()?;
    Some((usize::from_str_radix(number, base).ok()?, rest))
}
