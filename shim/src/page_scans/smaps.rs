//! The dirty bytes of mappings, as the kernel counts them.

use crate::core::procfs::read_file;
use crate::core::sys;
use crate::recording::mappings::PAGE;
use crate::recording::mappings::lines::{for_each_line, parse_addresses, parse_number};
use crate::recording::thread::private_table;

/// Pages of memory beyond which smaps is not read: the kernel goes through all of the process's page tables for it,
/// about 15 ns a page.
const MOST_RESIDENT: u64 = (256 << 20) / PAGE as u64;

/// The dirty bytes of the mappings that have a part between the addresses, as smaps counts them; `None` when the process
/// has too much memory for that.
pub fn dirty_bytes(start: usize, end: usize, buffer: &mut [u8]) -> Option<u64> {
    if sys::is_confined() || resident_pages(buffer)? > MOST_RESIDENT {
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
    let read = private_table::run(|| read_file(c"/proc/self/statm", buffer).map(<[u8]>::len));
    let statm = &buffer[..read.ok()?];
    let (_, rest) = parse_number(statm, 10)?;
    parse_number(rest.trim_ascii_start(), 10).map(|(pages, _)| pages as u64)
}
