//! One call under way: from the entry of a hook to its record.

use crate::clock;
use crate::process;
use crate::sys;
use crate::thread::{self, SIDE_SLOTS, SideSlot, State};
use crate::tls;
use core::sync::atomic::{Ordering, compiler_fence};
use syn_trace::calls::Call;
use syn_trace::record::{self, Times};

/// A call that is to be recorded. It holds nothing that needs dropping: a cancelled thread or a C++ exception may
/// unwind past it, a signal handler may jump over it.
#[derive(Clone, Copy)]
pub struct Span {
    state: *mut State,
    start: u64,
    end: u64,
    outer_frame: usize,
    cpu_before: u64,
    flags: u8,
    quiet: bool,
}

/// The stack address of the caller's frame, near enough.
#[inline(always)]
pub fn frame_address() -> usize {
    let address: usize;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mov {}, rsp", out(reg) address, options(nomem, nostack, preserves_flags)) };
    address
}

/// The start of a call that goes untimed, if it finds nothing.
const UNTIMED: u64 = 0;

/// Enters a call. `flags` is [`record::INNER`] where libc itself is the caller. `None`: only make the real call.
#[inline(always)]
pub fn enter(call: Call, flags: u8) -> Option<Span> {
    if process::leaves_out(call) {
        return None;
    }
    let frame = frame_address();
    let mut state = tls::get();
    // SAFETY: a pointer that is none of the marks points to this thread's state.
    if !tls::is_state(state) || unsafe { (*state).cursor.is_null() } {
        state = thread::obtain(frame)?;
        if process::leaves_out(call) {
            return None; // The process has only just found out what it is.
        }
    }
    // SAFETY: as above; only this thread and its signal handlers use the state.
    unsafe { open(&mut *state, frame, flags) }
}

/// Enters a call that may find nothing, as one of a long row of such calls for which the clock is not read; see
/// [`count_untimed`]. `None`: it is to be entered as others are.
#[inline(always)]
pub fn enter_untimed(call: Call) -> Option<Span> {
    let state = tls::get();
    if !tls::is_state(state) {
        return None;
    }
    // SAFETY: this thread's state. One that counts a row is whole.
    let state = unsafe { &mut *state };
    if !state.memory.may_go_untimed(call) || state.frame != 0 || state.suppressed_by != 0 {
        return None;
    }
    state.frame = frame_address();
    Some(Span { state, start: UNTIMED, end: 0, outer_frame: 0, cpu_before: 0, flags: 0, quiet: false })
}

#[inline(always)]
fn open(state: &mut State, frame: usize, mut flags: u8) -> Option<Span> {
    if state.suppressed_by != 0 && state.is_suppressed(frame) {
        return None;
    }
    let outer_frame = if state.frame == 0 { 0 } else { outer_frame(state, frame) };
    if outer_frame != 0 {
        flags |= record::INNER;
    }
    state.frame = frame;
    let mut start = clock::ticks();
    let mut cpu_before = 0;
    if start.wrapping_sub(state.last_end) > clock::long_ticks() && may_read_clocks(state) {
        cpu_before = read_cpu(state, start, &mut flags);
        flags |= record::CPU_BEFORE;
        start = clock::ticks();
    }
    Some(Span { state, start, end: 0, outer_frame, cpu_before, flags, quiet: false })
}

/// False in a handler that has interrupted the writing of a record, whose readings belong to that record's sequence, on a
/// thread that stands in for another, and where system calls of our own could end the process.
#[cold]
fn may_read_clocks(state: &State) -> bool {
    !state.encoding.load(Ordering::Relaxed) && !state.is_apart && !process::is_confined()
}

/// The frame of the hook that encloses this one, 0 if it is only a leftover.
#[cold]
fn outer_frame(state: &mut State, frame: usize) -> usize {
    // A record that is being written may be a handler's whom nobody announced: then guesses will not do.
    if state.encoding.load(Ordering::Relaxed) {
        if state.is_certainly_stale(state.frame, frame) {
            state.give_up_record();
            state.frame = 0;
        }
    } else if state.is_stale(state.frame, frame) {
        state.frame = 0;
    }
    state.frame
}

/// CPU nanoseconds since the reading before. Sets `WAITED` when there was clearly less CPU time than wall time and
/// the thread gave up its processor of its own accord.
#[cold]
#[inline(never)]
fn read_cpu(state: &mut State, now: u64, flags: &mut u8) -> u64 {
    let cpu = clock::thread_cpu_ns();
    let used = cpu.saturating_sub(state.cpu_ns);
    let elapsed = now.saturating_sub(state.cpu_ticks);
    // The rate of the counter is not known here: "clearly less" is judged with a rate of 1.5 to 6 ticks per ns.
    if used.saturating_mul(3) / 2 < elapsed {
        let switches = clock::voluntary_switches();
        if switches != state.switches {
            *flags |= record::WAITED;
        }
        state.switches = switches;
    }
    (state.cpu_ns, state.cpu_ticks) = (cpu, clock::ticks());
    used
}

