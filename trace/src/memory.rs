//! What a writer and the readers of its trace remember of the records before, so that what comes again is short.
//!
//! Programs loop: most calls have been made before with the same arguments and the same result. Both sides keep the
//! latest *bodies* (call, outcome, integers, list) in [`BODIES`] places, and the latest *heads* of texts (a path up
//! to its last slash) in [`HEADS`] places; where something belongs is computed from itself. A record with a known
//! body names its place; a text with a known head names that and goes on with its tail.
//!
//! A reader knows whatever stands in the trace before. The writer may know less, never more: when a signal handler
//! has jumped out of the middle of a record, it forgets everything ([`Writer::forget`]), and that needs no mark in
//! the trace, since it only names what it has written since.

use crate::calls::Call;
use crate::record::{BEGAN, COMPLETE, FAILED, INNER};
use crate::repeats::Repeats;

/// How many bodies are remembered.
pub const BODIES: usize = 256;
/// How many heads of texts are remembered.
pub const HEADS: usize = 64;
/// The most 64-bit words of a body that is remembered; see [`Body`].
pub const WORDS: usize = 8;
/// The lengths of heads that are remembered, bytes.
pub const HEAD_BYTES: core::ops::RangeInclusive<usize> = 4..=127;
/// The flags that belong to a body; the others belong to one record of it.
pub const BODY_FLAGS: u8 = FAILED | INNER | COMPLETE | BEGAN;

const BODY_FACTORS: [u64; WORDS] = [
    0x9e37_79b9_7f4a_7c15,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5899_65cc_7537_4cc3,
];
const HEAD_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A call without its times: the call's number, flags and how many words there are; the result (or errno); the
/// integers; the list; then zeros. All zero: no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Body(pub [i64; WORDS]);

impl Body {
    /// Nothing.
    pub const NONE: Body = Body([0; WORDS]);

    /// The body of a record without texts; `None` when it has too many words.
    #[inline(always)]
    pub fn of<const N: usize>(
        call: Call,
        flags: u8,
        outcome: i64,
        numbers: &[i64; N],
        list: &[i64],
    ) -> Option<Body> {
        let count = 2 + N + list.len();
        if count > WORDS {
            return None;
        }
        let mut words = [0; WORDS];
        words[0] = first_word(call, flags, count);
        words[1] = outcome;
        words[2..2 + N].copy_from_slice(numbers);
        for (index, &number) in list.iter().enumerate() {
            words[2 + N + index] = number;
        }
        Some(Body(words))
    }

    /// The place of a body whose integers and list are the first `count` of `values`.
    pub(crate) fn of_values(
        call: Call,
        flags: u8,
        outcome: i64,
        values: &[i64; WORDS - 2],
        count: usize,
    ) -> Body {
        let mut words = [0; WORDS];
        words[0] = first_word(call, flags, count + 2);
        words[1] = outcome;
        words[2..].copy_from_slice(values);
        Body(words)
    }

    /// Its place: the topmost eight bits of the sum of the words, each times a factor of its own, modulo 2⁶⁴.
    #[inline(always)]
    pub fn place(&self) -> usize {
        let products =
            self.0.iter().zip(BODY_FACTORS).map(|(&word, factor)| (word as u64).wrapping_mul(factor));
        (products.fold(0, u64::wrapping_add) >> 56) as usize
    }
}

#[inline(always)]
fn first_word(call: Call, flags: u8, words: usize) -> i64 {
    call as i64 | i64::from(flags & BODY_FLAGS) << 16 | (words as i64) << 24
}

const _: () = assert!(BODIES == 1 << 8 && HEADS == 1 << 6);

/// Splits a text into what may come again and the rest: a path after its last slash, a text without one at its end.
#[inline]
pub fn split(text: &[u8]) -> (&[u8], &[u8]) {
    let slash = text.iter().rposition(|&byte| byte == b'/').map_or(text.len(), |at| at + 1);
    text.split_at(slash)
}

/// The place of a head: for each eight bytes (little-endian, zeros behind the last), exclusive or and multiply; the
/// topmost six bits.
#[inline]
pub fn place_of_head(head: &[u8]) -> usize {
    let mut sum = head.len() as u64;
    let mut add = |word: u64| sum = (sum ^ word).wrapping_mul(HEAD_FACTOR).rotate_left(29);
    let mut rest = head;
    while let Some((chunk, behind)) = rest.split_first_chunk::<8>() {
        add(u64::from_le_bytes(*chunk));
        rest = behind;
    }
    if !rest.is_empty() {
        // Byte by byte: a copy of unknown length would be a call of libc's.
        add(rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
    }
    (sum.wrapping_mul(HEAD_FACTOR) >> 58) as usize
}

/// A head as the writer keeps it.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct Head {
    length: u8,
    bytes: [u8; 127],
}

