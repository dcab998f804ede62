//! A thread that had to wait for the lock of a file has it after the one that had it before gave it back: by unlocking it, by
//! closing the file, or by ending. Who does not want to wait in the call may be refused, and ask until it gets the lock.

use crate::graph::dependency::{Dependencies, Span};
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
}

/// All that happened to the locks of one file.
#[derive(Debug, Default)]
pub struct FileLocks {
    /// Calls that may have waited, and got the lock.
    pub waits: Vec<Locking>,
    /// Calls that gave one back.
    pub releases: Vec<Locking>,
}

/// Connects every wait with the last release of some of its bytes before its end. Who shares a lock does not wait for who
/// shared it.
pub fn connect(locks: FileLocks, found: &mut Dependencies) {
    let FileLocks { waits, mut releases } = locks;
    releases.sort_by_key(|release| (release.span.enter.ns, release.span.enter.point()));
    // By release: when the last of those up to it returned. Where none of them overlaps the wait, none further back needs a look.
    let mut last_ns = 0;
    let until_ns: Vec<u64> = releases
        .iter()
        .map(|release| {
            last_ns = release.span.leave.ns.max(last_ns);
            last_ns
        })
        .collect();
    for wait in waits {
        let before = releases.partition_point(|release| release.span.enter.ns <= wait.span.leave.ns);
        let overlapping = (0..before).rev().take_while(|&index| until_ns[index] >= wait.span.enter.ns);
        let thread = wait.span.leave.point().thread;
        let last = overlapping
            .map(|index| &releases[index])
            .filter(|release| release.span.enter.point().thread != thread)
            .find(|release| release.keeps_out(&wait));
        if let Some(release) = last.filter(|release| release.span.leave.ns >= wait.span.enter.ns) {
            found.add_one(Rule::FileLock, release.span.enter, wait.span.leave);
        }
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
    fn who_shares_a_lock_waits_for_those_that_do_not() {
        let locking = |span, shared| Locking { span, bytes: 0..10, shared };
        let locks = FileLocks {
            waits: vec![locking(span(1, 7, 10, 70), true), locking(span(2, 8, 10, 70), false)],
            releases: vec![locking(span(0, 1, 50, 52), false), locking(span(3, 2, 60, 62), true)],
        };
        let mut found = Dependencies::default();
        connect(locks, &mut found);
        assert_eq!(records(&found), [(1, 7), (2, 8)]);
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
