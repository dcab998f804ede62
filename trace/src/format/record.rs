//! One record: a call that was made, written by the thread that made it.
//!
//! | field | form | when |
//! |---|---|---|
//! | length | varint: bytes after this field; never 0 | always |
//! | key | varint: 2 × call number; or 4 × place + 1 (+ 2 when flags follow), see below | always |
//! | flags | byte, see below | unless the key names a place without flags |
//! | processor | byte: the upper eight of the flags, see below | `PROCESSOR` in the flags byte |
//! | gap | zigzag varint: units from the end of the record before (the first: from the header's start) to the entry | always |
//! | took | varint: units from entry to return | always |
//! | cpu before | varint: thread CPU ns from the previous CPU reading to the entry of the call | `CPU_BEFORE` |
//! | cpu after | varint: thread CPU ns from the previous CPU reading to the return of the call | `CPU_AFTER` |
//! | errno | varint; the result is -1 | `FAILED` |
//! | result | zigzag varint | neither `FAILED` nor `COMPLETE` |
//! | integers | zigzag varints, as the table says | per call |
//! | texts | varint 2 × length, bytes; or varint 256 × length + 2 × place + 1, bytes behind what is at that place | per call |
//! | list | varint count, zigzag varint differences | per call |
//!
//! A key that names a place stands for the body that was last written at full length and belongs there
//! ([`crate::memory`]): errno or result, integers and list are those of that record, and nothing follows the CPU
//! readings. A record of flag `SIGNAL` is neither remembered nor named.
//!
//! Where an idle call comes again at once ([`Call::is_idle`]), a `repeats` record counts it. That one record is
//! changed in place: its `gap`, `took` and `count` are varints of eight bytes, padded, each stored at once.
//!
//! The area behind the last record is zero. The first byte of the length is stored last, with release order: a
//! record is in the trace entirely or not at all, whatever ends the process.

use crate::calls::{Call, MAX_NUMBERS, MAX_TEXTS};
use crate::dictionary::{self, BODY_FLAGS, Body, Writer};
use crate::varint::{self, unzigzag, zigzag};
use core::sync::atomic::{AtomicU8, Ordering};

/// The flags of a record. The lower eight bits are its flags byte; the upper eight, which say what became of the
/// processor, are a second byte that is there when one of them is set.
pub type Flags = u16;

/// The call failed; errno stands in place of the result.
pub const FAILED: Flags = 1;
/// The call came from a library inside another call, not from the application.
pub const INNER: Flags = 2;
/// In the file only: the second byte follows.
pub const PROCESSOR: Flags = 4;
/// The result is the byte count that was asked for.
pub const COMPLETE: Flags = 32;
/// Recorded from a signal handler that interrupted the writing of another record.
pub const SIGNAL: Flags = 64;
/// Written before the call, because it may not return.
pub const BEGAN: Flags = 128;
/// The thread's CPU clock was read at entry.
pub const CPU_BEFORE: Flags = 0x100;
/// The thread's CPU clock was read at return.
pub const CPU_AFTER: Flags = 0x200;
/// Before the call, since the CPU reading before, the thread gave up its processor of its own accord.
pub const WAITED_BEFORE: Flags = 0x400;
/// The same in the call.
pub const WAITED_AFTER: Flags = 0x800;
/// The thread lost its processor before the call, for whatever reason, and the clock was not read there.
pub const LOST_BEFORE: Flags = 0x1000;
/// The same in the call.
pub const LOST_AFTER: Flags = 0x2000;
/// All of the second byte.
pub const PROCESSOR_FLAGS: Flags = 0xff00;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// Writes a record at `at` and commits it; returns its length: 0 when it was counted in the record before. `outcome`
/// is the result, or errno with `FAILED`. Without a memory, the record stands for itself.
///
/// # Safety
/// [`room`] bytes at `at` must be writable and zero, and the numbers, texts and list must be as many as the table
/// says for `call`. The latest record that was written with this memory must still be where it was, unless
/// [`Writer::moved`] was called.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn encode<const N: usize>(
    dictionary: Option<&mut Writer>,
    at: *mut u8,
    call: Call,
    flags: Flags,
    times: Times,
    outcome: i64,
    numbers: &[i64; N],
    texts: &[&[u8]],
    list: &[i64],
) -> usize {
    let Some(dictionary) = dictionary else {
        // SAFETY: as the caller vouches.
        return unsafe { encode_whole(None, at, call, flags, times, outcome, numbers, texts, list) };
    };
    let body = if call.recurs() { Body::of(call, flags, outcome, numbers, list) } else { None };
    let Some(body) = body else {
        dictionary.moved();
        // SAFETY: as the caller vouches.
        return unsafe {
            encode_whole(Some(dictionary), at, call, flags, times, outcome, numbers, texts, list)
        };
    };
    // How the thread shared its processor in a row of polls, the reading behind it tells.
    const UNREAD: Flags = LOST_BEFORE | LOST_AFTER;
    let is_idle = flags & !(BODY_FLAGS | UNREAD) == 0 && call.is_idle(flags & FAILED != 0, outcome, numbers);
    if is_idle {
        // SAFETY: as the caller vouches.
        if let Some(bytes) = unsafe { dictionary.count_again(at, call, times, &body) } {
            return bytes;
        }
    }
    let place = body.place();
    let known = dictionary.knows(place, &body);
    // SAFETY: as the caller vouches.
    unsafe {
        dictionary.moved();
        let length = if known {
            encode_known(at, place, flags, times)
        } else {
            let length =
                encode_whole(Some(dictionary), at, call, flags, times, outcome, numbers, texts, list);
            dictionary.remember(place, &body);
            length
        };
        dictionary.repeats.latest = place + 1;
        length
    }
}

