//! One record: a call that was made, written by the thread that made it.
//!
//! | field | form | when |
//! |---|---|---|
//! | length | varint: bytes after this field; never 0 | always |
//! | call | varint: number in the table of calls | always |
//! | flags | byte, see below | always |
//! | end | varint: units since the end of the record before (the first: since the header's start) | always |
//! | took | varint: units from entry to return | always |
//! | cpu before | varint: thread CPU ns from the previous CPU reading to the entry of the call | `CPU_BEFORE` |
//! | cpu after | varint: thread CPU ns from the previous CPU reading to the return of the call | `CPU_AFTER` |
//! | errno | varint; the result is -1 | `FAILED` |
//! | result | zigzag varint | neither `FAILED` nor `COMPLETE` |
//! | integers | zigzag varints, as the table says | per call |
//! | texts | varint length, bytes | per call |
//! | list | varint count, zigzag varint differences | per call |
//!
//! The area behind the last record is zero. The first byte of the length is stored last, with release order: a
//! record is in the trace entirely or not at all, whatever ends the process.

use crate::calls::{Call, MAX_NUMBERS, MAX_TEXTS};
use crate::varint::{self, unzigzag, zigzag};
use core::sync::atomic::{AtomicU8, Ordering};

/// The call failed; errno stands in place of the result.
pub const FAILED: u8 = 1;
/// The call came from a library inside another call, not from the application.
pub const INNER: u8 = 2;
/// A CPU reading was taken at entry.
pub const CPU_BEFORE: u8 = 4;
/// A CPU reading was taken at return.
pub const CPU_AFTER: u8 = 8;
/// Since the CPU reading before, the thread gave up its processor of its own accord: it waited for something.
pub const WAITED: u8 = 16;
/// The result is the byte count that was asked for.
pub const COMPLETE: u8 = 32;
/// Recorded from a signal handler that interrupted the writing of another record.
pub const SIGNAL: u8 = 64;
/// Written before the call, because it may not return.
pub const BEGAN: u8 = 128;

/// The most bytes of one text; longer ones are cut there.
pub const MAX_TEXT_BYTES: usize = 4096;
/// The most numbers of one list; the shim splits longer ones over several records.
pub const MAX_LIST: usize = 3072;
/// No record is longer than this, its length field included.
pub const MAX_RECORD_BYTES: usize = 192 + MAX_TEXTS * (MAX_TEXT_BYTES + 3) + 3 + MAX_LIST * varint::MAX_BYTES;

/// Room to keep before the end of the mapped area for a record with these texts and this list.
#[inline(always)]
pub fn room(texts: &[&[u8]], list: &[i64]) -> usize {
    let mut bytes = 192;
    for text in texts {
        bytes += text.len().min(MAX_TEXT_BYTES) + 3;
    }
    bytes + 3 + list.len().min(MAX_LIST) * varint::MAX_BYTES
}

/// When a call ended and how long it took, in units, and the CPU readings around it, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Units since the end of the record before.
    pub end: u64,
    /// Units from entry to return.
    pub took: u64,
    /// Written when the flag `CPU_BEFORE` is set.
    pub cpu_before: u64,
    /// Written when the flag `CPU_AFTER` is set.
    pub cpu_after: u64,
}

/// Writes a record at `at` and commits it; returns its length. `outcome` is the result, or errno with `FAILED`.
///
/// # Safety
/// [`room`] bytes at `at` must be writable and zero, and the numbers, texts and list must be as many as the table
/// says for `call`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn encode<const N: usize>(
    at: *mut u8,
    call: Call,
    flags: u8,
    times: Times,
    outcome: i64,
    numbers: &[i64; N],
    texts: &[&[u8]],
    list: &[i64],
) -> usize {
    // SAFETY: every write stays inside the room that the caller vouches for.
    unsafe {
        let body = at.add(1);
        let mut to = varint::write(body, call as u64);
        to.write(flags);
        to = varint::write(to.add(1), times.end);
        to = varint::write(to, times.took);
        if flags & CPU_BEFORE != 0 {
            to = varint::write(to, times.cpu_before);
        }
        if flags & CPU_AFTER != 0 {
            to = varint::write(to, times.cpu_after);
        }
        if flags & FAILED != 0 {
            to = varint::write(to, outcome as u64);
        } else if flags & COMPLETE == 0 {
            to = varint::write(to, zigzag(outcome));
        }
        for &number in numbers {
            to = varint::write(to, zigzag(number));
        }
        for text in texts {
            let length = text.len().min(MAX_TEXT_BYTES);
            to = varint::write(to, length as u64);
            core::ptr::copy_nonoverlapping(text.as_ptr(), to, length);
            to = to.add(length);
        }
        let (_, _, lists) = call.shape();
        if lists == 1 {
            let length = list.len().min(MAX_LIST);
            to = varint::write(to, length as u64);
            let mut before = 0i64;
            for &number in &list[..length] {
                to = varint::write(to, zigzag(number.wrapping_sub(before)));
                before = number;
            }
        }
        commit(at, body, to)
    }
}

