//! The board's file, for who throttles a job and for the watchdog.

use super::{BYTES, Board, FILE_PREFIX, MAGIC, VERSION};
use memmap2::{MmapOptions, MmapRaw};
use std::fs::OpenOptions;
use std::io::{Error, ErrorKind, Result, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Who is to be throttled, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The node: a rank, or a place with [`super::UNRANKED`].
    pub node: u32,
    /// Every how manyth call is held.
    pub period: u32,
    /// Of which kinds: bits of [`super::kind`].
    pub kinds: u32,
    /// The longest time for a hold.
    pub bound: Duration,
}

/// A board that is mapped.
#[derive(Debug)]
pub struct BoardFile {
    mapping: MmapRaw,
}

impl BoardFile {
    /// Where the board of a host lies in a run folder.
    pub fn path(run: &Path, host: &str) -> PathBuf {
        run.join(format!("{FILE_PREFIX}{host}"))
    }

    /// Makes the board of a host. All its blocks are there before anybody uses it: on a full disk, a store to a hole would end
    /// the process.
    ///
    /// # Errors
    /// When there is one, or the file cannot be made.
    pub fn create(run: &Path, host: &str, request: &Request) -> Result<BoardFile> {
        let path = BoardFile::path(run, host);
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        file.write_all(&vec![0; BYTES])?;
        let mapping = MmapOptions::new().len(BYTES).map_raw(&file)?;
        let front = mapping.as_mut_ptr().cast::<Board>();
        // SAFETY: the mapping is as long as a board and begins on a page; nobody else has opened the new file.
        unsafe {
            (*front).magic = MAGIC;
            (*front).version = VERSION;
        }
        let board = BoardFile { mapping };
        board.throttled.store(request.node, Ordering::Relaxed);
        board.period.store(request.period, Ordering::Relaxed);
        board.kinds.store(request.kinds, Ordering::Relaxed);
        board.bound_ns.store(request.bound.as_nanos() as u64, Ordering::Relaxed);
        Ok(board)
    }

    /// Opens the board of a host.
    ///
    /// # Errors
    /// When there is none, or the file is something else.
    pub fn open(run: &Path, host: &str) -> Result<BoardFile> {
        let file = OpenOptions::new().read(true).write(true).open(BoardFile::path(run, host))?;
        if file.metadata()?.len() < BYTES as u64 {
            return Err(Error::new(ErrorKind::InvalidData, "no board: the file is too short"));
        }
        let board = BoardFile { mapping: MmapOptions::new().len(BYTES).map_raw(&file)? };
        match board.is_valid() {
            true => Ok(board),
            false => Err(Error::new(ErrorKind::InvalidData, "no board of this version")),
        }
    }
}

impl Deref for BoardFile {
    type Target = Board;

    fn deref(&self) -> &Board {
        // SAFETY: the mapping is as long as a board and begins on a page; every value of its bytes is valid, and what
        // changes while it is shared is atomic.
        unsafe { &*self.mapping.as_ptr().cast::<Board>() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn blocks_are_there_before_they_are_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let request = Request { node: 0, period: 1, kinds: 1, bound: Duration::from_secs(1) };
        BoardFile::create(folder.path(), "host", &request).expect("a board");
        let file = std::fs::File::open(BoardFile::path(folder.path(), "host")).expect("the file");
        file.sync_all().expect("written");
        assert!(file.metadata().expect("its size").blocks() * 512 >= BYTES as u64);
    }
}
