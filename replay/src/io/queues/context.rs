//! The kernel's contexts of asynchronous I/O: io_submit(2).

use super::super::outcome::status;
use super::super::transfer::Memory;
use super::requests::{Results, What, patiently};
use rustix::io::Result;
use std::os::fd::RawFd;

/// Completions that one call fetches.
const AT_ONCE: usize = 64;

/// A context of io_submit(2).
#[derive(Debug)]
pub(super) struct Context(u64);

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
        Ok(Context(context))
    }

    pub(super) fn submit(&self, file: RawFd, what: What, memory: &Memory, expected: i64) -> Result<()> {
        let mut block = ControlBlock { data: expected as u64, file: file as u32, ..ControlBlock::default() };
        let (mut pieces, vectored) = match what {
            What::Read(bytes, _) => (memory.to_read_into(bytes), [PREAD, PREADV]),
            What::Write(bytes, _) => (memory.to_write_from(bytes), [PWRITE, PWRITEV]),
            What::Sync { data } => (Vec::new(), [if data { FDSYNC } else { FSYNC }; 2]),
        };
        block.opcode = vectored[usize::from(pieces.len() > 1)];
        if let What::Read(_, offset) | What::Write(_, offset) = what {
            block.offset = offset;
        }
        (block.buffer, block.bytes) = match &mut pieces[..] {
            [] => (0, 0),
            [piece] => (piece.iov_base.addr() as u64, piece.iov_len as u64),
            pieces => (pieces.as_mut_ptr().addr() as u64, pieces.len() as u64),
        };
        let block: *mut ControlBlock = &mut block;
        patiently(|| {
            // SAFETY: block and list are read before the call returns; the memory outlives the request (see `Queues::drain`).
            let taken = unsafe { libc::syscall(libc::SYS_io_submit, self.0, 1, &block) };
            status(taken - 1)
        })
    }

    pub(super) fn complete(&self, count: u64, results: &mut Results) -> Result<()> {
        let (mut events, mut left) = ([Event::default(); AT_ONCE], count);
        while left > 0 {
            let wanted = left.min(AT_ONCE as u64);
            let found = patiently(|| {
                let no_limit = std::ptr::null::<libc::timespec>();
                let (context, events) = (self.0, events.as_mut_ptr());
                // SAFETY: there is room for so many events.
                let found = unsafe {
                    libc::syscall(libc::SYS_io_getevents, context, wanted, wanted, events, no_limit)
                };
                // Fewer when a signal came in between.
                if found < 0 { status(found).map(|()| 0) } else { Ok(found as u64) }
            })?;
            for event in &events[..found as usize] {
                results.see(event.data as i64, event.result);
            }
            left -= found;
        }
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}
