//! The beginning of a thread's recording.

pub mod chunk;
pub mod current;
pub mod ending;
pub mod inheritance;
pub mod lingering;
pub mod living;
pub mod private_table;
pub mod scratch;
pub mod spare;
pub mod stack;
pub mod state;
pub mod trace_file;
pub mod window;

use crate::core::{clock, preemption, sys};
use crate::recording::thread::inheritance::Fork;
use crate::recording::thread::state::{BEGIN_BYTES, Entered, MARK, State, USED_BYTES};
use crate::recording::{first_records, process};
use crate::throttle;
use core::ptr;
use core::sync::atomic::{Ordering, compiler_fence};
use ending::{FIRST_HEADER, lose_one};
use state::PAGE;
use syn_trace::chunks::{CHUNK_HEAD_BYTES, ChunkHead, IN_FRONT, UNIT_BYTES};
use syn_trace::header;

/// This thread's state, made if it has none yet. `None`: calls of this thread are not recorded (now).
#[cold]
#[inline(never)]
#[unsafe(link_section = ".text.startup")]
pub fn obtain(frame: usize) -> Option<&'static State> {
    if let Some(state) = current::state() {
        return if state.mark.get() == MARK { Some(state) } else { after_fork(state, frame) };
    }
    let state = current::get();
    if !state.is_null() || !process::is_recording() {
        if !state.is_null() {
            lose_one();
        }
        return None;
    }
    let stack = (frame.saturating_sub(8 << 20), frame + (64 << 10));
    sys::without_signals(|| {
        current::set(current::MAKING);
        come_out(start_new(frame, stack, 0))
    })
}

/// The thread has this state from now on, or gets none.
fn come_out(made: Option<*mut State>) -> Option<&'static State> {
    current::set(made.unwrap_or(current::ENDED));
    current::state()
}

/// Makes the state of a thread that one of our hooks has started: its stack and its creator are known.
pub fn begin(frame: usize, stack_bytes: usize, creator: u32) {
    if !current::get().is_null() || !process::is_recording() {
        return;
    }
    let stack = (frame.saturating_sub(stack_bytes), frame + PAGE);
    sys::without_signals(|| {
        current::set(current::MAKING);
        come_out(start_new(frame, stack, creator));
    });
}

fn map_state() -> Option<*mut State> {
    let memory = sys::map_anonymous(size_of::<State>())?;
    // SAFETY: the mapping was just made. Most of it is never touched, and a huge page would be there as a whole. On kernels before
    // 4.14 the second advice fails, and only hooked forks are noticed.
    unsafe {
        sys::madvise(memory as usize, size_of::<State>(), libc::MADV_NOHUGEPAGE);
        sys::madvise(memory as usize, size_of::<State>(), libc::MADV_WIPEONFORK);
    }
    Some(memory.cast())
}

