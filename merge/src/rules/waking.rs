//! Waits that end one by one, each by a wake of its own, or several by a wake for all.

use crate::graph::dependency::{Dependencies, Span};
use std::collections::HashMap;
use syn_plan::Rule;

/// A wake may have been under way when a wait began: so many of those that began before are looked at.
const MOST_UNDER_WAY: usize = 16;

/// A call that ends waits.
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    /// The call.
    pub span: Span,
    /// How many waits it ends; `u32::MAX` for all that there are.
    pub times: u32,
}

/// All that happened to one object that is waited for.
#[derive(Debug, Default)]
pub struct Waking {
    /// Waits that a wake has ended.
    pub waits: Vec<Span>,
    /// Calls that certainly did not wait: they took what a wake had left.
    pub taken: Vec<Span>,
    /// Calls that end waits.
    pub wakes: Vec<Wake>,
}

/// Gives every wait, in the order in which they ended, the earliest wake that overlaps it and is left. Where wakes are kept
/// for those who come later, a call that found one did not wait: it takes the latest.
pub fn connect(rule: Rule, waking: Waking, are_kept: bool, found: &mut Dependencies) {
    let Waking { waits, taken, mut wakes } = waking;
    let mut waits: Vec<(Span, bool)> = waits.into_iter().map(|wait| (wait, true)).collect();
    waits.extend(taken.into_iter().map(|taking| (taking, false)));
    waits.sort_unstable_by_key(|(wait, _)| (wait.leave.ns, wait.leave.point()));
    wakes.sort_unstable_by_key(|wake| (wake.span.enter.ns, wake.span.enter.point()));
    // By wake: it or a later one is the next that is left.
    let mut next: Vec<usize> = (0..=wakes.len()).collect();
    // Of those before it none is left.
    let mut first_left = 0;
    // By thread: the last wake for all that has ended a wait of it. It ends no other one.
    let mut had: HashMap<u32, usize> = HashMap::new();
    for (wait, waited) in waits {
        let thread = wait.leave.point().thread;
        let begun = wakes.partition_point(|wake| wake.span.enter.ns < wait.enter.ns);
        let behind = had.get(&thread).map_or(0, |&last| last + 1);
        let first = begun.saturating_sub(MOST_UNDER_WAY).max(behind.min(begun));
        let under_way =
            wakes[first..begun].iter().position(|wake| wake.span.leave.ns >= wait.enter.ns && wake.times > 0);
        let index = match under_way {
            Some(index) => first + index,
            None => left_from(&mut next, begun.max(behind)),
        };
        let overlaps = wakes.get(index).is_some_and(|wake| wake.span.enter.ns <= wait.leave.ns);
        let index = match overlaps {
            true => index,
            false if are_kept => {
                let from = first_left.min(begun);
                match wakes[from..begun].iter().rposition(|wake| wake.times > 0) {
                    Some(kept) => from + kept,
                    None => {
                        first_left = first_left.max(begun);
                        continue;
                    }
                }
            }
            false => continue,
        };
        let wake = &mut wakes[index];
        if wake.times == u32::MAX {
            had.insert(thread, index);
        } else {
            wake.times -= 1;
        }
        if wake.times == 0 {
            next[index] = index + 1;
        }
        if waited && overlaps && wake.span.enter.point().thread != thread {
            found.add_one(rule, wake.span.enter, wait.leave);
        }
    }
}

/// The first wake from `index` on that is left. What is passed on the way is shortened for the next time.
fn left_from(next: &mut [usize], index: usize) -> usize {
    let mut end = index;
    while next[end] != end {
        end = next[end];
    }
    let mut at = index;
    while next[at] != at {
        at = std::mem::replace(&mut next[at], end);
    }
    end
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::graph::dependency::{Moment, Point, Stage};

    /// A call of a thread from one time to another, named by its record.
    pub fn span(thread: u32, record: u32, from_ns: u64, to_ns: u64) -> Span {
        let moment = |stage, ns| Moment::new(Point { thread, record, stage }, ns);
        Span { enter: moment(Stage::Enter, from_ns), leave: moment(Stage::Leave, to_ns) }
    }

    /// Records of sources and targets.
    pub fn records(found: &Dependencies) -> Vec<(u32, u32)> {
        let record = |moment: &Moment| moment.point().record;
        (0..found.len()).map(|at| (record(&found.sources(at)[0]), record(&found.targets(at)[0]))).collect()
    }

    fn connected(waits: &[Span], wakes: &[(Span, u32)]) -> Vec<(u32, u32)> {
        let wakes = wakes.iter().map(|&(span, times)| Wake { span, times }).collect();
        let mut found = Dependencies::default();
        connect(
            Rule::Semaphore,
            Waking { waits: waits.to_vec(), wakes, ..Waking::default() },
            true,
            &mut found,
        );
        records(&found)
    }

    #[test]
    fn who_took_what_was_there_did_not_wait_and_leaves_less() {
        let wakes =
            [50, 60].map(|from| Wake { span: span(0, from, from.into(), u64::from(from) + 2), times: 1 });
        let waiting = || vec![span(1, 7, 10, 64)];
        let mut found = Dependencies::default();
        let waking = Waking { waits: waiting(), taken: vec![span(2, 8, 51, 53)], wakes: wakes.to_vec() };
        connect(Rule::Ipc, waking, true, &mut found);
        assert_eq!(records(&found), [(60, 7)]);
    }

    #[test]
    fn every_wait_has_a_wake_of_its_own() {
        let wakes = [(span(0, 1, 50, 52), 1), (span(0, 2, 60, 62), 1)];
        assert_eq!(connected(&[span(2, 8, 20, 64), span(1, 7, 10, 70)], &wakes), [(1, 8), (2, 7)]);
    }

    #[test]
    fn a_broadcast_ends_all_waits_that_had_begun() {
        let wakes = [(span(0, 1, 50, 52), u32::MAX)];
        let waits = [span(1, 7, 10, 60), span(2, 8, 20, 64), span(3, 9, 55, 90)];
        assert_eq!(connected(&waits, &wakes), [(1, 7), (1, 8)]);
    }

    #[test]
    fn a_broadcast_that_is_still_under_way_ends_no_second_wait_of_a_thread() {
        let wakes = [(span(0, 1, 50, 70), u32::MAX), (span(0, 2, 80, 82), u32::MAX)];
        assert_eq!(connected(&[span(1, 7, 10, 60), span(1, 8, 65, 90)], &wakes), [(1, 7), (2, 8)]);
    }

    #[test]
    fn a_wake_may_be_under_way_and_its_waiter_be_back_first() {
        assert_eq!(connected(&[span(1, 7, 51, 53)], &[(span(0, 1, 50, 90), 1)]), [(1, 7)]);
        assert_eq!(
            connected(&[span(1, 7, 51, 53)], &[(span(0, 1, 40, 50), 1)]),
            [] as [(u32, u32); 0],
            "it was over"
        );
        assert_eq!(
            connected(&[span(1, 7, 51, 53)], &[(span(0, 1, 54, 60), 1)]),
            [] as [(u32, u32); 0],
            "it came later"
        );
    }

    #[test]
    fn what_a_thread_took_again_is_nobody_else_s() {
        // Thread 0 posts, takes, and posts again; the other one gets the second.
        let wakes = [(span(0, 1, 50, 52), 1), (span(0, 3, 60, 62), 1)];
        assert_eq!(connected(&[span(0, 2, 54, 55), span(1, 7, 10, 64)], &wakes), [(3, 7)]);
    }
}
