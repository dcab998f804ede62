//! Times with few bits: what is kept of them, and how the rest is carried on.

use super::{DROPPED_BITS, KEPT_BITS, Times};
use crate::record;

/// The times of a record as they are packed.
pub(super) struct Packed {
    /// From the end of the record before to the entry; negative for a call around others.
    pub(super) gap: i64,
    pub(super) took: i64,
    pub(super) cpu_before: i64,
    pub(super) cpu_after: i64,
}

/// Rounds the times of a trace, one record after the other.
pub(super) struct Rounding {
    times: Times,
    /// By how much the trace as packed is ahead of the one recorded, at the end of the latest record.
    behind: i64,
    /// The same of its CPU time.
    cpu_behind: i64,
}

impl Rounding {
    pub(super) fn new(times: Times) -> Rounding {
        Rounding { times, behind: 0, cpu_behind: 0 }
    }

    pub(super) fn apply(&mut self, times: record::Times) -> Packed {
        let took = times.took as i64;
        let gap = (times.end as i64).wrapping_sub(took);
        if self.times == Times::Exact {
            let (cpu_before, cpu_after) = (times.cpu_before as i64, times.cpu_after as i64);
            return Packed { gap, took, cpu_before, cpu_after };
        }
        let rounded_took = round(took.max(0));
        let wanted = gap.saturating_add(self.behind).saturating_add(took.saturating_sub(rounded_took));
        // Events stay in their order: the end of this one is not before that of the one before.
        let rounded_gap = round(wanted).max(-rounded_took);
        self.behind = wanted.saturating_sub(rounded_gap);
        Packed {
            gap: rounded_gap,
            took: rounded_took,
            cpu_before: self.cpu(times.cpu_before),
            cpu_after: self.cpu(times.cpu_after),
        }
    }

    /// A reading that is not there is 0 and stays it.
    fn cpu(&mut self, given: u64) -> i64 {
        if given == 0 {
            return 0;
        }
        let wanted = (given as i64).saturating_add(self.cpu_behind);
        let rounded = round(wanted).max(0);
        self.cpu_behind = wanted.saturating_sub(rounded);
        rounded
    }
}

/// The nearest number that is 0 behind its leading one and the [`KEPT_BITS`] bits that follow it. Numbers that would lose
/// more than [`DROPPED_BITS`] stay as they are: there are few of them, and they would shift all that comes behind.
fn round(value: i64) -> i64 {
    let magnitude = value.unsigned_abs();
    let dropped = dropped_bits(magnitude);
    if dropped > DROPPED_BITS {
        return value;
    }
    let half = (1u64 << dropped) >> 1;
    let rounded = ((magnitude + half) >> dropped << dropped) as i64;
    if value < 0 { -rounded } else { rounded }
}

fn dropped_bits(magnitude: u64) -> u32 {
    (64 - magnitude.leading_zeros()).saturating_sub(KEPT_BITS + 1)
}

/// Stands for a number that is written whole elsewhere.
pub(super) const WHOLE: [u8; 2] = [0xff; 2];

/// A rounded number as its place in the list of all of them, of which the sign is the highest of 16 bits; or [`WHOLE`].
pub(super) fn split_index(value: i64) -> [u8; 2] {
    let magnitude = value.unsigned_abs();
    let dropped = dropped_bits(magnitude);
    if dropped > DROPPED_BITS + 1 || magnitude >> dropped << dropped != magnitude {
        return WHOLE;
    }
    let index = (u64::from(dropped) << KEPT_BITS) + (magnitude >> dropped);
    (index as u16 | u16::from(value < 0) << 15).to_le_bytes()
}

/// The number at that place; `None` where there is none.
pub(super) fn join_index(bytes: [u8; 2]) -> Option<i64> {
    let word = u16::from_le_bytes(bytes);
    let index = u64::from(word & 0x7fff);
    let dropped = (index >> KEPT_BITS).saturating_sub(1);
    if dropped > u64::from(DROPPED_BITS) + 1 {
        return None;
    }
    let magnitude = ((index - (dropped << KEPT_BITS)) << dropped) as i64;
    Some(if word >> 15 == 1 { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_five_bits() {
        for (value, rounded) in
            [(0, 0), (31, 31), (32, 32), (33, 34), (34, 34), (65, 64), (-1000, -992), (9_999_999, 9_999_999)]
        {
            assert_eq!(round(value), rounded, "{value}");
        }
        for value in (0..1 << 19).chain([i64::MAX, 1 << 40, i64::MAX / 3]) {
            for value in [value, -value] {
                let rounded = round(value);
                let off = rounded.abs_diff(value);
                assert!(off <= (value.unsigned_abs() / 32).min(1 << (DROPPED_BITS - 1)), "{value}");
                let split = split_index(rounded);
                assert!(split != WHOLE || rounded == value && off == 0, "{value}");
                assert!(split == WHOLE || join_index(split) == Some(rounded), "{value}");
            }
        }
        assert_eq!(join_index(WHOLE), None);
    }
}
