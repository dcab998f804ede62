//! How the fields of a step are written, read and shown. Numbers are varints: 7 bits a byte, low ones first, the top bit set
//! on all bytes but the last; signed ones are zigzag-coded before.

use crate::{CommId, FileId, HandleId, ListId, NameId, QueueId, RequestId};
use std::fmt::{Formatter, Result};

/// Encoded fields that have not been read.
pub type Bytes<'a> = &'a [u8];

/// The most bytes of a varint.
const MOST: usize = 10;

/// A number that is written as a varint.
pub trait Varint: Copy {
    /// As an unsigned number that is small where this one's magnitude is.
    fn unsigned(self) -> u64;
    /// The inverse; `None` when it is too large for the type.
    fn from_unsigned(number: u64) -> Option<Self>;
}

macro_rules! unsigned {
    ($($type:ty)+) => {$(
        impl Varint for $type {
            #[inline]
            fn unsigned(self) -> u64 {
                self.into()
            }
            #[inline]
            fn from_unsigned(number: u64) -> Option<$type> {
                number.try_into().ok()
            }
        }
    )+};
}

unsigned!(u8 u32 u64);

impl Varint for i64 {
    #[inline]
    fn unsigned(self) -> u64 {
        ((self << 1) ^ (self >> 63)) as u64
    }
    #[inline]
    fn from_unsigned(number: u64) -> Option<i64> {
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

impl Varint for i32 {
    #[inline]
    fn unsigned(self) -> u64 {
        i64::from(self).unsigned()
    }
    #[inline]
    fn from_unsigned(number: u64) -> Option<i32> {
        i64::from_unsigned(number)?.try_into().ok()
    }
}

/// Appends a number.
#[inline]
pub fn put(number: impl Varint, out: &mut Vec<u8>) {
    let mut left = number.unsigned();
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// Takes a number off the front; `None` at the end, or when it is too large for its type. Byte by byte: how long numbers are
/// is foreseen by the processor, which then need not wait for one to find the next.
#[inline]
pub fn take<N: Varint>(bytes: &mut Bytes<'_>) -> Option<N> {
    let mut number = 0u64;
    for (at, &byte) in bytes.iter().enumerate().take(MOST) {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            // The tenth byte has room for one bit.
            if at == MOST - 1 && byte > 1 {
                return None;
            }
            *bytes = &bytes[at + 1..];
            return N::from_unsigned(number);
        }
    }
    None
}

/// Goes past so many varints; `None` when there are fewer.
#[inline]
pub fn skip(mut count: usize, bytes: &mut Bytes<'_>) -> Option<()> {
    /// The top bits of eight bytes; the last byte of a varint has none.
    const TOP: u64 = 0x8080_8080_8080_8080;
    while let Some((chunk, behind)) = bytes.split_first_chunk::<8>() {
        let mut ends = !u64::from_le_bytes(*chunk) & TOP;
        let found = ends.count_ones() as usize;
        if found >= count {
            for _ in 1..count {
                ends &= ends - 1;
            }
            if count > 0 {
                *bytes = &bytes[ends.trailing_zeros() as usize / 8 + 1..];
            }
            return Some(());
        }
        count -= found;
        *bytes = behind;
    }
    while count > 0 {
        let (&byte, behind) = bytes.split_first()?;
        count -= usize::from(byte < 0x80);
        *bytes = behind;
    }
    Some(())
}

/// A kind of field.
pub trait Field {
    /// What it holds.
    type Value: Copy;
    /// Its type in `PLAN.md`.
    const TYPE: &'static str;
    fn put(value: Self::Value, out: &mut Vec<u8>);
    fn take(bytes: &mut Bytes<'_>) -> Option<Self::Value>;
    /// Appends it to a line of text, with a blank before it.
    fn show(name: &str, value: Self::Value, out: &mut Formatter<'_>) -> Result;
    /// The same, with the number that `number` gives what it refers to.
    fn renumbered(value: Self::Value, _number: &impl Fn(Referent, u32) -> u32) -> Self::Value {
        value
    }
    /// Tells `see` what it refers to.
    fn refer(_value: Self::Value, _see: &mut impl FnMut(Referent, u32)) {}
}

/// What fields refer to by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Referent {
    /// A file of the plan.
    File,
    /// An open file of the process.
    Handle,
    /// A communicator of the plan.
    Communicator,
    /// A list of numbers of the plan.
    List,
    /// A request or matched message of the process.
    Request,
    /// A queue of asynchronous I/O of the process.
    Queue,
}

macro_rules! numbers {
    ($($kind:ident $value:ty, $type:literal, $what:literal, $show:literal $(, $referent:ident)?;)+) => {
        /// The kinds of fields.
        pub mod fields {
            use super::*;
            pub use crate::mpi::{Access, Collective, Completion, Creation, Epoch, FileCall, FileTransfer, Lock, SendMode, Window};
            $(
                #[doc = $what]
                #[derive(Debug)]
                pub enum $kind {}

                impl Field for $kind {
                    type Value = $value;
                    const TYPE: &'static str = $type;
                    #[inline]
                    fn put(value: $value, out: &mut Vec<u8>) {
                        super::put(value, out);
                    }
                    #[inline]
                    fn take(bytes: &mut Bytes<'_>) -> Option<$value> {
                        super::take(bytes)
                    }
                    fn show(name: &str, value: $value, out: &mut Formatter<'_>) -> Result {
                        write!(out, $show, name = name, value = value)
                    }
                    $(
                        fn renumbered(value: $value, number: &impl Fn(Referent, u32) -> u32) -> $value {
                            number(Referent::$referent, value)
                        }
                        fn refer(value: $value, see: &mut impl FnMut(Referent, u32)) {
                            see(Referent::$referent, value);
                        }
                    )?
                }
            )+

            /// A truth value.
            #[derive(Debug)]
            pub enum Truth {}

            impl Field for Truth {
                type Value = bool;
                const TYPE: &'static str = "bool";
                fn put(value: bool, out: &mut Vec<u8>) {
                    out.push(value.into());
                }
                fn take(bytes: &mut Bytes<'_>) -> Option<bool> {
                    match super::take::<u8>(bytes)? {
                        0 => Some(false),
                        1 => Some(true),
                        _ => None,
                    }
                }
                fn show(name: &str, value: bool, out: &mut Formatter<'_>) -> Result {
                    write!(out, " {name}={value}")
                }
            }
        }
    };
}

// Files, handles and names are shown without the field's name, which `:.0` leaves out.
numbers! {
    File FileId, "u32", "Index of a file.", "{name:.0} f{value}", File;
    Handle HandleId, "u32", "Number of an open file in the process.", "{name:.0} h{value}", Handle;
    Name NameId, "u32", "Index of the name of an extended attribute.", "{name:.0} a{value}";
    Comm CommId, "u32", "A communicator.", "{name:.0} c{value}", Communicator;
    List ListId, "u32", "Index of a list of numbers.", " {name}=l{value}", List;
    Request RequestId, "u32", "Number of a request, or of a matched message, in the process.", "{name:.0} r{value}", Request;
    Queue QueueId, "u32", "Number of a queue of asynchronous I/O in the process.", "{name:.0} q{value}", Queue;
    MpiFile u32, "u32", "Number of a file that MPI has open in the process.", "{name:.0} m{value}";
    WindowNumber u32, "u32", "Number of a window.", "{name:.0} w{value}";
    Distance i64, "i64", "A distance in bytes or elements.", " {name}={value}";
    Place i64, "i64", "An offset, or below 0: the position of the open file.", " {name}={value}";
    Number u64, "u64", "A size, an offset or a count.", " {name}={value}";
    Count u32, "u32", "A count.", " {name}={value}";
    Signed i32, "i32", "A number of the system's.", " {name}={value}";
    Octal i32, "i32", "Flags that are usually written in octal digits.", " {name}={value:#o}";
    OctalMode u32, "u32", "Permissions, and the type of a node.", " {name}={value:#o}";
    Hex u32, "u32", "Flags that are usually written in hexadecimal digits.", " {name}={value:#x}";
    HexMode i32, "i32", "The same, signed.", " {name}={value:#x}";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for shift in 0..64 {
            for number in [1u64 << shift, (1 << shift) - 1, !0 >> shift] {
                for padding in 0..9 {
                    let mut bytes = Vec::new();
                    put(number, &mut bytes);
                    put(-(number as i64 >> 1), &mut bytes);
                    bytes.resize(bytes.len() + padding, 0xff);
                    let mut rest = &bytes[..];
                    assert_eq!(take::<u64>(&mut rest), Some(number));
                    assert_eq!(take::<i64>(&mut rest), Some(-(number as i64 >> 1)));
                    assert_eq!(rest.len(), padding);
                }
            }
        }
    }

    #[test]
    fn numbers_are_skipped() {
        let numbers: Vec<u64> = (0..64).map(|shift| u64::MAX >> (shift * 29 % 64)).collect();
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&number| put(number, &mut bytes));
        for count in 0..numbers.len() {
            let mut rest = &bytes[..];
            assert_eq!(skip(count, &mut rest), Some(()));
            assert_eq!(take(&mut rest), Some(numbers[count]));
            let mut rest = &bytes[..bytes.len() - 1];
            assert_eq!(skip(numbers.len(), &mut rest), None);
        }
        assert_eq!(skip(1, &mut &[0x80; 20][..]), None);
    }

    #[test]
    fn what_does_not_fit_is_none() {
        for bytes in [
            &[][..],
            &[0x80],
            &[0xff; 9],
            &[0xff; 12],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
        ] {
            assert_eq!(take::<u64>(&mut &bytes[..]), None, "{bytes:?}");
        }
        let mut bytes = Vec::new();
        put(1u64 << 32, &mut bytes);
        assert_eq!(take::<u32>(&mut &bytes[..]), None);
        assert_eq!(take::<u8>(&mut &[0x80, 2][..]), None);
        assert_eq!(take::<i32>(&mut &bytes[..]), None);
    }
}
