//! Writing records.

use super::commit::{commit, gap};
use super::{
    COMPLETE, CPU_AFTER, CPU_BEFORE, FAILED, Flags, LOST_AFTER, LOST_BEFORE, MAX_LIST, MAX_TEXT_BYTES,
    PROCESSOR, Times,
};
use crate::calls::Call;
use crate::dictionary::{self, BODY_FLAGS, Body, Writer};
use crate::repeats::LENGTH;
use crate::varint::{self, zigzag};

/// Room to keep before the end of the mapped area for a record with these texts and this list.
#[inline(always)]
pub fn room(texts: &[&[u8]], list: &[i64]) -> usize {
    let mut bytes = 192 + LENGTH;
    for text in texts {
        bytes += text.len().min(MAX_TEXT_BYTES) + 3;
    }
    bytes + 3 + list.len().min(MAX_LIST) * varint::MAX_BYTES
}

/// Writes a record at `at` and commits it; returns its length: 0 when it was counted in the record before. `outcome`
/// is the result, or errno with `FAILED`. Without a memory, the record stands for itself.
///
/// # Safety
/// [`room`] bytes at `at` must be writable and zero, and the numbers, texts and list must be as many as the table
/// says for `call`. The latest record that was written with this memory must still be where it was, unless
/// [`Writer::moving`] was called before.
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
        // SAFETY: as the caller vouches.
        return unsafe {
            dictionary.moving();
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
    // SAFETY: as the caller vouches; the room has place for the record of a row besides.
    unsafe {
        let [latest, before, _] = dictionary.turns;
        let row = if is_idle && known && dictionary.comes_by_turns(place) {
            dictionary.keep_row(at)
        } else {
            dictionary.moving();
            0
        };
        let at = at.add(row);
        let length = if known {
            encode_known(at, place, flags, times)
        } else {
            let length =
                encode_whole(Some(dictionary), at, call, flags, times, outcome, numbers, texts, list);
            dictionary.remember(place, &body);
            length
        };
        dictionary.repeats.latest = place + 1;
        if is_idle {
            dictionary.turns = [place as u16 + 1, latest, before];
        }
        row + length
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
// The recorder runs it at the start of every process.
#[unsafe(link_section = ".text.startup")]
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
// The recorder runs it at the start of every process.
#[unsafe(link_section = ".text.startup")]
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
