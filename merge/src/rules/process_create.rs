//! A process starts after the call that created it.
//!
//! `execve` makes a new image of the same process; `fork`, `vfork` and `posix_spawn` return the new process's id;
//! `system` and `popen` do not, but the new process names its parent. Where no call is known, the parent's last
//! event before is taken.

use crate::follow::process_tree::{How, Image, ProcessTree};
use crate::graph::dependency::Moment;
use std::collections::HashMap;

/// Which process made an image, and when.
pub type Creator = (u32, Moment);

/// A host and a process id on it.
type HostPid = (usize, u32);

/// The creator of every image.
pub fn creators(process_tree: &ProcessTree) -> Vec<Option<Creator>> {
    let mut returned: HashMap<HostPid, Vec<Creator>> = HashMap::new();
    let mut shells: HashMap<HostPid, Shells> = HashMap::new();
    for creation in &process_tree.creations {
        let (host, parent) = process_tree.host_and_pid(creation.process);
        let creator = (creation.process, creation.enter);
        match creation.how {
            How::Returned(pid) => returned.entry((host, pid)).or_default().push(creator),
            How::System(end_ns) => shells.entry((host, parent)).or_default().0.push((creator, end_ns)),
            How::Popen(_) => shells.entry((host, parent)).or_default().0.push((creator, u64::MAX)),
        }
    }
    // They were noted as they returned.
    returned.values_mut().for_each(|creators| creators.sort_by_key(|(_, enter)| enter.ns));
    let by_shell = by_shell(process_tree, shells);
    let mut latest_image: HashMap<HostPid, usize> = HashMap::new();
    let mut found = Vec::with_capacity(process_tree.images.len());
    for (process, image) in (0u32..).zip(&process_tree.images) {
        let before = latest_image.insert(process_tree.host_and_pid(process), process as usize);
        found.push(image.as_ref().and_then(|image| {
            replaced(process_tree, before)
                .or_else(|| by_pid(returned.get(&process_tree.host_and_pid(process))?, image))
                .or(by_shell[process as usize])
                .or(image.parent_before)
        }));
    }
    found
}

/// The image before, of the same process, called `execve`.
fn replaced(process_tree: &ProcessTree, before: Option<usize>) -> Option<Creator> {
    let before = before?;
    Some((before as u32, process_tree.images[before].as_ref()?.exec?))
}

/// Given those that return its id, ascending in time.
fn by_pid(creators: &[Creator], image: &Image) -> Option<Creator> {
    let before = creators.partition_point(|(_, enter)| enter.ns <= image.first.ns);
    creators[..before].last().copied()
}

/// The calls of a process that run a shell, and when each had returned; one of `popen` never has.
#[derive(Default)]
struct Shells(Vec<(Creator, u64)>);

impl Shells {
    /// The latest call that was entered before and had not returned, for each of these times, which ascend.
    fn under_way_at(mut self, times_ns: impl Iterator<Item = u64>) -> Vec<Option<Creator>> {
        self.0.sort_by_key(|((_, enter), _)| enter.ns);
        let mut calls = self.0.into_iter().peekable();
        let mut entered: Vec<(Creator, u64)> = Vec::new();
        let latest = times_ns.map(|ns| {
            while let Some(call) = calls.next_if(|((_, enter), _)| enter.ns <= ns) {
                entered.push(call);
            }
            // What has returned by then is not under way later either.
            while entered.pop_if(|&mut (_, end_ns)| end_ns < ns).is_some() {}
            entered.last().map(|&(creator, _)| creator)
        });
        latest.collect()
    }
}

/// The call of `system` or `popen` that may have made each image.
fn by_shell(process_tree: &ProcessTree, mut shells: HashMap<HostPid, Shells>) -> Vec<Option<Creator>> {
    let mut found = vec![None; process_tree.images.len()];
    let mut children: HashMap<HostPid, Vec<(u64, u32)>> = HashMap::new();
    for (process, image) in (0u32..).zip(&process_tree.images) {
        let parent = process_tree.host_and_parent(process);
        if let Some(image) = image.as_ref().filter(|_| shells.contains_key(&parent)) {
            children.entry(parent).or_default().push((image.first.ns, process));
        }
    }
    for (parent, mut children) in children {
        let Some(shells) = shells.remove(&parent) else { continue };
        children.sort_unstable();
        let creators = shells.under_way_at(children.iter().map(|&(ns, _)| ns));
        for ((_, process), creator) in children.into_iter().zip(creators) {
            found[process as usize] = creator;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::span;

    #[test]
    fn a_shell_is_found_among_many() {
        const COUNT: u32 = 200_000;
        let call =
            |record: u32, from_ns: u64, end_ns: u64| ((0, span(0, record, from_ns, end_ns).enter), end_ns);
        // One thread runs one command all the time, another one many that are over soon.
        let mut calls: Vec<_> =
            (1..=COUNT).map(|at| call(at, u64::from(at) * 10, u64::from(at) * 10 + 5)).collect();
        calls.push(call(0, 1, u64::from(COUNT) * 20));
        let times_ns = (1..=COUNT).flat_map(|at| [u64::from(at) * 10 + 5, u64::from(at) * 10 + 6]);
        let behind_ns = (1..=u64::from(COUNT)).map(|at| u64::from(COUNT) * 10 + 6 + at);
        let found = Shells(calls).under_way_at(times_ns.chain(behind_ns));
        let records = found.into_iter().map(|creator| creator.map(|(_, enter)| enter.point().record));
        let expected = (1..=COUNT).flat_map(|at| [Some(at), Some(0)]);
        assert!(records.eq(expected.chain((0..COUNT).map(|_| Some(0)))));
    }
}
