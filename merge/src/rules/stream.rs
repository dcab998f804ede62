//! Bytes, or messages, that go one way: what comes out at one end was put in at the other, in the same order.
//!
//! Of several writers at once the order is taken to be that in which their calls began, and of several readers that in which they
//! came back: what hangs on that is observed, not certain. Of several readers at once one may be back later than another that took
//! what came behind: it waits for no more than what it took at the earliest. Where nobody knows how much fits between the ends, who
//! waited for room went on after the last receive that had begun by then, unless hardly anything lay in between: then it slept for
//! another reason.

use crate::graph::dependency::{Dependencies, Moment, Point, Span};
use crate::rules::process_join::ProcessEnd;
use std::collections::BTreeMap;
use syn_plan::Rule;

/// A call that put in or took out so many bytes or messages.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// The call.
    pub span: Span,
    /// How many.
    pub units: u64,
    /// It may have waited for what it has put in (splice(2)).
    pub passes_on: bool,
}

impl Moved {
    /// A call that puts in what it has, or takes out.
    pub fn new(span: Span, units: u64) -> Moved {
        Moved { span, units, passes_on: false }
    }

    /// Connects it with who found what it has put in. One that passes on goes on for a moment behind that: that it was back before is
    /// observed.
    fn add(&self, rule: Rule, target: Moment, found: &mut Dependencies) {
        match self.passes_on && self.span.leave.ns <= target.ns {
            true => add(Rule::Contended, self.span.leave, target, found),
            false => add(rule, self.span.enter, target, found),
        }
    }
}

/// A process that could put in closed it.
#[derive(Clone, Copy, Debug)]
pub struct Closing {
    /// Which one.
    pub process: u32,
    /// Since when it could.
    pub since_ns: u64,
    /// Until when: a call, or the end of the process.
    pub end: ProcessEnd,
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
    /// When the writers closed it.
    pub closings: Vec<Closing>,
    /// The most that fits in, where that is known.
    pub capacity: Option<u64>,
    /// Calls that waited for room, where it is not known.
    pub room: Vec<Span>,
    /// Units are messages, of whose size nothing is said: a few may be all that fits.
    pub keeps_messages: bool,
    /// What goes over a network may be held back there.
    pub network: Option<Network>,
    /// The clocks at both ends are not known to agree: what the bytes tell is all that counts.
    pub is_unaligned: bool,
}

impl Stream {
    /// Forgets what began at that time or later.
    pub fn end_before(&mut self, ns: u64) {
        self.writes.retain(|write| write.span.enter.ns < ns);
        self.reads.retain(|read| read.span.enter.ns < ns);
        self.looks.retain(|look| look.enter.ns < ns);
        self.room.retain(|wait| wait.enter.ns < ns);
        self.closings.retain(|closing| closing.end.at.ns < ns);
    }
}

/// What the smallest buffers of sockets take (socket(7): 4608 bytes, of which a call takes 512 or more besides its own) can be full of.
const LEAST_FULL_BYTES: u64 = 2048;
const BESIDES_BYTES: u64 = 512;
/// One that nobody has taken, and the one that waits: where there is none, there is room for one.
const LEAST_FULL_MESSAGES: u64 = 2;

/// How many of the earlier reads at most are asked whether they must have come before one.
const MOST_OVERLAPPING: usize = 1024;

/// What lies between the ends of a connection. It may bring what somebody waits for long after the send: that is its own time, and a replay
/// waits for it as well.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    least_held_ns: u64,
}

impl Network {
    /// Within a host it holds back for 40 ms and longer, when small pieces are sent one after the other (Nagle's algorithm of the sender,
    /// delayed acknowledgements of the receiver, RFC 1122, 4.2.3.2 and 4.2.3.4), or for as long as somebody has made it (tc-netem(8)).
    /// Who has slept gets a processor sooner than that, but on a machine with very much to do.
    const WITHIN_HOST_NS: u64 = 20_000_000;
    /// As long as it takes to wake up.
    const BETWEEN_HOSTS_NS: u64 = 50_000;
    /// A write that was at work so shortly before something came may have sent it on its way (`TCP_CORK`, tcp(7)).
    const PUSHES_NS: u64 = 2_000_000;

