//! One ring: where its queues lie, and how far they have been recorded.
//!
//! A ring is two queues in memory that the program shares with the kernel. Where they lie is learned from the program
//! itself: from the `mmap` calls on the ring's descriptor, from its parameters where the program brought the memory
//! along, or from liburing's `struct io_uring`. The heads and tails are counters that wrap.

use crate::core::file_status;
use crate::core::readable;
use crate::recording::process;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Requests under way whose result is a descriptor, for each ring.
const OPENS: usize = 16;

/// In place of a descriptor: there is no ring here.
pub(super) const NONE: c_int = -1;
const CLAIMED: c_int = -2;
/// Added to the place of a ring that has no descriptor, only a place among the registered ones.
pub(super) const REGISTERED: c_int = 1 << 30;

pub(super) const SETUP_SQPOLL: u32 = 1 << 1;
pub(super) const SETUP_SQE128: u32 = 1 << 10;
const SETUP_CQE32: u32 = 1 << 11;
const SETUP_NO_MMAP: u32 = 1 << 14;
pub(super) const SETUP_REGISTERED_FD_ONLY: u32 = 1 << 15;
const SETUP_NO_SQARRAY: u32 = 1 << 16;
pub(super) const SETUP_CQE_MIXED: u32 = 1 << 18;
/// Flags with which a queue is laid out as described here; the kernel has got more of them every year.
const UNDERSTOOD: u32 = (1 << 19) - 1;
const FEATURE_SINGLE_MMAP: u32 = 1;

const OFFSET_SUBMISSIONS: i64 = 0;
const OFFSET_COMPLETIONS: i64 = 0x800_0000;
const OFFSET_ENTRIES: i64 = 0x1000_0000;

/// `struct io_uring_params`, as far as it is read here.
#[repr(C)]
pub struct Parameters {
    sq_entries: u32,
    cq_entries: u32,
    pub(super) flags: u32,
    sq_thread: [u32; 2],
    features: u32,
    wq_fd: u32,
    reserved: [u32; 3],
    /// head, tail, ring_mask, ring_entries, flags, dropped, array
    sq: [u32; 8],
    sq_address: u64,
    /// head, tail, ring_mask, ring_entries, overflow, cqes, flags
    cq: [u32; 8],
    cq_address: u64,
}

/// Where something lies: in a queue's memory, from its start.
#[derive(Clone, Copy)]
pub(super) enum Field {
    SqHead,
    SqTail,
    SqMask,
    SqArray,
    CqHead,
    CqTail,
    CqMask,
    Cqes,
}
pub(super) const FIELDS: usize = 8;

/// One ring.
pub(super) struct Ring {
    fd: AtomicI32,
    /// The file behind that descriptor: number of the device, number of the file; zeros where there is none.
    file: [AtomicU64; 2],
    /// The process that the memory belongs to: a forked child may not have it.
    owner: AtomicU32,
    flags: AtomicU32,
    features: AtomicU32,
    offsets: [AtomicU32; FIELDS],
    /// The masks of the submission queue and of the completion queue, as they were said to be.
    masks: [AtomicU32; 2],
    /// Start of the memory of the submission queue, of the completion queue and of the submission queue's entries; 0
    /// where it is not known.
    submissions: AtomicUsize,
    completions: AtomicUsize,
    entries: AtomicUsize,
    /// Thread and place of a registered ring: `tid << 32 | place + 1`.
    registered: AtomicU64,
    /// The tails up to which the queues have been recorded.
    pub(super) submitted: AtomicU32,
    pub(super) completed: AtomicU32,
    /// Entries that were gone before they could be recorded.
    pub(super) missed: [AtomicU32; 2],
    opens: [[AtomicU64; 2]; OPENS],
}

/// The queues of a ring as they are now.
#[derive(Clone, Copy)]
pub(super) struct View {
    pub(super) sq_head: u32,
    pub(super) sq_tail: u32,
    pub(super) sq_mask: u32,
    /// Places of the entries, in the order of submission; null where they are in that order themselves.
    pub(super) sq_array: *const u32,
    pub(super) sqes: *const u8,
    pub(super) sqe_bytes: usize,
    pub(super) cq_head: u32,
    pub(super) cq_tail: u32,
    pub(super) cq_mask: u32,
    pub(super) cqes: *const u8,
    pub(super) cqe_bytes: usize,
}

/// A counter or mask that the kernel may change at any time.
unsafe fn shared(base: usize, offset: &AtomicU32) -> u32 {
    // SAFETY: the caller vouches for the ring's memory; the kernel keeps its counters aligned.
    unsafe {
        AtomicU32::from_ptr((base + offset.load(Ordering::Relaxed) as usize) as *mut u32)
            .load(Ordering::Acquire)
    }
}

/// Device and number of the file behind a descriptor; zeros if there is none.
fn file_of(fd: c_int) -> [u64; 2] {
    file_status::of(fd, |status| [libc::makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino])
        .unwrap_or_default()
}

