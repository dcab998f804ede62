//! An arithmetic coder for bits, and how likely a bit is from those that came before in the same place.
//!
//! The coder narrows an interval of 64-bit numbers by the probability of each bit, and stores the bytes on which its two
//! ends agree: Witten, Neal, Cleary, "Arithmetic coding for data compression", CACM 30 (1987), in the form without carries.

/// Probabilities are of a bit that is 1, in units of 2⁻¹⁶.
const HALF: u16 = 1 << 15;
/// No bit is more certain than this: what is impossible could not be stored.
const LEAST: u16 = 64;

/// Codes bits: one side is given them and stores, the other reads and gives them back. What is to be coded is thereby
/// said once, for both.
pub(super) trait Bits {
    /// The encoder codes `bit` and returns it; the decoder ignores it and returns what was coded.
    fn code(&mut self, bit: bool, probability: u16) -> bool;
}

/// The interval, both ends included.
struct Interval {
    low: u64,
    high: u64,
}

impl Interval {
    const ALL: Interval = Interval { low: 0, high: u64::MAX };

    /// The last number that stands for a 1; `low` ≤ it < `high`.
    #[inline]
    fn middle(&self, probability: u16) -> u64 {
        let (width, probability) = (self.high - self.low, u64::from(probability));
        self.low + (width >> 16) * probability + (((width & 0xffff) * probability) >> 16)
    }

    #[inline]
    fn narrow(&mut self, bit: bool, middle: u64) {
        if bit { self.high = middle } else { self.low = middle + 1 }
    }

    /// Takes off the first byte if both ends have it in common.
    #[inline]
    fn settled(&mut self) -> Option<u8> {
        let first = (self.low >> 56) as u8;
        ((self.high >> 56) as u8 == first).then(|| {
            self.low <<= 8;
            self.high = self.high << 8 | 0xff;
            first
        })
    }
}

/// Stores bits.
pub(super) struct Encoder {
    interval: Interval,
    bytes: Vec<u8>,
}

impl Encoder {
    pub(super) fn new() -> Encoder {
        Encoder { interval: Interval::ALL, bytes: Vec::new() }
    }

    /// Everything coded: bytes that a [`Decoder`] reads to the last.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.extend_from_slice(&self.interval.low.to_be_bytes());
        self.bytes
    }
}

impl Bits for Encoder {
    #[inline]
    fn code(&mut self, bit: bool, probability: u16) -> bool {
        let middle = self.interval.middle(probability);
        self.interval.narrow(bit, middle);
        while let Some(byte) = self.interval.settled() {
            self.bytes.push(byte);
        }
        bit
    }
}

/// Reads bits.
pub(super) struct Decoder<'a> {
    interval: Interval,
    /// The eight bytes at the front.
    at: u64,
    rest: &'a [u8],
    is_over: bool,
}

impl<'a> Decoder<'a> {
    /// `None` for fewer bytes than any encoder leaves.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Decoder<'a>> {
        let (front, rest) = bytes.split_first_chunk::<8>()?;
        Some(Decoder { interval: Interval::ALL, at: u64::from_be_bytes(*front), rest, is_over: false })
    }

    /// True when everything was read, and nothing behind it.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty() && !self.is_over
    }
}

impl Bits for Decoder<'_> {
    #[inline]
    fn code(&mut self, _: bool, probability: u16) -> bool {
        let middle = self.interval.middle(probability);
        let bit = self.at <= middle;
        self.interval.narrow(bit, middle);
        while self.interval.settled().is_some() {
            let next = self.rest.split_off_first().copied();
            self.is_over |= next.is_none();
            self.at = self.at << 8 | u64::from(next.unwrap_or(0));
        }
        bit
    }
}

/// What is known of a bit in one context: its probability, and how often it was seen, counted from [`FRESH`] to
/// [`SETTLED`]; 0: never. An array, of which zeros are had from the system without writing them.
type Slot = [u16; 2];

/// Where counting starts in a context that knows nothing, and in one that takes over what a more general one knows.
const FRESH: u16 = 1;
const INHERITED: u16 = 2;
/// From here on a bit changes its probability by a fixed share, so that what is long past is forgotten.
const SETTLED: u16 = 127;

/// The share of the difference by which a bit changes its probability.
const SHARES: [i32; SETTLED as usize + 1] = {
    let mut shares = [0; SETTLED as usize + 1];
    let mut seen = 0;
    while seen <= SETTLED as usize {
        shares[seen] = (1 << 17) / (2 * seen as i32 + 3);
        seen += 1;
    }
    shares
};

/// How many contexts from the most general to the most special tell a bit together.
pub(super) const CONTEXTS: usize = 3;

/// Probabilities of bits by context. It has a fixed size: contexts that fall on the same place share it, which costs
/// space in the file and nothing else.
pub(super) struct Model {
    slots: Box<[Slot; SLOTS]>,
}

