//! Every MPI call with its class and its times: what its own cost is estimated from.

use syn_trace::Call;
use syn_trace::calls::NUMBERS;
use syn_trace::calls::effect::{Effect, Mpi};

/// Calls that should cost the same: one function, one power of two of bytes. Failed polls are a class of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(u16);

const SIZE_BITS: u32 = 6;
const SIZE: u16 = (1 << SIZE_BITS) - 1;
/// In place of a size: no call moves so much.
const FAILED_POLL: u16 = SIZE;
const _: () = assert!((NUMBERS - 1) << SIZE_BITS <= u16::MAX as usize);

impl Class {
    /// A call that moved so many bytes.
    pub fn new(call: Call, bytes: i64) -> Class {
        let size = 64 - bytes.max(0).leading_zeros() as u16;
        Class((call as u16) << SIZE_BITS | size.min(SIZE - 1))
    }

    /// A test or probe that found nothing.
    pub fn failed_poll(call: Call) -> Class {
        Class((call as u16) << SIZE_BITS | FAILED_POLL)
    }

    /// True for a test or probe that found nothing.
    pub fn is_failed_poll(self) -> bool {
        self.0 & SIZE == FAILED_POLL
    }
}

/// One MPI call; 24 bytes.
#[derive(Clone, Copy, Debug)]
pub struct TimedCall {
    /// When it was entered; of a call that does not only communicate, when the last call inside it returned.
    pub start_ns: u64,
    /// When it returned.
    pub end_ns: u64,
    /// Its position among the thread's records.
    pub record: u32,
    /// Its class.
    pub class: Class,
    /// The thread kept its processor from the entry to the return.
    pub kept: bool,
}

/// An MPI call inside which other calls were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Around {
    /// The position of the first of them.
    pub first: u32,
    /// The position of the MPI call itself, behind them.
    pub call: u32,
    /// What the library does inside is waiting and moving messages. To begin and to end MPI is work besides.
    pub communicates: bool,
}

/// Whether all that a call does is to communicate.
pub fn communicates(call: Call) -> bool {
    !matches!(call.effect(), Effect::Mpi(Mpi::Init | Mpi::Finalize))
}

/// The MPI calls of every thread of a run, in order.
#[derive(Debug, Default)]
pub struct CallLog {
    /// By index of the thread.
    pub threads: Vec<Vec<TimedCall>>,
    /// By index of the thread: MPI calls inside which other calls were recorded.
    pub around: Vec<Vec<Around>>,
}

impl CallLog {
    /// Moves every call on the time axis: `ns` says where a thread's time goes.
    pub fn retime(&mut self, ns: impl Fn(usize, u64) -> u64) {
        for (thread, calls) in self.threads.iter_mut().enumerate() {
            for call in calls {
                (call.start_ns, call.end_ns) = (ns(thread, call.start_ns), ns(thread, call.end_ns));
            }
        }
    }
}
