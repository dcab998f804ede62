//! What a thread keeps: where its next record goes, and what it needs to write one.
//!
//! It lies in private memory of its own that the kernel wipes in a forked child (`MADV_WIPEONFORK`): the child finds
//! `cursor == limit == 0`, takes the slow path, sees that the mark is gone, and starts a trace of its own. That holds for
//! every kind of fork, also those that never passed a hook.

use super::inheritance::Fork;
use super::scratch::{Field, Scratch};
use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use syn_trace::board::Slot;
use syn_trace::dictionary::Writer;
use syn_trace::header::Header;
use syn_trace::record::{self, Flags};

/// Records that signal handlers could not append because they interrupted the writing of another one. A timer that runs
/// out faster than its handler returns interrupts the same one again and again. Memory that is not used costs nothing.
pub const SIDE_SLOTS: usize = 256;

/// Bytes of one of them, and of its record.
const SIDE_BYTES: usize = 512;
pub const SIDE_RECORD_BYTES: usize = SIDE_BYTES - 24;

/// Bytes for the path of the file.
const PATH_BYTES: usize = 8 << 10;
/// Bytes for what a trace begins with, as a rule: the rest of the first page, and so of the only one that most threads use.
pub const BEGIN_BYTES: usize = 2560;

/// In the child of a `vfork`; see [`State::suppressed_by`].
pub const VFORK_CHILD: usize = usize::MAX;

/// While somebody else uses this thread's thread-locals at the same time: calls from other stacks are not recorded.
pub const SHARED: usize = usize::MAX - 1;

/// The same where the other one's stack lies in this one's: no call is recorded.
pub const INDISTINCT: usize = usize::MAX - 2;

/// In a handler for whose calls there is no scratch memory: they are counted as lost.
pub const TOO_DEEP: usize = usize::MAX - 3;
pub const MARK: u64 = u64::from_le_bytes(*b"synstate");
pub const PAGE: usize = 4096;

/// One record of a signal handler, kept until the interrupted one is written.
#[repr(C)]
pub struct SideSlot {
    /// Ticks at the end of the call.
    pub end: u64,
    /// Ticks it took.
    pub took: u64,
    /// Bytes in `record`.
    pub bytes: usize,
    /// An encoded record with zero times.
    pub record: [u8; SIDE_RECORD_BYTES],
}

/// So many records a thread writes before it uses its dictionary.
const PLAIN_RECORDS: u32 = 128;

