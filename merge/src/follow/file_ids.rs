//! Which file an inode means: every file system of a host has its own. Of descriptors of `memfd_create`, and in older records, the
//! device is not known; then the inode tells alone.

use std::collections::HashMap;
use syn_trace::descriptors::OpenFile;

/// Numbers for the files of a run, each on its host.
#[derive(Debug, Default)]
pub struct FileIds {
    /// By host and inode: the device, 0 as long as it is not known, and the number.
    known: HashMap<(usize, u64), Vec<(u32, u32)>>,
    count: u32,
}

impl FileIds {
    /// The number of the file that was opened; `None` where nothing tells.
    pub fn of(&mut self, host: usize, file: &OpenFile) -> Option<u32> {
        if file.inode == 0 {
            return None;
        }
        let of_inode = self.known.entry((host, file.inode)).or_default();
        let same = of_inode.iter().position(|&(device, _)| device == file.device);
        let unknown = || of_inode.iter().position(|&(device, _)| device == 0 || file.device == 0);
        if let Some(place) = same.or_else(unknown) {
            let (device, id) = &mut of_inode[place];
            *device = if *device == 0 { file.device } else { *device };
            return Some(*id);
        }
        of_inode.push((file.device, self.count));
        self.count += 1;
        Some(self.count - 1)
    }
}
