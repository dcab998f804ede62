//! Reading and writing of any size from buffers of a bounded one.

use super::outcome::{moved, status};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, Result};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use syn_plan::{Io, Op, Program};

/// The largest buffer of a thread; larger transfers repeat it.
const MOST: usize = 16 << 20;
/// The largest of one that is there only for want of a call that needs none.
const INSTEAD: u64 = 128 << 10;
/// Buffers begin and end at multiples of this, as direct I/O demands.
const PAGE: usize = 4096;
/// The most pieces of one vectored call (`IOV_MAX`).
const PIECES: usize = 1024;

/// What a thread reads into and writes from; two, so that it writes what no storage can leave out even after it has
/// read zeros.
#[derive(Debug)]
pub struct Buffers {
    read: Buffer,
    write: Buffer,
}

impl Buffers {
    /// Large enough for what `program` does; different `seed`s give different content.
    pub fn for_program(program: &Program, seed: u64) -> Buffers {
        let (mut read, mut write) = (0, 0);
        for step in program.steps.iter() {
            match step.op {
                Op::Io { call: Io::Read { bytes, .. } | Io::ReadAt { bytes, .. }, .. } => {
                    read = bytes.max(read)
                }
                Op::Io { call: Io::Write { bytes, .. } | Io::WriteAt { bytes, .. }, .. } => {
                    write = bytes.max(write)
                }
                // For a storage that has no such call.
                Op::Io {
                    call: Io::Send { bytes, .. } | Io::SendTo { bytes, .. } | Io::CopyRange { bytes, .. },
                    ..
                } => (read, write) = (bytes.min(INSTEAD).max(read), bytes.min(INSTEAD).max(write)),
                _ => {}
            }
        }
        Buffers { read: Buffer::new(read, seed), write: Buffer::new(write, seed) }
    }

    /// Reads up to `bytes` bytes, from the current position or from `offset`. After a short read it goes on only
    /// while less than `expected` bytes, the recorded number, have come.
    ///
    /// A transfer in one piece goes by rustix, which makes the system call itself: libc's `read` and `write` take 50 ns
    /// more in a process with several threads, to be points of cancellation.
    pub fn read(
        &mut self,
        from: BorrowedFd<'_>,
        bytes: u64,
        offset: Option<u64>,
        expected: u64,
    ) -> Result<u64> {
        let (buffer, descriptor) = (&mut self.read, from.as_raw_fd());
        whole(bytes, expected, |done, bytes| {
            let at = position(offset, done)?;
            if let Some(piece) = buffer.piece(bytes) {
                let moved = match at {
                    None => rustix::io::read(from, piece)?,
                    Some(at) => rustix::io::pread(from, piece, at as u64)?,
                };
                return Ok(moved as u64);
            }
            let pieces = buffer.pieces(bytes);
            let (list, count) = (pieces.as_ptr(), pieces.len() as i32);
            // SAFETY: every piece lies in `buffer`, which is borrowed mutably; that pieces overlap is of no concern,
            // since nobody looks at what was read.
            moved(unsafe {
                match at {
                    None => libc::readv(descriptor, list, count),
                    Some(at) => libc::preadv(descriptor, list, count, at),
                }
            })
        })
    }

    /// Writes `bytes` bytes, to the current position or to `offset`, going on as [`Buffers::read`] does.
    pub fn write(
        &mut self,
        to: BorrowedFd<'_>,
        bytes: u64,
        offset: Option<u64>,
        expected: u64,
    ) -> Result<u64> {
        let (buffer, descriptor) = (&mut self.write, to.as_raw_fd());
        whole(bytes, expected, |done, bytes| {
            let at = position(offset, done)?;
            if let Some(piece) = buffer.piece(bytes) {
                let moved = match at {
                    None => rustix::io::write(to, piece)?,
                    Some(at) => rustix::io::pwrite(to, piece, at as u64)?,
                };
                return Ok(moved as u64);
            }
            let pieces = buffer.pieces(bytes);
            let (list, count) = (pieces.as_ptr(), pieces.len() as i32);
            // SAFETY: every piece lies in `buffer`, which outlives the call; the kernel only reads from it.
            moved(unsafe {
                match at {
                    None => libc::writev(descriptor, list, count),
                    Some(at) => libc::pwritev(descriptor, list, count, at),
                }
            })
        })
    }

