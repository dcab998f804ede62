//! Which open file lies behind an address: files mapped into memory.
//!
//! A mapping holds its file open on its own: it stays when the descriptor is closed or stands for another file.
//!
//! As with descriptors, addresses are free before `munmap` has returned: another thread's `mmap` may get them and return
//! first. Such an `mmap` takes the old mapping out, and the late `munmap` then concerns the old one.

use super::flags::O_RDWR;
use super::{Descriptors, OpenId, Touched, descriptor};
use crate::calls::Effect;
use crate::reader::Event;
use crate::record;
use std::collections::{BTreeMap, HashMap};

/// Mappings are made of whole pages.
const PAGE: u64 = 4096;
const MAP_FIXED: i64 = 0x10;
const MREMAP_DONTUNMAP: i64 = 4;

/// Each belongs to a thread that is about to return from a `munmap`.
const MOST_REPLACED: usize = 1024;

/// A part of memory: its first address, the address behind the last, and the file mapped there.
type Piece = (u64, u64, OpenId);

/// Memory in which files are mapped.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    /// By first address: the address behind the last, and the file.
    now: BTreeMap<u64, (u64, OpenId)>,
    /// Replaced by another mapping although no `munmap` was seen; it may still come.
    replaced: Vec<Piece>,
    /// How many pieces of each file there are, in both.
    pieces: HashMap<OpenId, u32>,
    /// The files that have lost their last one by the call that is being followed.
    lost: Vec<OpenId>,
}

impl Mapped {
    /// The file at the lowest address in the range that has one; one whose `munmap` is still to come goes first.
    fn find(&self, start: u64, end: u64) -> Option<OpenId> {
        if let Some(&(.., file)) =
            self.replaced.iter().find(|(first, behind, _)| *first < end && *behind > start)
        {
            return Some(file);
        }
        let below = self.now.range(..=start).next_back().filter(|(_, (behind, _))| *behind > start);
        let first = below.or_else(|| self.now.range(start..end).next());
        first.map(|(_, &(_, file))| file)
    }

    fn put(&mut self, (start, end, file): Piece) {
        if start < end {
            *self.pieces.entry(file).or_default() += 1;
            if let Some((_, before)) = self.now.insert(start, (end, file)) {
                self.lose(before);
            }
        }
    }

    /// A piece of the file is there no more.
    fn lose(&mut self, file: OpenId) {
        let left = self.pieces.entry(file).or_default();
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.pieces.remove(&file);
            self.lost.push(file);
        }
    }

    /// The files that have lost their last piece, and got no other one.
    fn take_lost(&mut self) -> Vec<OpenId> {
        let mut lost = std::mem::take(&mut self.lost);
        lost.retain(|file| !self.pieces.contains_key(file));
        lost.dedup();
        lost
    }

    /// Takes out what lies in the range, by rising addresses.
    fn take(&mut self, start: u64, end: u64) -> Vec<Piece> {
        let overlapping = self.now.range(..end).rev().take_while(|(_, (behind, _))| *behind > start);
        let mut found: Vec<Piece> =
            overlapping.map(|(&first, &(behind, file))| (first, behind, file)).collect();
        found.reverse();
        for (first, behind, file) in &mut found {
            self.now.remove(first);
            self.put((*first, start.min(*behind), *file));
            self.put((end, *behind, *file));
            self.lose(*file);
            (*first, *behind) = ((*first).max(start), (*behind).min(end));
        }
        found
    }

    /// Keeps what a `munmap` may still come for; the oldest are given up.
    fn replace(&mut self, pieces: Vec<Piece>) {
        pieces.iter().for_each(|&(.., file)| *self.pieces.entry(file).or_default() += 1);
        self.replaced.extend(pieces);
        let too_many = self.replaced.len().saturating_sub(MOST_REPLACED);
        let given_up: Vec<Piece> = self.replaced.drain(..too_many).collect();
        given_up.into_iter().for_each(|(.., file)| self.lose(file));
    }

    /// `munmap`: of what was replaced already, or of what is there.
    fn unmap(&mut self, start: u64, end: u64) {
        let (late, stay) = std::mem::take(&mut self.replaced)
            .into_iter()
            .partition(|&(first, behind, _)| first < end && behind > start);
        self.replaced = stay;
        let mut late: Vec<Piece> = late;
        late.iter().for_each(|&(.., file)| self.lose(file));
        late.sort_unstable();
        let mut at = start;
        for (first, behind, _) in late {
            self.take(at, first.max(at));
            at = at.max(behind);
        }
        self.take(at, end.max(at));
    }
}

