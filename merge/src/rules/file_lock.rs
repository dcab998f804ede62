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

/// A call that gives a lock back.
#[derive(Clone, Debug)]
pub struct Release {
    /// The call, and what was locked.
    pub locking: Locking,
    /// The call that took it, if that may have waited.
    pub waited: Option<Span>,
}

/// All that happened to the locks of one file.
#[derive(Debug, Default)]
pub struct FileLocks {
    /// Calls that may have waited, and got the lock.
    pub waits: Vec<Locking>,
    /// Calls that gave one back.
    pub releases: Vec<Release>,
}

/// Connects every wait with the releases of those that had some of its bytes meanwhile. Who shares a lock does not wait for who
/// shared it.
pub fn connect(locks: FileLocks, found: &mut Dependencies) {
    let releases = ByEntry::new(locks.releases, |release| release.locking.span);
    for wait in locks.waits {
        let keeps_out = |release: &Release| release.locking.keeps_out(&wait);
        let waited =
            |release: &Release| release.waited.filter(|_| release.locking.was_alone_with(&wait.bytes));
        releases.connect(Rule::FileLock, wait.span, keeps_out, waited, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::{records, span};

    fn locking(span: Span, bytes: Range<u64>, shared: bool) -> Locking {
        Locking { span, bytes, shared }
    }

    /// Nobody knows when the lock was asked for.
    fn release(span: Span, bytes: Range<u64>, shared: bool) -> Release {
        Release { locking: locking(span, bytes, shared), waited: None }
    }

    fn connected(waits: Vec<Locking>, releases: Vec<Release>) -> Vec<(u32, u32)> {
        let mut found = Dependencies::default();
        connect(FileLocks { waits, releases }, &mut found);
        records(&found)
    }

    #[test]
    fn releases_of_the_same_bytes_count() {
        let waits =
            vec![locking(span(1, 7, 10, 70), 0..10, false), locking(span(2, 8, 65, 90), 0..10, false)];
        let releases = vec![
            release(span(0, 1, 50, 52), 5..20, false),
            release(span(0, 2, 60, 62), 10..20, false),
            release(span(3, 3, 80, 82), 0..u64::MAX, false),
        ];
        assert_eq!(connected(waits, releases), [(1, 7), (3, 8)]);
    }

    #[test]
    fn who_is_to_have_it_alone_waits_for_all_that_share_it_and_for_all_parts() {
        let connected = |releases| connected(vec![locking(span(9, 7, 10, 90), 0..10, false)], releases);
        let released = |thread, bytes, shared| {
            let from_ns = 20 + 10 * u64::from(thread);
            release(span(thread, thread, from_ns, from_ns + 2), bytes, shared)
        };
        let shared = vec![released(1, 0..10, true), released(2, 0..10, true)];
        assert_eq!(connected(shared), [(2, 7), (1, 7)]);
        let parts = vec![released(1, 0..5, false), released(2, 5..10, false)];
        assert_eq!(connected(parts), [(2, 7), (1, 7)]);
    }

    #[test]
    fn who_asked_before_and_had_it_alone_waited_for_those_before() {
        let waits = vec![locking(span(9, 7, 10, 90), 0..10, false)];
        let after = |asked_ns: Option<u64>| {
            let waited = asked_ns.map(|ns| span(2, 1, ns, 45));
            let releases = vec![
                release(span(0, 1, 20, 22), 0..10, true),
                release(span(1, 3, 30, 32), 0..10, true),
                Release { waited, ..release(span(2, 2, 50, 52), 0..10, false) },
            ];
            connected(waits.clone(), releases)
        };
        assert_eq!(after(Some(5)), [(2, 7)]);
        assert_eq!(after(Some(25)), [(2, 7), (1, 7)], "one had given it back when it asked");
        assert_eq!(after(Some(40)), [(2, 7), (3, 7), (1, 7)]);
        assert_eq!(after(None), [(2, 7), (3, 7), (1, 7)]);
    }

    #[test]
    fn who_shares_a_lock_waits_for_those_that_do_not() {
        let waits = vec![locking(span(1, 7, 10, 70), 0..10, true), locking(span(2, 8, 10, 70), 0..10, false)];
        let releases =
            vec![release(span(0, 1, 50, 52), 0..10, false), release(span(3, 2, 60, 62), 0..10, true)];
        assert_eq!(connected(waits, releases), [(1, 7), (2, 8), (1, 8)], "the last one has it behind both");
    }

    #[test]
    fn releases_of_long_ago_are_not_looked_at() {
        const COUNT: u32 = 200_000;
        let call = |nth: u32, after_ns: u64| {
            let from_ns = u64::from(nth) * 100 + after_ns;
            span(1, nth, from_ns, from_ns + 5)
        };
        let mut waits: Vec<Locking> = (1..=COUNT).map(|nth| locking(call(nth, 0), 0..10, false)).collect();
        waits[2].span.leave = span(1, 3, 300, 320).leave;
        let of_others = [span(0, 1, 0, 3), span(0, 2, 305, 310)];
        let releases = of_others.into_iter().chain((1..=COUNT).map(|nth| call(nth, 50)));
        assert_eq!(connected(waits, releases.map(|span| release(span, 0..10, false)).collect()), [(2, 3)]);
    }
}
