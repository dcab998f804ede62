//! A thread's file: the header's page, and the records behind it, mapped window by window. What has been written is on
//! record whatever ends the tracer.

use crate::Error;
use crate::clock;
use crate::ptrace::Tid;
use memmap2::{MmapMut, MmapOptions};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Relaxed, Release};
use syn_trace::Call;
use syn_trace::dictionary::Writer;
use syn_trace::header::{self, HEADER_BYTES, Header};
use syn_trace::record::{self, Flags, Times};
use syn_trace::run::EXTENSION;

const PAGE: usize = 4096;
/// Bytes of a new file.
const FIRST_BYTES: usize = 64 << 10;
/// Bytes by which it grows.
const GROW_BYTES: usize = 1 << 20;

/// A thread's file, open for writing.
pub struct TraceFile {
    path: PathBuf,
    header: MmapMut,
    window: MmapMut,
    /// Where in the file the window begins.
    window_at: usize,
    /// Where in the window the next record goes.
    cursor: usize,
    memory: Box<Writer>,
    /// When the latest record ended, nanoseconds.
    last_end: u64,
    stopped: bool,
}

impl TraceFile {
    /// Makes the file of a thread in a run folder, with the header that `header` gives for the time at which it is
    /// ready. It gets its name when its header is whole.
    pub fn create(folder: &Path, tid: Tid, header: impl FnOnce(u64) -> Header) -> Result<TraceFile, Error> {
        let unfinished = folder.join(format!("{tid}.unfinished"));
        let failed = |cause| Error::File { path: unfinished.clone(), cause };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&unfinished)
            .map_err(failed)?;
        let window = map(&file, 0, FIRST_BYTES).map_err(failed)?;
        let mut page = map(&file, 0, PAGE).map_err(failed)?;
        let header = header(clock::now());
        let last_end = header.start.monotonic_ns;
        let name = format!("{}-{tid}-{last_end:016x}", header.pid);
        let path = folder.join(name).with_extension(EXTENSION);
        // SAFETY: a page is longer than a header and begins at an address that suits it.
        unsafe { page.as_mut_ptr().cast::<Header>().write(header) };
        std::fs::rename(&unfinished, &path).map_err(failed)?;
        Ok(TraceFile {
            path,
            header: page,
            window,
            window_at: 0,
            cursor: HEADER_BYTES,
            memory: Box::new(Writer::NEW),
            last_end,
            stopped: false,
        })
    }

    fn header(&self) -> &Header {
        // SAFETY: the page holds the header that `create` wrote; what changes in it are atomics.
        unsafe { &*self.header.as_ptr().cast::<Header>() }
    }

    /// When the latest record ended, nanoseconds.
    pub fn last_end(&self) -> u64 {
        self.last_end
    }

    /// Appends a record. One that cannot be written is counted.
    #[allow(clippy::too_many_arguments)]
    pub fn record<const N: usize>(
        &mut self,
        call: Call,
        flags: Flags,
        times: Times,
        end: u64,
        outcome: i64,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    ) {
        debug_assert_eq!((N, texts.len()), (call.shape().0, call.shape().1), "arguments of {call:?}");
        let room = record::room(texts, list);
        if self.cursor + room > self.window.len() && !self.grow(room) {
            self.header().dropped.fetch_add(1, Relaxed);
            return;
        }
        let end_units = clock::units(end).saturating_sub(clock::units(self.last_end));
        let times = Times { end: end_units, ..times };
        let at = self.window[self.cursor..].as_mut_ptr();
        // SAFETY: there is room, nothing has been written behind the cursor, and the decoder's calls have as many
        // numbers, texts and lists as the table says.
        let bytes = unsafe {
            record::encode(Some(&mut self.memory), at, call, flags, times, outcome, numbers, texts, list)
        };
        self.cursor += bytes;
        self.last_end = self.last_end.max(end);
    }

    /// Appends a record of something that is no call, or that stands before a call which may not return.
    pub fn note<const N: usize>(&mut self, call: Call, flags: Flags, numbers: &[i64; N], texts: &[&[u8]]) {
        self.record(call, flags, Times::default(), clock::now(), 0, numbers, texts, &[]);
    }

    fn grow(&mut self, room: usize) -> bool {
        if self.stopped {
            return false;
        }
        let used = self.window_at + self.cursor;
        let offset = used / PAGE * PAGE;
        let length = GROW_BYTES.max((room + PAGE).next_multiple_of(PAGE));
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(&self.path);
        let Ok(window) = file.and_then(|file| map(&file, offset, length)) else {
            self.finish(header::STATE_STOPPED, None);
            self.stopped = true;
            return false;
        };
        self.memory.moved();
        (self.window, self.window_at, self.cursor) = (window, offset, used - offset);
        true
    }

    /// One of the `STATE_` values.
    pub fn state(&self) -> u32 {
        self.header().state.load(Relaxed)
    }

    /// Says how the recording is about to end.
    pub fn set_state(&self, state: u32) {
        self.header().state.store(state, Release);
    }

    /// Says how the recording ended, and cuts the file behind its last record.
    ///
    /// `cpu_ns` is the thread's CPU time now, where that can still be asked for.
    pub fn finish(&mut self, state: u32, cpu_ns: Option<u64>) {
        if let Some(cpu_ns) = cpu_ns {
            self.header().end_cpu_ns.store(cpu_ns, Relaxed);
            self.header().end_ticks.store(clock::now(), Release);
        }
        let index = self.header().latest_index.load(Relaxed) ^ 1;
        // SAFETY: as in `create`; the pair that is valid is the other one.
        unsafe {
            let header = self.header.as_mut_ptr().cast::<Header>();
            (&raw mut (*header).latest[(index & 1) as usize]).write(clock::pair(clock::now()));
        }
        self.header().latest_index.store(index, Release);
        self.header().state.store(state, Release);
        let mut used = (self.window_at + self.cursor) as u64;
        if state == header::STATE_RECORDING {
            // No record says that it has ended: whole pages tell that nothing is cut off.
            used = used.next_multiple_of(PAGE as u64);
        }
        // If it fails, there are zeros behind the records, which mean the same.
        let _ = OpenOptions::new().write(true).open(&self.path).and_then(|file| file.set_len(used));
    }
}

/// Reserves a part of a file and maps it: a file that merely is long enough raises SIGBUS when the disk turns out to
/// be full.
fn map(file: &File, offset: usize, length: usize) -> io::Result<MmapMut> {
    // SAFETY: no pointers are passed.
    let error = unsafe { libc::posix_fallocate(file.as_raw_fd(), offset as i64, length as i64) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    // SAFETY: the file is ours; whoever cuts it short while it is being written gets what he asked for.
    unsafe { MmapOptions::new().offset(offset as u64).len(length).map_mut(file) }
}
