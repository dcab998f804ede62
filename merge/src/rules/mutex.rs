//! A thread that had to wait for a mutex has it after the one that had it before gave it back, by unlocking it or by waiting
//! for a condition.
//!
//! An unlock is on record when somebody waits. One that comes before the waiter has asked again is not; then the one before
//! counts, which is earlier, and no less certain. Somebody else may have taken the mutex in front of who waited for it, and leave no
//! record of that: so who waited comes behind all that gave it back meanwhile.
//!
//! Which of two threads gets a mutex first is chance, unless one of them was signalled to take it. A replay that demanded it would make
//! a thread wait for another one that has no processor and does not have the mutex yet; one that does not demand it lets both have the mutex at a
//! time. So the order is kept, but not where a thread waited for the mutex alone and for a short time, for one that had it for a short time
//! and called nothing meanwhile, and threads wait for it a few times or seldom. A lock that was free leaves no record: then who gives the mutex
//! back had it when the waiter asked, nobody knows since when, and what it called before that may have been done with it.

use crate::graph::dependency::{Dependencies, Moment, Point, Span};
use crate::rules::by_entry::ByEntry;
use std::collections::{BTreeMap, HashMap};
use syn_plan::{LONGEST_WAKE_NS, Rule};

/// As long as it takes to wake who waits: nobody waits longer for a mutex, or has it longer, where the order is chance.
const SHORT_NS: u64 = 50_000;
/// Threads wait seldom for a mutex: one part in so many of the time, or no more often than a few times.
const SELDOM: u64 = 10;
const FEW: u32 = 8;

/// What a thread waited for that has a mutex when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The mutex.
    Mutex,
    /// A condition, and then the mutex.
    Condition,
    /// A point in time, and then the mutex.
    Time,
}

/// A call that waited and has the mutex when it returns.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The call.
    pub span: Span,
    /// What for.
    pub awaited: Awaited,
}

/// A call that gives a mutex back.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    /// The call.
    pub span: Span,
    /// When the call before it returned.
    pub behind_ns: u64,
    /// That one was about locks and the like: no file, message or process was dealt with in it while the thread had the mutex.
    pub behind_sync: bool,
    /// It waits for a condition, and gives the mutex back at its beginning.
    pub awaits_condition: bool,
}

/// All that happened to one mutex.
#[derive(Debug, Default)]
pub struct Mutex {
    /// Calls that waited for it and got it.
    pub waits: Vec<Wait>,
    /// Calls that gave it back.
    pub releases: Vec<Release>,
}

/// When the calls began that ended waits for conditions, by where these waits end.
pub type Woken = HashMap<Point, u64>;

/// Connects every wait with the last release before its end, since nobody else had the mutex in between, and who waited for nothing
/// but the mutex with those that it was given back by meanwhile.
pub fn connect(mutex: Mutex, woken: &Woken, found: &mut Dependencies) {
    let is_busy = mutex.is_busy();
    let Mutex { waits, releases } = mutex;
    let all = ByEntry::new(releases, Release::given_back);
    let releases = all.calls();
    let thread_of = |release: &Release| release.span.enter.point().thread;
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
    let acquired = acquisitions(&waits, releases);
    // The last release before the end of a wait, and whether that came first by chance.
    let last_before = |&Wait { span, awaited }: &Wait| {
        let mut before = releases.partition_point(|release| release.span.enter.ns <= span.leave.ns);
        if before > 0 && thread_of(&releases[before - 1]) == span.leave.point().thread {
            before = up_to_others[before - 1];
        }
        let release = releases[..before].last()?;
        // Who was woken, or whose time was over, waited for the mutex only if it was given back behind that.
        let since_ns = match awaited {
            Awaited::Mutex => None,
            Awaited::Condition => woken.get(&span.leave.point()).copied(),
            Awaited::Time => Some(span.leave.ns.saturating_sub(LONGEST_WAKE_NS)),
        };
        // Who goes to sleep as well had it for a look: another worker of a pool, which need not come first.
        let wakes_ns =
            if awaited == Awaited::Condition && release.awaits_condition { LONGEST_WAKE_NS } else { 0 };
        let is_free = since_ns
            .is_some_and(|since_ns| release.given_back().leave.ns < since_ns.saturating_add(wakes_ns));
        if is_free || release.span.leave.ns < span.enter.ns {
            return None;
        }
        // All of a long wait would go with its order, and what a condition or a time was waited for is not this mutex's to say.
        let is_short = release.span.enter.ns.saturating_sub(span.enter.ns) <= SHORT_NS;
        let had = match acquired.get(&release.span.enter.point()) {
            _ if awaited != Awaited::Mutex || !is_short || is_busy => None,
            Some(acquired) => release.had_since(acquired.span.leave),
            None => release.had_at(span.enter.ns),
        };
        Some((release, had.is_some_and(|had_ns| had_ns <= SHORT_NS)))
    };
    // Who waited for the mutex alone, and is to do so again.
    let waits_again = |wait: &&Wait| {
        wait.awaited == Awaited::Mutex && last_before(wait).is_some_and(|(_, by_chance)| !by_chance)
    };
    let waited = |release: &Release| {
        acquired.get(&release.span.enter.point()).filter(waits_again).map(|wait| wait.span)
    };
    for wait in &waits {
        let Some((release, by_chance)) = last_before(wait) else { continue };
        let (source, target) = (release.span.enter, wait.span.leave);
        if by_chance {
            found.add_chance(Rule::Mutex, source, target);
        } else if wait.awaited == Awaited::Mutex && release.given_back().leave.ns >= wait.span.enter.ns {
            all.connect(Rule::Mutex, wait.span, |_| true, waited, found);
        } else {
            found.add_one(Rule::Mutex, source, target);
        }
    }
}

