//! Reads the events of one thread, in order.
//!
//! A reader never refuses what precedes a fault: [`Events`] yields everything up to it, and
//! [`Events::ending`] says how the file ended.

pub use super::error::TraceError;
pub use super::thread_trace::{ThreadTrace, thread_state};
use crate::calls::effect::{Follow, Place};
use crate::calls::{Call, Effect, Field, Kind, MAX_NUMBERS, MAX_TEXTS};
use crate::dictionary;
use crate::header;
use crate::loader;
use crate::record::{self, Fault, List, Text};

/// One call of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Which call.
    pub call: Call,
    /// See [`crate::record`] for the flags.
    pub flags: record::Flags,
    /// Units from the header's start to the entry of the call.
    pub start: u64,
    /// Units from the header's start to the return of the call.
    pub end: u64,
    /// Thread CPU nanoseconds from the previous CPU reading to the entry, if one was taken there.
    pub cpu_before: Option<u64>,
    /// Thread CPU nanoseconds from the previous CPU reading to the return, if one was taken there.
    pub cpu_after: Option<u64>,
    /// The result, -1 on failure.
    pub result: i64,
    /// errno on failure, else 0.
    pub errno: i32,
    /// The integers, as the table says.
    pub numbers: [i64; MAX_NUMBERS],
    /// The texts, as the table says.
    pub texts: [Text<'a>; MAX_TEXTS],
    /// The list, as the table says.
    pub list: List<'a>,
    /// Where the record begins in the file, bytes.
    pub offset: u64,
}

impl Event<'static> {
    /// Room for an event.
    pub const NOTHING: Event<'static> = Event {
        call: Call::ALL[0],
        flags: 0,
        start: 0,
        end: 0,
        cpu_before: None,
        cpu_after: None,
        result: 0,
        errno: 0,
        numbers: [0; MAX_NUMBERS],
        texts: [Text::EMPTY; MAX_TEXTS],
        list: List::EMPTY,
        offset: 0,
    };
}

impl Event<'_> {
    /// True when `flag` of [`crate::record`] is set.
    #[inline]
    pub fn has(&self, flag: record::Flags) -> bool {
        self.flags & flag != 0
    }
    /// A reading says that the thread gave up its processor in front of the call, and it was not further in front.
    pub fn waited_before(&self) -> bool {
        self.flags & (record::WAITED_BEFORE | record::KEPT_BEFORE) == record::WAITED_BEFORE
    }
    /// The same of the call itself.
    pub fn waited_inside(&self) -> bool {
        self.flags & (record::WAITED_AFTER | record::KEPT_AFTER) == record::WAITED_AFTER
    }
    /// The thread kept its processor in the call, where it is known.
    pub fn kept_inside(&self) -> bool {
        self.has(record::KEPT_AFTER) || !self.has(record::CPU_AFTER | record::LOST_AFTER)
    }
    /// The integer argument `name`, if the call has one.
    pub fn number(&self, name: &str) -> Option<i64> {
        let position = self.call.args().iter().position(|arg| arg.name == name)?;
        self.call.args()[position].kind.is_number().then(|| self.numbers[position])
    }
    /// True of what the kernel or the loader has done to map a program or library.
    pub fn is_of_loader(&self) -> bool {
        let is_its = |name: &str| self.number(name) == Some(loader::DESCRIPTOR);
        self.call == Call::Loaded || is_its("fd") || is_its("dirfd") || self.opens_for_loader()
    }
    /// True where that has opened a file for it.
    pub fn opens_for_loader(&self) -> bool {
        self.call.effect() == Effect::Open && self.result == loader::DESCRIPTOR
    }
    /// The argument of this kind, wherever it stands, if the call has one.
    #[inline(always)]
    pub fn field(&self, field: Field) -> Option<i64> {
        self.call.field(field).map(|position| self.numbers[position])
    }
    /// The offset at which a transfer begins; `None` at the position of the open file.
    #[inline(always)]
    pub fn offset_of(&self, place: Place) -> Option<u64> {
        let offset = || self.field(Field::Offset).unwrap_or(0);
        match place {
            Place::Position => None,
            Place::Offset => Some(offset().max(0) as u64),
            Place::Either => u64::try_from(offset()).ok(),
        }
    }
    /// Whether a symbolic link at the end of the path is followed.
    pub fn follows(&self, follow: Follow) -> bool {
        /// `AT_SYMLINK_NOFOLLOW` (`<fcntl.h>`).
        const NO_FOLLOW: i64 = 0x100;
        match follow {
            Follow::Followed => true,
            Follow::Itself => false,
            Follow::ByFlags => self.field(Field::Flags).unwrap_or(0) & NO_FOLLOW == 0,
        }
    }
    /// The call does nothing but let time pass: a sleep, or a wait with a limit for the readiness of no descriptor at all.
    pub fn sleeps(&self) -> bool {
        match self.call.effect() {
            Effect::Sleep => true,
            Effect::AwaitReadiness => {
                let counts_descriptors = matches!(self.call.args()[0].kind, Kind::Int);
                counts_descriptors
                    && self.numbers[0] == 0
                    && self.field(Field::Nanos).is_some_and(|ns| ns >= 0)
            }
            _ => false,
        }
    }
    /// 0 for a call of the application itself, 1 for one by a library inside another call.
    pub fn depth(&self) -> u32 {
        u32::from(self.has(record::INNER))
    }
}

