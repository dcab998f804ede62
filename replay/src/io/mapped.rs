//! Pages of files, touched in memory.

use rustix::fs::fstat;
use rustix::io::{Errno, Result};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::param::page_size;
use std::os::fd::BorrowedFd;

/// So many bytes at a time: a file of any size needs no more addresses than this.
const MOST: u64 = 1 << 30;

/// Touches the pages with these bytes, as far as the file has them, each as a load or store would that finds it missing:
/// `MADV_POPULATE_READ` or `MADV_POPULATE_WRITE` (madvise(2), Linux 5.14).
pub fn populate(file: BorrowedFd<'_>, offset: u64, bytes: u64, write: bool) -> Result<()> {
    let page = page_size() as u64;
    let length = u64::try_from(fstat(file)?.st_size).unwrap_or(0).next_multiple_of(page);
    let end = offset.saturating_add(bytes).min(length);
    let mut at = offset - offset % page;
    while at < end {
        let piece = MOST.min(end - at);
        populate_piece(file, at, piece as usize, write)?;
        at += piece;
    }
    Ok(())
}

fn populate_piece(file: BorrowedFd<'_>, offset: u64, bytes: usize, write: bool) -> Result<()> {
    let (protection, advice) = match write {
        false => (ProtFlags::READ, Advice::LinuxPopulateRead),
        true => (ProtFlags::READ | ProtFlags::WRITE, Advice::LinuxPopulateWrite),
    };
    // SAFETY: a fresh mapping at an address of the kernel's choice, of which no reference is made: nothing here reads or writes what it
    // holds, and no signal comes where the file is too short or its storage full (madvise(2): EFAULT).
    unsafe {
        let start = mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, offset)?;
        let populated = loop {
            match madvise(start, bytes, advice) {
                // What is there already is skipped.
                Err(Errno::INTR) => {}
                populated => break populated,
            }
        };
        munmap(start, bytes)?;
        populated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use std::os::fd::AsFd;

    /// Blocks of memory that the file takes, 512 bytes each.
    fn blocks(file: BorrowedFd<'_>) -> i64 {
        fstat(file).expect("its status").st_blocks
    }

    #[test]
    fn what_the_file_has_is_touched_and_nothing_else() {
        let (file, page) = (memfd_create("pages", MemfdFlags::CLOEXEC).expect("memory"), page_size() as u64);
        let per_page = page as i64 / 512;
        let file = file.as_fd();
        assert_eq!(populate(file, 0, u64::MAX, true), Ok(()), "it has none");
        ftruncate(file, 8 * page + 1).expect("a length");
        assert_eq!(blocks(file), 0);
        populate(file, page + 1, 1, true).expect("one page");
        assert_eq!(blocks(file), per_page);
        populate(file, page, 2 * page, true).expect("two, one of them again");
        assert_eq!(blocks(file), 2 * per_page);
        populate(file, 7 * page, u64::MAX, true).expect("the last two");
        assert_eq!(blocks(file), 4 * per_page);
        populate(file, u64::MAX, u64::MAX, false).expect("none so far behind the end");
        assert_eq!(blocks(file), 4 * per_page);
    }
}
