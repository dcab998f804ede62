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
//! A packed file stands in the run folder in place of the traces that are in it; [`crate::Run::open`] reads both.
//! `FORMAT.md` has the layout. A reader takes at most four times [`MAX_RATIO`] times the file of memory, whatever is in
//! it, and some tens of mebibytes for what it learns.

mod coder;
mod columns;
mod compress;
mod rounding;
mod times;

use crate::header::HEADER_BYTES;
use crate::memory;
use crate::reader::Ending;
use crate::record::{self, Fault, Record};
use crate::varint;
use coder::{Decoder, Encoder};
use columns::{Columns, Cursors, Join, Kind, Split, move_front, move_rest};
use rounding::Rounding;
use times::{Before, Packed, TimeCoder};

/// The first bytes of a packed file.
pub const MAGIC: [u8; 8] = *b"SYNPACK\n";
/// The version of the packed format.
pub const VERSION: u32 = 2;
/// How a packed file is called: as the first trace in it, with this extension.
pub const EXTENSION: &str = "pack";
/// How many bits behind the leading one are kept of a time.
pub const KEPT_BITS: u32 = 4;
/// The most bits that rounding takes off a time.
pub const DROPPED_BITS: u32 = 12;
/// A file is never shorter than one byte for so many of its traces.
pub const MAX_RATIO: u64 = 1024;
/// Bytes in front of the columns.
const FRONT_BYTES: usize = 8 + 4 + 4 + 5 * 8;
/// The checksum at the end.
const CHECKSUM_BYTES: usize = 4;

/// How times are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Every bit.
    Exact,
    /// Rounded; see the module's comment.
    Rounded,
}

/// Why bytes are not a packed file, or not one to be read as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// An earlier version.
    #[error(
        "packed format {0} is older than {VERSION}, which this program reads; read it with the release that packed it"
    )]
    Older(u32),
    /// A later version.
    #[error("packed format {0} is newer than {VERSION}, which this program reads; update syn")]
    Newer(u32),
    /// Shorter than it says.
    #[error("a packed file that is cut off; the copy is incomplete")]
    CutOff,
    /// Something in it cannot be.
    #[error("a damaged packed file ({0})")]
    Damaged(&'static str),
    /// It holds several traces where one was to be read.
    #[error("a packed file of {0} traces; name the folder it is in")]
    Several(usize),
}

/// A trace that was packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name of its file.
    pub name: String,
    /// What stood in it: header and records.
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

    /// Adds the trace that stands in a file of this name.
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

/// The traces, as they were added but for what was rounded.
///
/// # Errors
/// [`PackError`].
pub fn unpack(packed: &[u8]) -> Result<Vec<Member>, PackError> {
    let Front { times, traces, unpacked, columns, frame, coded } = Front::of(packed)?;
    let columns = compress::decompress(frame, columns)?;
    let decoder = Decoder::new(coded).ok_or(PackError::Damaged("its times"))?;
    let mut unpacker = Unpacker {
        cursors: Cursors::new(&columns)?,
        coder: TimeCoder::new(times),
        decoder,
        left: unpacked as usize,
    };
    let mut members = Vec::new();
    for _ in 0..traces {
        members.push(unpacker.next()?);
    }
    let Unpacker { cursors, decoder, left, .. } = unpacker;
    match left == 0 && cursors.are_at_end() && decoder.is_at_end() {
        true => Ok(members),
        false => Err(PackError::Damaged("it holds more than its traces")),
    }
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

/// The records of a trace, each with its bytes, up to the first that is none.
struct Records<'a> {
    memory: Box<memory::Reader<'a>>,
    rest: &'a [u8],
    fault: Option<Fault>,
}

impl<'a> Records<'a> {
    fn of(rest: &'a [u8]) -> Records<'a> {
        Records { memory: Box::default(), rest, fault: None }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = (&'a [u8], Record<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let before = self.rest;
        let record = record::decode(&mut self.memory, &mut self.rest).unwrap_or_else(|fault| {
            self.fault = Some(fault);
            None
        });
        record.map(|record| (&before[..before.len() - self.rest.len()], record))
    }
}

/// How many records a trace has; an error if it does not end after a whole one.
fn count(trace: &[u8]) -> Result<u64, Ending> {
    let mut records = Records::of(&trace[HEADER_BYTES..]);
    let count = records.by_ref().count() as u64;
    let offset = (trace.len() - records.rest.len()) as u64;
    match records.fault {
        None => Ok(count),
        Some(Fault::CutOff) => Err(Ending::CutOff { offset }),
        Some(fault) => Err(Ending::Damaged { offset, fault }),
    }
}

/// How many times a record with these flags has.
fn times_of(flags: u8) -> usize {
    2 + usize::from(flags & record::CPU_BEFORE != 0) + usize::from(flags & record::CPU_AFTER != 0)
}

/// The parts of a record around its times, which are zero.
fn parts(record: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut body = record;
    varint::read(&mut body)?;
    let mut behind = body;
    let key = varint::read(&mut behind)?;
    let mut flags = 0;
    if key & 3 != 1 {
        flags = *behind.split_off_first()?;
    }
    let front = &body[..body.len() - behind.len()];
    Some((front, behind.get(times_of(flags)..)?))
}

/// Appends a record, its length in front.
fn join(trace: &mut Vec<u8>, front: &[u8], times: Packed, flags: u8, rest: &[u8]) {
    let all = [varint::zigzag(times.gap), times.took as u64, times.cpu_before as u64, times.cpu_after as u64];
    let there = [true, true, flags & record::CPU_BEFORE != 0, flags & record::CPU_AFTER != 0];
    let fields = || all.iter().zip(there).filter(|&(_, there)| there).map(|(&time, _)| time);
    let length: usize = fields().map(varint::length).sum();
    varint::push(trace, (front.len() + length + rest.len()) as u64);
    trace.extend_from_slice(front);
    fields().for_each(|time| varint::push(trace, time));
    trace.extend_from_slice(rest);
}

#[cfg(test)]
mod tests;