impl Mutex {
    /// Whether threads wait for it often: together for a part of the time in which they do.
    fn is_busy(&self) -> bool {
        let waits = self.waits.iter().filter(|wait| wait.awaited == Awaited::Mutex).map(|wait| wait.span);
        let (mut count, mut waited_ns, mut first_ns, mut last_ns) = (0, 0u64, u64::MAX, 0);
        for Span { enter, leave } in waits {
            count += 1;
            waited_ns = waited_ns.saturating_add(leave.ns.saturating_sub(enter.ns));
            (first_ns, last_ns) = (first_ns.min(enter.ns), last_ns.max(leave.ns));
        }
        count > FEW && waited_ns > last_ns.saturating_sub(first_ns) / SELDOM
    }
}

impl Release {
    /// The part of the call in which it is given back.
    fn given_back(&self) -> Span {
        let Span { enter, leave } = self.span;
        Span { enter, leave: if self.awaits_condition { enter } else { leave } }
    }

    /// For how long the thread had the mutex that it got then, if it called nothing meanwhile.
    fn had_since(&self, acquired: Moment) -> Option<u64> {
        let called = self.span.enter.point().record - acquired.point().record > 1;
        (!called).then(|| self.span.enter.ns.saturating_sub(acquired.ns))
    }

    /// For how long at least it had the mutex if it did at `ns`, and called nothing that takes long since shortly before.
    fn had_at(&self, ns: u64) -> Option<u64> {
        let called = ns < self.behind_ns || !self.behind_sync;
        (!called).then(|| self.span.enter.ns.saturating_sub(ns))
    }
}

