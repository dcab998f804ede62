//! What a writer and the readers of its trace remember of the records before, so that what comes again is short.
//!
//! Programs loop: most calls have been made before with the same arguments and the same result. Both sides keep the
//! latest *bodies* (call, outcome, integers, list) in [`BODIES`] places, the latest *heads* of texts (a path up
//! to its last slash) in [`HEADS`] places and the latest whole texts in [`TEXTS`]; where something belongs is computed
//! from itself. A record with a known body names its place, and so does a known text; a text with a known head names
//! that and goes on with its tail.
//!
//! A reader knows whatever stands in the trace before. The writer may know less, never more: when a signal handler
//! has jumped out of the middle of a record, it forgets everything ([`Writer::forget`]), and that needs no mark in
//! the trace, since it only names what it has written since.

use crate::calls::Call;
use crate::record::{BEGAN, COMPLETE, FAILED, Flags, INNER, Text, Times};
use crate::repeats::Repeats;

/// How many bodies are remembered.
pub const BODIES: usize = 256;
/// How many heads of texts are remembered.
pub const HEADS: usize = 64;
/// The most 64-bit words of a body that is remembered: call, outcome, integers and list, as many as a call of MPI has
/// that sends and receives.
pub const WORDS: usize = 12;
/// How many whole texts are remembered.
pub const TEXTS: usize = 64;
/// The lengths of heads and texts that are remembered, bytes.
pub const TEXT_BYTES: core::ops::RangeInclusive<usize> = 4..=127;
/// The flags that belong to a body; the others belong to one record of it.
pub const BODY_FLAGS: Flags = FAILED | INNER | COMPLETE | BEGAN;

/// What the words of a body are multiplied by to find its place.
pub const BODY_FACTORS: [u64; WORDS] = [
    0x9e37_79b9_7f4a_7c15,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5899_65cc_7537_4cc3,
    0xca11_8783_5939_42a5,
    0x934b_8db4_b18f_bdb1,
    0xfa67_4d0a_5fd1_1a33,
    0xed03_75b4_9fbc_5e01,
];
const TEXT_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A call without its times: the call's number, flags and how many words there are; the result (or errno); the
/// integers; the list. Word by word, since what was just stored in words is slow to load in larger pieces.
pub(crate) struct Body<'a, const N: usize> {
    first: i64,
    outcome: i64,
    numbers: &'a [i64; N],
    list: &'a [i64],
}

impl<'a, const N: usize> Body<'a, N> {
    /// The body of a record without texts; `None` when it has too many words.
    #[inline(always)]
    pub(crate) fn of(
        call: Call,
        flags: Flags,
        outcome: i64,
        numbers: &'a [i64; N],
        list: &'a [i64],
    ) -> Option<Body<'a, N>> {
        let count = 2 + N + list.len();
        let first = call as i64 | i64::from(flags & BODY_FLAGS) << 16 | (count as i64) << 24;
        (count <= WORDS).then_some(Body { first, outcome, numbers, list })
    }

    /// Its place: the topmost eight bits of the sum of the words, each times a factor of its own, modulo 2⁶⁴.
    #[inline(always)]
    pub(crate) fn place(&self) -> usize {
        let times =
            |sum: u64, (&word, factor): (&i64, u64)| sum.wrapping_add((word as u64).wrapping_mul(factor));
        let begin = [self.first, self.outcome].iter().zip(BODY_FACTORS).fold(0, times);
        let numbers = self.numbers.iter().zip(BODY_FACTORS.into_iter().skip(2)).fold(begin, times);
        (self.list.iter().zip(BODY_FACTORS.into_iter().skip(2 + N)).fold(numbers, times) >> 56) as usize
    }

    /// True for a call that succeeded, inside no other, with nothing but integers: what a call says that goes untimed.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.outcome == 0 && self.list.is_empty() && self.first >> 16 & i64::from(BODY_FLAGS) == 0
    }

    /// Is it what is kept there?
    #[inline(always)]
    fn is_at(&self, kept: &Kept) -> bool {
        let Kept(words) = kept;
        let stand = |at: usize, values: &[i64]| values.iter().zip(&words[at..]).all(|(a, b)| a == b);
        words[0] == self.first
            && words[1] == self.outcome
            && stand(2, self.numbers)
            && stand(2 + N, self.list)
    }

    /// Keeps it there. Words behind it stay as they were: the first one says how many there are.
    #[inline(always)]
    fn keep_at(&self, kept: &mut Kept) {
        let Kept(words) = kept;
        (words[0], words[1]) = (self.first, self.outcome);
        words[2..2 + N].copy_from_slice(self.numbers);
        for (word, &number) in words[2 + N..].iter_mut().zip(self.list) {
            *word = number;
        }
    }
}

