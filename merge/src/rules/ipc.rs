//! Semaphores of System V are taken after they were given, and messages of queues (of System V and POSIX) received after they
//! were sent. Who waits for room sends after one was received, and who waits for a semaphore to be 0 after all have taken what there
//! was of it (semop(2)).
//!
//! Messages of one priority keep their order, and so do those of which all are asked for as of one kind (msgop(2), mq_send(3)). Of
//! others, or where some came from nobody knows where, only who waited for one is known to have come behind its sending; which one that was is taken from the order of the calls. Of
//! semaphores nobody knows what they were at first, and one that is there to take may be a lock: there, too, only who waited.

use crate::graph::dependency::{Dependencies, Span};
use crate::rules::by_entry::ByEntry;
use crate::rules::stream::{self, Moved, Stream};
use crate::rules::waking::{self, Waking};
use syn_plan::Rule;

/// Connects all waits for one semaphore, or for room in a queue.
pub fn connect(waking: Waking, found: &mut Dependencies) {
    waking::connect(Rule::Ipc, waking, true, found);
}

/// All that went through one queue: what was sent wakes.
#[derive(Debug, Default)]
pub struct Queue {
    /// Who received, and who sent.
    pub messages: Waking,
    /// Which kind or priority all had, as far as was asked for or told.
    pub kind: Option<i64>,
    /// They may have been taken in another order than that in which they were sent.
    pub is_mixed: bool,
}

/// `MSG_EXCEPT`, `MSG_COPY`: another kind than this one, and one that stays.
const NOT_THE_NEXT: i64 = 0o20000 | 0o40000;

impl Queue {
    /// One of this kind or priority is sent, or asked for.
    pub fn see(&mut self, kind: i64) {
        self.is_mixed |= *self.kind.get_or_insert(kind) != kind;
    }

    /// One is asked for by a number, where one below 0 is for the lowest kind, and flags (msgop(2)).
    pub fn ask(&mut self, kind: i64, flags: i64) {
        self.is_mixed |= kind < 0 || flags & NOT_THE_NEXT != 0;
        self.see(kind);
    }
}

/// Connects those who received with those who sent.
pub fn connect_queue(queue: Queue, found: &mut Dependencies) {
    let Queue { messages, is_mixed, .. } = queue;
    if !is_mixed {
        let one = |&span: &Span| Moved::new(span, 1);
        let stream = Stream {
            writes: messages.wakes.iter().map(|wake| one(&wake.span)).collect(),
            reads: messages.waits.iter().chain(&messages.taken).map(one).collect(),
            ..Stream::default()
        };
        let mut of_all = Dependencies::default();
        if stream::connect(Rule::Ipc, stream, &mut of_all) {
            found.append(of_all);
            return;
        }
    }
    connect(messages, found);
}

/// All that has to do with one semaphore being 0.
#[derive(Debug, Default)]
pub struct Zero {
    /// Calls that may have waited for it.
    pub waits: Vec<Span>,
    /// Calls that took of the semaphore.
    pub taken: Vec<Span>,
}

/// Connects waits for a semaphore to be 0 with those that took of it.
pub fn connect_zero(zero: Zero, found: &mut Dependencies) {
    let taken = ByEntry::new(zero.taken, |taking| *taking);
    for wait in zero.waits {
        taken.connect(Rule::Ipc, wait, |_| true, |_| None, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::Wake;
    use crate::rules::waking::tests::{records, span};

    /// Two messages are sent; the first is there when it is asked for, the second is waited for.
    fn connected(see: impl FnOnce(&mut Queue), taken: &[Span]) -> Vec<(u32, u32)> {
        let sent = |record, from_ns| Wake { span: span(0, record, from_ns, from_ns + 2), times: 1 };
        let messages = Waking {
            waits: vec![span(1, 8, 40, 64)],
            taken: taken.to_vec(),
            wakes: vec![sent(1, 10), sent(2, 60)],
        };
        let mut queue = Queue { messages, ..Queue::default() };
        see(&mut queue);
        let mut found = Dependencies::default();
        connect_queue(queue, &mut found);
        records(&found)
    }

    #[test]
    fn a_message_comes_after_it_was_sent_whoever_waited() {
        let ready = span(1, 7, 30, 32);
        assert_eq!(connected(|queue| (0..2).for_each(|_| queue.see(5)), &[ready]), [(1, 7), (2, 8)]);
        let early = span(2, 6, 3, 5);
        assert_eq!(connected(|_| (), &[early, ready]), [(2, 8)], "one was there before");
    }

    #[test]
    fn of_several_kinds_only_what_was_waited_for_is_known() {
        let ready = &[span(1, 7, 30, 32)];
        assert_eq!(connected(|queue| (5..7).for_each(|kind| queue.see(kind)), ready), [(2, 8)]);
        assert_eq!(connected(|queue| queue.ask(-10, 0), ready), [(2, 8)], "the lowest");
        assert_eq!(connected(|queue| queue.ask(5, 0o20000), ready), [(2, 8)], "any other");
        assert_eq!(connected(|queue| queue.ask(5, 0), ready), [(1, 7), (2, 8)]);
    }
}
