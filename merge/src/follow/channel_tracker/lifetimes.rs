//! When nobody had a pipe with a name open: what was left in it then is lost (fifo(7)).
//!
//! A process surely has it open from the return of `open` to the entry of its last `close`, and may have it from the entry of
//! `open` to the return of `close`. Who begins with it may have it since its parent first had. Who ends with it open has it until
//! somebody has waited for that end, at the latest.

use crate::graph::dependency::{Moment, Span};
use crate::rules::stream::{Moved, Stream};
use std::collections::{BTreeMap, HashMap};
use std::iter::Peekable;

/// A process, by its index and its id.
#[derive(Clone, Copy, Debug)]
pub struct Holder {
    pub process: u32,
    pub pid: u32,
}

/// For how long a process has had it open.
#[derive(Clone, Copy, Debug)]
struct Presence {
    open_files: u32,
    maybe_from_ns: u64,
    from_ns: u64,
    to_ns: u64,
    maybe_to_ns: u64,
}

/// A stretch in which no process is known to have it open; certain if none can have had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// What belongs to the time before began earlier than this.
    pub at_ns: u64,
    pub is_certain: bool,
}

/// When a process with one id may have come to have it open.
#[derive(Clone, Copy, Debug)]
struct Since {
    /// The latest image of the process.
    process: u32,
    /// The first time, and the last one.
    first_ns: u64,
    last_ns: u64,
}

/// Who has had one pipe open. Memory: 40 bytes for each time that a process has.
#[derive(Debug, Default)]
pub struct Lifetimes {
    /// By process.
    now: BTreeMap<u32, Presence>,
    over: Vec<Presence>,
    /// By the id of a process.
    since: HashMap<u32, Since>,
}

impl Lifetimes {
    /// A process opens it.
    pub fn open(&mut self, holder: Holder, call: Span) {
        self.hold(holder, call.enter.ns, call.leave.ns);
    }

    /// A process, or a program, begins with it open. Since when it has, as far as is known.
    pub fn inherit(&mut self, holder: Holder, parent: u32, record: Span) -> u64 {
        // A new program has it without a break.
        let image_before = self.since.get(&holder.pid).filter(|since| since.process != holder.process);
        if let Some(own) = image_before.and_then(|since| self.now.remove(&since.process)) {
            self.now.insert(holder.process, Presence { open_files: 0, ..own });
        }
        let own_ns = self.now.get(&holder.process).map(|own| own.maybe_from_ns);
        let of_parent = self.since.get(&parent);
        let maybe_from_ns = of_parent.map_or(0, |since| since.first_ns);
        let since_ns = own_ns.or(of_parent.map(|since| since.last_ns)).unwrap_or(record.enter.ns);
        self.hold(holder, maybe_from_ns, record.leave.ns);
        since_ns
    }

    fn hold(&mut self, holder: Holder, maybe_from_ns: u64, from_ns: u64) {
        let begins =
            || Presence { open_files: 0, maybe_from_ns, from_ns, to_ns: u64::MAX, maybe_to_ns: u64::MAX };
        let presence = self.now.entry(holder.process).or_insert_with(begins);
        presence.open_files += 1;
        let (process, ns) = (holder.process, presence.maybe_from_ns);
        let first = Since { process, first_ns: ns, last_ns: ns };
        let since = self.since.entry(holder.pid).or_insert(first);
        *since = Since { process, first_ns: since.first_ns.min(ns), last_ns: ns };
    }

    /// A process closes it. Nothing may be on record of how it got it.
    pub fn close(&mut self, holder: Holder, call: Span) {
        let from_ns = call.enter.ns;
        let unknown = Presence { open_files: 1, maybe_from_ns: 0, from_ns, to_ns: 0, maybe_to_ns: 0 };
        let presence = self.now.remove(&holder.process).unwrap_or(unknown);
        match presence.open_files {
            0 | 1 => {
                self.over.push(Presence { to_ns: call.enter.ns, maybe_to_ns: call.leave.ns, ..presence })
            }
            more => _ = self.now.insert(holder.process, Presence { open_files: more - 1, ..presence }),
        }
    }

    /// The gaps, by time. Wants the last moment of every process, and until when it was over, if that is known.
    pub fn gaps(self, last: &[Option<Moment>], over_by: impl Fn(u32) -> Option<u64>) -> Vec<Gap> {
        let at_the_end = self.now.into_iter().map(|(process, presence)| {
            let to_ns = last[process as usize].map_or(0, |moment| moment.ns);
            Presence { to_ns, maybe_to_ns: over_by(process).unwrap_or(u64::MAX), ..presence }
        });
        let mut all: Vec<Presence> = self.over.into_iter().chain(at_the_end).collect();
        all.sort_unstable_by_key(|presence| (presence.from_ns, presence.to_ns));
        let mut by_maybe: Vec<(u64, u64)> =
            all.iter().map(|presence| (presence.maybe_from_ns, presence.maybe_to_ns)).collect();
        by_maybe.sort_unstable();
        let mut certain = uncovered(by_maybe.into_iter()).into_iter().peekable();
        let gap = |(from_ns, to_ns)| {
            while certain.next_if(|&(_, to)| to <= from_ns).is_some() {}
            let inside = certain.peek().filter(|&&(from, _)| from < to_ns);
            Gap { at_ns: inside.map_or(to_ns, |&(_, to)| to.min(to_ns)), is_certain: inside.is_some() }
        };
        let surely = all.iter().map(|presence| (presence.from_ns, presence.to_ns));
        uncovered(surely).into_iter().map(gap).collect()
    }
}

