//! A wait for a process returns after the process ended: by itself, or by a signal that another one sent.

use super::process_create::Creator;
use crate::follow::process_tree::{How, Join, Kill, ProcessTree, Whom, may_be_over};
use crate::graph::dependency::Moment;
use std::collections::HashMap;

/// The images whose end every join saw, by position of the join.
pub fn ended(process_tree: &ProcessTree, creators: &[Option<Creator>]) -> Vec<Vec<u32>> {
    let mut by_pid: HashMap<(usize, u32), Vec<u32>> = HashMap::new();
    let mut by_parent: HashMap<(usize, u32), Vec<u32>> = HashMap::new();
    for (process, _) in (0u32..).zip(&process_tree.images).filter(|(_, image)| image.is_some()) {
        by_pid.entry(process_tree.host_and_pid(process)).or_default().push(process);
        by_parent.entry(process_tree.host_and_parent(process)).or_default().push(process);
    }
    let first_ns =
        |process: u32| process_tree.images[process as usize].as_ref().map_or(0, |image| image.first.ns);
    let of_join = |join: &Join| {
        let (host, pid) = process_tree.host_and_pid(join.process);
        let started = |&process: &u32| first_ns(process) <= join.leave.ns;
        let children = || by_parent.get(&(host, pid)).into_iter().flatten().copied().filter(started);
        match join.whom {
            Whom::Process(pid) => {
                let mut images = by_pid.get(&(host, pid)).into_iter().flatten().copied();
                images.rfind(started).into_iter().collect()
            }
            Whom::ChildrenSince(start_ns) => {
                let since: Vec<u32> = children().filter(|&process| first_ns(process) >= start_ns).collect();
                commands_own(process_tree, since, join.leave)
            }
            Whom::Stream(fd) => {
                let popen = process_tree
                    .creations
                    .iter()
                    .filter(|creation| creation.how == How::Popen(fd) && creation.process == join.process)
                    .filter(|creation| creation.enter.ns <= join.leave.ns)
                    .max_by_key(|creation| creation.enter.ns);
                let by_popen = |process: &u32| {
                    let creator = creators[*process as usize].map(|(_, created)| created.point());
                    creator.is_some() && creator == popen.map(|popen| popen.enter.point())
                };
                children().filter(by_popen).collect()
            }
        }
    };
    process_tree.joins.iter().map(of_join).collect()
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
    /// A signal of this call.
    Signal(&'a Kill),
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

    /// What ended the process on `host` that `join` saw end, and that was last seen at `last`. What it did behind a signal, that did not
    /// end it; the first one behind its last record did, if it was for this process and no other may have come before. Of groups only the
    /// leader is known.
    pub fn that_ended(&self, host: usize, join: &Join, last: Moment) -> EndedBy<'a> {
        let (Some(signal), Whom::Process(pid)) = (join.signal, join.whom) else { return EndedBy::Itself };
        let sent = [Some(pid), None].into_iter().filter_map(|pid| self.0.get(&(host, signal, pid)));
        let may_have = |kill: &&Kill| {
            kill.enter.ns <= join.leave.ns && kill.leave_ns.saturating_add(LATEST_RECORD_NS) >= last.ns
        };
        let mut kills: Vec<&Kill> = sent.flatten().copied().filter(may_have).collect();
        kills.sort_by_key(|kill| kill.enter.ns);
        let is_for_it = |kill: &Kill| kill.pid.or(kill.group) == Some(pid);
        match kills[..] {
            [] => EndedBy::Itself,
            [only] => EndedBy::Signal(only),
            [first, next, ..]
                if is_for_it(first) && first.leave_ns >= last.ns && first.leave_ns <= next.enter.ns =>
            {
                EndedBy::Signal(first)
            }
            _ => EndedBy::Unknown,
        }
    }
}
