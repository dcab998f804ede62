//! How times are coded: how long each is depends on the call, on those before it, and on how long they took.

use super::coder::{Bits, CONTEXTS, Model, plain};
use super::rounding::{KEPT_BITS, Packed, Times, dropped_bits};
use crate::calls::Call;
use crate::record::{CPU_AFTER, CPU_BEFORE, Flags};

/// Of an exact time, so many bits behind the leading one are told by those of the times before; the rest is noise.
const EXACT_BITS: u32 = 8;

/// Times of so many bits or more, and negative ones, are few.
const UNUSUAL: u64 = 31;

/// What a time is of.
#[derive(Clone, Copy)]
enum Of {
    Gap = 1,
    Took,
    CpuBefore,
    CpuAfter,
}

/// Codes times, and learns from them what to expect. What it has learnt holds for all traces of a file.
pub(super) struct TimeCoder {
    times: Times,
    model: Model,
    /// How long a call took the last time, by its number; as [`size`] tells.
    took: Vec<u8>,
}

/// Where a trace stands.
#[derive(Default)]
pub(super) struct Before {
    /// The numbers of the latest two calls, the latest one first.
    calls: [u64; 2],
    took: i64,
    /// Time since the latest CPU reading.
    since_reading: i64,
}

impl TimeCoder {
    pub(super) fn new(times: Times) -> TimeCoder {
        let most = Call::ALL.last().map_or(0, |&call| call as usize);
        TimeCoder { times, model: Model::new(), took: vec![0; most + 1] }
    }

    /// Codes the times of the next record of a trace.
    pub(super) fn code(
        &mut self,
        bits: &mut impl Bits,
        before: &mut Before,
        call: Call,
        flags: Flags,
        times: Packed,
    ) -> Packed {
        let (id, own) = (call as u64, u64::from(flags));
        let [latest, earlier] = before.calls;
        let mut coded = Packed::default();
        let first = mix(id << 16 | own & u64::from(CPU_BEFORE), Of::Gap as u64);
        let second = mix(first, latest);
        let third = mix(second, earlier << 8 | size(before.took));
        coded.gap = self.time(bits, [first, second, third], times.gap);
        let first = mix(id, Of::Took as u64);
        let second = mix(first, own << 8 | size(coded.gap));
        let third = mix(second, u64::from(self.took[call as usize]) + 1);
        coded.took = self.time(bits, [first, second, third], times.took);
        before.since_reading = before.since_reading.saturating_add(coded.gap);
        if flags & CPU_BEFORE != 0 {
            coded.cpu_before = self.reading(bits, Of::CpuBefore, times.cpu_before, before, id);
        }
        before.since_reading = before.since_reading.saturating_add(coded.took);
        if flags & CPU_AFTER != 0 {
            coded.cpu_after = self.reading(bits, Of::CpuAfter, times.cpu_after, before, id);
        }
        self.took[call as usize] = size(coded.took) as u8;
        (before.calls, before.took) = ([id, latest], coded.took);
        coded
    }

    /// A CPU reading is mostly as long as the time since the one before.
    fn reading(&mut self, bits: &mut impl Bits, of: Of, cpu: i64, before: &mut Before, call: u64) -> i64 {
        let first = mix(size(before.since_reading), of as u64);
        before.since_reading = 0;
        self.time(bits, [of as u64, first, mix(first, call + 1)], cpu)
    }

    /// Codes one time: how many bits it has, and as many of them as are kept.
    fn time(&mut self, bits: &mut impl Bits, contexts: [u64; CONTEXTS], time: i64) -> i64 {
        let length = size(time);
        let is_usual = time >= 0 && length < UNUSUAL;
        let class = self.model.tree(bits, contexts, if is_usual { length } else { UNUSUAL }, 5);
        let (mut negative, mut length) = (0, class as u32);
        if class == UNUSUAL {
            let unusual = contexts.map(|context| mix(context, UNUSUAL));
            negative = self.model.tree(bits, unusual, u64::from(time < 0), 1);
            // There are no more bits than 64, whatever a damaged file says.
            length =
                self.model.tree(bits, unusual.map(|context| mix(context, negative)), size(time), 7).min(64)
                    as u32;
        }
        let contexts = contexts.map(|context| mix(context, negative << 8 | (u64::from(length) + 64)));
        let read = self.magnitude(bits, contexts, time.unsigned_abs(), length) as i64;
        if negative == 1 { read.wrapping_neg() } else { read }
    }

    /// A number of `length` bits, of which the first is 1.
    fn magnitude(&mut self, bits: &mut impl Bits, contexts: [u64; CONTEXTS], value: u64, length: u32) -> u64 {
        if length < 2 {
            return u64::from(length);
        }
        let (expected, dropped) = match self.times {
            Times::Exact => (EXACT_BITS, 0),
            Times::Rounded => (KEPT_BITS, dropped_bits(length)),
        };
        let kept = length - 1 - dropped;
        let expected = expected.min(kept);
        let unexpected = kept - expected;
        let behind = value >> dropped & low_bits(kept);
        let front = self.model.tree(bits, contexts, behind >> unexpected, expected);
        let back = plain(bits, behind & low_bits(unexpected), unexpected);
        (1 << kept | front << unexpected | back) << dropped
    }
}

/// How many bits a time has, without its sign.
fn size(time: i64) -> u64 {
    u64::from(64 - time.unsigned_abs().leading_zeros())
}

fn low_bits(count: u32) -> u64 {
    (1 << count) - 1
}

#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::super::coder::{Decoder, Encoder};
    use super::*;

    #[test]
    fn every_time_comes_back() {
        let mut given = Vec::new();
        for shift in 0..64 {
            for near in [-1i64, 0, 1] {
                let gap = (1i64 << shift).wrapping_add(near);
                let (took, cpu_before) = (gap.wrapping_neg(), !gap);
                given.push(Packed { gap, took, cpu_before, cpu_after: gap.wrapping_mul(3) });
            }
        }
        let flags = CPU_BEFORE | CPU_AFTER;
        let coder = || (TimeCoder::new(Times::Exact), Before::default());
        let ((mut encoding, mut before), mut encoder) = (coder(), Encoder::new());
        for packed in &given {
            assert_eq!(encoding.code(&mut encoder, &mut before, Call::Read, flags, *packed), *packed);
        }
        let bytes = encoder.finish();
        let ((mut decoding, mut before), mut decoder) = (coder(), Decoder::new(&bytes).unwrap());
        for packed in &given {
            let read = decoding.code(&mut decoder, &mut before, Call::Read, flags, Packed::default());
            assert_eq!(read, *packed);
        }
        assert!(decoder.is_at_end());
    }

    #[test]
    fn what_goes_on_as_before_takes_next_to_nothing() {
        let (mut coder, mut before, mut encoder) =
            (TimeCoder::new(Times::Rounded), Before::default(), Encoder::new());
        for round in 0..20_000 {
            let (call, took) = if round % 2 == 0 { (Call::Read, 400) } else { (Call::Write, 8448) };
            let times = Packed { gap: 31, took, ..Packed::default() };
            coder.code(&mut encoder, &mut before, call, 0, times);
        }
        let bytes = encoder.finish().len();
        assert!(bytes < 200, "{bytes}");
    }
}
