//! Makes the traces of given events, for tests of whatever reads traces.
//!
//! One [`TraceBuilder`] is one thread, and has a file of its own unless [`file()`] puts several into one. Times are nanoseconds since the start of the run, and one unit of the file is one
//! nanosecond, so that a reader gives back exactly the times put in (the run starts at 0 if some builder does).
//!
//! ```
//! use syn_trace::{Call, Run, builder::TraceBuilder};
//!
//! let folder = tempfile::tempdir()?;
//! TraceBuilder::new(100, 100)
//!     .rank(0, 1)
//!     .process_start("/bin/app", "/home/u", "app input")
//!     .call(Call::Open, 1_000, 50, 3, &[0, 0, 0o100_644, 4096, 7], &[b"data"], &[])
//!     .call(Call::Read, 2_000, 80, 512, &[3, 512], &[], &[])
//!     .fail(Call::Fsync, 3_000, 10, 5, &[3], &[])
//!     .write(folder.path())?;
//! let run = Run::open(folder.path())?;
//! assert_eq!(run.process_events(0).count(), 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::calls::{Call, MAX_NUMBERS};
use crate::chunks::{CHUNK_HEAD_BYTES, CHUNK_MAGIC, UNIT_BYTES};
use crate::dictionary::Writer;
use crate::header::{self, ClockPair, Header};
use crate::record::{self, Times};
use crate::run::EXTENSION;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// `CLOCK_MONOTONIC` at the start of a crafted run, nanoseconds.
pub const MONOTONIC_START_NS: u64 = 1_000_000_000;
/// `CLOCK_REALTIME` at the start of a crafted run, nanoseconds.
pub const REALTIME_START_NS: u64 = 1_700_000_000_000_000_000;

/// A thread's trace in the making. Calls are given in the order of their returns.
pub struct TraceBuilder {
    header: Header,
    records: Vec<u8>,
    /// Where in them each begins.
    starts: Vec<usize>,
    dictionary: Box<Writer>,
    end_ns: u64,
    flags: record::Flags,
    cpu: (Option<u64>, Option<u64>),
}

impl TraceBuilder {
    /// A thread of process `pid` on the host `node0`, which starts at 0; how it ended is not on record.
    pub fn new(pid: u32, tid: u32) -> TraceBuilder {
        let start = ClockPair { ticks: MONOTONIC_START_NS, monotonic_ns: MONOTONIC_START_NS };
        let header = Header {
            magic: header::MAGIC,
            version: header::VERSION,
            header_bytes: header::HEADER_BYTES as u32,
            pid,
            tid,
            ppid: 1,
            tick_shift: 0,
            clock: header::CLOCK_MONOTONIC,
            state: header::STATE_RECORDING.into(),
            latest_index: 0.into(),
            mpi: header::MPI_NONE.into(),
            rank: (-1).into(),
            ranks: 0.into(),
            gap_cost_ticks: 0,
            call_cost_ticks: 0,
            capabilities: (header::SEES_LIBC_INTERNAL | header::SEES_MPI | header::SEES_PREEMPTION).into(),
            process_start_ns: MONOTONIC_START_NS,
            start_realtime_ns: REALTIME_START_NS,
            start,
            latest: [start; 2],
            dropped: 0.into(),
            boot_id: *b"crafted-boot-id.",
            host: [0; 64],
            start_cpu_ns: 0,
            process_cpu_ns: 0.into(),
            end_ticks: 0.into(),
            end_cpu_ns: 0.into(),
            helpers_cpu_ns: 0.into(),
            reading_cost_ticks: 0,
            processors: 0,
            setup_cpu_ns: 0,
            setup_ticks: 0.into(),
            behind: Default::default(),
            readings: Default::default(),
            job: 0.into(),
        };
        let builder = TraceBuilder {
            header,
            records: Vec::new(),
            starts: Vec::new(),
            dictionary: Box::new(Writer::NEW),
            end_ns: 0,
            flags: 0,
            cpu: (None, None),
        };
        builder.host("node0")
    }

    /// The job that it is a rank of.
    pub fn job(self, job: u64) -> TraceBuilder {
        self.header.job.store(job, Relaxed);
        self
    }

    /// Its rank, in an Open MPI job of `ranks`.
    pub fn rank(self, rank: i32, ranks: i32) -> TraceBuilder {
        self.header.mpi.store(header::MPI_OPEN_MPI, Relaxed);
        self.header.rank.store(rank, Relaxed);
        self.header.ranks.store(ranks, Relaxed);
        self
    }

    /// The host it runs on; another host is another machine with its own boot id.
    pub fn host(mut self, name: &str) -> TraceBuilder {
        let bytes = &name.as_bytes()[..name.len().min(self.header.host.len())];
        self.header.host = [0; 64];
        self.header.host[..bytes.len()].copy_from_slice(bytes);
        let id = &bytes[..bytes.len().min(self.header.boot_id.len())];
        self.header.boot_id = *b"crafted-boot-id.";
        self.header.boot_id[..id.len()].copy_from_slice(id);
        self
    }

