//! The one table of calls: number on disk, name, layer, what a record of the call holds, and what the call does.
//!
//! The shim encodes by it, every reader decodes by it, `syn dump` prints by it, `descriptors` and the merge follow calls by
//! it, `FORMAT.md` lists it and the export test of the built library checks it ([`table`]). A number, once released, is never
//! given to another call; a changed argument list is a new format version.
//!
//! A record's arguments come in three groups, always in this order: integers, then texts, then one list.

mod argument;
pub mod effect;
mod field;
mod hot;
mod table;

pub use argument::{ANY, Arg, COMM_NULL, COMM_SELF, COMM_WORLD, Kind, NOBODY, ROOT, UNDEFINED};
pub use effect::Effect;
pub use field::Field;
pub use table::Call;

/// Which interface a call belongs to; the `layer` of `syn dump --json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// File and directory calls of POSIX.
    Posix,
    /// C streams (`FILE *`).
    Stdio,
    /// Files mapped into memory.
    Mmap,
    /// Asynchronous I/O: POSIX, libaio, io_uring.
    Aio,
    /// Sockets, and waiting for descriptors to become ready.
    Socket,
    /// Process creation, replacement, end, and the threads of a process.
    Process,
    /// Synchronization between threads and between processes, signals.
    Sync,
    /// Sleeps.
    Time,
    /// The Message Passing Interface.
    Mpi,
    /// Files of MPI.
    MpiIo,
}

impl Layer {
    /// The name in `syn dump --json`.
    pub const fn name(self) -> &'static str {
        match self {
            Layer::Posix => "posix",
            Layer::Stdio => "stdio",
            Layer::Mmap => "mmap",
            Layer::Aio => "aio",
            Layer::Socket => "socket",
            Layer::Process => "process",
            Layer::Sync => "sync",
            Layer::Time => "time",
            Layer::Mpi => "mpi",
            Layer::MpiIo => "mpi-io",
        }
    }

    /// True for all calls of MPI.
    #[inline(always)]
    pub const fn is_mpi(self) -> bool {
        matches!(self, Layer::Mpi | Layer::MpiIo)
    }
}

/// What the table says about one call.
#[derive(Debug)]
pub struct CallInfo {
    /// The libc or MPI name; `64`, `__` and `_chk` twins are recorded under the plain one.
    pub name: &'static str,
    /// The interface it belongs to.
    pub layer: Layer,
    /// What a record holds, integers first.
    pub args: &'static [Arg],
    /// What it does.
    pub effect: Effect,
    /// What else is true of it.
    pub facts: &'static [Fact],
    /// Functions that do the same with other arguments, and are recorded under this name.
    pub also: &'static [&'static str],
    /// What is to be known of its records, line by line.
    pub comment: &'static [&'static str],
}

/// What may be true of a call besides what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// It may wait for something on its descriptors. Those that make or close descriptors are left out.
    Waits,
    /// The result is how many of its `count` bytes were moved.
    MovesAtMost,
    /// The result is how many bytes were moved.
    MovesResult,
    /// All the bytes that it names were moved.
    MovesAll,
    /// No call of its own; it may stand inside one.
    Note,
    /// It works on a stream of libc, which makes calls inside it. The same holds for all calls of [`Layer::Stdio`].
    Stream,
    /// The result is the number of an error, or 0.
    ReturnsError,
    /// It returns when the process that it has made has become another program, or has ended (vfork(2)).
    AwaitsExec,
}

/// The most integers, texts a call has; checked for every call where the table is made.
pub const MAX_NUMBERS: usize = 12;
/// See [`MAX_NUMBERS`].
pub const MAX_TEXTS: usize = 4;

/// One more than the largest number that a call has, or may come to have.
pub const NUMBERS: usize = 1024;

impl CallInfo {
    /// A bit for each fact that is true of the call.
    pub(crate) const fn bits(&self) -> u8 {
        let (mut bits, mut index) = (0, 0);
        while index < self.facts.len() {
            bits |= 1 << self.facts[index] as u8;
            index += 1;
        }
        bits
    }
}

impl Call {
    /// The libc or MPI name.
    pub const fn name(self) -> &'static str {
        self.info().name
    }
    /// What a record of the call holds.
    pub const fn args(self) -> &'static [Arg] {
        self.info().args
    }
    /// What the call does.
    #[inline(always)]
    pub fn effect(self) -> Effect {
        /// By number.
        static EFFECTS: [Effect; NUMBERS] = {
            let mut effects = [Effect::Other; NUMBERS];
            let mut index = 0;
            while index < Call::ALL.len() {
                effects[Call::ALL[index] as usize] = Call::ALL[index].info().effect;
                index += 1;
            }
            effects
        };
        EFFECTS[self as usize]
    }
    /// Whether this is true of the call.
    #[inline(always)]
    pub fn has(self, fact: Fact) -> bool {
        /// By number: the bits of those that are true.
        static FACTS: [u8; NUMBERS] = {
            let mut facts = [0; NUMBERS];
            let mut index = 0;
            while index < Call::ALL.len() {
                facts[Call::ALL[index] as usize] = Call::ALL[index].info().bits();
                index += 1;
            }
            facts
        };
        FACTS[self as usize] & 1 << fact as u8 != 0
    }
    /// True when a path is among its arguments.
    pub fn names_a_path(self) -> bool {
        self.args().iter().any(|arg| arg.kind == Kind::Path)
    }
    /// True for calls on streams of libc, which makes calls inside them.
    pub fn is_on_stream(self) -> bool {
        self.layer() == Layer::Stdio || self.has(Fact::Stream)
    }
    /// The call with this name, as `syn dump` prints it.
    pub fn from_name(name: &str) -> Option<Call> {
        Call::ALL.iter().copied().find(|call| call.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_well_formed() {
        let mut last = 0;
        for &call in Call::ALL {
            let id = call as u16;
            assert!(id > last, "{call:?}: numbers rise");
            last = id;
            assert_eq!(Call::from_id(u64::from(id)), Some(call));
            assert_eq!(Call::from_name(call.name()), Some(call), "names are unique");
            call.shape();
            if let Some(position) = call.requested() {
                assert_eq!(call.args()[position].name, "count");
            }
            assert!(
                call.info().also.iter().all(|name| Call::from_name(name).is_none()),
                "{call:?} is a row of its own"
            );
        }
        assert_eq!(Call::from_id(0), None);
    }

    #[test]
    fn raw_identifiers_lose_their_mark() {
        assert_eq!(Call::Popen.args()[2].name, "type");
    }

    /// The forms of MPI are followed by position.
    #[test]
    fn calls_of_a_form_hold_the_same() {
        for &call in Call::ALL.iter().filter(|call| matches!(call.effect(), Effect::Mpi(_))) {
            let alike = Call::ALL.iter().filter(|other| other.effect() == call.effect());
            for other in alike {
                let common = call.args().len().min(other.args().len());
                assert_eq!(call.args()[..common], other.args()[..common], "{call:?}, {other:?}");
            }
        }
    }
}