    /// Between ends on these hosts.
    pub fn between(one: usize, other: usize) -> Network {
        let is_one = one == other;
        Network { least_held_ns: if is_one { Network::WITHIN_HOST_NS } else { Network::BETWEEN_HOSTS_NS } }
    }

    /// `wait` was for what the first of `writes` has put in: notes how much of it lay behind that.
    fn tell(self, writes: &[Moved], wait: Span, found: &mut Dependencies) {
        let Some((write, later)) = writes.split_first() else { return };
        let since_ns = write.span.leave.ns.max(wait.enter.ns);
        let held_ns = wait.leave.ns.saturating_sub(since_ns);
        let mut later = later.iter().take_while(|write| write.span.enter.ns < wait.leave.ns);
        let pushes = |write: &Moved| write.span.leave.ns.saturating_add(Network::PUSHES_NS) > wait.leave.ns;
        if held_ns > self.least_held_ns && !later.any(pushes) {
            found.hold(wait.leave, held_ns);
        }
    }
}

/// Calls on one direction, in an order, and how much was moved by the end of each.
struct Calls {
    calls: Vec<Moved>,
    sums: Vec<u64>,
}

impl Calls {
    fn new(mut calls: Vec<Moved>, time: impl Fn(&Span) -> Moment) -> Calls {
        calls.sort_unstable_by_key(|call| (time(&call.span).ns, time(&call.span).point()));
        let add = |sum: &mut u64, call: &Moved| {
            *sum = sum.saturating_add(call.units);
            Some(*sum)
        };
        let sums = calls.iter().scan(0, add).collect();
        Calls { calls, sums }
    }

    /// How much the first so many have moved.
    fn sum(&self, calls: usize) -> u64 {
        calls.checked_sub(1).map_or(0, |last| self.sums[last])
    }

    /// How many of the first calls it takes to move so much.
    fn until(&self, units: u64) -> usize {
        self.sums.partition_point(|&sum| sum < units)
    }

    /// How many come before, in their order.
    fn before(&self, is_before: impl Fn(&Span) -> bool) -> usize {
        self.calls.partition_point(|call| is_before(&call.span))
    }
}

/// Which of some calls overlap. They come in the order in which they began; those that overlap stand together in the order in which
/// they came back, too.
pub struct Overlap(Vec<bool>);

impl Overlap {
    /// Of these, in the order in which they began.
    pub fn of(calls: impl Iterator<Item = Span>) -> Overlap {
        let mut later_began_before = Vec::new();
        let mut over_ns = 0;
        for call in calls {
            if let Some(before) = later_began_before.last_mut() {
                *before = call.enter.ns < over_ns;
            }
            over_ns = call.leave.ns.max(over_ns);
            later_began_before.push(false);
        }
        Overlap(later_began_before)
    }

    /// All up to this one were over when a later one began.
    pub fn ends_at(&self, index: usize) -> bool {
        !self.0[index]
    }

    /// No other one overlaps it.
    pub fn is_alone(&self, index: usize) -> bool {
        self.ends_at(index) && index.checked_sub(1).is_none_or(|before| self.ends_at(before))
    }
}

/// The writes, in the order in which they began.
struct Writes {
    calls: Calls,
    overlap: Overlap,
}

impl Writes {
    fn new(writes: Vec<Moved>) -> Writes {
        let calls = Calls::new(writes, |span| span.enter);
        Writes { overlap: Overlap::of(calls.calls.iter().map(|call| call.span)), calls }
    }

    /// Whether it is certain which calls have put in the first so many units, of which `last` is the last one.
    fn is_certain(&self, units: u64, last: usize) -> bool {
        self.overlap.is_alone(last) || self.overlap.ends_at(last) && self.calls.sums[last] == units
    }

    /// How much those that began by then have put in, and will.
    fn begun(&self, ns: u64) -> u64 {
        self.calls.sum(self.calls.before(|write| write.enter.ns <= ns))
    }
}