    /// When its process image started. Threads with the same pid and time are of one image; say it before any call.
    pub fn image(mut self, start_ns: u64) -> TraceBuilder {
        self.header.process_start_ns = MONOTONIC_START_NS + start_ns;
        self.starts(start_ns)
    }

    /// When the thread started; say it before any call.
    pub fn starts(mut self, start_ns: u64) -> TraceBuilder {
        assert!(self.records.is_empty(), "the start comes before the calls");
        let start =
            ClockPair { ticks: MONOTONIC_START_NS + start_ns, monotonic_ns: MONOTONIC_START_NS + start_ns };
        self.header.start_realtime_ns = REALTIME_START_NS + start_ns;
        (self.header.start, self.header.latest, self.end_ns) = (start, [start; 2], start_ns);
        self
    }

    /// Changes any other field of the header.
    pub fn header(mut self, change: impl FnOnce(&mut Header)) -> TraceBuilder {
        change(&mut self.header);
        self
    }

    /// The next call gets these further flags of [`crate::record`]: `INNER`, `SIGNAL`, `BEGAN`, `WAITED_…`, `LOST_…`.
    pub fn flags(mut self, flags: record::Flags) -> TraceBuilder {
        self.flags = flags;
        self
    }

    /// The next call gets CPU readings: nanoseconds from the reading before to its entry, and to its return.
    pub fn cpu(mut self, before: Option<u64>, after: Option<u64>) -> TraceBuilder {
        self.cpu = (before, after);
        self
    }

    /// The records with which a process image starts: who it is, and its descriptors 0, 1 and 2 on a terminal.
    pub fn process_start(self, exe: &str, cwd: &str, command: &str) -> TraceBuilder {
        let at = self.end_ns;
        let texts = [exe.as_bytes(), cwd.as_bytes(), command.as_bytes()];
        let mut builder = self.call(Call::ProcessStart, at, 0, 0, &[1], &texts, &[]);
        for fd in 0..3 {
            let numbers = [fd, 0o2, 0, 0o020_620, 0, 3];
            builder = builder.call(Call::InheritedFd, at, 0, 0, &numbers, &[b"/dev/pts/0"], &[]);
        }
        builder
    }

    /// A call that succeeded. Where the result is the byte count asked for, it is written so.
    ///
    /// # Panics
    /// When the arguments are not as the table of calls says, or the call returns before the one before it.
    #[allow(clippy::too_many_arguments)]
    pub fn call(
        self,
        call: Call,
        start_ns: u64,
        took_ns: u64,
        result: i64,
        numbers: &[i64],
        texts: &[&[u8]],
        list: &[i64],
    ) -> TraceBuilder {
        let complete = call.requested().is_some_and(|position| numbers.get(position) == Some(&result));
        let flag = if complete { record::COMPLETE } else { 0 };
        self.record(call, flag, (start_ns, took_ns), result, numbers, texts, list)
    }

    /// A call that failed with `errno`.
    ///
    /// # Panics
    /// As [`TraceBuilder::call`].
    pub fn fail(
        self,
        call: Call,
        start_ns: u64,
        took_ns: u64,
        errno: i32,
        numbers: &[i64],
        texts: &[&[u8]],
    ) -> TraceBuilder {
        self.record(call, record::FAILED, (start_ns, took_ns), errno.into(), numbers, texts, &[])
    }

    #[allow(clippy::too_many_arguments)]
    fn record(
        mut self,
        call: Call,
        flag: record::Flags,
        (start_ns, took_ns): (u64, u64),
        outcome: i64,
        numbers: &[i64],
        texts: &[&[u8]],
        list: &[i64],
    ) -> TraceBuilder {
        let (number_count, text_count, list_count) = call.shape();
        assert_eq!((numbers.len(), texts.len()), (number_count, text_count), "arguments of {call:?}");
        assert!(list.is_empty() || list_count == 1, "{call:?} has no list");
        let end_ns = start_ns + took_ns;
        assert!(
            end_ns >= self.end_ns,
            "{call:?} returns at {end_ns}, before the call before it at {}",
            self.end_ns
        );
        let (before, after) = std::mem::take(&mut self.cpu);
        let cpu_flag = |reading: Option<u64>, flag| reading.map_or(0, |_| flag);
        let flags = flag
            | std::mem::take(&mut self.flags)
            | cpu_flag(before, record::CPU_BEFORE)
            | cpu_flag(after, record::CPU_AFTER);
        let times = Times {
            end: end_ns - self.end_ns,
            took: took_ns,
            cpu_before: before.unwrap_or(0),
            cpu_after: after.unwrap_or(0),
        };
        self.end_ns = end_ns;
        self.starts.push(self.records.len());
        append(&mut self.dictionary, &mut self.records, call, flags, times, outcome, numbers, texts, list);
        self
    }

