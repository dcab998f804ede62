//! A thread's state: where its next record goes, and what it needs to write one.
//!
//! The state lies in private memory of its own that the kernel wipes in a forked child (`MADV_WIPEONFORK`): the
//! child finds `cursor == limit == 0`, takes the slow path, sees that the mark is gone, and starts a trace of its
//! own. That holds for every kind of fork, also those that never passed a hook.

use crate::clock;
use crate::living;
use crate::preemption;
use crate::private_table;
use crate::process;
use crate::signal_nesting::Interruptions;
use crate::span::{Entered, Span};
use crate::sys;
use crate::tls;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, compiler_fence};
use syn_trace::dictionary::Writer;
use syn_trace::header::{self, HEADER_BYTES, Header};
use syn_trace::record::{self, Flags};

/// Bytes of a new trace file: the header and the first records. Most processes need no more.
const FIRST_BYTES: usize = 16 << 10;
/// The fewest and the most bytes by which a file grows; in between it grows by what it has.
const GROW_BYTES: (usize, usize) = (64 << 10, 1 << 20);
/// A file is cut at its end only where more than this is left: giving blocks back takes a disk file system milliseconds,
/// several times as long as a short process lives.
const LEFT_BYTES: usize = 64 << 10;
/// Records that signal handlers could not append because they interrupted the writing of another one. A timer that runs
/// out faster than its handler returns interrupts the same one again and again. Memory that is not used costs nothing.
pub const SIDE_SLOTS: usize = 256;
/// Bytes of one of them.
pub const SIDE_BYTES: usize = 512;
/// Bytes of scratch memory for lists and statuses: of what the thread does itself, and once more of what handlers do that
/// have interrupted one of its hooks.
pub const SCRATCH_BYTES: usize = 256 << 10;
/// The longest file name of a trace, its final zero included.
const NAME_BYTES: usize = 64;

/// Bytes for the path of the thread's file, apart from the scratch memory, which may hold what is being recorded.
const PATH_BYTES: usize = (8 << 10) - size_of::<Inheritance>();

/// In the child of a `vfork`; see [`State::suppressed_by`].
pub const VFORK_CHILD: usize = usize::MAX;
/// While somebody else uses this thread's thread-locals at the same time: calls from other stacks are not recorded.
const SHARED: usize = usize::MAX - 1;
/// The same where the other one's stack lies in this one's: no call is recorded.
const INDISTINCT: usize = usize::MAX - 2;

const MARK: u64 = u64::from_le_bytes(*b"synstate");
const PAGE: usize = 4096;

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
    mark: u64,
    /// Start of the mapped records, and its length.
    window: *mut u8,
    window_bytes: usize,
    /// Offset in the file of `window`.
    window_offset: u64,
    /// Where the thread's stack lies, as far as known.
    stack: (usize, usize),
    /// True once recording has been given up for this thread.
    stopped: bool,
    /// True while [`private_table`] does something for this thread on another one, whose clocks are not this one's.
    pub is_apart: bool,
    /// The stack address of the call in which nothing else is recorded, 0 when there is none, [`VFORK_CHILD`] in the
    /// child of a `vfork`, which runs in its parent's memory until it calls exec.
    pub suppressed_by: usize,
    /// What that is when no call is under way: 0, or one of the marks above.
    pub resting: usize,
    /// Where the thread stands among the [`living`].
    place: usize,
    name: [u8; NAME_BYTES],
    /// What the trace says already.
    pub memory: Writer,
    /// Set while the state is in use; see [`SideSlot`].
    pub side: [SideSlot; SIDE_SLOTS],
}

const STATE_BYTES: usize = size_of::<State>().next_multiple_of(PAGE);
/// What is wiped in a forked child.
const WIPED_BYTES: usize = STATE_BYTES + 2 * SCRATCH_BYTES;
/// The whole private mapping: the state, the scratch memory, room for a path, and what a forked child gets to know.
const ALL_BYTES: usize = WIPED_BYTES + PATH_BYTES + size_of::<Inheritance>();

/// What a forked child needs to know of the parent; it is not wiped there.
#[derive(Clone, Copy)]
#[repr(C)]
struct Inheritance {
    /// The parent's records, and their length. The child must not write there.
    window: *mut u8,
    window_bytes: usize,
    /// What the fork hook says before the call; see [`Fork`].
    fork: Fork,
}

