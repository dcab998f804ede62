//! From a system call to its record: the number, six arguments and the result on one side, [`Call`], integers, texts
//! and list on the other. Linux on x86-64.
//!
//! Two recorders see system calls as such: the one that traces another process (`tracer`), and the shim where a
//! program calls `syscall(2)`. What differs between them, how they look into the program's memory and how they ask what
//! a descriptor stands for, they tell by [`Context`].
//!
//! | file | holds |
//! |---|---|
//! | `table.rs` | what each number is recorded as; most calls need no more than their line there |
//! | `files.rs`, `sockets.rs`, `waiting.rs`, `asynchronous.rs`, `others.rs` | calls that need a closer look, by family |
//! | `unrecorded.rs` | calls that have no effect on I/O or timing, and are let through |
//!
//! Every other number is recorded as [`Call::Syscall`]: seen, but not understood.
//!
//! Sources: `arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi` of the kernel; section 2 of the manual.

pub mod address;
mod asynchronous;
mod files;
mod others;
pub mod seccomp;
mod sockets;
mod table;
mod unrecorded;
mod waiting;

pub use files::{AFTER_THE_LOCK, FcntlArgument, fcntl_argument, requests_more};
pub use others::{is_vfork, waited_for};
pub use table::{Known, Number, call_of, decode, look_before};
pub use unrecorded::{UNRECORDED, is_unrecorded};

use crate::calls::Call;
use crate::record::{MAX_LIST, MAX_TEXT_BYTES};

/// A system call that has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCall {
    /// Which one.
    pub number: i64,
    /// The arguments, as many as it has.
    pub args: [u64; 6],
    /// The result, or a negated errno.
    pub result: i64,
    /// What [`look_before`] has found.
    pub before: i64,
}

/// What a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It returned this.
    Returned(i64),
    /// It failed with this errno.
    Failed(i64),
}

impl Outcome {
    /// From what the kernel returns.
    pub const fn of(result: i64) -> Outcome {
        const HIGHEST_ERRNO: i64 = 4095;
        if result < 0 && result >= -HIGHEST_ERRNO {
            Outcome::Failed(-result)
        } else {
            Outcome::Returned(result)
        }
    }
    /// errno of a failure.
    pub const fn errno(self) -> Option<i64> {
        match self {
            Outcome::Returned(_) => None,
            Outcome::Failed(errno) => Some(errno),
        }
    }
}

/// Whoever saw a system call: how to look into the memory and at the descriptors of the process that made it, and
/// where its records go.
pub trait Context {
    /// Fills `to` from the process's memory at `address`, which the kernel has just read or written itself. False: it
    /// cannot be read.
    fn read(&mut self, address: u64, to: &mut [u8]) -> bool;

    /// The same for memory that nobody has looked at yet.
    fn try_read(&mut self, address: u64, to: &mut [u8]) -> bool;

    /// The text at `address`, an argument of a call that has succeeded or failed; empty where it cannot be read. `room` may be
    /// used to keep it.
    fn text<'a>(&mut self, address: u64, failed: bool, room: &'a mut [u8]) -> &'a [u8];

    /// `st_mode`, `st_size`, `st_ino` of an open descriptor; zeros where there is none.
    fn status(&mut self, fd: i32) -> [i64; 3];

    /// The same of what a call with these flags has just opened, with the bits of [`crate::birth`] in `st_mode`.
    fn opened(&mut self, fd: i32, flags: i32) -> [i64; 3];

    /// The `struct sockaddr` of a socket, its own or its peer's: how many bytes of `to` it takes, 0 where there is none.
    fn name_of_socket(&mut self, fd: i32, side: Side, to: &mut [u8]) -> usize;

    /// The process at the other end of a Unix socket; 0 where nobody tells.
    fn peer_process(&mut self, fd: i32) -> i64;

    /// Whether the arguments are those that the kernel gets, and not those of a function of libc, which may hand it copies.
    fn has_arguments_of_kernel(&self) -> bool;

    /// True when a file is mapped somewhere in this memory.
    fn maps_file(&mut self, address: u64, bytes: u64) -> bool;

    /// Writes a record. A call has one, and then one for each part of it that has one of its own.
    fn record<const N: usize>(
        &mut self,
        call: Call,
        outcome: Outcome,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    );

    /// Writes an `inherited-fd` record of a descriptor that has come from another process.
    fn record_descriptor(&mut self, fd: i32);
}

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Ours.
    Local,
    /// The other one.
    Peer,
}

/// Memory for what is being decoded; all zero bytes are a valid one. It is large: not for a stack.
#[repr(C)]
pub struct Room {
    list: [i64; MAX_LIST],
    texts: [[u8; MAX_TEXT_BYTES]; 2],
    bytes: [u8; BYTES],
}

/// Bytes of structures that are read at once.
const BYTES: usize = 8 << 10;

impl Room {
    /// An empty one.
    pub const NEW: Room = Room { list: [0; MAX_LIST], texts: [[0; MAX_TEXT_BYTES]; 2], bytes: [0; BYTES] };
}

/// A call that is being decoded.
struct Seen<'w, W> {
    call: SystemCall,
    outcome: Outcome,
    context: &'w mut W,
    room: &'w mut Room,
}

