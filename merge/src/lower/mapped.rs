//! Files mapped into memory. Nobody saw when a page of them was touched: those that are read are touched where the file is
//! mapped, those that are written where the recorder looked, in front of the call that writes them back or unmaps them.

use super::io::Translation;
use crate::follow::touched_pages::Look;
use std::collections::HashMap;
use std::ops::Range;
use syn_plan::{HandleId, Io};
use syn_trace::calls::{Effect, Field};
use syn_trace::descriptors::OpenId;

/// The files of the plan that a process has mapped.
#[derive(Debug, Default)]
pub struct Mappings {
    of: HashMap<OpenId, Mapping>,
}

/// An open file that is mapped.
#[derive(Debug, Default)]
struct Mapping {
    /// How often.
    count: u32,
    /// What is written goes here: a mapping holds its file open on its own (mmap(2)). And the only thread that has used it, if it is one.
    kept: Option<(HandleId, Option<u32>)>,
}

impl Mappings {
    /// Whether the plan has this one among them.
    pub fn have(&self, file: Option<OpenId>) -> bool {
        file.is_some_and(|file| self.of.contains_key(&file))
    }

    /// Whether a thread of the process may wait for pages where it makes no call.
    pub fn may_fault(&self) -> bool {
        !self.of.is_empty()
    }
}

impl Translation<'_> {
    /// A call about mapped files, or a look at them.
    pub(super) fn about_mapping(&mut self) {
        if self.result != 0 {
            return;
        }
        match self.seen.event.call.effect() {
            Effect::Map => self.map(),
            Effect::UsePages => self.write_pages(),
            Effect::SyncPages if self.number(Field::Flags) & libc::MS_SYNC as u64 != 0 => {
                let handle = self.kept();
                self.out.extend(handle.map(|handle| (Io::Fdatasync { handle }, 0)));
            }
            Effect::Unmap => self.unmap(),
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
        let is_written = self.tables.pages.is_written(key) && self.is_written_through();
        let mut mapping = self.tables.mappings.of.remove(&file).unwrap_or_default();
        if read.is_empty() && !is_written && mapping.count == 0 {
            return;
        }
        mapping.count += 1;
        if is_written && mapping.kept.is_none() {
            let new = self.tables.handles.spare(self.thread);
            self.out.push((Io::Dup { handle, new }, 0));
            mapping.kept = Some((new, Some(self.thread)));
        }
        self.tables.mappings.of.insert(file, mapping);
        self.populate(handle, read, false);
    }

    /// Whether what is written there goes to the file.
    fn is_written_through(&self) -> bool {
        let [_, _, protection, flags, ..] = self.seen.event.numbers;
        // `MAP_SHARED_VALIDATE` is both bits.
        flags & i64::from(libc::MAP_SHARED) != 0 && protection & i64::from(libc::PROT_WRITE) != 0
    }

    fn populate(&mut self, handle: HandleId, pages: impl IntoIterator<Item = Range<u64>>, write: bool) {
        let populate =
            |Range { start, end }| Io::Populate { handle, offset: start, bytes: end - start, write };
        self.out.extend(pages.into_iter().map(|range| (populate(range), 0)));
    }

    /// What has been written: as much of what was touched as is known, and which of it nobody saw.
    fn write_pages(&mut self) {
        let (Some(handle), Some(look)) = (self.kept(), Look::of(self.seen.event)) else { return };
        let mut left = look.written_bytes();
        let pages = look.pages().map_while(|range| {
            let bytes = left.min(range.end - range.start);
            left -= bytes;
            (bytes > 0).then(|| range.start..range.start + bytes)
        });
        self.populate(handle, pages, true);
    }

    fn kept(&mut self) -> Option<HandleId> {
        let (handle, user) = self.tables.mappings.of.get_mut(&self.touched.file?)?.kept.as_mut()?;
        *user = user.filter(|&user| user == self.thread);
        Some(*handle)
    }

    fn unmap(&mut self) {
        let kept = self.kept();
        let Some(file) = self.touched.file else { return };
        let Some(mapping) = self.tables.mappings.of.get_mut(&file) else { return };
        mapping.count -= 1;
        if mapping.count > 0 {
            return;
        }
        if let Some((handle, Some(user))) = mapping.kept {
            self.tables.handles.give_back(handle, user);
        }
        self.tables.mappings.of.remove(&file);
        self.out.extend(kept.map(|handle| (Io::Close { handle }, 0)));
    }
}
