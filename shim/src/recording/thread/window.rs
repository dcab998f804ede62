//! The thread's latest chunk, which is mapped, and how another one follows.

use super::chunk::{self, Chunk};
use super::inheritance;
use super::state::PAGE;
use super::trace_file;
use crate::core::sys;
use crate::recording::thread::current;
use crate::recording::thread::state::State;
use core::sync::atomic::Ordering;
use syn_trace::chunks::{ChunkHead, IN_FRONT, UNIT_BYTES};
use syn_trace::header;

/// Bytes of a thread's first chunk: many threads do little, and so do children that only call exec.
pub const FIRST_BYTES: usize = UNIT_BYTES;

/// The fewest and the most bytes of a further one; in between it is as long as those before together.
const GROW_BYTES: (usize, usize) = (16 << 10, 1 << 20);

impl State {
    /// Makes room for a record of `bytes`; false when there is none to be had.
    #[cold]
    #[inline(never)]
    pub fn make_room(&self, bytes: usize) -> bool {
        if self.stopped.get() || sys::is_confined() || !self.is_whole() {
            return false;
        }
        let moved = self.move_window(bytes);
        if !moved {
            self.stop(header::STATE_STOPPED);
        }
        moved
    }

    /// Goes on in a new chunk, with room for `bytes`. Where that fails, everything stays as it is.
    fn move_window(&self, bytes: usize) -> bool {
        let usual = self.chunk_bytes.get().clamp(GROW_BYTES.0, GROW_BYTES.1);
        let length = usual.max(bytes + IN_FRONT[1]).next_multiple_of(UNIT_BYTES);
        // What is about to be mapped is not known to a handler, which could jump out of here.
        sys::without_signals(|| {
            // SAFETY: signals are blocked.
            let Ok(chunk) = chunk::take(unsafe { self.path_room() }, length) else { return false };
            self.use_chunk(&chunk);
            true
        })
    }

    fn use_chunk(&self, chunk: &Chunk) {
        if self.header().state.load(Ordering::Relaxed) != header::STATE_THREAD_ENDED {
            self.set_header_state(header::STATE_RECORDING);
        }
        let (old, old_bytes, old_in_area) =
            (self.window.get(), self.window_bytes.get(), self.in_area.get()[0]);
        // The page with the header stays.
        let keep = if self.chunk_number.get() == 0 { PAGE } else { 0 };
        self.chunk_number.set(self.chunk_number.get() + 1);
        // SAFETY: the chunk is ours alone.
        unsafe {
            let units = (chunk.bytes / UNIT_BYTES) as u32;
            ChunkHead::publish(chunk.at, self.first_unit.get(), self.chunk_number.get(), units);
        }
        self.set_window(chunk);
        self.cursor.set(chunk.at.wrapping_add(IN_FRONT[1]));
        // SAFETY: nothing holds on to it here: a record that needs room is not being encoded yet. The old records are still there.
        unsafe { self.memory().moving() };
        if old_bytes > keep {
            // SAFETY: nothing points into the old records any more.
            unsafe { chunk::let_go(old as usize + keep, old_bytes - keep, old_in_area) };
        }
    }

    pub fn set_window(&self, chunk: &Chunk) {
        self.window.set(chunk.at);
        self.window_bytes.set(chunk.bytes);
        self.in_area.set([chunk.in_area, self.in_area.get()[1]]);
        self.chunk_bytes.set(self.chunk_bytes.get() + chunk.bytes);
        self.limit.set(chunk.at.wrapping_add(chunk.bytes));
        inheritance::set_window(chunk.at as usize, chunk.bytes);
    }

    /// Makes room for `bytes` more, if that can be had, unless there is half of it.
    fn grow_by(&self, bytes: usize) {
        let left = self.limit.get() as usize - self.cursor.get() as usize;
        if left < bytes / 2 && !self.stopped.get() && !self.encoding.load(Ordering::Relaxed) {
            self.move_window(bytes);
        }
    }

    pub fn set_header_state(&self, state: u32) {
        if self.is_whole() {
            self.header().state.store(state, Ordering::Release);
        }
    }
}

/// Before a call after which the file cannot be opened any more: makes it as long as it may have to be.
pub fn grow_ahead() {
    if let Some(state) = recording() {
        // SAFETY: signals are blocked.
        sys::without_signals(|| trace_file::lengthen_ahead(unsafe { state.path_room() }));
    }
}

/// Before a call after which there may be no system calls of ours: room for what may come.
pub fn make_room_ahead() {
    const AHEAD_BYTES: usize = 4 << 20;
    if let Some(state) = recording() {
        state.grow_by(AHEAD_BYTES);
    }
}

/// This thread's state, if it records.
fn recording() -> Option<&'static State> {
    current::state().filter(|state| !state.cursor.get().is_null())
}
