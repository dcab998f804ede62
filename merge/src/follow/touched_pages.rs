//! Which pages of mapped files are touched at any time: what a look at them finds, by the time they were mapped.

use crate::follow::pass::{Seen, Visitor};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use syn_trace::calls::Effect;
use syn_trace::descriptors::{Descriptors, OpenId, Touched};
use syn_trace::record::List;
use syn_trace::{Call, Event};

const PAGE: u64 = 4096;

/// An open file, by its process.
type Key = (u32, OpenId);

/// The pages of a run. Memory: 16 bytes for each run of pages.
#[derive(Clone, Debug, Default)]
pub struct TouchedPages {
    /// Bytes of the file, whole pages.
    touched: HashMap<Key, Vec<Range<u64>>>,
    /// Those that are written to, or written back, by what is in memory.
    written: HashSet<Key>,
}

impl TouchedPages {
    /// Nothing seen yet.
    pub fn new() -> TouchedPages {
        TouchedPages::default()
    }

    /// Puts what was seen in order: no page is there twice.
    pub fn finish(mut self) -> TouchedPages {
        for ranges in self.touched.values_mut() {
            ranges.sort_unstable_by_key(|range| range.start);
            ranges.dedup_by(|next, before| {
                let joins = next.start <= before.end;
                if joins {
                    before.end = before.end.max(next.end);
                }
                joins
            });
        }
        self
    }

    /// What is touched of this part of the file once it is mapped. What is mapped again later is in memory by then.
    pub fn take(&mut self, file: Key, part: &Range<u64>) -> Vec<Range<u64>> {
        let Some(ranges) = self.touched.get_mut(&file) else { return Vec::new() };
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for range in ranges.drain(..) {
            let inside = range.start.max(part.start)..range.end.min(part.end);
            if inside.is_empty() {
                left.push(range);
                continue;
            }
            left.extend(
                [range.start..inside.start, inside.end..range.end]
                    .into_iter()
                    .filter(|rest| !rest.is_empty()),
            );
            taken.push(inside);
        }
        *ranges = left;
        taken
    }

    /// Whether what is in memory changes the file, or is written back.
    pub fn is_written(&self, file: Key) -> bool {
        self.written.contains(&file)
    }
}

impl Visitor for TouchedPages {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, _: &Descriptors) {
        let Some(file) = touched.file else { return };
        match seen.event.call.effect() {
            Effect::SyncPages => drop(self.written.insert((seen.process, file))),
            Effect::UsePages => {
                let Some(look) = Look::of(seen.event) else { return };
                let key = (seen.process, file);
                if look.written_bytes() > 0 {
                    self.written.insert(key);
                }
                self.touched.entry(key).or_default().extend(look.pages());
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
    /// Of a page of a shared mapping that can be written to.
    const EITHER: i64 = 2;
    /// Of smaller mappings not all is asked (`trace/FORMAT.md`).
    const SMALL_BYTES: u64 = 64 << 10;

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

    /// How much of it is written, if what is written goes to the file. What nobody knows of a large mapping is taken to be only read.
    pub fn written_bytes(self) -> u64 {
        let is_of_file = self.list.iter().nth(Look::PER_RUN - 1).is_none_or(|kind| kind == Look::EITHER);
        match self.numbers[4] {
            _ if !is_of_file => 0,
            dirty @ 0.. => dirty as u64,
            _ if self.is_small() => self.present(),
            _ => 0,
        }
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
        self.bytes() < Look::SMALL_BYTES
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
        let mut pages = TouchedPages::new();
        pages.touched.insert((0, 3), vec![8..12, 0..4, 2..6, 12..16, 40..44]);
        let mut pages = pages.finish();
        assert_eq!(pages.touched[&(0, 3)], [0..6, 8..16, 40..44]);
        assert_eq!(pages.take((0, 3), &(4..10)), [4..6, 8..10]);
        assert_eq!(pages.take((0, 3), &(0..20)), [0..4, 10..16]);
        assert_eq!(pages.take((0, 3), &(0..20)), []);
        assert_eq!(pages.take((1, 3), &(0..100)), []);
        assert_eq!(pages.take((0, 3), &(0..u64::MAX)).first(), Some(&(40..44)));
    }
}
