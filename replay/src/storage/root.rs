//! The one way from a recorded path to a file: beneath the root, or not at all.

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::{Errno, Result};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How often a lookup is tried again when a rename elsewhere made its result uncertain (EAGAIN, openat2(2)).
const RACES: u32 = 1000;

/// An open folder beneath which all recorded paths are looked up. No name below it, no symbolic link and no rename
/// while a lookup is under way leads out of it.
#[derive(Debug)]
pub struct Root {
    dir: OwnedFd,
}

impl Root {
    /// Takes the folder that `dir` stands for.
    pub fn new(dir: OwnedFd) -> Root {
        Root { dir }
    }

    /// Opens what lies at `path`. `mode` counts only where the flags create something.
    pub fn open(&self, path: &CStr, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
        let creates = flags.intersects(OFlags::CREATE) || flags.contains(OFlags::TMPFILE);
        let mode = if creates { mode } else { Mode::empty() };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..RACES {
            match openat2(&self.dir, path, flags | OFlags::CLOEXEC, mode, resolve) {
                Err(Errno::AGAIN) => continue,
                outcome => return outcome,
            }
        }
        Err(Errno::AGAIN)
    }

    /// Opens a folder, to act on names in it.
    pub fn folder(&self, path: &CStr) -> Result<OwnedFd> {
        self.open(path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())
    }
}

/// Opens what a folder has under `name`, which is one name and no path, and not a symbolic link: that cannot lie outside of the
/// folder, and openat2(2) takes a quarter of a microsecond more to make sure of it.
pub fn open_name(folder: BorrowedFd<'_>, name: &CStr, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    openat(folder, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode)
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}
