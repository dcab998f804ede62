//! Which chunks of a file are whose.

use crate::chunks::{CHUNK_HEAD_BYTES, CHUNK_MAGIC, ChunkHead, FileHead, IN_FRONT, UNIT_BYTES};
use crate::header::{HEADER_BYTES, Header};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Where in its file the trace of a thread is.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Where the header begins.
    pub(crate) header: usize,
    /// Where there is room for records, in order; what lies behind the end of the file is left out.
    pub(crate) parts: Vec<Range<usize>>,
    /// The file is shorter than it says.
    pub(crate) is_cut: bool,
    /// Where a chunk begins of which those in front are not all there.
    pub(crate) gap: Option<usize>,
}

impl Layout {
    /// Of a trace that stands by itself, a header and records.
    pub(crate) fn alone(bytes: usize) -> Layout {
        let parts = std::iter::once(HEADER_BYTES..bytes).collect();
        Layout { header: 0, parts, is_cut: false, gap: None }
    }

    /// Bytes of header and room for records.
    pub(crate) fn bytes(&self) -> u64 {
        (HEADER_BYTES + self.parts.iter().map(Range::len).sum::<usize>()) as u64
    }
}

/// The traces in a file whose head is whole, by their first chunks; and how many chunks belong to none of them.
pub(crate) fn layouts(file: &[u8]) -> (Vec<Layout>, usize) {
    let taken = head(file).map_or(0, |head| head.taken.load(Ordering::Acquire));
    let said = taken.saturating_mul(UNIT_BYTES as u64);
    let is_cut = said > file.len() as u64;
    let end = said.min(file.len() as u64) as usize;
    let mut threads: Vec<Layout> = Vec::new();
    let mut by_first: HashMap<u64, (usize, u32)> = HashMap::new();
    let (mut at, mut strays) = (UNIT_BYTES, 0);
    while at < end {
        let Some(chunk) = chunk(file, at) else {
            at += UNIT_BYTES;
            continue;
        };
        let behind = (chunk.units as usize).max(1).saturating_mul(UNIT_BYTES).saturating_add(at);
        let is_first = usize::from(chunk.number != 0);
        let records = at.saturating_add(IN_FRONT[is_first]).min(file.len())..behind.min(file.len());
        if chunk.number == 0 && chunk.first == (at / UNIT_BYTES) as u64 {
            by_first.insert(chunk.first, (threads.len(), 1));
            threads.push(Layout { header: at + CHUNK_HEAD_BYTES, parts: vec![records], is_cut, gap: None });
        } else if let Some((thread, count)) = by_first.get_mut(&chunk.first) {
            let thread = &mut threads[*thread];
            match *count == chunk.number {
                true => thread.parts.push(records),
                false => thread.gap = thread.gap.or(Some(at)),
            }
            *count = count.saturating_add(1);
        } else {
            strays += 1;
        }
        at = behind;
    }
    (threads, strays)
}

/// The file's head, if the file is long enough for one.
pub(crate) fn head(file: &[u8]) -> Option<&FileHead> {
    let bytes = file.get(..size_of::<FileHead>())?;
    // SAFETY: it is long enough, a mapping begins with a page, and every bit pattern is a valid head.
    Some(unsafe { &*bytes.as_ptr().cast::<FileHead>() })
}

/// The chunk that begins there.
fn chunk(file: &[u8], at: usize) -> Option<ChunkHead> {
    let bytes = file.get(at..at.checked_add(CHUNK_HEAD_BYTES)?)?;
    // SAFETY: it is long enough, and every bit pattern is a valid head.
    let head = unsafe { bytes.as_ptr().cast::<ChunkHead>().read_unaligned() };
    (head.magic == CHUNK_MAGIC).then_some(head)
}

/// The header that begins there, of a file that may have been cut.
pub(crate) fn header_at(file: &[u8], at: usize) -> Option<&Header> {
    let bytes = file.get(at..at.checked_add(HEADER_BYTES)?)?;
    // SAFETY: it is long enough, chunks begin with pages, and every bit pattern is a valid header.
    Some(unsafe { &*bytes.as_ptr().cast::<Header>() })
}
