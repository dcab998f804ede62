//! A thread that had to wait for a mutex has it after the one that had it before gave it back, by unlocking it or by waiting
//! for a condition.
//!
//! An unlock is on record when somebody waits. One that comes before the waiter has asked again is not; then the one before
//! counts, which is earlier, and no less certain.

use crate::graph::dependency::Dependencies;
use crate::rules::open_file::Span;
use syn_plan::Rule;

/// All that happened to one mutex.
#[derive(Debug, Default)]
pub struct Mutex {
    /// Calls that waited for it and got it.
    pub waits: Vec<Span>,
    /// Calls that gave it back.
    pub releases: Vec<Span>,
}

/// Connects every wait with the last release before its end: nobody else had the mutex in between.
pub fn connect(mutex: Mutex, found: &mut Dependencies) {
    let Mutex { waits, mut releases } = mutex;
    releases.sort_unstable_by_key(|release| (release.enter.ns, release.enter.point()));
    for wait in waits {
        let before = releases.partition_point(|release| release.enter.ns <= wait.leave.ns);
        let thread = wait.leave.point().thread;
        let last = releases[..before].iter().rev().find(|release| release.enter.point().thread != thread);
        if let Some(release) = last.filter(|release| release.leave.ns >= wait.enter.ns) {
            found.add_one(Rule::Mutex, release.enter, wait.leave);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::{records, span};

    #[test]
    fn the_last_release_before_the_end_counts() {
        let mutex = Mutex {
            waits: vec![span(1, 7, 10, 70), span(2, 8, 20, 95), span(3, 9, 96, 99)],
            // The second returns long after the thread that it lets go on.
            releases: vec![span(0, 1, 40, 42), span(1, 2, 90, 200), span(0, 3, 60, 62)],
        };
        let mut found = Dependencies::default();
        connect(mutex, &mut found);
        assert_eq!(records(&found), [(3, 7), (2, 8), (2, 9)]);
    }
}
