//! States of threads whose end is on record. Behind it come the last round of destructors, handlers, and libc, which may read a file to
//! give the thread's memory back; that is recorded as well. A state is its thread's until the kernel knows no such thread any more.

use super::state::State;
use super::{current, living};
use crate::core::sys;
use crate::recording::process;
use core::ptr::{null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

/// So many are kept at most.
const MOST: usize = 64;
static PLACES: [AtomicPtr<State>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];
/// In a place whose state is being looked at.
const MARKED: *mut State = without_provenance_mut(1);

/// Keeps the state of the calling thread, or gives it back: then what follows is counted as dropped.
///
/// # Safety
/// The state is the calling thread's, whose end is on record, and the caller does not use it behind this.
pub unsafe fn keep(state: &State) {
    if !living::leave(state.place.get(), state.header.get()) {
        return; // Somebody is about to write to the header: everything stays.
    }
    give_back();
    let may_stay = can_tell() && sys::has_thread(state.header().tid);
    let pointer = core::ptr::from_ref(state).cast_mut();
    let takes = |place: &AtomicPtr<State>| {
        place.compare_exchange(null_mut(), pointer, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    if !may_stay || !PLACES.iter().any(takes) {
        current::set(current::ENDED);
        // SAFETY: as the caller vouches.
        unsafe { state.release() };
    }
}

/// Gives back the states of threads that are gone. Signals are blocked.
pub fn give_back() {
    if !can_tell() {
        return;
    }
    let mut knows_threads = false;
    for place in &PLACES {
        let state = place.load(Ordering::Acquire);
        if state.is_null() || state == MARKED {
            continue;
        }
        // A filter that nobody has seen may make it false of all threads.
        // SAFETY: no arguments.
        knows_threads = knows_threads || sys::has_thread(unsafe { sys::gettid() } as u32);
        if !knows_threads {
            return;
        }
        if place.compare_exchange(state, MARKED, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            continue;
        }
        // SAFETY: whoever has marked the place is the only one but its thread who uses it.
        let is_gone = !sys::has_thread(unsafe { (*state).header().tid });
        if is_gone {
            // SAFETY: its thread does not use it any more.
            unsafe { (*state).release() };
        }
        place.store(if is_gone { null_mut() } else { state }, Ordering::Release);
    }
}

/// Whether the kernel can be asked for threads of this process: not in one that runs in another's memory (`CLONE_VM`).
fn can_tell() -> bool {
    // SAFETY: no arguments.
    !sys::is_confined() && unsafe { sys::getpid() } as u32 == process::pid()
}

/// In a forked child, of whose threads one is left: the others' states were wiped.
pub fn begin_anew() {
    for place in &PLACES {
        if !place.load(Ordering::Relaxed).is_null() {
            place.store(null_mut(), Ordering::Relaxed);
        }
    }
}
