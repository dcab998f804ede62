//! An idle call that comes again and again: one record counts them all.
//!
//! A program that polls may do so ten million times in a second, and two readings of the clock are then most of what
//! recording costs. So in a long row of short polls only every [`TIMED_EVERY`]-th is timed, and taken for those before
//! it: the row as a whole has its exact time, and what part of that was spent in the calls is an estimate. The record
//! says how many were timed. Those in between are only counted down, and come into the record with the next that is timed,
//! or at the row's end: every instruction shows there, since the processor looks ahead over so many of them and no more to
//! the program's next access to memory.
//!
//! Two calls that find nothing by turns have a row each, as if all of the one had come before all of the other: what both
//! took is exact, and what went untimed of them shares the time between.

use crate::calls::Call;
use crate::record::{Times, commit, gap};
use crate::varint::{self, zigzag};

/// How many in a row are timed one by one before the first that is not.
pub const TIMED_FIRST: u64 = 16;
/// The same where the row before was of short polls of this call.
pub const TIMED_AGAIN: u64 = 2;
/// From there on, one of so many is timed.
pub const TIMED_EVERY: u64 = 64;
/// Polls that take longer than this are all timed, units: one of them may do the work of a message. About 1 µs.
pub const LONGEST_UNTIMED: u64 = 300;

/// The row that is being counted.
#[derive(Clone, Copy)]
pub(crate) struct Repeats {
    /// The place of the body that the latest record has, plus one; 0 when it has none.
    pub(crate) latest: usize,
    /// The record that counts how often it came again; null when there is none.
    at: *mut u8,
    /// How many there are without those that have gone untimed since the latest that did not; how many were timed; the times.
    /// What the record says.
    count: u64,
    timed: u64,
    end: u64,
    took: u64,
    /// Of `end` what the row of the call that comes by turns with this one has left to it, and its own calls have not used.
    shared: u64,
    /// The call, while there is a record.
    call: u16,
    /// The call of which the next may go untimed, 0 when none may.
    pub(crate) may_go_untimed: u16,
    /// The call that was short in the latest row of any length, 0 for none.
    short: u16,
    /// How many of the next may go untimed, and how many that was after the latest that did not.
    untimed_left: u8,
    untimed_granted: u8,
    /// For how many of those that went untimed since then the other row has given time.
    untimed_paid: u8,
}

impl Repeats {
    /// No row.
    pub(crate) const NONE: Repeats = Repeats {
        latest: 0,
        at: core::ptr::null_mut(),
        count: 0,
        timed: 0,
        end: 0,
        took: 0,
        shared: 0,
        call: 0,
        may_go_untimed: 0,
        short: 0,
        untimed_left: 0,
        untimed_granted: 0,
        untimed_paid: 0,
    };

    /// Something else is to be recorded, or the record is to be moved.
    ///
    /// # Safety
    /// If there is a record, it must lie where it was made.
    #[inline(always)]
    pub(crate) unsafe fn end_row(&mut self) {
        if self.untimed() != 0 {
            // SAFETY: as the caller vouches.
            unsafe { self.settle() };
        }
        self.hand_over();
    }

    /// The row is kept elsewhere from now on.
    #[inline(always)]
    pub(crate) fn hand_over(&mut self) {
        self.at = core::ptr::null_mut();
        (self.latest, self.may_go_untimed) = (0, 0);
        (self.untimed_left, self.untimed_granted, self.untimed_paid) = (0, 0, 0);
    }

    /// Has the record say how many went untimed, too.
    ///
    /// # Safety
    /// As for [`Repeats::end_row`].
    #[cold]
    #[inline(never)]
    unsafe fn settle(&mut self) {
        self.count += self.untimed();
        if let Some(record) = self.record() {
            // SAFETY: as the caller vouches.
            unsafe { write_count(record, self.count) };
        }
    }

