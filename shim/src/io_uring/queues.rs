//! A ring as liburing keeps it: `struct io_uring`, and what the library would do with it.
//!
//! Source: the installed headers of liburing 2.0 to 2.9, in which the structure begins alike.

use super::ring::{FIELDS, REGISTERED, Ring, SETUP_SQE128, SETUP_SQPOLL, View};
use super::table;
use crate::core::readable;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

#[repr(C)]
struct SubmissionQueue {
    head: usize,
    tail: usize,
    mask: usize,
    entries: usize,
    flags: *mut u32,
    dropped: usize,
    array: usize,
    sqes: usize,
    /// Entries between these two are not yet handed over.
    sqe_head: u32,
    sqe_tail: u32,
    ring_bytes: usize,
    ring: usize,
    reserved: [u32; 4],
}

#[repr(C)]
struct CompletionQueue {
    head: usize,
    tail: usize,
    mask: usize,
    entries: usize,
    flags: usize,
    overflow: usize,
    cqes: usize,
    ring_bytes: usize,
    ring: usize,
    reserved: [u32; 4],
}

/// `struct io_uring`
#[repr(C)]
pub struct Queues {
    sq: SubmissionQueue,
    cq: CompletionQueue,
    pub(super) flags: u32,
    pub(super) ring_fd: c_int,
    features: u32,
    enter_ring_fd: c_int,
}

const SETUP_IOPOLL: u32 = 1;
const SQ_NEED_WAKEUP: u32 = 1;
const SQ_CQ_OVERFLOW: u32 = 2;
const SQ_TASKRUN: u32 = 4;
const ENTER_GETEVENTS: u32 = 1;
const ENTER_SQ_WAKEUP: u32 = 2;
const ENTER_SQ_WAIT: u32 = 4;
/// A queue's counters lie within its first page; more than this away from its start they are something else.
const FURTHEST: usize = 1 << 20;

impl Queues {
    pub(super) fn bases(&self) -> [usize; 3] {
        [self.sq.ring, self.cq.ring, self.sq.sqes]
    }

    /// In the order of the table's fields.
    fn addresses(&self) -> [usize; FIELDS] {
        let (sq, cq) = (&self.sq, &self.cq);
        [sq.head, sq.tail, sq.mask, sq.array, cq.head, cq.tail, cq.mask, cq.cqes]
    }

    /// The number under which the table knows it.
    pub(super) fn key(&self) -> c_int {
        if self.ring_fd >= 0 { self.ring_fd } else { self.enter_ring_fd | REGISTERED }
    }

    /// The descriptor as it is recorded.
    pub(super) fn descriptor(&self) -> i64 {
        i64::from(self.key() & !REGISTERED)
    }

    /// Those of both queues, which were found consistent.
    fn masks(&self) -> [u32; 2] {
        [self.sq.mask, self.cq.mask].map(|mask| readable_word(mask).unwrap_or(0))
    }

    /// The queues have been moved, with the counters that they had.
    pub(super) fn relocate(&self) {
        if let Some(ring) = table::by_descriptor(self.key())
            && self.is_consistent()
        {
            ring.locate(self.flags, self.bases(), self.addresses(), self.masks());
        }
    }

