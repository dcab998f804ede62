//! One call under way: from the entry of a hook to its record.

use crate::clock;
use crate::preemption::{self, Mark};
use crate::process;
use crate::sys;
use crate::thread::{self, SIDE_SLOTS, SideSlot, State};
use crate::tls;
use core::sync::atomic::{Ordering, compiler_fence};
use syn_trace::calls::Call;
use syn_trace::record::{self, Flags, Times};

/// A call that is to be recorded. It holds nothing that needs dropping: a cancelled thread or a C++ exception may
/// unwind past it, a signal handler may jump over it.
#[derive(Clone, Copy)]
pub struct Span {
    state: *mut State,
    start: u64,
    end: u64,
    outer_frame: usize,
    /// CPU time at the reading before it, nanoseconds.
    cpu_before: u64,
    flags: Flags,
    quiet: bool,
}

/// A call that has been entered, and of which nothing is on record yet. Should something inside it come first, a
/// `call-entered` record tells what lay before it: records stand in the order of time.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Entered {
    /// Ticks; 0 when there is no such call.
    start: u64,
    cpu: u64,
    call: u16,
    flags: Flags,
}

/// The stack address of the caller's frame, near enough.
#[inline(always)]
pub fn frame_address() -> usize {
    let address: usize;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mov {}, rsp", out(reg) address, options(nomem, nostack, preserves_flags)) };
    address
}

/// Behind one of 16 calls it is noted what recording took: those that return when these bits of the counter are 0. Its last
/// bits may always be the same.
const SAMPLE_SHIFT: u32 = 6;
const SAMPLE_MASK: u64 = 15;
/// A part of the time between two readings of the CPU clock, about 6 µs: recording took no longer, or the thread lost its
/// processor.
const SAMPLE_PART: u64 = 8;

/// The start of a call that goes untimed, if it finds nothing.
const UNTIMED: u64 = 0;

