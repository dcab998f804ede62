//! Reads the events of one thread, in order.
//!
//! A reader never refuses what precedes a fault: [`Events`] yields everything up to it, and
//! [`Events::ending`] says how the file ended.

use super::layout::{self, Layout};
use super::unpacked;
use crate::calls::effect::{Follow, Place};
use crate::calls::{Call, Effect, Field, MAX_NUMBERS, MAX_TEXTS};
use crate::chunks::{FileHead, IN_FRONT, UNIT_BYTES};
use crate::dictionary;
use crate::header::{self, ClockPair, Header};
use crate::pack::{self, PackError};
use crate::record::{self, Fault, List, Text};
use memmap2::UncheckedAdvice;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Why a file cannot be read as a thread's trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system said no.
    #[error("cannot read the trace {}: {cause}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        cause: std::io::Error,
    },
    /// The file is empty, or ends inside its header.
    #[error(
        "{}: cut off inside its header ({bytes} of {} bytes); the recording ended before its first event, or the copy is incomplete",
        path.display(), header::HEADER_BYTES
    )]
    Short {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// The magic number is another one.
    #[error("{}: not a syn trace (it begins with {found:?}, a trace with {:?})", path.display(), String::from_utf8_lossy(&header::MAGIC))]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// Its first bytes, as text.
        found: String,
    },
    /// The file was written by an earlier version of the format.
    #[error("{}: trace format {found} is older than {}, which this program reads; read it with the release that wrote it", path.display(), header::VERSION)]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file was written by a later version of the format.
    #[error("{}: trace format {found} is newer than {}, which this program reads; update syn", path.display(), header::VERSION)]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// One thread's trace was to be read, and the file holds several.
    #[error("{}: it holds the traces of {found} threads; name the folder it is in", path.display())]
    Several {
        /// The file.
        path: PathBuf,
        /// How many.
        found: usize,
    },
    /// The file is a packed one, and cannot be unpacked.
    #[error("{}: {fault}", path.display())]
    Packed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: PackError,
    },
    /// The file is a packed one, and there is no room for what is in it.
    #[error(
        "{}: cannot unpack it into {}: {cause}; TMPDIR names another folder", path.display(), folder.display()
    )]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// Where it was to be unpacked.
        folder: PathBuf,
        /// What the operating system said.
        cause: std::io::Error,
    },
    /// The header holds values that cannot be.
    #[error("{}: damaged header ({what})", path.display())]
    BadHeader {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
}

/// The trace of one thread, mapped.
#[derive(Debug)]
pub struct ThreadTrace {
    path: PathBuf,
    /// Of a file, whatever was packed.
    map: Arc<memmap2::Mmap>,
    layout: Layout,
}

/// One call of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Which call.
    pub call: Call,
    /// See [`crate::record`] for the flags.
    pub flags: record::Flags,
    /// Units from the header's start to the entry of the call.
    pub start: u64,
    /// Units from the header's start to the return of the call.
    pub end: u64,
    /// Thread CPU nanoseconds from the previous CPU reading to the entry, if one was taken there.
    pub cpu_before: Option<u64>,
    /// Thread CPU nanoseconds from the previous CPU reading to the return, if one was taken there.
    pub cpu_after: Option<u64>,
    /// The result, -1 on failure.
    pub result: i64,
    /// errno on failure, else 0.
    pub errno: i32,
    /// The integers, as the table says.
    pub numbers: [i64; MAX_NUMBERS],
    /// The texts, as the table says.
    pub texts: [Text<'a>; MAX_TEXTS],
    /// The list, as the table says.
    pub list: List<'a>,
    /// Where the record begins in the file, bytes.
    pub offset: u64,
}

impl Event<'static> {
    /// Room for an event.
    pub const NOTHING: Event<'static> = Event {
        call: Call::ALL[0],
        flags: 0,
        start: 0,
        end: 0,
        cpu_before: None,
        cpu_after: None,
        result: 0,
        errno: 0,
        numbers: [0; MAX_NUMBERS],
        texts: [Text::EMPTY; MAX_TEXTS],
        list: List::EMPTY,
        offset: 0,
    };
}

