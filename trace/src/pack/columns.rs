//! The columns of a packed trace, and how records are taken apart and put together.

use super::rounding::{Packed, WHOLE, join_index, split_index};
use super::{PackError, Times};
use crate::record;
use crate::varint::{self, unzigzag, zigzag};
use std::io::Read;

/// The most bytes of a record beside its own front and rest: its length and four times.
const TIMES_BYTES: usize = 3 + 4 * varint::MAX_BYTES;

/// A record in two parts, without its times.
pub(super) struct Split<'a> {
    /// Key, and flags where the key says that they follow.
    front: &'a [u8],
    /// From the outcome on; a record that names a known body has none.
    rest: &'a [u8],
    is_whole: bool,
    readings: Readings,
}

/// Which CPU readings a record has.
#[derive(Clone, Copy)]
pub(super) struct Readings {
    before: bool,
    after: bool,
}

impl<'a> Split<'a> {
    /// Takes apart a whole record, its length field included.
    pub(super) fn of(record: &'a [u8]) -> Option<Split<'a>> {
        let mut body = record;
        varint::read(&mut body)?;
        let whole = body;
        let (is_whole, readings) = read_front(&mut body)?;
        let front = &whole[..whole.len() - body.len()];
        for _ in 0..2 + usize::from(readings.before) + usize::from(readings.after) {
            varint::read(&mut body)?;
        }
        Some(Split { front, rest: body, is_whole, readings })
    }
}

/// Reads key and flags: whether a body follows, and which readings.
fn read_front(body: &mut &[u8]) -> Option<(bool, Readings)> {
    let key = varint::read(body)?;
    let mut flags = 0;
    if key & 3 != 1 {
        let (&first, behind) = body.split_first()?;
        (flags, *body) = (first, behind);
    }
    let readings =
        Readings { before: flags & record::CPU_BEFORE != 0, after: flags & record::CPU_AFTER != 0 };
    Some((key & 1 == 0, readings))
}

/// Where each column stands in a file.
#[derive(Clone, Copy)]
enum Column {
    Fronts,
    Lengths,
    Rests,
    Gaps,
    GapsHigh,
    Took,
    TookHigh,
    Cpu,
    CpuHigh,
    /// Times that are not rounded.
    Whole,
}
const COLUMNS: usize = 10;

/// The records of a trace, column by column.
#[derive(Default)]
pub(super) struct Columns {
    bytes: [Vec<u8>; COLUMNS],
    records: usize,
}

impl Columns {
    /// Adds a record.
    pub(super) fn push(&mut self, split: &Split<'_>, times: Packed, exact: Times) {
        self.records += 1;
        self.of(Column::Fronts).extend_from_slice(split.front);
        if split.is_whole {
            push_varint(self.of(Column::Lengths), split.rest.len() as u64);
            self.of(Column::Rests).extend_from_slice(split.rest);
        }
        self.push_time(Column::Gaps, Column::GapsHigh, times.gap, exact);
        self.push_time(Column::Took, Column::TookHigh, times.took, exact);
        for (is_there, cpu) in
            [(split.readings.before, times.cpu_before), (split.readings.after, times.cpu_after)]
        {
            if is_there {
                self.push_time(Column::Cpu, Column::CpuHigh, cpu, exact);
            }
        }
    }

    fn of(&mut self, column: Column) -> &mut Vec<u8> {
        &mut self.bytes[column as usize]
    }

    fn push_time(&mut self, low: Column, high: Column, value: i64, times: Times) {
        match times {
            Times::Exact => push_varint(self.of(low), zigzag(value)),
            Times::Rounded => {
                let index = split_index(value);
                self.of(low).push(index[0]);
                self.of(high).push(index[1]);
                if index == WHOLE {
                    push_varint(self.of(Column::Whole), zigzag(value));
                }
            }
        }
    }

    /// The most bytes that the records can take together.
    pub(super) fn unpacked_bytes(&self) -> u64 {
        let written: usize = self.bytes.iter().map(Vec::len).sum();
        (self.records * TIMES_BYTES + written) as u64
    }

    /// Appends the columns, compressed, each behind its two lengths.
    pub(super) fn write(&self, packed: &mut Vec<u8>, level: i32) {
        for column in &self.bytes {
            // A level of zstd's own and memory for the result are all that it needs.
            let compressed = zstd::bulk::compress(column, level).expect("zstd compresses any bytes");
            packed.extend_from_slice(&(column.len() as u64).to_le_bytes());
            packed.extend_from_slice(&(compressed.len() as u64).to_le_bytes());
            packed.extend_from_slice(&compressed);
        }
    }

