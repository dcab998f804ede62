//! The beginning of a thread's recording.

pub mod chunk;
pub mod current;
pub mod ending;
pub mod living;
pub mod private_table;
pub mod scratch;
pub mod spare;
pub mod stack;
pub mod state;
pub mod trace_file;
pub mod window;

use crate::core::{clock, preemption, sys};
use crate::recording::thread::state::{
    ALL_BYTES, Entered, Fork, Inheritance, MARK, STATE_BYTES, State, WIPED_BYTES,
};
use crate::recording::{first_records, process};
use crate::throttle;
use core::sync::atomic::{Ordering, compiler_fence};
use ending::{FIRST_HEADER, lose_one};
use state::PAGE;
use syn_trace::chunks::{CHUNK_HEAD_BYTES, ChunkHead, IN_FRONT, UNIT_BYTES};
use syn_trace::record::{self, Flags};

/// This thread's state, made if it has none yet. `None`: calls of this thread are not recorded (now). `flags` are those of the
/// call that asks.
#[cold]
#[inline(never)]
pub fn obtain(frame: usize, flags: Flags) -> Option<*mut State> {
    let state = current::get();
    if current::is_state(state) {
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
        current::set(current::MAKING);
        let made = start_new(frame, stack, 0);
        current::set(made.unwrap_or(current::ENDED));
        made
    })
}

/// Makes the state of a thread that one of our hooks has started: its stack and its creator are known.
pub fn begin(frame: usize, stack_bytes: usize, creator: u32) {
    if !current::get().is_null() || !process::is_recording() {
        return;
    }
    let stack = (frame.saturating_sub(stack_bytes), frame + PAGE);
    sys::without_signals(|| {
        current::set(current::MAKING);
        let made = start_new(frame, stack, creator);
        current::set(made.unwrap_or(current::ENDED));
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
        current::set(current::MAKING);
        process::start_in_forked_child();
        private_table::descriptors_are_own();
        living::begin_anew();
        trace_file::in_forked_child();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: what the parent's thread had mapped, and no other thread of this process knows.
        let fork = unsafe {
            let Inheritance { window, window_bytes, fork, child_node } = *(*state).inheritance();
            sys::mmap(window as usize, window_bytes, protection, flags, -1, 0);
            throttle::begin_in_forked_child(child_node as u32);
            fork
        };
        let stack = (frame.saturating_sub(8 << 20), frame + (1 << 20));
        let made =
            if fork == Fork::Clean { start(state, frame, stack, 0) } else { start_new(frame, stack, 0) };
        current::set(made.unwrap_or(current::ENDED));
        made
    })
}

/// In the child of a fork that passed a hook. Not only at its first call: a child that does nothing is to be known as well.
pub fn begin_in_forked_child(frame: usize) {
    let state = current::get();
    // SAFETY: this thread's state, if it has one.
    unsafe {
        // A fork handler may have made calls, and then the child's trace has begun already.
        if current::is_state(state) && sys::getpid() as u32 != process::pid() {
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
    let state = spare::take().or_else(|| map_state(creator == 0))?;
    let started = start(state, frame, stack, creator);
    if started.is_none() {
        // SAFETY: nobody knows the mapping.
        unsafe { spare::give(state) };
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
    let Ok(chunk) = chunk::take(this.path_room(), window::FIRST_BYTES) else {
        lose_one();
        return None;
    };
    this.header = chunk.at.wrapping_add(CHUNK_HEAD_BYTES).cast();
    process::fill_header(this.header(), tid, began, started_cpu_ns);
    this.header().helpers_cpu_ns.store(private_table::take_unclaimed_cpu_ns(), Ordering::Relaxed);
    (this.first_unit, this.chunk_number, this.chunk_bytes) = (chunk.unit, 0, 0);
    // SAFETY: the chunk is this thread's alone.
    unsafe { ChunkHead::publish(chunk.at, chunk.unit, 0, (chunk.bytes / UNIT_BYTES) as u32) };
    this.in_area = [chunk.in_area; 2];
    this.set_window(&chunk);
    this.cursor = chunk.at.wrapping_add(IN_FRONT[0]);
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
    this.published = throttle::join(process::pid(), tid);
    first_records::write(this, tid, creator, frame);
    this.header().setup_ticks.store(clock::ticks().saturating_sub(began.ticks), Ordering::Relaxed);
    preemption::Mark::Told.put();
    Some(state)
}

const _: () = assert!(IN_FRONT[0] <= PAGE && UNIT_BYTES == PAGE);
