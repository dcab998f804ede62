//! Calls in the order in which they were entered, for waits that look for those that ended them.

use crate::graph::dependency::{Dependencies, Span};
use std::collections::{BTreeSet, VecDeque};
use syn_plan::Rule;

/// So many waits of others are kept until calls are reached that overlap them. Without one there are more dependencies, and no fewer.
const MOST_WAITS: usize = 16;

/// Calls, sorted.
pub struct ByEntry<T> {
    calls: Vec<T>,
    span: fn(&T) -> Span,
    /// By call: when the last of those up to it returned. Where none of them overlaps a wait, none further back needs a look.
    until_ns: Vec<u64>,
}

impl<T> ByEntry<T> {
    /// Sorts them; `span` tells when a call was made.
    pub fn new(mut calls: Vec<T>, span: fn(&T) -> Span) -> ByEntry<T> {
        calls.sort_by_key(|call| (span(call).enter.ns, span(call).enter.point()));
        let latest = |last_ns: &mut u64, call: &T| {
            *last_ns = span(call).leave.ns.max(*last_ns);
            Some(*last_ns)
        };
        let until_ns = calls.iter().scan(0, latest).collect();
        ByEntry { calls, span, until_ns }
    }

    /// All of them.
    pub fn calls(&self) -> &[T] {
        &self.calls
    }

    /// Those of other threads that overlap a wait, the last one first.
    fn overlapping(&self, wait: Span) -> impl Iterator<Item = &T> {
        let span = self.span;
        let before = self.calls.partition_point(|call| span(call).enter.ns <= wait.leave.ns);
        let back = (0..before).rev().take_while(move |&index| self.until_ns[index] >= wait.enter.ns);
        back.map(|index| &self.calls[index]).filter(move |call| {
            let call = span(call);
            call.leave.ns >= wait.enter.ns && call.enter.point().thread != wait.leave.point().thread
        })
    }

    /// Connects a wait with the last of each thread among calls that overlap it and may have ended it. Where the thread of one has
    /// waited for the same before, as `waited` tells, what overlapped that wait needs no dependency of its own.
    pub fn connect(
        &self,
        rule: Rule,
        wait: Span,
        may_end_it: impl Fn(&T) -> bool,
        waited: impl Fn(&T) -> Option<Span>,
        found: &mut Dependencies,
    ) {
        let (mut threads, mut waits, mut since_ns) = (BTreeSet::new(), VecDeque::new(), u64::MAX);
        for call in self.overlapping(wait).filter(|call| may_end_it(call)) {
            let Span { enter, leave } = (self.span)(call);
            // The last one comes first. Once a call is entered before a wait is over, so are all further ones: those overlap it that
            // return after it has begun.
            waits.retain(|wait: &Span| {
                let is_reached = enter.ns <= wait.leave.ns;
                since_ns = if is_reached { wait.enter.ns.min(since_ns) } else { since_ns };
                !is_reached
            });
            if since_ns <= wait.enter.ns {
                break;
            }
            if threads.insert(enter.point().thread) && leave.ns < since_ns {
                found.add_one(rule, enter, wait.leave);
            }
            waits.extend(waited(call));
            if waits.len() > MOST_WAITS {
                waits.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests;