/// The words of a body that is kept; all zero: none.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Kept([i64; WORDS]);

impl Kept {
    /// Are these the integers?
    #[inline(always)]
    fn has<const N: usize>(&self, numbers: &[i64; N]) -> bool {
        2 + N <= WORDS && numbers.iter().zip(&self.0[2..]).all(|(a, b)| a == b)
    }
}

const _: () = assert!(BODIES == 1 << 8 && HEADS == 1 << 6 && TEXTS == HEADS);

/// Splits a text into what may come again and the rest: a path after its last slash, a text without one at its end.
#[inline]
pub fn split(text: &[u8]) -> (&[u8], &[u8]) {
    let slash = text.iter().rposition(|&byte| byte == b'/').map_or(text.len(), |at| at + 1);
    text.split_at(slash)
}

/// The place of a head or a text: for each eight bytes (little-endian, zeros behind the last), exclusive or and multiply; the
/// topmost six bits.
#[inline]
pub fn place_of_text(text: &[u8]) -> usize {
    let mut sum = text.len() as u64;
    let mut add = |word: u64| sum = (sum ^ word).wrapping_mul(TEXT_FACTOR).rotate_left(29);
    let mut rest = text;
    while let Some((chunk, behind)) = rest.split_first_chunk::<8>() {
        add(u64::from_le_bytes(*chunk));
        rest = behind;
    }
    if !rest.is_empty() {
        // Byte by byte: a copy of unknown length would be a call of libc's.
        add(rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
    }
    (sum.wrapping_mul(TEXT_FACTOR) >> 58) as usize
}

/// A head or a text as the writer keeps it.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct KeptText {
    length: u8,
    bytes: [u8; 127],
}

impl KeptText {
    const NONE: KeptText = KeptText { length: 0, bytes: [0; 127] };

    /// Is it this one? If not, it is from now on.
    #[inline]
    fn is_or_becomes(&mut self, text: &[u8]) -> bool {
        if self.bytes[..usize::from(self.length).min(127)] == *text {
            return true;
        }
        self.length = 0;
        self.bytes[..text.len()].copy_from_slice(text);
        self.length = text.len() as u8;
        false
    }
}

/// What a writer remembers. All zero bytes are a valid, empty one.
///
/// What a row of polls needs stands in front, close to what its owner needs for every call: a program that polls between
/// accesses all over its memory finds little of ours in the cache.
#[repr(C)]
pub struct Writer {
    pub(crate) repeats: Repeats,
    /// The places, plus one, of the bodies of the latest records, from the latest on, as long as they found nothing. Not all zero
    /// while `other` is open.
    pub(crate) turns: [u16; 3],
    /// The body of the row that is being counted.
    polled: Kept,
    /// The row of a call that comes by turns with the one of `repeats`, and its body.
    other: Repeats,
    other_polled: Kept,
    bodies: [Kept; BODIES],
    heads: [KeptText; HEADS],
    texts: [KeptText; TEXTS],
}

