//! Where things are in a plan file; `PLAN.md` has the tables.
//!
//! ```text
//! header │ steps of program 0 │ steps of program 1 │ … │ sections │ directory
//! ```
//!
//! The steps come first, as they are written one program after the other; what refers to them stands behind. Sections that
//! one rank needs a small part of are read by index, without the rest.

use crate::fields::{put, take};
use crate::{Edge, Evidence, Guarantee, Rule};
use std::ops::Range;

/// The first eight bytes of a plan.
pub const MAGIC: [u8; 8] = *b"SYNPLAN\n";
/// The format version this code writes, and the only one it reads.
pub const VERSION: u32 = 5;
/// Bytes before the first program's steps.
pub(crate) const HEADER: usize = 40;
/// Where the part of the header begins that its checksum is about.
const CHECKED: usize = 16;
/// Bytes of an entry of the directory.
const ENTRY: usize = 32;
/// Bytes of an edge.
pub(crate) const EDGE: usize = 16;
/// Bytes of an entry of the index by rank.
pub(crate) const RANK: usize = 8;
/// "No rank" at the end of the index by rank.
pub(crate) const NO_RANK: u32 = u32::MAX;
/// "No call" in an edge.
const NO_CALL: u16 = u16::MAX;

/// The kinds of sections, by number: each occurs once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    About = 1,
    Files = 2,
    Names = 3,
    Attributes = 4,
    Edges = 5,
    Calls = 6,
    Threads = 7,
    Ranks = 8,
    /// Only in plans with steps of MPI, and so is the next one.
    Communicators = 9,
    Lists = 10,
}

impl Kind {
    /// How many of [`Kind::ALL`] every plan has.
    pub(crate) const USUAL: usize = 8;
    pub(crate) const ALL: [Kind; 10] = [
        Kind::About,
        Kind::Files,
        Kind::Names,
        Kind::Attributes,
        Kind::Edges,
        Kind::Calls,
        Kind::Threads,
        Kind::Ranks,
        Kind::Communicators,
        Kind::Lists,
    ];

    /// The name in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Kind::About => "what the plan was made from",
            Kind::Files => "the files",
            Kind::Names => "the names of attributes",
            Kind::Attributes => "the attributes",
            Kind::Edges => "the edges",
            Kind::Calls => "the names of calls",
            Kind::Threads => "the threads",
            Kind::Ranks => "the index by rank",
            Kind::Communicators => "the communicators",
            Kind::Lists => "the lists of numbers",
        }
    }
}

/// The header behind magic and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Bytes of the file.
    pub length: u64,
    /// Where the directory is, and how many entries it has.
    pub directory: u64,
    pub sections: u32,
    /// Its CRC-32.
    pub crc: u32,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.length.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.directory.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.sections.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.crc.to_le_bytes());
        let crc = crc32fast::hash(&bytes[CHECKED..]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `None` when the checksum is wrong.
    pub(crate) fn decode(bytes: &[u8; HEADER]) -> Option<Header> {
        let mut rest = &bytes[CHECKED..];
        let header = Header {
            length: fixed_u64(&mut rest)?,
            directory: fixed_u64(&mut rest)?,
            sections: fixed_u32(&mut rest)?,
            crc: fixed_u32(&mut rest)?,
        };
        (crc32fast::hash(&bytes[CHECKED..]).to_le_bytes() == bytes[12..16]).then_some(header)
    }

    /// Where the directory is; `None` when it is not in a file of that length, behind the header.
    pub(crate) fn directory(&self) -> Option<Range<usize>> {
        let bytes = u64::from(self.sections) * ENTRY as u64;
        let end = self.directory.checked_add(bytes)?;
        (self.directory >= HEADER as u64 && end <= self.length)
            .then_some(self.directory as usize..end as usize)
    }
}

/// An entry of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub kind: u32,
    /// CRC-32 of its bytes.
    pub crc: u32,
    pub offset: u64,
    pub length: u64,
    /// How many things are in it.
    pub count: u64,
}