/// A record whose body has been written before.
///
/// # Safety
/// As for [`encode`].
#[inline(always)]
unsafe fn encode_known(at: *mut u8, place: usize, flags: Flags, times: Times) -> usize {
    let own_flags = flags & !BODY_FLAGS != 0;
    // SAFETY: every write stays inside the room that the caller vouches for.
    unsafe {
        let body = at.add(1);
        let mut to = varint::write(body, 4 * place as u64 + 1 + 2 * u64::from(own_flags));
        if own_flags {
            to = write_flags(to, flags);
        }
        to = write_times(to, flags, times);
        commit(at, body, to)
    }
}

/// From the end of the record before to the entry, as it is written: less than the time between the ends, and negative
/// for a call around others.
#[inline(always)]
pub(crate) fn gap(end: u64, took: u64) -> u64 {
    zigzag(end.wrapping_sub(took) as i64)
}

/// # Safety
/// Two bytes at `to` must be writable.
#[inline(always)]
unsafe fn write_flags(to: *mut u8, flags: Flags) -> *mut u8 {
    let processor = (flags >> 8) as u8;
    // SAFETY: as the caller vouches.
    unsafe {
        if processor == 0 {
            to.write(flags as u8);
            return to.add(1);
        }
        to.write((flags | PROCESSOR) as u8);
        to.add(1).write(processor);
        to.add(2)
    }
}

/// # Safety
/// Four varints at `to` must be writable.
#[inline(always)]
unsafe fn write_times(to: *mut u8, flags: Flags, times: Times) -> *mut u8 {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut to = varint::write(to, gap(times.end, times.took));
        to = varint::write(to, times.took);
        if flags & CPU_BEFORE != 0 {
            to = varint::write(to, times.cpu_before);
        }
        if flags & CPU_AFTER != 0 {
            to = varint::write(to, times.cpu_after);
        }
        to
    }
}

