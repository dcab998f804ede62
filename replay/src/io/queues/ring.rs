//! io_uring(7).

use super::super::transfer::Memory;
use super::requests::{Results, What, locked, patiently};
use io_uring::{IoUring, opcode, squeue, types};
use rustix::io::{Errno, Result};
use std::os::fd::RawFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// An io_uring, of which one thread at a time puts something in, and one takes something out.
pub(super) struct Ring {
    ring: IoUring,
    submission: Mutex<()>,
    completion: Mutex<()>,
    /// Handed to the kernel, and not taken out: what it reads into has to stay.
    under_way: AtomicU64,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Ring")
    }
}

impl Ring {
    pub(super) fn new(entries: u32) -> Result<Ring> {
        let ring = IoUring::builder().setup_clamp().build(entries).map_err(errno)?;
        // Linux 5.6 has these, and `IORING_OP_READ`. Before 5.5 lists of pieces were read later.
        if !(ring.params().is_feature_submit_stable() && ring.params().is_feature_rw_cur_pos()) {
            return Err(Errno::NOSYS);
        }
        Ok(Ring {
            ring,
            submission: Mutex::default(),
            completion: Mutex::default(),
            under_way: AtomicU64::new(0),
        })
    }

    pub(super) fn submit(&self, file: RawFd, what: What, memory: &Memory, expected: i64) -> Result<()> {
        let file = types::Fd(file);
        let pieces = what.pieces(memory);
        let entry: squeue::Entry = match (what, &pieces[..]) {
            (What::Read(_, offset), &[libc::iovec { iov_base, iov_len }]) => {
                opcode::Read::new(file, iov_base.cast(), iov_len as u32).offset(offset as u64).build()
            }
            (What::Write(_, offset), &[libc::iovec { iov_base, iov_len }]) => {
                opcode::Write::new(file, iov_base.cast(), iov_len as u32).offset(offset as u64).build()
            }
            (What::Read(_, offset), pieces) => {
                let (list, count) = (pieces.as_ptr(), pieces.len() as u32);
                opcode::Readv::new(file, list, count).offset(offset as u64).build()
            }
            (What::Write(_, offset), pieces) => {
                let (list, count) = (pieces.as_ptr(), pieces.len() as u32);
                opcode::Writev::new(file, list, count).offset(offset as u64).build()
            }
            (What::Sync { data }, _) => {
                let flags = if data { types::FsyncFlags::DATASYNC } else { types::FsyncFlags::empty() };
                opcode::Fsync::new(file).flags(flags).build()
            }
        };
        let entry = entry.user_data(expected as u64);
        let _alone = locked(&self.submission);
        {
            // SAFETY: only who holds the lock puts entries in. The list is read before the call below returns
            // (`IORING_FEAT_SUBMIT_STABLE`), and the memory outlives the request.
            let mut queue = unsafe { self.ring.submission_shared() };
            // SAFETY: as above.
            unsafe { queue.push(&entry) }.map_err(|_| Errno::AGAIN)?;
            self.under_way.fetch_add(1, Ordering::Relaxed);
        }
        if patiently(|| self.ring.submit().map_err(errno)).is_err() {
            // The next call hands it over, and reads the list then.
            std::mem::forget(pieces);
        }
        Ok(())
    }

    pub(super) fn complete(&self, count: u64, results: &mut Results) -> Result<()> {
        let mut left = count;
        while left > 0 {
            {
                let _alone = locked(&self.completion);
                // SAFETY: only who holds the lock takes completions out.
                let completed = unsafe { self.ring.completion_shared() };
                for entry in completed.take(usize::try_from(left).unwrap_or(usize::MAX)) {
                    results.see(entry.user_data() as i64, entry.result().into());
                    self.under_way.fetch_sub(1, Ordering::Relaxed);
                    left -= 1;
                }
            }
            if left > 0 {
                patiently(|| self.ring.submitter().submit_and_wait(1).map_err(errno))?;
            }
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // The kernel goes on with what is under way when a ring is closed.
        let left = self.under_way.load(Ordering::Relaxed);
        let _ = self.complete(left, &mut Results::default());
    }
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
