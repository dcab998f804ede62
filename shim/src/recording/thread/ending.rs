//! The end of a thread's recording, and what is noted on the way there.

use super::state::PAGE;
use crate::core::preemption::Mark;
use crate::core::{clock, sys};
use crate::recording::thread::state::State;
use crate::recording::thread::{chunk, living, spare};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use syn_trace::header::{self, Header};

/// Blocks are given back only where this is left of a chunk or more: it takes a disk file system milliseconds, several times
/// as long as a short process lives.
const LEFT_BYTES: usize = 64 << 10;

/// The header of the process's first thread, which also counts what threads lose that have no file; in a forked child its parent's, until
/// it has one: what it loses without is lost to the run.
pub static FIRST_HEADER: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());

/// Counts a call of a thread that has no file of its own.
#[cold]
pub fn lose_one() {
    let header = FIRST_HEADER.load(Ordering::Relaxed);
    if !header.is_null() {
        // SAFETY: set while the header is mapped; `release` takes it back first.
        unsafe { (*header).dropped.fetch_add(1, Ordering::Relaxed) };
    }
}

impl State {
    /// Notes a later clock pair; the wait for the next one doubles up to about 16 ms.
    #[cold]
    #[unsafe(link_section = ".text.startup")]
    pub fn take_pair(&self) {
        if !sys::may_read_clocks() || !self.is_whole() {
            return;
        }
        let pair = clock::pair();
        let header = self.header();
        let index = header.latest_index.load(Ordering::Relaxed) ^ 1;
        // SAFETY: mapped for as long as the state is; readers look at the other one.
        unsafe { (&raw mut (*self.header.get()).latest[(index & 1) as usize]).write(pair) };
        header.latest_index.store(index, Ordering::Release);
        let age = pair.ticks.saturating_sub(header.start.ticks);
        self.next_pair.set(pair.ticks + age.clamp(100_000, 1 << 25));
        // Now and then the CPU clock is read in any case: what the host of a virtual machine takes, only that clock tells.
        Mark::take_down();
    }

    /// Notes how this thread's recording ends, or that it has stopped; what was written stays, and blocks behind it are given back
    /// where that is worth it.
    pub fn stop(&self, state: u32) {
        if self.stopped.get() || !self.is_whole() {
            return;
        }
        self.take_pair();
        self.note_end(state);
        self.set_header_state(state);
        self.stopped.set(state == header::STATE_STOPPED);
        // A handler's record must find no room in what is given back.
        sys::without_signals(|| {
            let end = (self.cursor.get() as usize).next_multiple_of(PAGE);
            let left = (self.limit.get() as usize).saturating_sub(end);
            if left <= LEFT_BYTES {
                return; // Zeros behind the records mean the same.
            }
            self.limit.set(self.cursor.get().wrapping_add(end - self.cursor.get() as usize));
            // SAFETY: nothing has been written there. A failure leaves zeros, which mean the same.
            unsafe { sys::madvise(end, left, libc::MADV_REMOVE) };
        });
    }

    /// Notes when the thread ended, and with the process all others as well, and what CPU time they have used.
    #[unsafe(link_section = ".text.startup")]
    fn note_end(&self, state: u32) {
        if !sys::may_read_clocks() {
            return;
        }
        if state == header::STATE_PROCESS_ENDED {
            if sys::may_read_clocks_of_others() {
                living::end_all();
            }
            self.header().process_cpu_ns.store(clock::process_cpu_ns(), Ordering::Relaxed);
        }
        living::end(self.header(), clock::ticks(), clock::thread_cpu_ns());
    }

    /// The image was not replaced.
    pub fn replacement_failed(&self) {
        living::go_on();
        self.header().process_cpu_ns.store(0, Ordering::Relaxed);
        self.header().end_ticks.store(0, Ordering::Relaxed);
        if !self.stopped.get() && !self.has_ended.get() {
            self.set_header_state(header::STATE_RECORDING);
        }
    }

    /// Gives everything back.
    ///
    /// # Safety
    /// The state is not used behind this, and its thread has no place among the [`living`] any more.
    pub unsafe fn release(&self) {
        let _ = FIRST_HEADER.compare_exchange(
            self.header.get(),
            ptr::null_mut(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        let header_page = (self.header.get() as usize).next_multiple_of(PAGE) - PAGE;
        // SAFETY: nobody uses the chunks or the state after this.
        unsafe {
            chunk::let_go(self.window.get() as usize, self.window_bytes.get(), self.in_area.get()[0]);
            if self.chunk_number.get() != 0 {
                chunk::let_go(header_page, PAGE, self.in_area.get()[1]);
            }
            spare::give(ptr::from_ref(self).cast_mut());
        }
    }
}