/// A record at full length.
///
/// # Safety
/// As for [`encode`].
#[inline(never)]
#[allow(clippy::too_many_arguments)]
unsafe fn encode_whole<const N: usize>(
    mut dictionary: Option<&mut Writer>,
    at: *mut u8,
    call: Call,
    flags: Flags,
    times: Times,
    outcome: i64,
    numbers: &[i64; N],
    texts: &[&[u8]],
    list: &[i64],
) -> usize {
    // SAFETY: every write stays inside the room that the caller vouches for.
    unsafe {
        let body = at.add(1);
        let mut to = write_flags(varint::write(body, 2 * call as u64), flags);
        to = write_times(to, flags, times);
        if flags & FAILED != 0 {
            to = varint::write(to, outcome as u64);
        } else if flags & COMPLETE == 0 {
            to = varint::write(to, zigzag(outcome));
        }
        for &number in numbers {
            to = varint::write(to, zigzag(number));
        }
        for text in texts {
            to = write_text(dictionary.as_deref_mut(), to, &text[..text.len().min(MAX_TEXT_BYTES)]);
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

/// # Safety
/// `text.len() + 4` bytes at `to` must be writable.
#[inline]
unsafe fn write_text(dictionary: Option<&mut Writer>, to: *mut u8, text: &[u8]) -> *mut u8 {
    let (head, tail) = dictionary::split(text);
    let named = dictionary.and_then(|dictionary| {
        let whole = if tail.is_empty() { None } else { dictionary.text(text) };
        whole.map(|place| (place, &[][..])).or_else(|| dictionary.head(head).map(|place| (place, tail)))
    });
    let (field, bytes) = match named {
        Some((place, behind)) => (256 * behind.len() as u64 + 2 * place as u64 + 1, behind),
        None => (2 * text.len() as u64, text),
    };
    // SAFETY: as the caller vouches.
    unsafe {
        let to = varint::write(to, field);
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        to.add(bytes.len())
    }
}

/// Of the first field of a text: the place that it names, if it names one, and how many bytes follow.
pub(crate) fn text_field(field: u64) -> (Option<usize>, u64) {
    match field & 1 {
        0 => (None, field >> 1),
        _ => (Some((field >> 1) as usize % (dictionary::HEADS + dictionary::TEXTS)), field >> 8),
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
    // The call number, the flags byte alone, then one byte each for the two zero times.
    let Some((call, behind)) = parsed.and_then(|call| Some((call, rest.get(3..)?))) else { return 0 };
    // SAFETY: two times take at most 20 bytes where there were two, and the length at most two more.
    unsafe {
        let body = at.add(1);
        let front = encoded.len() - rest.len() - call;
        core::ptr::copy_nonoverlapping(encoded.as_ptr().add(front), body, call + 1);
        let mut to = varint::write(body.add(call + 1), gap(times.end, times.took));
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
pub(crate) unsafe fn commit(at: *mut u8, body: *mut u8, end: *mut u8) -> usize {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Which call.
    pub call: Call,
    /// See the constants of this module.
    pub flags: Flags,
    /// Times relative to the record before.
    pub times: Times,
    /// The result, -1 on failure.
    pub result: i64,
    /// errno on failure, else 0.
    pub errno: i32,
    /// The integers, as many as the table says, then zeros.
    pub numbers: [i64; MAX_NUMBERS],
    /// The texts, as many as the table says, then empty ones.
    pub texts: [Text<'a>; MAX_TEXTS],
    /// The list.
    pub list: List<'a>,
}

/// A text, in the two pieces in which it may stand in a trace.
#[derive(Clone, Copy, Default)]
pub struct Text<'a> {
    pub(crate) head: &'a [u8],
    pub(crate) tail: &'a [u8],
}

impl Text<'static> {
    /// No text.
    pub const EMPTY: Text<'static> = Text { head: &[], tail: &[] };
}

impl<'a> Text<'a> {
    /// A text in one piece.
    pub fn whole(bytes: &'a [u8]) -> Text<'a> {
        Text { head: &[], tail: bytes }
    }
    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }
    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Its bytes in order.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.head.iter().chain(self.tail).copied()
    }
}

#[cfg(feature = "std")]
impl<'a> Text<'a> {
    /// Its bytes in one piece.
    pub fn bytes(&self) -> std::borrow::Cow<'a, [u8]> {
        if self.head.is_empty() { self.tail.into() } else { [self.head, self.tail].concat().into() }
    }
}

impl core::fmt::Debug for Text<'_> {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(out, "\"{}{}\"", self.head.escape_ascii(), self.tail.escape_ascii())
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Text<'_>) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Text<'_> {}

impl PartialEq<[u8]> for Text<'_> {
    fn eq(&self, bytes: &[u8]) -> bool {
        bytes.strip_prefix(self.head) == Some(self.tail)
    }
}

/// A list of integers, decoded when asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct List<'a> {
    count: usize,
    bytes: &'a [u8],
}

impl List<'static> {
    /// No numbers.
    pub const EMPTY: List<'static> = List { count: 0, bytes: &[] };
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
    /// It names a body or a head of a text that has not been written before.
    UnknownPlace(u64),
    /// A chunk with what precedes is not in the file.
    MissingChunk,
}

