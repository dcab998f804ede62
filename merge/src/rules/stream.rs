//! Bytes, or messages, that go one way: what comes out at one end was put in at the other, in the same order.
//!
//! Of several writers at once the order is taken to be that in which their calls began. Of several readers at once one may be back
//! later than another that took what came behind: it waits for no more than what it took at the earliest. Where nobody knows how much fits between the
//! ends, who waited for room went on after the last receive that had begun by then, unless hardly anything lay in between: then it
//! slept for another reason.

use crate::graph::dependency::{Dependencies, Moment};
use crate::rules::open_file::Span;
use syn_plan::Rule;

/// A call that put in or took out so many bytes or messages.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// The call.
    pub span: Span,
    /// How many.
    pub units: u64,
}

/// All that happened to one direction.
#[derive(Debug, Default)]
pub struct Stream {
    /// What was put in.
    pub writes: Vec<Moved>,
    /// What was taken out.
    pub reads: Vec<Moved>,
    /// Calls that saw that there is something to take out, or that nothing will come any more.
    pub looks: Vec<Span>,
    /// When the writers closed it, each for the last time.
    pub closings: Vec<Moment>,
    /// The most that fits in, where that is known.
    pub capacity: Option<u64>,
    /// Calls that waited for room, where it is not known.
    pub room: Vec<Span>,
    /// Units are messages, of whose size nothing is said: a few may be all that fits.
    pub keeps_messages: bool,
    /// The clocks at both ends are not known to agree: what the bytes tell is all that counts.
    pub is_unaligned: bool,
}

/// What the smallest buffers of sockets take (socket(7): 4608 bytes, of which a call takes 512 or more besides its own) can be full of.
const LEAST_FULL_BYTES: u64 = 2048;
const BESIDES_BYTES: u64 = 512;

/// How much was moved by the end of each call.
fn sums(calls: &[Moved]) -> Vec<u64> {
    let add = |sum: &mut u64, call: &Moved| {
        *sum = sum.saturating_add(call.units);
        Some(*sum)
    };
    calls.iter().scan(0, add).collect()
}

/// Connects the ends of one direction. Where more came out than went in, writers are not on record: then nothing is connected
/// from there on, and the answer is false.
pub fn connect(rule: Rule, stream: Stream, found: &mut Dependencies) -> bool {
    let Stream { mut writes, mut reads, looks, closings, capacity, room, keeps_messages, is_unaligned } =
        stream;
    writes.sort_unstable_by_key(|write| (write.span.enter.ns, write.span.enter.point()));
    reads.sort_unstable_by_key(|read| (read.span.leave.ns, read.span.leave.point()));
    let (written, read) = (sums(&writes), sums(&reads));
    let mut whole = reads.len();
    for (index, call) in reads.iter().enumerate() {
        let last = written.partition_point(|&sum| sum < read[index]);
        let is_later = |write: &Moved| write.span.enter.ns > call.span.leave.ns && !is_unaligned;
        if writes.get(last).is_none_or(is_later) {
            whole = index;
            break;
        }
        if is_unaligned {
            found.add_one(rule, writes[last].span.enter, call.span.leave);
        } else {
            let before = earliest(&reads[..=index], &read, &writes, &written);
            let first = written.partition_point(|&sum| sum <= before);
            let last = written.partition_point(|&sum| sum < before.saturating_add(call.units));
            last_of_each_thread(&writes[first.min(last)..=last], call.span.leave, rule, found);
        }
    }
    if is_unaligned {
        return whole == reads.len();
    }
    let known_ns = reads.get(whole).map_or(u64::MAX, |unknown| unknown.span.enter.ns);
    for look in looks.into_iter().filter(|look| look.leave.ns < known_ns) {
        let taken = reads.partition_point(|call| call.span.leave.ns <= look.leave.ns);
        let before = taken.checked_sub(1).map_or(0, |before| read[before]);
        let next = writes.get(written.partition_point(|&sum| sum <= before));
        match next.filter(|write| write.span.enter.ns <= look.leave.ns) {
            Some(write) => add(rule, write.span.enter, look.leave, found),
            // Somebody else may have taken what was there.
            None if closings.iter().any(|closing| closing.ns > look.leave.ns) => {}
            None => closings.iter().for_each(|&closing| add(rule, closing, look.leave, found)),
        }
    }
    if let Some(capacity) = capacity.filter(|_| whole == reads.len()) {
        for (index, write) in writes.iter().enumerate() {
            let room = written[index].saturating_sub(capacity);
            let reader = reads.get(read.partition_point(|&sum| sum < room)).filter(|_| room > 0);
            reader.into_iter().for_each(|reader| add(rule, reader.span.enter, write.span.leave, found));
        }
    }
    let sum_of = |calls: usize, sums: &[u64]| calls.checked_sub(1).map_or(0, |last| sums[last]);
    for wait in room {
        let begun = writes.partition_point(|call| call.span.enter.ns < wait.leave.ns);
        let read_before = reads.partition_point(|call| call.span.leave.ns < wait.enter.ns);
        let taken = sum_of(read_before, &read);
        let wholly_taken = written.partition_point(|&sum| sum <= taken);
        let besides = BESIDES_BYTES * begun.saturating_sub(wholly_taken) as u64;
        let between = sum_of(begun, &written).saturating_sub(taken).saturating_add(besides);
        if !keeps_messages && between < LEAST_FULL_BYTES {
            continue;
        }
        let over = reads.partition_point(|call| call.span.leave.ns <= wait.leave.ns);
        // One may be under way.
        let last = reads[over.saturating_sub(1)..].iter().take(2).map(|call| call.span);
        let during = |read: &Span| read.leave.ns >= wait.enter.ns && read.enter.ns <= wait.leave.ns;
        if let Some(read) = last.filter(during).max_by_key(|read| read.enter.ns) {
            add(Rule::Room, read.enter, wait.leave, found);
        }
    }
    whole == reads.len()
}

