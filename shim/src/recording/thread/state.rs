//! What a thread keeps: where its next record goes, and what it needs to write one.
//!
//! It lies in private memory of its own that the kernel wipes in a forked child (`MADV_WIPEONFORK`): the child finds
//! `cursor == limit == 0`, takes the slow path, sees that the mark is gone, and starts a trace of its own. That holds for
//! every kind of fork, also those that never passed a hook.

use super::scratch::Scratch;
use crate::throttle;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use syn_trace::board::{NOBODY, Slot};
use syn_trace::dictionary::Writer;
use syn_trace::header::Header;
use syn_trace::record::{self, Flags};

/// Records that signal handlers could not append because they interrupted the writing of another one. A timer that runs
/// out faster than its handler returns interrupts the same one again and again. Memory that is not used costs nothing.
pub const SIDE_SLOTS: usize = 256;

/// Bytes of one of them.
pub const SIDE_BYTES: usize = 512;

/// Bytes for the path of the file, apart from the scratch memory, which may hold what is being recorded.
pub const PATH_BYTES: usize = (8 << 10) - size_of::<Inheritance>();

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
    pub record: [u8; SIDE_BYTES - 24],
}

/// What a thread keeps; lies at the front of its private mapping.
#[repr(C)]
pub struct State {
    /// Where the next record goes; null in a forked child.
    pub cursor: *mut u8,
    /// The end of the mapped area.
    pub limit: *mut u8,
    /// Ticks at the end of the latest record.
    pub last_end: u64,
    /// The stack address of the outermost hook under way, 0 when there is none.
    pub frame: usize,
    /// The stack address of the MPI call under way, 0 when there is none.
    pub mpi_frame: usize,
    /// What shows that it is.
    pub mpi_witness: Witness,
    /// That call; of a state that is new (all zero), none.
    pub mpi_span: Span,
    /// The `vfork` under way, as long as its child has this thread's memory.
    pub vfork_span: Span,
    /// Hooks that signals have interrupted.
    pub interruptions: Interruptions,
    /// True while a record is being written.
    pub encoding: AtomicBool,
    /// Side slots in use.
    pub side_used: AtomicUsize,
    /// The innermost call under way, while nothing inside it is on record.
    pub entered: Entered,
    /// CPU time up to the latest reading that is on record, nanoseconds.
    pub cpu_told: u64,
    /// Ticks at the latest reading.
    pub cpu_ticks: u64,
    /// Voluntary context switches at the latest reading of them.
    pub switches: u64,
    /// When to take the next clock pair, ticks.
    pub next_pair: u64,
    /// The header page.
    pub header: *mut Header,
    /// [`MARK`], or 0 in a forked child.
    pub mark: u64,
    /// The chunk that is mapped, and its length.
    pub window: *mut u8,
    pub window_bytes: usize,
    /// The unit of the file with which the thread's first chunk begins.
    pub first_unit: u64,
    /// How many chunks it had before the one that is mapped, and the bytes of all.
    pub chunk_number: u32,
    /// The chunk that is mapped lies in an area that stays so, and so does the first one.
    pub in_area: [bool; 2],
    pub chunk_bytes: usize,
    /// Where the thread's stack lies, as far as known.
    pub stack: (usize, usize),
    /// True once recording has been given up for this thread.
    pub stopped: bool,
    /// True while [`super::private_table`] does something for this thread on another one, whose clocks are not this one's.
    pub is_apart: bool,
    /// The stack address of the call in which nothing else is recorded, 0 when there is none, [`VFORK_CHILD`] in the
    /// child of a `vfork`, which runs in its parent's memory until it calls exec.
    pub suppressed_by: usize,
    /// What that is when no call is under way: 0, or one of the marks above.
    pub resting: usize,
    /// Where the thread stands among the [`super::living`].
    pub place: usize,
    /// Where it publishes what it does, in a job that is throttled; else null.
    pub published: *const Slot,
    /// What the trace says already.
    pub memory: Writer,
    /// Set while the state is in use; see [`SideSlot`].
    pub side: [SideSlot; SIDE_SLOTS],
}

pub const STATE_BYTES: usize = size_of::<State>().next_multiple_of(PAGE);

/// What the thread does itself, and what handlers do that have interrupted one another's hooks, as many as are recorded.
pub const LEVELS: usize = 8;

/// One scratch memory for each.
const SCRATCH_BYTES: usize = size_of::<[Scratch; LEVELS]>().next_multiple_of(PAGE);

/// What is wiped in a forked child.
pub const WIPED_BYTES: usize = STATE_BYTES + SCRATCH_BYTES;

