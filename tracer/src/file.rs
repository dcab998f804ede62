//! What a thread writes: a header and chunks of records, mapped one by one, in the file of its process image
//! ([`crate::image`]). What has been written is on record whatever ends the tracer.

use crate::clock;
use crate::error::Error;
use crate::image::ImageFile;
use memmap2::MmapMut;
use std::rc::Rc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use syn_trace::Call;
use syn_trace::chunks::{CHUNK_HEAD_BYTES, ChunkHead, IN_FRONT, UNIT_BYTES};
use syn_trace::dictionary::Writer;
use syn_trace::header::{self, Header};
use syn_trace::record::{self, Flags, Times};

/// Bytes of a thread's first chunk.
const FIRST_BYTES: usize = 4 * UNIT_BYTES;
/// The fewest and the most bytes of a further one, unless a record needs more; in between it is as long as those before together.
const GROW_BYTES: (usize, usize) = (16 << 10, 1 << 20);

/// A thread's records, open for writing.
pub struct TraceFile {
    file: Rc<ImageFile>,
    /// The front of the first chunk, with the header.
    header: MmapMut,
    /// The latest chunk.
    window: MmapMut,
    /// The unit with which the thread's first chunk begins, that of the latest, and how many there were before.
    first: u64,
    unit: u64,
    number: u32,
    /// Bytes of all chunks.
    chunk_bytes: usize,
    /// Where in the window the next record goes, and where there is no more room.
    cursor: usize,
    limit: usize,
    memory: Box<Writer>,
    /// When the latest record ended, nanoseconds.
    last_end: u64,
    stopped: bool,
}

impl TraceFile {
    /// Begins a thread in the file of its process image, with the header that `header` gives for the time at which there is room
    /// for it.
    pub fn begin(file: Rc<ImageFile>, header: impl FnOnce(u64) -> Header) -> Result<TraceFile, Error> {
        let failed = |cause| Error::File { path: file.path(), cause };
        let (first, window) = file.take(FIRST_BYTES).map_err(failed)?;
        let mut page = file.map_again(first, UNIT_BYTES).map_err(failed)?;
        let header = header(clock::now());
        let last_end = header.start.monotonic_ns;
        // SAFETY: the page is longer than what is written, and nobody else's.
        unsafe {
            page.as_mut_ptr().add(CHUNK_HEAD_BYTES).cast::<Header>().write(header);
            ChunkHead::publish(page.as_mut_ptr(), first, 0, (FIRST_BYTES / UNIT_BYTES) as u32);
        }
        file.has_a_header().map_err(failed)?;
        Ok(TraceFile {
            file,
            header: page,
            window,
            first,
            unit: first,
            number: 0,
            chunk_bytes: FIRST_BYTES,
            cursor: IN_FRONT[0],
            limit: FIRST_BYTES,
            memory: Box::new(Writer::NEW),
            last_end,
            stopped: false,
        })
    }

    fn header(&self) -> &Header {
        // SAFETY: the page holds the header that `begin` wrote; what changes in it are atomics.
        unsafe { &*self.header.as_ptr().add(CHUNK_HEAD_BYTES).cast::<Header>() }
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
        let length = self.chunk_bytes.clamp(GROW_BYTES.0, GROW_BYTES.1);
        let length = length.max(IN_FRONT[1] + room).next_multiple_of(UNIT_BYTES);
        let Ok((unit, mut window)) = self.file.take(length) else {
            self.finish(header::STATE_STOPPED, None);
            self.stopped = true;
            return false;
        };
        // SAFETY: the old records are still mapped.
        unsafe { self.memory.moving() };
        (self.unit, self.number, self.cursor, self.limit) = (unit, self.number + 1, IN_FRONT[1], length);
        self.chunk_bytes += length;
        // SAFETY: the chunk is longer than its head, and nobody else's.
        unsafe {
            ChunkHead::publish(window.as_mut_ptr(), self.first, self.number, (length / UNIT_BYTES) as u32);
        }
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

    /// Says how the recording ended, and gives back what is behind the unit of the last record.
    ///
    /// `cpu_ns` is the thread's CPU time now, where that can still be asked for.
    pub fn finish(&mut self, state: u32, cpu_ns: Option<u64>) {
        if let Some(cpu_ns) = cpu_ns {
            self.header().end_cpu_ns.store(cpu_ns, Relaxed);
            self.header().end_ticks.store(clock::now(), Release);
        }
        let index = self.header().latest_index.load(Relaxed) ^ 1;
        // SAFETY: as in `begin`; the pair that is valid is the other one.
        unsafe {
            let header = self.header.as_mut_ptr().add(CHUNK_HEAD_BYTES).cast::<Header>();
            (&raw mut (*header).latest[(index & 1) as usize]).write(clock::pair(clock::now()));
        }
        self.header().latest_index.store(index, Release);
        self.header().state.store(state, Release);
        let units = self.cursor.div_ceil(UNIT_BYTES);
        self.limit = units * UNIT_BYTES;
        // SAFETY: the chunk is longer than its head, and nobody else's.
        unsafe { ChunkHead::publish(self.window.as_mut_ptr(), self.first, self.number, units as u32) };
        // Once only: a thread that had stopped has given it back, and others may have it.
        if !self.stopped {
            self.file
                .give_back(self.unit + units as u64, self.unit + (self.window.len() / UNIT_BYTES) as u64);
        }
    }
}
