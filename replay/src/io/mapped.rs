//! Pages of files, touched in memory.

use rustix::fs::{AtFlags, StatxFlags, statx};
use rustix::io::{Errno, Result};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::param::page_size;
use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use syn_plan::HandleId;

/// So many bytes at a time: a file of any size needs no more addresses than this.
const MOST: u64 = 1 << 30;

/// What a page is touched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Touch {
    Read,
    /// No other page is read ahead.
    ReadAtRandom,
    Write,
}

/// The files that a process has mapped to write to them, by handle. They stay mapped until the handle is closed: some file systems write
/// pages back at munmap(2).
#[derive(Debug, Default)]
pub struct Mappings {
    of: Mutex<HashMap<HandleId, Vec<Mapping>>>,
    /// There may be some.
    any: AtomicBool,
}

impl Mappings {
    /// Touches the pages with these bytes, as far as the file has them, each as a load or store would that finds it missing: by
    /// `MAP_POPULATE` (mmap(2)), or by `MADV_POPULATE_READ` or `MADV_POPULATE_WRITE` (madvise(2), Linux 5.14; `EINVAL` before).
    pub fn populate(
        &self,
        (handle, file): (HandleId, BorrowedFd<'_>),
        (offset, bytes): (u64, u64),
        touch: Touch,
    ) -> Result<()> {
        let page = page_size() as u64;
        let length = bytes_of(file)?.next_multiple_of(page);
        let end = offset.saturating_add(bytes).min(length);
        let mut at = offset - offset % page;
        while at < end {
            let piece = at..end.min((at / MOST + 1) * MOST);
            at = piece.end;
            if touch != Touch::Write {
                let mapping = Mapping::of(file, piece.clone(), touch)?;
                if touch == Touch::ReadAtRandom {
                    mapping.advise(&piece, Advice::Random)?;
                    mapping.advise(&piece, Advice::LinuxPopulateRead)?;
                }
                continue;
            }
            self.any.store(true, Ordering::Relaxed);
            let mut all = self.of.lock().unwrap_or_else(PoisonError::into_inner);
            let mappings = all.entry(handle).or_default();
            let mapped = mappings.iter().position(|mapping| mapping.holds(&piece));
            let mapped = mapped.map_or_else(
                || {
                    let first = piece.start / MOST * MOST;
                    mappings.push(Mapping::of(file, first..length.min(first + MOST), touch)?);
                    Ok(mappings.len() - 1)
                },
                Ok,
            )?;
            mappings[mapped].advise(&piece, Advice::LinuxPopulateWrite)?;
        }
        Ok(())
    }

    /// A handle is closed.
    #[inline]
    pub fn close(&self, handle: HandleId) {
        if self.any.load(Ordering::Relaxed) {
            drop(self.of.lock().unwrap_or_else(PoisonError::into_inner).remove(&handle));
        }
    }

    /// All handles are closed.
    pub fn close_all(&self) {
        self.of.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// As many as are known here: a question to the server of a file system is none that the application asked.
fn bytes_of(file: BorrowedFd<'_>) -> Result<u64> {
    let as_known = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    Ok(statx(file, c"", as_known, StatxFlags::SIZE)?.stx_size)
}

/// A part of a file that is mapped.
#[derive(Debug)]
struct Mapping {
    start: NonNull<libc::c_void>,
    /// Bytes of the file.
    part: Range<u64>,
}

// SAFETY: addresses of this process, of which no reference is made.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Of one to read from, all pages are touched, but for those to be read at random.
    fn of(file: BorrowedFd<'_>, part: Range<u64>, touch: Touch) -> Result<Mapping> {
        let (protection, flags) = match touch {
            Touch::Read => (ProtFlags::READ, MapFlags::PRIVATE | MapFlags::POPULATE),
            Touch::ReadAtRandom => (ProtFlags::READ, MapFlags::PRIVATE),
            Touch::Write => (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED),
        };
        let bytes = (part.end - part.start) as usize;
        // SAFETY: a fresh mapping at an address of the kernel's choice, of which no reference is made: nothing here reads or writes what
        // it holds.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, protection, flags, file, part.start)? };
        Ok(Mapping { start: NonNull::new(start).ok_or(Errno::NOMEM)?, part })
    }

    fn holds(&self, piece: &Range<u64>) -> bool {
        self.part.start <= piece.start && piece.end <= self.part.end
    }

    /// madvise(2) about this piece, which it holds.
    fn advise(&self, piece: &Range<u64>, advice: Advice) -> Result<()> {
        let (behind, bytes) = ((piece.start - self.part.start) as usize, (piece.end - piece.start) as usize);
        loop {
            // SAFETY: mapped there. No signal comes where the file is too short or its storage full (madvise(2): EFAULT).
            let advised = unsafe { madvise(self.start.as_ptr().byte_add(behind), bytes, advice) };
            // What is there already is skipped.
            if advised != Err(Errno::INTR) {
                return advised;
            }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let bytes = (self.part.end - self.part.start) as usize;
        // SAFETY: mapped by `of` with this length. To unmap a whole mapping does not fail.
        let _ = unsafe { munmap(self.start.as_ptr(), bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
    use std::os::fd::AsFd;

    /// Blocks of memory that the file takes, 512 bytes each.
    fn blocks(file: BorrowedFd<'_>) -> i64 {
        fstat(file).expect("its status").st_blocks
    }

    #[test]
    fn what_the_file_has_is_touched_and_nothing_else() {
        let (file, page) = (memfd_create("pages", MemfdFlags::CLOEXEC).expect("memory"), page_size() as u64);
        let per_page = page as i64 / 512;
        let (file, mappings) = (file.as_fd(), Mappings::default());
        let populate = |offset, bytes, touch| mappings.populate((3, file), (offset, bytes), touch);
        assert_eq!(populate(0, u64::MAX, Touch::Write), Ok(()), "it has none");
        ftruncate(file, 8 * page + 1).expect("a length");
        assert_eq!(blocks(file), 0);
        populate(page + 1, 1, Touch::Write).expect("one page");
        assert_eq!(blocks(file), per_page);
        populate(page, 2 * page, Touch::Write).expect("two, one of them again");
        assert_eq!(blocks(file), 2 * per_page);
        populate(7 * page, u64::MAX, Touch::Write).expect("the last two");
        assert_eq!(blocks(file), 4 * per_page);
        populate(u64::MAX, u64::MAX, Touch::Read).expect("none so far behind the end");
        populate(page, 1, Touch::ReadAtRandom).expect("one that is there");
        assert_eq!(blocks(file), 4 * per_page);
        let mapped = || mappings.of.lock().expect("no panic").get(&3).map(Vec::len);
        assert_eq!(mapped(), Some(1));
        ftruncate(file, 20 * page).expect("a length");
        populate(19 * page, page, Touch::Write).expect("what is there now");
        assert_eq!((mapped(), blocks(file)), (Some(2), 5 * per_page));
        mappings.close(3);
        assert_eq!(mapped(), None);
    }
}