/// How the records of a file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// After a whole record.
    Whole,
    /// After a whole record, but more followed it when the file was recorded.
    CutBetween {
        /// Where the file ends, bytes.
        bytes: u64,
    },
    /// Inside a record; everything before it was read.
    CutOff {
        /// Where the record begins, bytes.
        offset: u64,
    },
    /// Before bytes that are no record; everything before them was read.
    Damaged {
        /// Where they begin, bytes.
        offset: u64,
        /// What is wrong with them.
        fault: Fault,
    },
}

/// Iterator over the events of a thread.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    trace: &'a ThreadTrace,
    /// What is left of the chunk, which is that many in the trace, and where in the file it ends.
    rest: &'a [u8],
    part: usize,
    part_end: usize,
    /// Bytes of the header and of the records in the chunks before.
    read_before: usize,
    dictionary: Box<dictionary::Reader<'a>>,
    end: u64,
    is_closed: bool,
    ending: Option<Ending>,
    /// The first chunk of which memory has not been let go, and how far that has been.
    held: (usize, usize),
}

/// What lies before the position is kept in memory so far: the dictionary reaches back to it. And how much is let go at once.
const KEPT_BYTES: usize = 64 << 10;
const LET_GO_BYTES: usize = 64 << 10;

impl<'a> Events<'a> {
    /// In front of a trace's first.
    pub(super) fn of(trace: &'a ThreadTrace) -> Events<'a> {
        let first = &trace.layout.parts[0];
        Events {
            trace,
            rest: &trace.map[first.clone()],
            part: 0,
            part_end: first.end,
            read_before: header::HEADER_BYTES,
            dictionary: Box::default(),
            end: 0,
            is_closed: false,
            ending: None,
            held: (0, first.start),
        }
    }
}

impl Events<'_> {
    /// How the records ended; `None` before the iterator has.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }
    /// Bytes of header and records up to here.
    pub fn bytes_read(&self) -> u64 {
        (self.read_before + self.offset() - self.trace.layout.parts[self.part].start) as u64
    }
    /// Where in the file the iterator stands, bytes: behind the latest record.
    pub fn offset(&self) -> usize {
        self.part_end - self.rest.len()
    }