    /// The ring, made known if it is not yet. `None` if its queues do not lie where this layout says.
    pub(super) fn ring(&self) -> Option<&'static Ring> {
        let (key, bases) = (self.key(), self.bases());
        if let Some(ring) = table::by_descriptor(key).filter(|ring| ring.is_at(bases)) {
            return Some(ring);
        }
        if !self.is_consistent() {
            return None;
        }
        let ring = table::make(key)?;
        ring.locate(self.flags, bases, self.addresses(), self.masks());
        if let Some(view) = ring.view() {
            // What went through before it was known cannot be told apart from nothing.
            ring.submitted.store(view.sq_head, Ordering::Relaxed);
            ring.completed.store(view.cq_head, Ordering::Relaxed);
            ring.missed[0].store(view.sq_head, Ordering::Relaxed);
            ring.missed[1].store(view.cq_head, Ordering::Relaxed);
        }
        ring.publish(key);
        Some(ring)
    }

    /// True where everything lies as the kernel lays it out, and can be read. The structure is the program's: it may be of another
    /// layout, or none.
    fn is_consistent(&self) -> bool {
        let (sq, cq) = (&self.sq, &self.cq);
        let flags = sq.flags as usize;
        is_near(sq.ring, &[sq.head, sq.tail, sq.mask, sq.entries, flags])
            && (sq.array == 0 || is_near(sq.ring, &[sq.array]))
            && is_near(cq.ring, &[cq.head, cq.tail, cq.mask, cq.entries, cq.cqes])
            && [sq.head, sq.tail, flags, cq.head, cq.tail].into_iter().all(|at| readable_word(at).is_some())
            && sq.sqes != 0
            && is_queue(
                sq.mask,
                sq.entries,
                &[(sq.array, 4), (sq.sqes, if self.flags & SETUP_SQE128 != 0 { 128 } else { 64 })],
            )
            && is_queue(cq.mask, cq.entries, &[(cq.cqes, 16)])
    }

    fn sq_flags(&self) -> u32 {
        if !is_near(self.sq.ring, &[self.sq.flags as usize]) {
            return 0;
        }
        // SAFETY: the queue was found consistent, and the flags lie beside the other counters.
        unsafe { AtomicU32::from_ptr(self.sq.flags).load(Ordering::Relaxed) }
    }

    /// The tail of what the program has prepared.
    pub(super) fn prepared(&self) -> u32 {
        self.sq.sqe_tail
    }

    /// What the library would enter the kernel with; `None` if it would not.
    pub(super) fn entering(&self, view: &View, wish: Wish) -> Option<[i64; 4]> {
        let submit = if wish.submits { self.sq.sqe_tail.wrapping_sub(view.sq_head) } else { 0 };
        let available = view.cq_tail.wrapping_sub(view.cq_head);
        let sq_flags = self.sq_flags();
        let overflowed = self.flags & SETUP_IOPOLL != 0 || sq_flags & (SQ_CQ_OVERFLOW | SQ_TASKRUN) != 0;
        let asks = match wish.kind {
            Kind::Submit => wish.least > 0 || overflowed,
            Kind::Take => {
                wish.least > available || (available == 0 && wish.least == 0 && submit == 0 && overflowed)
            }
            Kind::Ask => true,
            Kind::Room => false,
        };
        let polled = self.flags & SETUP_SQPOLL != 0;
        if wish.kind == Kind::Room {
            return polled.then(|| [self.descriptor(), 0, 0, i64::from(ENTER_SQ_WAIT)]);
        }
        let wakes = polled && sq_flags & SQ_NEED_WAKEUP != 0;
        if !asks && (submit == 0 || (polled && !wakes)) {
            return None;
        }
        let mut flags = 0;
        if asks {
            flags |= ENTER_GETEVENTS;
        }
        if submit > 0 && wakes {
            flags |= ENTER_SQ_WAKEUP;
        }
        Some([self.descriptor(), i64::from(submit), i64::from(wish.least), i64::from(flags)])
    }
}

/// True when these lie where the counters of a queue do whose memory begins at `base`.
fn is_near(base: usize, addresses: &[usize]) -> bool {
    base != 0 && addresses.iter().all(|address| address.wrapping_sub(base) < FURTHEST && address % 4 == 0)
}

fn readable_word(address: usize) -> Option<u32> {
    // SAFETY: a number.
    unsafe { readable::copy(address) }
}

/// True when the mask goes with the number of entries, and the arrays of so many entries of so many bytes are there. An array at
/// 0 is none.
fn is_queue(mask: usize, entries: usize, arrays: &[(usize, usize)]) -> bool {
    let (Some(mask), Some(entries)) = (readable_word(mask), readable_word(entries)) else { return false };
    let is_there = |&(start, bytes): &(usize, usize)| {
        let last = start.wrapping_add(entries as usize * bytes).wrapping_sub(size_of::<u32>());
        start == 0 || readable_word(start).is_some() && readable_word(last).is_some()
    };
    entries.is_power_of_two() && mask == entries - 1 && arrays.iter().all(is_there)
}

/// What a function of the library is there for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It hands over, and waits if it is to.
    Submit,
    /// It waits only for what is not there yet.
    Take,
    /// It always asks the kernel for completions.
    Ask,
    /// It waits for room among the submissions.
    Room,
}

/// What a call of one of them is to do.
#[derive(Clone, Copy)]
pub(super) struct Wish {
    pub(super) kind: Kind,
    /// It hands over what the program has prepared.
    pub(super) submits: bool,
    /// How many completions it waits for.
    pub(super) least: u32,
}
