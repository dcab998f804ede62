//! The files as they were before the application started.

use super::{BelowRoot, Root};
use crate::io::attribute_value;
use anyhow::{Context, bail};
use indicatif::ProgressBar;
use rustix::fs::{Advice, Mode, OFlags, XattrFlags, fadvise, fsetxattr, fsync, mkdirat, syncfs};
use rustix::io::Errno;
use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::num::NonZeroU64;
use syn_plan::{FileId, Initial, Io, Op, Plan};

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
    for folder in plan.initial_folders()?.iter() {
        make_folder(root, folder).with_context(|| format!("cannot prepare the folder {folder}"))?;
    }
    let (mut content, executables) = (Content::new(), executables(plan));
    for (number, file) in (0..).zip(&plan.files) {
        if let Initial::Regular { bytes } = file.initial {
            let mode = if executables.contains(&number) { Mode::RWXU } else { Mode::RUSR | Mode::WUSR };
            write_file(root, (&file.path, mode), bytes, &mut content, cold, bar, interrupted)
                .with_context(|| format!("cannot prepare the file {} of {bytes} bytes", file.path))?;
        }
    }
    for attribute in &plan.attributes {
        let (file, name) = (&plan.files[attribute.file as usize], &plan.names[attribute.name as usize]);
        set_attribute(root, &file.path, name, attribute.bytes)
            .with_context(|| format!("cannot prepare the extended attribute {name} of {}", file.path))?;
    }
    syncfs(root).context("cannot bring the prepared files to the storage")
}

/// The files that the application was told it may execute: nothing executes them here, but the answer is the same.
fn executables(plan: &Plan) -> HashSet<FileId> {
    let steps = plan.programs.iter().flat_map(|program| program.steps.iter());
    let allowed = steps.filter_map(|step| match step.op {
        Op::Io { call: Io::Access { file, mode }, result: 0 } if mode & libc::X_OK != 0 => Some(file),
        _ => None,
    });
    allowed.collect()
}

fn make_folder(root: &Root, folder: &str) -> anyhow::Result<()> {
    let path = BelowRoot::new(folder);
    let Some(last) = &path.last else { return Ok(()) };
    match mkdirat(root.folder(&path.parent)?, last, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Where the storage has no extended attributes, or none so large, the replay finds none, and says so.
fn set_attribute(root: &Root, path: &str, name: &str, bytes: u64) -> anyhow::Result<()> {
    let file = root.open(&BelowRoot::new(path).whole, OFlags::RDONLY | OFlags::NOFOLLOW, Mode::empty())?;
    match fsetxattr(&file, name, &attribute_value(bytes), XattrFlags::empty()) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSPC | Errno::DQUOT | Errno::TOOBIG | Errno::RANGE) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn write_file(
    root: &Root,
    (path, mode): (&str, Mode),
    bytes: u64,
    content: &mut Content,
    cold: bool,
    bar: &ProgressBar,
    interrupted: &dyn Fn() -> bool,
) -> anyhow::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
    let mut file = File::from(root.open(&BelowRoot::new(path).whole, flags, mode)?);
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