/// What a writer remembers. All zero bytes are a valid, empty one.
pub struct Writer {
    bodies: [Body; BODIES],
    heads: [Head; HEADS],
    pub(crate) repeats: Repeats,
}

impl Writer {
    /// An empty one.
    pub const NEW: Writer = Writer {
        bodies: [Body::NONE; BODIES],
        heads: [Head { length: 0, bytes: [0; 127] }; HEADS],
        repeats: Repeats::NONE,
    };

    /// Forgets everything; what is written next stands for itself.
    pub fn forget(&mut self) {
        *self = Writer::NEW;
    }

    /// To be called when the records written so far move or are no longer mapped.
    pub fn moved(&mut self) {
        self.repeats.end_row();
    }

    /// True when the latest record has this body.
    #[inline(always)]
    pub(crate) fn is_latest<const N: usize>(
        &self,
        call: Call,
        flags: u8,
        outcome: i64,
        numbers: &[i64; N],
        list: &[i64],
    ) -> bool {
        let count = 2 + N + list.len();
        let Some(Body(words)) = self.repeats.latest.checked_sub(1).and_then(|place| self.bodies.get(place))
        else {
            return false;
        };
        // One by one: what was stored word by word is slow to load in larger pieces.
        let begins = |at: usize, values: &[i64]| values.iter().zip(&words[at..]).all(|(a, b)| a == b);
        count <= WORDS
            && words[0] == first_word(call, flags, count)
            && words[1] == outcome
            && begins(2, numbers)
            && begins(2 + N, list)
    }

    /// True when this call, if it finds nothing, may be counted without times: the clock need not be read before it.
    #[inline(always)]
    pub fn may_go_untimed(&self, call: Call) -> bool {
        self.repeats.untimed_left != 0 && self.repeats.call == call as u16
    }

    /// Counts one that went untimed, as a further one of its row. False: it is not of this row, and is to be written.
    ///
    /// # Safety
    /// As for [`crate::record::encode`].
    #[inline(always)]
    pub unsafe fn count_untimed<const N: usize>(
        &mut self,
        call: Call,
        flags: u8,
        outcome: i64,
        numbers: &[i64; N],
    ) -> bool {
        let counts = self.may_go_untimed(call) && self.is_latest(call, flags, outcome, numbers, &[]);
        if counts {
            // SAFETY: a call may go untimed only while there is a record that counts its row.
            unsafe { self.repeats.add_untimed() };
        }
        counts
    }

    /// What a call of the row that is being counted takes on average, units.
    pub fn mean_took(&self) -> u64 {
        self.repeats.took / self.repeats.count.max(1)
    }

    #[inline(always)]
    pub(crate) fn knows(&self, place: usize, body: &Body) -> bool {
        self.bodies[place % BODIES] == *body
    }

    /// To be called when a record with this body is in the trace, not before.
    #[inline(always)]
    pub(crate) fn remember(&mut self, place: usize, body: &Body) {
        self.bodies[place % BODIES] = *body;
    }

    /// The place of a head that the trace already has. Another one takes its place, to be found from now on.
    #[inline]
    pub(crate) fn head(&mut self, head: &[u8]) -> Option<usize> {
        if !HEAD_BYTES.contains(&head.len()) {
            return None;
        }
        let place = place_of_head(head);
        let kept = &mut self.heads[place % HEADS];
        if kept.bytes[..usize::from(kept.length).min(127)] == *head {
            return Some(place);
        }
        kept.length = 0;
        kept.bytes[..head.len()].copy_from_slice(head);
        kept.length = head.len() as u8;
        None
    }
}

/// What a reader remembers: slices of the trace.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bodies: [Option<Known<'a>>; BODIES],
    heads: [&'a [u8]; HEADS],
}

/// The record in which a body last stood at full length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) call: Call,
    pub(crate) flags: u8,
    /// From the outcome on.
    pub(crate) rest: &'a [u8],
}

impl Default for Reader<'_> {
    fn default() -> Self {
        Reader { bodies: [None; BODIES], heads: [&[]; HEADS] }
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn body(&self, place: usize) -> Option<Known<'a>> {
        self.bodies.get(place).copied().flatten()
    }

    pub(crate) fn remember(&mut self, place: usize, known: Known<'a>) {
        self.bodies[place % BODIES] = Some(known);
    }

    pub(crate) fn head(&self, place: usize) -> &'a [u8] {
        self.heads[place % HEADS]
    }

    pub(crate) fn remember_head(&mut self, text: &'a [u8]) {
        let (head, _) = split(text);
        if HEAD_BYTES.contains(&head.len()) {
            self.heads[place_of_head(head) % HEADS] = head;
        }
    }
}
