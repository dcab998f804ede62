//! Arguments by what they are, wherever they stand in a call.

use super::{Arg, Call, CallInfo, Kind, NUMBERS};

/// An argument that many calls have, each in its own place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Field {
    /// Flags, those of `open(2)` or others.
    Flags,
    /// Permission bits.
    Mode,
    /// `st_mode` of the file.
    StMode,
    /// `st_size` of the file.
    StSize,
    /// `st_ino` of the file.
    StIno,
    /// The first position in a file.
    Offset,
    /// The second one.
    SecondOffset,
    /// The first number of bytes but `st_size`: how much is asked for, or a length.
    Bytes,
    /// The first duration, nanoseconds.
    Nanos,
}

const FIELDS: [Field; 9] = [
    Field::Flags,
    Field::Mode,
    Field::StMode,
    Field::StSize,
    Field::StIno,
    Field::Offset,
    Field::SecondOffset,
    Field::Bytes,
    Field::Nanos,
];

const NONE: u8 = u8::MAX;

/// Positions among the integers, by number of the call and field.
static POSITIONS: [[u8; FIELDS.len()]; NUMBERS] = {
    let mut table = [[NONE; FIELDS.len()]; NUMBERS];
    let mut index = 0;
    while index < Call::ALL.len() {
        let call = Call::ALL[index];
        let mut field = 0;
        while field < FIELDS.len() {
            assert!(FIELDS[field] as usize == field, "in the order of their numbers");
            table[call as usize][field] = find(call, FIELDS[field]);
            field += 1;
        }
        index += 1;
    }
    table
};

const fn find(call: Call, field: Field) -> u8 {
    let args = call.args();
    let (mut index, mut skip) = (0, matches!(field, Field::SecondOffset) as u32);
    while index < args.len() && args[index].kind.is_number() {
        if is(&args[index], field) {
            if skip == 0 {
                return index as u8;
            }
            skip -= 1;
        }
        index += 1;
    }
    NONE
}

const fn is(arg: &Arg, field: Field) -> bool {
    match field {
        Field::Flags => matches!(arg.kind, Kind::OpenFlags) || same(arg.name, "flags"),
        Field::Mode => same(arg.name, "mode"),
        Field::StMode => same(arg.name, "st_mode"),
        Field::StSize => same(arg.name, "st_size"),
        Field::StIno => same(arg.name, "st_ino"),
        Field::Offset | Field::SecondOffset => matches!(arg.kind, Kind::Offset),
        Field::Bytes => matches!(arg.kind, Kind::Bytes) && !same(arg.name, "st_size"),
        Field::Nanos => matches!(arg.kind, Kind::Nanos),
    }
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

impl CallInfo {
    /// The position of the argument of this name, among all of the call's.
    pub const fn position(&self, name: &str) -> Option<usize> {
        let mut index = 0;
        while index < self.args.len() {
            if same(self.args[index].name, name) {
                return Some(index);
            }
            index += 1;
        }
        None
    }
}

impl Call {
    /// The position of a field among the integers, if the call has it.
    #[inline(always)]
    pub fn field(self, field: Field) -> Option<usize> {
        let position = POSITIONS[self as usize][field as usize];
        (position != NONE).then_some(position as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_kind() {
        assert_eq!(Call::Openat2.field(Field::Flags), Some(1));
        assert_eq!(Call::Openat2.field(Field::Mode), Some(2));
        assert_eq!(Call::MqOpen.field(Field::Flags), Some(0));
        assert_eq!(Call::Fopen.field(Field::Mode), None, "a text");
        assert_eq!(Call::Statx.field(Field::StMode), Some(3));
        assert_eq!(Call::Statx.field(Field::Bytes), None);
        assert_eq!(Call::Fallocate.field(Field::Bytes), Some(3));
        assert_eq!(Call::Sendfile.field(Field::SecondOffset), None);
        assert_eq!(Call::CloneRange.field(Field::SecondOffset), Some(3));
        assert_eq!(Call::ClockNanosleep.field(Field::Nanos), Some(2));
    }
}
