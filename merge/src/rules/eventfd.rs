//! A counter of `eventfd(2)` is read, or seen to be there, after it was added to.
//!
//! A read takes all that was added since the one before: it comes after all additions that were over when it began, and after the first
//! one behind these if it waited. So does a poll, of what was added since the last read and the thread's last poll, which a program that
//! is told of changes alone (EPOLLET) need not read. What a read leaves can only be of an addition that was under way meanwhile.
//!
//! Where a read takes one (`EFD_SEMAPHORE`), or nobody knows what was there at first, only who waited is known to have done so for
//! an addition: in a poll, for the first one meanwhile; in a read, for the first one behind the read before, or what one has left that
//! was added by then.

use crate::graph::dependency::{Dependencies, Span};
use crate::rules::waking::{self, Wake, Waking};
use std::collections::{BTreeMap, BTreeSet};
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
    for findings in [&mut counter.reads, &mut counter.looks] {
        findings.sort_unstable_by_key(|finding| (finding.span.leave.ns, finding.span.leave.point()));
    }
    match counter.is_emptied {
        true => connect_all(&counter, found),
        false => connect_waits(counter, found),
    }
}

/// What a call may have found, behind the last read or look before it.
struct Found<'a> {
    /// All that had begun when it was back.
    begun: &'a [Span],
    /// Those of them behind what it comes behind.
    behind: &'a [Span],
}

impl<'a> Found<'a> {
    /// By thread the last one that was over when the call began; and the first that was not, if the call waited or found nothing else.
    fn additions(&self, finding: &Finding) -> Vec<&'a Span> {
        let enter_ns = finding.span.enter.ns;
        let mut threads = BTreeSet::new();
        let over = self.behind.iter().rev().filter(|addition| addition.leave.ns <= enter_ns);
        let mut found: Vec<&Span> =
            over.filter(|addition| threads.insert(addition.enter.point().thread)).collect();
        let meanwhile = self.behind.iter().find(|addition| addition.leave.ns > enter_ns);
        found.extend(meanwhile.filter(|_| finding.waited || found.is_empty()));
        found
    }

    /// Where there is none, what another call that began then has left.
    fn left_since(&self, ns: u64) -> Option<&'a Span> {
        self.begun.last().filter(|addition| addition.leave.ns >= ns)
    }
}

fn connect_all(counter: &Counter, found: &mut Dependencies) {
    let Counter { reads, looks, additions, .. } = counter;
    let begun_by = |ns: u64| additions.partition_point(|addition| addition.enter.ns <= ns);
    let since = |finding: &Finding, since_ns: u64| {
        let begun = &additions[..begun_by(finding.span.leave.ns)];
        Found { begun, behind: &begun[begun_by(since_ns).min(begun.len())..] }
    };
    let mut before: Option<&Finding> = None;
    for read in reads {
        let there = since(read, before.map_or(0, |before| before.span.leave.ns));
        let mut sources = there.additions(read);
        if sources.is_empty() {
            let waited_ns = read.waited.then_some(read.span.enter.ns);
            let left_ns = before.map(|before| before.span.enter.ns).into_iter().chain(waited_ns).min();
            sources.extend(left_ns.and_then(|ns| there.left_since(ns)));
        }
        sources.into_iter().for_each(|addition| add(addition, read.span, found));
        before = Some(read);
    }
    // By thread: when its last look was back. What has come before is nothing new to it.
    let mut looked: BTreeMap<u32, u64> = BTreeMap::new();
    for look in looks {
        // Another thread may read what this one has seen before it is back.
        let over = reads.partition_point(|read| read.span.leave.ns <= look.span.enter.ns);
        let read_ns = over.checked_sub(1).map_or(0, |last| reads[last].span.leave.ns);
        let before_ns = looked.insert(look.span.leave.point().thread, look.span.leave.ns).unwrap_or(0);
        let sources = since(look, read_ns.max(before_ns)).additions(look);
        sources.into_iter().for_each(|addition| add(addition, look.span, found));
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
        assert_eq!(connected(&reads, &looks, &additions, true), [(3, 8), (2, 8), (4, 9), (3, 7), (2, 7)]);
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

    #[test]
    fn a_counter_that_is_polled_and_never_read() {
        let additions =
            [span(0, 1, 10, 11), span(0, 2, 110, 111), span(0, 3, 210, 211), span(0, 4, 310, 311)];
        let waits = [(5, 12), (100, 112), (200, 212)];
        let mut looks: Vec<(Span, bool)> = (7..)
            .zip(waits)
            .map(|(record, (from_ns, to_ns))| (span(1, record, from_ns, to_ns), true))
            .collect();
        looks.push((span(1, 10, 320, 321), false));
        assert_eq!(connected(&[], &looks, &additions, true), [(1, 7), (2, 8), (3, 9), (4, 10)]);
    }

    #[test]
    fn what_one_has_seen_another_may_have_read() {
        let (look, read) = ((span(1, 7, 50, 95), true), (span(2, 9, 92, 93), false));
        assert_eq!(connected(&[read], &[look], &[span(0, 1, 89, 90)], true), [(1, 9), (1, 7)]);
        // The first one has read the first, and is back late.
        let additions = [span(0, 1, 15, 16), span(3, 2, 40, 41)];
        let reads = [(span(1, 7, 10, 100), true), (span(2, 8, 30, 50), true)];
        assert_eq!(connected(&reads, &[], &additions, true)[..2], [(1, 8), (2, 8)]);
    }
}
