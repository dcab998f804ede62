//! What the shim asks of the table, as bytes by number. The table itself has names and addresses in it, which would be a
//! quarter of what the loader relocates in every process.

use super::{Call, CallInfo, Effect, Fact, Kind, Layer, MAX_NUMBERS, MAX_TEXTS, NUMBERS, effect::Mpi};
use crate::board::kind;

const EAGAIN: i64 = 11;
const EINPROGRESS: i64 = 115;
const NONE: u8 = u8::MAX;

#[derive(Clone, Copy)]
struct Hot {
    layer: Layer,
    numbers: u8,
    texts: u8,
    lists: u8,
    recurs: bool,
    requested: u8,
    poll: Poll,
    hold: u8,
    locks: Locks,
}

/// At which boundaries of a call the thread has a lock: when it signals a condition, mostly the one that belongs to it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Locks {
    Nowhere,
    AtEntry,
    AtReturn,
    AtBoth,
    /// At both, and in between it waits without.
    AroundWait,
}

/// How a call says that nothing has happened yet.
#[derive(Clone, Copy)]
enum Poll {
    /// Not at all.
    Never,
    /// The number at this position is 0.
    Zero(u8),
    /// So is the result, too.
    ZeroAndResult(u8),
    /// The result is `EINPROGRESS`.
    InProgress,
}

static HOT: [Hot; NUMBERS] = {
    let none = Hot {
        layer: Layer::Posix,
        numbers: 0,
        texts: 0,
        lists: 0,
        recurs: false,
        requested: NONE,
        poll: Poll::Never,
        hold: 0,
        locks: Locks::Nowhere,
    };
    let mut table = [none; NUMBERS];
    let mut index = 0;
    while index < Call::ALL.len() {
        table[Call::ALL[index] as usize] = hot(Call::ALL[index]);
        index += 1;
    }
    table
};

const fn hot(call: Call) -> Hot {
    let (info, args) = (call.info(), call.args());
    let (mut numbers, mut texts, mut lists, mut index, mut moves) = (0, 0, 0, 0, false);
    while index < args.len() {
        if args[index].kind.is_number() {
            assert!(texts + lists == 0, "integers come first");
            numbers += 1;
        } else if args[index].kind.is_text() {
            assert!(lists == 0, "texts come before the list");
            texts += 1;
        } else {
            lists += 1;
        }
        moves |= matches!(args[index].kind, Kind::Offset);
        index += 1;
    }
    assert!(numbers as usize <= MAX_NUMBERS && texts as usize <= MAX_TEXTS && lists <= 1);
    let recurs = texts == 0 && !moves && !matches!(call, Call::Repeats);
    let requested = if info.bits() & 1 << Fact::MovesAtMost as u8 != 0 { named(call, "count") } else { NONE };
    Hot {
        layer: info.layer,
        numbers,
        texts,
        lists,
        recurs,
        requested,
        poll: poll(call),
        hold: hold_kind(info),
        locks: locks(info.effect),
    }
}

const fn poll(call: Call) -> Poll {
    match call.info().effect {
        // The completed requests are counted.
        Effect::Mpi(Mpi::Test) => Poll::Zero(named(call, "outcount")),
        Effect::Mpi(Mpi::Probe | Mpi::MatchedProbe | Mpi::Arrived) => Poll::Zero(named(call, "flag")),
        Effect::AwaitReadiness => Poll::ZeroAndResult(named(call, "timeout")),
        Effect::AsynchronousError => Poll::InProgress,
        _ => Poll::Never,
    }
}

const fn hold_kind(info: &CallInfo) -> u8 {
    use Effect::*;
    match info.layer {
        _ if info.bits() & 1 << Fact::Note as u8 != 0 => 0,
        Layer::Posix | Layer::Stdio | Layer::MpiIo | Layer::Aio => match info.effect {
            Other | Seek | Rewind | Advise | Pipe | Inherit | Duplicate | DuplicateTo | Control
            | ChangeFolder | Mpi(_) => 0,
            _ => kind::IO,
        },
        Layer::Mpi => match info.effect {
            Mpi(_) => kind::MPI,
            _ => 0,
        },
        Layer::Socket => kind::SOCKET,
        Layer::Sync => kind::SYNC,
        Layer::Mmap | Layer::Process | Layer::Time => 0,
    }
}

