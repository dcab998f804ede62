//! A process starts after the call that created it.
//!
//! `execve` makes a new image of the same process; `fork`, `vfork` and `posix_spawn` return the new process's id;
//! `system` and `popen` do not, but the new process names its parent. Where no call is known, the parent's last
//! event before is taken.

use crate::dependency::Moment;
use crate::lineage::{How, Image, Lineage};
use std::collections::HashMap;

/// Which process made an image, and when.
pub type Creator = (u32, Moment);

/// A host and a process id on it.
type HostPid = (usize, u32);

/// The creator of every image.
pub fn creators(lineage: &Lineage) -> Vec<Option<Creator>> {
    let mut returned: HashMap<HostPid, Vec<Creator>> = HashMap::new();
    let mut shells: HashMap<HostPid, Vec<(Creator, Option<u64>)>> = HashMap::new();
    for creation in &lineage.creations {
        let (host, parent) = lineage.host_and_pid(creation.process);
        let creator = (creation.process, creation.enter);
        match creation.how {
            How::Returned(pid) => returned.entry((host, pid)).or_default().push(creator),
            How::System(end_ns) => shells.entry((host, parent)).or_default().push((creator, Some(end_ns))),
            How::Popen(_) => shells.entry((host, parent)).or_default().push((creator, None)),
        }
    }
    let mut latest_image: HashMap<HostPid, usize> = HashMap::new();
    let mut found = Vec::with_capacity(lineage.images.len());
    for (process, image) in (0u32..).zip(&lineage.images) {
        let before = latest_image.insert(lineage.host_and_pid(process), process as usize);
        found.push(image.as_ref().and_then(|image| {
            replaced(lineage, before)
                .or_else(|| by_pid(returned.get(&lineage.host_and_pid(process))?, image))
                .or_else(|| by_shell(shells.get(&lineage.host_and_parent(process))?, image))
                .or(image.parent_before)
        }));
    }
    found
}

/// The image before, of the same process, called `execve`.
fn replaced(lineage: &Lineage, before: Option<usize>) -> Option<Creator> {
    let before = before?;
    Some((before as u32, lineage.images[before].as_ref()?.exec?))
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
