//! A reader tells apart what is foreign, older, newer, cut off and damaged, gives everything in front of a fault,
//! and survives any bytes whatever.

use std::path::{Path, PathBuf};
use syn_trace::builder::{self, TraceBuilder};
use syn_trace::chunks::{CHUNK_HEAD_BYTES, FileHead, IN_FRONT, UNIT_BYTES};
use syn_trace::descriptors::Descriptors;
use syn_trace::dictionary::Reader;
use syn_trace::header::{HEADER_BYTES, Header, MAGIC, STATE_PROCESS_ENDED, STATE_THREAD_ENDED, VERSION};
use syn_trace::reader::Ending;
use syn_trace::record::{self, BEGAN, Fault, MAX_RECORD_BYTES};
use syn_trace::{Call, Event, Run, ThreadTrace, TraceError};

fn builder() -> TraceBuilder {
    let requests: Vec<i64> = (0..40).map(|number| 0x5500_0000 + 96 * number).collect();
    TraceBuilder::new(11, 11)
        .process_start("/bin/app", "/home/u", "app")
        .call(Call::Open, 1_000, 50, 3, &[0o102, 0o600, 0o100_600, 0, 9], &[b"data"], &[])
        .call(Call::Write, 2_000, 70, 4096, &[3, 4096], &[], &[])
        .fail(Call::Rename, 3_000, 20, 2, &[], &[&[b'n'; 200], b"/new"])
        .call(Call::MpiStartall, 4_000, 20, 0, &[40], &[], &requests)
        .call(Call::Close, 5_000, 10, 0, &[3], &[], &[])
}

/// The same thread, which then ends.
fn ended() -> TraceBuilder {
    builder().header(|header| *header.state.get_mut() = STATE_THREAD_ENDED).call(
        Call::ThreadEnd,
        6_000,
        0,
        0,
        &[],
        &[],
        &[],
    )
}

/// Where in a file of one thread its header begins, and the first record.
const HEADER: usize = UNIT_BYTES + CHUNK_HEAD_BYTES;
const RECORDS: usize = UNIT_BYTES + IN_FRONT[0];

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }
    fn path(&self) -> &Path {
        self.0.path()
    }
    fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.path().join("1-1-0.trace");
        std::fs::write(&path, bytes).unwrap();
        path
    }
    fn open(&self, bytes: &[u8]) -> Result<ThreadTrace, TraceError> {
        ThreadTrace::open(self.file(bytes))
    }
}

/// Offset and length of every record of a whole file, and the file up to the end of the last.
fn records(bytes: &[u8]) -> (Vec<(usize, usize)>, usize) {
    let (mut rest, mut memory) = (&bytes[RECORDS..], Reader::default());
    let mut found = Vec::new();
    loop {
        let offset = bytes.len() - rest.len();
        match record::decode(&mut memory, &mut rest).unwrap() {
            Some(_) => found.push((offset, bytes.len() - rest.len() - offset)),
            None => return (found, offset),
        }
    }
}