/// By the entry of a release: the wait by which the thread had got the mutex, if it had to wait for that.
fn acquisitions(waits: &[Wait], releases: &[Release]) -> BTreeMap<Point, Wait> {
    let mut all: Vec<(Point, Option<Wait>)> = waits
        .iter()
        .map(|&wait| (wait.span.leave.point(), Some(wait)))
        .chain(releases.iter().map(|release| (release.span.enter.point(), None)))
        .collect();
    all.sort_unstable_by_key(|&(point, _)| point);
    let pairs = all.windows(2).filter(|pair| pair[0].0.thread == pair[1].0.thread);
    pairs.filter(|pair| pair[1].1.is_none()).filter_map(|pair| Some((pair[1].0, pair[0].1?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::{records, span};

    fn wait(span: Span, awaited: Awaited) -> Wait {
        Wait { span, awaited }
    }

    /// Whose call before returned at 0, and may have been done with the mutex.
    fn release(span: Span) -> Release {
        Release { span, behind_ns: 0, behind_sync: false, awaits_condition: false }
    }

    fn connected(waits: Vec<Wait>, releases: Vec<Release>) -> Dependencies {
        let mut found = Dependencies::default();
        connect(Mutex { waits, releases }, &Woken::new(), &mut found);
        found
    }

    #[test]
    fn who_is_woken_waits_for_the_mutex_if_it_is_given_back_behind_that() {
        let woken_at = |ns: u64, release: Release| {
            let waits = vec![wait(span(1, 7, 10, 70 + LONGEST_WAKE_NS), Awaited::Condition)];
            let woken = Woken::from([(waits[0].span.leave.point(), ns)]);
            let mut found = Dependencies::default();
            connect(Mutex { waits, releases: vec![release] }, &woken, &mut found);
            records(&found)
        };
        let unlocks = release(span(0, 5, 40, 42));
        assert_eq!(woken_at(41, unlocks), [(5, 7)]);
        assert_eq!(woken_at(60, unlocks), [], "it was free when the signal came");
        // Another one goes to sleep, and is woken later.
        let sleeps = |ns: u64| Release { awaits_condition: true, ..release(span(0, 5, ns, u64::MAX)) };
        assert_eq!(woken_at(60, sleeps(40)), []);
        assert_eq!(woken_at(39, sleeps(40)), [], "one of two that were woken");
        assert_eq!(woken_at(39, sleeps(40 + LONGEST_WAKE_NS)), [(5, 7)], "it had the mutex for long");
    }

    #[test]
    fn the_last_release_before_the_end_counts() {
        let waits = [span(1, 7, 10, 70), span(2, 8, 20, 95), span(3, 9, 96, 99)];
        // The second returns long after the thread that it lets go on.
        let releases = [span(0, 1, 40, 42), span(1, 2, 90, 200), span(0, 3, 60, 62)];
        let found = connected(
            waits.map(|span| wait(span, Awaited::Condition)).to_vec(),
            releases.map(release).to_vec(),
        );
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
        let releases =
            std::iter::once(first).chain(of_thread(0, COUNT)).chain(of_thread(1, 3)).map(release).collect();
        let last = wait(span(0, COUNT + 1, 30, 10_000_000), Awaited::Condition);
        let waits = of_thread(0, COUNT).map(|span| wait(span, Awaited::Condition)).chain([last]).collect();
        assert_eq!(records(&connected(waits, releases)), [(1, 1), (3, COUNT + 1)]);
    }

    /// Whether threads that asked for the mutex at these times, and had it 2 ns after it was given back at the next multiple of
    /// 100 000 ns, are to wait for it again.
    fn is_kept(asked: &[u64], behind: (u64, bool), others: &[Wait]) -> Vec<bool> {
        let next = |ns: u64| ns.next_multiple_of(100_000);
        let asks = |(nth, &ns): (u32, &u64)| wait(span(1, nth, ns, next(ns) + 2), Awaited::Mutex);
        let gives = |(nth, &ns): (u32, &u64)| Release {
            span: span(0, 2 * nth + 1, next(ns), next(ns) + 1),
            behind_ns: behind.0,
            behind_sync: behind.1,
            awaits_condition: false,
        };
        let waits = (0..).zip(asked).map(asks).chain(others.iter().copied()).collect();
        let found = connected(waits, (0..).zip(asked).map(gives).collect());
        let of_asking = |&at: &usize| found.targets(at)[0].point().thread == 1;
        (0..found.len()).filter(of_asking).map(|at| !found.is_chance(at)).collect()
    }

    #[test]
    fn who_waits_seldom_for_what_another_has_for_a_moment_may_as_well_come_first() {
        let of_one = |ns, behind| is_kept(&[ns], behind, &[])[0];
        assert!(!of_one(60_000, (50_000, true)));
        assert!(of_one(40_000, (0, true)), "it had it for longer");
        assert!(of_one(60_000, (70_000, true)), "it has called something with it");
        assert!(of_one(60_000, (50_000, false)), "perhaps the call before was made with it");
        let often: Vec<u64> = (0..20).map(|nth| nth * 100_000 + 60_000).collect();
        assert!(is_kept(&often, (50_000, true), &[]).iter().all(|&kept| kept), "waited for 40 % of the time");
        let seldom: Vec<u64> = (0..20).map(|nth| nth * 1_000_000 + 60_000).collect();
        assert!(is_kept(&seldom, (50_000, true), &[]).iter().all(|&kept| !kept));
    }

    #[test]
    fn who_had_to_wait_itself_has_it_since_then() {
        let got = |record, ns| wait(span(0, record, 10, ns), Awaited::Mutex);
        assert!(!is_kept(&[70_000], (0, false), &[got(0, 60_000)])[0]);
        assert!(is_kept(&[70_000], (0, false), &[got(0, 20_000)])[0], "for longer");
        assert!(
            is_kept(&[5_000], (0, false), &[got(0, 60_000)])[0],
            "before that it waited for somebody else"
        );
        let connected = |awaited, acquired| {
            connected(
                vec![got(acquired, 60), wait(span(1, 0, 5, 72), awaited)],
                vec![release(span(0, 3, 70, 71))],
            )
        };
        assert!(connected(Awaited::Mutex, 2).is_chance(0));
        assert!(!connected(Awaited::Mutex, 1).is_chance(0), "between two calls there is a third");
        for awaited in [Awaited::Condition, Awaited::Time] {
            assert!(!connected(awaited, 2).is_chance(0), "what it slept for is not told by the mutex");
        }
    }

    #[test]
    fn whose_time_is_over_waited_for_nobody() {
        let woken = |awaited, end_ns| {
            connected(vec![wait(span(1, 7, 50, end_ns), awaited)], vec![release(span(0, 5, 70, 71))])
        };
        assert!(
            !woken(Awaited::Condition, 72).is_chance(0),
            "nobody knows for how long the other one had it"
        );
        assert_eq!(woken(Awaited::Time, 72).len(), 1, "it was given back just then");
        assert_eq!(woken(Awaited::Time, 70 + 2 * LONGEST_WAKE_NS).len(), 0);
    }
}
