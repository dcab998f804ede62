//! Packed traces: the same records, sorted into columns and compressed.
//!
//! The bodies of a trace compress well: loops make the same calls again and again. Its times do not: their lowest bits
//! are noise of the clock and the machine. So the two are kept apart, and unless everything is asked for
//! ([`Times::Exact`]) a time is rounded to [`KEPT_BITS`] bits behind its leading one, 3.2 % at most. What rounding takes
//! off one gap or duration is added to the next, and times so long that more than [`DROPPED_BITS`] bits would go are kept
//! whole: the time of an event since the start of its trace stays within a few microseconds of what was recorded, however
//! many events come before it.
//!
//! A packed file replaces the trace under its own name; [`crate::ThreadTrace::open`] reads both. `FORMAT.md` has the layout.
//!
//! What can be wrong with a packed file is told by [`unpack`]; it never takes more memory than [`MAX_RATIO`] times the file.

mod columns;
mod rounding;

use crate::header::HEADER_BYTES;
use crate::memory;
use crate::reader::Ending;
use crate::record::{self, Fault};
use columns::{Columns, Split};
use rounding::Rounding;

/// The first bytes of a packed trace.
pub const MAGIC: [u8; 8] = *b"SYNPACK\n";
/// The version of the packed format.
pub const VERSION: u32 = 1;
/// How many bits behind the leading one are kept of a time.
pub const KEPT_BITS: u32 = 4;
/// The most bits that rounding takes off a time.
pub const DROPPED_BITS: u32 = 12;
/// A file is never shorter than one byte for so many of the trace.
pub const MAX_RATIO: u64 = 1024;
/// Bytes in front of the trace's header: magic, version, how times are packed, number of records.
const FRONT_BYTES: usize = 8 + 4 + 4 + 8;
/// Compression level of zstd: packing is done once, and unpacking is equally fast at each.
const LEVEL: i32 = 19;

/// How times are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Every bit.
    Exact,
    /// Rounded; see the module's comment.
    Rounded,
}

/// Why bytes are not a packed trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// Another version.
    #[error("packed format {0}, this program reads {VERSION}")]
    Version(u32),
    /// Shorter than it says.
    #[error("cut off")]
    CutOff,
    /// Something in it cannot be.
    #[error("damaged ({0})")]
    Damaged(&'static str),
}

