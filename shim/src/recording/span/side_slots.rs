//! Records of signal handlers that have interrupted the writing of another one: kept aside until that is written.

use crate::core::clock;
use crate::recording::thread::state::{SIDE_RECORD_BYTES, SIDE_SLOTS, SideSlot, State};
use core::sync::atomic::{Ordering, compiler_fence};
use syn_trace::calls::Call;
use syn_trace::record::{self, Flags, Times};

#[cold]
#[inline(never)]
#[allow(clippy::too_many_arguments)]
pub fn set_aside<const N: usize>(
    state: &State,
    call: Call,
    flags: Flags,
    times: Times,
    end: u64,
    outcome: i64,
    numbers: &[i64; N],
    texts: &[&[u8]],
    list: &[i64],
) {
    // CPU readings belong to the thread's sequence of them, which a handler does not take part in.
    let flags = (flags & !record::PROCESSOR_FLAGS) | record::SIGNAL;
    if record::room(texts, list) > SIDE_RECORD_BYTES {
        return state.drop_one();
    }
    // At once: a further handler that comes in between has to find the next one.
    let next = |used| (used < SIDE_SLOTS).then_some(used + 1);
    let taken = state.side_used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    let Some(slot) = taken.ok().and_then(|index| state.side.get(index)) else {
        return state.drop_one();
    };
    // SAFETY: this handler has taken the slot, and nothing appends it before the handler has returned.
    let slot = unsafe { &mut *slot.get() };
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
pub fn append(state: &State) {
    // A handler may come when the last one is out, and nobody else would append what it has set aside.
    while state.side_used.load(Ordering::Relaxed) != 0 {
        append_all(state);
    }
}

fn append_all(state: &State) {
    state.encoding.store(true, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    let mut index = 0;
    // A handler may set another one aside until the count is back to none.
    while let Err(used) = state.side_used.compare_exchange(index, 0, Ordering::Relaxed, Ordering::Relaxed) {
        // Where a handler forks, its child comes back here to a state that was wiped.
        let Some(slot) = state.side.get(index).filter(|_| index < used) else { break };
        // SAFETY: handlers take further ones only.
        let slot = unsafe { &mut *slot.get() };
        if slot.bytes != 0 {
            // The latest record is the handler's from now on: a row of polls begins anew behind it.
            // SAFETY: a record is being written, and by nobody else.
            unsafe { state.memory().moving() };
            append_one(state, slot);
        }
        *slot = SideSlot { end: 0, took: 0, bytes: 0, record: [0; _] };
        index += 1;
    }
    compiler_fence(Ordering::SeqCst);
    state.encoding.store(false, Ordering::Relaxed);
}

fn append_one(state: &State, slot: &SideSlot) {
    let SideSlot { end, took, bytes, .. } = *slot;
    let room = bytes + 32;
    // Read once: where a further handler forks, the child finds nothing here when it comes back.
    let mut at = state.cursor_now();
    if at as usize + room > state.limit.get() as usize {
        at = if state.make_room(room) { state.cursor_now() } else { core::ptr::null_mut() };
    }
    if at.is_null() {
        return state.drop_one();
    }
    let times = Times {
        end: clock::units(end).saturating_sub(clock::units(state.last_end.get())),
        took,
        ..Times::default()
    };
    // SAFETY: there is room, and the slot holds a record that `encode` wrote.
    let written = unsafe { record::copy_with_times(at, &slot.record[..bytes], times) };
    state.cursor.set(at.wrapping_add(written));
    state.last_end.set(state.last_end.get().max(end));
}
