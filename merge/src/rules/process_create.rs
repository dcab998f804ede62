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
    let mut shells: HashMap<HostPid, Vec<(Creator, Option<u64>)>> = HashMap::new();
    for creation in &process_tree.creations {
        let (host, parent) = process_tree.host_and_pid(creation.process);
        let creator = (creation.process, creation.enter);
        match creation.how {
            How::Returned(pid) => returned.entry((host, pid)).or_default().push(creator),
            How::System(end_ns) => shells.entry((host, parent)).or_default().push((creator, Some(end_ns))),
            How::Popen(_) => shells.entry((host, parent)).or_default().push((creator, None)),
        }
    }
    let mut latest_image: HashMap<HostPid, usize> = HashMap::new();
    let mut found = Vec::with_capacity(process_tree.images.len());
    for (process, image) in (0u32..).zip(&process_tree.images) {
        let before = latest_image.insert(process_tree.host_and_pid(process), process as usize);
        found.push(image.as_ref().and_then(|image| {
            replaced(process_tree, before)
                .or_else(|| by_pid(returned.get(&process_tree.host_and_pid(process))?, image))
                .or_else(|| by_shell(shells.get(&process_tree.host_and_parent(process))?, image))
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

fn by_pid(creators: &[Creator], image: &Image) -> Option<Creator> {
    creators.iter().copied().filter(|(_, enter)| enter.ns <= image.first.ns).max_by_key(|(_, enter)| enter.ns)
}

/// By `system`, which returned after the image started, or by `popen`.
fn by_shell(creators: &[(Creator, Option<u64>)], image: &Image) -> Option<Creator> {
    creators
        .iter()
        .filter(|((_, enter), _)| enter.ns <= image.first.ns)
        .filter(|(_, end_ns)| end_ns.is_none_or(|end_ns| image.first.ns <= end_ns))
        .map(|&(creator, _)| creator)
        .max_by_key(|(_, enter)| enter.ns)
}