/// What went through the pipe, apart by its lives. Where nobody knows whether bytes were lost in a gap, but all came out in the end, none
/// were. Otherwise not what came behind that gap; then the answer is false.
pub fn split(stream: Stream, gaps: &[Gap]) -> (Vec<Stream>, bool) {
    if gaps.is_empty() {
        return (vec![stream], true);
    }
    let Stream { mut writes, mut reads, mut looks, mut closings, capacity, mut room, .. } = stream;
    writes.sort_by_key(|write| write.span.enter.ns);
    reads.sort_by_key(|read| read.span.enter.ns);
    looks.sort_by_key(|look| look.enter.ns);
    room.sort_by_key(|wait| wait.enter.ns);
    closings.sort_by_key(|closing| closing.end.at.ns);
    let (mut writes, mut reads) = (writes.into_iter().peekable(), reads.into_iter().peekable());
    let (mut looks, mut room) = (looks.into_iter().peekable(), room.into_iter().peekable());
    let mut closings = closings.into_iter().peekable();
    let (mut lives, mut all_known) = (Vec::new(), true);
    let mut life = Stream::default();
    let (mut put_in, mut taken_out) = (0u64, 0u64);
    // The first gap in which bytes may have been lost.
    let mut doubt = None;
    let at_the_end = Gap { at_ns: u64::MAX, is_certain: true };
    for &Gap { at_ns, is_certain } in gaps.iter().chain([&at_the_end]) {
        put_in = put_in.saturating_add(move_before(at_ns, &mut writes, &mut life.writes));
        taken_out = taken_out.saturating_add(move_before(at_ns, &mut reads, &mut life.reads));
        life.looks.extend(std::iter::from_fn(|| looks.next_if(|look| look.enter.ns < at_ns)));
        life.room.extend(std::iter::from_fn(|| room.next_if(|wait| wait.enter.ns < at_ns)));
        life.closings.extend(std::iter::from_fn(|| closings.next_if(|closing| closing.end.at.ns < at_ns)));
        if put_in == taken_out {
            doubt = None;
        } else if !is_certain {
            doubt.get_or_insert(at_ns);
        }
        if is_certain {
            let mut whole = Stream { capacity, ..std::mem::take(&mut life) };
            if let Some(doubt_ns) = doubt.take() {
                whole.end_before(doubt_ns);
                all_known = false;
            }
            lives.push(whole);
            (put_in, taken_out) = (0, 0);
        }
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

    fn gaps(lifetimes: Lifetimes, last_ns: [u64; 2], over_by: Option<u64>) -> Vec<(u64, bool)> {
        let last = last_ns.map(|ns| Some(span(0, 9, ns, ns).leave));
        lifetimes.gaps(&last, |_| over_by).into_iter().map(|gap| (gap.at_ns, gap.is_certain)).collect()
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
        assert_eq!(gaps(lifetimes, [70, 70], None), [(50, true)]);
    }

    #[test]
    fn where_an_open_and_the_last_close_overlap_nobody_knows() {
        let mut lifetimes = Lifetimes::default();
        held(0, (10, 12), (30, 36), &mut lifetimes);
        held(1, (34, 38), (40, 42), &mut lifetimes);
        assert_eq!(gaps(lifetimes, [70, 70], None), [(38, false)]);
    }

    #[test]
    fn who_ends_has_closed_it_when_somebody_has_waited_for_that() {
        let opened = || {
            let mut lifetimes = Lifetimes::default();
            lifetimes.open(at(0), span(0, 1, 10, 12));
            held(1, (100, 110), (120, 130), &mut lifetimes);
            lifetimes
        };
        assert_eq!(gaps(opened(), [70, 140], Some(90)), [(100, true)]);
        assert_eq!(gaps(opened(), [70, 140], None), [(110, false)]);
    }

    #[test]
    fn who_begins_with_it_may_have_had_it_since_its_parent_has() {
        let mut lifetimes = Lifetimes::default();
        held(0, (10, 12), (30, 32), &mut lifetimes);
        held(0, (50, 52), (60, 62), &mut lifetimes);
        // A child that tells of itself late: of the second time, or the first.
        let child = Holder { process: 1, pid: 900 };
        assert_eq!(lifetimes.inherit(child, 100, span(1, 0, 70, 70)), 50);
        assert_eq!(gaps(lifetimes, [80, 90], None), [(52, false), (70, false)]);
    }

    #[test]
    fn a_new_program_has_it_without_a_break() {
        let mut lifetimes = Lifetimes::default();
        lifetimes.open(at(0), span(0, 1, 10, 12));
        let program = Holder { process: 1, pid: 100 };
        assert_eq!(lifetimes.inherit(program, 1, span(1, 0, 70, 70)), 10);
        lifetimes.close(program, span(1, 1, 80, 82));
        held(0, (90, 92), (94, 96), &mut lifetimes);
        assert_eq!(gaps(lifetimes, [30, 90], None), [(90, true)]);
    }

    #[test]
    fn bytes_that_came_out_were_not_lost() {
        let moved = |record, ns| Moved::new(span(0, record, ns, ns + 1), 1);
        let lives = |reads: &[u64]| {
            let stream = Stream {
                writes: vec![moved(1, 10), moved(2, 30), moved(3, 50)],
                reads: reads.iter().map(|&ns| moved(7, ns)).collect(),
                ..Stream::default()
            };
            let gaps = [(20, false), (40, true)].map(|(at_ns, is_certain)| Gap { at_ns, is_certain });
            let (lives, all_known) = split(stream, &gaps);
            (lives.iter().map(|life| life.writes.len()).collect::<Vec<_>>(), all_known)
        };
        assert_eq!(lives(&[31, 32]), (vec![2, 1], true));
        assert_eq!(lives(&[31, 51]), (vec![1, 1], false));
        assert_eq!(lives(&[11, 51]), (vec![2, 1], true));
    }
}
