//! Windows. One is followed as a communicator of its own with the same members: fences are operations on it.

use super::communicators::{Communicators, Creation, Joined, Meaning, window};
use super::matcher::Matcher;
use super::world::Worlds;
use crate::follow::pass::Seen;
use syn_trace::calls::NOBODY;
use syn_trace::calls::effect::Members;

impl Communicators {
    /// Enters a new window into the books of `process`. False when its members are not known.
    pub fn create_window(&mut self, worlds: &Worlds, process: u32, parent: i64, handle: i64) -> bool {
        let members = match self.meaning(process, parent).copied() {
            Some(Meaning::Within(Joined { comm, .. })) if !self.get(comm).spans_worlds => {
                self.get(comm).members.clone()
            }
            Some(Meaning::Alone) => worlds.known(process).iter().map(|&(_, rank)| rank).collect(),
            _ => return false,
        };
        let runs: Vec<i64> = members.iter().flat_map(|&member| [member.into(), 0, 1]).collect();
        let (handle, members) = (window(handle), &runs[..]);
        let creation = Creation { parent, handle, members, part: Members::Within };
        self.create(worlds, process, &creation)
    }
}

impl Matcher<'_> {
    pub(super) fn make_window(&mut self, seen: &Seen<'_>, comm: i64, handle: i64) {
        self.arrive(seen, comm, NOBODY, (0, 0));
        let _ = self.communicators.create_window(self.worlds, seen.process, comm, handle);
    }

    pub(super) fn free_window(&mut self, seen: &Seen<'_>, handle: i64) {
        self.fence(seen, handle);
        self.communicators.free(seen.process, window(handle));
    }

    pub(super) fn fence(&mut self, seen: &Seen<'_>, handle: i64) {
        if self.communicators.meaning(seen.process, window(handle)).is_some() {
            self.arrive(seen, window(handle), NOBODY, (0, 0));
        } else {
            self.count_unmatched(seen);
        }
    }
}
