//! Times with few bits: what is kept of them, and how the rest is carried on.

use crate::record;

/// How many bits behind the leading one are kept of a time.
pub const KEPT_BITS: u32 = 4;
/// The most bits that rounding takes off a time.
pub const DROPPED_BITS: u32 = 12;

/// How times are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Every bit.
    Exact,
    /// Rounded; see [`crate::pack`].
    Rounded,
}

/// The times of a record as they are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// The nearest number that is 0 behind its leading one and the [`KEPT_BITS`] bits that follow it; but no more than
/// [`DROPPED_BITS`] bits are dropped of any.
fn round(value: i64) -> i64 {
    let magnitude = value.unsigned_abs();
    let dropped = dropped_bits(64 - magnitude.leading_zeros());
    let half = (1u64 << dropped) >> 1;
    let rounded = (magnitude + half) >> dropped << dropped;
    match i64::try_from(rounded) {
        Ok(rounded) => rounded * value.signum(),
        // Damaged clocks only: next to the largest number there is.
        Err(_) => value,
    }
}

/// How many bits are dropped of a number of so many bits.
pub(super) fn dropped_bits(length: u32) -> u32 {
    length.saturating_sub(KEPT_BITS + 1).min(DROPPED_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_five_bits() {
        for (value, rounded) in
            [(0, 0), (31, 31), (32, 32), (33, 34), (34, 34), (65, 64), (-1000, -992), (9_999_999, 9_998_336)]
        {
            assert_eq!(round(value), rounded, "{value}");
        }
        for value in (0..1 << 19).chain([1 << 40, i64::MAX / 3]) {
            for value in [value, -value] {
                let rounded = round(value);
                let off = rounded.abs_diff(value);
                assert!(off <= (value.unsigned_abs() / 32).min(1 << (DROPPED_BITS - 1)), "{value}");
                assert_eq!(round(rounded), rounded, "{value}");
            }
        }
    }
}
