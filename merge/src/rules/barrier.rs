//! A barrier lets nobody through before all have come.
//!
//! How many it waits for is not on record, but every call is, and one of those who met is told so: the calls divided by those
//! that were told. Where that does not come out, those met who had all come before the first of them left, as far as the recording
//! shows.

use crate::graph::dependency::{Dependencies, Moment, Span};
use syn_plan::Rule;

/// A call that waited at a barrier.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The call.
    pub span: Span,
    /// It returned `PTHREAD_BARRIER_SERIAL_THREAD`.
    pub told: bool,
}

/// Connects all calls at one barrier.
pub fn connect(mut arrivals: Vec<Arrival>, found: &mut Dependencies) {
    arrivals.sort_unstable_by_key(|arrival| (arrival.span.enter.ns, arrival.span.enter.point()));
    let (meetings, rule) = match by_count(&arrivals) {
        Some(meetings) => (meetings, Rule::Barrier),
        None => (by_time(&arrivals), Rule::Contended),
    };
    for meeting in meetings {
        let enters: Vec<Moment> = meeting.iter().map(|arrival| arrival.span.enter).collect();
        let leaves: Vec<Moment> = meeting.iter().map(|arrival| arrival.span.leave).collect();
        found.add(rule, &enters, &leaves);
    }
}

fn have_met(arrivals: &[Arrival]) -> bool {
    let last = arrivals.iter().map(|arrival| arrival.span.enter.ns).max();
    let first = arrivals.iter().map(|arrival| arrival.span.leave.ns).min();
    last <= first && arrivals.iter().filter(|arrival| arrival.told).count() == 1
}

fn by_count(arrivals: &[Arrival]) -> Option<Vec<&[Arrival]>> {
    let told = arrivals.iter().filter(|arrival| arrival.told).count();
    let divides = told > 0 && arrivals.len().is_multiple_of(told);
    let meetings: Vec<&[Arrival]> = arrivals.chunks(arrivals.len() / told.max(1)).collect();
    (divides && meetings.iter().all(|meeting| have_met(meeting))).then_some(meetings)
}

fn by_time(arrivals: &[Arrival]) -> Vec<&[Arrival]> {
    let (mut meetings, mut begin, mut first_leave) = (Vec::new(), 0, u64::MAX);
    for (index, Arrival { span, .. }) in arrivals.iter().enumerate() {
        if span.enter.ns > first_leave {
            meetings.push(&arrivals[begin..index]);
            (begin, first_leave) = (index, u64::MAX);
        }
        first_leave = first_leave.min(span.leave.ns);
    }
    meetings.push(&arrivals[begin..]);
    meetings.retain(|meeting| have_met(meeting));
    meetings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::span;

    fn meetings(arrivals: &[(u32, u64, u64, bool)]) -> Vec<(usize, Rule)> {
        let arrivals = arrivals.iter().map(|&(thread, from, to, told)| {
            let span = span(thread, from as u32, from, to);
            Arrival { span, told }
        });
        let mut found = Dependencies::default();
        connect(arrivals.collect(), &mut found);
        (0..found.len()).map(|at| (found.sources(at).len(), found.rule(at))).collect()
    }

    #[test]
    fn those_who_met_are_told_apart() {
        // The third thread comes to the second meeting before the slow one has left the first.
        let two = [(0, 10, 22, false), (1, 20, 21, true), (2, 30, 60, false), (0, 50, 55, true)];
        assert_eq!(meetings(&two), [(2, Rule::Barrier); 2]);
        let late = [(0, 10, 90, false), (1, 20, 21, true), (2, 30, 60, false), (1, 50, 55, true)];
        assert_eq!(meetings(&late), [(2, Rule::Barrier); 2]);
        // Made anew for three.
        let anew = [
            (0, 10, 22, false),
            (1, 20, 21, true),
            (0, 30, 60, false),
            (1, 40, 61, true),
            (2, 50, 62, false),
        ];
        assert_eq!(meetings(&anew), [(2, Rule::Contended), (3, Rule::Contended)]);
        assert_eq!(meetings(&[(0, 10, 22, false)]), [], "the others are not on record");
    }
}