/// A type of which every bit pattern is a value.
///
/// # Safety
/// So it must be.
unsafe trait Plain: Copy {}
// SAFETY: numbers, and structures of numbers.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for i32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl Plain for i64 {}
// SAFETY: as above.
unsafe impl Plain for libc::timespec {}
// SAFETY: as above.
unsafe impl Plain for libc::timeval {}
// SAFETY: as above.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Memory as a value; `None` where it cannot be read.
fn value<W: Context, T: Plain>(
    address: u64,
    read: fn(&mut W, u64, &mut [u8]) -> bool,
    context: &mut W,
) -> Option<T> {
    let mut value = core::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: the memory is as long as the type, and zeroed.
    let bytes = unsafe { core::slice::from_raw_parts_mut(value.as_mut_ptr().cast::<u8>(), size_of::<T>()) };
    if address == 0 || !read(context, address, bytes) {
        return None;
    }
    // SAFETY: every bit pattern is a value.
    Some(unsafe { value.assume_init() })
}

impl<'w, W: Context> Seen<'w, W> {
    fn of(call: SystemCall, context: &'w mut W, room: &'w mut Room) -> Seen<'w, W> {
        Seen { call, outcome: Outcome::of(call.result), context, room }
    }

    /// The argument at this position as an `int`.
    fn int(&self, position: usize) -> i64 {
        i64::from(self.call.args[position] as i32)
    }
    /// As an `unsigned int`.
    fn unsigned(&self, position: usize) -> i64 {
        i64::from(self.call.args[position] as u32)
    }
    /// As a machine word.
    fn word(&self, position: usize) -> i64 {
        self.call.args[position] as i64
    }
    /// A number that the libc function of the same name has and the system call has not.
    fn constant(&self, number: i64) -> i64 {
        number
    }

    fn errno(&self) -> Option<i64> {
        self.outcome.errno()
    }
    fn succeeded(&self) -> bool {
        self.errno().is_none()
    }
    /// True when it succeeded, or failed in a way that shows that the kernel has read its arguments.
    fn succeeded_or(&self, errors: &[i32]) -> bool {
        self.errno().is_none_or(|errno| errors.iter().any(|&error| i64::from(error) == errno))
    }
    /// The descriptor that the call has made, -1 if it failed.
    fn new_descriptor(&self) -> i32 {
        if self.succeeded() { self.call.result as i32 } else { -1 }
    }

    /// What the argument at this position points to, which the kernel must have read or written.
    fn at<T: Plain>(&mut self, position: usize) -> Option<T> {
        self.value(self.call.args[position])
    }
    fn value<T: Plain>(&mut self, address: u64) -> Option<T> {
        value(address, W::read, self.context)
    }

    /// Writes the record of a call without texts and list.
    fn put<const N: usize>(&mut self, call: Call, numbers: [i64; N]) {
        self.context.record(call, self.outcome, &numbers, &[], &[]);
    }
    /// Writes the record of a call with the text that the argument at this position points to.
    fn put_text<const N: usize>(&mut self, call: Call, numbers: [i64; N], position: usize) {
        let failed = !self.succeeded();
        let [room, _] = &mut self.room.texts;
        let text = self.context.text(self.call.args[position], failed, room);
        self.context.record(call, self.outcome, &numbers, &[text], &[]);
    }
    /// Writes the record of a call with two of them.
    fn put_texts<const N: usize>(&mut self, call: Call, numbers: [i64; N], positions: [usize; 2]) {
        let failed = !self.succeeded();
        let [first, second] = &mut self.room.texts;
        let first = self.context.text(self.call.args[positions[0]], failed, first);
        let second = self.context.text(self.call.args[positions[1]], failed, second);
        self.context.record(call, self.outcome, &numbers, &[first, second], &[]);
    }
    /// Writes the record of a call with the first numbers of the list.
    fn put_list<const N: usize>(&mut self, call: Call, numbers: [i64; N], length: usize) {
        self.context.record(call, self.outcome, &numbers, &[], &self.room.list[..length]);
    }

    /// Calls `with` for each of `count` structures of `N` bytes at `address`, until it says that it has enough.
    fn for_each<const N: usize>(
        &mut self,
        address: u64,
        count: u64,
        mut with: impl FnMut(&[u8; N], &mut [i64; MAX_LIST]) -> bool,
    ) {
        let at_once = (BYTES / N) as u64;
        let mut done = 0;
        while done < count {
            let now = (count - done).min(at_once);
            let bytes = &mut self.room.bytes[..now as usize * N];
            if !self.context.read(address.wrapping_add(done * N as u64), bytes) {
                return;
            }
            for one in bytes.as_chunks().0 {
                if !with(one, &mut self.room.list) {
                    return;
                }
            }
            done += now;
        }
    }

    /// The bytes that an I/O vector asks for.
    fn total(&mut self, vector: u64, count: u64) -> i64 {
        /// `UIO_MAXIOV`: the kernel takes no more of them.
        const MOST: u64 = 1024;
        let mut total = 0i64;
        // struct iovec: address 8, length 8.
        self.for_each::<16>(vector, count.min(MOST), |one, _| {
            total = total.saturating_add(number(one, 8));
            true
        });
        total
    }
}

/// The eight bytes at `offset` of a structure.
fn number<const N: usize>(structure: &[u8; N], offset: usize) -> i64 {
    structure[offset..].first_chunk().map_or(0, |bytes| i64::from_ne_bytes(*bytes))
}

/// The four bytes at `offset` of a structure.
fn half<const N: usize>(structure: &[u8; N], offset: usize) -> u32 {
    structure[offset..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

/// A time, as records hold it.
#[inline]
pub fn nanoseconds(time: libc::timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// The same.
#[inline]
pub fn nanoseconds_of(time: libc::timeval) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_usec.saturating_mul(1000))
}
