//! Records, written and read.

extern crate std;
use super::decode::*;
use super::encode::*;
use super::*;
use crate::calls::*;
use crate::dictionary::{self, Writer};
use std::vec;
use std::vec::Vec;

fn write<const N: usize>(
    call: Call,
    flags: Flags,
    outcome: i64,
    numbers: &[i64; N],
    texts: &[&[u8]],
    list: &[i64],
) -> Vec<u8> {
    let mut buffer = vec![0u8; room(texts, list)];
    let times = Times { end: 1000, took: 40, cpu_before: 7, cpu_after: 9 };
    // SAFETY: the buffer has the room and is zero.
    let length =
        unsafe { encode(None, buffer.as_mut_ptr(), call, flags, times, outcome, numbers, texts, list) };
    buffer.truncate(length);
    buffer
}

#[test]
fn a_complete_read_takes_few_bytes() {
    let bytes = write(Call::Pread, COMPLETE, 4096, &[5, 4096, 1 << 20], &[], &[]);
    assert!(bytes.len() <= 14, "{} bytes", bytes.len());
    let record = decode(&mut dictionary::Reader::default(), &mut &bytes[..]).unwrap().unwrap();
    assert_eq!((record.call, record.result, record.errno), (Call::Pread, 4096, 0));
    assert_eq!(record.numbers[..3], [5, 4096, 1 << 20]);
    assert_eq!((record.times.end, record.times.took), (1000, 40));
}

#[test]
fn long_records_take_a_longer_length() {
    let long = [b'x'; 5000];
    for length in [1usize, 100, 110, 127, 128, 129, 4096, 5000] {
        let bytes =
            write(Call::Rename, FAILED | CPU_BEFORE | CPU_AFTER, 2, &[], &[&long[..length], b"b"], &[]);
        let mut rest = &bytes[..];
        let record = decode(&mut dictionary::Reader::default(), &mut rest).unwrap().unwrap();
        assert!(rest.is_empty());
        assert_eq!(record.texts[0], long[..length.min(MAX_TEXT_BYTES)]);
        assert_eq!(record.texts[1], b"b"[..]);
        assert_eq!((record.errno, record.result), (2, -1));
        assert_eq!((record.times.cpu_before, record.times.cpu_after), (7, 9));
    }
}

#[test]
fn lists_round_trip_up_to_their_limit() {
    let list: Vec<i64> = (0..MAX_LIST as i64 + 10).map(|n| n * 0x1234_5678_9abc).collect();
    let bytes = write(Call::MpiStartall, 0, 0, &[9], &[], &list);
    assert!(bytes.len() <= MAX_RECORD_BYTES);
    let record = decode(&mut dictionary::Reader::default(), &mut &bytes[..]).unwrap().unwrap();
    assert_eq!(record.list.len(), MAX_LIST);
    assert!(record.list.iter().eq(list[..MAX_LIST].iter().copied()));
}

#[test]
fn times_can_be_put_in_later() {
    for texts in [&[&b"/a"[..], b"/b"][..], &[&[b'p'; 200][..], b"q"][..]] {
        let mut encoded = vec![0u8; room(texts, &[])];
        let mut copy = vec![0u8; encoded.len() + 32];
        let times = Times { end: 123_456_789, took: 77_777, ..Times::default() };
        // SAFETY: the buffers have the room and are zero.
        let bytes = unsafe {
            let length = encode(
                None,
                encoded.as_mut_ptr(),
                Call::Rename,
                SIGNAL,
                Times::default(),
                0,
                &[],
                texts,
                &[],
            );
            copy_with_times(copy.as_mut_ptr(), &encoded[..length], times)
        };
        let record = decode(&mut dictionary::Reader::default(), &mut &copy[..bytes]).unwrap().unwrap();
        assert_eq!((record.call, record.flags, record.result), (Call::Rename, SIGNAL, 0));
        assert_eq!((record.times.end, record.times.took), (times.end, times.took));
        assert_eq!(record.texts[..2], [Text::whole(texts[0]), Text::whole(texts[1])]);
    }
}

