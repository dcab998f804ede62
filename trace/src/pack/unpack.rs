//! From a packed file to the traces in it. Whatever the file holds: nothing in here panics, or takes more memory than it may.

use super::coder::Decoder;
use super::columns::{Cursors, Join, Kind, move_front, move_rest};
use super::compress;
use super::records::{Records, join, parts, times_of};
use super::rounding::Packed;
use super::times::{Before, TimeCoder};
use super::{CHECKSUM_BYTES, FRONT_BYTES, MAX_RATIO, Member, PackError, Times, VERSION, is_packed};
use crate::header::HEADER_BYTES;
use crate::varint;

/// The traces, as they were added but for what was rounded.
///
/// # Errors
/// [`PackError`].
pub fn unpack(packed: &[u8]) -> Result<Vec<Member>, PackError> {
    let mut members = Vec::new();
    unpack_each(packed, |member| members.push(member))?;
    Ok(members)
}

/// Hands each trace to `take`. What it got is of no use where that fails.
///
/// # Errors
/// [`PackError`].
pub fn unpack_each(packed: &[u8], mut take: impl FnMut(Member)) -> Result<(), PackError> {
    let Front { times, traces, unpacked, columns, frame, coded } = Front::of(packed)?;
    let columns = compress::decompress(frame, columns)?;
    let decoder = Decoder::new(coded).ok_or(PackError::Damaged("its times"))?;
    let mut unpacker = Unpacker {
        cursors: Cursors::new(&columns)?,
        coder: TimeCoder::new(times),
        decoder,
        left: unpacked as usize,
    };
    for _ in 0..traces {
        take(unpacker.next()?);
    }
    let Unpacker { cursors, decoder, left, .. } = unpacker;
    match left == 0 && cursors.are_at_end() && decoder.is_at_end() {
        true => Ok(()),
        false => Err(PackError::Damaged("it holds more than its traces")),
    }
}

/// What stands in front of a packed file, and its parts.
struct Front<'a> {
    times: Times,
    traces: u64,
    unpacked: u64,
    columns: u64,
    frame: &'a [u8],
    coded: &'a [u8],
}

impl Front<'_> {
    fn of(packed: &[u8]) -> Result<Front<'_>, PackError> {
        let number = |at: usize| Some(u32::from_le_bytes(*packed.get(at..)?.first_chunk()?));
        let long = |at: usize| Some(u64::from_le_bytes(*packed.get(at..)?.first_chunk()?));
        if !is_packed(packed) {
            return Err(PackError::Damaged("its first bytes are others"));
        }
        match number(8).ok_or(PackError::CutOff)? {
            VERSION => {}
            older if older < VERSION => return Err(PackError::Older(older)),
            newer => return Err(PackError::Newer(newer)),
        }
        let numbers = [16, 24, 32, 40, 48].map(|at| long(at).unwrap_or(u64::MAX));
        let [traces, unpacked, columns, frame, coded] = numbers;
        let parts = packed.get(FRONT_BYTES..packed.len().saturating_sub(CHECKSUM_BYTES));
        let (frame, behind) = parts.and_then(|parts| split_at(parts, frame)).ok_or(PackError::CutOff)?;
        let (coded, _) = split_at(behind, coded).ok_or(PackError::CutOff)?;
        let (all, checksum) = packed.split_last_chunk().ok_or(PackError::CutOff)?;
        if crc32fast::hash(all) != u32::from_le_bytes(*checksum) {
            return Err(PackError::Damaged("its checksum is another"));
        }
        if traces == 0 {
            return Err(PackError::Damaged("it holds no traces"));
        }
        let times = match number(12) {
            Some(0) => Times::Exact,
            Some(1) => Times::Rounded,
            _ => return Err(PackError::Damaged("how its times are packed")),
        };
        if unpacked.max(columns) > packed.len() as u64 * MAX_RATIO {
            return Err(PackError::Damaged("it says more than fits into its size"));
        }
        Ok(Front { times, traces, unpacked, columns, frame, coded })
    }
}

fn split_at(bytes: &[u8], at: u64) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(usize::try_from(at).ok()?)
}

/// Takes the traces of a file out, one after the other.
struct Unpacker<'a> {
    cursors: Cursors<'a>,
    coder: TimeCoder,
    decoder: Decoder<'a>,
    /// How many bytes the traces that follow take.
    left: usize,
}

impl<'a> Unpacker<'a> {
    fn next(&mut self) -> Result<Member, PackError> {
        let name = self.name().ok_or(PackError::Damaged("the name of a trace"))?;
        let header = self.bytes(Kind::Headers, HEADER_BYTES as u64).ok_or(PackError::Damaged("a header"))?;
        let timeless = self.timeless(header)?;
        let (mut bytes, mut before) = (header.to_vec(), Before::default());
        for (record, decoded) in Records::of(&timeless) {
            let (call, flags) = (decoded.call, decoded.flags);
            let times = self.coder.code(&mut self.decoder, &mut before, call, flags, Packed::default());
            let (front, rest) = parts(record).ok_or(UNREADABLE)?;
            join(&mut bytes, front, times, flags, rest);
            if bytes.len() > self.left {
                return Err(TOO_MUCH);
            }
        }
        self.left = self.left.checked_sub(bytes.len()).ok_or(TOO_MUCH)?;
        Ok(Member { name, bytes })
    }

    /// The records of a trace with zeros for times, which are shorter than with any others.
    fn timeless(&mut self, header: &[u8]) -> Result<Vec<u8>, PackError> {
        let count = self.cursors.of(Kind::Counts as usize).and_then(varint::read).ok_or(UNREADABLE)?;
        let (mut records, mut record) = (Vec::new(), Vec::new());
        for _ in 0..count {
            record.clear();
            let mut fields = Join { cursors: &mut self.cursors, record: &mut record };
            let (key, flags) = move_front(&mut fields).ok_or(UNREADABLE)?;
            fields.record.resize(fields.record.len() + times_of(flags), 0);
            move_rest(&mut fields, (key, flags)).ok_or(UNREADABLE)?;
            varint::push(&mut records, record.len() as u64);
            records.extend_from_slice(&record);
            if header.len() + records.len() > self.left {
                return Err(TOO_MUCH);
            }
        }
        match Records::of(&records).count() as u64 == count {
            true => Ok(records),
            false => Err(UNREADABLE),
        }
    }

    /// A name that stays in its folder.
    fn name(&mut self) -> Option<String> {
        let length = varint::read(self.cursors.of(Kind::Names as usize)?)?;
        let name = std::str::from_utf8(self.bytes(Kind::Names, length)?).ok()?;
        (!name.contains(['/', '\0']) && !["", ".", ".."].contains(&name)).then(|| name.to_owned())
    }

    fn bytes(&mut self, kind: Kind, count: u64) -> Option<&'a [u8]> {
        let column = self.cursors.of(kind as usize)?;
        let (front, behind) = split_at(column, count)?;
        *column = behind;
        Some(front)
    }
}

const UNREADABLE: PackError = PackError::Damaged("a record that cannot be");
const TOO_MUCH: PackError = PackError::Damaged("its traces are longer than it says");