impl Ring {
    /// A place without a ring.
    pub(super) const fn new() -> Ring {
        Ring {
            fd: AtomicI32::new(NONE),
            file: [const { AtomicU64::new(0) }; 2],
            owner: AtomicU32::new(0),
            flags: AtomicU32::new(0),
            features: AtomicU32::new(0),
            offsets: [const { AtomicU32::new(0) }; FIELDS],
            masks: [const { AtomicU32::new(0) }; 2],
            submissions: AtomicUsize::new(0),
            completions: AtomicUsize::new(0),
            entries: AtomicUsize::new(0),
            registered: AtomicU64::new(0),
            submitted: AtomicU32::new(0),
            completed: AtomicU32::new(0),
            missed: [const { AtomicU32::new(0) }; 2],
            opens: [const { [const { AtomicU64::new(0) }; 2] }; OPENS],
        }
    }

    /// The number under which the table knows it; negative for none.
    pub(super) fn fd(&self) -> c_int {
        self.fd.load(Ordering::Relaxed)
    }

    /// Its descriptor, or its place among the registered rings if it has none.
    pub(super) fn descriptor(&self) -> c_int {
        self.fd() & !REGISTERED
    }

    /// The flags it was set up with.
    pub(super) fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    fn offset(&self, field: Field) -> &AtomicU32 {
        &self.offsets[field as usize]
    }

    /// The parts of its memory.
    fn areas(&self) -> [&AtomicUsize; 3] {
        [&self.submissions, &self.completions, &self.entries]
    }

    /// True when the queues can be looked at in this process.
    pub(super) fn is_visible(&self) -> bool {
        self.flags() & !UNDERSTOOD == 0
            && self.areas().iter().all(|area| area.load(Ordering::Relaxed) != 0)
            && self.is_ours()
    }

    /// True when the memory is this process's: made by it, or passed on by a fork.
    fn is_ours(&self) -> bool {
        let pid = process::pid();
        if self.owner.load(Ordering::Relaxed) == pid {
            return true;
        }
        let passed_on = self.can_be_read();
        if passed_on {
            self.owner.store(pid, Ordering::Relaxed);
        }
        passed_on
    }

    /// The queues, if they can be looked at, and still are what they were said to be: memory can become another's unseen.
    pub(super) fn view(&self) -> Option<View> {
        if !self.is_visible() {
            return None;
        }
        let [submissions, completions, entries] = self.areas().map(|area| area.load(Ordering::Relaxed));
        let at = |base: usize, field: Field| base + self.offset(field).load(Ordering::Relaxed) as usize;
        let flags = self.flags();
        let in_order =
            flags & SETUP_NO_SQARRAY != 0 || self.offset(Field::SqArray).load(Ordering::Relaxed) == 0;
        // SAFETY: the memory is the program's own, as it said itself, and it is about to use it.
        let view = unsafe {
            View {
                sq_head: shared(submissions, self.offset(Field::SqHead)),
                sq_tail: shared(submissions, self.offset(Field::SqTail)),
                sq_mask: shared(submissions, self.offset(Field::SqMask)),
                sq_array: if in_order {
                    core::ptr::null()
                } else {
                    at(submissions, Field::SqArray) as *const u32
                },
                sqes: entries as *const u8,
                sqe_bytes: if flags & SETUP_SQE128 != 0 { 128 } else { 64 },
                cq_head: shared(completions, self.offset(Field::CqHead)),
                cq_tail: shared(completions, self.offset(Field::CqTail)),
                cq_mask: shared(completions, self.offset(Field::CqMask)),
                cqes: at(completions, Field::Cqes) as *const u8,
                cqe_bytes: if flags & SETUP_CQE32 != 0 { 32 } else { 16 },
            }
        };
        let masks = self.masks.each_ref().map(|mask| mask.load(Ordering::Relaxed));
        (masks == [view.sq_mask, view.cq_mask]).then_some(view)
    }

    /// Takes over what the kernel has said of a ring whose memory the program has yet to map.
    pub(super) fn describe(&self, parameters: &Parameters) {
        let (sq, cq) = (&parameters.sq, &parameters.cq);
        let offsets = [sq[0], sq[1], sq[2], sq[6], cq[0], cq[1], cq[2], cq[5]];
        for (to, from) in self.offsets.iter().zip(offsets) {
            to.store(from, Ordering::Relaxed);
        }
        for (to, entries) in self.masks.iter().zip([parameters.sq_entries, parameters.cq_entries]) {
            to.store(entries.wrapping_sub(1), Ordering::Relaxed);
        }
        self.flags.store(parameters.flags, Ordering::Relaxed);
        self.features.store(parameters.features, Ordering::Relaxed);
        let brought = parameters.flags & SETUP_NO_MMAP != 0;
        let memory = if brought {
            [parameters.cq_address, parameters.cq_address, parameters.sq_address]
        } else {
            [0; 3]
        };
        for (to, from) in self.areas().into_iter().zip(memory) {
            to.store(from as usize, Ordering::Relaxed);
        }
    }

