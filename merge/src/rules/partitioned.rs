//! A message in partitions has arrived after all of them were made ready, and a part of it after those that it overlaps
//! (MPI-4.1, 4.2): the receiver may have it in other partitions than the sender.

use super::rendezvous;
use crate::graph::dependency::{Dependencies, Moment};
use std::collections::BTreeMap;
use std::ops::Range;
use syn_plan::Rule;
use syn_trace::calls::effect::Mode;

/// A call that made partitions ready.
#[derive(Clone, Debug)]
pub struct Ready {
    /// When it was entered.
    pub enter: Moment,
    /// Which bytes of the message these are; nothing where that is not known.
    pub bytes: Option<Range<i64>>,
}

/// A message, as far as both ends are known.
#[derive(Clone, Debug, Default)]
pub struct Transfer {
    /// Its length.
    pub bytes: i64,
    /// The calls that made it ready.
    pub ready: Vec<Ready>,
    /// When the receiver started its request.
    pub posted: Option<Moment>,
    /// Bytes that were seen to have arrived, and when.
    pub arrived: Vec<(Range<i64>, Moment)>,
    /// When the receiver's request completed.
    pub received: Option<Moment>,
    /// When the sender's did.
    pub sent: Option<Moment>,
}

/// Connects both ends.
pub fn connect(transfer: &Transfer, found: &mut Dependencies) {
    let mut last: BTreeMap<u32, Moment> = BTreeMap::new();
    for Ready { enter, .. } in &transfer.ready {
        let last = last.entry(enter.point().thread).or_insert(*enter);
        *last = if last.point() < enter.point() { *enter } else { *last };
    }
    let all: Vec<Moment> = last.into_values().collect();
    if let Some(received) = transfer.received.filter(|_| !all.is_empty()) {
        found.add(Rule::Message, &all, &[received]);
    }
    for (bytes, arrived) in &transfer.arrived {
        let overlaps = |ready: &&Ready| {
            ready.bytes.as_ref().is_some_and(|ready| ready.start < bytes.end && bytes.start < ready.end)
        };
        for ready in transfer.ready.iter().filter(overlaps) {
            found.add_one(Rule::Message, ready.enter, *arrived);
        }
    }
    if let (Some(posted), Some(sent)) = (transfer.posted, transfer.sent)
        && rendezvous::may_wait(Mode::Standard, transfer.bytes)
    {
        rendezvous::connect(posted, sent, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::{records, span};

    #[test]
    fn a_part_has_arrived_when_those_that_it_overlaps_were_ready() {
        let ready = |thread, record, bytes| Ready { enter: span(thread, record, 10, 11).enter, bytes };
        let at = |record| span(9, record, 10, 50).leave;
        let transfer = Transfer {
            bytes: 1 << 20,
            ready: vec![
                ready(0, 1, Some(0..8)),
                ready(0, 2, Some(8..16)),
                ready(1, 3, Some(16..24)),
                ready(2, 4, None),
            ],
            posted: Some(span(9, 20, 5, 6).enter),
            arrived: vec![(0..12, at(21)), (16..20, at(22))],
            received: Some(at(23)),
            sent: Some(span(0, 5, 10, 60).leave),
        };
        let mut found = Dependencies::default();
        connect(&transfer, &mut found);
        let sources: Vec<u32> = found.sources(0).iter().map(|moment| moment.point().record).collect();
        assert_eq!((sources, found.targets(0)[0].point().record), (vec![2, 3, 4], 23));
        assert_eq!(records(&found)[1..], [(1, 21), (2, 21), (3, 22), (20, 5)]);
    }
}
