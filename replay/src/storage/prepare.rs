//! The files as they were before the application started.

use super::path::names;
use super::{BelowRoot, Root};
use anyhow::{Context, bail};
use indicatif::ProgressBar;
use rustix::fs::{Advice, Mode, OFlags, fadvise, fsync, mkdirat, syncfs};
use rustix::io::Errno;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::Write;
use std::num::NonZeroU64;
use syn_plan::{Initial, Plan};

/// How much is written at a time.
const CHUNK: usize = 4 << 20;
/// One number in each block of this size differs from block to block, so that no storage takes two for the same.
const BLOCK: usize = 4096;

/// Makes the folders and files that are there when the plan starts, and brings them to the storage, so that nothing
/// of this is left to do while time is measured. With `cold`, the files are dropped from the page cache.
///
/// # Errors
/// When the storage refuses something, the plan contradicts itself, or `interrupted` says so.
pub fn prepare(
    plan: &Plan,
    root: &Root,
    cold: bool,
    bar: &ProgressBar,
    interrupted: &dyn Fn() -> bool,
) -> anyhow::Result<()> {
    for folder in folders(plan)? {
        make_folder(root, &folder).with_context(|| format!("cannot prepare the folder {folder}"))?;
    }
    let mut content = Content::new();
    for file in &plan.files {
        if let Initial::Regular { bytes } = file.initial {
            write_file(root, &file.path, bytes, &mut content, cold, bar, interrupted)
                .with_context(|| format!("cannot prepare the file {} of {bytes} bytes", file.path))?;
        }
    }
    syncfs(root).context("cannot bring the prepared files to the storage")
}

/// The folders to make, each after the one it is in. A folder that the plan has as absent is made by the replay, if
/// at all, and so is what is in it.
fn folders(plan: &Plan) -> anyhow::Result<BTreeSet<String>> {
    let initial: HashMap<String, Initial> =
        plan.files.iter().map(|file| (normal(names(&file.path)), file.initial)).collect();
    let mut folders = BTreeSet::new();
    for file in &plan.files {
        let path: Vec<&str> = names(&file.path).collect();
        let parents = path.len().saturating_sub(1);
        let depth = if file.initial == Initial::Directory { path.len() } else { parents };
        for end in 1..=depth {
            let folder = normal(path[..end].iter().copied());
            match (initial.get(&folder), file.initial) {
                (Some(Initial::Absent | Initial::Regular { .. }), Initial::Absent) => break,
                (Some(Initial::Regular { .. }), _) => {
                    bail!("the plan has {folder} as a file, and {} in it", file.path)
                }
                _ => folders.insert(folder),
            };
        }
    }
    Ok(folders)
}

fn normal<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.fold(String::new(), |path, name| path + "/" + name)
}

fn make_folder(root: &Root, folder: &str) -> anyhow::Result<()> {
    let path = BelowRoot::new(folder);
    let (parent, last) = root.parent(&path)?;
    match mkdirat(parent, last, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn write_file(
    root: &Root,
    path: &str,
    bytes: u64,
    content: &mut Content,
    cold: bool,
    bar: &ProgressBar,
    interrupted: &dyn Fn() -> bool,
) -> anyhow::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
    let mut file = File::from(root.open(&BelowRoot::new(path).whole, flags, Mode::RUSR | Mode::WUSR)?);
    let mut left = bytes;
    while left > 0 {
        if interrupted() {
            bail!("interrupted");
        }
        let now = left.min(CHUNK as u64);
        file.write_all(&content.next()[..now as usize])?;
        left -= now;
        bar.inc(now);
    }
    if cold {
        fsync(&file)?;
        fadvise(&file, 0, NonZeroU64::new(bytes), Advice::DontNeed)?;
    }
    Ok(())
}

/// Bytes that no storage can leave out, compress or share.
struct Content {
    chunk: Vec<u8>,
    blocks: u64,
}

impl Content {
    fn new() -> Content {
        let mut chunk = vec![0; CHUNK];
        crate::io::fill(&mut chunk, 1);
        Content { chunk, blocks: 0 }
    }

    fn next(&mut self) -> &[u8] {
        for block in self.chunk.chunks_exact_mut(BLOCK) {
            self.blocks += 1;
            block[..8].copy_from_slice(&self.blocks.to_le_bytes());
        }
        &self.chunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(files: &[(&str, Initial)]) -> Vec<String> {
        let files =
            files.iter().map(|&(path, initial)| syn_plan::File { path: path.into(), initial }).collect();
        let plan = Plan { files, ..Plan::default() };
        folders(&plan).map(Vec::from_iter).unwrap_or_else(|error| vec![error.to_string()])
    }

    #[test]
    fn parents_are_made_unless_the_replay_makes_them() {
        let absent = Initial::Absent;
        assert_eq!(made(&[("/a/b/c", absent)]), ["/a", "/a/b"]);
        assert_eq!(made(&[("/a/b/c", absent), ("/a/b", absent)]), ["/a"]);
        assert_eq!(made(&[("/a/b/c", absent), ("/a", Initial::Regular { bytes: 1 })]), [] as [&str; 0]);
        assert_eq!(made(&[("/d/e", Initial::Directory)]), ["/d", "/d/e"]);
        assert_eq!(made(&[("/", Initial::Directory)]), [] as [&str; 0]);
        // What is in a folder was there although a later mkdir failed on it.
        assert_eq!(made(&[("/a/b", Initial::Regular { bytes: 1 }), ("/a", absent)]), ["/a"]);
    }

    #[test]
    fn a_file_with_something_in_it_is_refused() {
        let file = Initial::Regular { bytes: 1 };
        assert_eq!(made(&[("/a", file), ("/a/b", file)]), ["the plan has /a as a file, and /a/b in it"]);
    }
}
