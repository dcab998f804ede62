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
    let thread_of = |release: &Span| release.enter.point().thread;
    // By release: how many there are up to the last one of another thread. Who waits for conditions may have very many of its own
    // in a row.
    let mut up_to_others = Vec::with_capacity(releases.len());
    for (index, release) in releases.iter().enumerate() {
        let before = index.checked_sub(1);
        up_to_others.push(match before {
            Some(before) if thread_of(&releases[before]) == thread_of(release) => up_to_others[before],
            _ => index,
        });
    }
    for wait in waits {
        let mut before = releases.partition_point(|release| release.enter.ns <= wait.leave.ns);
        if before > 0 && thread_of(&releases[before - 1]) == wait.leave.point().thread {
            before = up_to_others[before - 1];
        }
        let last = releases[..before].last();
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

    #[test]
    fn own_releases_in_a_row_are_passed_over() {
        const COUNT: u32 = 200_000;
        // Each wait for a condition gives the mutex back and takes it again.
        let of_thread = |thread: u32, count: u32| {
            let wait = move |nth: u32| {
                let from_ns = u64::from(thread * COUNT + nth) * 10;
                span(thread, nth, from_ns, from_ns + 5)
            };
            (1..=count).map(wait)
        };
        let first = span(9, 1, 2, 13);
        let releases: Vec<_> =
            std::iter::once(first).chain(of_thread(0, COUNT)).chain(of_thread(1, 3)).collect();
        let waits = of_thread(0, COUNT).chain([span(0, COUNT + 1, 30, 10_000_000)]).collect();
        let mut found = Dependencies::default();
        connect(Mutex { waits, releases }, &mut found);
        assert_eq!(records(&found), [(1, 1), (3, COUNT + 1)]);
    }
}
