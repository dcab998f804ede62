//! The file of counters, for who profiles.

use super::{Counters, MAGIC, SLOTS, VERSION};
use crate::mapped_file::{MappedFile, Shared};
use std::io::Result;
use std::ops::Deref;
use std::path::Path;

/// Counters that are mapped.
#[derive(Debug)]
pub struct CountersFile(MappedFile<Counters>);

// SAFETY: they are numbers, and but for those in front, which are written before anybody else opens the file, atomic.
unsafe impl Shared for Counters {}

impl CountersFile {
    /// Makes the file.
    ///
    /// # Errors
    /// When there is one, or it cannot be made.
    pub fn create(path: &Path) -> Result<CountersFile> {
        let begin = |counters: &mut Counters| {
            let head = &mut counters.head;
            (head.slots, head.version, head.magic) = (SLOTS as u64, VERSION, MAGIC);
        };
        Ok(CountersFile(MappedFile::create(path, begin)?))
    }
}

impl Deref for CountersFile {
    type Target = Counters;

    fn deref(&self) -> &Counters {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::BYTES;
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
