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

/// Refuses what is no name of a host. Those in traces come from whoever wrote the traces, and go into names of files and onto command
/// lines.
///
/// # Errors
/// When it is empty, begins with a hyphen, or has other characters than letters, digits, `.`, `-` and `_`.
pub fn check_host(host: &str) -> Result<()> {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if !host.is_empty() && !host.starts_with('-') && host.bytes().all(is_fit) {
        return Ok(());
    }
    let about = format!(
        "{host:?} is no name of a host: it may have letters, digits, '.', '-' and '_', and '-' not in front"
    );
    Err(Error::new(ErrorKind::InvalidInput, about))
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
    /// When there is one, the file cannot be made, or the host's name is none.
    pub fn create(run: &Path, host: &str, request: &Request) -> Result<BoardFile> {
        check_host(host)?;
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
    /// When there is none, the file is something else, or the host's name is none.
    pub fn open(run: &Path, host: &str) -> Result<BoardFile> {
        check_host(host)?;
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
    fn names_of_hosts() {
        for host in ["a", "node-7.cluster_2", "10.0.0.1"] {
            check_host(host).expect(host);
        }
        for host in ["", "-oProxyCommand=x", "a/b", "../a", "a b", "a,b", "a\n", "a;b", "h\u{f6}st", "a\0"] {
            assert_eq!(
                check_host(host).map_err(|error| error.kind()),
                Err(ErrorKind::InvalidInput),
                "{host:?}"
            );
            assert!(BoardFile::open(Path::new("/"), host).is_err());
        }
    }

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
