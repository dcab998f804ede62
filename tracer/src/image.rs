//! The file of a process image: its head, and chunks that the image's threads take. All of them are served by one thread, ours.

use crate::error::Error;
use crate::ptrace::Tid;
use memmap2::{MmapMut, MmapOptions};
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Relaxed, Release};
use syn_trace::chunks::{FileHead, UNIT_BYTES};
use syn_trace::run::EXTENSION;

/// A file that is open for writing as long as one of its threads records.
pub struct ImageFile {
    /// Where it is, and where it is to be once there is a header in it.
    path: RefCell<PathBuf>,
    name: PathBuf,
    head: MmapMut,
}

impl ImageFile {
    /// Makes the file of a process image that starts at this time, nanoseconds.
    pub fn create(folder: &Path, pid: Tid, start_ns: u64) -> Result<ImageFile, Error> {
        let name = folder.join(format!("{pid}-{start_ns:016x}")).with_extension(EXTENSION);
        let unfinished = name.with_extension("unfinished");
        let make = || {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true).custom_flags(libc::O_NOFOLLOW);
            map(&options.open(&unfinished)?, 0, UNIT_BYTES)
        };
        let mut head = make().map_err(|cause| Error::File { path: unfinished.clone(), cause })?;
        // SAFETY: a page is longer than what is written to it.
        unsafe { head.as_mut_ptr().cast::<FileHead>().write(FileHead::new(1, 1)) };
        Ok(ImageFile { path: RefCell::new(unfinished), name, head })
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.path.borrow().clone()
    }

    fn head(&self) -> &FileHead {
        // SAFETY: the page holds the head that `create` wrote; what changes in it are atomics.
        unsafe { &*self.head.as_ptr().cast::<FileHead>() }
    }

    /// Takes and maps a chunk of `bytes`, whole units; the unit with which it begins.
    pub fn take(&self, bytes: usize) -> io::Result<(u64, MmapMut)> {
        let unit = self.head().taken.load(Relaxed);
        let window = self.map_again(unit, bytes)?;
        let end = unit + (bytes / UNIT_BYTES) as u64;
        self.head().units.store(end, Release);
        self.head().taken.store(end, Release);
        Ok((unit, window))
    }

    /// Maps what begins with this unit.
    pub fn map_again(&self, unit: u64, bytes: usize) -> io::Result<MmapMut> {
        map(&self.open()?, unit as usize * UNIT_BYTES, bytes)
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(&*self.path.borrow())
    }

    /// From now on there is something to be read: the file gets its name.
    pub fn has_a_header(&self) -> io::Result<()> {
        let mut path = self.path.borrow_mut();
        if *path != self.name {
            std::fs::rename(&*path, &self.name)?;
            path.clone_from(&self.name);
        }
        Ok(())
    }

    /// Nothing is written to these units any more, which a chunk had at its end. If that fails, there are zeros, which mean the same.
    pub fn give_back(&self, from: u64, end: u64) {
        let Ok(file) = self.open() else { return };
        let (offset, bytes) = (from as usize * UNIT_BYTES, (end - from) as usize * UNIT_BYTES);
        if end == self.head().taken.load(Relaxed) {
            self.head().taken.store(from, Release);
            self.head().units.store(from, Release);
            let _ = file.set_len(offset as u64);
        } else if bytes > 0 {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: no pointers are passed; nothing has been written there.
            unsafe { libc::fallocate(file.as_raw_fd(), mode, offset as i64, bytes as i64) };
        }
    }
}

/// Reserves a part of a file and maps it: a file that merely is long enough raises SIGBUS when the disk turns out to
/// be full.
fn map(file: &File, offset: usize, length: usize) -> io::Result<MmapMut> {
    // SAFETY: no pointers are passed.
    let error = unsafe { libc::posix_fallocate(file.as_raw_fd(), offset as i64, length as i64) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    // SAFETY: the file is ours; whoever cuts it short while it is being written gets what he asked for.
    unsafe { MmapOptions::new().offset(offset as u64).len(length).map_mut(file) }
}
