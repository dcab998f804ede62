//! Which pages of mapped files are touched, by open file. A replay touches them where the file is mapped, and the records that tell of
//! them come later.

use crate::follow::pass::{Seen, Visitor};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use syn_trace::calls::Effect;
use syn_trace::descriptors::{Descriptors, OpenFile, OpenId, Touched};
use syn_trace::record::List;
use syn_trace::{Call, Event};

const PAGE: u64 = 4096;

/// Of smaller mappings not all is asked (`trace/FORMAT.md`).
pub const SMALL_BYTES: u64 = 64 << 10;

/// An open file, by its process.
type Key = (u32, OpenId);

/// The pages of a run. Memory: some 30 bytes for each run of pages, and 150 for each file.
#[derive(Debug, Default)]
pub struct TouchedPages {
    touched: HashMap<Key, Parts>,
    /// The files that what is in memory changes, or is written back to.
    written: HashSet<Key>,
}

/// Parts of a file: by the first byte, the byte behind. No byte is in two of them.
type Parts = BTreeMap<u64, u64>;

fn add(parts: &mut Parts, Range { mut start, mut end }: Range<u64>) {
    let joined = |parts: &Parts, (start, end): (u64, u64)| {
        let before = parts.range(..=end).next_back();
        before.map(|(&first, &behind)| (first, behind)).filter(|&(_, behind)| behind >= start)
    };
    while let Some((first, behind)) = joined(parts, (start, end)) {
        parts.remove(&first);
        (start, end) = (start.min(first), end.max(behind));
    }
    parts.insert(start, end);
}

impl TouchedPages {
    /// What is touched of this part of the file once it is mapped. What is mapped again later is in memory by then.
    pub fn take(&mut self, file: Key, part: &Range<u64>) -> Vec<Range<u64>> {
        let Some(parts) = self.touched.get_mut(&file) else { return Vec::new() };
        let first = parts.range(..=part.start).next_back().map_or(part.start, |(&first, _)| first);
        let overlapping = parts.range(first..part.end.max(first)).map(|(&start, &end)| start..end);
        let found: Vec<Range<u64>> = overlapping.filter(|found| found.end > part.start).collect();
        let inside = |Range { start, end }: Range<u64>| {
            parts.remove(&start);
            let inside = start.max(part.start)..end.min(part.end);
            let rest = [start..inside.start, inside.end..end];
            parts.extend(rest.into_iter().filter(|rest| !rest.is_empty()).map(|rest| (rest.start, rest.end)));
            inside
        };
        found.into_iter().map(inside).collect()
    }

    /// Whether what is in memory changes the file, or is written back.
    pub fn is_written(&self, file: Key) -> bool {
        self.written.contains(&file)
    }
}

/// Whether a file had nothing in it when it was opened: who maps it then writes to it.
pub fn is_new(file: &OpenFile) -> bool {
    file.size == 0 || file.flags & libc::O_TRUNC != 0
}

impl Visitor for TouchedPages {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let Some(file) = touched.file else { return };
        match seen.event.call.effect() {
            Effect::SyncPages => drop(self.written.insert((seen.process, file))),
            Effect::UsePages => {
                let Some(look) = Look::of(seen.event) else { return };
                let key = (seen.process, file);
                if look.written_bytes(is_new(descriptors.open_file(file))) > 0 {
                    self.written.insert(key);
                }
                let parts = self.touched.entry(key).or_default();
                look.pages().for_each(|range| add(parts, range));
            }
            _ => {}
        }
    }
}

/// What a `pages-touched` record says.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// Address, length, offset in the file, bytes present and bytes dirty.
    numbers: [i64; 5],
    list: List<'a>,
}

impl<'a> Look<'a> {
    /// Numbers in the list for every run of pages.
    const PER_RUN: usize = 3;
    /// The third of these where nobody can tell whether a page was written to: it is the file's own.
    const EITHER: i64 = 2;

    /// `None` of any other record.
    pub fn of(event: &Event<'a>) -> Option<Look<'a>> {
        let numbers = *event.numbers.first_chunk()?;
        (event.call == Call::PagesTouched).then_some(Look { numbers, list: event.list })
    }

    /// What is in memory of the file, in bytes of it. Where the record has only a sum, from its beginning on.
    pub fn pages(self) -> impl Iterator<Item = Range<u64>> + use<'a> {
        let (offset, end) = (self.offset(), self.offset().saturating_add(self.bytes()));
        let sum = if self.list.is_empty() { self.present() } else { 0 };
        let mut numbers = self.list.iter();
        let runs = std::iter::from_fn(move || {
            let [page, count, _] = [numbers.next()?, numbers.next()?, numbers.next()?];
            let at = |page: i64| offset.saturating_add((page.max(0) as u64).saturating_mul(PAGE)).min(end);
            Some(at(page)..at(page.saturating_add(count)))
        });
        let sum = offset..offset.saturating_add(sum).min(end);
        std::iter::once(sum).chain(runs).filter(|range| !range.is_empty())
    }

    /// How much of it is written, if what is written goes to the file, of which [`is_new`] tells. What nobody knows of a large mapping of
    /// one that was there is taken to be only read.
    pub fn written_bytes(self, is_new: bool) -> u64 {
        match self.numbers[4] {
            _ if !self.may_be_written() => 0,
            dirty @ 0.. => dirty as u64,
            _ if is_new || self.is_small() => self.present(),
            _ => 0,
        }
    }

    /// How much of it is taken to be only read, although nobody knows.
    pub fn unknown_bytes(self, is_new: bool) -> u64 {
        if self.is_unknown() && !is_new { self.present() } else { 0 }
    }

    /// Whether nobody knows how much of a large mapping was written.
    pub fn is_unknown(self) -> bool {
        self.numbers[4] < 0 && self.may_be_written() && !self.is_small()
    }

    /// As far as its pages tell.
    fn may_be_written(self) -> bool {
        self.list.iter().nth(Look::PER_RUN - 1).is_none_or(|kind| kind == Look::EITHER)
    }

    /// A small mapping that nobody has looked at is taken to be used as a whole: to read any page of it brings them all.
    fn present(self) -> u64 {
        match self.numbers[3] {
            present @ 0.. => present as u64,
            _ if self.is_small() => self.bytes(),
            _ => 0,
        }
    }

    fn is_small(self) -> bool {
        self.bytes() < SMALL_BYTES
    }

    fn bytes(self) -> u64 {
        self.numbers[1].max(0) as u64
    }

    fn offset(self) -> u64 {
        self.numbers[2].max(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_taken_once() {
        let mut pages = TouchedPages::default();
        let parts = pages.touched.entry((0, 3)).or_default();
        [8..12, 0..4, 2..6, 12..16, 40..44, 3..5].into_iter().for_each(|range| add(parts, range));
        assert_eq!(*parts, Parts::from([(0, 6), (8, 16), (40, 44)]));
        let mut around = parts.clone();
        add(&mut around, 1..41);
        assert_eq!(around, Parts::from([(0, 44)]));
        assert_eq!(pages.take((0, 3), &(4..10)), [4..6, 8..10]);
        assert_eq!(pages.take((0, 3), &(0..20)), [0..4, 10..16]);
        assert_eq!(pages.take((0, 3), &(0..20)), []);
        assert_eq!(pages.take((1, 3), &(0..100)), []);
        assert_eq!(pages.take((0, 3), &(0..u64::MAX)).first(), Some(&(40..44)));
    }
}