#[test]
fn every_cut_is_noticed() {
    let bytes = write(Call::Rename, 0, 0, &[], &[&[b'p'; 300], b"new"], &[]);
    for cut in 1..bytes.len() {
        assert_eq!(
            decode(&mut dictionary::Reader::default(), &mut &bytes[..cut]).unwrap_err(),
            Fault::CutOff,
            "cut at {cut}"
        );
    }
    assert!(decode(&mut dictionary::Reader::default(), &mut &[][..]).unwrap().is_none());
    assert!(decode(&mut dictionary::Reader::default(), &mut &[0, 1, 2][..]).unwrap().is_none());
}

#[test]
fn damage_is_told_apart() {
    assert_eq!(
        decode(&mut dictionary::Reader::default(), &mut &[4, 206, 15, 0, 0][..]).unwrap_err(),
        Fault::UnknownCall(999)
    );
    let mut bytes = write(Call::Fsync, 0, 0, &[3], &[], &[]);
    bytes[0] += 1;
    bytes.push(1);
    assert_eq!(decode(&mut dictionary::Reader::default(), &mut &bytes[..]).unwrap_err(), Fault::WrongLength);
}

/// Writes records one behind the other, as a thread does.
struct Thread {
    dictionary: Writer,
    bytes: Vec<u8>,
    length: usize,
}

impl Thread {
    fn new() -> Thread {
        Thread { dictionary: Writer::NEW, bytes: vec![0; 1 << 18], length: 0 }
    }

    fn write<const N: usize>(
        &mut self,
        call: Call,
        flags: Flags,
        outcome: i64,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    ) -> usize {
        let times = Times { end: 100, took: 40, cpu_before: 7, cpu_after: 9 };
        let at = self.bytes[self.length..].as_mut_ptr();
        let dictionary = (flags & SIGNAL == 0).then_some(&mut self.dictionary);
        // SAFETY: there is room, all of it zero, and nothing moves.
        let bytes = unsafe { encode(dictionary, at, call, flags, times, outcome, numbers, texts, list) };
        self.length += bytes;
        bytes
    }

    fn read(&self) -> Vec<Record<'_>> {
        let (mut dictionary, mut rest, mut records) =
            (dictionary::Reader::default(), &self.bytes[..], Vec::new());
        while let Some(record) = decode(&mut dictionary, &mut rest).unwrap() {
            records.push(record);
        }
        assert_eq!(self.bytes.len() - rest.len(), self.length);
        records
    }
}

#[test]
fn what_was_written_before_is_short() {
    let mut thread = Thread::new();
    let list = [0x5500_0000_0000, 3, 7, 1024];
    let first = thread.write(Call::MpiWait, 0, 0, &[1, 1], &[], &list);
    thread.write(Call::Read, COMPLETE, 10, &[3, 10], &[], &[]);
    let again = thread.write(Call::MpiWait, 0, 0, &[1, 1], &[], &list);
    let waited = thread.write(Call::MpiWait, CPU_BEFORE | WAITED_BEFORE, 0, &[1, 1], &[], &list);
    thread.write(Call::MpiWait, INNER, 0, &[1, 1], &[], &list);
    assert!(first > 14 && again <= 6 && waited <= 8, "{first} {again} {waited} bytes");
    let records = thread.read();
    for index in [0, 2, 3, 4] {
        let record = &records[index];
        assert_eq!(
            (record.call, record.result, record.numbers[..2].to_vec()),
            (Call::MpiWait, 0, vec![1, 1])
        );
        assert!(record.list.iter().eq(list), "record {index}");
        assert_eq!((record.times.end, record.times.took), (100, 40));
    }
    let flags: Vec<Flags> = records.iter().map(|record| record.flags).collect();
    assert_eq!(flags, [0, COMPLETE, 0, CPU_BEFORE | WAITED_BEFORE, INNER]);
    assert_eq!(records[3].times.cpu_before, 7);
}