/// What every record has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    pub(crate) call: Call,
    pub(crate) flags: Flags,
    pub(crate) times: Times,
    pub(crate) result: i64,
    pub(crate) errno: i32,
}

/// Where the arguments of a record go: zeros and empty texts stand behind as many as the call has.
pub(crate) struct Arguments<'r, 'a> {
    pub(crate) numbers: &'r mut [i64; MAX_NUMBERS],
    pub(crate) texts: &'r mut [Text<'a>; MAX_TEXTS],
    pub(crate) list: &'r mut List<'a>,
}

/// Takes the record at the front of `bytes`. `Ok(None)`: the end of the records (a zero byte, or no bytes at all).
///
/// # Errors
/// [`Fault`] when there is something that is not a record.
#[inline]
pub fn decode<'a>(
    dictionary: &mut dictionary::Reader<'a>,
    bytes: &mut &'a [u8],
) -> Result<Option<Record<'a>>, Fault> {
    let (mut numbers, mut texts, mut list) =
        ([0; MAX_NUMBERS], [Text::default(); MAX_TEXTS], List::default());
    let arguments = Arguments { numbers: &mut numbers, texts: &mut texts, list: &mut list };
    let Some(front) = decode_into(dictionary, bytes, arguments)? else { return Ok(None) };
    let Front { call, flags, times, result, errno } = front;
    Ok(Some(Record { call, flags, times, result, errno, numbers, texts, list }))
}

/// The same, with the arguments put where they are wanted.
#[inline]
pub(crate) fn decode_into<'a>(
    dictionary: &mut dictionary::Reader<'a>,
    bytes: &mut &'a [u8],
    arguments: Arguments<'_, 'a>,
) -> Result<Option<Front>, Fault> {
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
    let front = decode_body(dictionary, &mut body, arguments)?;
    if !body.is_empty() {
        return Err(Fault::WrongLength);
    }
    *bytes = behind;
    Ok(Some(front))
}

#[inline(always)]
fn decode_body<'a>(
    dictionary: &mut dictionary::Reader<'a>,
    body: &mut &'a [u8],
    mut arguments: Arguments<'_, 'a>,
) -> Result<Front, Fault> {
    let short = Fault::WrongLength;
    let key = varint::read(body).ok_or(short)?;
    if key & 1 == 1 {
        return decode_known(dictionary, key, body, arguments);
    }
    let call = Call::from_id(key >> 1).ok_or(Fault::UnknownCall(key >> 1))?;
    let flags = read_flags(body)?;
    let times = read_times(body, flags)?;
    let rest = *body;
    let front = decode_rest(dictionary, call, flags, times, body, &mut arguments)?;
    remember(dictionary, &front, arguments.numbers, arguments.list, rest);
    Ok(front)
}

/// A record that names the body it has.
#[inline]
fn decode_known<'a>(
    dictionary: &mut dictionary::Reader<'a>,
    key: u64,
    body: &mut &'a [u8],
    mut arguments: Arguments<'_, 'a>,
) -> Result<Front, Fault> {
    let place = key >> 2;
    let known = usize::try_from(place).ok().and_then(|place| dictionary.body(place));
    let known = known.ok_or(Fault::UnknownPlace(place))?;
    let own = if key & 2 == 0 { 0 } else { read_flags(body)? };
    let flags = known.flags & BODY_FLAGS | own & !BODY_FLAGS;
    let times = read_times(body, flags)?;
    decode_rest(dictionary, known.call, flags, times, &mut { known.rest }, &mut arguments)
}

#[inline(always)]
pub(crate) fn read_flags(body: &mut &[u8]) -> Result<Flags, Fault> {
    let mut next = || {
        let (&byte, rest) = body.split_first().ok_or(Fault::WrongLength)?;
        *body = rest;
        Ok(Flags::from(byte))
    };
    let flags = next()?;
    if flags & PROCESSOR == 0 {
        return Ok(flags);
    }
    Ok(flags & !PROCESSOR | next()? << 8)
}