const SLOTS: usize = 1 << 22;

impl Model {
    pub(super) fn new() -> Model {
        let slots = vec![[0, 0]; SLOTS].into_boxed_slice();
        Model { slots: slots.try_into().unwrap_or_else(|_| unreachable!("it has that length")) }
    }

    /// Codes the lowest `width` bits of `value`, the highest of them first, each in the context of those before.
    #[inline]
    pub(super) fn tree(
        &mut self,
        bits: &mut impl Bits,
        contexts: [u64; CONTEXTS],
        value: u64,
        width: u32,
    ) -> u64 {
        let bases = contexts.map(|context| context.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
        let mut node = 1;
        for position in (0..width).rev() {
            let bit = self.bit(bits, bases.map(|base| (base ^ node) as usize), value >> position & 1 == 1);
            node = node << 1 | u64::from(bit);
        }
        node - (1 << width)
    }

    /// The most special context that has been seen tells; one that has not takes over what the one before it tells.
    #[inline]
    fn bit(&mut self, bits: &mut impl Bits, places: [usize; CONTEXTS], bit: bool) -> bool {
        let mut told = [HALF, FRESH];
        for place in places {
            let slot = &mut self.slots[place % SLOTS];
            if slot[1] == 0 {
                *slot = told;
            }
            told = [slot[0], INHERITED];
        }
        let bit = bits.code(bit, told[0].clamp(LEAST, u16::MAX - LEAST));
        for place in places {
            let [probability, seen] = &mut self.slots[place % SLOTS];
            let wanted = if bit { i32::from(u16::MAX) } else { 0 };
            // Half of it, so that the product has 32 bits.
            let half_off = (wanted - i32::from(*probability)) >> 1;
            let share = SHARES[usize::from(*seen) % SHARES.len()];
            *probability = (i32::from(*probability) + ((half_off * share) >> 15)) as u16;
            *seen = (*seen + 1).min(SETTLED);
        }
        bit
    }
}

/// Codes the lowest `width` bits of `value`, of which nothing is known.
#[inline]
pub(super) fn plain(bits: &mut impl Bits, value: u64, width: u32) -> u64 {
    (0..width)
        .rev()
        .fold(0, |read, position| read << 1 | u64::from(bits.code(value >> position & 1 == 1, HALF)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits of a generator, 1 with a probability that depends on the position.
    fn noise(count: u64) -> impl Iterator<Item = (u64, bool)> {
        let mut state = 88_172_645_463_325_252u64;
        (0..count).map(move |position| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let of = position % 3;
            (of, state >> 32 & 0xff < [2, 128, 250][of as usize])
        })
    }

    #[test]
    fn bits_come_back_and_take_what_they_tell() {
        let (mut model, mut encoder) = (Model::new(), Encoder::new());
        for (of, bit) in noise(30_000) {
            model.tree(&mut encoder, [of, of + 10, of + 20], u64::from(bit), 1);
            plain(&mut encoder, u64::from(bit) * 5, 3);
        }
        let bytes = encoder.finish();
        // The entropies of the three, 0.07, 1 and 0.16 bits, and three bits that nothing is known of.
        let least = 10_000.0 * (0.066 + 1.0 + 0.159 + 9.0) / 8.0;
        assert!(bytes.len() as f64 > least && (bytes.len() as f64) < least * 1.01, "{} {least}", bytes.len());
        let (mut model, mut decoder) = (Model::new(), Decoder::new(&bytes).unwrap());
        for (of, bit) in noise(30_000) {
            assert_eq!(model.tree(&mut decoder, [of, of + 10, of + 20], 0, 1), u64::from(bit));
            assert_eq!(plain(&mut decoder, 0, 3), u64::from(bit) * 5);
        }
        assert!(decoder.is_at_end());
    }

    #[test]
    fn intervals_that_shrink_to_nothing_go_on() {
        // Around the middle of all numbers the ends agree on no byte for long.
        let mut encoder = Encoder::new();
        for _ in 0..200 {
            encoder.code(false, HALF);
            for _ in 0..70 {
                encoder.code(true, HALF);
            }
        }
        let bytes = encoder.finish();
        let mut decoder = Decoder::new(&bytes).unwrap();
        for _ in 0..200 {
            assert!(!decoder.code(false, HALF));
            assert!((0..70).all(|_| decoder.code(false, HALF)));
        }
        assert!(decoder.is_at_end());
        let mut short = Decoder::new(&bytes[..bytes.len() - 1]).unwrap();
        for _ in 0..200 * 71 {
            short.code(false, HALF);
        }
        assert!(!short.is_at_end());
        assert!(Decoder::new(&bytes[..7]).is_none());
    }
}
