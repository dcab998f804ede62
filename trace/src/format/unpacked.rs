//! Traces that were packed, while they are read: in a file without a name, mapped, so that no memory is held for what has
//! been read.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Every trace begins with a page of its own.
const PAGE: u64 = 4096;

/// The file. It is gone with the last mapping of it.
#[derive(Debug)]
pub(crate) struct Store {
    file: File,
    end: u64,
}

impl Store {
    /// An empty one in the folder for temporary files.
    pub(crate) fn new() -> io::Result<Store> {
        let file = nameless(&std::env::temp_dir())?;
        Ok(Store { file, end: 0 })
    }

    /// Appends a trace, and maps it.
    pub(crate) fn add(&mut self, trace: &[u8]) -> io::Result<memmap2::Mmap> {
        self.file.write_all_at(trace, self.end)?;
        let mut options = memmap2::MmapOptions::new();
        options.offset(self.end).len(trace.len());
        self.end = (self.end + trace.len() as u64).next_multiple_of(PAGE);
        // SAFETY: nobody else can open the file, and what was written to it is not written to again.
        unsafe { options.map(&self.file) }
    }
}

/// A file without a name in this folder. Some file systems make none: there it has one for a moment.
fn nameless(folder: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).mode(0o600);
    if let Ok(file) = options.clone().custom_flags(libc::O_TMPFILE).open(folder) {
        return Ok(file);
    }
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("syn-{}-{number}.unpacked", std::process::id()));
    let file = options.create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_come_back_as_they_were_and_leave_no_file() {
        let mut store = Store::new().unwrap();
        let traces: [Vec<u8>; 3] = [vec![1; 5000], vec![2; 4096], vec![3; 1]];
        let maps = traces.each_ref().map(|trace| store.add(trace).unwrap());
        drop(store);
        for (map, trace) in maps.iter().zip(&traces) {
            assert_eq!(map[..], trace[..]);
        }
        let folder = std::env::temp_dir().join(format!("syn-test-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        nameless(&folder).unwrap();
        std::fs::remove_dir(&folder).expect("it is empty");
    }
}
