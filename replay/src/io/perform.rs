//! One I/O operation.

use super::flags::{self, permissions};
use super::mapped::Touch;
use super::outcome::status;
use super::queues::What;
use super::{Buffers, Target, metadata, transfer};
use crate::storage::relative;
use rustix::fs::{self, AtFlags, FallocateFlags, FileType, Mode, OFlags, RawDir, RenameFlags};
use rustix::io::{Errno, Result};
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::sync::atomic::Ordering;
use syn_plan::{FileId, HandleId, Io};

/// What `opendir(3)` of the GNU C library reads a folder with.
const FOLDER_BUFFER: usize = 32 << 10;
/// An entry of `getdents64(2)` takes from as many bytes as those of a plan are counted by, to so many.
const SHORTEST_ENTRY: usize = 24;
const LONGEST_ENTRY: usize = 280;

impl Target<'_> {
    /// Does `call`. Returns bytes moved, 0, or the negated errno, as `expected` is in the plan.
    pub fn perform(&self, buffers: &mut Buffers, call: &Io, expected: i64) -> i64 {
        let mut outcome = self.attempt(buffers, call, expected);
        // The plan's own files come before folders that are open to save time.
        if outcome == Err(Errno::MFILE) && self.parents.give_up() {
            outcome = self.attempt(buffers, call, expected);
        }
        match outcome {
            Ok(moved) => moved as i64,
            Err(error) => -i64::from(error.raw_os_error()),
        }
    }

    fn attempt(&self, buffers: &mut Buffers, call: &Io, expected: i64) -> Result<u64> {
        let hoped = u64::try_from(expected).unwrap_or(0);
        // What was written is known; asking for more could fill the storage behind the check of its room.
        let written = |bytes: u64| if expected >= 0 { bytes.min(hoped) } else { bytes };
        let open = |handle| self.handles.get(handle);
        let place = |offset| u64::try_from(offset).ok();
        match *call {
            Io::Read { handle, bytes } => return buffers.read(open(handle)?, bytes, None, hoped),
            Io::Write { handle, bytes } => return buffers.write(open(handle)?, written(bytes), None, hoped),
            Io::ReadAt { handle, bytes, offset } => {
                return buffers.read(open(handle)?, bytes, Some(offset), hoped);
            }
            Io::WriteAt { handle, bytes, offset } => {
                return buffers.write(open(handle)?, written(bytes), Some(offset), hoped);
            }
            Io::Send { handle, bytes, offset } => {
                return buffers.send(open(handle)?, None, bytes, place(offset), hoped);
            }
            Io::SendTo { from, to, bytes, offset } => {
                return buffers.send(open(from)?, Some(open(to)?), written(bytes), place(offset), hoped);
            }
            Io::CopyRange { from, to, bytes, offset, to_offset } => {
                let places = (place(offset), place(to_offset));
                return buffers.copy_range(open(from)?, open(to)?, written(bytes), places, hoped);
            }
            Io::SubmitRead { queue, handle, bytes, offset } => {
                let what = What::Read(bytes, offset);
                return self.handles.queues.submit(queue, open(handle)?, what, expected).map(|()| hoped);
            }
            Io::SubmitWrite { queue, handle, bytes, offset } => {
                let what = What::Write(written(bytes), offset);
                return self.handles.queues.submit(queue, open(handle)?, what, expected).map(|()| hoped);
            }
            Io::SubmitSync { queue, handle, data } => {
                self.handles.queues.submit(queue, open(handle)?, What::Sync { data }, expected)?;
            }
            Io::Complete { queue, count } => {
                let deviation = self.handles.queues.complete(queue, count)?;
                return Ok(hoped.saturating_add_signed(deviation));
            }
            Io::QueueSetup { queue, engine, entries } => {
                self.handles.queues.set_up(queue, engine, entries)?;
            }
            Io::QueueDestroy { queue } => self.handles.queues.destroy(queue)?,
            Io::Open { file, handle, flags, mode } => self.open(file, handle, flags, mode, expected)?,
            Io::Close { handle } => close(self.handles.take(handle)?)?,
            Io::Dup { handle, new } => self.handles.duplicate(handle, new)?,
            Io::Seek { handle, offset } => {
                fs::seek(open(handle)?, fs::SeekFrom::Start(offset))?;
            }
            Io::Locate { handle, distance, whence } => locate(open(handle)?, distance, whence)?,
            Io::Fsync { handle } => fs::fsync(open(handle)?)?,
            Io::Fdatasync { handle } => fs::fdatasync(open(handle)?)?,
            Io::SyncRange { handle, offset, bytes, flags } => {
                sync_range(open(handle)?, offset, bytes, flags)?
            }
            Io::SyncFs => fs::syncfs(self.root)?,
            Io::Ftruncate { handle, bytes } => fs::ftruncate(open(handle)?, bytes)?,
            Io::Allocate { handle, mode, offset, bytes } => {
                let mode = FallocateFlags::from_bits_retain(mode as u32);
                fs::fallocate(open(handle)?, mode, offset, bytes)?;
            }
            Io::PosixFallocate { handle, offset, bytes } => transfer::allocate(open(handle)?, offset, bytes)?,
            Io::Fstat { handle } => drop(fs::fstat(open(handle)?)?),
            Io::ReadDir { handle, entries } => read_folder(open(handle)?, entries)?,
            Io::Advise { handle, offset, bytes, advice } => {
                transfer::advise(open(handle)?, offset, bytes, advice)?
            }
            Io::Readahead { handle, offset, bytes } => transfer::read_ahead(open(handle)?, offset, bytes)?,
            Io::Populate { handle, offset, bytes, write } => {
                let touch = if write { Touch::Write } else { Touch::Read };
                self.handles.populate(handle, (offset, bytes), touch)?;
            }
            Io::PopulateAtRandom { handle, offset, bytes } => {
                self.handles.populate(handle, (offset, bytes), Touch::ReadAtRandom)?;
            }
            Io::Inherit { file, handle, flags, offset } => self.inherit(file, handle, flags, offset)?,
            Io::Share { file, handle, flags, offset } => {
                if !self.handles.is_open_on(handle, file) {
                    self.inherit(file, handle, flags, offset)?;
                }
            }
            ref other => {
                match metadata::on_handle(self, other) {
                    Some(outcome) => outcome?,
                    None => self.on_path(other)?,
                }
                if self.paths.changed_by(other, |handle| self.handles.file(handle)) {
                    self.parents.changed();
                }
            }
        }
        Ok(0)
    }

    fn on_path(&self, call: &Io) -> Result<()> {
        match *call {
            Io::Truncate { file, bytes } => {
                let flags = OFlags::WRONLY | OFlags::NONBLOCK;
                let file = self.opened_with(file, flags, Mode::empty())?;
                fs::ftruncate(file, bytes)
            }
            Io::Stat { file, follow } => self.stat(file, follow),
            Io::Access { file, mode } => {
                if let Some((parent, last)) = self.entry(file, true)? {
                    return metadata::access(parent.as_fd(), last, mode, AtFlags::SYMLINK_NOFOLLOW);
                }
                // The place first, so that no second lookup can lead elsewhere.
                let place = self.place(file, true)?;
                metadata::access(place.as_fd(), c"", mode, AtFlags::EMPTY_PATH)
            }
            Io::Readlink { file } => {
                let (parent, last) = self.parents.of(file)?;
                fs::readlinkat(parent, last, Vec::new()).map(drop)
            }
            Io::Unlink { file } => {
                let (parent, last) = self.parents.of(file)?;
                fs::unlinkat(parent, last, AtFlags::empty())
            }
            Io::Rmdir { file } => {
                let (parent, last) = self.parents.of(file)?;
                fs::unlinkat(parent, last, AtFlags::REMOVEDIR)
            }
            Io::Mkdir { file, mode } => {
                let (parent, last) = self.parents.of(file)?;
                fs::mkdirat(parent, last, permissions(mode))
            }
            Io::Rename { from, to } => {
                let ((from, old), (to, new)) = self.parents(from, to)?;
                fs::renameat(from, old, to, new)
            }
            Io::Link { from, to } => {
                let ((from, old), (to, new)) = self.parents(from, to)?;
                fs::linkat(from, old, to, new, AtFlags::empty())
            }
            Io::Symlink { target, link } => {
                let content: CString =
                    relative(&self.files[target as usize].path, &self.files[link as usize].path);
                let (parent, last) = self.parents.of(link)?;
                fs::symlinkat(content.as_c_str(), parent, last)
            }
            Io::RenameWith { from, to, flags } => {
                let ((from, old), (to, new)) = self.parents(from, to)?;
                let flags = RenameFlags::from_bits_retain(flags);
                match fs::renameat_with(&from, old, &to, new, flags) {
                    // A file system without it (FUSE): as mv(1) does then, which is what a program would have gone on with there.
                    Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
                        if flags == RenameFlags::NOREPLACE =>
                    {
                        match fs::statat(&to, new, AtFlags::SYMLINK_NOFOLLOW) {
                            Ok(_) => Err(Errno::EXIST),
                            Err(Errno::NOENT) => fs::renameat(&from, old, &to, new),
                            Err(error) => Err(error),
                        }
                    }
                    outcome => outcome,
                }
            }
            Io::Mknod { file, mode } => {
                let (parent, last) = self.parents.of(file)?;
                fs::mknodat(parent, last, FileType::from_raw_mode(mode), permissions(mode), 0)
            }
            ref other => metadata::on_path(self, other),
        }
    }

    fn stat(&self, file: FileId, follow: bool) -> Result<()> {
        if self.path(file).last.is_none() {
            return fs::fstat(self.root).map(drop);
        }
        let (parent, last) = self.parents.of(file)?;
        let found = fs::statat(parent, last, AtFlags::SYMLINK_NOFOLLOW)?;
        if follow && FileType::from_raw_mode(found.st_mode).is_symlink() {
            fs::fstat(self.place(file, true)?)?;
        }
        Ok(())
    }

    fn open(&self, file: FileId, handle: HandleId, flags: i32, mode: u32, expected: i64) -> Result<()> {
        match self.opened(file, flags, permissions(mode), expected) {
            // What failed when it was recorded is not used later: no handle stands for it.
            Ok(descriptor) if expected < 0 => close(descriptor),
            Ok(descriptor) => self.handles.put(handle, descriptor, file),
            Err(error) => Err(error),
        }
    }

    fn opened(&self, file: FileId, flags: i32, mode: Mode, expected: i64) -> Result<OwnedFd> {
        let flags = flags::from_plan(flags);
        match self.opened_with(file, flags, mode) {
            Err(Errno::INVAL) if expected >= 0 && flags.contains(OFlags::DIRECT) => {
                let descriptor = self.opened_with(file, flags - OFlags::DIRECT, mode)?;
                self.direct_refused.fetch_add(1, Ordering::Relaxed);
                Ok(descriptor)
            }
            outcome => outcome,
        }
    }

    fn inherit(&self, file: FileId, handle: HandleId, flags: i32, offset: u64) -> Result<()> {
        self.open(file, handle, flags, 0, 0)?;
        if offset > 0 {
            fs::seek(self.handles.get(handle)?, fs::SeekFrom::Start(offset))?;
        }
        Ok(())
    }
}

