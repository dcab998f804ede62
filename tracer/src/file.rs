//! A thread's file: its heads and header, and chunks of records, mapped one by one. What has been written is on record
//! whatever ends the tracer.

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
use syn_trace::chunks::{CHUNK_HEAD_BYTES, ChunkHead, FileHead, IN_FRONT, UNIT_BYTES};
use syn_trace::dictionary::Writer;
use syn_trace::header::{self, Header};
use syn_trace::record::{self, Flags, Times};
use syn_trace::run::EXTENSION;

/// Bytes of the first chunk.
const FIRST_BYTES: usize = 15 * UNIT_BYTES;
/// Bytes of the others, unless a record needs more.
const GROW_BYTES: usize = 1 << 20;

/// A thread's file, open for writing.
pub struct TraceFile {
    path: PathBuf,
    head: MmapMut,
    /// The front of the first chunk, with the header.
    header: MmapMut,
    /// The latest chunk.
    window: MmapMut,
    /// Which one it is, by unit, and how many there were before.
    unit: usize,
    number: u32,
    /// Where in the window the next record goes, and where there is no more room.
    cursor: usize,
    limit: usize,
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
        let mut head = map(&file, 0, UNIT_BYTES).map_err(failed)?;
        let mut window = map(&file, UNIT_BYTES, FIRST_BYTES).map_err(failed)?;
        let mut page = map(&file, UNIT_BYTES, UNIT_BYTES).map_err(failed)?;
        let header = header(clock::now());
        let last_end = header.start.monotonic_ns;
        let name = format!("{}-{tid}-{last_end:016x}", header.pid);
        let path = folder.join(name).with_extension(EXTENSION);
        let units = FIRST_BYTES / UNIT_BYTES;
        // SAFETY: the mappings are longer than what is written, and begin with pages.
        unsafe {
            page.as_mut_ptr().add(CHUNK_HEAD_BYTES).cast::<Header>().write(header);
            ChunkHead::publish(window.as_mut_ptr(), 1, 0, units as u32);
            head.as_mut_ptr().cast::<FileHead>().write(FileHead::new(1 + units as u64, 1 + units as u64));
        }
        std::fs::rename(&unfinished, &path).map_err(failed)?;
        Ok(TraceFile {
            path,
            head,
            header: page,
            window,
            unit: 1,
            number: 0,
            cursor: IN_FRONT[0],
            limit: FIRST_BYTES,
            memory: Box::new(Writer::NEW),
            last_end,
            stopped: false,
        })
    }

    fn header(&self) -> &Header {
        // SAFETY: the page holds the header that `create` wrote; what changes in it are atomics.
        unsafe { &*self.header.as_ptr().add(CHUNK_HEAD_BYTES).cast::<Header>() }
    }

    /// Says how long the file is: up to the end of the latest chunk, which has so many units.
    fn set_units(&self, units: usize) {
        // SAFETY: the page holds the head that `create` wrote, of which this changes atomics.
        let head = unsafe { &*self.head.as_ptr().cast::<FileHead>() };
        let end = (self.unit + units) as u64;
        head.units.store(end, Release);
        head.taken.store(end, Release);
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
        if self.cursor + room > self.limit && !self.grow(room) {
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
        let unit = self.unit + self.window.len() / UNIT_BYTES;
        let length = GROW_BYTES.max((IN_FRONT[1] + room).next_multiple_of(UNIT_BYTES));
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(&self.path);
        let Ok(mut window) = file.and_then(|file| map(&file, unit * UNIT_BYTES, length)) else {
            self.finish(header::STATE_STOPPED, None);
            self.stopped = true;
            return false;
        };
        self.memory.moved();
        (self.unit, self.number, self.cursor, self.limit) = (unit, self.number + 1, IN_FRONT[1], length);
        let units = length / UNIT_BYTES;
        self.set_units(units);
        // SAFETY: the chunk is longer than its head, and nobody else's.
        unsafe { ChunkHead::publish(window.as_mut_ptr(), 1, self.number, units as u32) };
        self.window = window;
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

    /// Says how the recording ended, and cuts the file behind the unit of its last record.
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
            let header = self.header.as_mut_ptr().add(CHUNK_HEAD_BYTES).cast::<Header>();
            (&raw mut (*header).latest[(index & 1) as usize]).write(clock::pair(clock::now()));
        }
        self.header().latest_index.store(index, Release);
        self.header().state.store(state, Release);
        let units = self.cursor.div_ceil(UNIT_BYTES);
        self.limit = units * UNIT_BYTES;
        // SAFETY: the chunk is longer than its head, and nobody else's.
        unsafe { ChunkHead::publish(self.window.as_mut_ptr(), 1, self.number, units as u32) };
        self.set_units(units);
        let length = ((self.unit + units) * UNIT_BYTES) as u64;
        // If it fails, there is more behind than the head says, which means the same.
        let _ = OpenOptions::new().write(true).open(&self.path).and_then(|file| file.set_len(length));
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