/// What a thread keeps: its private mapping. A handler may come in between any two instructions, and use it as well: nobody has it
/// for himself, and so its fields are cells and atomics.
#[repr(C, align(4096))]
pub struct State {
    /// Where the next record goes; null in a forked child.
    pub cursor: Cell<*mut u8>,
    /// The end of the mapped area.
    pub limit: Cell<*mut u8>,
    /// Ticks at the end of the latest record.
    pub last_end: Cell<u64>,
    /// The stack address of the outermost hook under way, 0 when there is none.
    pub frame: Cell<usize>,
    /// The stack address of the MPI call under way, 0 when there is none.
    pub mpi_frame: Cell<usize>,
    /// What shows that it is.
    pub mpi_witness: Cell<Witness>,
    /// That call; of a state that is new (all zero), none. Of one that goes untimed if it finds nothing only that is said here,
    /// the rest is an earlier one's.
    pub mpi_span: Cell<Span>,
    /// The `vfork` under way, as long as its child has this thread's memory.
    pub vfork_span: Cell<Span>,
    /// Hooks that signals have interrupted.
    pub interruptions: Interruptions,
    /// True while a record is being written.
    pub encoding: AtomicBool,
    /// Records that were written without looking at what the trace says already; see [`State::dictionary`].
    pub plain_records: Cell<u32>,
    /// Side slots in use.
    pub side_used: AtomicUsize,
    /// The innermost call under way, while nothing inside it is on record.
    pub entered: Cell<Entered>,
    /// CPU time up to the latest reading that is on record, nanoseconds.
    pub cpu_told: Cell<u64>,
    /// Ticks at the latest reading.
    pub cpu_ticks: Cell<u64>,
    /// Voluntary context switches at the latest reading of them.
    pub switches: Cell<u64>,
    /// Waits for locks since then in which the thread lost its processor and whose end nobody has read.
    pub lock_waits: Cell<u64>,
    /// When to take the next clock pair, ticks.
    pub next_pair: Cell<u64>,
    /// The header page.
    pub header: Cell<*mut Header>,
    /// [`MARK`], or 0 in a forked child.
    pub mark: Cell<u64>,
    /// The chunk that is mapped, and its length.
    pub window: Cell<*mut u8>,
    pub window_bytes: Cell<usize>,
    /// The unit of the file with which the thread's first chunk begins.
    pub first_unit: Cell<u64>,
    /// How many chunks it had before the one that is mapped, and the bytes of all.
    pub chunk_number: Cell<u32>,
    /// The chunk that is mapped lies in an area that stays so, and so does the first one.
    pub in_area: Cell<[bool; 2]>,
    pub chunk_bytes: Cell<usize>,
    /// Where the thread's stack lies, as far as known.
    pub stack: Cell<(usize, usize)>,
    /// True once recording has been given up for this thread.
    pub stopped: Cell<bool>,
    /// True once the end of the thread is on record; what comes behind it may be as well.
    pub has_ended: Cell<bool>,
    /// True while [`super::private_table`] does something for this thread on another one, whose clocks are not this one's.
    pub is_apart: Cell<bool>,
    /// The stack address of the call in which nothing else is recorded, 0 when there is none, [`VFORK_CHILD`] in the
    /// child of a `vfork`, which runs in its parent's memory until it calls exec.
    pub suppressed_by: Cell<usize>,
    /// What that is when no call is under way: 0, or one of the marks above.
    pub resting: Cell<usize>,
    /// Where the thread stands among the [`super::living`].
    pub place: Cell<usize>,
    /// Where it publishes what it does, in a job that is throttled; else null.
    pub published: Cell<*const Slot>,
    /// Room for what a thread puts together when it begins.
    pub begin: Field<[u8; BEGIN_BYTES]>,
    /// What the trace says already.
    memory: UnsafeCell<Writer>,
    /// Set while the state is in use; see [`SideSlot`].
    pub side: [UnsafeCell<SideSlot>; SIDE_SLOTS],
    /// What a hook puts together, by level of interruptions.
    scratch: [Scratch; LEVELS],
    /// Room for the path of the file, apart from the scratch memory, which may hold what is being recorded.
    path: UnsafeCell<[u8; PATH_BYTES]>,
}

const _: () = assert!(core::mem::offset_of!(State, memory) + Writer::FRONT_BYTES <= PAGE);

/// What the thread does itself, and what handlers do that have interrupted one another's hooks, as many as are recorded.
pub const LEVELS: usize = 8;

/// What is not zero in a thread that records, but for scratch memory and the path.
pub const USED_BYTES: usize = core::mem::offset_of!(State, scratch);

/// A call that is to be recorded. It holds nothing that needs dropping: a cancelled thread or a C++ exception may
/// unwind past it, a signal handler may jump over it.
#[derive(Clone, Copy)]
pub struct Span {
    pub state: *const State,
    pub start: u64,
    pub end: u64,
    pub outer_frame: usize,
    /// CPU time at the reading before it, nanoseconds.
    pub cpu_before: u64,
    pub flags: Flags,
    pub quiet: bool,
}

/// The start of a call that goes untimed, if it finds nothing.
const UNTIMED: u64 = 0;

impl Span {
    /// A call that is entered now, at the time and with the CPU time that are given.
    #[inline(always)]
    pub fn new(state: &State, start: u64, cpu_before: u64, flags: Flags, outer_frame: usize) -> Span {
        Span { state, start, end: 0, outer_frame, cpu_before, flags, quiet: false }
    }

    /// True for a call that goes untimed, if it finds nothing.
    #[inline(always)]
    pub fn is_untimed(&self) -> bool {
        self.start == UNTIMED
    }
}

/// What has shown that an MPI call was under way when another one was made inside it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Witness {
    /// Their stack addresses.
    pub outer: usize,
    pub inner: usize,
    /// Where on the stack the return address to the outer one's hook stands, and that address.
    pub place: usize,
    pub address: usize,
}

/// A call that has been entered, and of which nothing is on record yet. Should something inside it come first, a
/// `call-entered` record tells what lay before it: records stand in the order of time.
#[derive(Clone, Copy, Default)]
pub struct Entered {
    /// Ticks; 0 when there is no such call.
    pub start: u64,
    pub cpu: u64,
    pub call: u16,
    pub flags: Flags,
}

/// A hook that a signal has interrupted.
#[derive(Clone, Copy)]
pub struct Interruption {
    /// The stack address of the function that calls the handler; 0 while the rest is being filled in.
    pub at: usize,
    pub frame: usize,
    pub suppressed_by: usize,
    pub mpi_frame: usize,
    pub mpi_span: Span,
    /// A record was being written.
    pub amid_record: bool,
}

