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

mod commit;
mod decode;
mod encode;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use commit::{commit, gap};
pub use decode::{Fault, List, Record, decode};
#[cfg(feature = "std")]
pub(crate) use decode::{Front, Room, decode_into, read_flags};
pub(crate) use encode::text_field;
pub use encode::{copy_with_times, encode, room};
pub use text::Text;

use crate::calls::MAX_TEXTS;
use crate::varint;

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
/// Before the call, since the CPU reading before, the thread gave up its processor of its own accord, beyond waits for locks that say
/// [`LOST_AFTER`].
pub const WAITED_BEFORE: Flags = 0x400;
/// The same in the call.
pub const WAITED_AFTER: Flags = 0x800;
/// The thread lost its processor before the call, for whatever reason, and the clock was not read there.
pub const LOST_BEFORE: Flags = 0x1000;
/// The same in the call.
pub const LOST_AFTER: Flags = 0x2000;
/// With `CPU_BEFORE`: from the boundary before to the call the thread kept its processor; it lost it earlier.
pub const KEPT_BEFORE: Flags = 0x4000;
/// The same in the call, with `CPU_AFTER`.
pub const KEPT_AFTER: Flags = 0x8000;
/// All of the second byte.
pub const PROCESSOR_FLAGS: Flags = 0xff00;

/// The most bytes of one text; longer ones are cut there.
pub const MAX_TEXT_BYTES: usize = 4096;
/// The most numbers of one list; the shim splits longer ones over several records.
pub const MAX_LIST: usize = 3072;
/// No record is longer than this, its length field included.
pub const MAX_RECORD_BYTES: usize = 192 + MAX_TEXTS * (MAX_TEXT_BYTES + 3) + 3 + MAX_LIST * varint::MAX_BYTES;

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
