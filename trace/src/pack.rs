//! Packed traces: the traces of many threads in one file, sorted into columns and compressed.
//!
//! What threads do compresses well: loops make the same calls again and again, and the processes of a run begin, load
//! their libraries and end alike; so all traces of a file share their columns. Their times do not compress: the lowest
//! bits are noise of the clock and the machine. So the two are kept apart. Times are coded by an arithmetic coder that
//! learns how long each call takes and what lies between which calls, and unless everything is asked for
//! ([`Times::Exact`]) a time is rounded to [`KEPT_BITS`] bits behind its leading one, 3.2 % at most; of no time more
//! than [`DROPPED_BITS`] bits are dropped. What rounding takes off one gap or duration is added to the next: the time of
//! an event since the start of its trace stays within a few microseconds of what was recorded, however many events come
//! before it.
//!
//! A packed file stands in the run folder in place of the files whose traces are in it; [`crate::Run::open`] reads both.
//! `FORMAT.md` has the layout. A reader takes at most four times [`MAX_RATIO`] times the file of memory, whatever is in
//! it, and some tens of mebibytes for what it learns.

mod coder;
mod columns;
mod compress;
mod error;
mod records;
mod rounding;
mod times;
mod unpack;

use crate::header::HEADER_BYTES;
use crate::reader::Ending;
use crate::record::{self, Record};
use crate::varint;
use coder::Encoder;
use columns::{Columns, Kind, Split, move_front, move_rest};
pub use error::{PackError, VERSION};
use records::{Records, count, join, times_of};
use rounding::Rounding;
pub use rounding::{DROPPED_BITS, KEPT_BITS, Times};
use times::{Before, TimeCoder};
pub use unpack::{unpack, unpack_each};

/// The first bytes of a packed file.
pub const MAGIC: [u8; 8] = *b"SYNPACK\n";
/// How a packed file is called: as the first file whose traces are in it, with this extension.
pub const EXTENSION: &str = "pack";
/// A file is never shorter than one byte for so many of its traces.
pub const MAX_RATIO: u64 = 1024;
/// Bytes in front of the columns.
const FRONT_BYTES: usize = 8 + 4 + 4 + 5 * 8;
/// The checksum at the end.
const CHECKSUM_BYTES: usize = 4;

/// A trace that was packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Header and records, one behind the other.
    pub bytes: Vec<u8>,
}

/// Packs traces into one file.
pub struct Packer {
    times: Times,
    columns: Columns,
    coder: TimeCoder,
    encoder: Encoder,
    traces: u64,
    unpacked: u64,
}

impl Packer {
    /// An empty file.
    pub fn new(times: Times) -> Packer {
        let (columns, coder, encoder) = (Columns::default(), TimeCoder::new(times), Encoder::new());
        Packer { times, columns, coder, encoder, traces: 0, unpacked: 0 }
    }

    /// Adds the trace of this name: header and records, one behind the other.
    ///
    /// # Errors
    /// How its records end, where that is not after a whole one: nothing of a damaged trace is to be lost in packing.
    /// Nothing is added then.
    ///
    /// # Panics
    /// When `trace` is shorter than a header.
    pub fn add(&mut self, name: &str, trace: &[u8]) -> Result<(), Ending> {
        let (header, records) = trace.split_at(HEADER_BYTES);
        let count = count(trace)?;
        let names = self.columns.of(Kind::Names as usize);
        varint::push(names, name.len() as u64);
        names.extend_from_slice(name.as_bytes());
        self.columns.of(Kind::Headers as usize).extend_from_slice(header);
        varint::push(self.columns.of(Kind::Counts as usize), count);
        self.traces += 1;
        self.unpacked += HEADER_BYTES as u64;
        let (mut rounding, mut before, mut whole) =
            (Rounding::new(self.times), Before::default(), Vec::new());
        for (bytes, record) in Records::of(records) {
            let times = rounding.apply(record.times);
            self.coder.code(&mut self.encoder, &mut before, record.call, record.flags, times);
            let (front, rest) = self.split(bytes).expect("the record was decoded");
            whole.clear();
            join(&mut whole, front, times, record.flags, rest);
            self.unpacked += whole.len() as u64;
        }
        Ok(())
    }

    /// Puts a record's fields into their columns; returns the two parts around its times.
    fn split<'a>(&mut self, record: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let mut body = record;
        varint::read(&mut body)?;
        let mut fields = Split { record: body, columns: &mut self.columns };
        let (key, flags) = move_front(&mut fields)?;
        let front = &body[..body.len() - fields.record.len()];
        for _ in 0..times_of(flags) {
            varint::read(&mut fields.record)?;
        }
        let rest = fields.record;
        move_rest(&mut fields, (key, flags))?;
        Some((front, rest))
    }

    /// Bytes of the traces in it.
    pub fn unpacked_bytes(&self) -> u64 {
        self.unpacked
    }

    /// The file.
    pub fn finish(self) -> Vec<u8> {
        let columns = self.columns.bytes();
        let (frame, times) = (compress::compress(&columns), self.encoder.finish());
        let mut packed = Vec::new();
        packed.extend_from_slice(&MAGIC);
        packed.extend_from_slice(&VERSION.to_le_bytes());
        packed.extend_from_slice(&u32::from(self.times == Times::Rounded).to_le_bytes());
        let lengths = [columns.len(), frame.len(), times.len()].map(|length| length as u64);
        for number in [self.traces, self.unpacked].into_iter().chain(lengths) {
            packed.extend_from_slice(&number.to_le_bytes());
        }
        packed.extend_from_slice(&frame);
        packed.extend_from_slice(&times);
        let least = self.unpacked.max(columns.len() as u64).div_ceil(MAX_RATIO) as usize;
        packed.resize(packed.len().max(least), 0);
        packed.extend_from_slice(&crc32fast::hash(&packed).to_le_bytes());
        packed
    }
}

/// True for the first bytes of a packed file.
pub fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// True when `unpacked` holds what `trace` does: the same header and, in order, the same records; of rounded times, but
/// for the times.
pub fn is_same(trace: &[u8], unpacked: &[u8], times: Times) -> bool {
    let (Some((one, ones)), Some((other, others))) =
        (trace.split_at_checked(HEADER_BYTES), unpacked.split_at_checked(HEADER_BYTES))
    else {
        return false;
    };
    let compared = |(_, record)| match times {
        Times::Exact => record,
        Times::Rounded => Record { times: record::Times::default(), ..record },
    };
    one == other && Records::of(ones).map(compared).eq(Records::of(others).map(compared))
}

#[cfg(test)]
mod tests;
