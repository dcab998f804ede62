//! The columns of a packed file: the same field of all records side by side.

use super::error::PackError;
use crate::calls::Call;
use crate::record::{COMPLETE, FAILED, Flags, PROCESSOR, text_field};
use crate::varint;

/// What a column holds. Its number is this + 16 × which integer of the call + 256 × the call's number.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// File names of the traces, each behind its length.
    Names,
    /// Their headers.
    Headers,
    /// How many records each has.
    Counts,
    /// Of every record.
    Keys,
    /// Where the key says that they follow.
    Flags,
    /// Of records at full length, as all that follows; by call. Errno or result.
    Outcomes,
    /// By call, and by place among its arguments.
    Integers,
    /// What stands in front of the bytes of a text; by call.
    TextFields,
    /// The bytes of texts; by call.
    Texts,
    /// Count and numbers; by call.
    Lists,
}

/// Moves fields between records and columns; an implementation says in which direction.
pub(super) trait Move {
    /// Moves a varint as it stands, and returns it. `None`: there is none.
    fn varint(&mut self, column: usize) -> Option<u64>;
    /// Moves so many bytes, and returns the last one (0 without any). `None`: there are fewer.
    fn bytes(&mut self, column: usize, count: u64) -> Option<u8>;
}

/// Moves key and flags, and returns them: 0 for flags that do not follow. The times come next.
pub(super) fn move_front(by: &mut impl Move) -> Option<(u64, Flags)> {
    let key = by.varint(Kind::Keys as usize)?;
    let mut flags = 0;
    if key & 3 != 1 {
        flags = Flags::from(by.bytes(Kind::Flags as usize, 1)?);
    }
    if flags & PROCESSOR != 0 {
        flags = flags & !PROCESSOR | Flags::from(by.bytes(Kind::Flags as usize, 1)?) << 8;
    }
    Some((key, flags))
}

/// Moves what stands behind the times; that is nothing where the key names a body.
pub(super) fn move_rest(by: &mut impl Move, (key, flags): (u64, Flags)) -> Option<()> {
    if key & 1 == 1 {
        return Some(());
    }
    let call = Call::from_id(key >> 1)?;
    let column = |kind: Kind, index: usize| kind as usize | index << 4 | (call as usize) << 8;
    if flags & FAILED != 0 || flags & COMPLETE == 0 {
        by.varint(column(Kind::Outcomes, 0))?;
    }
    let (numbers, texts, lists) = call.shape();
    for index in 0..numbers {
        by.varint(column(Kind::Integers, index))?;
    }
    for _ in 0..texts {
        let field = by.varint(column(Kind::TextFields, 0))?;
        let (_, length) = text_field(field);
        by.bytes(column(Kind::Texts, 0), length)?;
    }
    for _ in 0..lists {
        for _ in 0..by.varint(column(Kind::Lists, 0))? {
            by.varint(column(Kind::Lists, 0))?;
        }
    }
    Some(())
}

/// Columns that are being filled, by number.
#[derive(Default)]
pub(super) struct Columns(Vec<Vec<u8>>);

impl Columns {
    pub(super) fn of(&mut self, number: usize) -> &mut Vec<u8> {
        if self.0.len() <= number {
            self.0.resize_with(number + 1, Vec::new);
        }
        &mut self.0[number]
    }

    /// All of them behind their table.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let filled = || self.0.iter().enumerate().filter(|(_, column)| !column.is_empty());
        let mut bytes = Vec::new();
        varint::push(&mut bytes, filled().count() as u64);
        for (number, column) in filled() {
            varint::push(&mut bytes, number as u64);
            varint::push(&mut bytes, column.len() as u64);
        }
        filled().for_each(|(_, column)| bytes.extend_from_slice(column));
        bytes
    }
}

/// From a record to the columns.
pub(super) struct Split<'a, 'b> {
    pub(super) record: &'a [u8],
    pub(super) columns: &'b mut Columns,
}

impl Move for Split<'_, '_> {
    fn varint(&mut self, column: usize) -> Option<u64> {
        move_varint(&mut self.record, self.columns.of(column))
    }
    fn bytes(&mut self, column: usize, count: u64) -> Option<u8> {
        move_bytes(&mut self.record, self.columns.of(column), count)
    }
}

/// How far each column of a file has been read.
pub(super) struct Cursors<'a>(Vec<&'a [u8]>);

/// Columns have smaller numbers.
const NUMBERS: u64 = 1 << 18;
const _: () = assert!((Call::ALL[Call::ALL.len() - 1] as u64) < NUMBERS >> 8);

impl<'a> Cursors<'a> {
    /// The columns that [`Columns::bytes`] gave.
    pub(super) fn new(mut bytes: &'a [u8]) -> Result<Cursors<'a>, PackError> {
        let damaged = PackError::Damaged("the table of its columns");
        let mut number = || varint::read(&mut bytes).ok_or(damaged);
        let mut lengths = Vec::new();
        for _ in 0..number()? {
            let (column, length) = (number()?, number()?);
            let above = lengths.last().is_none_or(|&(before, _)| before < column);
            if column >= NUMBERS || !above {
                return Err(damaged);
            }
            lengths.push((column, length));
        }
        let mut cursors = Cursors(vec![&[]; lengths.last().map_or(0, |&(column, _)| column as usize + 1)]);
        for (column, length) in lengths {
            let length = usize::try_from(length).map_err(|_| damaged)?;
            (cursors.0[column as usize], bytes) = bytes.split_at_checked(length).ok_or(damaged)?;
        }
        if bytes.is_empty() { Ok(cursors) } else { Err(damaged) }
    }

    pub(super) fn of(&mut self, number: usize) -> Option<&mut &'a [u8]> {
        self.0.get_mut(number)
    }

    pub(super) fn are_at_end(&self) -> bool {
        self.0.iter().all(|column| column.is_empty())
    }
}

/// From the columns to a record.
pub(super) struct Join<'a, 'b> {
    pub(super) cursors: &'b mut Cursors<'a>,
    pub(super) record: &'b mut Vec<u8>,
}

impl Move for Join<'_, '_> {
    fn varint(&mut self, column: usize) -> Option<u64> {
        move_varint(self.cursors.of(column)?, self.record)
    }
    fn bytes(&mut self, column: usize, count: u64) -> Option<u8> {
        if count == 0 {
            return Some(0);
        }
        move_bytes(self.cursors.of(column)?, self.record, count)
    }
}

fn move_varint(from: &mut &[u8], to: &mut Vec<u8>) -> Option<u64> {
    let before = *from;
    let value = varint::read(from)?;
    to.extend_from_slice(&before[..before.len() - from.len()]);
    Some(value)
}

fn move_bytes(from: &mut &[u8], to: &mut Vec<u8>, count: u64) -> Option<u8> {
    let (front, behind) = from.split_at_checked(usize::try_from(count).ok()?)?;
    *from = behind;
    to.extend_from_slice(front);
    Some(front.last().copied().unwrap_or(0))
}