#[test]
fn foreign_older_newer_and_short_files_are_told_apart() {
    let folder = Folder::new();
    let whole = builder().bytes();
    let with = |at: usize, value: u32| {
        let mut bytes = whole.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    assert!(matches!(folder.open(b"#!/bin/sh\n"), Err(TraceError::NotOurs { .. })));
    // A file of zeros is one whose recorder was killed before its head was whole: no trace, and no error in a folder.
    assert!(matches!(folder.open(&[0; 5000]), Err(TraceError::Short { .. })));
    let run = Run::open(folder.path()).unwrap();
    assert_eq!((run.threads.len(), run.unreadable.len(), run.empty.len()), (0, 0, 1));
    assert!(run.about_empty().unwrap().contains("nothing has been written to it"));
    assert!(
        matches!(folder.open(&with(8, VERSION + 1)), Err(TraceError::Newer { found, .. }) if found == VERSION + 1)
    );
    assert!(matches!(folder.open(&with(8, u32::MAX)), Err(TraceError::Newer { .. })));
    assert!(matches!(folder.open(&with(8, 0)), Err(TraceError::Short { .. })));
    assert!(matches!(folder.open(&with(12, 512)), Err(TraceError::BadHeader { what: "unit", .. })));
    for (at, value, expected) in
        [(0, 0, "magic number"), (12, 4096, "header length"), (28, 64, "tick shift"), (32, 2, "clock")]
    {
        let error = folder.open(&with(HEADER + at, value)).unwrap_err();
        assert!(matches!(error, TraceError::BadHeader { what, .. } if what == expected), "{error}");
    }
    let error = folder.open(&with(HEADER + 8, VERSION - 1)).unwrap_err();
    assert!(matches!(error, TraceError::Older { .. }), "{error}");
    for length in [0, 1, MAGIC.len() - 1, MAGIC.len(), MAGIC.len() + 3, 200, UNIT_BYTES, HEADER, RECORDS - 1]
    {
        let error = folder.open(&whole[..length]).unwrap_err();
        assert!(
            matches!(error, TraceError::Short { bytes, .. } if bytes == length as u64),
            "{length}: {error}"
        );
    }
    assert_eq!(folder.open(&whole[..RECORDS]).unwrap().events().count(), 0);
    let missing = ThreadTrace::open(folder.path().join("missing.trace")).unwrap_err();
    assert!(matches!(missing, TraceError::Io { .. }) && missing.to_string().contains("missing.trace"));
}

#[test]
fn errors_name_the_file_and_both_versions() {
    let folder = Folder::new();
    let mut bytes = builder().bytes();
    for (found, what, remedy) in
        [(VERSION + 1, "newer", "update syn"), (VERSION - 1, "older", "the release that wrote it")]
    {
        bytes[8..12].copy_from_slice(&found.to_le_bytes());
        let message = folder.open(&bytes).unwrap_err().to_string();
        for part in ["1-1-0.trace", &format!("format {found}"), &format!("{what} than {VERSION}"), remedy] {
            assert!(message.contains(part), "{part:?} in {message:?}");
        }
    }
}

#[test]
fn cut_at_every_byte_everything_before_is_still_read() {
    let folder = Folder::new();
    let whole = ended().bytes();
    let (records, end) = records(&whole);
    for cut in RECORDS..=end {
        let trace = folder.open(&whole[..cut]).unwrap();
        let mut events = trace.events();
        let read = events.by_ref().count();
        let complete = records.iter().filter(|(offset, length)| offset + length <= cut).count();
        assert_eq!(read, complete, "cut at {cut}");
        let boundary = records.get(complete).map_or(end, |&(offset, _)| offset);
        let expected = match cut {
            _ if cut == end => Ending::Whole,
            _ if cut == boundary => Ending::CutBetween { bytes: cut as u64 },
            _ => Ending::CutOff { offset: boundary as u64 },
        };
        assert_eq!(events.ending(), Some(expected), "cut at {cut}");
    }
}

#[test]
fn a_cut_between_records_shows_in_header_and_length() {
    let folder = Folder::new();
    let ending = |bytes: &[u8]| {
        let trace = folder.open(bytes).unwrap();
        let mut events = trace.events();
        events.by_ref().for_each(drop);
        events.ending().unwrap()
    };
    let exec = |failed: bool| {
        let builder = builder()
            .header(|header| *header.state.get_mut() = STATE_PROCESS_ENDED)
            .flags(BEGAN)
            .call(Call::Execve, 6_000, 0, 0, &[], &[b"/bin/x"], &[]);
        let builder =
            if failed { builder.fail(Call::Execve, 6_100, 9, 2, &[], &[b"/bin/x"]) } else { builder };
        builder.bytes()
    };
    assert_eq!(ending(&exec(false)), Ending::Whole);
    let cut = Ending::CutBetween { bytes: exec(true).len() as u64 };
    assert_eq!(ending(&exec(true)), cut, "what the process did after it is missing");
    // Not ended: all that is taken is there, whatever is in it.
    let killed = builder().bytes();
    assert_eq!((ending(&killed), killed.len()), (Ending::Whole, 2 * UNIT_BYTES));
    let (_, end) = records(&killed);
    for length in [RECORDS, end, end + 1, killed.len() - 1] {
        assert_eq!(ending(&killed[..length]), Ending::CutBetween { bytes: length as u64 });
    }
    // The record of the end may be among those that could not be written.
    let dropped = builder().header(|header| {
        *header.state.get_mut() = STATE_PROCESS_ENDED;
        *header.dropped.get_mut() = 1;
    });
    assert_eq!(ending(&dropped.bytes()), Ending::Whole);
}

#[test]
fn damage_to_any_byte_leaves_what_precedes_it() {
    let folder = Folder::new();
    let whole = builder().bytes();
    let (records, end) = records(&whole);
    for at in RECORDS..end {
        for change in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            let trace = folder.open(&bytes).unwrap();
            let intact = records.iter().filter(|(offset, length)| offset + length <= at).count();
            let read: Vec<u64> = trace.events().map(|event| event.offset).collect();
            assert!(read.len() >= intact, "damage at {at}");
            assert!(
                read.iter().zip(&records).take(intact).all(|(found, (offset, _))| *found == *offset as u64)
            );
        }
    }
    for at in (0..size_of::<FileHead>()).chain(UNIT_BYTES..HEADER + size_of::<Header>()) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        // Whatever the header now claims, opening the run and asking it everything must not panic.
        folder.file(&bytes);
        let run = Run::open(folder.path()).unwrap();
        // The whole file is no trace where its head says that no unit, or where the chunk's says that it is none.
        assert!(run.threads.len() + run.unreadable.len() <= 1);
        run.application_span_ns();
        run.unobserved();
    }
}

