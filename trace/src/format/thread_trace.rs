//! The trace of one thread, and the files in which traces are.

use super::error::TraceError;
use super::layout::{self, Layout};
use super::reader::Events;
use super::unpacked;
use crate::chunks::{FileHead, IN_FRONT, UNIT_BYTES};
use crate::header::{self, ClockPair, Header};
use crate::pack;
use crate::reader::Event;
use memmap2::UncheckedAdvice;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The trace of one thread, mapped.
#[derive(Debug)]
pub struct ThreadTrace {
    path: PathBuf,
    /// Of a file, whatever was packed.
    pub(super) map: Arc<memmap2::Mmap>,
    pub(super) layout: Layout,
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
    pub(super) fn let_go(&self, range: Range<usize>) {
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

    /// True when it has not been ended, and its thread is there on this machine.
    pub fn is_being_recorded(&self) -> bool {
        let head = self.header();
        self.is_open() && self.is_of_this_boot() && thread_state(head.pid, head.tid).is_some()
    }

    /// True when it has not been ended, and is of another machine, or of this one before it was started: whether its thread is there,
    /// nobody can tell here.
    pub fn may_be_recorded_elsewhere(&self) -> bool {
        self.is_open() && !self.is_of_this_boot()
    }

    fn is_open(&self) -> bool {
        self.header().state.load(Ordering::Relaxed) == header::STATE_RECORDING
    }

    fn is_of_this_boot(&self) -> bool {
        let here = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let digits: Vec<u32> = here.chars().filter_map(|digit| digit.to_digit(16)).collect();
        let of_trace = self.header().boot_id;
        digits.len() == 32
            && digits.chunks(2).zip(of_trace).all(|(pair, byte)| pair[0] * 16 + pair[1] == u32::from(byte))
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
        Events::of(self)
    }

    /// False where the header, or the length of the file, shows that more followed. `is_closed`: the records end with that of
    /// an end.
    pub(super) fn reaches_its_end(&self, is_closed: bool) -> bool {
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

/// The state of a thread of this machine, as in proc_pid_stat(5). `None` for one that is not there, or has ended and is not reaped yet.
pub fn thread_state(pid: u32, tid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    // The name before it may hold anything.
    let state = stat.rsplit(')').next()?.trim_start().chars().next()?;
    (!matches!(state, 'Z' | 'X')).then_some(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_ended_and_is_not_reaped_has_no_state() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a process");
        let pid = child.id();
        assert!(thread_state(pid, pid).is_some());
        child.kill().expect("a child");
        while thread_state(pid, pid).is_some() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(Path::new(&format!("/proc/{pid}")).exists());
        child.wait().expect("a child");
        assert_eq!(thread_state(pid, pid), None);
    }
}
