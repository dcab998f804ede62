//! Which open file each descriptor stands for.

use super::open_file::OpenId;
use std::collections::HashMap;

/// Descriptors below this have a place in a plain table.
const LOW: i32 = 1 << 16;

#[derive(Debug, Default)]
pub(super) struct Table {
    /// The open file plus one; 0 for none.
    low: Vec<u32>,
    high: HashMap<i32, OpenId>,
}

impl Table {
    #[inline(always)]
    pub(super) fn get(&self, fd: i32) -> Option<OpenId> {
        // A negative descriptor becomes an index that no table has.
        match self.low.get(fd as u32 as usize) {
            Some(&stored) => stored.checked_sub(1),
            None if fd < LOW => None,
            None => self.high.get(&fd).copied(),
        }
    }

    /// Puts `file` at `fd` and returns what was there.
    pub(super) fn put(&mut self, fd: i32, file: OpenId) -> Option<OpenId> {
        if fd >= LOW {
            return self.high.insert(fd, file);
        }
        let index = usize::try_from(fd).ok()?;
        if index >= self.low.len() {
            self.low.resize(index + 1, 0);
        }
        std::mem::replace(&mut self.low[index], file + 1).checked_sub(1)
    }

    /// Takes away what is at `fd`.
    pub(super) fn take(&mut self, fd: i32) -> Option<OpenId> {
        if fd >= LOW {
            return self.high.remove(&fd);
        }
        let stored = self.low.get_mut(usize::try_from(fd).ok()?)?;
        std::mem::take(stored).checked_sub(1)
    }

    /// The descriptors in use from `first` to `last`, rising.
    pub(super) fn used(&self, first: i32, last: i32) -> Vec<i32> {
        let end = usize::try_from(last).map_or(0, |last| (last + 1).min(self.low.len()));
        let from = (first.max(0) as usize).min(end);
        let mut used: Vec<i32> =
            (from..end).filter(|&index| self.low[index] != 0).map(|index| index as i32).collect();
        let low_count = used.len();
        used.extend(self.high.keys().copied().filter(|fd| (first..=last).contains(fd)));
        used[low_count..].sort_unstable();
        used
    }
}