/// Writes a copy of a record that was encoded with zero times and without CPU readings, with `times` in their
/// place; returns its length.
///
/// # Safety
/// `encoded.len() + 32` bytes at `at` must be writable and zero, and `encoded` must come from [`encode`].
pub unsafe fn copy_with_times(at: *mut u8, encoded: &[u8], times: Times) -> usize {
    let mut rest = encoded;
    let parsed = varint::read(&mut rest).and_then(|_| {
        let before = rest.len();
        varint::read(&mut rest)?;
        Some(before - rest.len())
    });
    // The call number, the flags, then one byte each for the two zero times.
    let Some((call, behind)) = parsed.and_then(|call| Some((call, rest.get(3..)?))) else { return 0 };
    // SAFETY: two times take at most 20 bytes where there were two, and the length at most two more.
    unsafe {
        let body = at.add(1);
        let front = encoded.len() - rest.len() - call;
        core::ptr::copy_nonoverlapping(encoded.as_ptr().add(front), body, call + 1);
        let mut to = varint::write(body.add(call + 1), times.end);
        to = varint::write(to, times.took);
        core::ptr::copy_nonoverlapping(behind.as_ptr(), to, behind.len());
        commit(at, body, to.add(behind.len()))
    }
}

/// Stores the length in front of the body, its first byte last.
///
/// # Safety
/// `body` is `at + 1`, `end` the end of what was written there, with two more bytes of room behind it.
#[inline(always)]
unsafe fn commit(at: *mut u8, body: *mut u8, end: *mut u8) -> usize {
    let length = end as usize - body as usize;
    // SAFETY: as the caller vouches.
    unsafe {
        if length < 0x80 {
            AtomicU8::from_ptr(at).store(length as u8, Ordering::Release);
            return 1 + length;
        }
        let extra = if length < 1 << 14 { 1 } else { 2 };
        core::ptr::copy(body, body.add(extra), length);
        let mut field = [0u8; varint::MAX_BYTES];
        varint::write(field.as_mut_ptr(), length as u64);
        core::ptr::copy_nonoverlapping(field.as_ptr().add(1), body, extra);
        AtomicU8::from_ptr(at).store(field[0], Ordering::Release);
        1 + extra + length
    }
}

/// A record as it stands in the file; times are not yet summed up.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Which call.
    pub call: Call,
    /// See the constants of this module.
    pub flags: u8,
    /// Times relative to the record before.
    pub times: Times,
    /// The result, -1 on failure.
    pub result: i64,
    /// errno on failure, else 0.
    pub errno: i32,
    /// The integers, as many as the table says, then zeros.
    pub numbers: [i64; MAX_NUMBERS],
    /// The texts, as many as the table says, then empty ones.
    pub texts: [&'a [u8]; MAX_TEXTS],
    /// The list.
    pub list: List<'a>,
}

/// A list of integers, decoded when asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct List<'a> {
    count: usize,
    bytes: &'a [u8],
}

impl<'a> List<'a> {
    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.count
    }
    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// The numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = i64> + use<'a> {
        let mut bytes = self.bytes;
        let mut value = 0i64;
        (0..self.count).map_while(move |_| {
            value = value.wrapping_add(unzigzag(varint::read(&mut bytes)?));
            Some(value)
        })
    }
}

/// Why the bytes at some place are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The record goes on behind the end of the bytes.
    CutOff,
    /// A call number that is not in the table.
    UnknownCall(u64),
    /// The fields do not fill the record's length exactly.
    WrongLength,
}

/// Takes the record at the front of `bytes`. `Ok(None)`: the end of the records (a zero byte, or no bytes at all).
///
/// # Errors
/// [`Fault`] when there is something that is not a record.
#[inline]
pub fn decode<'a>(bytes: &mut &'a [u8]) -> Result<Option<Record<'a>>, Fault> {
    if bytes.first().is_none_or(|&byte| byte == 0) {
        return Ok(None);
    }
    let mut rest = *bytes;
    let length = varint::read(&mut rest).ok_or(Fault::CutOff)?;
    if length > MAX_RECORD_BYTES as u64 {
        return Err(Fault::WrongLength);
    }
    let Some((mut body, behind)) = rest.split_at_checked(length as usize) else {
        return Err(Fault::CutOff);
    };
    let record = decode_body(&mut body)?;
    if !body.is_empty() {
        return Err(Fault::WrongLength);
    }
    *bytes = behind;
    Ok(Some(record))
}

