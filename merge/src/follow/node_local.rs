//! Files of hosts that have one path and are not one file: every host has its own `/dev/shm`, and may have its own `/tmp`.
//!
//! What file system a path lies in is not on record, but the inode that an open has found is. Hosts that share a file see the
//! same inode of it. Some file systems in user space number files on each host anew (sshfs): what hosts do there to one file
//! is not ordered.

use crate::follow::scope::below;
use foldhash::HashMap;
use syn_trace::descriptors::OpenFile;

/// Which file an open has found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity {
    /// The host that has opened it.
    pub host: usize,
    device: u32,
    /// 0 where it is not on record.
    pub inode: u64,
}

/// Which file a name means, as far as opens tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// The one that was found last.
    pub now: Identity,
    /// The inode of the one before: another host may have found that by the time it was replaced.
    before: u64,
}

impl Identity {
    /// Of a file that was opened on this host.
    pub fn of(host: usize, opened: &OpenFile) -> Identity {
        Identity { host, device: opened.device, inode: opened.inode }
    }
}

impl Known {
    /// The name means this one from now on.
    pub fn set(&mut self, identity: Identity) {
        if ![0, identity.inode].contains(&self.now.inode) {
            self.before = self.now.inode;
        }
        self.now = identity;
    }

    /// Whether this is certainly the one that was found last. Hosts number devices each for itself.
    pub fn is(&self, found: &Identity) -> bool {
        let is_there = self.now.device == found.device || self.now.host != found.host;
        found.inode != 0 && self.now.inode == found.inode && is_there
    }

    /// Whether it is another one, which only its own host has under the name.
    pub fn is_apart(&self, found: &Identity) -> bool {
        let others = [0, self.now.inode, self.before];
        self.now.inode != 0 && self.now.host != found.host && !others.contains(&found.inode)
    }
}

/// Whether every host has its own files there.
pub fn is_certainly(path: &str) -> bool {
    below("/dev/shm", path).is_some()
}

/// Files by host.
#[derive(Debug, Default)]
pub struct NodeLocal {
    /// By the file that a path means on one host: that host, and what it means on others.
    copies: HashMap<u32, Vec<(usize, u32)>>,
}

impl NodeLocal {
    /// From now on the file is that of this host alone.
    pub fn split(&mut self, file: u32, host: usize) {
        self.copies.entry(file).or_insert_with(|| vec![(host, file)]);
    }

    /// Whether hosts have files of their own under the path of this one.
    pub fn is_split(&self, file: u32) -> bool {
        self.copies.contains_key(&file)
    }

    /// What the path of a file means on a host; `None` if nobody has asked before.
    pub fn on(&self, host: usize, file: u32) -> Option<u32> {
        if self.copies.is_empty() {
            return Some(file);
        }
        let Some(copies) = self.copies.get(&file) else { return Some(file) };
        copies.iter().find(|(other, _)| *other == host).map(|&(_, copy)| copy)
    }

    /// It means this one there.
    pub fn put(&mut self, host: usize, file: u32, copy: u32) {
        self.copies.entry(file).or_default().push((host, copy));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_inode_on_another_host_is_another_file_unless_the_name_had_it() {
        let found = |host, inode| Identity { host, device: 1, inode };
        let mut known = Known::default();
        assert!(!known.is_apart(&found(1, 11)), "nobody has opened it");
        known.set(found(0, 10));
        assert!(known.is_apart(&found(1, 11)) && !known.is_apart(&found(1, 10)));
        assert!(!known.is_apart(&found(0, 11)), "replaced by somebody who is not on record");
        assert!(!known.is_apart(&found(1, 0)), "not on record");
        known.set(found(0, 11));
        assert!(!known.is_apart(&found(1, 10)), "replaced when the other host had opened it");
        assert!(known.is_apart(&found(1, 12)));
        known.set(Identity::default());
        assert!(!known.is_apart(&found(1, 12)), "removed");
    }
}