    /// Reads without a copy, and writes what was read to `to`, or nowhere; the rest as [`Buffers::read`].
    pub fn send(
        &mut self,
        from: BorrowedFd<'_>,
        to: Option<BorrowedFd<'_>>,
        bytes: u64,
        offset: Option<u64>,
        expected: u64,
    ) -> Result<u64> {
        let out = match to {
            Some(to) => to.as_raw_fd(),
            None => nowhere()?.as_raw_fd(),
        };
        let sent = whole(bytes, expected, |done, bytes| {
            let mut at = position(offset, done)?;
            let place = at.as_mut().map_or(std::ptr::null_mut(), |at| at);
            let count = usize::try_from(bytes).unwrap_or(usize::MAX);
            // SAFETY: the place is null or outlives the call.
            moved(unsafe { libc::sendfile(out, from.as_raw_fd(), place, count) })
        });
        match (sent, to) {
            (Err(error), Some(to)) if is_missing(error) => {
                self.copy(from, to, bytes, (offset, None), expected)
            }
            (Err(error), None) if is_missing(error) => self.read(from, bytes, offset, expected),
            (sent, _) => sent,
        }
    }

    /// copy_file_range(2); the rest as [`Buffers::read`].
    pub fn copy_range(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        bytes: u64,
        places: (Option<u64>, Option<u64>),
        expected: u64,
    ) -> Result<u64> {
        let copied = whole(bytes, expected, |done, bytes| {
            let (mut read_at, mut written_at) = (places.0.map(|at| at + done), places.1.map(|at| at + done));
            let count = usize::try_from(bytes).unwrap_or(usize::MAX);
            rustix::fs::copy_file_range(from, read_at.as_mut(), to, written_at.as_mut(), count)
                .map(|moved| moved as u64)
        });
        match copied {
            Err(error) if is_missing(error) => self.copy(from, to, bytes, places, expected),
            copied => copied,
        }
    }

    /// Reads and writes.
    fn copy(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        bytes: u64,
        (read_at, written_at): (Option<u64>, Option<u64>),
        expected: u64,
    ) -> Result<u64> {
        let read = self.read(from, bytes, read_at, expected)?;
        self.write(to, read, written_at, read)
    }
}

/// Where what is sent is not kept: as of a socket, its pages are passed on and not copied.
fn nowhere() -> Result<BorrowedFd<'static>> {
    static NOWHERE: OnceLock<Result<OwnedFd>> = OnceLock::new();
    let open = || rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    NOWHERE.get_or_init(open).as_ref().map(AsFd::as_fd).map_err(|&error| error)
}

/// Whether a call failed where reads and writes may succeed: because this storage does not have it, or, with `EBADF`, because the
/// target was opened with `O_APPEND`, which copy_file_range(2) refuses. The program may have taken the flag back by fcntl(2) first; a
/// plan has no such call.
fn is_missing(error: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::XDEV, Errno::BADF].contains(&error)
}

/// posix_fadvise(2).
pub fn advise(file: BorrowedFd<'_>, offset: u64, bytes: u64, advice: i32) -> Result<()> {
    // SAFETY: takes no pointers; negative numbers are refused by the kernel.
    returned(unsafe { libc::posix_fadvise(file.as_raw_fd(), offset as i64, bytes as i64, advice) })
}

/// posix_fallocate(3).
pub fn allocate(file: BorrowedFd<'_>, offset: u64, bytes: u64) -> Result<()> {
    // SAFETY: takes no pointers; negative numbers are refused by the C library.
    returned(unsafe { libc::posix_fallocate(file.as_raw_fd(), offset as i64, bytes as i64) })
}

/// Of a function that returns its error.
fn returned(error: i32) -> Result<()> {
    if error == 0 { Ok(()) } else { Err(Errno::from_raw_os_error(error)) }
}

/// readahead(2).
pub fn read_ahead(file: BorrowedFd<'_>, offset: u64, bytes: u64) -> Result<()> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    // SAFETY: takes no pointers; negative numbers are refused by the kernel.
    status(unsafe { libc::readahead(file.as_raw_fd(), offset as i64, bytes) } as i64)
}

/// Goes on with `transfer(done, left)` until it moves nothing more, or what was recorded has been moved.
fn whole(bytes: u64, expected: u64, mut transfer: impl FnMut(u64, u64) -> Result<u64>) -> Result<u64> {
    let mut done = 0;
    loop {
        match transfer(done, bytes - done) {
            Ok(0) => return Ok(done),
            Ok(now) => done += now,
            Err(error) if done == 0 => return Err(error),
            Err(_) => return Ok(done),
        }
        if done >= expected.min(bytes) {
            return Ok(done);
        }
    }
}

fn position(offset: Option<u64>, done: u64) -> Result<Option<i64>> {
    let at = |offset: u64| offset.checked_add(done).and_then(|at| i64::try_from(at).ok()).ok_or(Errno::INVAL);
    offset.map(at).transpose()
}

/// What requests read into and write from that go on while their threads do other things. Nobody looks at what was read, so that they may
/// all read into one.
#[derive(Debug)]
pub(super) struct Memory {
    read: Option<Buffer>,
    write: Option<Buffer>,
}