impl Writer {
    /// So many bytes at its front are in use as long as nothing is remembered.
    pub const FRONT_BYTES: usize = core::mem::offset_of!(Writer, bodies);

    /// An empty one.
    pub const NEW: Writer = Writer {
        repeats: Repeats::NONE,
        turns: [0; 3],
        polled: Kept([0; WORDS]),
        other: Repeats::NONE,
        other_polled: Kept([0; WORDS]),
        bodies: [Kept([0; WORDS]); BODIES],
        heads: [KeptText::NONE; HEADS],
        texts: [KeptText::NONE; TEXTS],
    };

    /// Forgets everything; what is written next stands for itself.
    pub fn forget(&mut self) {
        *self = Writer::NEW;
    }

    /// To be called before the records written so far are moved or unmapped.
    ///
    /// # Safety
    /// They must still be there: how many polls a row has may be missing in its record.
    #[inline(always)]
    pub unsafe fn moving(&mut self) {
        // SAFETY: as the caller vouches.
        unsafe {
            self.repeats.end_row();
            if self.turns != [0; 3] {
                self.turns = [0; 3];
                self.other.end_row();
            }
        }
    }

    /// Whether what is now written, which has found nothing, comes by turns with another call.
    #[inline(always)]
    pub(crate) fn comes_by_turns(&self, place: usize) -> bool {
        let [latest, before, earlier] = self.turns;
        usize::from(before) == place + 1 && earlier == latest && latest != before
    }

    /// Keeps the row of the latest call open, or begins one, while the call that comes by turns with it is written; the bytes of
    /// the record that was made for this.
    ///
    /// # Safety
    /// As for [`crate::record::encode`].
    #[cold]
    pub(crate) unsafe fn keep_row(&mut self, at: *mut u8) -> usize {
        // SAFETY: as the caller vouches.
        unsafe { self.other.end_row() };
        let bytes = if self.repeats.is_open() {
            (self.other, self.other_polled) = (self.repeats, self.polled);
            0
        } else {
            let body = self.bodies[usize::from(self.turns[0]).wrapping_sub(1) % BODIES];
            self.other_polled = body;
            // SAFETY: as the caller vouches.
            unsafe { self.other.begin(at, body.0[0] as u16) }
        };
        self.repeats.hand_over();
        bytes
    }

    /// Counts a call that did again what the latest record says, as the next one of its row; the bytes of the record that
    /// was made for this. `None`: it did something else.
    ///
    /// # Safety
    /// As for [`crate::record::encode`].
    #[inline(always)]
    pub(crate) unsafe fn count_again<const N: usize>(
        &mut self,
        at: *mut u8,
        call: Call,
        times: Times,
        body: &Body<'_, N>,
    ) -> Option<usize> {
        if !self.repeats.latest.checked_sub(1).is_some_and(|place| self.knows(place, body)) {
            let is_other = self.turns[0] != 0 && self.other.is_open() && body.is_at(&self.other_polled);
            // SAFETY: as the caller vouches.
            return is_other
                .then(|| unsafe { self.other.add(at, call, times, body.is_plain(), &mut self.repeats) });
        }
        // SAFETY: as the caller vouches.
        let bytes = unsafe { self.repeats.add(at, call, times, body.is_plain(), &mut self.other) };
        if bytes != 0 {
            body.keep_at(&mut self.polled);
        }
        Some(bytes)
    }

    /// True when this call, if it finds nothing, may be counted without times: the clock need not be read before it.
    #[inline(always)]
    pub fn may_go_untimed(&self, call: Call) -> bool {
        let may = |row: &Repeats| row.may_go_untimed == call as u16;
        may(&self.repeats) || self.turns[0] != 0 && may(&self.other)
    }