#[inline(always)]
fn decode_body<'a>(body: &mut &'a [u8]) -> Result<Record<'a>, Fault> {
    let short = Fault::WrongLength;
    let id = varint::read(body).ok_or(short)?;
    let call = Call::from_id(id).ok_or(Fault::UnknownCall(id))?;
    let (&flags, rest) = body.split_first().ok_or(short)?;
    *body = rest;
    let mut times = Times { end: varint::read(body).ok_or(short)?, ..Times::default() };
    times.took = varint::read(body).ok_or(short)?;
    if flags & CPU_BEFORE != 0 {
        times.cpu_before = varint::read(body).ok_or(short)?;
    }
    if flags & CPU_AFTER != 0 {
        times.cpu_after = varint::read(body).ok_or(short)?;
    }
    let (mut result, mut errno) = (-1, 0);
    if flags & FAILED != 0 {
        errno = varint::read(body).ok_or(short)?.min(i32::MAX as u64) as i32;
    } else if flags & COMPLETE == 0 {
        result = unzigzag(varint::read(body).ok_or(short)?);
    }
    let (number_count, text_count, list_count) = call.shape();
    let mut numbers = [0i64; MAX_NUMBERS];
    for number in &mut numbers[..number_count] {
        *number = unzigzag(varint::read(body).ok_or(short)?);
    }
    let mut texts: [&[u8]; MAX_TEXTS] = [&[]; MAX_TEXTS];
    for text in &mut texts[..text_count] {
        let length = varint::read(body).ok_or(short)?;
        let (front, behind) =
            usize::try_from(length).ok().and_then(|n| body.split_at_checked(n)).ok_or(short)?;
        (*text, *body) = (front, behind);
    }
    let mut list = List::default();
    if list_count == 1 {
        list.count = usize::try_from(varint::read(body).ok_or(short)?).map_err(|_| short)?;
        list.bytes = body;
        for _ in 0..list.count {
            varint::read(body).ok_or(short)?;
        }
    }
    if flags & (COMPLETE | FAILED) == COMPLETE {
        result = call.requested().map(|position| numbers[position]).ok_or(short)?;
    }
    Ok(Record { call, flags, times, result, errno, numbers, texts, list })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn write<const N: usize>(
        call: Call,
        flags: u8,
        outcome: i64,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    ) -> Vec<u8> {
        let mut buffer = vec![0u8; room(texts, list)];
        let times = Times { end: 1000, took: 40, cpu_before: 7, cpu_after: 9 };
        // SAFETY: the buffer has the room and is zero.
        let length =
            unsafe { encode(buffer.as_mut_ptr(), call, flags, times, outcome, numbers, texts, list) };
        buffer.truncate(length);
        buffer
    }

    #[test]
    fn a_complete_read_takes_few_bytes() {
        let bytes = write(Call::Pread, COMPLETE, 4096, &[5, 4096, 1 << 20], &[], &[]);
        assert!(bytes.len() <= 14, "{} bytes", bytes.len());
        let record = decode(&mut &bytes[..]).unwrap().unwrap();
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
            let record = decode(&mut rest).unwrap().unwrap();
            assert!(rest.is_empty());
            assert_eq!(record.texts[0], &long[..length.min(MAX_TEXT_BYTES)]);
            assert_eq!(record.texts[1], b"b");
            assert_eq!((record.errno, record.result), (2, -1));
            assert_eq!((record.times.cpu_before, record.times.cpu_after), (7, 9));
        }
    }

    #[test]
    fn lists_round_trip_up_to_their_limit() {
        let list: Vec<i64> = (0..MAX_LIST as i64 + 10).map(|n| n * 0x1234_5678_9abc).collect();
        let bytes = write(Call::MpiStartall, 0, 0, &[9], &[], &list);
        assert!(bytes.len() <= MAX_RECORD_BYTES);
        let record = decode(&mut &bytes[..]).unwrap().unwrap();
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
                let length =
                    encode(encoded.as_mut_ptr(), Call::Rename, SIGNAL, Times::default(), 0, &[], texts, &[]);
                copy_with_times(copy.as_mut_ptr(), &encoded[..length], times)
            };
            let record = decode(&mut &copy[..bytes]).unwrap().unwrap();
            assert_eq!((record.call, record.flags, record.result), (Call::Rename, SIGNAL, 0));
            assert_eq!((record.times.end, record.times.took), (times.end, times.took));
            assert_eq!(record.texts[..2], [texts[0], texts[1]]);
        }
    }

    #[test]
    fn every_cut_is_noticed() {
        let bytes = write(Call::Rename, 0, 0, &[], &[&[b'p'; 300], b"new"], &[]);
        for cut in 1..bytes.len() {
            assert_eq!(decode(&mut &bytes[..cut]).unwrap_err(), Fault::CutOff, "cut at {cut}");
        }
        assert!(decode(&mut &[][..]).unwrap().is_none());
        assert!(decode(&mut &[0, 1, 2][..]).unwrap().is_none());
    }

    #[test]
    fn damage_is_told_apart() {
        assert_eq!(decode(&mut &[3, 79, 0, 0][..]).unwrap_err(), Fault::UnknownCall(79));
        let mut bytes = write(Call::Fsync, 0, 0, &[3], &[], &[]);
        bytes[0] += 1;
        bytes.push(1);
        assert_eq!(decode(&mut &bytes[..]).unwrap_err(), Fault::WrongLength);
    }
}