/// Connects the ends of one direction. Where more came out than went in, writers are not on record: then nothing is connected
/// from there on, and the answer is false.
pub fn connect(rule: Rule, stream: Stream, found: &mut Dependencies) -> bool {
    let Stream { writes, reads, looks, mut closings, capacity, room, keeps_messages, .. } = stream;
    let (network, is_unaligned) = (stream.network, stream.is_unaligned);
    let (writes, reads) = (Writes::new(writes), Calls::new(reads, |span| span.leave));
    let rule_if = |is_certain: bool| if is_certain { rule } else { Rule::Contended };
    let written = &writes.calls;
    let overlapping = Overlapping::new(&reads, &writes);
    let mut whole = reads.calls.len();
    for (index, call) in reads.calls.iter().enumerate() {
        let last = written.until(reads.sums[index]);
        let is_later = |write: &Moved| write.span.enter.ns > call.span.leave.ns && !is_unaligned;
        if written.calls.get(last).is_none_or(is_later) {
            whole = index;
            break;
        }
        if is_unaligned {
            found.add_one(rule, written.calls[last].span.enter, call.span.leave);
        } else {
            let before =
                overlapping.as_ref().map_or_else(|| reads.sum(index), |reads| reads.taken_before(index));
            let until = before.saturating_add(call.units);
            let (first, last) = (written.sums.partition_point(|&sum| sum <= before), written.until(until));
            let rule = rule_if(writes.is_certain(until, last));
            last_of_each_thread(&written.calls[first.min(last)..=last], call.span.leave, rule, found);
            network.into_iter().for_each(|network| network.tell(&written.calls[last..], call.span, found));
        }
    }
    let is_whole = whole == reads.calls.len();
    if is_unaligned {
        return is_whole;
    }
    closings.sort_unstable_by_key(|closing| (closing.end.at.ns, closing.end.at.point()));
    let mut since_ns: Vec<u64> = closings.iter().map(|closing| closing.since_ns).collect();
    since_ns.sort_unstable();
    let known_ns = reads.calls.get(whole).map_or(u64::MAX, |unknown| unknown.span.enter.ns);
    let mut ends = Ends::default();
    for look in looks.into_iter().filter(|look| look.leave.ns < known_ns) {
        let before = reads.sum(reads.before(|read| read.leave.ns <= look.leave.ns));
        let next = written.sums.partition_point(|&sum| sum <= before);
        // Somebody else may have taken what this one saw.
        let is_alone = reads.sum(reads.before(|read| read.leave.ns <= look.enter.ns)) == before;
        match written.calls.get(next).filter(|write| write.span.enter.ns <= look.leave.ns) {
            Some(write) => {
                let is_certain = is_alone && writes.is_certain(before.saturating_add(1), next);
                write.add(rule_if(is_certain), look.leave, found);
                network.into_iter().for_each(|network| network.tell(&written.calls[next..], look, found));
            }
            None => {
                let over = closings.partition_point(|closing| closing.end.at.ns <= look.leave.ns);
                // Or somebody can still put in.
                if since_ns.partition_point(|&since| since <= look.leave.ns) == over {
                    ends.see(over, is_alone, look.leave);
                }
            }
        }
    }
    for ((over, is_certain), targets) in ends.0 {
        close(rule_if(is_certain), &closings[..over], targets.into_values(), found);
    }
    if let Some(capacity) = capacity.filter(|_| is_whole) {
        for (index, write) in written.calls.iter().enumerate() {
            let room = written.sums[index].saturating_sub(capacity);
            let is_certain = writes.is_certain(written.sums[index], index) && overlapping.is_none();
            if let Some(reader) = reads.calls.get(reads.until(room)).filter(|_| room > 0) {
                add(rule_if(is_certain), reader.span.enter, write.span.leave, found);
            }
        }
    }
    for wait in room {
        let begun = written.before(|write| write.enter.ns < wait.leave.ns);
        let taken = reads.sum(reads.before(|read| read.leave.ns < wait.enter.ns));
        let wholly_taken = written.sums.partition_point(|&sum| sum <= taken);
        let besides = BESIDES_BYTES * begun.saturating_sub(wholly_taken) as u64;
        let units = written.sum(begun).saturating_sub(taken);
        let least = if keeps_messages { LEAST_FULL_MESSAGES } else { LEAST_FULL_BYTES };
        let between = if keeps_messages { units } else { units.saturating_add(besides) };
        if between < least {
            continue;
        }
        let over = reads.before(|read| read.leave.ns <= wait.leave.ns);
        // One may be under way.
        let last = reads.calls[over.saturating_sub(1)..].iter().take(2).map(|call| call.span);
        let during = |read: &Span| read.leave.ns >= wait.enter.ns && read.enter.ns <= wait.leave.ns;
        if let Some(read) = last.filter(during).max_by_key(|read| read.enter.ns) {
            add(Rule::Room, read.enter, wait.leave, found);
        }
    }
    is_whole
}

