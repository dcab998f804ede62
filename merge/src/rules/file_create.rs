//! A call that finds a file (or finds it gone) comes after the call of another thread that made it (or removed it), and
//! before the one that changes that next.
//!
//! The recording shows only that it was so; a dependency is taken where the later call began after the earlier one
//! had returned. One that asks again until the answer is another waits for the change; the change does not wait for it.

use crate::follow::pass::Seen;
use crate::graph::dependency::{Dependencies, Moment};
use syn_plan::Rule;

/// So many of a thread's latest calls that found a path are kept, for those that overlap the call that changes it.
const MOST_FOUND: usize = 4;

/// Whether one path exists, as far as the run's calls tell.
#[derive(Debug, Default)]
pub struct Existence {
    exists: Option<bool>,
    /// The call that changed this last.
    change: Option<Moment>,
    /// The last calls of each thread that found it so since, by thread and time: all ranks may look at one file again and again.
    found_by: Vec<Moment>,
    /// Changes behind calls that may turn out to be polls: when a thread asked last, and the change.
    behind_polls: Vec<(Moment, Moment)>,
}

impl Existence {
    /// True, false, or not known.
    pub fn exists(&self) -> Option<bool> {
        self.exists
    }

    /// A call made the path exist, or removed it, or put another file there. Those that found it before come before.
    /// `polls` says which threads have asked about it last, and done nothing since.
    pub fn change(
        &mut self,
        seen: &Seen<'_>,
        exists: bool,
        polls: impl Fn(u32) -> bool,
        found: &mut Dependencies,
    ) {
        let (enter, leave) = (seen.enter(), seen.leave());
        let by_thread = self.found_by.chunk_by(|one, next| one.point().thread == next.point().thread);
        let over = by_thread.filter_map(|calls| calls.iter().rfind(|call| call.ns <= enter.ns));
        for &last in over.filter(|last| last.point().thread != enter.point().thread) {
            if polls(last.point().thread) {
                self.behind_polls.push((last, enter));
            } else {
                found.add_one(Rule::FileCreate, last, enter);
            }
        }
        (self.exists, self.change) = (Some(exists), Some(leave));
        self.found_by.clear();
    }

    /// What a thread may have been polling for, it does not ask about again, or it has found what it asked for.
    pub fn end_polling(&mut self, thread: u32, was_polling: bool, found: &mut Dependencies) {
        for (last, enter) in self.behind_polls.extract_if(.., |(last, _)| last.point().thread == thread) {
            if !was_polling {
                found.add_one(Rule::FileCreate, last, enter);
            }
        }
    }

    /// The run is over: nobody asks again.
    pub fn finish(&mut self, found: &mut Dependencies) {
        for (last, enter) in self.behind_polls.drain(..) {
            found.add_one(Rule::FileCreate, last, enter);
        }
    }

    /// A call saw that the path exists, or that it does not.
    pub fn find(&mut self, seen: &Seen<'_>, exists: bool, found: &mut Dependencies) {
        let (enter, leave) = (seen.enter(), seen.leave());
        // The last change happened while this call ran: it may have seen the state before or after.
        if self.change.is_some_and(|changed| enter.ns < changed.ns) {
            return;
        }
        if self.exists != Some(exists) {
            // What is seen contradicts what is known: something outside the run changed it.
            (self.exists, self.change) = (Some(exists), None);
            self.found_by.clear();
        }
        let thread = leave.point().thread;
        let start = self.found_by.partition_point(|call| call.point().thread < thread);
        let behind = &self.found_by[start..];
        let calls = behind.iter().take_while(|call| call.point().thread == thread).count();
        if calls < MOST_FOUND {
            self.found_by.insert(start + calls, leave);
        } else {
            self.found_by[start..start + calls].rotate_left(1);
            self.found_by[start + calls - 1] = leave;
        }
        if calls == 0 {
            self.change.into_iter().for_each(|changed| found.add_one(Rule::FileCreate, changed, enter));
        }
    }
}
