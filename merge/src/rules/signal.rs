//! A signal arrives after it was sent.
//!
//! Signals of one kind that wait to be delivered become one: a delivery is connected with the last call before it that sent
//! such a signal, and stands for all before that.

use crate::graph::dependency::{Dependencies, Moment};
use crate::rules::open_file::Span;
use syn_plan::Rule;

/// All signals of one kind to one process or thread.
#[derive(Debug, Default)]
pub struct Signals {
    /// Calls that sent one.
    pub sent: Vec<Span>,
    /// When one arrived.
    pub arrived: Vec<Moment>,
}

/// Connects every delivery.
pub fn connect(signals: Signals, found: &mut Dependencies) {
    let Signals { mut sent, mut arrived } = signals;
    sent.sort_unstable_by_key(|call| (call.enter.ns, call.enter.point()));
    arrived.sort_unstable_by_key(|moment| (moment.ns, moment.point()));
    let mut done = 0;
    for moment in arrived {
        let before = sent.partition_point(|call| call.enter.ns <= moment.ns);
        if let Some(call) = sent[done..before.max(done)].last()
            && call.enter.point().thread != moment.point().thread
        {
            found.add_one(Rule::Signal, call.enter, moment);
        }
        done = before.max(done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::{records, span};

    #[test]
    fn one_delivery_may_be_of_several_signals() {
        let arrived = [(9, 25), (10, 50), (11, 60)].map(|(record, ns)| span(1, record, ns, ns).leave);
        let sent = vec![span(0, 1, 10, 12), span(0, 2, 20, 22), span(0, 3, 40, 90)];
        let mut found = Dependencies::default();
        connect(Signals { sent, arrived: arrived.to_vec() }, &mut found);
        assert_eq!(records(&found), [(2, 9), (3, 10)]);
    }
}