/// Asks the file system for a place, and goes back.
fn locate(file: BorrowedFd<'_>, distance: i64, whence: u32) -> Result<()> {
    let place = fs::tell(file)?;
    let from = match whence {
        3 => fs::SeekFrom::Data(distance.try_into().map_err(|_| Errno::NXIO)?),
        4 => fs::SeekFrom::Hole(distance.try_into().map_err(|_| Errno::NXIO)?),
        _ => fs::SeekFrom::End(distance),
    };
    fs::seek(file, from)?;
    fs::seek(file, fs::SeekFrom::Start(place)).map(drop)
}

fn close(descriptor: OwnedFd) -> Result<()> {
    // SAFETY: the descriptor is given up here, and nothing uses it afterwards.
    unsafe { rustix::io::try_close(descriptor.into_raw_fd()) }
}

fn sync_range(file: BorrowedFd<'_>, offset: u64, bytes: u64, flags: u32) -> Result<()> {
    let (offset, bytes) = (offset as i64, bytes as i64);
    // SAFETY: takes no pointers; negative numbers are refused by the kernel.
    status(unsafe { libc::sync_file_range(file.as_raw_fd(), offset, bytes, flags) }.into())
}

/// Reads what `entries` of the shortest take, a bufferful with each system call, as the application did. A buffer that is not full
/// is the last one: no call finds out that nothing is left. Where others have made more meanwhile than there was, that is left.
fn read_folder(folder: BorrowedFd<'_>, entries: u32) -> Result<()> {
    let mut buffer = [MaybeUninit::uninit(); FOLDER_BUFFER];
    let most = (entries as usize).saturating_add(1).saturating_mul(LONGEST_ENTRY).min(FOLDER_BUFFER);
    let mut listing = RawDir::new(folder, &mut buffer[..most]);
    let wanted = (entries as usize).saturating_mul(SHORTEST_ENTRY);
    let mut read = 0;
    loop {
        let before = read;
        while let Some(entry) = listing.next() {
            read += bytes_of_entry(entry?.file_name());
            if listing.is_buffer_empty() {
                break;
            }
        }
        if read - before + LONGEST_ENTRY <= most || read + SHORTEST_ENTRY > wanted {
            return Ok(());
        }
    }
}

/// `struct linux_dirent64` with a name.
fn bytes_of_entry(name: &CStr) -> usize {
    (19 + name.to_bytes_with_nul().len()).next_multiple_of(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn of_a_folder_that_has_grown_no_more_is_read_than_was() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..200 {
            File::create(folder.path().join(number.to_string())).expect("a file");
        }
        let left_behind = |entries| {
            let opened = File::open(folder.path()).expect("the folder");
            read_folder(opened.as_fd(), entries).expect("its entries");
            let mut buffer = [MaybeUninit::uninit(); FOLDER_BUFFER];
            let mut listing = RawDir::new(opened.as_fd(), &mut buffer);
            std::iter::from_fn(|| listing.next().map(|_| ())).count()
        };
        assert!(left_behind(2) > 100, "two entries were there");
        assert_eq!(left_behind(202), 0);
    }
}
