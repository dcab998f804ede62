//! Mappings of files that a forked child has from its parent.

use super::lines::{for_each_line, parse_addresses};
use crate::core::sys;
use crate::recording::mappings::{self as table, Mapping};
use crate::recording::span::Span;
use syn_trace::calls::Call;

/// In a forked child, before a record about what is mapped between the addresses: makes it known there.
#[cold]
pub fn introduce(span: &mut Span, start: usize, end: usize) {
    if !table::all_are_known() && table::in_range(start, end).any(|mapping| mapping.is_inherited()) {
        // SAFETY: numbers are bytes; nothing has begun to use them.
        tell(span, unsafe { span.scratch().words.lend().align_to_mut().1 });
    }
}

/// In a forked child: tells which mappings of files it has from its parent, before the first record about one of them.
#[cold]
pub fn tell(span: &mut Span, buffer: &mut [u8]) {
    if sys::is_confined() {
        return;
    }
    span.returned();
    for_each_line(c"/proc/self/maps", buffer, |line| {
        let Some((start, end, rest)) = parse_addresses(line) else { return true };
        // Permissions, offset, device, inode, path.
        let path = rest.iter().position(|&byte| byte == b'/').map_or(&b""[..], |at| &rest[at..]);
        let inherited = table::in_range(start, end).filter(Mapping::is_inherited);
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
