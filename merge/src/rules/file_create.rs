//! A call that finds a file (or finds it gone) comes after the call of another process that made it (or removed it).
//!
//! The recording shows only that it was so; a dependency is taken where the finding call began after the making one
//! had returned.

use crate::dependency::{Dependencies, Moment};
use std::collections::BTreeMap;
use syn_plan::Rule;

/// Whether one path exists, as far as the run's calls tell.
#[derive(Debug, Default)]
pub struct Existence {
    exists: Option<bool>,
    /// The process that changed this last, and when.
    change: Option<(u32, Moment)>,
    /// Threads that come after the change.
    informed: Vec<u32>,
}

impl Existence {
    /// True, false, or not known.
    pub fn exists(&self) -> Option<bool> {
        self.exists
    }

    /// A call of `process` that returned at `leave` made the path exist, or removed it.
    pub fn change(&mut self, process: u32, leave: Moment, exists: bool) {
        self.exists = Some(exists);
        self.change = Some((process, leave));
        self.informed.clear();
    }

    /// A call of `process` that began at `enter` saw that the path exists, or that it does not.
    pub fn find(&mut self, process: u32, enter: Moment, exists: bool, found: &mut Dependencies) {
        // The last change happened while this call ran: it may have seen the state before or after.
        if self.change.is_some_and(|(_, changed)| enter.ns < changed.ns) {
            return;
        }
        if self.exists != Some(exists) {
            // What is seen contradicts what is known: something outside the run changed it.
            (self.exists, self.change) = (Some(exists), None);
            return;
        }
        let Some((changed_by, changed)) = self.change else { return };
        if changed_by != process && !self.informed.contains(&enter.point.thread) {
            self.informed.push(enter.point.thread);
            found.add_one(Rule::FileCreate, changed, enter);
        }
    }
}

/// An open file that several threads of one process use: it is used after the call that opened it, and closed after
/// the last use. Without this a thread of the replay could use what another one has not opened yet.
#[derive(Debug)]
pub struct HandedOver {
    opened: Moment,
    /// The last use by every thread.
    uses: BTreeMap<u32, Moment>,
}

impl HandedOver {
    /// It was opened by a call that returned at `leave`.
    pub fn new(leave: Moment) -> HandedOver {
        HandedOver { opened: leave, uses: BTreeMap::new() }
    }

    /// It is used between `enter` and `leave`.
    pub fn use_it(&mut self, enter: Moment, leave: Moment, found: &mut Dependencies) {
        let first_use = self.uses.insert(leave.point.thread, leave).is_none();
        if first_use && self.opened.ns <= enter.ns {
            found.add_one(Rule::FileCreate, self.opened, enter);
        }
    }

    /// It is closed by a call that began at `enter`.
    pub fn close(&self, enter: Moment, found: &mut Dependencies) {
        for &last in self.uses.values().filter(|last| last.ns <= enter.ns) {
            found.add_one(Rule::FileCreate, last, enter);
        }
    }
}
