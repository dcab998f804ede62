//! A thread that had to wait for the lock of a file has it after the one that had it before gave it back: by unlocking it, by
//! closing the file, by sharing it from now on, or by ending. Several may have shared it, or have had some of the bytes. Who does not
//! want to wait in the call may be refused, and ask until it gets the lock.

use crate::graph::dependency::{Dependencies, Span};
use crate::rules::by_entry::ByEntry;
use std::ops::Range;
use syn_plan::Rule;

/// A call, and which bytes of the file it locks or unlocks.
#[derive(Clone, Debug)]
pub struct Locking {
    /// The call.
    pub span: Span,
    /// The bytes; all of them for locks of whole files.
    pub bytes: Range<u64>,
    /// Others may have the lock as well that share it.
    pub shared: bool,
}

impl Locking {
    fn keeps_out(&self, other: &Locking) -> bool {
        let overlaps = self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end;
        overlaps && !(self.shared && other.shared)
    }

    /// Nobody else had one of these bytes.
    fn was_alone_with(&self, bytes: &Range<u64>) -> bool {
        !self.shared && self.bytes.start <= bytes.start && bytes.end <= self.bytes.end
    }
}

/// All that happened to the locks of one file.
#[derive(Debug, Default)]
pub struct FileLocks {
    /// Calls that may have waited, and got the lock.
    pub waits: Vec<Locking>,
    /// Calls that gave one back.
    pub releases: Vec<Locking>,
}

/// Connects every wait with the last release before its end of each thread that had some of its bytes, back to one that was alone
/// with them all. Who shares a lock does not wait for who shared it.
pub fn connect(locks: FileLocks, found: &mut Dependencies) {
    let releases = ByEntry::new(locks.releases, |release| release.span);
    for wait in locks.waits {
        let keeps_out = |release: &Locking| release.keeps_out(&wait);
        let is_alone = |release: &Locking| release.was_alone_with(&wait.bytes);
        releases.connect(Rule::FileLock, wait.span, keeps_out, is_alone, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::{records, span};

    #[test]
    fn the_last_release_of_the_same_bytes_counts() {
        let locking = |span, bytes| Locking { span, bytes, shared: false };
        let locks = FileLocks {
            waits: vec![locking(span(1, 7, 10, 70), 0..10), locking(span(2, 8, 65, 90), 0..10)],
            releases: vec![
                locking(span(0, 1, 50, 52), 5..20),
                locking(span(0, 2, 60, 62), 10..20),
                locking(span(3, 3, 80, 82), 0..u64::MAX),
            ],
        };
        let mut found = Dependencies::default();
        connect(locks, &mut found);
        assert_eq!(records(&found), [(1, 7), (3, 8)]);
    }

    #[test]
    fn who_is_to_have_it_alone_waits_for_all_that_share_it_and_for_all_parts() {
        let locking = |span, bytes, shared| Locking { span, bytes, shared };
        let connected = |releases| {
            let waits = vec![locking(span(9, 7, 10, 90), 0..10, false)];
            let mut found = Dependencies::default();
            connect(FileLocks { waits, releases }, &mut found);
            records(&found)
        };
        let released = |thread, bytes, shared| {
            let from_ns = 20 + 10 * u64::from(thread);
            locking(span(thread, thread, from_ns, from_ns + 2), bytes, shared)
        };
        let shared = vec![released(1, 0..10, true), released(2, 0..10, true)];
        assert_eq!(connected(shared), [(2, 7), (1, 7)]);
        let parts = vec![released(1, 0..5, false), released(2, 5..10, false)];
        assert_eq!(connected(parts), [(2, 7), (1, 7)]);
        let in_turn = vec![released(1, 0..10, false), released(2, 0..10, false)];
        assert_eq!(connected(in_turn), [(2, 7)], "the second had it after the first");
    }

    #[test]
    fn who_shares_a_lock_waits_for_those_that_do_not() {
        let locking = |span, shared| Locking { span, bytes: 0..10, shared };
        let locks = FileLocks {
            waits: vec![locking(span(1, 7, 10, 70), true), locking(span(2, 8, 10, 70), false)],
            releases: vec![locking(span(0, 1, 50, 52), false), locking(span(3, 2, 60, 62), true)],
        };
        let mut found = Dependencies::default();
        connect(locks, &mut found);
        // The last one has it behind both.
        assert_eq!(records(&found), [(1, 7), (2, 8), (1, 8)]);
    }

    #[test]
    fn releases_of_long_ago_are_not_looked_at() {
        const COUNT: u32 = 200_000;
        let locking = |nth: u32, after_ns: u64| {
            let from_ns = u64::from(nth) * 100 + after_ns;
            Locking { span: span(1, nth, from_ns, from_ns + 5), bytes: 0..10, shared: false }
        };
        let early = Locking { span: span(0, 1, 0, 3), bytes: 0..10, shared: false };
        let late = Locking { span: span(0, 2, 305, 310), bytes: 0..10, shared: false };
        let mut waits: Vec<Locking> = (1..=COUNT).map(|nth| locking(nth, 0)).collect();
        waits[2].span.leave = span(1, 3, 300, 320).leave;
        let releases = [early, late].into_iter().chain((1..=COUNT).map(|nth| locking(nth, 50))).collect();
        let mut found = Dependencies::default();
        connect(FileLocks { waits, releases }, &mut found);
        assert_eq!(records(&found), [(2, 3)]);
    }
}
