//! A counter of `eventfd(2)` is read, or seen to be there, after it was added to.
//!
//! A read takes all that was added since the one before, so that it comes after all additions that were over by then, or after the
//! first one. A poll comes after the first one. What a read leaves can only be of an addition that was under way meanwhile.
//!
//! Where a read takes one (`EFD_SEMAPHORE`), or nobody knows what was there at first, only who waited is known to have done so for
//! an addition: in a poll, for the first one meanwhile; in a read, for the first one behind the read before, or what one has left that
//! was added by then.

use crate::graph::dependency::{Dependencies, Span};
use crate::rules::waking::{self, Wake, Waking};
use std::collections::BTreeSet;
use syn_plan::Rule;

/// A call that found the counter above 0.
#[derive(Clone, Copy, Debug)]
pub struct Finding {
    /// The call.
    pub span: Span,
    /// It may have waited.
    pub waited: bool,
}

/// All that happened to one counter.
#[derive(Debug, Default)]
pub struct Counter {
    /// Calls that took of it.
    pub reads: Vec<Finding>,
    /// Polls.
    pub looks: Vec<Finding>,
    /// Calls that added to it.
    pub additions: Vec<Span>,
    /// It was 0 at first, and a read takes all.
    pub is_emptied: bool,
}

/// Connects those that found something there with those that added it.
pub fn connect(mut counter: Counter, found: &mut Dependencies) {
    counter.additions.sort_unstable_by_key(|addition| (addition.enter.ns, addition.enter.point()));
    counter.reads.sort_unstable_by_key(|read| (read.span.leave.ns, read.span.leave.point()));
    match counter.is_emptied {
        true => connect_all(&counter, found),
        false => connect_waits(counter, found),
    }
}

fn connect_all(counter: &Counter, found: &mut Dependencies) {
    let Counter { reads, looks, additions, .. } = counter;
    let begun_by = |ns: u64| additions.partition_point(|addition| addition.enter.ns <= ns);
    // Those that a call may have found behind the read before it; where there are none, what that has left.
    let there = |finding: Span, before: Option<&Finding>| {
        let by_then = &additions[..begun_by(finding.leave.ns)];
        let read_ns = before.map_or(0, |before| before.span.leave.ns);
        let behind = &by_then[begun_by(read_ns).min(by_then.len())..];
        let may_be_left =
            |last: &[Span]| before.is_some_and(|before| last[0].leave.ns >= before.span.enter.ns);
        let left = by_then.last_chunk::<1>().map(|last| &last[..]).filter(|last| may_be_left(last));
        if behind.is_empty() { left.unwrap_or_default() } else { behind }
    };
    for (index, read) in reads.iter().enumerate() {
        let there = there(read.span, index.checked_sub(1).map(|before| &reads[before]));
        let is_over = |addition: &&Span| addition.leave.ns <= read.span.enter.ns;
        let mut threads = BTreeSet::new();
        let is_last = |addition: &&Span| threads.insert(addition.enter.point().thread);
        let taken: Vec<&Span> = there.iter().rev().filter(is_over).filter(is_last).collect();
        let first = there.first().filter(|_| taken.is_empty());
        taken.into_iter().chain(first).for_each(|addition| add(addition, read.span, found));
    }
    for Finding { span, .. } in looks {
        let read = reads.partition_point(|read| read.span.leave.ns <= span.leave.ns);
        let first = there(*span, reads[..read].last()).first();
        first.into_iter().for_each(|addition| add(addition, *span, found));
    }
}

fn connect_waits(counter: Counter, found: &mut Dependencies) {
    let Counter { reads, looks, additions, .. } = counter;
    let begun_by = |ns: u64| additions.partition_point(|addition| addition.enter.ns <= ns);
    let mut before_ns = 0;
    for Finding { span, waited } in reads {
        let before_ns = std::mem::replace(&mut before_ns, span.leave.ns);
        let meanwhile =
            &additions[begun_by(span.enter.ns).min(begun_by(span.leave.ns))..begun_by(span.leave.ns)];
        let behind = meanwhile.iter().find(|addition| addition.enter.ns > before_ns);
        let waited_for = behind.or(meanwhile.last()).filter(|_| waited);
        waited_for.into_iter().for_each(|addition| add(addition, span, found));
    }
    let waits = looks.into_iter().filter(|look| look.waited).map(|look| look.span).collect();
    let wakes = additions.into_iter().map(|span| Wake { span, times: u32::MAX }).collect();
    waking::connect(Rule::Eventfd, Waking { waits, wakes, ..Waking::default() }, false, found);
}

fn add(addition: &Span, finding: Span, found: &mut Dependencies) {
    if addition.enter.point().thread != finding.leave.point().thread {
        found.add_one(Rule::Eventfd, addition.enter, finding.leave);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::{records, span};

    fn findings(all: &[(Span, bool)]) -> Vec<Finding> {
        all.iter().map(|&(span, waited)| Finding { span, waited }).collect()
    }

    fn connected(
        reads: &[(Span, bool)],
        looks: &[(Span, bool)],
        additions: &[Span],
        is_emptied: bool,
    ) -> Vec<(u32, u32)> {
        let (reads, looks, additions) = (findings(reads), findings(looks), additions.to_vec());
        let mut found = Dependencies::default();
        connect(Counter { reads, looks, additions, is_emptied }, &mut found);
        records(&found)
    }

    #[test]
    fn what_one_reader_took_is_nothing_that_another_waited_for() {
        let additions = [span(0, 1, 150, 151), span(0, 2, 350, 351)];
        let both = [(span(1, 7, 10, 152), true), (span(2, 8, 12, 352), true)];
        let one_in_time = [(span(1, 7, 151, 152), false), (span(2, 8, 12, 352), true)];
        for is_emptied in [false, true] {
            assert_eq!(connected(&both, &[], &additions, is_emptied), [(1, 7), (2, 8)]);
        }
        assert_eq!(connected(&one_in_time, &[], &additions, false), [(2, 8)]);
        assert_eq!(connected(&one_in_time, &[], &additions, true), [(1, 7), (2, 8)]);
    }

    #[test]
    fn one_addition_may_end_several_reads_of_a_semaphore() {
        let reads = [(span(1, 7, 10, 152), true), (span(2, 8, 12, 154), true)];
        assert_eq!(connected(&reads, &[], &[span(0, 1, 150, 151)], false), [(1, 7), (1, 8)]);
    }

    #[test]
    fn what_was_added_before_anybody_asked_comes_first() {
        let additions = [span(0, 1, 10, 11), span(2, 2, 20, 21), span(0, 3, 30, 31), span(0, 4, 50, 60)];
        let looks = [(span(1, 7, 35, 36), false)];
        let reads = [(span(1, 8, 40, 41), false), (span(1, 9, 55, 56), false)];
        assert_eq!(connected(&reads, &looks, &additions, true), [(3, 8), (2, 8), (4, 9), (1, 7)]);
        assert_eq!(connected(&reads, &looks, &additions, false), []);
    }

    #[test]
    fn a_read_may_leave_what_is_under_way() {
        let additions = [span(0, 1, 10, 11), span(2, 2, 19, 25)];
        let reads = [(span(1, 7, 20, 22), false), (span(1, 8, 30, 31), false)];
        assert_eq!(connected(&reads, &[], &additions, true), [(1, 7), (2, 8)]);
        // Something else has added.
        let late = [(span(1, 7, 20, 22), false), (span(1, 8, 30, 31), false), (span(1, 9, 40, 41), false)];
        assert_eq!(connected(&late, &[], &additions, true), [(1, 7), (2, 8)]);
    }
}
