//! Calls in the order in which they were entered, for waits that look for those that ended them.

use crate::graph::dependency::{Dependencies, Span};
use std::collections::BTreeSet;
use syn_plan::Rule;

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
        let (mut threads, mut before) = (BTreeSet::new(), Vec::<Span>::new());
        for call in self.overlapping(wait).filter(|call| may_end_it(call)) {
            let Span { enter, leave } = (self.span)(call);
            let overlaps = |wait: &&Span| wait.enter.ns <= leave.ns && enter.ns <= wait.leave.ns;
            let covering = before.iter().find(overlaps);
            if covering.is_some_and(|before| before.enter.ns <= wait.enter.ns) {
                break;
            }
            if threads.insert(enter.point().thread) && covering.is_none() {
                found.add_one(rule, enter, wait.leave);
            }
            before.extend(waited(call));
        }
    }
}

#[cfg(test)]
mod tests;