/// Packs a whole trace file.
///
/// # Errors
/// How the records end, where that is not after a whole one: nothing of a damaged trace is to be lost in packing.
///
/// # Panics
/// When `trace` is shorter than a header.
pub fn pack(trace: &[u8], times: Times) -> Result<Vec<u8>, Ending> {
    let (header, mut rest) = trace.split_at(HEADER_BYTES);
    let mut columns = Columns::default();
    let mut rounding = Rounding::new(times);
    let (mut memory, mut records) = (Box::<memory::Reader<'_>>::default(), 0u64);
    loop {
        let (offset, before) = ((trace.len() - rest.len()) as u64, rest);
        match record::decode(&mut memory, &mut rest) {
            Ok(None) => break,
            Ok(Some(record)) => {
                let bytes = &before[..before.len() - rest.len()];
                let split = Split::of(bytes).ok_or(Ending::Damaged { offset, fault: Fault::WrongLength })?;
                columns.push(&split, rounding.apply(record.times), times);
                records += 1;
            }
            Err(Fault::CutOff) => return Err(Ending::CutOff { offset }),
            Err(fault) => return Err(Ending::Damaged { offset, fault }),
        }
    }
    let mut packed = Vec::new();
    packed.extend_from_slice(&MAGIC);
    packed.extend_from_slice(&VERSION.to_le_bytes());
    packed.extend_from_slice(&u32::from(times == Times::Rounded).to_le_bytes());
    packed.extend_from_slice(&records.to_le_bytes());
    packed.extend_from_slice(header);
    columns.write(&mut packed, LEVEL);
    let least = columns.unpacked_bytes() / MAX_RATIO + 1;
    packed.resize(packed.len().max(least as usize), 0);
    Ok(packed)
}

/// True for the first bytes of a packed trace.
pub fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// The trace: a header and its records, as `pack` was given them but for what was rounded.
///
/// # Errors
/// [`PackError`].
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>, PackError> {
    let front = packed.get(..FRONT_BYTES + HEADER_BYTES).ok_or(PackError::CutOff)?;
    let number = |at: usize| u32::from_le_bytes([front[at], front[at + 1], front[at + 2], front[at + 3]]);
    let long = |at: usize| u64::from(number(at)) | u64::from(number(at + 4)) << 32;
    if !is_packed(front) {
        return Err(PackError::Damaged("its first bytes are others"));
    }
    if number(8) != VERSION {
        return Err(PackError::Version(number(8)));
    }
    let times = match number(12) {
        0 => Times::Exact,
        1 => Times::Rounded,
        _ => return Err(PackError::Damaged("how its times are packed")),
    };
    let budget = packed.len() as u64 * MAX_RATIO;
    let columns = Columns::read(&packed[FRONT_BYTES + HEADER_BYTES..], budget, long(16))?;
    let mut trace = front[FRONT_BYTES..].to_vec();
    columns.join(times, &mut trace)?;
    Ok(trace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::Call;
    use crate::craft::Craft;
    use crate::record::WAITED;

    /// A loop of several calls with uneven times, CPU readings, texts, failures.
    fn trace(rounds: u64) -> Vec<u8> {
        let mut craft = Craft::new(10, 10).process_start("/bin/app", "/home", "app");
        let (mut at, mut noise) = (1_000, 88_172_645_463_325_252u64);
        for round in 0..rounds {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            let took = 50 + noise % 4096;
            craft = craft.call(Call::Read, at, took, 512, &[3, 512], &[], &[]);
            at += took + 300 + noise % 777;
            craft = craft.fail(Call::Unlink, at, took, 2, &[], &[b"/home/u/absent"]).flags(WAITED);
            at += took + 90_000;
            craft = craft.cpu(Some(noise % 80_000), None);
            craft = craft.call(Call::Pwrite, at, took, 5, &[4, 5, round as i64 * 5], &[], &[]);
            at += took;
        }
        craft.call(Call::Repeats, at, 0, 0, &[7, 5], &[], &[]).bytes()
    }

    type Plain = (Call, u8, record::Times, i64, i32, Vec<i64>, Vec<Vec<u8>>);

    fn events(trace: &[u8]) -> Vec<Plain> {
        let (mut memory, mut rest, mut found) =
            (memory::Reader::default(), &trace[HEADER_BYTES..], Vec::new());
        while let Some(record) = record::decode(&mut memory, &mut rest).unwrap() {
            let texts = record.texts.iter().map(|text| text.bytes().into_owned()).collect();
            let numbers = record.numbers.to_vec();
            found.push((
                record.call,
                record.flags,
                record.times,
                record.result,
                record.errno,
                numbers,
                texts,
            ));
        }
        found
    }

    #[test]
    fn exact_packing_changes_nothing() {
        let trace = trace(500);
        let packed = pack(&trace, Times::Exact).unwrap();
        let unpacked = unpack(&packed).unwrap();
        assert_eq!(unpacked[..HEADER_BYTES], trace[..HEADER_BYTES]);
        let (before, after) = (events(&trace), events(&unpacked));
        assert_eq!(before.len(), 4 + 3 * 500 + 1);
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(format!("{before:?}"), format!("{after:?}"));
        }
        assert_eq!(before.len(), after.len());
    }

    #[test]
    fn rounded_times_do_not_drift() {
        let trace = trace(3000);
        let packed = pack(&trace, Times::Rounded).unwrap();
        assert!(
            packed.len() * 2 < pack(&trace, Times::Exact).unwrap().len() * 3
                && packed.len() * 4 < trace.len()
        );
        let (before, after) = (events(&trace), events(&unpack(&packed).unwrap()));
        assert_eq!(before.len(), after.len());
        let (mut recorded, mut rounded, mut cpu) = (0, 0, (0, 0));
        for (before, after) in before.iter().zip(&after) {
            let (exact, close) = (before.2, after.2);
            let off = |one: u64, other: u64| one.abs_diff(other) as f64 / one.max(1) as f64;
            assert!(off(exact.took, close.took) < 0.07, "{exact:?} {close:?}");
            recorded += exact.end;
            rounded += close.end;
            assert!(
                i64::abs_diff(recorded as i64, rounded as i64) <= 1 << DROPPED_BITS,
                "{recorded} {rounded}"
            );
            cpu = (cpu.0 + exact.cpu_before, cpu.1 + close.cpu_before);
            assert!(u64::abs_diff(cpu.0, cpu.1) < 6000);
            assert_eq!((before.0, before.1, before.3, before.4), (after.0, after.1, after.3, after.4));
            assert_eq!((&before.5, &before.6), (&after.5, &after.6));
        }
    }

    #[test]
    fn cut_or_damaged_files_are_told() {
        let packed = pack(&trace(50), Times::Rounded).unwrap();
        for length in 0..packed.len() - 1 {
            let error = unpack(&packed[..length]).unwrap_err();
            assert!(
                error == PackError::CutOff || matches!(error, PackError::Damaged(_)),
                "{length}: {error}"
            );
        }
        let mut newer = packed.clone();
        newer[8] = 9;
        assert_eq!(unpack(&newer).unwrap_err(), PackError::Version(9));
        for at in 0..packed.len() {
            let mut damaged = packed.clone();
            damaged[at] ^= 0x41;
            if let Ok(trace) = unpack(&damaged) {
                assert!(trace.len() as u64 <= packed.len() as u64 * MAX_RATIO);
            }
        }
        // Times of a damaged clock are strange, and come back as strange.
        let strange =
            Craft::new(1, 1).call(Call::Sync, 5, 5, 0, &[], &[], &[]).header(|header| header.ppid = 7);
        let mut bytes = strange.bytes();
        let end = HEADER_BYTES + 3;
        bytes.splice(end..end + 1, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        bytes[HEADER_BYTES] += 9;
        for times in [Times::Exact, Times::Rounded] {
            assert_eq!(events(&unpack(&pack(&bytes, times).unwrap()).unwrap()).len(), 1);
        }
        let mut cut = trace(2);
        cut.truncate(cut.len() - 70);
        assert!(matches!(pack(&cut, Times::Exact), Err(Ending::CutOff { .. })));
    }

    #[test]
    fn what_compresses_beyond_the_limit_is_padded() {
        let mut craft = Craft::new(1, 1);
        for round in 0..200_000 {
            craft = craft.call(Call::Fsync, round * 100, 10, 0, &[3], &[], &[]);
        }
        let packed = pack(&craft.bytes(), Times::Exact).unwrap();
        assert_eq!(events(&unpack(&packed).unwrap()).len(), 200_000);
    }
}