#[test]
fn every_body_comes_back_whatever_shares_its_place() {
    let mut thread = Thread::new();
    let mut expected = Vec::new();
    for step in 0..3000i64 {
        let (fd, offset) = (step * 7919 % 40, step * 104_729 % 900);
        let failed = step % 11 == 0;
        let (flags, outcome) = if failed { (FAILED, 5) } else { (0, offset) };
        let flags = flags | if step % 13 == 0 { SIGNAL } else { 0 };
        thread.write(Call::Dup3, flags, outcome, &[fd, offset, 0], &[], &[]);
        expected.push((flags, if failed { -1 } else { offset }, [fd, offset, 0]));
    }
    let found: Vec<_> = thread
        .read()
        .iter()
        .map(|r| (r.flags, r.result, [r.numbers[0], r.numbers[1], r.numbers[2]]))
        .collect();
    assert!(found == expected);
}

#[test]
fn a_writer_that_has_forgotten_is_understood() {
    let mut thread = Thread::new();
    for step in 0..60 {
        thread.write(Call::Fsync, 0, 0, &[step % 3], &[], &[]);
        thread.write(Call::Unlink, 0, 0, &[], &[b"/some/folder/name"], &[]);
        if step % 7 == 0 {
            thread.dictionary.forget();
        }
    }
    for (index, pair) in thread.read().chunks(2).enumerate() {
        assert_eq!(pair[0].numbers[0], index as i64 % 3);
        assert_eq!(pair[1].texts[0], b"/some/folder/name"[..]);
    }
}

#[test]
fn heads_of_paths_are_written_once() {
    let mut thread = Thread::new();
    let paths: [&[u8]; 5] =
        [b"/usr/include/bits/types.h", b"/usr/include/bits/time.h", b"/x", b"no-slash", b"no-slash"];
    let bytes: Vec<usize> =
        paths.iter().map(|path| thread.write(Call::Unlink, 0, 0, &[], &[path], &[])).collect();
    assert!(bytes[1] + 17 < bytes[0] && bytes[4] + 6 < bytes[3], "{bytes:?}");
    // What a signal handler writes is neither remembered nor does it refer to anything.
    thread.write(Call::Unlink, SIGNAL, 0, &[], &[b"/usr/include/asm/x"], &[]);
    thread.write(Call::Unlink, 0, 0, &[], &[b"/usr/include/asm/x"], &[]);
    let records = thread.read();
    for (record, path) in records.iter().zip(paths) {
        assert_eq!(record.texts[0], *path);
    }
    assert_eq!(records[5].texts[0].bytes(), records[6].texts[0].bytes());
}

#[test]
fn whole_texts_come_back() {
    let mut thread = Thread::new();
    let mut expected: Vec<Vec<u8>> = Vec::new();
    for step in 0..4000usize {
        let (folder, name) = (step * 7919 % 90, step * 104_729 % 23);
        let tail = ["", "x", "/", "a name of some length"][step % 4];
        let path = std::format!("/some/folder{folder}/{name}{tail}").into_bytes();
        let flags = if step % 17 == 0 { SIGNAL } else { 0 };
        thread.write(Call::Rename, flags, 0, &[], &[&path, &path], &[]);
        expected.push(path);
    }
    for (record, path) in thread.read().iter().zip(&expected) {
        assert_eq!((record.texts[0].bytes(), record.texts[1].bytes()), (path.into(), path.into()));
    }
    let lengths = [b"/usr/lib/a/first.so", b"/usr/lib/a/other.so", b"/usr/lib/a/first.so"]
        .map(|path| thread.write(Call::Unlink, 0, 0, &[], &[path], &[]));
    assert!(lengths[2] + 8 == lengths[1], "a place in place of eight bytes: {lengths:?}");
}

