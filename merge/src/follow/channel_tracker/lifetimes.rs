//! When nobody had a pipe with a name open: what was left in it then is lost (fifo(7)).
//!
//! A process surely has it from the return of its `open` to the entry of its last `close`, and may have it from the entry of
//! the one to the return of the other; who begins with it may have it since its parent has.

use crate::graph::dependency::Moment;
use crate::rules::open_file::Span;
use crate::rules::stream::{Moved, Stream};
use std::collections::{BTreeMap, HashMap};
use std::iter::Peekable;

/// How long behind its last record a process may still have its files open.
const END_NS: u64 = 10_000_000;

/// A process, by its index and its id.
#[derive(Clone, Copy, Debug)]
pub struct Holder {
    pub process: u32,
    pub pid: u32,
}

/// For how long a process has had it open.
#[derive(Clone, Copy, Debug)]
struct Held {
    open_files: u32,
    maybe_from_ns: u64,
    from_ns: u64,
    to_ns: u64,
    maybe_to_ns: u64,
}

/// Nobody had it open before, as far as is known, or perhaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// What belongs to the time before began earlier than this.
    pub at_ns: u64,
    pub is_certain: bool,
}

/// Who has had one pipe open. Memory: 56 bytes for each time that a process has.
#[derive(Debug, Default)]
pub struct Lifetimes {
    /// By process.
    now: BTreeMap<u32, Held>,
    over: Vec<Held>,
    /// By the id of a process: since when it may have it, or had it the last time.
    since_ns: HashMap<u32, u64>,
}

impl Lifetimes {
    /// A process opens it.
    pub fn open(&mut self, holder: Holder, call: Span) {
        self.hold(holder, call.enter.ns, call.leave.ns);
    }

    /// A process, or a program, begins with it open. Since when it may have had it.
    pub fn inherit(&mut self, holder: Holder, parent: u32, record: Span) -> u64 {
        let origin = [holder.pid, parent].into_iter().find_map(|pid| self.since_ns.get(&pid));
        let since_ns = origin.copied().unwrap_or(0);
        self.hold(holder, since_ns, record.leave.ns);
        since_ns
    }

    fn hold(&mut self, holder: Holder, maybe_from_ns: u64, from_ns: u64) {
        let begins =
            || Held { open_files: 0, maybe_from_ns, from_ns, to_ns: u64::MAX, maybe_to_ns: u64::MAX };
        let held = self.now.entry(holder.process).or_insert_with(begins);
        held.open_files += 1;
        self.since_ns.insert(holder.pid, held.maybe_from_ns);
    }

    /// A process closes it. Nothing may be on record of how it got it.
    pub fn close(&mut self, holder: Holder, call: Span) {
        let unknown = Held { open_files: 1, maybe_from_ns: 0, from_ns: 0, to_ns: 0, maybe_to_ns: 0 };
        let held = self.now.remove(&holder.process).unwrap_or(unknown);
        match held.open_files {
            0 | 1 => self.over.push(Held { to_ns: call.enter.ns, maybe_to_ns: call.leave.ns, ..held }),
            more => _ = self.now.insert(holder.process, Held { open_files: more - 1, ..held }),
        }
    }

    /// The gaps, by time. Wants the last moment of every process, and whether it has ended there.
    pub fn gaps(self, last: &[Option<Moment>], ended: &[bool]) -> Vec<Gap> {
        let at_the_end = self.now.into_iter().map(|(process, held)| {
            let last_ns = last[process as usize].map_or(0, |moment| moment.ns);
            let maybe_to_ns = if ended[process as usize] { last_ns.saturating_add(END_NS) } else { u64::MAX };
            Held { to_ns: last_ns, maybe_to_ns, ..held }
        });
        let mut all: Vec<Held> = self.over.into_iter().chain(at_the_end).collect();
        all.sort_unstable_by_key(|held| (held.from_ns, held.to_ns));
        let mut by_maybe: Vec<(u64, u64)> =
            all.iter().map(|held| (held.maybe_from_ns, held.maybe_to_ns)).collect();
        by_maybe.sort_unstable();
        let mut certain = uncovered(by_maybe.into_iter()).into_iter().peekable();
        let gap = |(from_ns, to_ns)| {
            while certain.next_if(|&(_, to)| to <= from_ns).is_some() {}
            let inside = certain.peek().filter(|&&(from, _)| from < to_ns);
            Gap { at_ns: inside.map_or(to_ns, |&(_, to)| to.min(to_ns)), is_certain: inside.is_some() }
        };
        let surely = all.iter().map(|held| (held.from_ns, held.to_ns));
        uncovered(surely).into_iter().map(gap).collect()
    }
}

