//! Every MPI call with its class and its times: what its own cost is estimated from.

use syn_trace::Call;

/// Calls that should cost the same: one function, one power of two of bytes. Failed polls are a class of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(u16);

const FAILED_POLL: u16 = 1 << 15;
const SIZE_BITS: u32 = 6;

impl Class {
    /// A call that moved so many bytes.
    pub fn new(call: Call, bytes: i64) -> Class {
        let size = 64 - bytes.max(0).leading_zeros();
        Class((call as u16) << SIZE_BITS | size as u16)
    }

    /// A test or probe that found nothing.
    pub fn failed_poll(call: Call) -> Class {
        Class(FAILED_POLL | (call as u16) << SIZE_BITS)
    }

    /// True for a test or probe that found nothing.
    pub fn is_failed_poll(self) -> bool {
        self.0 & FAILED_POLL != 0
    }
}

/// One MPI call; 24 bytes.
#[derive(Clone, Copy, Debug)]
pub struct TimedCall {
    /// When it was entered, or the last call inside it returned.
    pub start_ns: u64,
    /// When it returned.
    pub end_ns: u64,
    /// Its position among the thread's records.
    pub record: u32,
    /// Its class.
    pub class: Class,
}

/// The MPI calls of every thread of a run, in order.
#[derive(Debug, Default)]
pub struct CallLog {
    /// By index of the thread.
    pub threads: Vec<Vec<TimedCall>>,
    /// By index of the thread: MPI calls inside which other calls were recorded, as the position of the first of them
    /// and the position of the MPI call itself.
    pub around: Vec<Vec<(u32, u32)>>,
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