    /// Counts one that went untimed and succeeded, inside no other call, as a further one of its row. False: it is not of
    /// this row, and is to be written.
    #[inline(always)]
    pub fn count_untimed<const N: usize>(&mut self, call: Call, numbers: &[i64; N]) -> bool {
        let counts = |row: &Repeats, polled: &Kept| row.may_go_untimed == call as u16 && polled.has(numbers);
        let row = if counts(&self.repeats, &self.polled) {
            &mut self.repeats
        } else if self.turns[0] != 0 && counts(&self.other, &self.other_polled) {
            &mut self.other
        } else {
            return false;
        };
        row.add_untimed()
    }

    /// What a call of the rows that are being counted takes on average, units.
    #[cold]
    pub fn mean_took(&self) -> u64 {
        let open = [&self.repeats, &self.other].into_iter().filter(|row| row.is_open()).map(Repeats::total);
        let (took, count) = open.fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
        took / count.max(1)
    }

    #[inline(always)]
    pub(crate) fn knows<const N: usize>(&self, place: usize, body: &Body<'_, N>) -> bool {
        body.is_at(&self.bodies[place % BODIES])
    }

    /// To be called when a record with this body is in the trace, not before.
    #[inline(always)]
    pub(crate) fn remember<const N: usize>(&mut self, place: usize, body: &Body<'_, N>) {
        body.keep_at(&mut self.bodies[place % BODIES]);
    }

    /// The place of a head that the trace already has. Another one takes its place, to be found from now on.
    #[inline]
    pub(crate) fn head(&mut self, head: &[u8]) -> Option<usize> {
        if !TEXT_BYTES.contains(&head.len()) {
            return None;
        }
        let place = place_of_text(head);
        self.heads[place % HEADS].is_or_becomes(head).then_some(place)
    }

    /// The same for a whole text. Its place is behind those of the heads.
    #[inline]
    pub(crate) fn text(&mut self, text: &[u8]) -> Option<usize> {
        if !TEXT_BYTES.contains(&text.len()) {
            return None;
        }
        let place = place_of_text(text);
        self.texts[place % TEXTS].is_or_becomes(text).then_some(HEADS + place)
    }
}

/// What a reader remembers: slices of the trace.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bodies: [Option<Known<'a>>; BODIES],
    heads: [&'a [u8]; HEADS],
    texts: [Text<'a>; TEXTS],
}

/// The record in which a body last stood at full length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) call: Call,
    pub(crate) flags: Flags,
    /// From the outcome on.
    pub(crate) rest: &'a [u8],
}

impl Default for Reader<'_> {
    fn default() -> Self {
        Reader { bodies: [None; BODIES], heads: [&[]; HEADS], texts: [Text::default(); TEXTS] }
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn body(&self, place: usize) -> Option<&Known<'a>> {
        self.bodies.get(place)?.as_ref()
    }

    pub(crate) fn remember(&mut self, place: usize, known: Known<'a>) {
        self.bodies[place % BODIES] = Some(known);
    }

    /// What a text names: the head or the text that was last put at this place, an empty one if there is none.
    pub(crate) fn text(&self, place: usize) -> Text<'a> {
        match place.checked_sub(HEADS) {
            None => Text { head: self.heads[place], tail: &[] },
            Some(place) => self.texts[place % TEXTS],
        }
    }

    /// To be called with every text that is not named as a whole. Its head is new where it is not a named one.
    pub(crate) fn remember_text(&mut self, text: Text<'a>) {
        if text.head.is_empty() {
            let (head, tail) = split(text.tail);
            if TEXT_BYTES.contains(&head.len()) {
                self.heads[place_of_text(head) % HEADS] = head;
            }
            if tail.is_empty() {
                return;
            }
        }
        let mut bytes = [0; *TEXT_BYTES.end()];
        let length = text.len();
        if !text.tail.is_empty() && TEXT_BYTES.contains(&length) {
            bytes[..text.head.len()].copy_from_slice(text.head);
            bytes[text.head.len()..length].copy_from_slice(text.tail);
            self.texts[place_of_text(&bytes[..length]) % TEXTS] = text;
        }
    }
}