/// Enters a call. `flags` is [`record::INNER`] where libc itself is the caller. `None`: only make the real call.
#[inline(always)]
pub fn enter(call: Call, flags: Flags) -> Option<Span> {
    if process::leaves_out(call) {
        return None;
    }
    let frame = frame_address();
    let mut state = tls::get();
    // SAFETY: a pointer that is none of the marks points to this thread's state.
    if !tls::is_state(state) || unsafe { (*state).cursor.is_null() } {
        state = thread::obtain(frame, flags)?;
        if process::leaves_out(call) {
            return None; // The process has only just found out what it is.
        }
    }
    // SAFETY: as above; only this thread and its signal handlers use the state.
    unsafe { open(&mut *state, frame, call, flags) }
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
fn open(state: &mut State, frame: usize, call: Call, mut flags: Flags) -> Option<Span> {
    if state.suppressed_by != 0 && state.is_suppressed(frame) {
        return None;
    }
    let kept = Mark::Told.stands();
    let outer_frame = if state.frame == 0 { 0 } else { outer_frame(state, frame) };
    if outer_frame != 0 {
        flags |= record::INNER;
        tell_entered(state);
    }
    state.frame = frame;
    let mut start = clock::ticks();
    let mut cpu_before = 0;
    if !kept {
        let looked = look(state, start);
        (flags, cpu_before) = (flags | looked.before(), looked.cpu);
        if looked.read {
            start = clock::ticks();
        }
    }
    state.entered = Entered { start, cpu: cpu_before, call: call as u16, flags };
    Some(Span { state, start, end: 0, outer_frame, cpu_before, flags, quiet: false })
}

/// A call has returned at `end`, and its record is written: what that took. What readings of the CPU clock take is told by
/// itself.
#[cold]
#[inline(never)]
fn note_cost(state: &mut State, end: u64, with_text: usize) {
    let took = clock::ticks().saturating_sub(end);
    if !state.cursor.is_null() && state.cpu_ticks < end && took < clock::rarely_ticks() / SAMPLE_PART {
        state.header().behind[with_text].add(took);
    }
}

/// What a look at the processor has shown, where the thread did not certainly keep it.
#[derive(Clone, Copy, Default)]
struct Looked {
    /// CPU time, nanoseconds, where it was read.
    cpu: u64,
    read: bool,
    waited: bool,
    lost: bool,
}

impl Looked {
    /// As flags of what lay before a call.
    fn before(self) -> Flags {
        self.flags(record::CPU_BEFORE, record::WAITED_BEFORE, record::LOST_BEFORE)
    }

    /// As flags of a call.
    fn after(self) -> Flags {
        self.flags(record::CPU_AFTER, record::WAITED_AFTER, record::LOST_AFTER)
    }

    fn flags(self, read: Flags, waited: Flags, lost: Flags) -> Flags {
        let flag = |is: bool, flag: Flags| if is { flag } else { 0 };
        flag(self.read, read) | flag(self.waited, waited) | flag(self.lost, lost)
    }
}

/// The thread may have lost its processor before `now`. Reads its clock, unless that has just been done: a thread that waits
/// again and again would do little else. Then the next look does, which comes at the next boundary. Where the kernel does
/// not tell, the clock is read after everything that took long.
#[cold]
#[inline(never)]
fn look(state: &mut State, now: u64) -> Looked {
    let is_known = preemption::is_known();
    if state.is_apart {
        // The thread itself stands still: neither its mark nor this processor tells anything of it.
        return Looked { lost: is_known, ..Looked::default() };
    }
    let since = if is_known { state.cpu_ticks } else { state.last_end.max(state.entered.start) };
    let least = if is_known { clock::rarely_ticks() } else { clock::long_ticks() };
    let mut looked = Looked::default();
    if now.saturating_sub(since) > least && may_read_clocks(state) {
        // Whatever happens from here on, while the clocks are read as well, the next look finds.
        Mark::Told.put();
        let helpers_cpu_ns = state.header().helpers_cpu_ns.load(Ordering::Relaxed);
        looked.cpu = clock::thread_cpu_ns().saturating_add(helpers_cpu_ns);
        let switches = clock::voluntary_switches();
        (looked.read, looked.waited) = (true, switches != state.switches);
        state.switches = switches;
        state.cpu_ticks = clock::ticks();
    } else {
        looked.lost = is_known && !Mark::Unread.stands();
        Mark::Unread.put();
    }
    looked
}

/// Tells that the call under way was entered, before something inside it is recorded.
#[inline(always)]
fn tell_entered(state: &mut State) {
    if state.entered.start != 0 && !state.encoding.load(Ordering::Relaxed) {
        write_entered(state);
    }
}

#[cold]
#[inline(never)]
fn write_entered(state: &mut State) {
    const OF_ENTRY: Flags = record::INNER | record::CPU_BEFORE | record::WAITED_BEFORE | record::LOST_BEFORE;
    let Entered { start, cpu, call, flags } = core::mem::take(&mut state.entered);
    let times = Times { cpu_before: cpu, ..Times::default() };
    write(state, Call::Entered, flags & OF_ENTRY, times, start, 0, &[i64::from(call)], &[], &[]);
}

/// The calls under way have been left by a jump: what follows is not inside them. Those that have told of their entry say so.
pub fn tell_left(state: &mut State) {
    let was_told = core::mem::take(&mut state.entered).start == 0;
    if was_told && !state.encoding.load(Ordering::Relaxed) {
        note(state, Call::Entered, 0, &[0], &[]);
    }
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
    // A signal handler that was not hooked may have interrupted the writing: only a certain answer counts.
    if state.encoding.load(Ordering::Relaxed) {
        if state.is_certainly_stale(state.frame, frame) {
            state.give_up_record();
            state.frame = 0;
        }
    } else if state.is_stale(state.frame, frame) {
        state.frame = 0;
        tell_left(state);
    }
    state.frame
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
        self.sample(texts);
        self.forget();
    }

    /// The record of the call is written: notes what that took, behind one call of many.
    #[inline(always)]
    pub fn sample(&self, texts: &[&[u8]]) {
        if self.end >> SAMPLE_SHIFT & SAMPLE_MASK == 0 {
            // SAFETY: as in `record`.
            note_cost(unsafe { &mut *self.state }, self.end, usize::from(!texts.is_empty()));
        }
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
        if state.entered.start != self.start {
            // What lay before the call is told already.
            flags &= !(record::CPU_BEFORE | record::WAITED_BEFORE | record::LOST_BEFORE);
        }
        if !Mark::Told.stands() {
            let looked = look(state, self.end);
            flags |= looked.after();
            times.cpu_after = looked.cpu;
        }
        state.entered.start = 0;
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
        if !Mark::Told.stands() {
            let looked = look(state, self.end);
            self.flags |= looked.before();
            self.cpu_before = looked.cpu;
        }
        // Its call does not matter: it is recorded next.
        state.entered = Entered { start: self.start, ..Entered::default() };
    }

    /// Leaves the call without a record.
    #[inline(always)]
    pub fn forget(self) {
        // SAFETY: as in `leave`.
        unsafe {
            (*self.state).frame = self.outer_frame;
            (*self.state).entered.start = 0;
        }
        if self.flags & record::PROCESSOR_FLAGS != 0 {
            // What a look has shown is on no record: the next one is to find the same.
            Mark::take_down();
            if self.flags & record::WAITED_BEFORE != 0 {
                // SAFETY: as in `leave`.
                unsafe { (*self.state).switches = u64::MAX };
            }
        }
    }

    /// The thread's scratch memory, for this call.
    pub fn scratch(&self) -> &'static mut [u8] {
        // SAFETY: as in `leave`.
        unsafe { (*self.state).scratch() }
    }

    /// The flags of a record that stands before the call, because it may not return.
    pub fn began(&self) -> Flags {
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

/// Appends a record to the thread's file, or keeps it aside if this is a handler that interrupted another append.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn write<const N: usize>(
    state: &mut State,
    call: Call,
    flags: Flags,
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
        let told = if flags & (record::CPU_BEFORE | record::CPU_AFTER) != 0 {
            since_reading(state.cpu_told, flags, &mut times)
        } else {
            state.cpu_told
        };
        // SAFETY: there is room, the area behind the cursor is zero, and the macros that call this give as many
        // numbers, texts and lists as the table says (checked by the tests on every call).
        let bytes = unsafe {
            record::encode(Some(&mut state.memory), at, call, flags, times, outcome, numbers, texts, list)
        };
        state.cursor = at.wrapping_add(bytes);
        state.last_end = state.last_end.max(end);
        state.cpu_told = told;
    }
    compiler_fence(Ordering::SeqCst);
    state.encoding.store(false, Ordering::Relaxed);
    if end > state.next_pair {
        state.take_pair();
        // Now and then the CPU clock is read in any case: what the host of a virtual machine takes, only that clock tells.
        Mark::take_down();
    }
    if state.side_used.load(Ordering::Relaxed) != 0 {
        append_side_slots(state);
    }
}