/// What went through the pipe, apart by its lives. Not what came after bytes of which nobody knows whether they were lost; then
/// the answer is false.
pub fn split(stream: Stream, gaps: &[Gap]) -> (Vec<Stream>, bool) {
    if gaps.is_empty() {
        return (vec![stream], true);
    }
    let Stream { mut writes, mut reads, mut looks, mut closings, capacity, mut room, .. } = stream;
    writes.sort_by_key(|write| write.span.enter.ns);
    reads.sort_by_key(|read| read.span.enter.ns);
    looks.sort_by_key(|look| look.enter.ns);
    room.sort_by_key(|wait| wait.enter.ns);
    closings.sort_by_key(|closing| closing.at.ns);
    let (mut writes, mut reads) = (writes.into_iter().peekable(), reads.into_iter().peekable());
    let (mut looks, mut room) = (looks.into_iter().peekable(), room.into_iter().peekable());
    let mut closings = closings.into_iter().peekable();
    let (mut lives, mut all_known, mut is_known) = (Vec::new(), true, true);
    let mut life = Stream::default();
    let (mut put_in, mut taken_out) = (0u64, 0u64);
    let at_the_end = Gap { at_ns: u64::MAX, is_certain: true };
    for &Gap { at_ns, is_certain } in gaps.iter().chain([&at_the_end]) {
        put_in = put_in.saturating_add(move_before(at_ns, &mut writes, &mut life.writes));
        taken_out = taken_out.saturating_add(move_before(at_ns, &mut reads, &mut life.reads));
        life.looks.extend(std::iter::from_fn(|| looks.next_if(|look| look.enter.ns < at_ns)));
        life.room.extend(std::iter::from_fn(|| room.next_if(|wait| wait.enter.ns < at_ns)));
        life.closings.extend(std::iter::from_fn(|| closings.next_if(|closing| closing.at.ns < at_ns)));
        if !is_certain && put_in == taken_out {
            continue;
        }
        (put_in, taken_out) = (0, 0);
        let whole = std::mem::take(&mut life);
        if is_known {
            lives.push(Stream { capacity, ..whole });
        }
        is_known = is_certain;
        all_known &= is_known;
    }
    (lives, all_known)
}

/// Moves what began before, and says how much that was.
fn move_before(at_ns: u64, from: &mut Peekable<impl Iterator<Item = Moved>>, to: &mut Vec<Moved>) -> u64 {
    let first = to.len();
    to.extend(std::iter::from_fn(|| from.next_if(|call| call.span.enter.ns < at_ns)));
    to[first..].iter().fold(0, |sum, call| sum.saturating_add(call.units))
}

/// The stretches between the first and the last of these that none of them covers; they come by their beginnings.
fn uncovered(mut stretches: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut gaps = Vec::new();
    let Some((_, mut covered)) = stretches.next() else { return gaps };
    for (from, to) in stretches {
        if from > covered {
            gaps.push((covered, from));
        }
        covered = covered.max(to);
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::span;

    fn at(process: u32) -> Holder {
        Holder { process, pid: 100 + process }
    }

    fn gaps(lifetimes: Lifetimes, last_ns: [u64; 2], ended: bool) -> Vec<(u64, bool)> {
        let last = last_ns.map(|ns| Some(span(0, 9, ns, ns).leave));
        lifetimes.gaps(&last, &[ended; 2]).into_iter().map(|gap| (gap.at_ns, gap.is_certain)).collect()
    }

    fn held(process: u32, opened: (u64, u64), closed: (u64, u64), lifetimes: &mut Lifetimes) {
        lifetimes.open(at(process), span(process, 1, opened.0, opened.1));
        lifetimes.close(at(process), span(process, 2, closed.0, closed.1));
    }

    #[test]
    fn a_pipe_is_new_when_nobody_had_it_open() {
        let mut lifetimes = Lifetimes::default();
        held(0, (10, 12), (30, 32), &mut lifetimes);
        held(1, (20, 22), (40, 42), &mut lifetimes);
        held(0, (50, 52), (60, 62), &mut lifetimes);
        assert_eq!(gaps(lifetimes, [70, 70], true), [(50, true)]);
    }

    #[test]
    fn where_an_open_and_the_last_close_overlap_nobody_knows() {
        let mut lifetimes = Lifetimes::default();
        held(0, (10, 12), (30, 36), &mut lifetimes);
        held(1, (34, 38), (40, 42), &mut lifetimes);
        assert_eq!(gaps(lifetimes, [70, 70], true), [(38, false)]);
    }

    #[test]
    fn who_ends_closes_it_then_and_who_is_killed_perhaps_later() {
        let opened = |lifetimes: &mut Lifetimes| {
            lifetimes.open(at(0), span(0, 1, 10, 12));
            held(1, (20_000_000, 20_000_100), (20_000_200, 20_000_300), lifetimes);
        };
        let (mut by_itself, mut by_signal) = (Lifetimes::default(), Lifetimes::default());
        opened(&mut by_itself);
        opened(&mut by_signal);
        assert_eq!(gaps(by_itself, [70, 30_000_000], true), [(20_000_000, true)]);
        assert_eq!(gaps(by_signal, [70, 30_000_000], false), [(20_000_100, false)]);
    }

    #[test]
    fn who_begins_with_it_has_had_it_since_its_parent_has() {
        let mut lifetimes = Lifetimes::default();
        held(0, (10, 12), (30, 32), &mut lifetimes);
        held(0, (50, 52), (60, 62), &mut lifetimes);
        // A child of the second time, that tells of itself late.
        let child = Holder { process: 1, pid: 900 };
        assert_eq!(lifetimes.inherit(child, 100, span(1, 0, 70, 70)), 50);
        assert_eq!(gaps(lifetimes, [80, 90], true), [(50, true), (70, false)]);
    }
}
