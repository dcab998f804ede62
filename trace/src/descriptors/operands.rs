//! Where, among the arguments of a call, its descriptor and its paths stand; taken from the table of calls.

use crate::calls::{Call, Effect, Fact, Kind, NUMBERS};
use crate::reader::Event;
use crate::record::Text;
use std::borrow::Cow;

/// Positions among the integers and texts of a record; [`NONE`] where the call has no such argument.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    fd: u8,
    dir: [u8; 2],
    path: [u8; 2],
    /// The call is about no descriptor yet, and its result is one.
    makes: bool,
    /// The call may wait for something on its descriptors.
    waits: bool,
}

const NONE: u8 = u8::MAX;

static OPERANDS: [Operands; NUMBERS] = {
    let mut table =
        [Operands { fd: NONE, dir: [NONE; 2], path: [NONE; 2], makes: false, waits: false }; NUMBERS];
    let mut index = 0;
    while index < Call::ALL.len() {
        let call = Call::ALL[index];
        table[call as usize] = find(call);
        index += 1;
    }
    table
};

const fn find(call: Call) -> Operands {
    let (effect, args) = (call.info().effect, call.args());
    let makes = effect.makes_descriptor();
    let waits = call.info().bits() & 1 << Fact::Waits as u8 != 0;
    let mut found = Operands { fd: NONE, dir: [NONE; 2], path: [NONE; 2], makes, waits };
    let (mut index, mut numbers, mut dirs, mut paths) = (0, 0, 0, 0);
    while index < args.len() {
        let kind = args[index].kind;
        if kind.is_number() {
            numbers += 1;
        }
        // A submission is about the file, not about its ring.
        if matches!(kind, Kind::Fd) && (found.fd == NONE || matches!(effect, Effect::RingEntry)) {
            found.fd = index as u8;
        }
        if matches!(kind, Kind::DirFd) && dirs < 2 {
            found.dir[dirs] = index as u8;
            dirs += 1;
        }
        if matches!(kind, Kind::Path) && paths < 2 {
            found.path[paths] = (index - numbers) as u8;
            paths += 1;
        }
        index += 1;
    }
    found
}

impl Operands {
    #[inline(always)]
    pub(super) fn of(call: Call) -> &'static Operands {
        &OPERANDS[call as usize]
    }

    /// True when the call has nothing to do with descriptors or paths.
    #[inline(always)]
    pub(super) fn none(&self) -> bool {
        self.fd == NONE && self.path[0] == NONE && !self.makes
    }

    /// True when the call may wait for something on its descriptors.
    #[inline(always)]
    pub(super) fn may_wait(&self) -> bool {
        self.waits
    }

    /// The descriptor, or -1.
    #[inline(always)]
    pub(super) fn fd(&self, event: &Event<'_>) -> i32 {
        event.numbers.get(usize::from(self.fd)).map_or(-1, |&fd| i32::try_from(fd).unwrap_or(-1))
    }

    /// Whether the call has a path argument.
    #[inline(always)]
    pub(super) fn has_path(&self) -> bool {
        self.path[0] != NONE
    }

    /// The first or second path argument.
    pub(super) fn path<'a>(&self, which: usize, event: &Event<'a>) -> Option<Cow<'a, [u8]>> {
        event.texts.get(usize::from(self.path[which])).map(Text::bytes)
    }

    /// The directory descriptor that the first or second path starts from. A call with one directory and two paths
    /// does not exist.
    pub(super) fn directory(&self, which: usize, event: &Event<'_>) -> Option<i64> {
        event.numbers.get(usize::from(self.dir[which])).copied()
    }
}