    /// True while there is a record that counts it.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        !self.at.is_null()
    }

    /// Makes the record of a row that counts nothing yet; its length.
    ///
    /// # Safety
    /// As for [`crate::record::encode`].
    #[cold]
    pub(crate) unsafe fn begin(&mut self, at: *mut u8, call: u16) -> usize {
        *self = Repeats { at, call, short: self.short, ..Repeats::NONE };
        // SAFETY: as the caller vouches.
        unsafe {
            varint::write_eight(at.add(4), 0);
            varint::write_eight(at.add(12), 0);
            write_count(at, 0);
            varint::write_eight(at.add(29), 0);
            commit_row(at)
        }
    }

    /// How many have gone untimed since the latest that did not.
    fn untimed(&self) -> u64 {
        self.untimed_granted.saturating_sub(self.untimed_left).into()
    }

    /// Takes a part of the time for calls of this row that went untimed. False: there is no record any more.
    ///
    /// # Safety
    /// As for [`Repeats::end_row`].
    unsafe fn take_share(&mut self, units: u64) -> bool {
        let Some(record) = self.record() else { return false };
        (self.end, self.shared) = (self.end + units, self.shared + units);
        self.untimed_paid = self.untimed() as u8;
        // SAFETY: as the caller vouches.
        unsafe { varint::write_eight(record.add(4), gap(self.end, self.took)) };
        true
    }

    /// Counts a timed one, in the record of the row; returns the length of that record if it was made for this. `is_plain`: the
    /// next ones may go untimed. `other` is the row of the call that comes by turns with this one.
    ///
    /// # Safety
    /// As for [`crate::record::encode`].
    #[inline(never)]
    pub(crate) unsafe fn add(
        &mut self,
        at: *mut u8,
        call: Call,
        times: Times,
        is_plain: bool,
        other: &mut Repeats,
    ) -> usize {
        let is_new = self.at.is_null();
        if is_new {
            *self =
                Repeats { latest: self.latest, at, call: call as u16, short: self.short, ..Repeats::NONE };
        }
        let between = times.end.saturating_sub(times.took);
        let (untimed, others) = (self.untimed(), other.untimed().saturating_sub(other.untimed_paid.into()));
        let share = between * others / (untimed + 1 + others);
        // SAFETY: the other row's record lies where it was made, as this one's does.
        let left = if share > 0 && unsafe { other.take_share(share) } { share } else { 0 };
        let between = between - left + core::mem::take(&mut self.shared);
        self.timed += 1;
        self.count += untimed + 1;
        self.end += times.end - left;
        self.took += times.took + (untimed * times.took).min(between);
        self.grant(times.took, is_plain);
        let Some(record) = self.record() else { return 0 };
        // SAFETY: the record lies there, or there is room for it.
        unsafe {
            varint::write_eight(record.add(4), gap(self.end, self.took));
            varint::write_eight(record.add(12), self.took);
            write_count(record, self.count);
            varint::write_eight(record.add(29), zigzag(self.timed as i64));
            if !is_new {
                return 0;
            }
            commit_row(at)
        }
    }

    /// Settles how many of the next may go untimed, behind one that took so long.
    fn grant(&mut self, took: u64, is_plain: bool) {
        let is_short = took <= LONGEST_UNTIMED;
        let first = if self.short == self.call { TIMED_AGAIN } else { TIMED_FIRST };
        if self.timed >= TIMED_FIRST || !is_short {
            self.short = if is_short { self.call } else { 0 };
        }
        let may_skip = is_plain && is_short && self.timed >= first;
        (self.untimed_granted, self.may_go_untimed) =
            if may_skip { (TIMED_EVERY as u8 - 1, self.call) } else { (0, 0) };
        (self.untimed_left, self.untimed_paid) = (self.untimed_granted, 0);
    }

    /// Counts one without times, as long as it may go so. False: a handler has ended the row meanwhile, and it is in no row.
    #[inline(always)]
    pub(crate) fn add_untimed(&mut self) -> bool {
        let (left, is_last_or_none) = less_by_one(&mut self.untimed_left);
        if is_last_or_none {
            self.may_go_untimed = 0;
            self.untimed_left = 0;
            return left == 0;
        }
        true
    }

    /// The record of the row, read once: where a handler forks in the middle of this, the child finds everything wiped when
    /// it comes back.
    #[inline(always)]
    fn record(&self) -> Option<*mut u8> {
        // SAFETY: a field of ours.
        let at = unsafe { (&raw const self.at).read_volatile() };
        (!at.is_null()).then_some(at)
    }

    /// What the calls of the row took, units, and how many they are.
    #[cold]
    pub(crate) fn total(&self) -> (u64, u64) {
        (self.took, self.count + self.untimed())
    }
}

