//! The kernel's contexts of asynchronous I/O: io_submit(2).

use super::super::outcome::status;
use super::super::transfer::Memory;
use super::requests::{Results, What, locked, patiently};
use rustix::io::{Errno, Result};
use std::os::fd::RawFd;
use std::sync::Mutex;

/// Completions that one call fetches.
const AT_ONCE: usize = 64;

/// A context of io_submit(2).
#[derive(Debug)]
pub(super) struct Context {
    number: u64,
    kept: Mutex<Kept>,
}

/// Completions that were taken out to make room, and threads that wait for others.
#[derive(Debug, Default)]
struct Kept {
    count: u64,
    results: Results,
    waiting: u32,
}

/// `struct iocb` of `linux/aio_abi.h`, little endian.
#[repr(C)]
#[derive(Default)]
struct ControlBlock {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_file: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    second_result: i64,
}

/// `IOCB_CMD_PREAD` and its kin.
const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;
const PREADV: u16 = 7;
const PWRITEV: u16 = 8;

impl Context {
    pub(super) fn new(entries: u32) -> Result<Context> {
        let mut context = 0u64;
        // SAFETY: the kernel writes the context there.
        status(unsafe { libc::syscall(libc::SYS_io_setup, entries, &mut context) })?;
        Ok(Context { number: context, kept: Mutex::default() })
    }

    pub(super) fn submit(&self, file: RawFd, what: What, memory: &Memory, expected: i64) -> Result<()> {
        let mut block = ControlBlock { data: expected as u64, file: file as u32, ..ControlBlock::default() };
        let mut pieces = what.pieces(memory);
        (block.opcode, block.offset) = match (what, pieces.len() > 1) {
            (What::Read(_, offset), false) => (PREAD, offset),
            (What::Read(_, offset), true) => (PREADV, offset),
            (What::Write(_, offset), false) => (PWRITE, offset),
            (What::Write(_, offset), true) => (PWRITEV, offset),
            (What::Sync { data: false }, _) => (FSYNC, 0),
            (What::Sync { data: true }, _) => (FDSYNC, 0),
        };
        (block.buffer, block.bytes) = match &mut pieces[..] {
            [] => (0, 0),
            [piece] => (piece.iov_base.addr() as u64, piece.iov_len as u64),
            pieces => (pieces.as_mut_ptr().addr() as u64, pieces.len() as u64),
        };
        let block: *mut ControlBlock = &mut block;
        let submit = || {
            // SAFETY: block and list are read before the call returns; the memory outlives the request (see `Queues::drain`).
            let taken = unsafe { libc::syscall(libc::SYS_io_submit, self.number, 1, &block) };
            status(taken - 1)
        };
        patiently(|| match submit() {
            Err(Errno::AGAIN) if self.make_room()? => submit(),
            submitted => submitted,
        })
    }

    /// The application may have looked into the memory of the context for completions, which no call shows: those that there are here are
    /// kept for who waits for them, unless somebody does. Whether there were some.
    fn make_room(&self) -> Result<bool> {
        let mut kept = locked(&self.kept);
        if kept.waiting > 0 {
            return Ok(false);
        }
        let mut events = [Event::default(); AT_ONCE];
        let found = self.fetch(&mut events, 0)?;
        found.iter().for_each(|event| kept.results.see(event.data as i64, event.result));
        kept.count += found.len() as u64;
        Ok(!found.is_empty())
    }

    /// Completions, at least so many but when a signal comes.
    fn fetch<'e>(&self, events: &'e mut [Event], least: usize) -> Result<&'e [Event]> {
        let found = patiently(|| {
            let no_limit = std::ptr::null::<libc::timespec>();
            let (most, events) = (events.len(), events.as_mut_ptr());
            // SAFETY: there is room for so many events.
            let found =
                unsafe { libc::syscall(libc::SYS_io_getevents, self.number, least, most, events, no_limit) };
            if found < 0 { status(found).map(|()| 0) } else { Ok(found as usize) }
        })?;
        Ok(&events[..found])
    }

    pub(super) fn complete(&self, count: u64, results: &mut Results) -> Result<()> {
        let mut left = count;
        {
            let mut kept = locked(&self.kept);
            if kept.count > 0 {
                let taken = left.min(kept.count);
                (kept.count, left) = (kept.count - taken, left - taken);
                results.add(std::mem::take(&mut kept.results));
            }
            kept.waiting += u32::from(left > 0);
        }
        let waits = left > 0;
        let outcome = self.wait(left, results);
        if waits {
            locked(&self.kept).waiting -= 1;
        }
        outcome
    }

    fn wait(&self, mut left: u64, results: &mut Results) -> Result<()> {
        let mut events = [Event::default(); AT_ONCE];
        while left > 0 {
            let wanted = left.min(AT_ONCE as u64) as usize;
            let found = self.fetch(&mut events[..wanted], wanted)?;
            found.iter().for_each(|event| results.see(event.data as i64, event.result));
            left -= found.len() as u64;
        }
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.number) };
    }
}
