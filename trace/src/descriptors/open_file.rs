//! One open file, and how calls move its position.

use super::flags::{O_APPEND, SETTABLE, have_no_name};
use crate::birth;
use crate::calls::{Effect, Field};
use crate::reader::Event;
use std::rc::Rc;

/// Names an open file of one process image, from 0 in the order of opening; never used again.
pub type OpenId = u32;

/// Where an open file stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Where the next read or write begins, bytes.
    pub offset: u64,
    /// Where the file ends, as far as is known, bytes.
    pub end: u64,
}

/// An open file: what POSIX calls an open file description.
#[derive(Clone, Debug)]
pub struct OpenFile {
    /// Absolute path, normalised as text; `None` for a pipe, socket or anonymous file, and where it is not known.
    pub path: Option<Rc<str>>,
    /// Flags of `open(2)`, with later changes by `fcntl(F_SETFL)`; see [`super::flags`].
    pub flags: i32,
    /// `st_mode` right after the open, with the bits of [`birth`]; 0 when unknown.
    pub st_mode: u32,
    /// `st_size` right after the open, bytes.
    pub size: u64,
    /// `st_ino` right after the open.
    pub inode: u64,
    /// The device of its file system; 0 where it is not on record.
    pub device: u32,
    /// The position as far as the process's own calls tell, bytes.
    pub offset: u64,
    /// It came from elsewhere: it was open when the process image started, or another process has passed it on.
    pub inherited: bool,
    /// Another open file of the run, of this process or another one, has the same position: [`super::Descriptors::share`].
    pub shared: bool,
    /// The own address of a socket, as the table of calls writes them; `None` where it is not known.
    pub local: Option<Rc<str>>,
    /// The address at the other end of a socket.
    pub peer: Option<Rc<str>>,
    /// The process and its open file which this one is, of those without a name and of regular files: [`super::Descriptors::identify`].
    pub twin: Option<(u32, OpenId)>,
    /// Where the file ends as far as this open file's own calls tell, bytes.
    pub(super) end: u64,
    /// How many descriptors stand for it.
    pub(super) descriptors: u32,
}

impl OpenFile {
    /// True for eventfd, epoll and the like: they have no type, no path and no inode of their own.
    pub fn is_anonymous(&self) -> bool {
        self.st_mode & libc::S_IFMT == 0 && self.path.is_none()
    }

    /// Whether both may be of one file, on one host: two file systems have the same inodes.
    pub fn may_be_of(&self, other: &OpenFile) -> bool {
        let is_known = self.device != 0 && other.device != 0;
        self.inode == other.inode && (self.device == other.device || !is_known)
    }

    /// True for a file that was opened without a name (`O_TMPFILE`), by whoever opened it.
    pub fn is_unnamed(&self) -> bool {
        self.has_no_name() && !self.inherited
    }

    /// The same, also where it was inherited.
    pub fn has_no_name(&self) -> bool {
        have_no_name(self.flags)
    }

    /// True for pipes, sockets and anonymous ones: what moves at a time depends on what is there by then.
    pub fn is_stream(&self) -> bool {
        matches!(self.st_mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFSOCK) || self.is_anonymous()
    }

    /// True where nothing but the descriptor's number tells it from others of its kind: the anonymous ones, and masters of
    /// pseudoterminals, which all have the path and the inode of `/dev/ptmx`.
    pub fn is_told_by_number(&self) -> bool {
        let is_master = |path: &str| self.st_mode & libc::S_IFMT == libc::S_IFCHR && path.ends_with("/ptmx");
        self.is_anonymous() || self.path.as_deref().is_some_and(is_master)
    }

    /// Whether the open made the file, as far as its file system tells; see [`birth`].
    pub fn was_made(&self) -> Option<bool> {
        match i64::from(self.st_mode) & (birth::MADE | birth::FOUND) {
            birth::MADE => Some(true),
            birth::FOUND => Some(false),
            _ => None,
        }
    }

    /// `read`, `write` and their vector forms moved `result` bytes at the position.
    #[inline(always)]
    pub(super) fn transfer(&mut self, result: i64, writes: bool) {
        let moved = result.max(0) as u64;
        if writes && self.flags & O_APPEND != 0 {
            self.offset = self.end;
        }
        self.offset = self.offset.saturating_add(moved);
        if writes {
            self.end = self.end.max(self.offset);
        }
    }

    /// Follows a successful call that names a place in the file.
    pub(super) fn follow(&mut self, event: &Event<'_>) {
        match event.call.effect() {
            Effect::Seek => self.offset = event.result.max(0) as u64,
            Effect::Truncate => self.end = event.field(Field::Bytes).unwrap_or(0).max(0) as u64,
            Effect::Read(place) if event.offset_of(place).is_none() => self.transfer(event.result, false),
            Effect::Write(place) => match event.offset_of(place) {
                None => self.transfer(event.result, true),
                Some(offset) => self.reach(offset, event.result.max(0) as u64),
            },
            _ => {}
        }
    }

    /// `bytes` were written at `place`.
    pub(super) fn reach(&mut self, place: u64, bytes: u64) {
        self.end = self.end.max(place.saturating_add(bytes));
    }

    /// `fcntl(F_SETFL)`.
    pub(super) fn set_flags(&mut self, flags: i32) {
        self.flags = self.flags & !SETTABLE | flags & SETTABLE;
    }
}