impl Span {
    /// Writes the record and leaves the call. `outcome` is the result, or errno when `failed`.
    #[inline(always)]
    pub fn leave<const N: usize>(
        mut self,
        call: Call,
        failed: bool,
        outcome: i64,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    ) {
        self.record(call, failed, outcome, numbers, texts, list);
        self.forget();
    }

    /// Writes a record and stays in the call: a further one of the same call takes no time.
    #[inline(always)]
    pub fn record<const N: usize>(
        &mut self,
        call: Call,
        failed: bool,
        outcome: i64,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    ) {
        // SAFETY: the state lives as long as the thread records.
        let state = unsafe { &mut *self.state };
        if state.cursor.is_null() {
            return; // A forked child came back through a hook that its parent had entered.
        }
        let mut flags = self.flags;
        let mut times = Times {
            took: clock::units(self.end - self.start),
            cpu_before: self.cpu_before,
            ..Times::default()
        };
        if self.end - self.start > clock::long_ticks() && may_read_clocks(state) {
            times.cpu_after = read_cpu_after(state, self.end, self.flags, &mut flags);
        }
        if failed {
            flags |= record::FAILED;
        } else if let Some(position) = call.requested()
            && position < N
            && numbers[position] == outcome
        {
            flags |= record::COMPLETE;
        }
        write(state, call, flags, times, self.end, outcome, numbers, texts, list);
        self.start = self.end;
        self.flags &= record::INNER;
    }

    /// Before a real call in which nothing else is to be recorded: it makes its system calls through functions that
    /// are hooked themselves, or runs a child in our memory. Ends with the call.
    #[inline(always)]
    pub fn quiet(&mut self) {
        // SAFETY: as in `leave`.
        unsafe { (*self.state).suppressed_by = (*self.state).frame };
        self.quiet = true;
    }

    /// Notes the end of the real call; what follows (reading arguments) is not part of it.
    #[inline(always)]
    pub fn returned(&mut self) {
        self.end = clock::ticks();
        if self.quiet {
            // SAFETY: as in `leave`.
            unsafe { (*self.state).suppressed_by = (*self.state).resting };
        }
    }

    /// True for a call that goes untimed, if it finds nothing.
    #[inline(always)]
    pub fn is_untimed(&self) -> bool {
        self.start == UNTIMED
    }

    /// As [`Span::returned`], for a call that [`enter_untimed`] may have entered.
    #[inline(always)]
    pub fn poll_returned(&mut self) {
        self.returned();
        if self.is_untimed() {
            self.estimate_start();
        }
    }

    /// The call found something after all. It is taken to be as long as those before it were on average.
    #[cold]
    #[inline(never)]
    fn estimate_start(&mut self) {
        // SAFETY: as in `leave`.
        let state = unsafe { &mut *self.state };
        let since = self.end.saturating_sub(state.last_end);
        self.start = self.end - clock::ticks_of(state.memory.mean_took()).min(since);
        if since > clock::long_ticks() && may_read_clocks(state) {
            self.cpu_before = read_cpu(state, self.start, &mut self.flags);
            self.flags |= record::CPU_BEFORE;
        }
    }

    /// Leaves the call without a record.
    #[inline(always)]
    pub fn forget(self) {
        // SAFETY: as in `leave`.
        unsafe { (*self.state).frame = self.outer_frame };
    }

    /// The thread's scratch memory, for this call.
    pub fn scratch(&self) -> &'static mut [u8] {
        // SAFETY: as in `leave`.
        unsafe { (*self.state).scratch() }
    }

    /// The flags of a record that stands before the call, because it may not return.
    pub fn began(&self) -> u8 {
        record::BEGAN | self.flags & record::INNER
    }

    /// The thread's state.
    pub fn state(&self) -> *mut State {
        self.state
    }
}

