//! Which pages of mapped files are touched, by open file. A replay touches them where the file is mapped, and the records that tell of
//! them come later.

mod parts;
mod written;

use crate::follow::pass::{Seen, Visitor};
pub use parts::Parts;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use syn_trace::calls::{Effect, Field};
use syn_trace::descriptors::{Descriptors, OpenFile, OpenId, Touched};
use syn_trace::record::{self, List};
use syn_trace::{Call, Event};
use written::Written;

const PAGE: u64 = 4096;

/// Of smaller mappings not all is asked (`trace/FORMAT.md`).
pub const SMALL_BYTES: u64 = 64 << 10;

/// An open file, by its process.
type Key = (u32, OpenId);

/// The pages of a run. Memory: some 60 bytes for each run of pages, and 400 for each file.
#[derive(Debug, Default)]
pub struct TouchedPages {
    of: HashMap<Key, Pages>,
    /// What each process has loaded.
    loads: HashMap<u32, Loads>,
    /// The thread whose next events tell how something was loaded.
    loading: Option<u32>,
}

/// Programs and libraries that were loaded, and where they were looked for, but for the system's.
#[derive(Debug, Default)]
pub struct Loads {
    /// Before the process's first call.
    pub at_start: Vec<Tried>,
    /// By each of its calls of dlopen(3).
    pub later: Vec<Vec<Tried>>,
}

/// A path, and whether it was opened.
#[derive(Debug)]
pub struct Tried {
    pub path: Rc<str>,
    pub is_opened: bool,
}

#[derive(Debug, Default)]
struct Pages {
    /// Those that the replay has not touched yet.
    touched: Parts,
    written: Written,
    /// What is in memory changes the file, or is written back.
    is_written: bool,
    /// Some are advised to be read one by one.
    is_at_random: bool,
}

impl TouchedPages {
    /// What is touched of this part of the file once it is mapped. What is mapped again later is in memory by then.
    pub fn take(&mut self, file: Key, part: &Range<u64>) -> Vec<Range<u64>> {
        self.of.get_mut(&file).map_or_else(Vec::new, |pages| pages.touched.take(part, u64::MAX))
    }

    /// Whether what is in memory changes the file, or is written back.
    pub fn is_written(&self, file: Key) -> bool {
        self.of.get(&file).is_some_and(|pages| pages.is_written)
    }

    /// Whether no page is read ahead of others: `MADV_RANDOM` of some is taken for all.
    pub fn is_at_random(&self, file: Key) -> bool {
        self.of.get(&file).is_some_and(|pages| pages.is_at_random)
    }

    /// What a process has loaded.
    pub fn loads(&self, process: u32) -> Option<&Loads> {
        self.loads.get(&process)
    }

    /// Of what is behind `object-loaded`.
    #[cold]
    fn see_loader(&mut self, seen: &Seen<'_>, touched: &Touched) {
        if !seen.event.is_of_loader() {
            self.loading = None;
            return;
        }
        let is_opened = seen.event.opens_for_loader();
        if is_opened || seen.event.number("dirfd").is_some() {
            let loads = self.loads.entry(seen.process).or_default();
            let all = loads.later.last_mut().unwrap_or(&mut loads.at_start);
            all.extend(touched.path.clone().map(|path| Tried { path, is_opened }));
        }
    }

    /// What was written to the file, to be asked about in the order of time.
    pub fn written(&mut self, file: Key) -> &mut Written {
        &mut self.of.entry(file).or_default().written
    }
}

/// Whether a call of msync(2) waits until the pages are written.
pub fn waits(event: &Event<'_>) -> bool {
    let flags = event.field(Field::Flags).unwrap_or(0);
    event.call.effect() == Effect::SyncPages && flags & i64::from(libc::MS_SYNC) != 0
}

/// Whether a file had nothing in it when it was opened: who maps it then writes to it.
pub fn is_new(file: &OpenFile) -> bool {
    file.size == 0 || file.flags & libc::O_TRUNC != 0
}

impl Visitor for TouchedPages {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let of = |file: OpenId| (seen.process, file);
        match seen.event.call.effect() {
            Effect::Load => self.loads.entry(seen.process).or_default().later.push(Vec::new()),
            _ if seen.event.call == Call::Loaded => self.loading = Some(seen.thread),
            _ if self.loading == Some(seen.thread) => self.see_loader(seen, touched),
            _ => {}
        }
        if let Some(file) = touched.file {
            match seen.event.call.effect() {
                Effect::SyncPages => {
                    let pages = self.of.entry(of(file)).or_default();
                    pages.is_written = true;
                    if waits(seen.event) && !seen.event.has(record::FAILED) {
                        pages.written.sync();
                    }
                }
                Effect::AdvisePages => {
                    let pages = self.of.entry(of(file)).or_default();
                    pages.is_at_random |= seen.event.numbers[2] == i64::from(libc::MADV_RANDOM);
                }
                Effect::UsePages => {
                    let Some(look) = Look::of(seen.event) else { return };
                    let pages = self.of.entry(of(file)).or_default();
                    let is_new = is_new(descriptors.open_file(file));
                    pages.is_written |= look.written_bytes(is_new) > 0;
                    pages.written.add(look.pages().filter(|_| !look.is_only_read(is_new)), look.dirty());
                    look.pages().for_each(|range| pages.touched.add(range));
                }
                _ => {}
            }
        }
        for &file in &touched.unmapped {
            self.of.get_mut(&of(file)).into_iter().for_each(|pages| pages.written.unmap());
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

    /// Whether what is in memory of it is taken to be only read.
    fn is_only_read(self, is_new: bool) -> bool {
        !self.may_be_written() || self.unknown_bytes(is_new) > 0
    }

    /// How much of it the kernel counts as written.
    fn dirty(self) -> Option<u64> {
        u64::try_from(self.numbers[4]).ok()
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