/// Three threads in one file, whose chunks hold two records each.
fn shared() -> (Vec<u8>, [TraceBuilder; 3]) {
    let threads = [0, 1, 2].map(|number| {
        let thread = TraceBuilder::new(11, 11 + number).starts(10 * u64::from(number));
        (0..9).fold(thread, |thread, at| {
            let numbers = [i64::from(number), at];
            thread.call(Call::Read, 1_000 + 10 * at as u64, 5, at, &numbers, &[], &[])
        })
    });
    (builder::file(&threads.each_ref(), 2), threads)
}

/// Of each thread in a file: its id, how many events it has, and how they end.
fn found(folder: &Folder, bytes: &[u8]) -> Vec<(u32, usize, Ending)> {
    let traces = ThreadTrace::open_all(folder.file(bytes)).unwrap();
    let one = |trace: ThreadTrace| {
        let mut events = trace.events();
        let count = events.by_ref().count();
        (trace.header().tid, count, events.ending().unwrap())
    };
    traces.into_iter().map(|trace| one(trace.unwrap())).collect()
}

#[test]
fn threads_of_a_file_are_read_one_by_one() {
    let folder = Folder::new();
    let (bytes, threads) = shared();
    assert_eq!(found(&folder, &bytes), [11, 12, 13].map(|tid| (tid, 9, Ending::Whole)));
    assert!(matches!(folder.open(&bytes), Err(TraceError::Several { found: 3, .. })));
    for (trace, thread) in ThreadTrace::open_all(folder.file(&bytes)).unwrap().into_iter().zip(threads) {
        assert_eq!(trace.unwrap().contiguous(), thread.contiguous());
    }
    assert_eq!(Run::open(folder.path()).unwrap().processes.len(), 1);
}

