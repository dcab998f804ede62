//! The run folder: a new one, by number, or one that is there.

use anyhow::Context;
use rustix::fs::statfs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use syn_trace::Run;

/// Where to record.
pub struct Folder {
    /// Its absolute path.
    pub path: PathBuf,
    /// Several commands record into it.
    pub joined: bool,
    /// Traces that were in it before.
    pub traces: usize,
}

impl Folder {
    /// A new one in `runs`.
    pub fn make(runs: &Path) -> anyhow::Result<Folder> {
        Ok(Folder { path: make(runs)?, joined: false, traces: 0 })
    }

    /// `path` itself, whatever is in it.
    pub fn join(path: &Path) -> anyhow::Result<Folder> {
        let doing = || format!("cannot use {} as the run folder", path.display());
        std::fs::create_dir_all(path).with_context(doing)?;
        let path = path.canonicalize().with_context(doing)?;
        let run = Run::open(&path)?;
        Ok(Folder { path, joined: true, traces: run.threads.len() + run.unreadable.len() })
    }
}

/// Makes the run folder with the next free number in `runs`, and returns its absolute path. Several of us at once
/// get different ones: mkdir(2) succeeds for one only.
fn make(runs: &Path) -> anyhow::Result<PathBuf> {
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

/// True where files are made in memory. (`TMPFS_MAGIC` of statfs(2).)
pub fn is_in_memory(folder: &Path) -> bool {
    const TMPFS_MAGIC: i64 = 0x0102_1994;
    statfs(folder).is_ok_and(|system| system.f_type == TMPFS_MAGIC)
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
