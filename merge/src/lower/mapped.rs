//! Files mapped into memory. Nobody saw when a page of them was touched: those that are read are touched where the file is
//! mapped, those that are written where the recorder looked, in front of the call that writes them back or unmaps them.

use super::io::Translation;
use super::mappings::Kept;
use crate::follow::touched_pages::{Look, Parts, SMALL_BYTES, waits};
use std::collections::HashMap;
use std::ops::Range;
use syn_plan::{HandleId, Io};
use syn_trace::calls::{Effect, Field};
use syn_trace::descriptors::OpenId;

/// A fault maps what of the 64 KiB around it is in the page cache, too (`fault_around_bytes` of Linux).
const FAULT_AROUND: u64 = 64 << 10;
const PAGE: u64 = 4096;

/// Of pages that lie together, and are wanted at random: one in each part that a single fault may have mapped.
fn touched_by_faults(pages: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let first = pages.start / FAULT_AROUND * FAULT_AROUND;
    let parts = (first..pages.end).step_by(FAULT_AROUND as usize);
    parts.map(move |part| {
        let start = part.max(pages.start);
        start..(start + PAGE).min(pages.end)
    })
}

impl Translation<'_> {
    /// A call about mapped files, or a page scan.
    pub(super) fn about_mapping(&mut self) {
        self.unmap();
        if self.result != 0 {
            return;
        }
        match self.seen.event.call.effect() {
            Effect::Map => self.map(),
            Effect::Remap => self.grow(),
            Effect::UsePages => self.write_pages(),
            Effect::SyncPages if waits(self.seen.event) => self.write_back(),
            _ => {}
        }
    }

    fn map(&mut self) {
        let Some(handle) = self.tables.handles.get(self.touched.file, self.thread) else { return };
        let Some(file) = self.touched.file else { return };
        let offset = self.number(Field::Offset);
        let part = offset..offset.saturating_add(self.number(Field::Bytes));
        let key = (self.seen.process, file);
        let mut read = self.tables.pages.take(key, &part);
        if self.seen.event.is_of_loader() {
            last_first(&mut read);
        }
        let is_written = self.tables.pages.is_written(key) && self.is_written_through(file);
        let is_known = self.tables.mappings.have(Some(file));
        if read.is_empty() && !is_written && !is_known {
            return;
        }
        let at = (self.seen.event.result as u64, offset);
        let kept = self.tables.mappings.of.entry(file).or_default();
        match kept {
            Some(kept) => kept.at = at,
            None if is_written => {
                let (new, user) = (self.tables.handles.spare(self.thread), Some(self.thread));
                self.out.push((Io::Dup { handle, new }, 0));
                *kept = Some(Kept { handle: new, user, at, looked: None, usual: HashMap::new() });
            }
            None => {}
        }
        self.read(handle, read);
    }

    /// What is mapped there for the first time is touched.
    fn grow(&mut self) {
        let Some(file) = self.touched.file.filter(|&file| self.tables.mappings.have(Some(file))) else {
            return;
        };
        let open = self.tables.handles.get(Some(file), self.thread);
        let Some(handle) = open.or_else(|| Some(self.kept()?.handle)) else { return };
        let read = self.tables.pages.take((self.seen.process, file), &(0..u64::MAX));
        self.read(handle, read);
    }

    /// Whether what is written there goes to the file. mprotect(2) may allow it later.
    fn is_written_through(&self, file: OpenId) -> bool {
        // `MAP_SHARED_VALIDATE` is both bits.
        let is_shared = self.number(Field::Flags) & libc::MAP_SHARED as u64 != 0;
        is_shared && self.descriptors.open_file(file).flags & libc::O_ACCMODE == libc::O_RDWR
    }

    fn read(&mut self, handle: HandleId, mut pages: Vec<Range<u64>>) {
        let at_random =
            self.touched.file.is_some_and(|file| self.tables.pages.is_at_random((self.seen.process, file)));
        if at_random {
            pages = pages.into_iter().flat_map(touched_by_faults).collect();
        }
        self.tables.mappings.expect(&pages, at_random);
        if at_random {
            let populate =
                |Range { start, end }| Io::PopulateAtRandom { handle, offset: start, bytes: end - start };
            self.out.extend(pages.into_iter().map(|range| (populate(range), 0)));
        } else {
            self.populate(handle, pages, false);
        }
    }

    fn populate(&mut self, handle: HandleId, pages: impl IntoIterator<Item = Range<u64>>, write: bool) {
        let populate =
            |Range { start, end }| Io::Populate { handle, offset: start, bytes: end - start, write };
        self.out.extend(pages.into_iter().map(|range| (populate(range), 0)));
    }

    /// What has been written, as far as this look at it tells.
    fn write_pages(&mut self) {
        let (Some(_), Some(file)) = (Look::of(self.seen.event), self.touched.file) else { return };
        let look = self.tables.pages.written((self.seen.process, file)).next_look();
        let (Some((written, is_all)), Some(kept)) = (look, self.kept()) else { return };
        let handle = kept.handle;
        let (found, tell) = kept.looked.get_or_insert_default();
        *tell |= is_all || !written.is_empty();
        found.extend(written.iter().cloned());
        self.populate(handle, written, true);
    }

    /// msync(2).
    fn write_back(&mut self) {
        let ([address, ..], bytes) = (self.seen.event.numbers, self.number(Field::Bytes));
        let Some(file) = self.touched.file else { return };
        let syncs = self.tables.pages.written((self.seen.process, file)).next_sync();
        let Some(kept) = self.kept() else { return };
        let (handle, (first, offset)) = (kept.handle, kept.at);
        let looked = kept.looked.take();
        let syncs = if looked.is_some() { 0 } else { syncs };
        if let Some((written, true)) = looked {
            kept.usual.insert(bytes, written.into_iter().collect());
        } else {
            let usual = kept.usual.get(&bytes).cloned();
            let start = offset.saturating_add((address as u64).saturating_sub(first));
            let written = self.unseen(file, start..start.saturating_add(bytes), syncs, usual);
            self.populate(handle, written, true);
        }
        self.out.push((Io::Fdatasync { handle }, 0));
    }

    /// What was written to this part of the file in front of an msync(2) for which the recorder had no time to look: what a later look found
    /// new, and if bytes are counted, as many as before the latest one of this length. Where nothing is new, the same as before that; where
    /// the recorder never looked, all of what is little.
    fn unseen(
        &mut self,
        file: OpenId,
        part: Range<u64>,
        syncs: u64,
        usual: Option<Parts>,
    ) -> Vec<Range<u64>> {
        let written = self.tables.pages.written((self.seen.process, file));
        let most = usual.as_ref().filter(|_| written.is_counted()).map(Parts::bytes);
        let mut new = written.take(&part, syncs, most.unwrap_or(u64::MAX));
        let new_bytes = new.iter().map(|range| range.end - range.start).sum();
        let again = match most {
            Some(most) => most.saturating_sub(new_bytes),
            None if new.is_empty() => u64::MAX,
            None => 0,
        };
        let small = || Some(part).filter(|part| part.end - part.start < SMALL_BYTES).into_iter().collect();
        new.extend(usual.unwrap_or_else(small).take(&(0..u64::MAX), again));
        new
    }

    /// Of the file that the call is about.
    fn kept(&mut self) -> Option<&mut Kept> {
        let kept = self.tables.mappings.of.get_mut(&self.touched.file?)?.as_mut()?;
        kept.user = kept.user.filter(|&user| user == self.thread);
        Some(kept)
    }

    /// Files of which nothing is mapped any more.
    fn unmap(&mut self) {
        for file in &self.touched.unmapped {
            if let Some(Kept { handle, user, .. }) = self.tables.mappings.remove(*file) {
                let user = user.filter(|&user| user == self.thread);
                user.into_iter().for_each(|user| self.tables.handles.give_back(handle, user));
                self.out.push((Io::Close { handle }, 0));
            }
        }
    }
}

/// Programs and libraries are used from behind: the first page that is touched is the last one of the data, whose rest is cleared for `.bss`.
/// What the kernel reads ahead goes by that.
fn last_first(pages: &mut Vec<Range<u64>>) {
    let Some(last) = pages.last_mut() else { return };
    let end = last.end;
    last.end = end.saturating_sub(PAGE).max(last.start);
    let first = last.end..end;
    if last.is_empty() {
        pages.pop();
    }
    pages.insert(0, first);
}