/// The whole private mapping: the state, the scratch memory, room for a path, and what a forked child gets to know.
pub const ALL_BYTES: usize = WIPED_BYTES + PATH_BYTES + size_of::<Inheritance>();

/// What a forked child needs to know of the parent; it is not wiped there.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Inheritance {
    /// The parent's records, and their length. The child must not write there.
    pub window: *mut u8,
    pub window_bytes: usize,
    /// What the fork hook says before the call; see [`Fork`].
    pub fork: Fork,
    /// The node on the board that the hook has allotted to the child; see [`throttle::node_of_child`].
    pub child_node: usize,
}

/// How a child came to be, as far as that is known.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Fork {
    /// By a system call that passed no hook: anything may have been under way.
    #[allow(dead_code, reason = "what zeroed memory holds")]
    Unseen,
    /// Between records.
    Clean,
    /// In a handler that had interrupted the writing of a record. The child may go back there.
    AmidRecord,
}

/// A call that is to be recorded. It holds nothing that needs dropping: a cancelled thread or a C++ exception may
/// unwind past it, a signal handler may jump over it.
#[derive(Clone, Copy)]
pub struct Span {
    pub state: *mut State,
    pub start: u64,
    pub end: u64,
    pub outer_frame: usize,
    /// CPU time at the reading before it, nanoseconds.
    pub cpu_before: u64,
    pub flags: Flags,
    pub quiet: bool,
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
#[repr(C)]
pub struct Entered {
    /// Ticks; 0 when there is no such call.
    pub start: u64,
    pub cpu: u64,
    pub call: u16,
    pub flags: Flags,
}

/// A hook that a signal has interrupted.
#[derive(Clone, Copy)]
#[repr(C)]
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
#[repr(C)]
pub struct Interruptions {
    pub count: usize,
    pub list: [Interruption; LEVELS],
}

impl Interruptions {
    /// True when no handler is under way that has interrupted a hook.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl State {
    /// The thread's scratch memory, at this level of interruptions.
    pub fn scratch(&mut self) -> &'static mut Scratch {
        let level = self.interruptions.count.min(LEVELS - 1);
        // SAFETY: the mapping made in `map_state` has ALL_BYTES bytes, begins on a page and lives as long as the thread records;
        // each field is used only by the hook under way.
        unsafe { &mut *(&raw mut *self).cast::<u8>().add(STATE_BYTES).cast::<Scratch>().add(level) }
    }

    /// Room for a path, apart from the scratch memory. Its users do not nest.
    pub fn path_room(&mut self) -> &'static mut [u8] {
        let at = (&raw mut *self).cast::<u8>().wrapping_add(WIPED_BYTES);
        // SAFETY: as above; used only by the functions below, which do not nest.
        unsafe { core::slice::from_raw_parts_mut(at, PATH_BYTES) }
    }

    /// What a forked child gets to know.
    pub fn inheritance(&mut self) -> &'static mut Inheritance {
        let at = (&raw mut *self).cast::<u8>().wrapping_add(WIPED_BYTES + PATH_BYTES);
        // SAFETY: as above; it lies at the end of a page, every value is valid as zero.
        unsafe { &mut *at.cast::<Inheritance>() }
    }

    /// The header page.
    #[inline(always)]
    pub fn header(&mut self) -> &mut Header {
        // SAFETY: mapped for as long as the state is.
        unsafe { &mut *self.header }
    }

    /// Clears what an abandoned record has left: behind the last record there are zeros.
    pub fn clear_abandoned(&mut self) {
        let left = (self.limit as usize).saturating_sub(self.cursor as usize).min(record::MAX_RECORD_BYTES);
        // SAFETY: the bytes between the cursor and the limit are this thread's, and hold no record.
        unsafe { core::ptr::write_bytes(self.cursor, 0, left) };
        self.memory.forget();
    }

    /// Counts a record that could not be written.
    #[cold]
    pub fn drop_one(&mut self) {
        if self.is_whole() {
            self.header().dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// False once a forked child has wiped it: whoever was at work with it goes on, and must not do harm.
    pub fn is_whole(&self) -> bool {
        !self.header.is_null()
    }

    /// Before a call that forks, and with `false` after it.
    pub fn fork_follows(&mut self, follows: bool) {
        let amid_record = self.encoding.load(Ordering::Relaxed);
        let child_node = if follows { throttle::node_of_child() } else { NOBODY };
        let inheritance = self.inheritance();
        inheritance.child_node = child_node as usize;
        inheritance.fork = match (follows, amid_record) {
            (false, _) => Fork::Unseen,
            (true, false) => Fork::Clean,
            (true, true) => Fork::AmidRecord,
        };
    }
}

const _: () = assert!(size_of::<SideSlot>() == SIDE_BYTES);