impl Event<'_> {
    /// True when `flag` of [`crate::record`] is set.
    #[inline]
    pub fn has(&self, flag: record::Flags) -> bool {
        self.flags & flag != 0
    }
    /// The integer argument `name`, if the call has one.
    pub fn number(&self, name: &str) -> Option<i64> {
        let position = self.call.args().iter().position(|arg| arg.name == name)?;
        self.call.args()[position].kind.is_number().then(|| self.numbers[position])
    }
    /// The argument of this kind, wherever it stands, if the call has one.
    #[inline(always)]
    pub fn field(&self, field: Field) -> Option<i64> {
        self.call.field(field).map(|position| self.numbers[position])
    }
    /// The offset at which a transfer begins; `None` at the position of the open file.
    #[inline(always)]
    pub fn offset_of(&self, place: Place) -> Option<u64> {
        let offset = || self.field(Field::Offset).unwrap_or(0);
        match place {
            Place::Position => None,
            Place::Offset => Some(offset().max(0) as u64),
            Place::Either => u64::try_from(offset()).ok(),
        }
    }
    /// Whether a symbolic link at the end of the path is followed.
    pub fn follows(&self, follow: Follow) -> bool {
        /// `AT_SYMLINK_NOFOLLOW` (`<fcntl.h>`).
        const NO_FOLLOW: i64 = 0x100;
        match follow {
            Follow::Followed => true,
            Follow::Itself => false,
            Follow::ByFlags => self.field(Field::Flags).unwrap_or(0) & NO_FOLLOW == 0,
        }
    }
    /// 0 for a call of the application itself, 1 for one by a library inside another call.
    pub fn depth(&self) -> u32 {
        u32::from(self.has(record::INNER))
    }
}

/// How the records of a file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// After a whole record.
    Whole,
    /// After a whole record, but more followed it when the file was recorded.
    CutBetween {
        /// Where the file ends, bytes.
        bytes: u64,
    },
    /// Inside a record; everything before it was read.
    CutOff {
        /// Where the record begins, bytes.
        offset: u64,
    },
    /// Before bytes that are no record; everything before them was read.
    Damaged {
        /// Where they begin, bytes.
        offset: u64,
        /// What is wrong with them.
        fault: Fault,
    },
}

impl ThreadTrace {
    /// Maps the trace at `path` and checks its header. The file must hold one trace.
    ///
    /// # Errors
    /// [`TraceError`] when the file is missing, foreign, of another version or shorter than a header.
    pub fn open(path: impl Into<PathBuf>) -> Result<ThreadTrace, TraceError> {
        let path = path.into();
        let mut traces = ThreadTrace::open_all(path.clone())?;
        match (traces.pop(), traces.len()) {
            (Some(trace), 0) => trace,
            (Some(_), others) => Err(TraceError::Several { path, found: others + 1 }),
            (None, _) => Err(TraceError::Short { path, bytes: 0 }),
        }
    }

    /// The traces in the file at `path`: of the threads that recorded into it, or those that are packed in it. None where
    /// the recorder has not finished the file's head: it was killed, or the file was copied, just after that was made.
    ///
    /// # Errors
    /// [`TraceError`] when the file is missing, foreign, of another version, cut off inside its head, or a packed one that
    /// cannot be unpacked. What is wrong with a single trace stands in its place.
    pub fn open_all(path: impl Into<PathBuf>) -> Result<Vec<Result<ThreadTrace, TraceError>>, TraceError> {
        let path = path.into();
        let io = |cause| TraceError::Io { path: path.clone(), cause };
        let file = File::open(&path).map_err(io)?;
        let bytes = file.metadata().map_err(io)?.len();
        if bytes == 0 {
            return Err(TraceError::Short { path, bytes });
        }
        // SAFETY: the mapping is read-only. Trace files only ever grow while they are recorded; a user who cuts
        // one short under a running reader gets SIGBUS, as with any mapped file.
        let map = Arc::new(unsafe { memmap2::Mmap::map(&file) }.map_err(io)?);
        if !pack::is_packed(&map) {
            return of_file(path, &map);
        }
        unpacked(path, &map)
    }

