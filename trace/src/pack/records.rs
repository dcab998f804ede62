//! The records of a trace, and their parts around the times.

use super::rounding::Packed;
use crate::dictionary;
use crate::header::HEADER_BYTES;
use crate::reader::Ending;
use crate::record::{self, Fault, Record};
use crate::varint;

/// The records of a trace, each with its bytes, up to the first that is none.
pub(super) struct Records<'a> {
    dictionary: Box<dictionary::Reader<'a>>,
    rest: &'a [u8],
    fault: Option<Fault>,
}

impl<'a> Records<'a> {
    pub(super) fn of(rest: &'a [u8]) -> Records<'a> {
        Records { dictionary: Box::default(), rest, fault: None }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = (&'a [u8], Record<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let before = self.rest;
        let record = record::decode(&mut self.dictionary, &mut self.rest).unwrap_or_else(|fault| {
            self.fault = Some(fault);
            None
        });
        record.map(|record| (&before[..before.len() - self.rest.len()], record))
    }
}

/// How many records a trace has; an error if it does not end after a whole one.
pub(super) fn count(trace: &[u8]) -> Result<u64, Ending> {
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
pub(super) fn times_of(flags: record::Flags) -> usize {
    2 + usize::from(flags & record::CPU_BEFORE != 0) + usize::from(flags & record::CPU_AFTER != 0)
}

/// The parts of a record around its times, which are zero.
pub(super) fn parts(record: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut body = record;
    varint::read(&mut body)?;
    let mut behind = body;
    let key = varint::read(&mut behind)?;
    let mut flags = 0;
    if key & 3 != 1 {
        flags = record::read_flags(&mut behind).ok()?;
    }
    let front = &body[..body.len() - behind.len()];
    Some((front, behind.get(times_of(flags)..)?))
}

/// Appends a record, its length in front.
pub(super) fn join(trace: &mut Vec<u8>, front: &[u8], times: Packed, flags: record::Flags, rest: &[u8]) {
    let all = [varint::zigzag(times.gap), times.took as u64, times.cpu_before as u64, times.cpu_after as u64];
    let there = [true, true, flags & record::CPU_BEFORE != 0, flags & record::CPU_AFTER != 0];
    let fields = || all.iter().zip(there).filter(|&(_, there)| there).map(|(&time, _)| time);
    let length: usize = fields().map(varint::length).sum();
    varint::push(trace, (front.len() + length + rest.len()) as u64);
    trace.extend_from_slice(front);
    fields().for_each(|time| varint::push(trace, time));
    trace.extend_from_slice(rest);
}