/// The whole pages that `bytes` at `start` lie in.
fn pages(start: i64, bytes: i64) -> (u64, u64) {
    let first = start as u64 & !(PAGE - 1);
    let end = (start as u64).saturating_add(bytes.max(0) as u64);
    (first, end.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX))
}

impl Descriptors {
    /// A call about memory: touches the file that is mapped there, and follows what becomes of the mapping.
    pub(super) fn follow_memory(&mut self, event: &Event<'_>, touched: &mut Touched) {
        let [address, bytes, ..] = event.numbers;
        let (start, end) = match event.call.effect() {
            Effect::Unmap | Effect::UsePages | Effect::AdvisePages | Effect::SyncPages => {
                pages(address, bytes)
            }
            Effect::Remap => pages(address, bytes.max(1)),
            _ => return,
        };
        if let Some(file) = self.mapped.find(start, end) {
            self.touch(file, touched);
        }
        match event.call.effect() {
            _ if event.has(record::FAILED) => {}
            Effect::Unmap => self.mapped.unmap(start, end),
            Effect::Remap => self.mapped.remap(event),
            _ => {}
        }
        touched.unmapped = self.mapped.take_lost();
    }

    /// `mmap`: of the call's descriptor, or of none in place of what was there.
    pub(super) fn map(&mut self, event: &Event<'_>, touched: &mut Touched) {
        let [fd, bytes, _, flags, ..] = event.numbers;
        let (start, end) = pages(event.result, bytes);
        let pieces = self.mapped.take(start, end);
        if flags & MAP_FIXED == 0 {
            self.mapped.replace(pieces);
        }
        if let (Some(file), true) = (touched.file, descriptor(fd) >= 0) {
            self.mapped.put((start, end, file));
        }
        touched.unmapped = self.mapped.take_lost();
    }

    /// A mapping that the process image has from its parent: its file has no descriptor here.
    pub(super) fn inherit_mapping(&mut self, event: &Event<'_>, touched: &mut Touched) {
        let [address, bytes, ..] = event.numbers;
        let file = self.add_file(touched.path.clone(), O_RDWR, [0; 3]);
        self.files[file as usize].inherited = true;
        let (start, end) = pages(address, bytes);
        self.mapped.take(start, end);
        self.mapped.put((start, end, file));
        touched.unmapped = self.mapped.take_lost();
        touched.file = Some(file);
    }
}

impl Mapped {
    /// Bytes at one address have become more, or fewer, at another or at the same.
    fn remap(&mut self, event: &Event<'_>) {
        let [old, old_bytes, new_bytes, flags, ..] = event.numbers;
        let ((old, old_end), (new, new_end)) = (pages(old, old_bytes), pages(event.result, new_bytes));
        if old == old_end {
            // A second mapping of what begins there.
            let file = self.find(old, old.saturating_add(PAGE));
            self.take(new, new_end);
            file.into_iter().for_each(|file| self.put((new, new_end, file)));
            return;
        }
        let pieces = self.take(old, old_end);
        self.take(new, new_end);
        for (first, behind, file) in pieces {
            if flags & MREMAP_DONTUNMAP != 0 {
                self.put((first, behind, file));
            }
            // What was the end of the range is that of the new one, however long.
            let moved = |address: u64| new.saturating_add(address - old);
            let end = if behind == old_end { new_end } else { moved(behind) };
            self.put((moved(first), end.min(new_end), file));
        }
    }
}