#[test]
fn a_chunk_whose_head_was_never_written_is_skipped() {
    let folder = Folder::new();
    let (mut bytes, _) = shared();
    // A thread that was killed took three units, and began to fill in a header.
    let units = (bytes.len() / UNIT_BYTES) as u64 + 3;
    bytes.resize(units as usize * UNIT_BYTES, 0);
    let at = bytes.len() - 3 * UNIT_BYTES + CHUNK_HEAD_BYTES;
    bytes[at..at + 8].copy_from_slice(&MAGIC);
    bytes[16..24].copy_from_slice(&units.to_le_bytes());
    assert_eq!(found(&folder, &bytes), [11, 12, 13].map(|tid| (tid, 9, Ending::Whole)));
}

#[test]
fn a_file_that_is_cut_lacks_the_ends_of_its_threads() {
    let folder = Folder::new();
    let (bytes, _) = shared();
    // Each thread has five chunks; of the fourth, that of the last thread is missing, and all of the fifth.
    let cut = bytes.len() - 4 * UNIT_BYTES;
    let ending = Ending::CutBetween { bytes: cut as u64 };
    assert_eq!(found(&folder, &bytes[..cut]), [(11, 8, ending), (12, 8, ending), (13, 6, ending)]);
}

#[test]
fn a_chunk_that_is_damaged_ends_its_thread_alone() {
    let folder = Folder::new();
    let (mut bytes, _) = shared();
    // The second chunk of the second thread.
    let at = 5 * UNIT_BYTES;
    bytes[at] ^= 1;
    let behind = Ending::Damaged { offset: at as u64 + 3 * UNIT_BYTES as u64, fault: Fault::MissingChunk };
    let expected = [(11, 9, Ending::Whole), (12, 2, behind), (13, 9, Ending::Whole)];
    assert_eq!(found(&folder, &bytes), expected);
    // Its first one: what the others hold is nobody's, which is said.
    bytes[2 * UNIT_BYTES] ^= 1;
    folder.file(&bytes);
    let run = Run::open(folder.path()).unwrap();
    assert_eq!((run.threads.len(), run.unreadable.len()), (2, 1));
}

/// A generator with a fixed seed, so that a failure comes back.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // Marsaglia, "Xorshift RNGs" (2003), with the multiplication of Vigna's xorshift64*.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

fn event_of<'a>(record: &record::Record<'a>) -> Event<'a> {
    Event {
        call: record.call,
        flags: record.flags,
        start: 0,
        end: record.times.end,
        cpu_before: None,
        cpu_after: None,
        result: record.result,
        errno: record.errno,
        numbers: record.numbers,
        texts: record.texts,
        list: record.list,
        offset: 0,
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut random = Random(0x5eed_0001);
    let mut bytes = vec![0u8; 600];
    let mut descriptors = Descriptors::new("/", 1);
    let mut decoded = 0;
    for _ in 0..200_000 {
        let length = random.below(bytes.len());
        for byte in &mut bytes[..length] {
            *byte = random.next() as u8;
        }
        // Mostly a length that fits and a call that exists, so that the fields behind them are reached too.
        if length > 8 && random.below(4) > 0 {
            let call = 2 * Call::ALL[random.below(Call::ALL.len())] as u64;
            let front = [random.below(127) as u8 + 1, call as u8 | 0x80, (call >> 7) as u8];
            bytes[..3].copy_from_slice(&front);
        }
        let mut rest = &bytes[..length];
        let mut memory = Reader::default();
        while let Ok(Some(record)) = record::decode(&mut memory, &mut rest) {
            decoded += 1;
            assert!(record.list.iter().count() == record.list.len() && record.list.len() <= MAX_RECORD_BYTES);
            descriptors.apply(&event_of(&record), 0, 0);
        }
    }
    assert!(decoded > 100, "{decoded} records decoded");
}

