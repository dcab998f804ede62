//! Files mapped into memory. Nobody saw when a page of them was touched: those that are read are touched where the file is
//! mapped, those that are written where the recorder looked, in front of the call that writes them back or unmaps them.

use super::io::Translation;
use super::mappings::Kept;
use crate::follow::touched_pages::{Look, SMALL_BYTES, is_new};
use std::collections::HashMap;
use std::ops::Range;
use syn_plan::{HandleId, Io};
use syn_trace::calls::{Effect, Field};
use syn_trace::descriptors::OpenId;

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
            Effect::SyncPages if self.number(Field::Flags) & libc::MS_SYNC as u64 != 0 => self.write_back(),
            _ => {}
        }
    }

    fn map(&mut self) {
        let Some(handle) = self.tables.handles.get(self.touched.file, self.thread) else { return };
        let Some(file) = self.touched.file else { return };
        let offset = self.number(Field::Offset);
        let part = offset..offset.saturating_add(self.number(Field::Bytes));
        let key = (self.seen.process, file);
        let read = self.tables.pages.take(key, &part);
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
                *kept = Some(Kept { handle: new, user, at, written: 0, looked: None, usual: HashMap::new() });
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

    fn read(&mut self, handle: HandleId, pages: Vec<Range<u64>>) {
        self.tables.mappings.expect(&pages);
        self.populate(handle, pages, false);
    }

    fn populate(&mut self, handle: HandleId, pages: impl IntoIterator<Item = Range<u64>>, write: bool) {
        let populate =
            |Range { start, end }| Io::Populate { handle, offset: start, bytes: end - start, write };
        self.out.extend(pages.into_iter().map(|range| (populate(range), 0)));
    }

    /// What has been written: as much of what was touched as is known, and which of it nobody saw.
    fn write_pages(&mut self) {
        let (Some(look), Some(file)) = (Look::of(self.seen.event), self.touched.file) else { return };
        let is_new = is_new(self.descriptors.open_file(file));
        let Some(kept) = self.kept() else { return };
        let (handle, mut left) = (kept.handle, look.written_bytes(is_new));
        // Of a new file, of which this look does not tell: what was written before lies in front.
        let mut before = if look.is_unknown() { kept.written.min(left) } else { 0 };
        left -= before;
        let pages = look.pages().map(|Range { start, end }| {
            let skipped = before.min(end - start);
            before -= skipped;
            let bytes = left.min(end - start - skipped);
            left -= bytes;
            start + skipped..start + skipped + bytes
        });
        let pages: Vec<Range<u64>> = pages.filter(|range| !range.is_empty()).collect();
        let bytes = pages.iter().map(|range| range.end - range.start).fold(0, u64::saturating_add);
        kept.written = kept.written.saturating_add(bytes);
        kept.looked.get_or_insert_default().extend(pages.iter().cloned());
        self.populate(handle, pages, true);
    }

    /// msync(2). Where the recorder had no time to look, as much has been written as before the latest one of as many bytes; where it
    /// never looked, all of what is little.
    fn write_back(&mut self) {
        let ([address, ..], bytes) = (self.seen.event.numbers, self.number(Field::Bytes));
        let Some(kept) = self.kept() else { return };
        let handle = kept.handle;
        let unseen = match kept.looked.take() {
            Some(written) => {
                kept.usual.insert(bytes, written);
                Vec::new()
            }
            None => kept.usual.get(&bytes).cloned().unwrap_or_else(|| {
                let (first, offset) = kept.at;
                let start = offset.saturating_add((address as u64).saturating_sub(first));
                let all = Some(start..start.saturating_add(bytes)).filter(|_| bytes < SMALL_BYTES);
                all.into_iter().collect()
            }),
        };
        self.populate(handle, unseen, true);
        self.out.push((Io::Fdatasync { handle }, 0));
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
