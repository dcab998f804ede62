//! What stands in the queues of a ring, and its records.

use super::ring::{Ring, SETUP_CQE_MIXED, View};
use crate::core::procfs::decimal;
use crate::core::readable::Reader;
use crate::recording::first_records;
use crate::recording::span::{Span, note};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};
use syn_trace::calls::Call;

/// A submission (`struct io_uring_sqe`), without what is particular to some operations.
#[derive(Clone, Copy)]
#[repr(C)]
struct Submission {
    opcode: u8,
    flags: u8,
    priority: u16,
    fd: c_int,
    offset: u64,
    address: u64,
    length: u32,
    operation_flags: u32,
    user_data: u64,
    buffer: u16,
    personality: u16,
    file_index: u32,
}

/// A completion (`struct io_uring_cqe`).
#[derive(Clone, Copy)]
#[repr(C)]
struct Completion {
    user_data: u64,
    result: i32,
    flags: u32,
}

const READV: u8 = 1;
const WRITEV: u8 = 2;
const FSYNC: u8 = 3;
const READ_FIXED: u8 = 4;
const WRITE_FIXED: u8 = 5;
const SYNC_FILE_RANGE: u8 = 8;
const SENDMSG: u8 = 9;
const RECVMSG: u8 = 10;
const ACCEPT: u8 = 13;
const FALLOCATE: u8 = 17;
const OPENAT: u8 = 18;
const CLOSE: u8 = 19;
const READ: u8 = 22;
const WRITE: u8 = 23;
const SEND: u8 = 26;
const RECV: u8 = 27;
const OPENAT2: u8 = 28;
const SPLICE: u8 = 30;
const TEE: u8 = 33;
const SOCKET: u8 = 45;
const SEND_ZC: u8 = 47;
const SENDMSG_ZC: u8 = 48;
const READ_MULTISHOT: u8 = 49;
const READV_FIXED: u8 = 60;
const WRITEV_FIXED: u8 = 61;

/// The file is named by its place among the registered ones.
const SQE_FIXED_FILE: u8 = 1;
/// More completions of the same submission follow.
const CQE_MORE: u32 = 1 << 1;
/// Fills a hole at the end of a queue of mixed sizes.
const CQE_SKIP: u32 = 1 << 5;
/// In a queue of mixed sizes: takes two places.
const CQE_WIDE: u32 = 1 << 15;

impl Submission {
    /// The bytes it asks for; 0 for what moves none. Of an fsync, its flags.
    fn bytes(&self, reader: &mut Reader<'_>) -> i64 {
        match self.opcode {
            READ | WRITE | READ_FIXED | WRITE_FIXED | SEND | RECV | SEND_ZC | SPLICE | TEE
            | SYNC_FILE_RANGE | READ_MULTISHOT => i64::from(self.length),
            READV | WRITEV | READV_FIXED | WRITEV_FIXED => {
                reader.total(self.address as usize, self.length as usize)
            }
            FSYNC => i64::from(self.operation_flags),
            // The length stands where others have their address.
            FALLOCATE => self.address as i64,
            SENDMSG | RECVMSG | SENDMSG_ZC => {
                // SAFETY: the fields of a message header may have any value.
                let message = unsafe { reader.copy::<libc::msghdr>(self.address as usize) };
                message.map_or(0, |message| reader.total(message.msg_iov as usize, message.msg_iovlen))
            }
            _ => 0,
        }
    }

    /// Its flags and file as they are recorded. What closes a registered file names it elsewhere than others do.
    fn file(&self) -> (u8, c_int) {
        match (self.opcode, self.file_index) {
            (CLOSE, 1..) => (self.flags | SQE_FIXED_FILE, (self.file_index - 1) as c_int),
            _ => (self.flags, self.fd),
        }
    }

    /// True when a descriptor of the process comes out of it, and not a place among the registered files.
    fn gives_descriptor(&self) -> bool {
        matches!(self.opcode, OPENAT | OPENAT2 | ACCEPT | SOCKET) && self.file_index == 0
    }
}