    /// The trace, if its header is one.
    fn checked(self) -> Result<ThreadTrace, TraceError> {
        let Some(header) = layout::header_at(&self.map, self.layout.header) else {
            let bytes = self.map.len() as u64;
            return Err(TraceError::Short { path: self.path, bytes });
        };
        if header.magic == header::MAGIC && header.version != header::VERSION {
            return Err(of_other_version(self.path, header.version));
        }
        let fault = if header.magic != header::MAGIC {
            Some("magic number")
        } else if header.header_bytes as usize != header::HEADER_BYTES {
            Some("header length")
        } else if header.tick_shift > 20 {
            Some("tick shift")
        } else if header.clock > header::CLOCK_MONOTONIC {
            Some("clock")
        } else {
            None
        };
        match fault {
            Some(what) => Err(TraceError::BadHeader { path: self.path, what }),
            None => Ok(self),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name that the trace has among others: `<pid>-<tid>-<start, hexadecimal>`, as `FORMAT.md` says.
    pub fn name(&self) -> String {
        let Header { pid, tid, start, .. } = self.header();
        format!("{pid}-{tid}-{:016x}", start.monotonic_ns)
    }

    /// Bytes of its header and of the room for its records.
    pub fn bytes(&self) -> u64 {
        self.layout.bytes()
    }

    /// Lets go of the memory of this part of the file, as far as that is whole pages.
    fn let_go(&self, range: Range<usize>) {
        let (start, end) = (range.start.next_multiple_of(UNIT_BYTES), range.end / UNIT_BYTES * UNIT_BYTES);
        if start >= end {
            return;
        }
        // SAFETY: a mapping of a file that nothing is written to through it: what is let go is read from the file again. That the
        // kernel refuses, nobody need hear of.
        let _ = unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start) };
    }

    /// The header and the records, one behind the other: what is packed of a trace.
    pub fn contiguous(&self) -> Vec<u8> {
        let mut bytes = self.map[self.layout.header..][..header::HEADER_BYTES].to_vec();
        let (mut events, mut event) = (self.events(), Event::NOTHING);
        while events.next_into(&mut event) {
            bytes.extend_from_slice(&self.map[event.offset as usize..events.offset()]);
        }
        bytes
    }

    /// The header; its atomic fields may still change while the program runs.
    pub fn header(&self) -> &Header {
        layout::header_at(&self.map, self.layout.header).expect("checked when it was opened")
    }

    /// The latest clock pair.
    pub fn latest(&self) -> ClockPair {
        let header = self.header();
        header.latest[(header.latest_index.load(Ordering::Acquire) & 1) as usize]
    }

    /// The host name.
    pub fn host(&self) -> String {
        let bytes = &self.header().host;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    /// The events in the order in which their calls returned.
    pub fn events(&self) -> Events<'_> {
        Events {
            trace: self,
            rest: &self.map[self.layout.parts[0].clone()],
            part: 0,
            part_end: self.layout.parts[0].end,
            read_before: header::HEADER_BYTES,
            dictionary: Box::default(),
            end: 0,
            is_closed: false,
            ending: None,
            held: (0, self.layout.parts[0].start),
        }
    }

    /// False where the header, or the length of the file, shows that more followed. `is_closed`: the records end with that of
    /// an end.
    fn reaches_its_end(&self, is_closed: bool) -> bool {
        let header = self.header();
        match header.state.load(Ordering::Acquire) {
            header::STATE_THREAD_ENDED | header::STATE_PROCESS_ENDED => {
                // The record of the end may be one that could not be written.
                is_closed || header.dropped.load(Ordering::Relaxed) > 0 && !self.layout.is_cut
            }
            // A recorder makes the file longer before it takes of it.
            _ => !self.layout.is_cut,
        }
    }
}