/// Reads of which some overlap.
struct Overlapping<'a> {
    reads: &'a Calls,
    /// By read: how many were over when it began.
    over: Vec<usize>,
    /// By read: how much those writes put in, and will, that had begun when it was back.
    begun: Vec<u64>,
}

impl Overlapping<'_> {
    /// `None` where none does. If two do, so do two that came back one after the other.
    fn new<'a>(reads: &'a Calls, writes: &Writes) -> Option<Overlapping<'a>> {
        let overlap = |pair: &[Moved]| pair[1].span.enter.ns < pair[0].span.leave.ns;
        reads.calls.windows(2).any(overlap).then(|| {
            let over = |call: &Moved| reads.before(|read| read.leave.ns <= call.span.enter.ns);
            let begun = |call: &Moved| writes.begun(call.span.leave.ns);
            Overlapping {
                reads,
                over: reads.calls.iter().map(over).collect(),
                begun: reads.calls.iter().map(begun).collect(),
            }
        })
    }

    /// How much had been taken out before read `index` at the least: by those that were over when it began, and by those that
    /// cannot have come after it, because what they would have taken then had not been put in when they came back.
    fn taken_before(&self, index: usize) -> u64 {
        let (reads, over) = (self.reads, self.over[index].min(index));
        let must_come_before = |&other: &usize| {
            let both_over = reads.sum(self.over[other].max(over));
            let units = reads.calls[index].units.saturating_add(reads.calls[other].units);
            self.begun[other] < both_over.saturating_add(units)
        };
        let others = over.max(index.saturating_sub(MOST_OVERLAPPING))..index;
        let before = others.filter(must_come_before).map(|other| reads.calls[other].units);
        before.fold(reads.sum(over), u64::saturating_add)
    }
}

/// Who saw the end: by how many closings came before and whether that is certain, the first return of each thread. What a thread sees
/// later, when no more have closed it, is in order by that.
#[derive(Default)]
struct Ends(BTreeMap<(usize, bool), BTreeMap<u32, Moment>>);

impl Ends {
    /// A call that returned at `leave` saw it after so many closings.
    fn see(&mut self, closings: usize, is_certain: bool, leave: Moment) {
        let by_thread = self.0.entry((closings, is_certain)).or_default();
        let first = by_thread.entry(leave.point().thread).or_insert(leave);
        if leave.point() < first.point() {
            *first = leave;
        }
    }
}

/// Whoever saw the end saw it after all had closed it that could put in since the last time that nobody could; who did so more than
/// once, for the last time. Of many on both sides all wait for one dependency, since pairs would be as many as their product.
fn close(rule: Rule, closings: &[Closing], targets: impl Iterator<Item = Moment>, found: &mut Dependencies) {
    let (mut since_ns, mut last) = (u64::MAX, BTreeMap::new());
    for closing in closings.iter().rev() {
        if since_ns != u64::MAX && closing.end.at.ns < since_ns {
            break;
        }
        since_ns = since_ns.min(closing.since_ns);
        last.entry(closing.process).or_insert(closing);
    }
    let closings: Vec<&Closing> = last.into_values().collect();
    let by_thread: BTreeMap<u32, Point> =
        closings.iter().map(|closing| (closing.end.at.point().thread, closing.end.at.point())).collect();
    // What a thread closes after it saw the end, in the same instant, is nothing that it waited for.
    let is_behind_own =
        |target: &Moment| by_thread.get(&target.point().thread).is_none_or(|own| *own < target.point());
    let (mut together, mut alone): (Vec<Moment>, Vec<Moment>) = targets.partition(is_behind_own);
    if closings.len() == 1 || together.len() == 1 {
        alone.append(&mut together);
    }
    let seen_at = |ns: u64| closings.iter().map(move |closing| closing.end.seen_at(ns));
    if let Some(first_ns) = together.iter().map(|target| target.ns).min() {
        found.add(rule, &seen_at(first_ns).collect::<Vec<_>>(), &together);
    }
    for target in alone {
        seen_at(target.ns).for_each(|source| add(rule, source, target, found));
    }
}