impl Section {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.kind.to_le_bytes());
        out.extend_from_slice(&self.crc.to_le_bytes());
        for number in [self.offset, self.length, self.count] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    pub(crate) fn decode_all(mut bytes: &[u8]) -> Vec<Section> {
        let one = |bytes: &mut &[u8]| {
            Some(Section {
                kind: fixed_u32(bytes)?,
                crc: fixed_u32(bytes)?,
                offset: fixed_u64(bytes)?,
                length: fixed_u64(bytes)?,
                count: fixed_u64(bytes)?,
            })
        };
        std::iter::from_fn(|| one(&mut bytes)).collect()
    }

    /// True when it holds its things in so many bytes each.
    pub(crate) fn is_table_of(&self, bytes: usize) -> bool {
        self.length.is_multiple_of(bytes as u64) && self.length / bytes as u64 == self.count
    }

    /// Where it is; `None` when it is not in the first `length` bytes, behind the header.
    pub(crate) fn range(&self, length: u64) -> Option<Range<usize>> {
        let end = self.offset.checked_add(self.length)?;
        (self.offset >= HEADER as u64 && end <= length).then_some(self.offset as usize..end as usize)
    }
}

/// Items of any length, each to be found by its index: where each begins (8 bytes, and one more for the end), then the items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List<'a> {
    begins: &'a [u8],
    items: &'a [u8],
}

impl<'a> List<'a> {
    /// Of `count` items; `None` when it has no room for so many.
    pub(crate) fn new(bytes: &'a [u8], count: u64) -> Option<List<'a>> {
        let begins = usize::try_from(count).ok()?.checked_add(1)?.checked_mul(8)?;
        let (begins, items) = bytes.split_at_checked(begins)?;
        Some(List { begins, items })
    }

    /// The bytes of an item; `None` behind the last one, or when its place is not in the section.
    pub(crate) fn get(&self, index: usize) -> Option<&'a [u8]> {
        let begin = |index: usize| fixed_u64(&mut self.begins.get(index.checked_mul(8)?..)?);
        let (from, to) = (begin(index)?, begin(index.checked_add(1)?)?);
        self.items.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
    }

    /// True when the items follow each other without a gap, and nothing follows them.
    pub(crate) fn is_dense(&self) -> bool {
        let begins = || self.begins.chunks_exact(8).filter_map(|mut begin| fixed_u64(&mut begin));
        begins().is_sorted()
            && begins().next() == Some(0)
            && begins().next_back() == Some(self.items.len() as u64)
    }

    /// The bytes of a list of these items.
    pub(crate) fn encode<I, T>(items: I) -> Vec<u8>
    where
        I: IntoIterator<Item = T>,
        T: AsRef<[u8]>,
    {
        let (mut begins, mut bytes) = (0u64.to_le_bytes().to_vec(), Vec::new());
        for item in items {
            bytes.extend_from_slice(item.as_ref());
            begins.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        }
        begins.extend(bytes);
        begins
    }
}

/// Where a program's steps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepsAt {
    pub offset: u64,
    pub length: u64,
    pub count: u64,
    pub crc: u32,
}

impl StepsAt {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put(self.offset, out);
        put(self.length, out);
        put(self.count, out);
        put(self.crc, out);
    }

    pub(crate) fn take(bytes: &mut &[u8]) -> Option<StepsAt> {
        Some(StepsAt { offset: take(bytes)?, length: take(bytes)?, count: take(bytes)?, crc: take(bytes)? })
    }
}

impl Edge {
    pub(crate) fn encode(&self) -> [u8; EDGE] {
        let Edge { rule, signals, evidence } = *self;
        let mut bytes = [0; EDGE];
        bytes[0] = rule as u8;
        bytes[1] = evidence.guarantee as u8;
        let calls = [evidence.signalled_in, evidence.awaited_in].map(|call| call.unwrap_or(NO_CALL));
        let numbers = [evidence.seen, evidence.possible, calls[0], calls[1]];
        for (place, number) in bytes[4..12].chunks_exact_mut(2).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes[12..].copy_from_slice(&signals.to_le_bytes());
        bytes
    }

    /// `None` when a number in it stands for nothing.
    pub(crate) fn decode(bytes: &[u8; EDGE]) -> Option<Edge> {
        let number = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let call = |at: usize| Some(number(at)).filter(|&call| call != NO_CALL);
        let guarantee = [Guarantee::Certain, Guarantee::Observed].into_iter();
        Some(Edge {
            rule: *Rule::ALL.get(usize::from(bytes[0]))?,
            signals: u32::from_le_bytes(*bytes.last_chunk()?),
            evidence: Evidence {
                guarantee: guarantee.into_iter().find(|&guarantee| guarantee as u8 == bytes[1])?,
                seen: number(4),
                possible: number(6),
                signalled_in: call(8),
                awaited_in: call(10),
            },
        })
        .filter(|_| number(2) == 0)
    }
}

/// Takes a number of fixed size, little endian, off the front.
pub(crate) fn fixed_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*number))
}

/// See [`fixed_u32`].
pub(crate) fn fixed_u64(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}
