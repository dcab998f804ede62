//! A datagram is received after it was sent. Between two sockets datagrams are taken to keep their order; one that got lost makes
//! those behind it wait for an earlier one than their own, which came before that too.

use crate::graph::dependency::{Dependencies, Moment};
use crate::rules::open_file::Span;
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
/// what was received next.
pub fn connect(
    mut sent: BTreeMap<usize, Vec<Datagram>>,
    mut received: Vec<(Datagram, Option<usize>)>,
    looks: Vec<Span>,
    found: &mut Dependencies,
) {
    sent.values_mut()
        .for_each(|sent| sent.sort_unstable_by_key(|send| (send.span.enter.ns, send.span.enter.point())));
    received.sort_unstable_by_key(|(receive, _)| (receive.span.leave.ns, receive.span.leave.point()));
    let mut taken: BTreeMap<usize, Taken> = BTreeMap::new();
    let mut sources: Vec<Option<Moment>> = Vec::with_capacity(received.len());
    for (receive, sender) in &received {
        let source = sender
            .and_then(|sender| taken.entry(sender).or_default().take(sent.get(&sender)?, receive.count));
        let source = source.filter(|source| source.ns <= receive.span.leave.ns);
        source.into_iter().for_each(|source| add(source, receive.span.leave, found));
        sources.push(source);
    }
    for look in looks {
        let next = received.partition_point(|(receive, _)| receive.span.leave.ns <= look.leave.ns);
        let source = sources.get(next).copied().flatten().filter(|source| source.ns <= look.leave.ns);
        source.into_iter().for_each(|source| add(source, look.leave, found));
    }
}

/// How much of what one has sent was received.
#[derive(Default)]
struct Taken {
    calls: usize,
    /// By the calls before, and all together.
    before: u64,
    all: u64,
}

impl Taken {
    /// So many more were received: when the call was entered that sent the last of them.
    fn take(&mut self, sent: &[Datagram], count: u64) -> Option<Moment> {
        self.all += count;
        while self.before + sent.get(self.calls)?.count < self.all {
            self.before += sent[self.calls].count;
            self.calls += 1;
        }
        Some(sent[self.calls].span.enter)
    }
}

fn add(source: Moment, target: Moment, found: &mut Dependencies) {
    if source.point().thread != target.point().thread {
        found.add_one(Rule::Socket, source, target);
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
    fn what_was_sent_later_was_not_received() {
        let sent = BTreeMap::from([(0, vec![datagram(0, 1, 40, 41)])]);
        let mut found = Dependencies::default();
        connect(sent, vec![(datagram(2, 7, 5, 22), Some(0))], Vec::new(), &mut found);
        assert_eq!(found.len(), 0);
    }
}