/// Records the submissions up to `tail` that have no record yet.
pub(super) fn record_submissions(span: &mut Span, ring: &Ring, view: &View, tail: u32) {
    let Some(first) = claim(&ring.submitted, tail) else { return };
    let entries = view.sq_mask.wrapping_add(1);
    let lost = tail.wrapping_sub(first).saturating_sub(entries);
    ring.missed[0].fetch_add(lost, Ordering::Relaxed);
    // SAFETY: only this function reads the program's memory meanwhile.
    let windows = unsafe { span.scratch().windows.lend() };
    let mut reader = Reader::new(&mut windows[..1]);
    let mut index = first.wrapping_add(lost);
    while index != tail {
        // SAFETY: the masks keep the places inside the queues; the memory is the program's own.
        let entry = unsafe {
            let place = index & view.sq_mask;
            let place = if view.sq_array.is_null() {
                place
            } else {
                *view.sq_array.add(place as usize) & view.sq_mask
            };
            view.sqes.add(place as usize * view.sqe_bytes).cast::<Submission>().read_volatile()
        };
        if entry.gives_descriptor() {
            ring.expect_descriptor(entry.user_data);
        }
        let (flags, fd) = entry.file();
        let numbers = [
            i64::from(ring.descriptor()),
            i64::from(entry.opcode),
            i64::from(flags),
            i64::from(fd),
            entry.bytes(&mut reader),
            entry.offset as i64,
            entry.user_data as i64,
        ];
        span.record(Call::Sqe, false, 0, &numbers, &[], &[]);
        index = index.wrapping_add(1);
    }
}

/// Records the completions that have no record yet.
pub(super) fn record_completions(span: &mut Span, ring: &Ring) {
    let Some(view) = ring.view() else { return };
    let Some(first) = claim(&ring.completed, view.cq_tail) else { return };
    let entries = view.cq_mask.wrapping_add(1);
    let lost = view.cq_tail.wrapping_sub(first).saturating_sub(entries);
    let mut missed = lost;
    let mut index = first.wrapping_add(lost);
    while index != view.cq_tail {
        // SAFETY: the mask keeps the place inside the queue; the memory is the program's own.
        let entry = unsafe {
            let place = (index & view.cq_mask) as usize;
            view.cqes.add(place * view.cqe_bytes).cast::<Completion>().read_volatile()
        };
        let at = index;
        index = index.wrapping_add(1);
        // What the program has taken out the kernel may have written over while it was read here.
        let now = ring.view().unwrap_or(view);
        let is_out = (at.wrapping_sub(now.cq_head) as i32) < 0;
        if is_out && now.cq_tail.wrapping_sub(at) >= entries {
            missed += 1;
            continue;
        }
        if ring.flags() & SETUP_CQE_MIXED != 0 {
            if entry.flags & CQE_SKIP != 0 {
                continue;
            }
            if entry.flags & CQE_WIDE != 0 && index != view.cq_tail {
                index = index.wrapping_add(1);
            }
        }
        record_completion(span, ring, entry);
    }
    ring.missed[1].fetch_add(missed, Ordering::Relaxed);
}

fn record_completion(span: &mut Span, ring: &Ring, entry: Completion) {
    let result = i64::from(entry.result);
    let numbers = [i64::from(ring.descriptor()), result, i64::from(entry.flags), entry.user_data as i64];
    span.record(Call::Cqe, result < 0, result.abs(), &numbers, &[], &[]);
    if ring.is_descriptor(entry.user_data, entry.flags & CQE_MORE != 0) && result >= 0 {
        // SAFETY: nothing else is put together here.
        let buffer = unsafe { span.scratch().texts.lend() };
        first_records::inherited_descriptor(span.state(), entry.result, buffer);
    }
}

/// Takes what lies between the tail that has been recorded and this one; another thread may do the same.
fn claim(recorded: &AtomicU32, tail: u32) -> Option<u32> {
    let mut first = recorded.load(Ordering::Relaxed);
    loop {
        if tail.wrapping_sub(first) as i32 <= 0 {
            return None;
        }
        match recorded.compare_exchange_weak(first, tail, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Some(first),
            Err(now) => first = now,
        }
    }
}

/// Says how many entries have no record.
pub(super) fn note_missed(span: &Span, ring: &Ring) {
    let [submissions, completions] = [0, 1].map(|kind| ring.missed[kind].swap(0, Ordering::Relaxed));
    if submissions == 0 && completions == 0 {
        return;
    }
    let mut text = Text::new();
    text.put(b"io_uring with descriptor ");
    text.number(ring.descriptor().max(0) as u64);
    text.put(b": ");
    text.number(submissions.into());
    text.put(b" submissions and ");
    text.number(completions.into());
    text.put(
        b" completions were over before a call showed them; without a system call through libc, none does",
    );
    // SAFETY: this thread's state.
    note::write(span.state(), Call::Unobserved, 0, &[], &[text.bytes()]);
}

/// A short text put together from parts.
struct Text {
    bytes: [u8; 192],
    length: usize,
}

impl Text {
    fn new() -> Text {
        Text { bytes: [0; 192], length: 0 }
    }
    fn put(&mut self, part: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.length..self.length + part.len()) {
            room.copy_from_slice(part);
            self.length += part.len();
        }
    }
    fn number(&mut self, number: u64) {
        let mut digits = [0; 20];
        self.put(decimal(number, &mut digits));
    }
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