fn of_other_version(path: PathBuf, found: u32) -> TraceError {
    match found {
        0 => TraceError::Short { path, bytes: 0 },
        _ if found < header::VERSION => TraceError::Older { path, found },
        _ => TraceError::Newer { path, found },
    }
}

/// The traces in a file that is not a packed one.
fn of_file(
    path: PathBuf,
    map: &Arc<memmap2::Mmap>,
) -> Result<Vec<Result<ThreadTrace, TraceError>>, TraceError> {
    let bytes = map.len() as u64;
    let front = map.len().min(header::MAGIC.len());
    if map.iter().take(size_of::<FileHead>()).all(|&byte| byte == 0) {
        // A file is made as long as it is to be before anything is written to it.
        return if map.len() < UNIT_BYTES { Err(TraceError::Short { path, bytes }) } else { Ok(Vec::new()) };
    }
    if front == header::MAGIC.len() && map[..front] == [0; header::MAGIC.len()] {
        return Ok(Vec::new());
    }
    if map[..front] != header::MAGIC[..front] {
        let found = String::from_utf8_lossy(&map[..front]).into_owned();
        return Err(TraceError::NotOurs { path, found });
    }
    let Some(head) = layout::head(map) else { return Err(TraceError::Short { path, bytes }) };
    if head.version != header::VERSION {
        return Err(of_other_version(path, head.version));
    }
    if head.unit_bytes as usize != UNIT_BYTES {
        return Err(TraceError::BadHeader { path, what: "unit" });
    }
    let (layouts, strays) = layout::layouts(map);
    if layouts.is_empty() && map.len() < UNIT_BYTES + IN_FRONT[0] {
        return Err(TraceError::Short { path, bytes });
    }
    let open = |layout| ThreadTrace { path: path.clone(), map: map.clone(), layout }.checked();
    let mut traces: Vec<_> = layouts.into_iter().map(open).collect();
    if strays > 0 {
        traces.push(Err(TraceError::BadHeader {
            path: path.clone(),
            what: "chunks of a thread without its first",
        }));
    }
    Ok(traces)
}

/// The traces in a packed file.
fn unpacked(path: PathBuf, packed: &[u8]) -> Result<Vec<Result<ThreadTrace, TraceError>>, TraceError> {
    let no_room = |cause| TraceError::NoRoom { path: path.clone(), folder: std::env::temp_dir(), cause };
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut store = unpacked::Store::new().map_err(no_room)?;
    let mut traces = Vec::new();
    let mut keep = |member: pack::Member| {
        let map = store.add(&member.bytes).map_err(no_room)?;
        let layout = Layout::alone(map.len());
        ThreadTrace { path: folder.join(&member.name), map: Arc::new(map), layout }.checked()
    };
    let whole = pack::unpack_each(packed, |member| traces.push(keep(member)));
    whole.map_err(|fault| TraceError::Packed { path: path.clone(), fault })?;
    Ok(traces)
}

/// Iterator over the events of a thread.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    trace: &'a ThreadTrace,
    /// What is left of the chunk, which is that many in the trace, and where in the file it ends.
    rest: &'a [u8],
    part: usize,
    part_end: usize,
    /// Bytes of the header and of the records in the chunks before.
    read_before: usize,
    dictionary: Box<dictionary::Reader<'a>>,
    end: u64,
    is_closed: bool,
    ending: Option<Ending>,
    /// The first chunk of which memory has not been let go, and how far that has been.
    held: (usize, usize),
}

/// What lies before the position is kept in memory so far: the dictionary reaches back to it. And how much is let go at once.
const KEPT_BYTES: usize = 64 << 10;
const LET_GO_BYTES: usize = 64 << 10;