/// Counts an untimed call as one more that found nothing: then it is over, but for its frame. False: its end is to be noted,
/// and it is to be recorded.
#[inline(always)]
pub fn count_untimed<const N: usize>(state: &mut State, call: Call, numbers: &[i64; N]) -> bool {
    if state.encoding.load(Ordering::Relaxed) {
        return false;
    }
    state.encoding.store(true, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    // SAFETY: whatever moves the records or writes another one ends the row.
    let counted = unsafe { state.memory.count_untimed(call, numbers) };
    compiler_fence(Ordering::SeqCst);
    state.encoding.store(false, Ordering::Relaxed);
    if state.side_used.load(Ordering::Relaxed) != 0 {
        append_side_slots(state);
    }
    counted
}

/// A reading at the end of a long call. The flag `WAITED` stays what it says of the gap before the call.
#[cold]
#[inline(never)]
fn read_cpu_after(state: &mut State, now: u64, entry_flags: u8, flags: &mut u8) -> u64 {
    let cpu = read_cpu(state, now, flags);
    *flags = (*flags & !record::WAITED) | (entry_flags & record::WAITED) | record::CPU_AFTER;
    cpu
}

/// Appends a record to the thread's file, or keeps it aside if this is a handler that interrupted another append.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn write<const N: usize>(
    state: &mut State,
    call: Call,
    flags: u8,
    mut times: Times,
    end: u64,
    outcome: i64,
    numbers: &[i64; N],
    texts: &[&[u8]],
    list: &[i64],
) {
    if state.encoding.load(Ordering::Relaxed) && is_amid_record(state) {
        return set_aside(state, call, flags, times, end, outcome, numbers, texts, list);
    }
    state.encoding.store(true, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    let room = record::room(texts, list);
    // Read once: where a handler forks, the child finds nothing here when it comes back.
    let mut at = cursor_of(state);
    if at as usize + room > state.limit as usize {
        at = if state.make_room(room) { cursor_of(state) } else { core::ptr::null_mut() };
    }
    if at.is_null() {
        state.drop_one();
    } else {
        times.end = clock::units(end).saturating_sub(clock::units(state.last_end));
        // SAFETY: there is room, the area behind the cursor is zero, and the macros that call this give as many
        // numbers, texts and lists as the table says (checked by the tests on every call).
        let bytes = unsafe {
            record::encode(Some(&mut state.memory), at, call, flags, times, outcome, numbers, texts, list)
        };
        state.cursor = at.wrapping_add(bytes);
        state.last_end = state.last_end.max(end);
    }
    compiler_fence(Ordering::SeqCst);
    state.encoding.store(false, Ordering::Relaxed);
    if end > state.next_pair {
        state.take_pair();
    }
    if state.side_used.load(Ordering::Relaxed) != 0 {
        append_side_slots(state);
    }
}

/// Where the next record goes, as it is now.
#[inline(always)]
fn cursor_of(state: &State) -> *mut u8 {
    // SAFETY: a field of ours.
    unsafe { (&raw const state.cursor).read_volatile() }
}

/// True in a handler that has interrupted the writing of a record, unless it turns out that the handler is gone.
#[cold]
#[inline(never)]
fn is_amid_record(state: &mut State) -> bool {
    state.leave_handlers_below(frame_address());
    state.encoding.load(Ordering::Relaxed)
}

#[cold]
#[inline(never)]
#[allow(clippy::too_many_arguments)]
fn set_aside<const N: usize>(
    state: &mut State,
    call: Call,
    flags: u8,
    times: Times,
    end: u64,
    outcome: i64,
    numbers: &[i64; N],
    texts: &[&[u8]],
    list: &[i64],
) {
    let index = state.side_used.load(Ordering::Relaxed);
    // CPU readings belong to the thread's sequence of them, which a handler does not take part in.
    let flags = (flags & !(record::CPU_BEFORE | record::CPU_AFTER | record::WAITED)) | record::SIGNAL;
    if index >= SIDE_SLOTS || record::room(texts, list) > size_of_val(&state.side[0].record) {
        return state.drop_one();
    }
    state.side_used.store(index + 1, Ordering::Relaxed);
    let Some(slot) = state.side.get_mut(index) else { return };
    let timeless = Times { end: 0, took: 0, ..times };
    // SAFETY: the slot has the room, and appending has zeroed it.
    let bytes = unsafe {
        record::encode(None, slot.record.as_mut_ptr(), call, flags, timeless, outcome, numbers, texts, list)
    };
    (slot.end, slot.took, slot.bytes) = (end, times.took, bytes);
}

/// Appends what handlers set aside. Runs with `encoding` set, so that a further handler uses the remaining slots.
#[cold]
#[inline(never)]
pub fn append_side_slots(state: &mut State) {
    state.encoding.store(true, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    let mut index = 0;
    // A handler may set another one aside until the count is back to none.
    while state.side_used.compare_exchange(index, 0, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        let (end, took, bytes) = (state.side[index].end, state.side[index].took, state.side[index].bytes);
        if bytes != 0 {
            // The latest record is the handler's from now on: a row of polls begins anew behind it.
            state.memory.moved();
            append_one(state, index, end, took, bytes);
        }
        state.side[index] = SideSlot { end: 0, took: 0, bytes: 0, record: [0; _] };
        index += 1;
    }
    compiler_fence(Ordering::SeqCst);
    state.encoding.store(false, Ordering::Relaxed);
}

fn append_one(state: &mut State, index: usize, end: u64, took: u64, bytes: usize) {
    let room = bytes + 32;
    if state.cursor as usize + room > state.limit as usize && !state.make_room(room) {
        return state.drop_one();
    }
    let times = Times {
        end: clock::units(end).saturating_sub(clock::units(state.last_end)),
        took,
        ..Times::default()
    };
    // SAFETY: there is room, and the slot holds a record that `encode` wrote.
    let written = unsafe { record::copy_with_times(state.cursor, &state.side[index].record[..bytes], times) };
    state.cursor = state.cursor.wrapping_add(written);
    state.last_end = state.last_end.max(end);
}

/// Writes a record that belongs to no real call, or that stands before a call which may not return.
pub fn note<const N: usize>(state: &mut State, call: Call, flags: u8, numbers: &[i64; N], texts: &[&[u8]]) {
    let now = clock::ticks();
    write(state, call, flags, Times::default(), now, 0, numbers, texts, &[]);
}

/// errno as it is now, for a record of a failure.
#[inline(always)]
pub fn errno() -> i64 {
    i64::from(sys::errno())
}