/// How a child came to be, as far as that is known.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum Fork {
    /// By a system call that passed no hook: anything may have been under way.
    #[allow(dead_code, reason = "what zeroed memory holds")]
    Unseen,
    /// Between records.
    Clean,
    /// In a handler that had interrupted the writing of a record. The child may go back there.
    AmidRecord,
}

/// The header of the process's first thread, which also counts what threads lose that have no file.
static FIRST_HEADER: AtomicPtr<Header> = AtomicPtr::new(core::ptr::null_mut());

/// Counts a call of a thread that has no file of its own.
#[cold]
pub fn lose_one() {
    let header = FIRST_HEADER.load(Ordering::Relaxed);
    if !header.is_null() {
        // SAFETY: set while the header is mapped; `release` takes it back first.
        unsafe { (*header).dropped.fetch_add(1, Ordering::Relaxed) };
    }
}

impl State {
    /// The thread's scratch memory. What the thread does itself and what a handler does that has interrupted it have one
    /// each; handlers that interrupt each other's calls share theirs.
    pub fn scratch(&mut self) -> &'static mut [u8] {
        let offset = if self.interruptions.is_empty() { STATE_BYTES } else { STATE_BYTES + SCRATCH_BYTES };
        // SAFETY: the mapping made in `map_state` has ALL_BYTES bytes and lives as long as the thread records; only
        // the hook under way uses the scratch.
        unsafe { core::slice::from_raw_parts_mut((&raw mut *self).cast::<u8>().add(offset), SCRATCH_BYTES) }
    }

    fn path_room(&mut self) -> &'static mut [u8] {
        let at = (&raw mut *self).cast::<u8>().wrapping_add(WIPED_BYTES);
        // SAFETY: as above; used only by the functions below, which do not nest.
        unsafe { core::slice::from_raw_parts_mut(at, PATH_BYTES) }
    }

    fn inheritance(&mut self) -> &'static mut Inheritance {
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

    /// True for an address on the thread's own stack, as far as that is known.
    #[inline(always)]
    pub fn is_on_stack(&self, address: usize) -> bool {
        address >= self.stack.0 && address < self.stack.1
    }

    /// True when the hook whose stack address is `earlier` cannot be under way any more, seen from one at `frame`: a
    /// handler left it by `siglongjmp`. A frame that was left lies below the present one on the same stack or is where
    /// it is (what a hook calls always lies below it), or on a signal stack while we are back on the thread's.
    #[inline(always)]
    pub fn is_stale(&self, earlier: usize, frame: usize) -> bool {
        match (self.is_on_stack(earlier), self.is_on_stack(frame)) {
            (true, true) => earlier <= frame,
            (false, true) => true,
            (true, false) => false,
            (false, false) => earlier <= frame && frame - earlier < PAGE << 4,
        }
    }

    /// The same without a guess: on stacks that are not the thread's own nothing is known of who calls whom.
    pub fn is_certainly_stale(&self, earlier: usize, frame: usize) -> bool {
        self.is_on_stack(frame) && self.is_stale(earlier, frame)
    }

    /// True when calls are not recorded because of the call around them.
    #[cold]
    pub fn is_suppressed(&mut self, frame: usize) -> bool {
        match self.suppressed_by {
            VFORK_CHILD | INDISTINCT => true,
            SHARED => !self.is_on_stack(frame),
            around => {
                if self.is_stale(around, frame) {
                    self.suppressed_by = self.resting;
                }
                self.suppressed_by == around
            }
        }
    }

    /// Somebody is about to use this thread's thread-locals, and with them this state, on a stack that ends at `stack`, while
    /// the thread goes on (clone(2) with `CLONE_VM`, without `CLONE_SETTLS`). True for the first time.
    pub fn share(&mut self, stack: usize) -> bool {
        let is_new = self.resting == 0;
        self.resting = if self.is_on_stack(stack.wrapping_sub(1)) { INDISTINCT } else { SHARED };
        self.suppressed_by = self.resting;
        is_new
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
    fn is_whole(&self) -> bool {
        !self.header.is_null()
    }

    /// Notes a later clock pair; the wait for the next one doubles up to about 16 ms.
    #[cold]
    pub fn take_pair(&mut self) {
        if process::is_confined() || !self.is_whole() {
            return;
        }
        let pair = clock::pair();
        let header = self.header();
        let index = header.latest_index.load(Ordering::Relaxed) ^ 1;
        header.latest[(index & 1) as usize] = pair;
        header.latest_index.store(index, Ordering::Release);
        let age = pair.ticks.saturating_sub(header.start.ticks);
        self.next_pair = pair.ticks + age.clamp(100_000, 1 << 25);
    }

    /// Makes room for a record of `bytes`; false when there is none to be had.
    #[cold]
    #[inline(never)]
    pub fn make_room(&mut self, bytes: usize) -> bool {
        if self.stopped || process::is_confined() || !self.is_whole() {
            return false;
        }
        let moved = self.move_window(bytes);
        if !moved {
            self.stop(header::STATE_STOPPED);
        }
        moved
    }

    /// Maps the file from the next record on, with room for `bytes`. Where that fails, everything stays as it is.
    fn move_window(&mut self, bytes: usize) -> bool {
        let (name, room) = (self.name, self.path_room());
        let moved = private_table::run(|| {
            let used = self.window_offset + (self.cursor as u64 - self.window as u64);
            let offset = used & !(PAGE as u64 - 1);
            let usual = (used as usize).next_multiple_of(PAGE).clamp(GROW_BYTES.0, GROW_BYTES.1);
            let length = usual.max((bytes + PAGE).next_multiple_of(PAGE));
            let window = allocate_and_map(open(room, &name, 0)?, offset, length)?;
            self.use_window(window, used, offset, length);
            Ok(())
        });
        moved.is_ok()
    }

    fn use_window(&mut self, window: *mut u8, used: u64, offset: u64, length: usize) {
        self.set_header_state(header::STATE_RECORDING);
        let (old, old_bytes) = (self.window, self.window_bytes);
        // The header page of the first mapping stays.
        let keep = if self.window_offset == 0 { PAGE } else { 0 };
        self.set_window(window, length, offset);
        self.cursor = window.wrapping_add((used - offset) as usize);
        self.memory.moved();
        // SAFETY: nothing points into the old records any more.
        unsafe { sys::munmap(old as usize + keep, old_bytes - keep) };
    }

    fn set_window(&mut self, window: *mut u8, bytes: usize, offset: u64) {
        (self.window, self.window_bytes, self.window_offset) = (window, bytes, offset);
        self.limit = window.wrapping_add(bytes);
        let inheritance = self.inheritance();
        (inheritance.window, inheritance.window_bytes) = (window, bytes);
    }

    /// Makes room for `bytes` more, if that can be had, unless there is half of it. (Servers change their user at every
    /// request.)
    fn grow_by(&mut self, bytes: usize) {
        let left = self.limit as usize - self.cursor as usize;
        if left < bytes / 2 && !self.stopped && !self.encoding.load(Ordering::Relaxed) {
            self.move_window(bytes);
        }
    }

    /// Ends recording on this thread; what was written stays, and the file is cut behind it where that is worth it.
    pub fn stop(&mut self, state: u32) {
        if self.stopped || !self.is_whole() {
            return;
        }
        self.take_pair();
        self.note_end(state);
        self.set_header_state(state);
        self.stopped = state != header::STATE_PROCESS_ENDED;
        // A handler's record must find no room in what is cut off.
        sys::without_signals(|| {
            let used = self.window_offset + (self.cursor as u64 - self.window as u64);
            let left = self.limit as usize - self.cursor as usize;
            // The next record, if there is one after all (an `execve` that failed), has to map the file again.
            self.limit = self.cursor;
            if left <= LEFT_BYTES {
                return; // Zeros behind the records mean the same.
            }
            let name = self.name;
            process::with_path(self.path_room(), &name, |path| {
                // SAFETY: the path ends with a zero byte. A failure leaves zeros behind the records, which mean the same.
                Some(unsafe { sys::truncate(path, used) })
            });
        });
    }

    /// Before the image is replaced. Where the file cannot be opened any more what is mapped stays mapped: should the call
    /// fail, it is all there is.
    pub fn expect_replacement(&mut self) {
        if !OUT_OF_REACH.load(Ordering::Relaxed) || self.is_within_reach() {
            return self.stop(header::STATE_PROCESS_ENDED);
        }
        self.take_pair();
        self.note_end(header::STATE_PROCESS_ENDED);
        self.set_header_state(header::STATE_PROCESS_ENDED);
    }

    /// Notes when the thread ended, and with the process all others as well, and what CPU time they have used.
    fn note_end(&mut self, state: u32) {
        if process::is_confined() {
            return;
        }
        if state == header::STATE_PROCESS_ENDED {
            living::end_all();
            self.header().process_cpu_ns.store(clock::process_cpu_ns(), Ordering::Relaxed);
        }
        living::end(self.header(), clock::ticks(), clock::thread_cpu_ns());
    }

    fn is_within_reach(&mut self) -> bool {
        let (name, room) = (self.name, self.path_room());
        // SAFETY: the descriptor is ours.
        let opened = private_table::run(|| open(room, &name, 0).map(|fd| unsafe { sys::close(fd) }));
        opened.is_ok()
    }

    /// The image was not replaced.
    pub fn replacement_failed(&mut self) {
        living::go_on();
        self.header().process_cpu_ns.store(0, Ordering::Relaxed);
        self.header().end_ticks.store(0, Ordering::Relaxed);
        if !self.stopped {
            self.set_header_state(header::STATE_RECORDING);
        }
    }

    fn set_header_state(&mut self, state: u32) {
        if self.is_whole() {
            self.header().state.store(state, Ordering::Release);
        }
    }

    /// Unmaps everything. The thread must be leaving, with its pointer already set to [`tls::ENDED`].
    pub fn release(&mut self) {
        let keep = if self.window_offset == 0 { 0 } else { PAGE };
        let _ = FIRST_HEADER.compare_exchange(
            self.header,
            core::ptr::null_mut(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if !living::leave(self.place, self.header) {
            return; // Somebody is about to write to the header: it stays.
        }
        let (window, window_bytes, header) = (self.window as usize, self.window_bytes, self.header as usize);
        let this = (&raw mut *self) as usize;
        // SAFETY: nobody uses the state after this; the addresses were copied out of it first.
        unsafe {
            sys::munmap(window, window_bytes);
            if keep != 0 {
                sys::munmap(header, keep);
            }
            sys::munmap(this, ALL_BYTES);
        }
    }

    /// Before a call that forks, and with `false` after it.
    pub fn fork_follows(&mut self, follows: bool) {
        let amid_record = self.encoding.load(Ordering::Relaxed);
        self.inheritance().fork = match (follows, amid_record) {
            (false, _) => Fork::Unseen,
            (true, false) => Fork::Clean,
            (true, true) => Fork::AmidRecord,
        };
    }
}

/// True once the run folder may be closed to this process.
static OUT_OF_REACH: AtomicBool = AtomicBool::new(false);

/// Before a call after which this thread's file cannot be opened any more: room for what may come.
pub fn grow_ahead() {
    const AHEAD_BYTES: usize = 4 << 20;
    OUT_OF_REACH.store(true, Ordering::Relaxed);
    let state = tls::get();
    // SAFETY: this thread's state.
    unsafe {
        if tls::is_state(state) && !(*state).cursor.is_null() {
            (*state).grow_by(AHEAD_BYTES);
        }
    }
}

/// Opens the file `name` of the run folder, within [`private_table::run`]; `room` is for its path.
fn open(room: &mut [u8], name: &[u8], flags: c_int) -> Result<c_int, isize> {
    let flags = flags | libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let opened = process::with_path(room, name, |path| {
        // SAFETY: the path ends with a zero byte.
        Some(unsafe { sys::openat(libc::AT_FDCWD, path, flags, 0o666) })
    });
    match opened {
        Some(fd) if fd >= 0 => Ok(fd as c_int),
        Some(error) => Err(error),
        None => Err(-(libc::ENAMETOOLONG as isize)),
    }
}

/// Reserves the blocks (a file that merely is long enough raises SIGBUS when the disk turns out to be full), maps
/// them and closes the descriptor.
fn allocate_and_map(fd: c_int, offset: u64, length: usize) -> Result<*mut u8, isize> {
    // SAFETY: the descriptor is ours; a new shared mapping disturbs nothing.
    unsafe {
        let mut reserved = sys::fallocate(fd, 0, offset, length as u64);
        if reserved == -(libc::EOPNOTSUPP as isize) || reserved == -(libc::ENOSYS as isize) {
            reserved = write_zeros(fd, offset, length);
        }
        let mut address = reserved;
        if reserved == 0 {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            address = sys::mmap(0, length, protection, libc::MAP_SHARED, fd, offset);
        }
        sys::close(fd);
        if address > 0 { Ok(address as *mut u8) } else { Err(address) }
    }
}

/// For file systems without fallocate(2): bytes behind what is already there are written.
unsafe fn write_zeros(fd: c_int, offset: u64, length: usize) -> isize {
    static ZEROS: [u8; PAGE] = [0; PAGE];
    // SAFETY: the descriptor is ours and ZEROS is a page long.
    unsafe {
        let have = sys::lseek(fd, 0, libc::SEEK_END).max(0) as u64;
        let mut at = have.max(offset);
        while at < offset + length as u64 {
            let wrote = sys::pwrite(fd, ZEROS.as_ptr(), PAGE.min((offset + length as u64 - at) as usize), at);
            if wrote <= 0 {
                return wrote.min(-1);
            }
            at += wrote as u64;
        }
    }
    0
}

/// This thread's state, made if it has none yet. `None`: calls of this thread are not recorded (now). `flags` are those of the
/// call that asks.
#[cold]
#[inline(never)]
pub fn obtain(frame: usize, flags: Flags) -> Option<*mut State> {
    let state = tls::get();
    if tls::is_state(state) {
        // SAFETY: a pointer that is none of the marks points to this thread's mapping.
        return if unsafe { (*state).mark } == MARK { Some(state) } else { after_fork(state, frame) };
    }
    if !state.is_null() || !process::is_recording() {
        // What libc does to clean up behind a thread that has ended is no call of the program's.
        if !state.is_null() && flags & record::INNER == 0 {
            lose_one();
        }
        return None;
    }
    let stack = (frame.saturating_sub(8 << 20), frame + (64 << 10));
    sys::without_signals(|| {
        tls::set(tls::MAKING);
        let made = start_new(frame, stack, 0);
        tls::set(made.unwrap_or(tls::ENDED));
        made
    })
}

/// Makes the state of a thread that one of our hooks has started: its stack and its creator are known.
pub fn begin(frame: usize, stack_bytes: usize, creator: u32) {
    if !tls::get().is_null() || !process::is_recording() {
        return;
    }
    let stack = (frame.saturating_sub(stack_bytes), frame + PAGE);
    sys::without_signals(|| {
        tls::set(tls::MAKING);
        let made = start_new(frame, stack, creator);
        tls::set(made.unwrap_or(tls::ENDED));
    });
}

fn map_state(is_first: bool) -> Option<*mut State> {
    let memory = sys::map_anonymous(ALL_BYTES)?;
    // SAFETY: the mapping was just made. On kernels before 4.14 the advice fails and only hooked forks are noticed.
    unsafe { sys::madvise(memory as usize, WIPED_BYTES, libc::MADV_WIPEONFORK) };
    if is_first {
        let used = core::mem::offset_of!(State, side).next_multiple_of(PAGE);
        // SAFETY: as above. One call in place of a page fault, or two, for each page (Linux 5.14; elsewhere these).
        unsafe { sys::madvise(memory as usize, used, libc::MADV_POPULATE_WRITE) };
    }
    Some(memory.cast())
}

/// The child of a fork: its state is wiped, and so is what the process knew of itself. Where the fork may have interrupted
/// the writing of a record, the state is left to that, and so is memory in the place of the parent's records.
fn after_fork(state: *mut State, frame: usize) -> Option<*mut State> {
    sys::without_signals(|| {
        tls::set(tls::MAKING);
        process::start_in_forked_child();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: what the parent's thread had mapped, and no other thread of this process knows.
        let fork = unsafe {
            let Inheritance { window, window_bytes, fork } = *(*state).inheritance();
            sys::mmap(window as usize, window_bytes, protection, flags, -1, 0);
            fork
        };
        let stack = (frame.saturating_sub(8 << 20), frame + (1 << 20));
        let made =
            if fork == Fork::Clean { start(state, frame, stack, 0) } else { start_new(frame, stack, 0) };
        tls::set(made.unwrap_or(tls::ENDED));
        made
    })
}

/// In the child of a fork that passed a hook. Not only at its first call: a child that does nothing is to be known as well.
pub fn begin_in_forked_child(frame: usize) {
    let state = tls::get();
    // SAFETY: this thread's state, if it has one.
    unsafe {
        // A fork handler may have made calls, and then the child's trace has begun already.
        if tls::is_state(state) && sys::getpid() as u32 != process::pid() {
            if (*state).mark == MARK {
                // The kernel is older than 4.14.
                core::ptr::write_bytes(state.cast::<u8>(), 0, STATE_BYTES);
            }
            let _ = obtain(frame, 0);
        }
    }
}

/// For a thread that has no state: `None` if it gets none.
fn start_new(frame: usize, stack: (usize, usize), creator: u32) -> Option<*mut State> {
    // What other threads do not touch is not to be there.
    let state = map_state(creator == 0)?;
    let started = start(state, frame, stack, creator);
    if started.is_none() {
        // SAFETY: nobody knows the mapping.
        unsafe { sys::munmap(state as usize, ALL_BYTES) };
    }
    started
}

fn start(state: *mut State, frame: usize, stack: (usize, usize), creator: u32) -> Option<*mut State> {
    // SAFETY: the mapping is ours, zeroed or wiped, and every field is valid as zero.
    let this = unsafe { &mut *state };
    this.side_used.store(0, Ordering::Relaxed);
    this.encoding.store(false, Ordering::Relaxed);
    (this.frame, this.mpi_frame, this.suppressed_by, this.resting) = (0, 0, 0, 0);
    (this.stopped, this.is_apart) = (false, false);
    this.fork_follows(false);
    // SAFETY: no arguments.
    let tid = unsafe { sys::gettid() } as u32;
    let (began, started_cpu_ns) = (clock::pair(), clock::thread_cpu_ns());
    write_name(&mut this.name, process::pid(), tid, began.monotonic_ns);
    let name = this.name;
    // Readers look for whole extensions: the file gets its own when its header is whole, so that a thread which is
    // killed in between leaves nothing that looks like a trace.
    let whole = name.iter().position(|&byte| byte == 0).unwrap_or(NAME_BYTES);
    let room = this.path_room();
    let window = private_table::run(|| {
        let fd = open(room, &name[..whole - 1], libc::O_CREAT | libc::O_EXCL)?;
        let window = allocate_and_map(fd, 0, FIRST_BYTES);
        if window.is_err() {
            // SAFETY: the path ends with a zero byte; the file is ours and empty.
            process::with_path(room, &name[..whole - 1], |path| Some(unsafe { sys::unlink(path) }));
        }
        window
    });
    let Ok(window) = window else {
        lose_one();
        return None;
    };
    this.header = window.cast();
    process::fill_header(this.header(), tid, began, started_cpu_ns);
    this.header().helpers_cpu_ns.store(private_table::take_unclaimed_cpu_ns(), Ordering::Relaxed);
    let (from, to) = this.path_room().split_at_mut(PATH_BYTES / 2);
    let _ = process::with_path(from, &name[..whole - 1], |from| {
        process::with_path(to, &name, |to| {
            // SAFETY: both paths end with a zero byte.
            Some(unsafe { sys::rename(from, to) })
        })
    });
    this.set_window(window, FIRST_BYTES, 0);
    this.cursor = window.wrapping_add(HEADER_BYTES);
    this.stack = stack;
    this.last_end = began.ticks;
    (this.cpu_told, this.cpu_ticks, this.switches) =
        (started_cpu_ns, began.ticks, clock::voluntary_switches());
    this.entered = Entered::default();
    this.place = living::join(this.header);
    this.next_pair = began.ticks + 100_000;
    compiler_fence(Ordering::Release);
    this.mark = MARK;
    if tid == process::pid() {
        FIRST_HEADER.store(this.header, Ordering::Relaxed);
    }
    process::first_records(this, tid, creator, frame);
    this.header().setup_ticks.store(clock::ticks().saturating_sub(began.ticks), Ordering::Relaxed);
    preemption::Mark::Told.put();
    Some(state)
}

/// `<pid>-<tid>-<start, hexadecimal>.trace` and a final zero.
fn write_name(name: &mut [u8; NAME_BYTES], pid: u32, tid: u32, start: u64) {
    *name = [0; NAME_BYTES];
    let mut at = 0;
    let mut put = |text: &[u8]| {
        name[at..at + text.len()].copy_from_slice(text);
        at += text.len();
    };
    let mut digits = [0; 20];
    put(decimal(pid.into(), &mut digits));
    put(b"-");
    put(decimal(tid.into(), &mut digits));
    put(b"-");
    let mut hexadecimal = [0; 16];
    for (index, digit) in hexadecimal.iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(start >> (60 - 4 * index)) as usize & 15];
    }
    put(&hexadecimal);
    put(b".trace");
}

/// `number` in decimal.
pub fn decimal(number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let (mut rest, mut at) = (number, digits.len());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return &digits[at..];
        }
    }
}

const _: () = assert!(FIRST_BYTES.is_multiple_of(PAGE) && HEADER_BYTES <= PAGE);
const _: () = assert!(size_of::<SideSlot>() == SIDE_BYTES);
