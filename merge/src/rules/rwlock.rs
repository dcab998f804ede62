//! A thread that had to wait for a read-write lock has it after those who had it gave it back: a reader after a writer, a
//! writer after a writer or all readers.

use crate::graph::dependency::{Dependencies, Span};
use crate::rules::by_entry::ByEntry;
use std::collections::BTreeMap;
use syn_plan::Rule;

/// All that happened to one read-write lock.
#[derive(Debug, Default)]
pub struct Rwlock {
    /// Calls that waited for it and got it, and whether it was for writing.
    waits: Vec<(Span, bool)>,
    /// Calls that gave it back, and whether the thread is known to have had it for reading.
    releases: Vec<(Span, bool)>,
    /// By thread: whether the last call that got it, as far as is known, was for reading.
    reads: BTreeMap<u32, bool>,
}

impl Rwlock {
    /// A call waited, and reads.
    pub fn read(&mut self, span: Span) {
        self.reads.insert(span.leave.point().thread, true);
        self.waits.push((span, false));
    }

    /// A call waited, and writes.
    pub fn write(&mut self, span: Span) {
        self.reads.insert(span.leave.point().thread, false);
        self.waits.push((span, true));
    }

    /// A call gave it back.
    pub fn release(&mut self, span: Span) {
        let reads = self.reads.remove(&span.enter.point().thread).unwrap_or(false);
        self.releases.push((span, reads));
    }
}

/// Connects a reader with the last release that may be a writer's, and a writer with the last one of each thread.
pub fn connect(lock: Rwlock, found: &mut Dependencies) {
    let releases = ByEntry::new(lock.releases, |&(release, _)| release);
    for (wait, writes) in lock.waits {
        releases.connect(Rule::Rwlock, wait, |&(_, reads)| writes || !reads, |_| !writes, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::{records, span};

    #[test]
    fn a_writer_comes_after_all_readers_and_a_reader_after_the_writer() {
        let mut lock = Rwlock::default();
        lock.release(span(0, 1, 40, 42));
        lock.release(span(1, 2, 50, 52));
        lock.write(span(2, 7, 10, 60));
        lock.release(span(2, 8, 80, 82));
        lock.read(span(3, 9, 20, 84));
        lock.release(span(3, 10, 85, 86));
        lock.read(span(4, 11, 30, 90));
        let mut found = Dependencies::default();
        connect(lock, &mut found);
        assert_eq!(records(&found), [(2, 7), (1, 7), (8, 9), (8, 11)]);
    }
}
