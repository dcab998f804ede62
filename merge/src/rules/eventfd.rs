//! A counter of `eventfd(2)` is read, or seen to be there, after it was added to.
//!
//! What was added stays until it is read, and a read takes all of it, or one where the counter is a semaphore. So who waited in a
//! poll goes on with the first call that adds meanwhile, and who waited in a read with the first one behind the read before. Where
//! there is none behind it, that one has left something: of what was added by then.

use crate::graph::dependency::{Dependencies, Span};
use crate::rules::waking::{self, Wake, Waking};
use syn_plan::Rule;

/// A read of the counter.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The call.
    pub span: Span,
    /// It may have waited.
    pub waited: bool,
}

/// Connects all waits for one counter: `looks` are polls.
pub fn connect(mut reads: Vec<Taken>, looks: Vec<Span>, mut additions: Vec<Span>, found: &mut Dependencies) {
    additions.sort_unstable_by_key(|addition| (addition.enter.ns, addition.enter.point()));
    reads.sort_unstable_by_key(|read| (read.span.leave.ns, read.span.leave.point()));
    let begun_by = |ns: u64| additions.partition_point(|addition| addition.enter.ns <= ns);
    let mut before_ns = 0;
    for Taken { span, waited } in reads {
        let before_ns = std::mem::replace(&mut before_ns, span.leave.ns);
        let meanwhile =
            &additions[begun_by(span.enter.ns).min(begun_by(span.leave.ns))..begun_by(span.leave.ns)];
        let behind = meanwhile.iter().find(|addition| addition.enter.ns > before_ns);
        let waited_for = behind.or(meanwhile.last()).filter(|_| waited);
        if let Some(addition) = waited_for
            && addition.enter.point().thread != span.leave.point().thread
        {
            found.add_one(Rule::Eventfd, addition.enter, span.leave);
        }
    }
    let wakes = additions.into_iter().map(|span| Wake { span, times: u32::MAX }).collect();
    waking::connect(Rule::Eventfd, Waking { waits: looks, wakes, ..Waking::default() }, false, found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::{records, span};

    fn connected(reads: &[(Span, bool)], additions: &[Span]) -> Vec<(u32, u32)> {
        let reads = reads.iter().map(|&(span, waited)| Taken { span, waited }).collect();
        let mut found = Dependencies::default();
        connect(reads, Vec::new(), additions.to_vec(), &mut found);
        records(&found)
    }

    #[test]
    fn what_one_reader_took_is_nothing_that_another_waited_for() {
        let additions = [span(0, 1, 150, 151), span(0, 2, 350, 351)];
        let both = [(span(1, 7, 10, 152), true), (span(2, 8, 12, 352), true)];
        assert_eq!(connected(&both, &additions), [(1, 7), (2, 8)]);
        let one_in_time = [(span(1, 7, 151, 152), false), (span(2, 8, 12, 352), true)];
        assert_eq!(connected(&one_in_time, &additions), [(2, 8)]);
    }

    #[test]
    fn one_addition_may_end_several_reads_of_a_semaphore() {
        let reads = [(span(1, 7, 10, 152), true), (span(2, 8, 12, 154), true)];
        assert_eq!(connected(&reads, &[span(0, 1, 150, 151)]), [(1, 7), (1, 8)]);
    }
}