/// From CPU times to what lies between them and the readings on record; the latest of them.
#[cold]
fn since_reading(mut told: u64, flags: Flags, times: &mut Times) -> u64 {
    for (flag, cpu) in
        [(record::CPU_BEFORE, &mut times.cpu_before), (record::CPU_AFTER, &mut times.cpu_after)]
    {
        if flags & flag != 0 {
            let since = cpu.saturating_sub(told);
            (told, *cpu) = (told + since, since);
        }
    }
    told
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
    flags: Flags,
    times: Times,
    end: u64,
    outcome: i64,
    numbers: &[i64; N],
    texts: &[&[u8]],
    list: &[i64],
) {
    let index = state.side_used.load(Ordering::Relaxed);
    // CPU readings belong to the thread's sequence of them, which a handler does not take part in.
    let flags = (flags & !record::PROCESSOR_FLAGS) | record::SIGNAL;
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
pub fn note<const N: usize>(
    state: &mut State,
    call: Call,
    mut flags: Flags,
    numbers: &[i64; N],
    texts: &[&[u8]],
) {
    let kept = Mark::Told.stands();
    if state.frame != 0 {
        tell_entered(state);
    }
    let now = clock::ticks();
    let mut times = Times::default();
    if !kept {
        let looked = look(state, now);
        flags |= looked.before();
        times.cpu_before = looked.cpu;
    }
    write(state, call, flags, times, now, 0, numbers, texts, &[]);
}

/// errno as it is now, for a record of a failure.
#[inline(always)]
pub fn errno() -> i64 {
    i64::from(sys::errno())
}