    /// Header and records, one behind the other, as they stand in packed files.
    pub fn contiguous(&self) -> Vec<u8> {
        let mut bytes = self.header_bytes();
        bytes.extend_from_slice(&self.records);
        bytes
    }

    fn header_bytes(&self) -> Vec<u8> {
        let header = &raw const self.header;
        // SAFETY: the header is plain data without padding (its fields fill each other's alignment), borrowed here.
        let header = unsafe { std::slice::from_raw_parts(header.cast::<u8>(), size_of::<Header>()) };
        let mut bytes = header.to_vec();
        bytes.resize(header::HEADER_BYTES, 0);
        bytes
    }

    /// The file of this thread alone, in one chunk.
    pub fn bytes(&self) -> Vec<u8> {
        file(&[self], usize::MAX)
    }

    /// Writes that file into `folder`, under a name of its own, and returns its path.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, folder: &Path) -> std::io::Result<PathBuf> {
        let Header { pid, tid, start, .. } = &self.header;
        let path = folder.join(format!("{pid}-{tid}-{:x}.{EXTENSION}", start.monotonic_ns));
        std::fs::write(&path, self.bytes())?;
        Ok(path)
    }

    /// The records, so many at most together.
    fn parts(&self, most: usize) -> Vec<&[u8]> {
        let mut ends: Vec<usize> = self.starts.iter().copied().step_by(most).skip(1).collect();
        ends.push(self.records.len());
        let mut from = 0;
        ends.iter().map(|&end| &self.records[std::mem::replace(&mut from, end)..end]).collect()
    }
}

/// The file of several threads, whose chunks take turns; each chunk holds `most` records at most.
pub fn file(threads: &[&TraceBuilder], most: usize) -> Vec<u8> {
    let parts: Vec<Vec<&[u8]>> = threads.iter().map(|thread| thread.parts(most)).collect();
    let mut bytes = vec![0; UNIT_BYTES];
    let mut first = vec![0; threads.len()];
    for number in 0..parts.iter().map(Vec::len).max().unwrap_or(0) {
        for (index, thread) in threads.iter().enumerate() {
            let Some(part) = parts[index].get(number) else { continue };
            let at = bytes.len();
            if number == 0 {
                first[index] = (at / UNIT_BYTES) as u64;
            }
            let front = if number == 0 { thread.header_bytes() } else { Vec::new() };
            // There is a zero behind the records.
            let length = (CHUNK_HEAD_BYTES + front.len() + part.len() + 1).next_multiple_of(UNIT_BYTES);
            bytes.extend_from_slice(&CHUNK_MAGIC);
            bytes.extend_from_slice(&first[index].to_le_bytes());
            bytes.extend_from_slice(&(number as u32).to_le_bytes());
            bytes.extend_from_slice(&((length / UNIT_BYTES) as u32).to_le_bytes());
            bytes.extend_from_slice(&front);
            bytes.extend_from_slice(part);
            bytes.resize(at + length, 0);
        }
    }
    let units = (bytes.len() / UNIT_BYTES) as u64;
    bytes[..8].copy_from_slice(&header::MAGIC);
    bytes[8..12].copy_from_slice(&header::VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&(UNIT_BYTES as u32).to_le_bytes());
    bytes[16..24].copy_from_slice(&units.to_le_bytes());
    bytes[24..32].copy_from_slice(&units.to_le_bytes());
    bytes
}

/// Encodes a record whose number of integers is known only now.
#[allow(clippy::too_many_arguments)]
fn append(
    dictionary: &mut Writer,
    records: &mut Vec<u8>,
    call: Call,
    flags: record::Flags,
    times: Times,
    outcome: i64,
    numbers: &[i64],
    texts: &[&[u8]],
    list: &[i64],
) {
    let start = records.len();
    // The vector may move: what was written before must not be changed in place.
    // SAFETY: it has not moved yet.
    unsafe { dictionary.moving() };
    records.resize(start + record::room(texts, list), 0);
    let at = records[start..].as_mut_ptr();
    // Records of handlers that have interrupted the writing of another one know nothing of what came before.
    let mut dictionary = (flags & record::SIGNAL == 0).then_some(dictionary);
    macro_rules! encode_with {
        ($($count:literal)*) => {
            match numbers.len() {
                $($count => {
                    let mut fixed = [0i64; $count];
                    fixed.copy_from_slice(numbers);
                    // SAFETY: there is room, it is zero, and the caller has compared the counts with the table.
                    unsafe { record::encode(dictionary.as_deref_mut(), at, call, flags, times, outcome, &fixed, texts, list) }
                })*
                count => unreachable!("{count} integers, the most is {MAX_NUMBERS}"),
            }
        };
    }
    let length = encode_with!(0 1 2 3 4 5 6 7 8 9 10 11 12);
    records.truncate(start + length);
}