impl Memory {
    /// For requests of so many bytes; none where there are none.
    pub(super) fn new(read: u64, write: u64) -> Memory {
        let buffer = |bytes: u64| (bytes > 0).then(|| Buffer::new(bytes, 0));
        Memory { read: buffer(read), write: buffer(write) }
    }

    pub(super) fn to_read_into(&self, bytes: u64) -> Vec<libc::iovec> {
        Memory::pieces(self.read.as_ref(), bytes)
    }

    pub(super) fn to_write_from(&self, bytes: u64) -> Vec<libc::iovec> {
        Memory::pieces(self.write.as_ref(), bytes)
    }

    fn pieces(buffer: Option<&Buffer>, bytes: u64) -> Vec<libc::iovec> {
        let mut pieces = Vec::new();
        match buffer {
            Some(buffer) => cut(buffer.first, buffer.bytes, bytes, &mut pieces),
            None => pieces.push(libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }),
        }
        pieces
    }
}

/// Pieces of `bytes` bytes together, or of as many as one call takes; at least one.
fn cut(first: *mut libc::c_void, capacity: usize, bytes: u64, pieces: &mut Vec<libc::iovec>) {
    let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
    pieces.clear();
    loop {
        let iov_len = left.min(capacity);
        pieces.push(libc::iovec { iov_base: first, iov_len });
        left -= iov_len;
        if left == 0 || pieces.len() == PIECES {
            return;
        }
    }
}

/// Page-aligned memory, and a list of pieces of it that together have any size.
#[derive(Debug)]
struct Buffer {
    memory: Vec<u8>,
    start: usize,
    bytes: usize,
    /// Its first byte, for the kernel.
    first: *mut libc::c_void,
    pieces: Vec<libc::iovec>,
}

// SAFETY: the pieces point into the buffer's own memory.
unsafe impl Send for Buffer {}
// SAFETY: what is shared is only handed to the kernel.
unsafe impl Sync for Buffer {}

impl Buffer {
    fn new(bytes: u64, seed: u64) -> Buffer {
        let bytes = usize::try_from(bytes).unwrap_or(MOST).min(MOST).next_multiple_of(PAGE).max(PAGE);
        let mut memory = vec![0; bytes + PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        fill(&mut memory[start..], seed);
        let first = memory[start..].as_mut_ptr().cast();
        Buffer { memory, start, bytes, first, pieces: Vec::new() }
    }

    /// So many bytes of it, if it has them.
    fn piece(&mut self, bytes: u64) -> Option<&mut [u8]> {
        let bytes = usize::try_from(bytes).ok().filter(|&bytes| bytes <= self.bytes)?;
        Some(&mut self.memory[self.start..][..bytes])
    }

    /// See [`cut`].
    fn pieces(&mut self, bytes: u64) -> &[libc::iovec] {
        cut(self.first, self.bytes, bytes, &mut self.pieces);
        &self.pieces
    }
}

/// Fills `bytes` with pseudo-random numbers (xorshift64*, Vigna 2016) that are hard to compress.
pub fn fill(bytes: &mut [u8], seed: u64) {
    let mut state = seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15);
    for chunk in bytes.chunks_mut(8) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let number = state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes();
        chunk.copy_from_slice(&number[..chunk.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_the_size_asked_for_and_stay_in_the_buffer() {
        let mut buffer = Buffer::new(u64::MAX, 1);
        for bytes in [0, 1, MOST as u64, 3 * MOST as u64 + 5] {
            let pieces = buffer.pieces(bytes);
            assert_eq!(pieces.iter().map(|piece| piece.iov_len as u64).sum::<u64>(), bytes);
            assert!(pieces.iter().all(|piece| piece.iov_len <= MOST && piece.iov_base.addr() % PAGE == 0));
        }
        assert_eq!(buffer.pieces(u64::MAX).len(), PIECES);
    }

    #[test]
    fn a_transfer_ends_with_the_recorded_number_of_bytes() {
        let parts = |bytes, expected| {
            let mut calls = 0;
            let done = whole(bytes, expected, |_, left| {
                calls += 1;
                Ok(left.min(10))
            });
            (done, calls)
        };
        assert_eq!(parts(30, 30), (Ok(30), 3));
        assert_eq!(parts(30, 10), (Ok(10), 1));
        assert_eq!(parts(30, 0), (Ok(10), 1));
        assert_eq!(whole(5, 5, |_, _| Err(Errno::BADF)), Err(Errno::BADF));
        assert_eq!(whole(5, 5, |done, _| if done == 0 { Ok(2) } else { Err(Errno::NOSPC) }), Ok(2));
    }
}
