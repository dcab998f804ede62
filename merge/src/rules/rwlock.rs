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
    /// Calls that gave it back.
    releases: Vec<Release>,
    /// By thread: the last call that waited and got it, if it has not given it back, and whether it was for reading.
    waited: BTreeMap<u32, (Span, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct Release {
    span: Span,
    /// The thread is known to have had it for reading.
    reads: bool,
    /// The last wait of the thread for it.
    waited: Option<Span>,
}

impl Rwlock {
    /// A call waited, and reads.
    pub fn read(&mut self, span: Span) {
        self.waited.insert(span.leave.point().thread, (span, true));
        self.waits.push((span, false));
    }

    /// A call waited, and writes.
    pub fn write(&mut self, span: Span) {
        self.waited.insert(span.leave.point().thread, (span, false));
        self.waits.push((span, true));
    }

    /// A call gave it back.
    pub fn release(&mut self, span: Span) {
        let had = self.waited.remove(&span.enter.point().thread);
        let reads = had.is_some_and(|(_, reads)| reads);
        self.releases.push(Release { span, reads, waited: had.map(|(wait, _)| wait) });
    }
}

/// Connects a reader with releases that may be writers', and a writer with all.
pub fn connect(lock: Rwlock, found: &mut Dependencies) {
    let releases = ByEntry::new(lock.releases, |release| release.span);
    for (wait, writes) in lock.waits {
        let keeps_out = |release: &Release| writes || !release.reads;
        let waited = |release: &Release| release.waited.filter(|_| !release.reads);
        releases.connect(Rule::Rwlock, wait, keeps_out, waited, found);
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
