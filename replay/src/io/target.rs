//! Where the operations of a process go, and how files are reached there.

use super::Handles;
use crate::divergence::Cause;
use crate::storage::{BelowRoot, Parent, Parents, Paths, Root, open_name};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, Result};
use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use syn_plan::{FileId, Io};

/// Where the operations of one process go.
#[derive(Debug)]
pub struct Target<'a> {
    /// Everything lies beneath it.
    pub root: &'a Root,
    /// By [`FileId`].
    pub files: &'a [syn_plan::File],
    /// By [`FileId`].
    pub paths: &'a Paths,
    /// The folders that hold them.
    pub parents: Parents<'a>,
    /// Names of extended attributes, by [`syn_plan::NameId`].
    pub names: &'a [String],
    /// The open files.
    pub handles: Handles,
    /// Opens that were done without `O_DIRECT`, because the storage does not have it.
    pub direct_refused: AtomicU64,
}

/// A folder, and a name in it.
pub(super) type Entry<'a> = (Parent<'a>, &'a CStr);

impl Target<'_> {
    /// The path of the file that `call` is about, where it was recorded.
    pub fn path_of(&self, call: &Io) -> Option<&str> {
        let (files, handles) = call.operands();
        let file = files[0].or_else(|| handles[0].and_then(|handle| self.handles.file(handle)))?;
        self.files.get(file as usize).map(|file| file.path.as_str())
    }

    /// What made `call` fail: the open of the handle that it uses.
    pub fn cause_of(&self, call: &Io) -> Option<Cause> {
        match call {
            Io::Open { .. } | Io::Inherit { .. } | Io::Share { .. } => None,
            call => self.handles.cause(call.operands().1[0]?),
        }
    }

    /// `call` failed because of `cause`, and did not in the recording: what it would have opened is not open.
    pub fn failed(&self, call: &Io, cause: Cause) {
        match *call {
            Io::Open { file, handle, .. }
            | Io::Inherit { file, handle, .. }
            | Io::Share { file, handle, .. } => {
                self.handles.lost(handle, file, cause);
            }
            Io::Dup { handle, new } => self.handles.lost(new, self.handles.file(handle).unwrap_or(0), cause),
            _ => {}
        }
    }

    /// The process has ended, and what it had open is closed.
    pub fn close_all(&self) {
        self.handles.close_all();
        self.parents.give_up();
    }

    pub(super) fn path(&self, file: FileId) -> &BelowRoot {
        self.paths.at(file)
    }

    pub(super) fn parents(&self, from: FileId, to: FileId) -> Result<(Entry<'_>, Entry<'_>)> {
        Ok((self.parents.of(from)?, self.parents.of(to)?))
    }

    /// The folder and the name in it by which `file` can be acted on without following a link; `None` where that would
    /// not be the same, and for the root.
    pub(super) fn entry(&self, file: FileId, follow: bool) -> Result<Option<Entry<'_>>> {
        if self.path(file).last.is_none() || follow && self.paths.may_be_link(file) {
            return Ok(None);
        }
        self.parents.of(file).map(Some)
    }

    /// `file` as no more than a place (`O_PATH`): no link leads out of the root between the look-up and the call.
    pub(super) fn place(&self, file: FileId, follow: bool) -> Result<OwnedFd> {
        let flags = if follow { OFlags::PATH } else { OFlags::PATH | OFlags::NOFOLLOW };
        self.root.open(&self.path(file).whole, flags, Mode::empty())
    }

    /// `file`, opened.
    pub(super) fn opened_with(&self, file: FileId, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
        match self.entry(file, !flags.contains(OFlags::NOFOLLOW)) {
            Ok(Some((parent, last))) => open_name(parent.as_fd(), last, flags, mode),
            // There may be room for one descriptor, and none for the folder's.
            Ok(None) | Err(Errno::MFILE) => self.root.open(&self.path(file).whole, flags, mode),
            Err(error) => Err(error),
        }
    }
}
