//! Run folders by number.

use anyhow::Context;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Makes the run folder with the next free number in `runs`, and returns its absolute path. Several of us at once
/// get different ones: mkdir(2) succeeds for one only.
pub fn make(runs: &Path) -> anyhow::Result<PathBuf> {
    let doing = || format!("cannot make a run folder in {}", runs.display());
    std::fs::create_dir_all(runs).with_context(doing)?;
    let runs = runs.canonicalize().with_context(doing)?;
    let mut number = next_number(&runs).with_context(doing)?;
    loop {
        let folder = runs.join(number.to_string());
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error).with_context(doing),
        }
    }
}

/// One more than the highest number in use, so that runs sort by age.
fn next_number(runs: &Path) -> std::io::Result<u64> {
    let mut next = 1;
    for entry in std::fs::read_dir(runs)? {
        if let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse::<u64>().ok()) {
            next = next.max(number.saturating_add(1));
        }
    }
    Ok(next)
}
