//! A record becomes part of the thread's file.

use super::side_slots::{self, set_aside};
use crate::core::clock;
use crate::recording::thread::stack::frame_address;
use crate::recording::thread::state::State;
use core::sync::atomic::{Ordering, compiler_fence};
use syn_trace::calls::Call;
use syn_trace::record::{self, Flags, Times};

/// Counts an untimed call as one more that found nothing: then it is over, but for its frame. False: its end is to be noted,
/// and it is to be recorded.
#[inline(always)]
pub fn count_untimed<const N: usize>(state: &State, call: Call, numbers: &[i64; N]) -> bool {
    // SAFETY: nothing else holds on to it, and nothing is written: a handler may come at any place.
    state.is_untimed() && unsafe { state.memory() }.count_untimed(call, numbers)
}

/// Appends a record to the thread's file, or keeps it aside if this is a handler that interrupted another append.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn write<const N: usize>(
    state: &State,
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
    let mut at = state.cursor_now();
    if at as usize + room > state.limit.get() as usize {
        at = if state.make_room(room) { state.cursor_now() } else { core::ptr::null_mut() };
    }
    if at.is_null() {
        state.drop_one();
    } else {
        times.end = clock::units(end).saturating_sub(clock::units(state.last_end.get()));
        let told = if flags & (record::CPU_BEFORE | record::CPU_AFTER) != 0 {
            since_reading(state.cpu_told.get(), flags, &mut times)
        } else {
            state.cpu_told.get()
        };
        // SAFETY: there is room, the area behind the cursor is zero, and the macros that call this give as many
        // numbers, texts and lists as the table says (checked by the tests on every call).
        let bytes = unsafe {
            record::encode(state.dictionary(), at, call, flags, times, outcome, numbers, texts, list)
        };
        state.cursor.set(at.wrapping_add(bytes));
        state.last_end.set(state.last_end.get().max(end));
        state.cpu_told.set(told);
    }
    compiler_fence(Ordering::SeqCst);
    state.encoding.store(false, Ordering::Relaxed);
    if end > state.next_pair.get() {
        state.take_pair();
    }
    if state.side_used.load(Ordering::Relaxed) != 0 {
        side_slots::append(state);
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

/// True in a handler that has interrupted the writing of a record, unless it turns out that the handler is gone.
#[cold]
#[inline(never)]
fn is_amid_record(state: &State) -> bool {
    state.leave_handlers_below(frame_address());
    state.encoding.load(Ordering::Relaxed)
}