    /// Lets go of the memory of what was read, but for the latest: for who goes through a trace once. What is looked at again
    /// is read again.
    pub fn let_go(&mut self) {
        let parts = &self.trace.layout.parts;
        while self.held.0 < self.part {
            self.trace.let_go(self.held.1..parts[self.held.0].end);
            self.held = (self.held.0 + 1, parts[self.held.0 + 1].start);
        }
        let until = self.offset().saturating_sub(KEPT_BYTES);
        if until >= self.held.1 + LET_GO_BYTES {
            self.trace.let_go(self.held.1..until);
            self.held.1 = until;
        }
    }

    /// Goes on to the thread's next chunk, if there is one.
    #[inline(never)]
    fn next_part(&mut self) -> bool {
        let trace = self.trace;
        let Some(part) = trace.layout.parts.get(self.part + 1) else { return false };
        self.read_before = self.bytes_read() as usize;
        (self.rest, self.part, self.part_end) = (&trace.map[part.clone()], self.part + 1, part.end);
        true
    }

    /// How the records end, if it is not inside one.
    #[cold]
    fn ending_here(&self) -> Ending {
        let trace = self.trace;
        match trace.layout.gap {
            Some(offset) => Ending::Damaged { offset: offset as u64, fault: Fault::MissingChunk },
            None if trace.reaches_its_end(self.is_closed) => Ending::Whole,
            None => Ending::CutBetween { bytes: trace.map.len() as u64 },
        }
    }
}

impl<'a> Events<'a> {
    /// The next event, in place of another one: an event is large to be moved. False when there are no more.
    #[inline]
    pub fn next_into(&mut self, event: &mut Event<'a>) -> bool {
        self.read_into::<true>(event)
    }

    /// The same for who only wants to know which call it was, when, and inside of what: outcome and arguments may be those of an earlier
    /// event, but for calls with a text, [`Call::Repeats`] and [`Call::Entered`].
    #[inline]
    pub fn next_times_into(&mut self, event: &mut Event<'a>) -> bool {
        self.read_into::<false>(event)
    }

    #[inline(always)]
    fn read_into<const WHOLE: bool>(&mut self, event: &mut Event<'a>) -> bool {
        if self.ending.is_some() {
            return false;
        }
        while self.rest.first().is_none_or(|&length| length == 0) && self.next_part() {}
        let offset = self.offset() as u64;
        let Event { numbers, texts, list, .. } = event;
        let mut record = record::Front::NOTHING;
        let room = record::Room { front: &mut record, numbers, texts, list };
        match record::decode_into::<WHOLE>(&mut self.dictionary, &mut self.rest, room) {
            Ok(true) => {
                self.end = self.end.saturating_add(record.times.end);
                match record.call.effect() {
                    Effect::Exit => self.is_closed = true,
                    Effect::Other if record.call == Call::ThreadEnd => self.is_closed = true,
                    // The first of its two records stands before the call; there is a second where it failed.
                    Effect::Exec => self.is_closed = record.flags & record::FAILED == 0,
                    _ => {}
                }
                (event.call, event.flags, event.offset) = (record.call, record.flags, offset);
                (event.start, event.end) = (self.end.saturating_sub(record.times.took), self.end);
                event.cpu_before =
                    (record.flags & record::CPU_BEFORE != 0).then_some(record.times.cpu_before);
                event.cpu_after = (record.flags & record::CPU_AFTER != 0).then_some(record.times.cpu_after);
                (event.result, event.errno) = (record.result, record.errno);
                true
            }
            Ok(false) => {
                self.ending = Some(self.ending_here());
                false
            }
            Err(fault) => {
                self.ending = Some(match fault {
                    Fault::CutOff if self.part_end == self.trace.map.len() => Ending::CutOff { offset },
                    fault => Ending::Damaged { offset, fault },
                });
                false
            }
        }
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    #[inline]
    fn next(&mut self) -> Option<Event<'a>> {
        let mut event = Event::NOTHING;
        self.next_into(&mut event).then_some(event)
    }
}