/// The latest last. All zero bytes are a valid, empty one.
pub struct Interruptions {
    pub count: Cell<usize>,
    pub list: [Cell<Interruption>; LEVELS],
}

impl Interruptions {
    /// True when no handler is under way that has interrupted a hook.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count.get() == 0
    }
}

impl State {
    /// Where the next record goes, as it is now.
    #[inline(always)]
    pub fn cursor_now(&self) -> *mut u8 {
        // SAFETY: a field of ours.
        unsafe { self.cursor.as_ptr().read_volatile() }
    }

    /// The thread's scratch memory, at this level of interruptions.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch[self.interruptions.count.get().min(LEVELS - 1)]
    }

    /// What the trace says already.
    ///
    /// # Safety
    /// Nobody else holds on to it. While a record is being written, handlers leave it alone.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn memory(&self) -> &mut Writer {
        // SAFETY: as the caller vouches.
        unsafe { &mut *self.memory.get() }
    }

    /// What the trace says already, or `None` for a thread's first records, which each stand for itself: what many processes
    /// and threads never write more of does not need the ten pages that this takes.
    ///
    /// # Safety
    /// As for [`State::memory`].
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn dictionary(&self) -> Option<&mut Writer> {
        let plain = self.plain_records.get();
        if plain < PLAIN_RECORDS {
            self.plain_records.set(plain + 1);
            return None;
        }
        // SAFETY: as the caller vouches.
        Some(unsafe { self.memory() })
    }

    /// What is not zero in it, or may be, but for scratch memory and the path: bytes from its front.
    pub fn used_bytes(&self) -> usize {
        let used = if self.plain_records.get() < PLAIN_RECORDS {
            core::mem::offset_of!(State, memory) + Writer::FRONT_BYTES
        } else {
            core::mem::offset_of!(State, side)
        };
        used.next_multiple_of(PAGE)
    }

    /// Room for a path.
    ///
    /// # Safety
    /// Signals are blocked, and nobody else holds on to it.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn path_room(&self) -> &mut [u8] {
        // SAFETY: as the caller vouches.
        unsafe { &mut *self.path.get() }
    }

    /// The header. What changes in it are atomics, and the clock pairs, which only [`State::take_pair`] writes.
    #[inline(always)]
    pub fn header(&self) -> &Header {
        // SAFETY: mapped for as long as the state is.
        unsafe { &*self.header.get() }
    }

    /// The MPI call that is entered now goes untimed, if it finds nothing.
    #[inline(always)]
    pub fn set_untimed(&self) {
        // SAFETY: a field of ours, of which nobody holds a reference.
        unsafe { (&raw mut (*self.mpi_span.as_ptr()).start).write(UNTIMED) };
    }

    /// True while one does that.
    #[inline(always)]
    pub fn is_untimed(&self) -> bool {
        // SAFETY: as above.
        unsafe { (&raw const (*self.mpi_span.as_ptr()).start).read() == UNTIMED }
    }

    /// There is no call of which nothing is on record.
    #[inline(always)]
    pub fn forget_entered(&self) {
        self.entered.set(Entered { start: 0, ..self.entered.get() });
    }

    /// Clears what an abandoned record has left: behind the last record there are zeros.
    pub fn clear_abandoned(&self) {
        let cursor = self.cursor.get();
        let left = (self.limit.get() as usize).saturating_sub(cursor as usize).min(record::MAX_RECORD_BYTES);
        // SAFETY: the bytes between the cursor and the limit are this thread's, and hold no record. Who was writing one does not
        // come back.
        unsafe {
            core::ptr::write_bytes(cursor, 0, left);
            self.memory().forget();
        }
    }

    /// Counts a record that could not be written.
    #[cold]
    pub fn drop_one(&self) {
        if self.is_whole() {
            self.header().dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What a fork that follows is to the child.
    pub fn kind_of_fork(&self) -> Fork {
        match (self.encoding.load(Ordering::Relaxed), self.interruptions.is_empty()) {
            (true, _) => Fork::AmidRecord,
            (false, false) => Fork::InHandler,
            (false, true) => Fork::Clean,
        }
    }

    /// False once a forked child has wiped it: whoever was at work with it goes on, and must not do harm.
    pub fn is_whole(&self) -> bool {
        !self.header.get().is_null()
    }
}

const _: () = assert!(size_of::<SideSlot>() == SIDE_BYTES);
