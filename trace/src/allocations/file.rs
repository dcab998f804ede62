//! The file of counters, for who profiles.

use super::{BYTES, Counters, MAGIC, SLOTS, VERSION};
use memmap2::{MmapOptions, MmapRaw};
use std::fs::OpenOptions;
use std::io::{Result, Write};
use std::ops::Deref;
use std::path::Path;

/// Counters that are mapped.
#[derive(Debug)]
pub struct CountersFile {
    mapping: MmapRaw,
}

impl CountersFile {
    /// Makes the file. All its blocks are there before anybody uses it: on a full disk, a store to a hole would end the process.
    ///
    /// # Errors
    /// When there is one, or it cannot be made.
    pub fn create(path: &Path) -> Result<CountersFile> {
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        file.write_all(&vec![0; BYTES])?;
        let mapping = MmapOptions::new().len(BYTES).map_raw(&file)?;
        let counters = mapping.as_mut_ptr().cast::<Counters>();
        // SAFETY: the mapping is as long as the counters and begins on a page; nobody else has opened the new file.
        unsafe {
            (*counters).head.slots = SLOTS as u64;
            (*counters).head.version = VERSION;
            (*counters).head.magic = MAGIC;
        }
        Ok(CountersFile { mapping })
    }
}

impl Deref for CountersFile {
    type Target = Counters;

    fn deref(&self) -> &Counters {
        // SAFETY: as long as counters, and mapped as long as `self`; what others change in it is atomic.
        unsafe { &*self.mapping.as_ptr().cast::<Counters>() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn counts_of_all_slots_add_up() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("counters");
        let counters = CountersFile::create(&path).expect("there is room");
        assert!(counters.is_valid() && CountersFile::create(&path).is_err(), "it belongs to one profile");
        counters.slots[1].taken.fetch_add(5, Relaxed);
        counters.slots[SLOTS - 1].taken.fetch_add(7, Relaxed);
        assert_eq!((counters.sum(|slot| &slot.taken), counters.sum(|slot| &slot.returns)), (12, 0));
        assert_eq!(path.metadata().expect("it is there").len(), BYTES as u64);
    }
}
