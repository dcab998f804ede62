//! The board's file, for who throttles a job and for the watchdog.

use super::{Board, FILE_PREFIX, MAGIC, VERSION};
use crate::mapped_file::{MappedFile, Shared};
use std::io::{Error, ErrorKind, Result};
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
pub struct BoardFile(MappedFile<Board>);

// SAFETY: it is made of numbers, and but for the first two, which are written before anybody else opens the file, they are atomic.
unsafe impl Shared for Board {}

impl BoardFile {
    /// Where the board of a host lies in a run folder.
    pub fn path(run: &Path, host: &str) -> PathBuf {
        run.join(format!("{FILE_PREFIX}{host}"))
    }

    /// Makes the board of a host.
    ///
    /// # Errors
    /// When there is one, or the file cannot be made.
    pub fn create(run: &Path, host: &str, request: &Request) -> Result<BoardFile> {
        let board = BoardFile(MappedFile::create(&BoardFile::path(run, host), |board: &mut Board| {
            (board.magic, board.version) = (MAGIC, VERSION);
        })?);
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
        let board = BoardFile(MappedFile::open(&BoardFile::path(run, host))?);
        match board.is_valid() {
            true => Ok(board),
            false => Err(Error::new(ErrorKind::InvalidData, "no board of this version")),
        }
    }
}

impl Deref for BoardFile {
    type Target = Board;

    fn deref(&self) -> &Board {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::BYTES;
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
