//! A signal arrives after it was sent.
//!
//! Signals of one kind that wait to be delivered become one: a delivery is connected with the last call before it that sent
//! such a signal, and stands for all before that. `SIGCHLD` is sent by the end of a child too; who did not wait for it, and heard of it in
//! passing, would in a replay not wait for it either.

use crate::graph::dependency::{Dependencies, Moment, Span};
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

/// What may have sent `SIGCHLD` to a process, and where it arrived.
#[derive(Debug, Default)]
pub struct Ends {
    /// When a child of the process ended.
    pub ended: Vec<Moment>,
    /// When a call sent it.
    pub sent: Vec<Moment>,
    /// When it arrived, and whether that ended a wait.
    pub arrived: Vec<(Moment, bool)>,
}

/// Connects every wait that `SIGCHLD` ended with the last end of a child before, unless a call has sent it since.
pub fn connect_ends(ends: Ends, found: &mut Dependencies) {
    let Ends { mut ended, mut sent, mut arrived } = ends;
    let by_time = |moment: &Moment| (moment.ns, moment.point());
    ended.sort_unstable_by_key(by_time);
    sent.sort_unstable_by_key(by_time);
    arrived.sort_unstable_by_key(|(moment, _)| by_time(moment));
    let mut done = 0;
    for (moment, awaited) in arrived {
        let until = |moments: &[Moment]| moments.partition_point(|before| before.ns <= moment.ns);
        let before = until(&ended).max(done);
        let last_sent_ns = sent[..until(&sent)].last().map(|sent| sent.ns);
        if let Some(&end) = ended[done..before].last().filter(|_| awaited)
            && last_sent_ns.is_none_or(|sent_ns| sent_ns < end.ns)
            && end.point().thread != moment.point().thread
        {
            found.add_one(Rule::Signal, end, moment);
        }
        done = before;
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

    #[test]
    fn an_end_is_connected_with_who_waited_for_it() {
        let moments = |thread, all: &[(u32, u64)]| -> Vec<Moment> {
            all.iter().map(|&(record, ns)| span(thread, record, ns, ns).leave).collect()
        };
        let ended = moments(0, &[(1, 10), (2, 20), (3, 30), (4, 40)]);
        let awaited = [false, true, false, true, true];
        let arrived = moments(1, &[(5, 11), (6, 22), (7, 31), (8, 35), (9, 45)]).into_iter().zip(awaited);
        // The one at 31 took the end at 30 with it, and the last one was sent by a call.
        let ends = Ends { ended, sent: moments(2, &[(1, 41)]), arrived: arrived.collect() };
        let mut found = Dependencies::default();
        connect_ends(ends, &mut found);
        assert_eq!(records(&found), [(2, 6)]);
    }
}