fn last_of_each_thread(writes: &[Moved], target: Moment, rule: Rule, found: &mut Dependencies) {
    let mut threads: Vec<u32> = Vec::new();
    for write in writes.iter().rev() {
        let thread = write.span.enter.point().thread;
        if !threads.contains(&thread) {
            threads.push(thread);
            write.add(rule, target, found);
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
    use crate::graph::dependency::Stage;
    use crate::rules::waking::tests::{records, span};

    fn moved(thread: u32, record: u32, from_ns: u64, to_ns: u64, units: u64) -> Moved {
        Moved::new(span(thread, record, from_ns, to_ns), units)
    }

    fn closing(process: u32, record: u32, since_ns: u64, at_ns: u64) -> Closing {
        Closing { process, since_ns, end: ProcessEnd::with(span(process, record, at_ns, at_ns).enter) }
    }

    fn connected(stream: Stream) -> (Vec<(u32, u32)>, bool) {
        let mut found = Dependencies::default();
        let whole = connect(Rule::Pipe, stream, &mut found);
        (records(&found), whole)
    }

    #[test]
    fn what_is_passed_on_had_to_come_first() {
        let stages = |to_ns: u64| {
            let writes = vec![Moved { passes_on: true, ..moved(0, 1, 10, to_ns, 4) }];
            let stream = Stream { writes, reads: vec![moved(1, 7, 5, 50, 4)], ..Stream::default() };
            let mut found = Dependencies::default();
            connect(Rule::Pipe, stream, &mut found);
            (found.sources(0)[0].point().stage, found.rule(0))
        };
        let expected = [(Stage::Leave, Rule::Contended), (Stage::Enter, Rule::Pipe)];
        assert_eq!([stages(49), stages(51)], expected);
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
        let messages = |taken: bool| {
            let first = if taken { moved(1, 6, 12, 13, 1) } else { moved(1, 6, 40, 41, 1) };
            let stream = Stream {
                writes: vec![moved(0, 1, 10, 11, 1), moved(0, 2, 20, 60, 1)],
                reads: vec![first, moved(1, 7, 58, 62, 1)],
                room: vec![span(0, 2, 20, 60)],
                keeps_messages: true,
                ..Stream::default()
            };
            connected(stream).0.iter().any(|&(_, target)| target == 2)
        };
        assert_eq!([messages(false), messages(true)], [true, false]);
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
    fn of_writers_at_once_nothing_is_certain_but_what_all_have_put_in() {
        let rules = |reads: &[u64]| {
            let mut found = Dependencies::default();
            let reads = (1u32..).zip(reads).map(|(at, &units)| {
                let ns = 100 * u64::from(at);
                moved(2, at, ns, ns + 1, units)
            });
            // The first two overlap; the third comes when they are over.
            let writes = vec![moved(0, 1, 10, 30, 4), moved(1, 2, 20, 40, 4), moved(0, 3, 50, 51, 4)];
            let stream = Stream { writes, reads: reads.collect(), ..Stream::default() };
            assert!(connect(Rule::Pipe, stream, &mut found));
            (0..found.len())
                .map(|index| (found.sources(index)[0].point().record, found.rule(index)))
                .collect::<Vec<_>>()
        };
        assert_eq!(rules(&[8]), [(2, Rule::Pipe), (1, Rule::Pipe)]);
        assert_eq!(
            rules(&[4, 4, 4]),
            [(1, Rule::Contended), (2, Rule::Pipe), (3, Rule::Pipe)],
            "who took the first message has it from either, and whoever has taken both came after both"
        );
        assert_eq!(rules(&[4, 6]), [(1, Rule::Contended), (3, Rule::Pipe), (2, Rule::Pipe)]);
    }

    #[test]
    fn a_poll_beside_other_readers_is_not_certain_to_have_seen_what_is_left() {
        let rule = |began_ns: u64| {
            let mut found = Dependencies::default();
            let stream = Stream {
                writes: vec![moved(0, 1, 10, 11, 1), moved(0, 2, 20, 21, 1)],
                reads: vec![moved(3, 7, 12, 13, 1), moved(1, 8, 30, 31, 1)],
                looks: vec![span(1, 6, began_ns, 25)],
                ..Stream::default()
            };
            assert!(connect(Rule::Pipe, stream, &mut found));
            let of_look = (0..found.len()).find(|&index| found.targets(index)[0].point().record == 6);
            found.rule(of_look.unwrap())
        };
        assert_eq!([rule(5), rule(15)], [Rule::Contended, Rule::Pipe]);
    }

    #[test]
    fn the_end_comes_after_the_last_writers_of_several_in_turn() {
        let stream = Stream {
            looks: vec![span(9, 10, 30, 31), span(9, 11, 35, 45), span(9, 12, 60, 61)],
            closings: vec![closing(0, 1, 10, 20), closing(1, 2, 15, 25), closing(0, 3, 40, 50)],
            ..Stream::default()
        };
        // At 45 one had it open again.
        assert_eq!(connected(stream).0, vec![(1, 10), (2, 10), (3, 12)]);
    }

    /// By dependency: its rule, and how many sources and targets it has.
    fn sizes(stream: Stream) -> Vec<(Rule, usize, usize)> {
        let mut found = Dependencies::default();
        assert!(connect(Rule::Pipe, stream, &mut found));
        let size = |at: usize| (found.rule(at), found.sources(at).len(), found.targets(at).len());
        (0..found.len()).map(size).collect()
    }

    #[test]
    fn many_that_see_the_end_wait_for_many_writers_by_one_dependency() {
        const MANY: u32 = 100;
        let look = |thread: u32, began_ns: u64| span(thread, 7, began_ns, 100 + u64::from(thread));
        let stream = |first_ns: u64| Stream {
            writes: vec![moved(0, 1, 10, 11, 1)],
            reads: vec![moved(0, 2, 40, 50, 1)],
            looks: (MANY..2 * MANY)
                .map(|thread| look(thread, if thread < 130 { first_ns } else { 60 }))
                .collect(),
            // Readers have closed it, too.
            closings: (0..2 * MANY).map(|process| closing(process, 3, 0, 20)).collect(),
            ..Stream::default()
        };
        assert_eq!(sizes(stream(60)), [(Rule::Pipe, 200, 100)]);
        // Where another one read meanwhile, it is not certain.
        assert_eq!(sizes(stream(45)), [(Rule::Contended, 200, 30), (Rule::Pipe, 200, 70)]);
    }

    #[test]
    fn a_second_look_at_the_end_waits_for_nothing_more() {
        let stream = |looks: Vec<Span>| Stream {
            looks,
            closings: (0..3).map(|process| closing(process, 3, 0, 20)).collect(),
            ..Stream::default()
        };
        let again =
            (7..100).map(|record| span(9, record, 10 * u64::from(record), 10 * u64::from(record) + 1));
        assert_eq!(connected(stream(again.rev().collect())).0, [(3, 7); 3], "the first one does");
    }

    #[test]
    fn what_is_closed_in_the_instant_in_which_the_end_is_seen_is_not_waited_for_by_its_thread() {
        let stream = Stream {
            looks: (0..3).map(|thread| span(thread, 3, 10, 20)).collect(),
            closings: vec![closing(0, 3, 0, 15), closing(1, 4, 0, 20), closing(5, 6, 0, 12)],
            ..Stream::default()
        };
        let mut found = Dependencies::default();
        connect(Rule::Pipe, stream, &mut found);
        let threads = |moments: &[Moment]| moments.iter().map(|at| at.point().thread).collect::<Vec<_>>();
        let all: Vec<_> =
            (0..found.len()).map(|at| (threads(found.sources(at)), threads(found.targets(at)))).collect();
        let expected = [(vec![0, 1, 5], vec![0, 2]), (vec![0], vec![1]), (vec![5], vec![1])];
        assert_eq!(all, expected);
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
            closings: vec![closing(1, 4, 0, 80), closing(0, 3, 0, 65)],
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