/// How much had been taken out before the last of these reads at the least. It may have taken its part before those of others that are back
/// earlier, if it had begun by then, and if what they took instead had been put in when they came back.
fn earliest(reads: &[Moved], read: &[u64], writes: &[Moved], written: &[u64]) -> u64 {
    let [others @ .., call] = reads else { return 0 };
    let mut at = others.len();
    while let Some(before) = at.checked_sub(1) {
        let other = &others[before].span;
        let is_own = other.leave.point().thread == call.span.leave.point().thread;
        let instead = written.partition_point(|&sum| sum < read[before].saturating_add(call.units));
        let was_there = writes.get(instead).is_some_and(|write| write.span.enter.ns <= other.leave.ns);
        if is_own || other.leave.ns < call.span.enter.ns || !was_there {
            break;
        }
        at = before;
    }
    at.checked_sub(1).map_or(0, |before| read[before])
}

fn last_of_each_thread(writes: &[Moved], target: Moment, rule: Rule, found: &mut Dependencies) {
    let mut threads: Vec<u32> = Vec::new();
    for write in writes.iter().rev() {
        let thread = write.span.enter.point().thread;
        if !threads.contains(&thread) {
            threads.push(thread);
            add(rule, write.span.enter, target, found);
        }
    }
}

/// `target` waits for `source` if that is what was recorded.
fn add(rule: Rule, source: Moment, target: Moment, found: &mut Dependencies) {
    if source.ns <= target.ns && source.point().thread != target.point().thread {
        found.add_one(rule, source, target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::{records, span};

    fn moved(thread: u32, record: u32, from_ns: u64, to_ns: u64, units: u64) -> Moved {
        Moved { span: span(thread, record, from_ns, to_ns), units }
    }

    fn connected(stream: Stream) -> (Vec<(u32, u32)>, bool) {
        let mut found = Dependencies::default();
        let whole = connect(Rule::Pipe, stream, &mut found);
        (records(&found), whole)
    }

    #[test]
    fn a_read_comes_after_the_writes_of_its_bytes() {
        let stream = Stream {
            writes: vec![moved(0, 1, 10, 11, 4), moved(1, 2, 20, 21, 4), moved(0, 3, 30, 31, 4)],
            reads: vec![moved(2, 7, 5, 12, 2), moved(2, 8, 15, 23, 5), moved(2, 9, 25, 33, 5)],
            ..Stream::default()
        };
        assert_eq!(connected(stream), (vec![(1, 7), (2, 8), (1, 8), (3, 9), (2, 9)], true));
    }

    #[test]
    fn who_sleeps_in_a_send_has_waited_for_room_if_there_is_much_in_between() {
        let room = |bytes: u64| {
            let stream = Stream {
                writes: vec![moved(0, 1, 10, 11, bytes), moved(0, 2, 20, 60, bytes)],
                reads: vec![moved(1, 7, 40, 41, bytes), moved(1, 8, 70, 71, bytes)],
                room: vec![span(0, 2, 20, 60)],
                ..Stream::default()
            };
            connected(stream).0.contains(&(7, 2))
        };
        assert_eq!([room(1), room(400), room(600), room(65536)], [false, false, true, true]);
        // Whatever the sizes of the calls: small reads of large writes, and one read of many small writes.
        let small_reads = Stream {
            writes: (1..=5)
                .map(|at| moved(0, at, 10 * u64::from(at), 10 * u64::from(at) + 1, 65536))
                .collect(),
            reads: (0..40)
                .map(|at| moved(1, 100 + at, 60 + 2 * u64::from(at), 61 + 2 * u64::from(at), 1024))
                .collect(),
            room: vec![span(0, 5, 120, 130)],
            ..Stream::default()
        };
        assert!(connected(small_reads).0.contains(&(135, 5)));
        let merging = Stream {
            writes: (1..=40).map(|at| moved(0, at, 10 * u64::from(at), 10 * u64::from(at) + 1, 1)).collect(),
            reads: vec![moved(1, 107, 395, 396, 39), moved(1, 108, 405, 406, 1)],
            room: vec![span(0, 40, 400, 410)],
            ..Stream::default()
        };
        assert!(!connected(merging).0.contains(&(108, 40)));
        let messages = Stream {
            writes: vec![moved(0, 1, 10, 11, 1), moved(0, 2, 20, 60, 1)],
            reads: vec![moved(1, 7, 40, 41, 1)],
            room: vec![span(0, 2, 20, 60)],
            keeps_messages: true,
            ..Stream::default()
        };
        assert!(connected(messages).0.contains(&(7, 2)));
        // The smallest buffers are full of a few bytes, if each came by itself.
        let small = Stream {
            writes: (1..=4).map(|at| moved(0, at, 10 * u64::from(at), 10 * u64::from(at) + 1, 1)).collect(),
            reads: vec![moved(1, 7, 43, 44, 1)],
            room: vec![span(0, 4, 40, 60)],
            ..Stream::default()
        };
        assert!(connected(small).0.contains(&(7, 4)));
    }

    #[test]
    fn who_is_back_last_of_several_readers_may_have_taken_the_first() {
        let readers = |second_write: u64| Stream {
            writes: vec![moved(0, 1, 20, 21, 1), moved(0, 2, second_write, second_write + 1, 1)],
            // Both wait; one takes the first byte, and is back late.
            reads: vec![moved(1, 7, 10, 60, 1), moved(2, 8, 12, 40, 1)],
            ..Stream::default()
        };
        assert_eq!(connected(readers(30)), (vec![(1, 8), (1, 7)], true));
        // The first to be back cannot have had what was not there yet.
        assert_eq!(connected(readers(50)), (vec![(1, 8), (2, 7)], true));
        let in_turn = Stream {
            writes: vec![moved(0, 1, 20, 21, 1), moved(0, 2, 30, 31, 1)],
            reads: vec![moved(1, 7, 41, 60, 1), moved(2, 8, 12, 40, 1)],
            ..Stream::default()
        };
        assert_eq!(connected(in_turn), (vec![(1, 8), (2, 7)], true));
    }

    #[test]
    fn what_nobody_wrote_is_not_connected() {
        let stream = Stream {
            writes: vec![moved(0, 1, 10, 11, 4), moved(0, 2, 40, 41, 4)],
            reads: vec![moved(2, 7, 5, 12, 4), moved(2, 8, 15, 23, 4)],
            looks: vec![span(2, 6, 4, 11), span(2, 9, 42, 43)],
            ..Stream::default()
        };
        assert_eq!(connected(stream), (vec![(1, 7), (1, 6)], false));
    }

    #[test]
    fn its_end_comes_after_every_writer_and_room_after_a_reader() {
        let stream = Stream {
            writes: vec![moved(0, 1, 10, 11, 8), moved(0, 2, 12, 60, 8)],
            reads: vec![moved(2, 7, 50, 52, 4), moved(2, 8, 53, 55, 4), moved(2, 9, 61, 62, 8)],
            looks: vec![span(2, 10, 70, 90)],
            closings: vec![span(0, 3, 65, 66).enter, span(1, 4, 80, 81).enter],
            capacity: Some(10),
            ..Stream::default()
        };
        let expected = vec![(1, 7), (1, 8), (2, 9), (3, 10), (4, 10), (8, 2)];
        assert_eq!(connected(stream), (expected, true));
    }

    #[test]
    fn who_waited_for_room_goes_on_after_a_receive_meanwhile() {
        let stream = Stream {
            writes: vec![moved(0, 1, 1, 2, 80_000)],
            reads: vec![
                moved(2, 7, 10, 12, 20_000),
                moved(2, 8, 20, 25, 20_000),
                moved(2, 9, 40, 41, 40_000),
            ],
            room: vec![span(0, 2, 5, 24), span(0, 3, 13, 19), span(0, 4, 26, 60), span(0, 5, 50, 70)],
            ..Stream::default()
        };
        assert_eq!(connected(stream), (vec![(1, 7), (1, 8), (1, 9), (8, 2), (9, 4)], true));
    }
}
