//! States of threads that have ended, for those that begin: to map one, to have its pages filled and to unmap it takes several
//! times as long as everything else in the life of a short thread.

use crate::core::sys;
use crate::recording::thread::state::State;
use core::sync::atomic::{AtomicPtr, Ordering};

/// So many are kept at most.
const MOST: usize = 16;
static SPARE: [AtomicPtr<State>; MOST] = [const { AtomicPtr::new(core::ptr::null_mut()) }; MOST];

/// One that is all zero, if there is one. (In a forked child it was wiped.)
pub fn take() -> Option<*mut State> {
    let taken = |place: &AtomicPtr<State>| {
        let state = place.load(Ordering::Relaxed);
        if state.is_null() { state } else { place.swap(core::ptr::null_mut(), Ordering::AcqRel) }
    };
    SPARE.iter().map(taken).find(|state| !state.is_null())
}

/// Keeps a state, or unmaps it.
///
/// # Safety
/// Nothing uses it any more.
pub unsafe fn give(state: *mut State) {
    // SAFETY: as the caller vouches; the mapping is as long as said.
    unsafe {
        // What nearly every thread uses is cleared, and of the rest the pages are given back.
        let often = (*state).used_bytes();
        let rest = state.cast::<u8>().add(often);
        if sys::madvise(rest as usize, size_of::<State>() - often, libc::MADV_DONTNEED) == 0 {
            core::ptr::write_bytes(state.cast::<u8>(), 0, often);
            let is_kept = |place: &AtomicPtr<State>| {
                let nothing = core::ptr::null_mut();
                place.load(Ordering::Relaxed).is_null()
                    && place.compare_exchange(nothing, state, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            };
            if SPARE.iter().any(is_kept) {
                return;
            }
        }
        sys::munmap(state as usize, size_of::<State>());
    }
}
