//! A wait for a process returns after the process ended: by itself, or by a signal that another one sent. So does what its end brings
//! about elsewhere: a pipe that nobody can write to any more, a lock that is given back.

use super::process_create::Creator;
use crate::follow::process_tree::{How, Image, Join, Kill, ProcessTree, Whom, may_be_over};
use crate::graph::dependency::{Moment, Point, Span, Stage};
use std::collections::HashMap;
use syn_plan::Guarantee;

/// The images whose end every join saw, by position of the join.
pub fn ended(process_tree: &ProcessTree, creators: &[Option<Creator>]) -> Vec<Vec<u32>> {
    let mut by_pid: HashMap<(usize, u32), Vec<u32>> = HashMap::new();
    let mut by_parent: HashMap<(usize, u32), Children> = HashMap::new();
    let mut by_creation: HashMap<Point, Vec<u32>> = HashMap::new();
    for (process, image) in (0u32..).zip(&process_tree.images) {
        let Some(image) = image else { continue };
        by_pid.entry(process_tree.host_and_pid(process)).or_default().push(process);
        let siblings = by_parent.entry(process_tree.host_and_parent(process)).or_default();
        siblings.0.push((image.first.ns, process));
        if let Some((_, created)) = creators[process as usize] {
            by_creation.entry(created.point()).or_default().push(process);
        }
    }
    by_parent.values_mut().for_each(|children| children.0.sort_unstable());
    let streams = streams(process_tree);
    let first_ns =
        |process: u32| process_tree.images[process as usize].as_ref().map_or(0, |image| image.first.ns);
    let of_join = |join: &Join| {
        let own = process_tree.host_and_pid(join.process);
        let started = |&process: &u32| first_ns(process) <= join.leave.ns;
        match join.whom {
            Whom::Process(pid) => {
                let mut images = by_pid.get(&(own.0, pid)).into_iter().flatten().copied();
                images.rfind(started).into_iter().collect()
            }
            Whom::ChildrenSince(start_ns) => {
                let children = by_parent.get(&own);
                let since = children.map(|children| children.started(start_ns, join.leave.ns));
                commands_own(process_tree, since.unwrap_or_default(), join.leave)
            }
            Whom::Stream(fd) => {
                let created = streams.get(&(join.process, fd)).and_then(|popens| {
                    let before = popens.partition_point(|enter| enter.ns <= join.leave.ns);
                    by_creation.get(&popens[..before].last()?.point())
                });
                let is_child = |process: &u32| process_tree.host_and_parent(*process) == own;
                created.into_iter().flatten().copied().filter(is_child).filter(started).collect()
            }
        }
    };
    process_tree.joins.iter().map(of_join).collect()
}

/// The images of the children of a process, and when each began; ascending.
#[derive(Default)]
struct Children(Vec<(u64, u32)>);

impl Children {
    /// Those that began between these times, in the order of the run.
    fn started(&self, from_ns: u64, to_ns: u64) -> Vec<u32> {
        let first = self.0.partition_point(|&(ns, _)| ns < from_ns);
        let behind = self.0.partition_point(|&(ns, _)| ns <= to_ns).max(first);
        let mut started: Vec<u32> = self.0[first..behind].iter().map(|&(_, process)| process).collect();
        started.sort_unstable();
        started
    }
}

/// The calls of `popen` by process and descriptor, ascending in time.
fn streams(process_tree: &ProcessTree) -> HashMap<(u32, i64), Vec<Moment>> {
    let mut streams: HashMap<_, Vec<Moment>> = HashMap::new();
    for creation in &process_tree.creations {
        if let How::Popen(fd) = creation.how {
            streams.entry((creation.process, fd)).or_default().push(creation.enter);
        }
    }
    // They were noted as they returned.
    streams.values_mut().for_each(|popens| popens.sort_by_key(|enter| enter.ns));
    streams
}

/// Of the processes that a process made while `system` ran in it, other threads may have made some. The call returns when its
/// own command has ended (system(3)): the last one that is over by then.
fn commands_own(process_tree: &ProcessTree, mut made: Vec<u32>, leave: Moment) -> Vec<u32> {
    let last = |process: u32| process_tree.images[process as usize].as_ref().map(|image| image.last);
    let over =
        made.iter().copied().filter(|&process| last(process).is_some_and(|last| may_be_over(last, leave)));
    if let Some(own) = over.max_by_key(|&process| last(process).map(|last| last.ns)) {
        made.retain(|&process| process_tree.host_and_pid(process) == process_tree.host_and_pid(own));
    }
    made
}