    /// Reads what `write` wrote, but no more than `budget` bytes of it, for `records` records.
    pub(super) fn read(mut packed: &[u8], budget: u64, records: u64) -> Result<Columns, PackError> {
        let mut columns = Columns::default();
        let too_much = PackError::Damaged("it says more than fits into its size");
        let mut left = records
            .checked_mul(TIMES_BYTES as u64)
            .and_then(|bytes| budget.checked_sub(bytes))
            .ok_or(too_much)?;
        columns.records = records as usize;
        for column in &mut columns.bytes {
            let length = take_long(&mut packed)?;
            left = left.checked_sub(length).ok_or(too_much)?;
            let compressed = usize::try_from(take_long(&mut packed)?).map_err(|_| PackError::CutOff)?;
            let (front, behind) = packed.split_at_checked(compressed).ok_or(PackError::CutOff)?;
            packed = behind;
            let decoder = zstd::stream::read::Decoder::with_buffer(front);
            let read = decoder.and_then(|decoder| decoder.take(length + 1).read_to_end(column));
            if read.ok() != Some(length as usize) {
                return Err(PackError::Damaged("a column does not have its length"));
            }
        }
        if packed.iter().any(|&byte| byte != 0) {
            return Err(PackError::Damaged("something stands behind its columns"));
        }
        Ok(columns)
    }

    /// Puts the records together again, behind what is in `trace`.
    pub(super) fn join(&self, times: Times, trace: &mut Vec<u8>) -> Result<(), PackError> {
        let mut cursors = Cursors { left: self.bytes.each_ref().map(Vec::as_slice), times };
        let mut record = Vec::new();
        for _ in 0..self.records {
            record.clear();
            cursors.record(&mut record).ok_or(PackError::Damaged("a column ends too early"))?;
            push_varint(trace, record.len() as u64);
            trace.extend_from_slice(&record);
        }
        if cursors.left.iter().any(|column| !column.is_empty()) {
            return Err(PackError::Damaged("a column is longer than its records"));
        }
        Ok(())
    }
}

/// How far each column has been read.
struct Cursors<'a> {
    left: [&'a [u8]; COLUMNS],
    times: Times,
}

impl Cursors<'_> {
    /// Appends the next record without its length.
    fn record(&mut self, record: &mut Vec<u8>) -> Option<()> {
        let fronts = &mut self.left[Column::Fronts as usize];
        let before = *fronts;
        let (is_whole, readings) = read_front(fronts)?;
        record.extend_from_slice(&before[..before.len() - fronts.len()]);
        let gap = self.time(Column::Gaps, Column::GapsHigh)?;
        let took = self.time(Column::Took, Column::TookHigh)?;
        push_varint(record, gap.wrapping_add(took) as u64);
        push_varint(record, took as u64);
        for _ in 0..usize::from(readings.before) + usize::from(readings.after) {
            push_varint(record, self.time(Column::Cpu, Column::CpuHigh)? as u64);
        }
        if is_whole {
            let length = usize::try_from(varint::read(&mut self.left[Column::Lengths as usize])?).ok()?;
            let (rest, behind) = self.left[Column::Rests as usize].split_at_checked(length)?;
            self.left[Column::Rests as usize] = behind;
            record.extend_from_slice(rest);
        }
        Some(())
    }

    fn time(&mut self, low: Column, high: Column) -> Option<i64> {
        match self.times {
            Times::Exact => varint::read(&mut self.left[low as usize]).map(unzigzag),
            Times::Rounded => {
                let byte = |left: &mut &[u8]| {
                    let (&first, behind) = left.split_first()?;
                    *left = behind;
                    Some(first)
                };
                let index = [byte(&mut self.left[low as usize])?, byte(&mut self.left[high as usize])?];
                if index == WHOLE {
                    return varint::read(&mut self.left[Column::Whole as usize]).map(unzigzag);
                }
                join_index(index)
            }
        }
    }
}

fn push_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn take_long(bytes: &mut &[u8]) -> Result<u64, PackError> {
    let (front, behind) = bytes.split_first_chunk::<8>().ok_or(PackError::CutOff)?;
    *bytes = behind;
    Ok(u64::from_le_bytes(*front))
}
