//! The part of a thread's file that is mapped, and how it moves on.

use super::state::PAGE;
use super::trace_file::{allocate_and_map, open};
use crate::core::sys;
use crate::recording::thread::state::State;
use crate::recording::thread::{current, private_table};
use core::sync::atomic::{AtomicBool, Ordering};
use syn_trace::header;

/// The fewest and the most bytes by which a file grows; in between it grows by what it has.
const GROW_BYTES: (usize, usize) = (64 << 10, 1 << 20);

impl State {
    /// Makes room for a record of `bytes`; false when there is none to be had.
    #[cold]
    #[inline(never)]
    pub fn make_room(&mut self, bytes: usize) -> bool {
        if self.stopped || sys::is_confined() || !self.is_whole() {
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

    pub fn set_window(&mut self, window: *mut u8, bytes: usize, offset: u64) {
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

    pub fn set_header_state(&mut self, state: u32) {
        if self.is_whole() {
            self.header().state.store(state, Ordering::Release);
        }
    }
}

/// True once the run folder may be closed to this process.
pub static OUT_OF_REACH: AtomicBool = AtomicBool::new(false);

/// Before a call after which this thread's file cannot be opened any more: room for what may come.
pub fn grow_ahead() {
    const AHEAD_BYTES: usize = 4 << 20;
    OUT_OF_REACH.store(true, Ordering::Relaxed);
    let state = current::get();
    // SAFETY: this thread's state.
    unsafe {
        if current::is_state(state) && !(*state).cursor.is_null() {
            (*state).grow_by(AHEAD_BYTES);
        }
    }
}