impl Events<'_> {
    /// How the records ended; `None` before the iterator has.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }
    /// Bytes of header and records up to here.
    pub fn bytes_read(&self) -> u64 {
        (self.read_before + self.offset() - self.trace.layout.parts[self.part].start) as u64
    }
    /// Where in the file the iterator stands, bytes: behind the latest record.
    pub fn offset(&self) -> usize {
        self.part_end - self.rest.len()
    }

    /// Lets go of the memory of what was read, but for the latest: for who goes through a trace once. What is looked at again
    /// is read again.
    pub fn let_go(&mut self) {
        let parts = &self.trace.layout.parts;
        while self.held.0 < self.part {
            self.trace.let_go(self.held.1..parts[self.held.0].end);
            self.held = (self.held.0 + 1, parts[self.held.0 + 1].start);
        }
        let until = self.offset().saturating_sub(KEPT_BYTES);
        if until >= self.held.1 + LET_GO_BYTES {
            self.trace.let_go(self.held.1..until);
            self.held.1 = until;
        }
    }

    /// Goes on to the thread's next chunk, if there is one.
    #[inline(never)]
    fn next_part(&mut self) -> bool {
        let trace = self.trace;
        let Some(part) = trace.layout.parts.get(self.part + 1) else { return false };
        self.read_before = self.bytes_read() as usize;
        (self.rest, self.part, self.part_end) = (&trace.map[part.clone()], self.part + 1, part.end);
        true
    }

    /// How the records end, if it is not inside one.
    #[cold]
    fn ending_here(&self) -> Ending {
        let trace = self.trace;
        match trace.layout.gap {
            Some(offset) => Ending::Damaged { offset: offset as u64, fault: Fault::MissingChunk },
            None if trace.reaches_its_end(self.is_closed) => Ending::Whole,
            None => Ending::CutBetween { bytes: trace.map.len() as u64 },
        }
    }
}

impl<'a> Events<'a> {
    /// The next event, in place of another one: an event is large to be moved. False when there are no more.
    #[inline]
    pub fn next_into(&mut self, event: &mut Event<'a>) -> bool {
        self.read_into::<true>(event)
    }

    /// The same for who only wants to know which call it was, when, and inside of what: outcome and arguments of other calls than
    /// [`Call::Repeats`] and [`Call::Entered`] may be those of an earlier event.
    #[inline]
    pub(crate) fn next_times_into(&mut self, event: &mut Event<'a>) -> bool {
        self.read_into::<false>(event)
    }

    #[inline(always)]
    fn read_into<const WHOLE: bool>(&mut self, event: &mut Event<'a>) -> bool {
        if self.ending.is_some() {
            return false;
        }
        while self.rest.first().is_none_or(|&length| length == 0) && self.next_part() {}
        let offset = self.offset() as u64;
        let Event { numbers, texts, list, .. } = event;
        let arguments = record::Arguments { numbers, texts, list };
        match record::decode_into::<WHOLE>(&mut self.dictionary, &mut self.rest, arguments) {
            Ok(Some(record)) => {
                self.end = self.end.saturating_add(record.times.end);
                match record.call.effect() {
                    Effect::Exit => self.is_closed = true,
                    Effect::Other if record.call == Call::ThreadEnd => self.is_closed = true,
                    // The first of its two records stands before the call; there is a second where it failed.
                    Effect::Exec => self.is_closed = record.flags & record::FAILED == 0,
                    _ => {}
                }
                (event.call, event.flags, event.offset) = (record.call, record.flags, offset);
                (event.start, event.end) = (self.end.saturating_sub(record.times.took), self.end);
                event.cpu_before =
                    (record.flags & record::CPU_BEFORE != 0).then_some(record.times.cpu_before);
                event.cpu_after = (record.flags & record::CPU_AFTER != 0).then_some(record.times.cpu_after);
                (event.result, event.errno) = (record.result, record.errno);
                true
            }
            Ok(None) => {
                self.ending = Some(self.ending_here());
                false
            }
            Err(fault) => {
                self.ending = Some(match fault {
                    Fault::CutOff if self.part_end == self.trace.map.len() => Ending::CutOff { offset },
                    fault => Ending::Damaged { offset, fault },
                });
                false
            }
        }
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    #[inline]
    fn next(&mut self) -> Option<Event<'a>> {
        let mut event = Event::NOTHING;
        self.next_into(&mut event).then_some(event)
    }
}