#[inline(always)]
fn read_times(body: &mut &[u8], flags: Flags) -> Result<Times, Fault> {
    let mut next = || varint::read(body).ok_or(Fault::WrongLength);
    let (gap, took) = (unzigzag(next()?) as u64, next()?);
    Ok(Times {
        end: gap.wrapping_add(took),
        took,
        cpu_before: if flags & CPU_BEFORE != 0 { next()? } else { 0 },
        cpu_after: if flags & CPU_AFTER != 0 { next()? } else { 0 },
    })
}

/// Keeps the body of a record that stood at full length, if a writer does.
#[inline(always)]
fn remember<'a>(
    dictionary: &mut dictionary::Reader<'a>,
    record: &Front,
    all: &[i64; MAX_NUMBERS],
    list: &List<'a>,
    rest: &'a [u8],
) {
    let (numbers, _, lists) = record.call.shape();
    if !record.call.recurs() || numbers + list.len() + 2 > dictionary::WORDS || record.flags & SIGNAL != 0 {
        return;
    }
    let outcome = if record.flags & FAILED != 0 { i64::from(record.errno) } else { record.result };
    let mut values = [0; dictionary::WORDS - 2];
    values[..numbers].copy_from_slice(&all[..numbers]);
    if lists == 1 {
        for (value, number) in values[numbers..].iter_mut().zip(list.iter()) {
            *value = number;
        }
    }
    let count = numbers + list.len();
    let Some(body) = Body::of(record.call, record.flags, outcome, &[], &values[..count]) else { return };
    dictionary.remember(body.place(), dictionary::Known { call: record.call, flags: record.flags, rest });
}

#[inline(always)]
fn decode_rest<'a>(
    dictionary: &mut dictionary::Reader<'a>,
    call: Call,
    flags: Flags,
    times: Times,
    body: &mut &'a [u8],
    arguments: &mut Arguments<'_, 'a>,
) -> Result<Front, Fault> {
    let short = Fault::WrongLength;
    let Arguments { numbers, texts, list } = arguments;
    let (mut result, mut errno) = (-1, 0);
    if flags & FAILED != 0 {
        errno = varint::read(body).ok_or(short)?.min(i32::MAX as u64) as i32;
    } else if flags & COMPLETE == 0 {
        result = unzigzag(varint::read(body).ok_or(short)?);
    }
    let (number_count, text_count, list_count) = call.shape();
    **numbers = [0; MAX_NUMBERS];
    for number in &mut numbers[..number_count] {
        *number = unzigzag(varint::read(body).ok_or(short)?);
    }
    **texts = [Text::default(); MAX_TEXTS];
    for text in &mut texts[..text_count] {
        *text = read_text(dictionary, body, flags & SIGNAL == 0)?;
    }
    **list = List::default();
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
    Ok(Front { call, flags, times, result, errno })
}

#[inline]
fn read_text<'a>(
    dictionary: &mut dictionary::Reader<'a>,
    body: &mut &'a [u8],
    remembered: bool,
) -> Result<Text<'a>, Fault> {
    let short = Fault::WrongLength;
    let (place, length) = text_field(varint::read(body).ok_or(short)?);
    let (behind, rest) = usize::try_from(length).ok().and_then(|n| body.split_at_checked(n)).ok_or(short)?;
    *body = rest;
    let text = match place.map(|place| (place, dictionary.text(place))) {
        None => Text::whole(behind),
        Some((place, Text { head: &[], .. })) if place < dictionary::HEADS => {
            return Err(Fault::UnknownPlace(place as u64));
        }
        Some((place, Text { head, .. })) if place < dictionary::HEADS => Text { head, tail: behind },
        Some((place, text)) if text.is_empty() => return Err(Fault::UnknownPlace(place as u64)),
        Some((_, text)) if behind.is_empty() => return Ok(text),
        Some(_) => return Err(short),
    };
    if remembered {
        dictionary.remember_text(text);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
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
            decode(&mut dictionary::Reader::default(), &mut &[4, 158, 1, 0, 0][..]).unwrap_err(),
            Fault::UnknownCall(79)
        );
        let mut bytes = write(Call::Fsync, 0, 0, &[3], &[], &[]);
        bytes[0] += 1;
        bytes.push(1);
        assert_eq!(
            decode(&mut dictionary::Reader::default(), &mut &bytes[..]).unwrap_err(),
            Fault::WrongLength
        );
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
}
