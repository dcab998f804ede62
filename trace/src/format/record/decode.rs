//! Reading records.

use super::text::Text;
use super::{
    COMPLETE, CPU_AFTER, CPU_BEFORE, FAILED, Flags, MAX_RECORD_BYTES, PROCESSOR, SIGNAL, Times, text_field,
};
use crate::calls::{Call, MAX_NUMBERS, MAX_TEXTS};
use crate::dictionary::{self, BODY_FLAGS, Body};
use crate::varint::{self, unzigzag};

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

impl Front {
    /// Room for one.
    pub(crate) const NOTHING: Front = Front {
        call: Call::ALL[0],
        flags: 0,
        times: Times { end: 0, took: 0, cpu_before: 0, cpu_after: 0 },
        result: 0,
        errno: 0,
    };
}

/// Where a record goes: zeros and empty texts stand behind as many arguments as the call has. It is written where it is wanted: what
/// was written in pieces is slow to be moved as a whole.
pub(crate) struct Room<'r, 'a> {
    pub(crate) front: &'r mut Front,
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
    let mut front = Front::NOTHING;
    let room = Room { front: &mut front, numbers: &mut numbers, texts: &mut texts, list: &mut list };
    if !decode_into::<true>(dictionary, bytes, room)? {
        return Ok(None);
    }
    let Front { call, flags, times, result, errno } = front;
    Ok(Some(Record { call, flags, times, result, errno, numbers, texts, list }))
}

/// The same, put where it is wanted; false at the end of the records. Without `WHOLE` it may leave out outcome and arguments, if they are
/// well-formed and say nothing of when the call was or what it was inside of.
#[inline]
pub(crate) fn decode_into<'a, const WHOLE: bool>(
    dictionary: &mut dictionary::Reader<'a>,
    bytes: &mut &'a [u8],
    room: Room<'_, 'a>,
) -> Result<bool, Fault> {
    if bytes.first().is_none_or(|&byte| byte == 0) {
        return Ok(false);
    }
    let mut rest = *bytes;
    let length = varint::read(&mut rest).ok_or(Fault::CutOff)?;
    if length > MAX_RECORD_BYTES as u64 {
        return Err(Fault::WrongLength);
    }
    let Some((mut body, behind)) = rest.split_at_checked(length as usize) else {
        return Err(Fault::CutOff);
    };
    decode_body::<WHOLE>(dictionary, &mut body, room)?;
    if !body.is_empty() {
        return Err(Fault::WrongLength);
    }
    *bytes = behind;
    Ok(true)
}

#[inline(always)]
fn decode_body<'a, const WHOLE: bool>(
    dictionary: &mut dictionary::Reader<'a>,
    body: &mut &'a [u8],
    mut room: Room<'_, 'a>,
) -> Result<(), Fault> {
    let short = Fault::WrongLength;
    let key = varint::read(body).ok_or(short)?;
    if key & 1 == 1 {
        return decode_known::<WHOLE>(dictionary, key, body, room);
    }
    let call = Call::from_id(key >> 1).ok_or(Fault::UnknownCall(key >> 1))?;
    let flags = read_flags(body)?;
    (room.front.call, room.front.flags) = (call, flags);
    read_times(body, flags, &mut room.front.times)?;
    if !WHOLE && may_be_left_out(call, flags, body) {
        *body = &[];
        return Ok(());
    }
    let rest = *body;
    decode_rest(dictionary, body, &mut room)?;
    remember(dictionary, &room, rest);
    Ok(())
}

/// A record that names the body it has.
#[inline]
fn decode_known<'a, const WHOLE: bool>(
    dictionary: &mut dictionary::Reader<'a>,
    key: u64,
    body: &mut &'a [u8],
    mut room: Room<'_, 'a>,
) -> Result<(), Fault> {
    let place = key >> 2;
    let known = usize::try_from(place).ok().and_then(|place| dictionary.body(place));
    let known = known.ok_or(Fault::UnknownPlace(place))?;
    let own = if key & 2 == 0 { 0 } else { read_flags(body)? };
    let (call, mut rest) = (known.call, known.rest);
    let flags = known.flags & BODY_FLAGS | own & !BODY_FLAGS;
    (room.front.call, room.front.flags) = (call, flags);
    read_times(body, flags, &mut room.front.times)?;
    if !WHOLE && !tells_of_time(call) {
        return Ok(());
    }
    decode_rest(dictionary, &mut rest, &mut room)
}

/// Calls whose arguments say how many calls a record stands for, or what the next ones are inside of.
fn tells_of_time(call: Call) -> bool {
    matches!(call, Call::Repeats | Call::Entered)
}

/// Whether the rest of a record is as many well-formed integers as it should be, which nobody is to remember.
#[inline(always)]
fn may_be_left_out(call: Call, flags: Flags, rest: &[u8]) -> bool {
    let (numbers, texts, lists) = call.shape();
    let (failed, complete) = (flags & FAILED != 0, flags & COMPLETE != 0);
    if call.recurs() || tells_of_time(call) || texts + lists > 0 {
        return false;
    }
    if complete && !failed && call.requested().is_none() {
        return false;
    }
    let integers = numbers + usize::from(failed || !complete);
    // So few bytes that none of them can be too large.
    rest.len() < integers + varint::MAX_BYTES - 1
        && rest.last().is_none_or(|&byte| byte < 0x80)
        && rest.iter().filter(|&&byte| byte < 0x80).count() == integers
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
fn read_times(body: &mut &[u8], flags: Flags, times: &mut Times) -> Result<(), Fault> {
    let mut next = || varint::read(body).ok_or(Fault::WrongLength);
    let (gap, took) = (unzigzag(next()?) as u64, next()?);
    (times.end, times.took) = (gap.wrapping_add(took), took);
    times.cpu_before = if flags & CPU_BEFORE != 0 { next()? } else { 0 };
    times.cpu_after = if flags & CPU_AFTER != 0 { next()? } else { 0 };
    Ok(())
}

/// Keeps the body of a record that stood at full length, if a writer does.
#[inline(always)]
fn remember<'a>(dictionary: &mut dictionary::Reader<'a>, room: &Room<'_, 'a>, rest: &'a [u8]) {
    let Room { front: record, numbers: all, list, .. } = room;
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
    body: &mut &'a [u8],
    room: &mut Room<'_, 'a>,
) -> Result<(), Fault> {
    let short = Fault::WrongLength;
    let Room { front, numbers, texts, list } = room;
    let (call, flags) = (front.call, front.flags);
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
    (front.result, front.errno) = (result, errno);
    Ok(())
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
