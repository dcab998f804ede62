//! `/proc/self/maps` and `/proc/self/smaps`: what the kernel says of the process's mappings, line by line.

use super::table;
use crate::private_table;
use crate::process;
use crate::span::Span;
use crate::sys;
use core::ffi::{CStr, c_int};
use syn_trace::calls::Call;

/// Pages of memory beyond which smaps is not read: the kernel goes through all of the process's page tables for it,
/// about 15 ns a page.
const MOST_RESIDENT: u64 = (256 << 20) / table::PAGE as u64;

/// Calls `each` for every line of a file until it says false; a line that does not fit into the buffer is left out.
/// False when the file cannot be read.
fn for_each_line(path: &CStr, buffer: &mut [u8], mut each: impl FnMut(&[u8]) -> bool) -> bool {
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
fn parse_addresses(line: &[u8]) -> Option<(usize, usize, &[u8])> {
    let (start, rest) = parse_number(line, 16)?;
    let (end, rest) = parse_number(rest.strip_prefix(b"-")?, 16)?;
    Some((start, end, rest.strip_prefix(b" ")?))
}

/// The number at the front, and what is behind it.
fn parse_number(text: &[u8], base: u32) -> Option<(usize, &[u8])> {
    let digits = text.iter().take_while(|&&byte| char::from(byte).is_digit(base)).count();
    let (number, rest) = text.split_at(digits);
    let number = core::str::from_utf8(number).ok()?;
    Some((usize::from_str_radix(number, base).ok()?, rest))
}

/// In a forked child: tells which mappings of files it has from its parent, before the first record about one of them.
#[cold]
pub fn tell_inherited(span: &mut Span, buffer: &mut [u8]) {
    let this = process::pid();
    if process::is_confined() {
        return;
    }
    span.returned();
    for_each_line(c"/proc/self/maps", buffer, |line| {
        let Some((start, end, rest)) = parse_addresses(line) else { return true };
        // Permissions, offset, device, inode, path.
        let path = rest.iter().position(|&byte| byte == b'/').map_or(&b""[..], |at| &rest[at..]);
        let inherited = table::in_range(start, end).filter(|mapping| mapping.owner != this);
        for mapping in inherited.filter(|mapping| mapping.start >= start) {
            let (protection, flags) = parse_permissions(rest);
            let numbers =
                [mapping.start as i64, mapping.bytes() as i64, protection, flags, mapping.offset as i64];
            span.record(Call::InheritedMapping, false, 0, &numbers, &[path], &[]);
        }
        true
    });
    table::adopt_all();
}

/// `rwxs` as the arguments of mmap(2).
fn parse_permissions(text: &[u8]) -> (i64, i64) {
    let bits = [(b'r', libc::PROT_READ), (b'w', libc::PROT_WRITE), (b'x', libc::PROT_EXEC)];
    let letters = &text[..text.len().min(4)];
    let protection =
        bits.iter().filter(|(letter, _)| letters.contains(letter)).fold(0, |all, (_, bit)| all | bit);
    let flags = if letters.contains(&b's') { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
    (protection.into(), flags.into())
}

/// The dirty bytes of the mappings that have a part between the addresses, as smaps counts them; `None` when the process
/// has too much memory for that.
pub fn dirty_bytes(start: usize, end: usize, buffer: &mut [u8]) -> Option<u64> {
    if process::is_confined() || resident_pages(buffer)? > MOST_RESIDENT {
        return None;
    }
    let (mut inside, mut dirty) = (false, 0);
    let was_read = for_each_line(c"/proc/self/smaps", buffer, |line| {
        if let Some((first, behind, _)) = parse_addresses(line) {
            inside = first < end && behind > start;
            return first < end;
        }
        let amounts = [&b"Shared_Dirty:"[..], b"Private_Dirty:"];
        if inside && let Some(amount) = amounts.iter().find_map(|name| line.strip_prefix(*name)) {
            dirty += parse_number(amount.trim_ascii_start(), 10).map_or(0, |(kib, _)| kib as u64 * 1024);
        }
        true
    });
    was_read.then_some(dirty)
}

/// The second number of `/proc/self/statm`.
fn resident_pages(buffer: &mut [u8]) -> Option<u64> {
    let read = private_table::run(|| sys::read_file(c"/proc/self/statm", buffer).map(<[u8]>::len));
    let statm = &buffer[..read.ok()?];
    let (_, rest) = parse_number(statm, 10)?;
    parse_number(rest.trim_ascii_start(), 10).map(|(pages, _)| pages as u64)
}