/// The child of a fork: its state is wiped, and so is what the process knew of itself. Where the fork may have interrupted
/// the writing of a record, the state is left to that. Where anything was under way that may go on in the child, it finds other
/// memory in the place of the parent's records; else nobody has an address there any more, and they stay mapped.
#[unsafe(link_section = ".text.startup")]
fn after_fork(state: &'static State, frame: usize) -> Option<&'static State> {
    sys::in_forked_child();
    sys::without_signals(|| {
        current::set(current::MAKING);
        process::start_in_forked_child();
        private_table::descriptors_are_own();
        living::begin_anew();
        lingering::begin_anew();
        trace_file::in_forked_child();
        let (fork, node) = inheritance::take();
        throttle::begin_in_forked_child(node);
        if fork != Fork::Clean {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            let (window, bytes) = inheritance::window();
            // SAFETY: what the parent's thread had mapped, and no other thread of this process knows.
            unsafe { sys::mmap(window, bytes, protection, flags, -1, 0) };
        }
        let stack = (frame.saturating_sub(8 << 20), frame + (1 << 20));
        come_out(match fork {
            Fork::Clean | Fork::InHandler => start(ptr::from_ref(state).cast_mut(), frame, stack, 0),
            Fork::AmidRecord | Fork::Unseen => start_new(frame, stack, 0),
        })
    })
}

/// In the child of a fork that passed a hook. Not only at its first call: a child that does nothing is to be known as well.
#[unsafe(link_section = ".text.startup")]
pub fn begin_in_forked_child(frame: usize) {
    let Some(state) = current::state() else { return };
    // A fork handler may have made calls, and then the child's trace has begun already.
    // SAFETY: no arguments.
    if unsafe { sys::getpid() } as u32 != process::pid() {
        // Written to before anything of it is read, it costs one page fault and not two.
        state.frame.set(0);
        if state.mark.get() == MARK {
            // The kernel is older than 4.14.
            // SAFETY: every field is valid as zero, and nobody else uses the state.
            unsafe { ptr::write_bytes(ptr::from_ref(state).cast_mut().cast::<u8>(), 0, USED_BYTES) };
        }
        let _ = obtain(frame);
    }
}

/// For a thread that has no state: `None` if it gets none.
#[unsafe(link_section = ".text.startup")]
fn start_new(frame: usize, stack: (usize, usize), creator: u32) -> Option<*mut State> {
    let given_back = || {
        lingering::give_back();
        spare::take()
    };
    let state = spare::take().or_else(given_back).or_else(map_state)?;
    let started = start(state, frame, stack, creator);
    if started.is_none() {
        // SAFETY: nobody knows the mapping.
        unsafe { spare::give(state) };
    }
    started
}

#[unsafe(link_section = ".text.startup")]
fn start(state: *mut State, frame: usize, stack: (usize, usize), creator: u32) -> Option<*mut State> {
    // SAFETY: the mapping is ours, zeroed or wiped, and every field is valid as zero.
    let this = unsafe { &*state };
    this.side_used.store(0, Ordering::Relaxed);
    this.encoding.store(false, Ordering::Relaxed);
    for mark in [&this.frame, &this.mpi_frame, &this.suppressed_by, &this.resting] {
        mark.set(0);
    }
    this.stopped.set(false);
    this.is_apart.set(false);
    this.has_ended.set(false);
    // SAFETY: no arguments.
    let tid = unsafe { sys::gettid() } as u32;
    let (began, started_cpu_ns) = (clock::pair(), clock::thread_cpu_ns());
    // SAFETY: signals are blocked while a thread begins, and nothing else is under way.
    let Some(chunk) = (unsafe {
        let has_place = process::with_folder(<[u8]>::len) < BEGIN_BYTES / 2;
        let room = if has_place { &mut this.begin.lend()[..] } else { this.path_room() };
        chunk::take(room, window::FIRST_BYTES).ok()
    }) else {
        lose_one();
        return None;
    };
    this.header.set(chunk.at.wrapping_add(CHUNK_HEAD_BYTES).cast());
    // SAFETY: the chunk is this thread's alone, and nobody knows of the header yet.
    process::fill_header(unsafe { &mut *this.header.get() }, tid, began, started_cpu_ns);
    this.header().helpers_cpu_ns.store(private_table::take_unclaimed_cpu_ns(), Ordering::Relaxed);
    this.first_unit.set(chunk.unit);
    this.chunk_number.set(0);
    this.chunk_bytes.set(0);
    // SAFETY: the chunk is this thread's alone.
    unsafe { ChunkHead::publish(chunk.at, chunk.unit, 0, (chunk.bytes / UNIT_BYTES) as u32) };
    this.in_area.set([chunk.in_area; 2]);
    this.set_window(&chunk);
    this.cursor.set(chunk.at.wrapping_add(IN_FRONT[0]));
    this.stack.set(stack);
    this.last_end.set(began.ticks);
    this.cpu_told.set(started_cpu_ns);
    this.cpu_ticks.set(began.ticks);
    let switches = clock::voluntary_switches();
    this.switches.set(switches.unwrap_or(0));
    this.lock_waits.set(0);
    if switches == Some(0) {
        this.header().capabilities.fetch_or(header::BEGAN_READY, Ordering::Relaxed);
    }
    this.entered.set(Entered::default());
    this.place.set(living::join(this.header.get()));
    this.next_pair.set(began.ticks + 100_000);
    compiler_fence(Ordering::Release);
    this.mark.set(MARK);
    if tid == process::pid() {
        FIRST_HEADER.store(this.header.get(), Ordering::Relaxed);
    }
    this.published.set(throttle::join(process::pid(), tid));
    first_records::write(this, tid, creator, frame);
    this.header().setup_ticks.store(clock::ticks().saturating_sub(began.ticks), Ordering::Relaxed);
    preemption::Mark::Told.put();
    Some(state)
}

const _: () = assert!(IN_FRONT[0] <= PAGE && UNIT_BYTES == PAGE);
