//! What was written to a mapped file between one look at its pages and the next.
//!
//! A look finds all pages that were touched since the file was mapped. Those that no look before has found are new, and were written
//! since. How many others were written again, only the kernel's count of dirty bytes tells, and not where it does not become less when
//! they are written back (tmpfs).

use super::parts::Parts;
use std::collections::VecDeque;
use std::ops::Range;

const PAGE: u64 = 4096;

/// What was written to a file, look by look.
#[derive(Debug, Default)]
pub struct Written {
    /// What looks have found since it was mapped.
    found: Parts,
    looks: VecDeque<Look>,
    /// How often it was synced by msync(2), and how many of these have been asked about.
    syncs: u64,
    asked: u64,
    /// How many of the latest had no look in front of them.
    unseen: u64,
    is_counted: bool,
}

#[derive(Debug)]
struct Look {
    /// How often the file was synced before it.
    syncs: u64,
    new: Parts,
    /// How many bytes of these were written behind the last sync.
    last: u64,
    again: Vec<Range<u64>>,
    /// Nothing else was written behind the last sync.
    is_all: bool,
}

impl Written {
    /// A look has found these pages, and counted so many dirty bytes.
    pub fn add(&mut self, pages: impl Iterator<Item = Range<u64>>, dirty: Option<u64>) {
        let pages: Vec<Range<u64>> = pages.collect();
        let mut new: Parts = pages.iter().cloned().collect();
        self.is_counted |= dirty.is_some_and(|dirty| dirty < new.bytes());
        let dirty = dirty.filter(|&dirty| self.is_counted || dirty == 0);
        let found = pages.iter().flat_map(|part| self.found.overlapping(part));
        let mut again: Parts = found.flat_map(|part| new.take(&part, u64::MAX)).collect();
        new.iter().for_each(|part| self.found.add(part));
        let last = match dirty {
            Some(dirty) => dirty.min(new.bytes()),
            // How many each sync has written is known then: what they leave.
            None if self.is_counted => 0,
            None => share(new.bytes(), self.unseen + 1),
        };
        let again = again.take(&(0..u64::MAX), dirty.map_or(0, |dirty| dirty - last));
        self.looks.push_back(Look { syncs: self.syncs, new, last, again, is_all: dirty.is_some() });
    }

    /// The file has been synced.
    pub fn sync(&mut self) {
        // The first one behind a look is that look's.
        let is_seen = self.looks.back().is_some_and(|look| look.syncs == self.syncs);
        self.unseen = if is_seen { 0 } else { self.unseen + 1 };
        self.syncs += 1;
    }

    /// Nothing of it is mapped any more.
    pub fn unmap(&mut self) {
        self.found = Parts::default();
    }

    /// Whether the count of dirty bytes becomes less when they are written back.
    pub fn is_counted(&self) -> bool {
        self.is_counted
    }

    /// What was written behind the last sync in front of the next look, and whether nothing else was.
    pub fn next_look(&mut self) -> Option<(Vec<Range<u64>>, bool)> {
        let Look { mut new, last, again, is_all, .. } = self.looks.pop_front()?;
        let most = if is_all { last } else { u64::MAX };
        let written = new.take(&(0..u64::MAX), most).into_iter().chain(again);
        Some((written.collect(), is_all))
    }

    /// The next sync; returns how many of them there are up to the next look, this one included.
    pub fn next_sync(&mut self) -> u64 {
        let next = self.looks.front().map_or(0, |look| look.syncs);
        self.asked += 1;
        (next + 1).saturating_sub(self.asked)
    }

    /// What was written to this part behind the last sync, without a look at it, if there are so many syncs up to the next look: a share of
    /// what that has found new, so many bytes at most.
    pub fn take(&mut self, part: &Range<u64>, syncs: u64, most: u64) -> Vec<Range<u64>> {
        let next = self.looks.front().map_or(0, |look| look.syncs);
        let of = |look: &mut Look| {
            let share = share(look.new.bytes().saturating_sub(look.last), syncs);
            look.new.take(part, share.min(most))
        };
        self.looks.iter_mut().take_while(|look| look.syncs == next).flat_map(of).collect()
    }
}

/// One part of so many equal ones, in whole pages, and no less than a page while there is one.
fn share(bytes: u64, parts: u64) -> u64 {
    bytes.checked_div(parts).map_or(0, |share| (share / PAGE * PAGE).max(PAGE).min(bytes))
}