#[test]
fn idle_calls_are_counted() {
    let mut thread = Thread::new();
    let poll = |thread: &mut Thread, flags| thread.write(Call::Poll, flags, 0, &[1, 0], &[], &[]);
    poll(&mut thread, 0);
    let (made, counted) = (poll(&mut thread, 0), poll(&mut thread, 0));
    assert!(made > 0 && counted == 0);
    poll(&mut thread, 0);
    // A CPU reading has a record of its own, and so does whatever is not idle.
    poll(&mut thread, CPU_BEFORE);
    poll(&mut thread, 0);
    thread.write(Call::Poll, 0, 1, &[1, 0], &[], &[3, 1]);
    thread.write(Call::Poll, 0, 1, &[1, 0], &[], &[3, 1]);
    let records = thread.read();
    let seen: Vec<_> =
        records.iter().map(|record| (record.call, record.numbers[0], record.times.end)).collect();
    let once = (Call::Poll, 1, 100);
    assert_eq!(seen, [once, (Call::Repeats, 3, 300), once, (Call::Repeats, 1, 100), once, once]);
    assert_eq!(records[1].times.took, 120);
}

#[test]
fn places_that_hold_nothing_are_told() {
    let decode = |bytes: &[u8]| decode(&mut dictionary::Reader::default(), &mut { bytes }).unwrap_err();
    assert_eq!(decode(&[3, 4 * 9 + 1, 1, 1]), Fault::UnknownPlace(9));
    assert_eq!(decode(&[5, 0xff, 0xff, 0x7f, 1, 1]), Fault::UnknownPlace(0x1f_ffff >> 2));
    assert_eq!(decode(&[6, 2 * Call::Unlink as u8, 0, 1, 1, 0, 2 * 5 + 1]), Fault::UnknownPlace(5));
    assert_eq!(
        decode(&[7, 2 * Call::Unlink as u8, 0, 1, 1, 0, 0x80 | (2 * 5 + 1), 0]),
        Fault::UnknownPlace(5)
    );
}

/// Call, flags, times, and what a `call-entered` names.
#[cfg(feature = "std")]
type Told = (Call, Flags, Times, i64);

/// Reads all records: which call each is of and when, and why there are no more.
#[cfg(feature = "std")]
fn fronts<const WHOLE: bool>(bytes: &[u8]) -> (Vec<Told>, Option<Fault>) {
    let (mut dictionary, mut rest, mut found) = (dictionary::Reader::default(), bytes, Vec::new());
    let (mut numbers, mut texts, mut list) = ([0; MAX_NUMBERS], [Text::EMPTY; MAX_TEXTS], List::EMPTY);
    loop {
        let mut front = Front::NOTHING;
        let room = Room { front: &mut front, numbers: &mut numbers, texts: &mut texts, list: &mut list };
        match decode_into::<WHOLE>(&mut dictionary, &mut rest, room) {
            Ok(true) => {
                let Front { call, flags, times, .. } = front;
                let told = if call == Call::Entered { numbers[0] } else { 0 };
                found.push((call, flags, times, told));
            }
            end => return (found, end.err()),
        }
    }
}

#[cfg(feature = "std")]
#[test]
fn arguments_that_are_left_out_are_no_less_well_formed() {
    let mut thread = Thread::new();
    for offset in [7, 1 << 20, i64::MIN] {
        thread.write(Call::Pwrite, 0, 4096, &[3, 4096, offset], &[], &[]);
        thread.write(Call::Pread, COMPLETE, 512, &[3, 512, offset], &[], &[]);
        thread.write(Call::Pread, FAILED | CPU_AFTER, 5, &[3, 512, offset], &[], &[]);
        thread.write(Call::Fsync, 0, 0, &[3], &[], &[]);
        thread.write(Call::Entered, 0, 0, &[Call::MpiWait as i64], &[], &[]);
        thread.write(Call::MpiWait, 0, 0, &[1, 1], &[], &[1, 2, 3]);
        thread.write(Call::Unlink, 0, 0, &[], &[b"/some/folder/name"], &[]);
    }
    let whole = &thread.bytes[..thread.length];
    assert_eq!((fronts::<false>(whole).0.len(), fronts::<false>(whole)), (21, fronts::<true>(whole)));
    // Whatever any byte becomes, both see the same.
    for at in 0..whole.len() {
        for change in [1, 2, 0x40, 0x7f, 0x80, 0xff] {
            let mut damaged = whole.to_vec();
            damaged[at] ^= change;
            assert_eq!(fronts::<false>(&damaged), fronts::<true>(&damaged), "byte {at} changed by {change}");
        }
    }
}
