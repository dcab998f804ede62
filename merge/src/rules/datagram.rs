//! A datagram is received after it was sent. Between two sockets datagrams are taken to keep their order; one that got lost makes
//! those behind it wait for an earlier one than their own, which came before that too.

use crate::graph::dependency::{Dependencies, Moment, Span};
use crate::rules::stream::Overlap;
use std::collections::BTreeMap;
use syn_plan::Rule;

/// A call that sent or received so many.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// The call.
    pub span: Span,
    /// How many.
    pub count: u64,
}

/// Connects what one socket has received with what was sent to it, by sender; and calls that saw that there is something, with
/// what was received next. Where several threads receive at once, or send from one socket, which message is whose is observed.
pub fn connect(
    sent: BTreeMap<usize, Vec<Datagram>>,
    mut received: Vec<(Datagram, Option<usize>)>,
    looks: Vec<Span>,
    found: &mut Dependencies,
) {
    let mut sent: BTreeMap<usize, Sent> =
        sent.into_iter().map(|(from, sent)| (from, Sent::new(sent))).collect();
    received.sort_unstable_by_key(|(receive, _)| (receive.span.enter.ns, receive.span.enter.point()));
    let overlap = Overlap::of(received.iter().map(|(receive, _)| receive.span));
    received.sort_unstable_by_key(|(receive, _)| (receive.span.leave.ns, receive.span.leave.point()));
    let mut sources: Vec<Option<Source>> = Vec::with_capacity(received.len());
    for (index, (receive, sender)) in received.iter().enumerate() {
        let source = sender.and_then(|sender| sent.get_mut(&sender)?.take(receive.count));
        let source = source.filter(|source| source.moment.ns <= receive.span.leave.ns);
        source.into_iter().for_each(|source| source.add(overlap.is_alone(index), receive.span.leave, found));
        sources.push(source);
    }
    let received_by = |ns: u64| received.partition_point(|(receive, _)| receive.span.leave.ns <= ns);
    for look in looks {
        let next = received_by(look.leave.ns);
        let source = sources.get(next).copied().flatten();
        let source = source.filter(|source| source.moment.ns <= look.leave.ns);
        // Somebody else may have received what this one saw.
        let is_alone = received_by(look.enter.ns) == next;
        source.into_iter().for_each(|source| source.add(is_alone, look.leave, found));
    }
}

/// What one socket has sent, and how much of it was received.
struct Sent {
    calls: Vec<Datagram>,
    overlap: Overlap,
    /// So many calls, and what they have sent, are received.
    received_calls: usize,
    before: u64,
    received: u64,
}

/// When a call was entered that sent something.
#[derive(Clone, Copy)]
struct Source {
    moment: Moment,
    /// No other call of the socket may have sent it.
    is_certain: bool,
}

impl Sent {
    fn new(mut calls: Vec<Datagram>) -> Sent {
        calls.sort_unstable_by_key(|send| (send.span.enter.ns, send.span.enter.point()));
        let overlap = Overlap::of(calls.iter().map(|send| send.span));
        Sent { calls, overlap, received_calls: 0, before: 0, received: 0 }
    }

    /// So many more were received: which call sent the last of them.
    fn take(&mut self, count: u64) -> Option<Source> {
        self.received += count;
        while self.before + self.calls.get(self.received_calls)?.count < self.received {
            self.before += self.calls[self.received_calls].count;
            self.received_calls += 1;
        }
        let call = self.received_calls;
        Some(Source { moment: self.calls[call].span.enter, is_certain: self.overlap.is_alone(call) })
    }
}

impl Source {
    fn add(self, is_alone: bool, target: Moment, found: &mut Dependencies) {
        if self.moment.point().thread != target.point().thread {
            let rule = if is_alone && self.is_certain { Rule::Socket } else { Rule::Contended };
            found.add_one(rule, self.moment, target);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::{records, span};

    fn datagram(thread: u32, record: u32, from_ns: u64, to_ns: u64) -> Datagram {
        Datagram { span: span(thread, record, from_ns, to_ns), count: 1 }
    }

    #[test]
    fn each_sender_has_an_order_of_its_own() {
        let sent = BTreeMap::from([
            (0, vec![datagram(0, 1, 10, 11), datagram(0, 2, 30, 31)]),
            (1, vec![datagram(1, 3, 20, 21)]),
        ]);
        let received = vec![
            (datagram(2, 7, 5, 22), Some(1)),
            (datagram(2, 8, 23, 24), Some(0)),
            (datagram(2, 9, 25, 33), Some(0)),
            (datagram(2, 10, 34, 35), None),
        ];
        let mut found = Dependencies::default();
        connect(sent, received, vec![span(2, 6, 4, 21), span(2, 11, 24, 32)], &mut found);
        assert_eq!(records(&found), [(3, 7), (1, 8), (2, 9), (3, 6), (2, 11)]);
    }

    #[test]
    fn who_receives_beside_others_may_have_got_another_message() {
        let rules = |second_ns: u64, look_ns: u64| {
            let sent = BTreeMap::from([(0, vec![datagram(0, 1, 10, 11), datagram(0, 2, 20, 21)])]);
            let received =
                vec![(datagram(1, 7, 5, 30), Some(0)), (datagram(2, 8, second_ns, second_ns + 5), Some(0))];
            let mut found = Dependencies::default();
            connect(sent, received, vec![span(2, 6, look_ns, 34)], &mut found);
            (0..found.len()).map(|index| found.rule(index)).collect::<Vec<_>>()
        };
        assert_eq!(rules(40, 31), [Rule::Socket; 3]);
        assert_eq!(rules(40, 4), [Rule::Socket, Rule::Socket, Rule::Contended]);
        assert_eq!(rules(29, 31)[..2], [Rule::Contended; 2]);
    }

    #[test]
    fn what_was_sent_later_was_not_received() {
        let sent = BTreeMap::from([(0, vec![datagram(0, 1, 40, 41)])]);
        let mut found = Dependencies::default();
        connect(sent, vec![(datagram(2, 7, 5, 22), Some(0))], Vec::new(), &mut found);
        assert_eq!(found.len(), 0);
    }
}