    /// Takes over what liburing knows: absolute addresses, in the order of [`Field`], the start of the entries, and the masks
    /// that stand there.
    pub(super) fn locate(&self, flags: u32, bases: [usize; 3], addresses: [usize; FIELDS], masks: [u32; 2]) {
        for (to, mask) in self.masks.iter().zip(masks) {
            to.store(mask, Ordering::Relaxed);
        }
        for (index, (to, address)) in self.offsets.iter().zip(addresses).enumerate() {
            let base = bases[usize::from(index >= Field::CqHead as usize)];
            to.store(address.wrapping_sub(base) as u32, Ordering::Relaxed);
        }
        self.offset(Field::SqArray).store(0, Ordering::Relaxed);
        self.flags.store(flags, Ordering::Relaxed);
        for (to, base) in self.areas().into_iter().zip(bases) {
            to.store(base, Ordering::Relaxed);
        }
    }

    /// True when its memory is where liburing says.
    pub(super) fn is_at(&self, bases: [usize; 3]) -> bool {
        self.areas().iter().zip(bases).all(|(area, base)| area.load(Ordering::Relaxed) == base)
    }

    /// The program has mapped the part of its memory that stands at `offset` of the descriptor; unless that is another file's
    /// by now, and the ring has been closed.
    pub(super) fn mapped(&self, offset: i64, address: usize) {
        let file = self.file.each_ref().map(|part| part.load(Ordering::Relaxed));
        if file_of(self.fd()) != file {
            return;
        }
        match offset {
            OFFSET_SUBMISSIONS => {
                self.submissions.store(address, Ordering::Relaxed);
                if self.features.load(Ordering::Relaxed) & FEATURE_SINGLE_MMAP != 0 {
                    self.completions.store(address, Ordering::Relaxed);
                }
            }
            OFFSET_COMPLETIONS => self.completions.store(address, Ordering::Relaxed),
            OFFSET_ENTRIES => self.entries.store(address, Ordering::Relaxed),
            _ => {}
        }
    }

    /// True when part of its memory lies in this range.
    pub(super) fn lies_in(&self, address: usize, bytes: usize) -> bool {
        self.areas().iter().any(|area| {
            let base = area.load(Ordering::Relaxed);
            base != 0 && base.wrapping_sub(address) < bytes
        })
    }

    /// Its memory is gone; without it there is nothing more to be seen of it.
    pub(super) fn forget(&self) {
        for area in self.areas() {
            area.store(0, Ordering::Relaxed);
        }
        self.registered.store(0, Ordering::Relaxed);
        self.fd.store(NONE, Ordering::Release);
    }

    /// What [`super::table`] says of where it is registered, 0 if it is not.
    pub(super) fn registered(&self) -> &AtomicU64 {
        &self.registered
    }

    /// True when this process, and not one that it was forked from, has made it known.
    pub(super) fn is_known_here(&self) -> bool {
        self.fd() >= 0 && self.owner.load(Ordering::Relaxed) == process::pid()
    }

    /// Takes the place of the ring behind this descriptor, or a free one; true when it was that.
    pub(super) fn claim(&self, from: c_int) -> bool {
        self.fd.compare_exchange(from, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Forgets all of the ring that was here.
    pub(super) fn reset(&self) {
        self.registered.store(0, Ordering::Relaxed);
        self.owner.store(process::pid(), Ordering::Relaxed);
        for area in self.areas() {
            area.store(0, Ordering::Relaxed);
        }
        for count in [&self.submitted, &self.completed, &self.missed[0], &self.missed[1]] {
            count.store(0, Ordering::Relaxed);
        }
        for [used, _] in &self.opens {
            used.store(0, Ordering::Relaxed);
        }
    }

    /// Makes it known, once it has been described.
    pub(super) fn publish(&self, fd: c_int) {
        for (to, part) in self.file.iter().zip(file_of(fd)) {
            to.store(part, Ordering::Relaxed);
        }
        self.fd.store(fd, Ordering::Release);
    }

    /// Its queues have got another size: the program has to map them anew.
    pub(super) fn resized(&self, parameters: &Parameters) {
        let flags = self.flags();
        self.describe(parameters);
        self.flags.store(flags, Ordering::Relaxed);
    }

    /// True when its memory, of which nothing is known to have become of it, can still be read.
    pub(super) fn can_be_read(&self) -> bool {
        // SAFETY: any byte is one.
        self.areas()
            .iter()
            .all(|area| unsafe { readable::copy::<u8>(area.load(Ordering::Relaxed)) }.is_some())
    }

    /// Remembers a request whose result will be a descriptor.
    pub(super) fn expect_descriptor(&self, user_data: u64) {
        for [used, tag] in &self.opens {
            if used.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                tag.store(user_data, Ordering::Relaxed);
                used.store(2, Ordering::Release);
                return;
            }
        }
    }

    /// True when the request with this tag was one of them. `more` results may follow.
    pub(super) fn is_descriptor(&self, user_data: u64, more: bool) -> bool {
        let found = self.opens.iter().find(|[used, tag]| {
            used.load(Ordering::Acquire) == 2 && tag.load(Ordering::Relaxed) == user_data
        });
        if let Some([used, _]) = found
            && !more
        {
            used.store(0, Ordering::Release);
        }
        found.is_some()
    }
}
