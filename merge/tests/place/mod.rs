//! A folder of a test, with the runs that it merges.

use crate::common;
use std::path::PathBuf;

/// Gone when it is dropped.
pub struct Place(pub tempfile::TempDir);

impl Place {
    /// A new one, empty.
    pub fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    /// A run folder of this name, with the run that `text` describes.
    pub fn run(&self, name: &str, text: &str) -> PathBuf {
        let folder = self.0.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        common::write_run(text, &folder);
        folder
    }
}
