//! Every MPI call with its class and its times: what its own cost is estimated from.

use syn_trace::calls::NUMBERS;
use syn_trace::calls::effect::{Effect, Mpi};
use syn_trace::{Call, varint};

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

/// One MPI call.
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
    /// Where it begins or ends MPI, and succeeded: what marks that in the plan.
    pub entry: Option<syn_plan::Mpi>,
}

/// What marks in the plan that a call begins or ends MPI.
pub fn entry(call: Call) -> Option<syn_plan::Mpi> {
    match call.effect() {
        Effect::Mpi(Mpi::Init) => Some(syn_plan::Mpi::InitEnter),
        Effect::Mpi(Mpi::Finalize) => Some(syn_plan::Mpi::FinalizeEnter),
        _ => None,
    }
}

/// Whether all that a call does is to communicate.
pub fn communicates(call: Call) -> bool {
    entry(call).is_none()
}

/// The MPI calls of a thread, in order, each as differences from the one before: some 9 bytes.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    bytes: Vec<u8>,
    before: Before,
}

/// Where the call before ended, and its record.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    end_ns: u64,
    record: u32,
}

impl Calls {
    /// Appends a call.
    pub fn push(&mut self, call: TimedCall) {
        let Before { end_ns, record } = self.before;
        let since = |ns: u64, before_ns: u64| varint::zigzag(ns.wrapping_sub(before_ns) as i64);
        varint::push(&mut self.bytes, since(call.start_ns, end_ns));
        varint::push(&mut self.bytes, since(call.end_ns, call.start_ns));
        varint::push(&mut self.bytes, call.record.wrapping_sub(record).into());
        varint::push(&mut self.bytes, u64::from(call.class.0) << 1 | u64::from(call.kept));
        self.before = Before { end_ns: call.end_ns, record: call.record };
    }

    /// All of them.
    pub fn iter(&self) -> CallIter<'_> {
        CallIter { bytes: &self.bytes, before: Before::default() }
    }
}

/// Goes through the MPI calls of a thread.
#[derive(Clone, Debug)]
pub struct CallIter<'a> {
    bytes: &'a [u8],
    before: Before,
}

impl Iterator for CallIter<'_> {
    type Item = TimedCall;

    fn next(&mut self) -> Option<TimedCall> {
        let since = |packed: u64, before_ns: u64| before_ns.wrapping_add(varint::unzigzag(packed) as u64);
        let start_ns = since(varint::read(&mut self.bytes)?, self.before.end_ns);
        let end_ns = since(varint::read(&mut self.bytes)?, start_ns);
        let record = self.before.record.wrapping_add(varint::read(&mut self.bytes)? as u32);
        let class = varint::read(&mut self.bytes)?;
        self.before = Before { end_ns, record };
        Some(TimedCall { start_ns, end_ns, record, class: Class((class >> 1) as u16), kept: class & 1 != 0 })
    }
}

/// The MPI calls of every thread of a run, in order.
#[derive(Debug, Default)]
pub struct CallLog {
    /// By index of the thread.
    pub threads: Vec<Calls>,
    /// By index of the thread: MPI calls inside which other calls were recorded.
    pub around: Vec<Vec<Around>>,
    /// The same of calls on files that a replay makes again.
    pub around_files: Vec<Vec<Around>>,
}

impl CallLog {
    /// Moves every call on the time axis: `ns` says where a thread's time goes.
    pub fn retime(&mut self, ns: impl Fn(usize, u64) -> u64) {
        for (thread, calls) in self.threads.iter_mut().enumerate() {
            let mut moved = Calls::default();
            for call in calls.iter() {
                let (start_ns, end_ns) = (ns(thread, call.start_ns), ns(thread, call.end_ns));
                moved.push(TimedCall { start_ns, end_ns, ..call });
            }
            *calls = moved;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_out_as_they_went_in() {
        let call = |start_ns, end_ns, record, kept| {
            let class = Class::new(Call::MpiSend, end_ns as i64);
            TimedCall { start_ns, end_ns, record, class, kept }
        };
        // One that ended before it began, as damaged traces say, and the largest numbers.
        let calls = [call(5, 9, 1, true), call(20, 7, 2, false), call(u64::MAX, 3, u32::MAX, true)];
        let mut log = CallLog { threads: vec![Calls::default()], ..CallLog::default() };
        calls.iter().for_each(|&call| log.threads[0].push(call));
        log.retime(|_, ns| ns.wrapping_add(10));
        log.retime(|_, ns| ns.wrapping_sub(10));
        let found: Vec<String> = log.threads[0].iter().map(|call| format!("{call:?}")).collect();
        assert_eq!(found, calls.map(|call| format!("{call:?}")));
    }
}