#[test]
fn damaged_records_never_panic() {
    let whole = builder().bytes();
    let (_, end) = records(&whole);
    let mut random = Random(0x5eed_0002);
    for _ in 0..50_000 {
        let mut bytes = whole[RECORDS..end].to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        let mut descriptors = Descriptors::new("/", 1);
        let mut rest = &bytes[..];
        let mut memory = Reader::default();
        while let Ok(Some(record)) = record::decode(&mut memory, &mut rest) {
            descriptors.apply(&event_of(&record), 0, 0);
        }
    }
}

#[test]
fn random_calls_keep_descriptors_consistent() {
    const TEXTS: [&[u8]; 10] =
        [b"", b"a", b"../b", b"/c/d", b"/", b".", b"pipe:[3]", b"r", b"w+", b"\xff\\x41"];
    const NUMBERS: [i64; 12] = [-100, -1, 0, 1, 2, 3, 4, 1030, 0o20200000, 70_000, i64::MAX, i64::MIN];
    let mut random = Random(0x5eed_0003);
    let mut descriptors = Descriptors::new("/home", 1);
    let mut alive = std::collections::HashSet::new();
    for _ in 0..200_000 {
        let call = Call::ALL[random.below(Call::ALL.len())];
        let (numbers, texts, _) = call.shape();
        let numbers: Vec<i64> = (0..numbers).map(|_| NUMBERS[random.below(NUMBERS.len())]).collect();
        let texts: Vec<&[u8]> = (0..texts).map(|_| TEXTS[random.below(TEXTS.len())]).collect();
        let result = NUMBERS[random.below(NUMBERS.len())];
        let thread = TraceBuilder::new(1, 1).flags(random.next() as u16 & record::INNER);
        let bytes = match random.below(5) {
            0 => thread.fail(call, 1, 1, random.below(12) as i32, &numbers, &texts),
            _ => thread.call(call, 1, 1, result, &numbers, &texts, &[]),
        }
        .contiguous();
        let record = record::decode(&mut Reader::default(), &mut &bytes[HEADER_BYTES..]).unwrap().unwrap();
        let touched = descriptors.apply(&event_of(&record), 0, 0);
        alive.extend(touched.opened);
        if call == Call::Pipe && touched.opened.is_some() {
            alive.extend(touched.opened.map(|reader| reader + 1));
        }
        for released in &touched.released {
            alive.remove(released);
        }
        for path in touched.path.iter().chain(&touched.second_path) {
            assert!(path.starts_with('/') && !path.split('/').any(|part| part == ".."), "{call:?}: {path}");
        }
    }
    let found: std::collections::HashSet<_> =
        (-1..70_001).filter_map(|fd| descriptors.descriptor(fd)).collect();
    assert!(found.iter().all(|id| alive.contains(id)), "what a descriptor stands for was never released");
}

#[test]
fn random_headers_never_panic() {
    let folder = Folder::new();
    let whole = builder().bytes();
    let mut random = Random(0x5eed_0004);
    for _ in 0..1_000 {
        let mut bytes = whole.clone();
        // Everything behind the fields that decide whether the file is read at all.
        for byte in &mut bytes[HEADER + 36..HEADER + 320] {
            *byte = if random.below(3) == 0 { 0xff } else { random.next() as u8 };
        }
        bytes[HEADER + 28] = random.below(21) as u8;
        bytes[HEADER + 32] = random.below(2) as u8;
        folder.file(&bytes);
        let run = Run::open(folder.path()).unwrap();
        let [thread] = &run.threads[..] else { panic!("one readable thread") };
        for (event, measured) in thread.measured() {
            for segment in [measured.before, measured.call] {
                let parts =
                    [segment.cpu_ns, segment.waited_ns, segment.unmeasured_ns, segment.preempted_ns()];
                assert_eq!(parts.iter().sum::<u64>(), segment.wall_ns);
            }
            assert!(thread.start_ns(&event) <= thread.end_ns(&event));
        }
        if let Some((start, end)) = run.application_span_ns() {
            assert!(start <= end);
        }
        run.balances();
    }
}