/// What ended a process.
#[derive(Clone, Copy, Debug)]
pub enum EndedBy<'a> {
    /// What it did itself.
    Itself,
    /// A signal of this call: *observed* where it went to a group of which nobody knows whether the process was in it.
    Signal(&'a Kill, Guarantee),
    /// A signal of one of several calls.
    Unknown,
}

/// A record of a process may be so much later than the return of the call whose signal ended it, nanoseconds: the processor that it
/// ran on had to be told.
const LATEST_RECORD_NS: u64 = 100_000;

/// The signals that were sent, by host, signal and process (`None` for a group), ascending in time.
pub struct Kills<'a>(HashMap<(usize, i64, Option<u32>), Vec<&'a Kill>>);

impl<'a> Kills<'a> {
    pub fn of(process_tree: &'a ProcessTree) -> Kills<'a> {
        let mut sent: HashMap<_, Vec<&Kill>> = HashMap::new();
        for kill in &process_tree.kills {
            sent.entry((kill.host, kill.signal, kill.pid)).or_default().push(kill);
        }
        // They were noted as they returned.
        sent.values_mut().for_each(|kills| kills.sort_by_key(|kill| kill.enter.ns));
        Kills(sent)
    }

    /// The first of these signals that were sent to this process alone, behind its last record.
    fn first_behind(&self, host: usize, pid: u32, last: Moment, signals: &[i32]) -> Option<&'a Kill> {
        let sent = signals.iter().filter_map(|&signal| self.0.get(&(host, signal.into(), Some(pid))));
        let behind =
            |kills: &Vec<&'a Kill>| kills.get(kills.partition_point(|kill| kill.leave_ns < last.ns)).copied();
        sent.filter_map(behind).min_by_key(|kill| kill.enter.ns)
    }

    /// What ended the process on `host` that `join` saw end, and that was last seen at `last`. What it did behind a signal, that did not
    /// end it; the first one behind its last record did, if it was for this process and no other may have come before. Of groups only the
    /// leader is known.
    pub fn that_ended(&self, host: usize, join: &Join, last: Moment) -> EndedBy<'a> {
        let (Some(signal), Whom::Process(pid)) = (join.signal, join.whom) else { return EndedBy::Itself };
        let may_have = |kill: &&Kill| kill.leave_ns.saturating_add(LATEST_RECORD_NS) >= last.ns;
        let mut kills: Vec<&Kill> = Vec::new();
        for sent in [Some(pid), None].into_iter().filter_map(|pid| self.0.get(&(host, signal, pid))) {
            let before = sent.partition_point(|kill| kill.enter.ns <= join.leave.ns);
            kills.extend(sent[..before].iter().rev().take_while(|kill| may_have(kill)));
        }
        kills.sort_by_key(|kill| kill.enter.ns);
        let is_for_it = |kill: &Kill| kill.pid.or(kill.group) == Some(pid);
        match kills[..] {
            [] => EndedBy::Itself,
            [only] if is_for_it(only) => EndedBy::Signal(only, Guarantee::Certain),
            [only] => EndedBy::Signal(only, Guarantee::Observed),
            [first, next, ..]
                if is_for_it(first) && first.leave_ns >= last.ns && first.leave_ns <= next.enter.ns =>
            {
                EndedBy::Signal(first, Guarantee::Certain)
            }
            _ => EndedBy::Unknown,
        }
    }
}

/// When a process was over.
#[derive(Clone, Copy, Debug)]
pub struct ProcessEnd {
    /// What ended it: its last record, the call that sent a signal, or what it did behind its last record, when that was over.
    pub at: Moment,
    /// By when it was over, nanoseconds.
    pub by_ns: u64,
}

impl ProcessEnd {
    /// With this moment.
    pub fn with(at: Moment) -> ProcessEnd {
        ProcessEnd { at, by_ns: at.ns }
    }