/// Length, key (two bytes), flags, gap, took, result, count, timed.
pub(crate) const LENGTH: usize = 1 + 2 + 1 + 8 + 8 + 1 + 8 + 8;

/// Takes one off by a single instruction, so that a signal handler comes before it or behind it; what is left, and whether that is
/// nothing, or less.
#[inline(always)]
fn less_by_one(number: &mut u8) -> (u8, bool) {
    #[cfg(target_arch = "x86_64")]
    {
        let is_last_or_none: u8;
        // SAFETY: it changes that byte and the flags.
        unsafe {
            core::arch::asm!(
                "sub byte ptr [{number}], 1",
                "setbe {is_last_or_none}",
                number = in(reg) &raw mut *number,
                is_last_or_none = lateout(reg_byte) is_last_or_none,
                options(nostack)
            );
        }
        (*number, is_last_or_none != 0)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let before = *number;
        *number = before.wrapping_sub(1);
        (*number, before <= 1)
    }
}

/// # Safety
/// The record of a row must lie there, or one that is being made.
#[inline(always)]
unsafe fn write_count(record: *mut u8, count: u64) {
    // SAFETY: as the caller vouches.
    unsafe { varint::write_eight(record.add(21), zigzag(count as i64)) };
}

/// The record of a row whose numbers have been written.
///
/// # Safety
/// As for [`crate::record::encode`].
unsafe fn commit_row(at: *mut u8) -> usize {
    // SAFETY: as the caller vouches.
    unsafe {
        let body = at.add(1);
        varint::write(body, 2 * Call::Repeats as u64);
        commit(at, body, at.add(LENGTH))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::dictionary::{Reader, Writer};
    use crate::record::{Record, decode, encode};
    use std::vec;
    use std::vec::Vec;

    /// A thread that polls: 100 units of its own work, then a poll of 20.
    struct Thread {
        dictionary: Writer,
        bytes: Vec<u8>,
        length: usize,
        now: u64,
        last_end: u64,
    }

    impl Thread {
        fn new() -> Thread {
            Thread { dictionary: Writer::NEW, bytes: vec![0; 1 << 12], length: 0, now: 0, last_end: 0 }
        }

        /// One poll; true when it was timed.
        fn poll(&mut self, call: Call, took: u64) -> bool {
            self.now += 100 + took;
            if self.dictionary.may_go_untimed(call) && self.dictionary.count_untimed(call, &[1, 0]) {
                return false;
            }
            let times = Times { end: self.now - self.last_end, took, ..Times::default() };
            self.last_end = self.now;
            let at = self.bytes[self.length..].as_mut_ptr();
            // SAFETY: there is room, all of it zero.
            self.length +=
                unsafe { encode(Some(&mut self.dictionary), at, call, 0, times, 0, &[1, 0], &[], &[]) };
            true
        }

        fn rows(&self) -> Vec<Record<'_>> {
            let (mut dictionary, mut rest) = (Reader::default(), &self.bytes[..self.length]);
            let records = core::iter::from_fn(|| decode(&mut dictionary, &mut rest).unwrap());
            records.filter(|record| record.call == Call::Repeats).collect()
        }
    }

    #[test]
    fn a_long_row_has_its_exact_time_and_few_readings_of_the_clock() {
        let mut thread = Thread::new();
        let timed = (0..1 + 16 + 64 * 60).filter(|_| thread.poll(Call::MpiTest, 20)).count();
        assert_eq!(timed, 1 + 16 + 60);
        let rows = thread.rows();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].numbers[..2], [16 + 64 * 60, 16 + 60]);
        assert_eq!((rows[0].times.end, rows[0].times.took), ((16 + 64 * 60) * 120, (16 + 64 * 60) * 20));
    }

    #[test]
    fn two_calls_by_turns_have_a_row_each() {
        let mut thread = Thread::new();
        const TURNS: usize = 2000;
        let mut timed = 0;
        for _ in 0..TURNS {
            timed += usize::from(thread.poll(MpiTest, 20));
            timed += usize::from(thread.poll(MpiTestany, 60));
        }
        assert!(timed < TURNS / 5, "{timed} of {} timed", 2 * TURNS);
        thread.poll(MpiTest, LONGEST_UNTIMED + 1);
        // Whatever else is recorded ends both rows.
        assert!(thread.poll(MpiTestall, 20));
        let (mut dictionary, mut rest) = (Reader::default(), &thread.bytes[..thread.length]);
        let records: Vec<Record<'_>> =
            core::iter::from_fn(|| decode(&mut dictionary, &mut rest).unwrap()).collect();
        let calls: Vec<Call> = records.iter().map(|record| record.call).collect();
        use Call::{MpiTest, MpiTestall, MpiTestany, Repeats};
        assert_eq!(calls, [MpiTest, MpiTestany, MpiTest, Repeats, MpiTestany, Repeats, MpiTestall]);
        let rows = thread.rows();
        assert_eq!((rows[0].numbers[0], rows[1].numbers[0]), (TURNS as i64 - 1, TURNS as i64 - 2));
        let sum = |of: fn(&Times) -> u64| records.iter().map(|record| of(&record.times)).sum::<u64>();
        assert_eq!(sum(|times| times.end), thread.last_end, "the time is exact");
        for (row, took) in rows.iter().zip([20, 60]) {
            let (count, times) = (row.numbers[0] as u64, row.times);
            assert!(times.took <= times.end && times.took >= count * took * 9 / 10, "{times:?} of {count}");
        }
        assert!(thread.poll(MpiTest, 20));
        assert_eq!(thread.rows().len(), 2);
    }

    /// What the one did not do takes nothing of the other's time.
    #[test]
    fn a_call_that_comes_now_and_then_has_little_of_the_time() {
        let mut thread = Thread::new();
        const TURNS: u64 = 40;
        for _ in 0..TURNS {
            thread.poll(Call::MpiTest, 20);
            thread.poll(Call::MpiTestany, 20);
        }
        for _ in 0..1000 {
            thread.poll(Call::MpiTest, 20);
        }
        let rows = thread.rows();
        // The last ones that go untimed are in no row yet.
        const SEEN: u64 = 1000 - TIMED_EVERY;
        assert!(rows[0].times.end > SEEN * 120 && rows[0].times.took > SEEN * 18, "{:?}", rows[0].times);
        assert!(rows[1].times.end <= 2 * TURNS * 120, "{:?}", rows[1].times);
    }

    #[test]
    fn turns_that_end_at_once_count_nothing() {
        let mut thread = Thread::new();
        for call in [Call::MpiTest, Call::MpiTestany, Call::MpiTest, Call::MpiTestany, Call::MpiTestall] {
            assert!(thread.poll(call, 20));
        }
        let rows = thread.rows();
        assert_eq!(
            (rows.len(), rows[0].numbers[..2].to_vec(), rows[0].times),
            (1, vec![0, 0], Times::default())
        );
    }

    #[test]
    fn what_went_untimed_at_the_end_of_a_row_is_counted() {
        let mut thread = Thread::new();
        for _ in 0..1 + 16 + 5 {
            thread.poll(Call::MpiTest, 20);
        }
        assert!(
            thread.dictionary.may_go_untimed(Call::MpiTest)
                && !thread.dictionary.may_go_untimed(Call::MpiTestany)
        );
        // Another call, or other arguments, end the row.
        assert!(thread.poll(Call::MpiTestany, 20));
        assert!(!thread.dictionary.may_go_untimed(Call::MpiTest));
        let rows = thread.rows();
        assert_eq!((rows.len(), rows[0].numbers[..2].to_vec()), (1, vec![16 + 5, 16]));
        assert_eq!(rows[0].times.end, 16 * 120);
    }

    #[test]
    fn a_row_behind_one_of_short_polls_needs_few_readings_to_be_taken_for_one() {
        let mut thread = Thread::new();
        let mut timed = |took| -> usize {
            let timed = (0..1 + 16 + 64).filter(|_| thread.poll(Call::MpiTest, took)).count();
            // SAFETY: nothing has moved.
            unsafe { thread.dictionary.moving() };
            timed
        };
        assert_eq!([timed(20), timed(20)], [1 + 16 + 1, 1 + 2 + 1]);
        assert_eq!([timed(LONGEST_UNTIMED + 1), timed(20), timed(20)], [1 + 16 + 64, 1 + 16 + 1, 1 + 2 + 1]);
    }

    #[test]
    fn long_polls_are_all_timed() {
        let mut thread = Thread::new();
        assert!((0..100).all(|_| thread.poll(Call::MpiTest, LONGEST_UNTIMED + 1)));
        // One that is short lets the next ones go untimed; what they may have taken stays within what passed.
        assert!(thread.poll(Call::MpiTest, 20) && !thread.poll(Call::MpiTest, 20));
        let rows = thread.rows();
        assert_eq!(rows[0].times.took, 99 * (LONGEST_UNTIMED + 1) + 20);
    }

    /// What a forked child finds that comes back from a handler to the counting of a poll.
    #[test]
    fn a_row_that_was_wiped_meanwhile_is_counted_nowhere() {
        let mut row = Repeats { untimed_left: 3, untimed_granted: 15, ..Repeats::NONE };
        assert!(row.add_untimed());
        // SAFETY: there is no record, which is what is to be noticed.
        unsafe { row.end_row() };
        assert_eq!((row.record(), row.untimed()), (None, 0));
    }

    /// The handler came between the look at the row and the counting.
    #[test]
    fn a_poll_whose_row_a_handler_has_ended_is_not_counted_in_it() {
        let mut row = Repeats { untimed_left: 2, untimed_granted: 2, may_go_untimed: 1, ..Repeats::NONE };
        assert!(row.add_untimed() && row.may_go_untimed == 1 && row.add_untimed());
        assert_eq!((row.may_go_untimed, row.untimed()), (0, 2));
        row.hand_over();
        assert!(!row.add_untimed());
        assert_eq!((row.untimed_left, row.untimed()), (0, 0));
    }

    #[test]
    fn the_estimate_stays_within_the_time_that_passed() {
        let mut thread = Thread::new();
        for _ in 0..1 + 16 {
            thread.poll(Call::MpiTest, 20);
        }
        let before = thread.last_end;
        for _ in 1..TIMED_EVERY {
            assert!(!thread.poll(Call::MpiTest, 0));
        }
        assert!(thread.poll(Call::MpiTest, LONGEST_UNTIMED));
        let row = &thread.rows()[0];
        assert_eq!(row.times.end, thread.last_end - 120);
        assert_eq!(row.times.took, 16 * 20 + (thread.last_end - before), "all of what passed, not 64 × 300");
    }
}