const fn locks(effect: Effect) -> Locks {
    use crate::calls::effect::Sync::*;
    let Effect::Sync(step) = effect else { return Locks::Nowhere };
    match step {
        UnlockMutex | UnlockRwlock => Locks::AtEntry,
        LockMutex | LockToRead | LockToWrite => Locks::AtReturn,
        SignalCondition | BroadcastCondition => Locks::AtBoth,
        AwaitCondition => Locks::AroundWait,
        _ => Locks::Nowhere,
    }
}

/// The position of the argument of this name; the table does not compile where it is missing.
const fn named(call: Call, name: &str) -> u8 {
    match call.info().position(name) {
        Some(position) => position as u8,
        None => panic!("an argument that the call's effect or facts need"),
    }
}

impl Call {
    /// The interface the call belongs to.
    #[inline(always)]
    pub fn layer(self) -> Layer {
        HOT[self as usize].layer
    }
    /// How many integers, texts and lists (0 or 1) a record of the call holds.
    #[inline(always)]
    pub fn shape(self) -> (usize, usize, usize) {
        let Hot { numbers, texts, lists, .. } = HOT[self as usize];
        (numbers as usize, texts as usize, lists as usize)
    }
    /// True when a call is likely to come again with the same arguments and result: not with a path or address in them,
    /// and not with a place in a file, which moves on. `repeats` itself is left out, since the writer changes its record
    /// while it counts.
    #[inline(always)]
    pub fn recurs(self) -> bool {
        HOT[self as usize].recurs
    }
    /// The position among the integers of the byte count that a complete transfer returns, if the call has one.
    #[inline(always)]
    pub fn requested(self) -> Option<usize> {
        let position = HOT[self as usize].requested;
        (position != NONE).then_some(position as usize)
    }
    /// True when a call says that nothing has happened yet: the program asked and will ask again.
    #[inline(always)]
    pub fn is_idle(self, failed: bool, outcome: i64, numbers: &[i64]) -> bool {
        if failed {
            return outcome == EAGAIN;
        }
        let is_zero = |position: u8| numbers.get(position as usize) == Some(&0);
        match HOT[self as usize].poll {
            Poll::Never => false,
            Poll::Zero(position) => is_zero(position),
            Poll::ZeroAndResult(position) => outcome == 0 && is_zero(position),
            Poll::InProgress => outcome == EINPROGRESS,
        }
    }
    /// The bit of [`crate::board::kind`] under which a throttled thread may be held before this call, 0 for none.
    #[inline(always)]
    pub fn hold_kind(self) -> u8 {
        HOT[self as usize].hold
    }
    /// True when a thread mostly has a lock when it enters the call.
    #[inline(always)]
    pub fn enters_with_lock(self) -> bool {
        matches!(HOT[self as usize].locks, Locks::AtEntry | Locks::AtBoth | Locks::AroundWait)
    }
    /// True when it has one when it returns from it.
    #[inline(always)]
    pub fn returns_with_lock(self) -> bool {
        matches!(HOT[self as usize].locks, Locks::AtReturn | Locks::AtBoth | Locks::AroundWait)
    }
    /// True when it waits in the call until it has that lock, and does little else.
    #[inline(always)]
    pub fn waits_for_lock(self) -> bool {
        matches!(HOT[self as usize].locks, Locks::AtReturn | Locks::AroundWait)
    }
    /// True when the call got the thread anywhere: it is no failure, no poll that found nothing, and no sleep.
    #[inline]
    pub fn advances(self, failed: bool, outcome: i64, numbers: &[i64]) -> bool {
        !failed && self.layer() != Layer::Time && !self.is_idle(failed, outcome, numbers)
    }
}