    /// A process that a signal of its own making ended: a timer, an instruction. It was at work behind its last record, or waited. By when
    /// that was over knows who slept until then.
    fn behind(last: Moment, join: &Join) -> ProcessEnd {
        let Point { thread, record, .. } = last.point();
        let at =
            Moment::new(Point { thread, record: record.saturating_add(1), stage: Stage::Enter }, last.ns);
        ProcessEnd { at, by_ns: if join.waited { join.leave.ns.max(last.ns) } else { last.ns } }
    }

    /// Whether this is behind the last record of the process, which is here.
    pub fn is_behind(&self, last: Moment) -> bool {
        let (end, last) = (self.at.point(), last.point());
        end.thread == last.thread && end.record > last.record
    }

    /// The moment, for somebody who had seen the end at that time.
    pub fn seen_at(&self, ns: u64) -> Moment {
        Moment::new(self.at.point(), self.by_ns.min(ns).max(self.at.ns))
    }

    /// From the first to the last moment at which it may have been over.
    pub fn span(&self) -> Span {
        Span { enter: self.at, leave: Moment::new(self.at.point(), self.by_ns) }
    }

    /// The same on another time axis.
    pub fn retime(&mut self, ns: impl Fn(u32, u64) -> u64) {
        let thread = self.at.point().thread;
        (self.at.ns, self.by_ns) = (ns(thread, self.at.ns), ns(thread, self.by_ns));
    }
}

/// The signals by which people end processes, and which end those that have no handler (signal(7)).
const FATAL: [i32; 5] = [libc::SIGKILL, libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// When every process was over, if that is known. `told`: it came to say itself what it had used.
pub fn ends(
    process_tree: &ProcessTree,
    kills: &Kills<'_>,
    ended: &[Vec<u32>],
    told: impl Fn(u32) -> bool,
) -> Vec<Option<ProcessEnd>> {
    let by_call = |kill: &Kill| ProcessEnd { at: kill.enter, by_ns: kill.leave_ns.max(kill.enter.ns) };
    let alone = |(process, image): (u32, &Option<Image>)| {
        let last = image.as_ref()?.last;
        let (host, pid) = process_tree.host_and_pid(process);
        let kill = if told(process) { None } else { kills.first_behind(host, pid, last, &FATAL) };
        let kill = kill.filter(|kill| !process_tree.is_launcher(kill.process));
        Some(kill.map_or(ProcessEnd::with(last), by_call))
    };
    let mut ends: Vec<Option<ProcessEnd>> = (0..).zip(&process_tree.images).map(alone).collect();
    let tells = (0..process_tree.images.len()).any(|process| told(process as u32));
    for (join, processes) in process_tree.joins.iter().zip(ended) {
        let Some(&process) = processes.last().filter(|&&process| !told(process)) else { continue };
        let Some(image) = &process_tree.images[process as usize] else { continue };
        let ended_by = kills.that_ended(process_tree.host_and_pid(join.process).0, join, image.last);
        let end = &mut ends[process as usize];
        *end = match ended_by {
            // Not everybody asks for the signal. Where others come to say what they have used, it was one.
            EndedBy::Itself if join.signal.is_none() => {
                let alone = end.filter(|end| !tells || end.at.point() != image.last.point());
                alone.or(Some(ProcessEnd::behind(image.last, join)))
            }
            EndedBy::Itself => Some(ProcessEnd::behind(image.last, join)),
            // There is nothing of a launcher in a plan.
            EndedBy::Signal(kill, _) if process_tree.is_launcher(kill.process) => {
                Some(ProcessEnd::behind(image.last, join))
            }
            EndedBy::Signal(kill, Guarantee::Certain) => Some(by_call(kill)),
            EndedBy::Signal(..) | EndedBy::Unknown => None,
        };
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_found_among_many() {
        const COUNT: u32 = 200_000;
        let children = Children((0..COUNT).map(|process| (u64::from(process) * 10, process)).collect());
        let own = |process| children.started(u64::from(process) * 10, u64::from(process) * 10 + 9);
        assert!((0..COUNT).all(|process| own(process) == [process]));
        assert_eq!(Children(vec![(5, 2), (6, 1), (7, 0)]).started(5, 6), [1, 2]);
        assert_eq!(children.started(30, 20), [] as [u32; 0]);
    }
}
