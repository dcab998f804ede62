//! The end of a thread's recording, and what is noted on the way there.

use super::state::PAGE;
use super::trace_file::open;
use super::window::OUT_OF_REACH;
use crate::core::{clock, sys};
use crate::recording::process;
use crate::recording::thread::state::{ALL_BYTES, State};
use crate::recording::thread::{living, private_table};
use core::sync::atomic::{AtomicPtr, Ordering};
use syn_trace::header::{self, Header};

/// A file is cut at its end only where more than this is left: giving blocks back takes a disk file system milliseconds,
/// several times as long as a short process lives.
const LEFT_BYTES: usize = 64 << 10;

/// The header of the process's first thread, which also counts what threads lose that have no file.
pub static FIRST_HEADER: AtomicPtr<Header> = AtomicPtr::new(core::ptr::null_mut());

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
    pub fn take_pair(&mut self) {
        if sys::is_confined() || !self.is_whole() {
            return;
        }
        let pair = clock::pair();
        let header = self.header();
        let index = header.latest_index.load(Ordering::Relaxed) ^ 1;
        header.latest[(index & 1) as usize] = pair;
        header.latest_index.store(index, Ordering::Release);
        let age = pair.ticks.saturating_sub(header.start.ticks);
        self.next_pair = pair.ticks + age.clamp(100_000, 1 << 25);
    }

    /// Ends recording on this thread; what was written stays, and the file is cut behind it where that is worth it.
    pub fn stop(&mut self, state: u32) {
        if self.stopped || !self.is_whole() {
            return;
        }
        self.take_pair();
        self.note_end(state);
        self.set_header_state(state);
        self.stopped = state != header::STATE_PROCESS_ENDED;
        // A handler's record must find no room in what is cut off.
        sys::without_signals(|| {
            let used = self.window_offset + (self.cursor as u64 - self.window as u64);
            let left = self.limit as usize - self.cursor as usize;
            // The next record, if there is one after all (an `execve` that failed), has to map the file again.
            self.limit = self.cursor;
            if left <= LEFT_BYTES {
                return; // Zeros behind the records mean the same.
            }
            let name = self.name;
            process::with_path(self.path_room(), &name, |path| {
                // SAFETY: the path ends with a zero byte. A failure leaves zeros behind the records, which mean the same.
                Some(unsafe { sys::truncate(path, used) })
            });
        });
    }

    /// Before the image is replaced. Where the file cannot be opened any more what is mapped stays mapped: should the call
    /// fail, it is all there is.
    pub fn expect_replacement(&mut self) {
        if !OUT_OF_REACH.load(Ordering::Relaxed) || self.is_within_reach() {
            return self.stop(header::STATE_PROCESS_ENDED);
        }
        self.take_pair();
        self.note_end(header::STATE_PROCESS_ENDED);
        self.set_header_state(header::STATE_PROCESS_ENDED);
    }

    /// Notes when the thread ended, and with the process all others as well, and what CPU time they have used.
    fn note_end(&mut self, state: u32) {
        if sys::is_confined() {
            return;
        }
        if state == header::STATE_PROCESS_ENDED {
            living::end_all();
            self.header().process_cpu_ns.store(clock::process_cpu_ns(), Ordering::Relaxed);
        }
        living::end(self.header(), clock::ticks(), clock::thread_cpu_ns());
    }

    fn is_within_reach(&mut self) -> bool {
        let (name, room) = (self.name, self.path_room());
        // SAFETY: the descriptor is ours.
        let opened = private_table::run(|| open(room, &name, 0).map(|fd| unsafe { sys::close(fd) }));
        opened.is_ok()
    }

    /// The image was not replaced.
    pub fn replacement_failed(&mut self) {
        living::go_on();
        self.header().process_cpu_ns.store(0, Ordering::Relaxed);
        self.header().end_ticks.store(0, Ordering::Relaxed);
        if !self.stopped {
            self.set_header_state(header::STATE_RECORDING);
        }
    }

    /// Unmaps everything. The thread must be leaving, with its pointer already set to [`tls::ENDED`].
    pub fn release(&mut self) {
        let keep = if self.window_offset == 0 { 0 } else { PAGE };
        let _ = FIRST_HEADER.compare_exchange(
            self.header,
            core::ptr::null_mut(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if !living::leave(self.place, self.header) {
            return; // Somebody is about to write to the header: it stays.
        }
        let (window, window_bytes, header) = (self.window as usize, self.window_bytes, self.header as usize);
        let this = (&raw mut *self) as usize;
        // SAFETY: nobody uses the state after this; the addresses were copied out of it first.
        unsafe {
            sys::munmap(window, window_bytes);
            if keep != 0 {
                sys::munmap(header, keep);
            }
            sys::munmap(this, ALL_BYTES);
        }
    }
}
