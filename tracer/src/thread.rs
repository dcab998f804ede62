//! One thread: its file, the call that it is in, and its time on a processor.

use crate::clock::{self, OnProcessor, Schedstat};
use crate::file::TraceFile;
use crate::ptrace::{AtEntry, Tid};
use syn_trace::Call;
use syn_trace::record::{self, Flags, Times};
use syn_trace::system_calls::{SystemCall, call_of};

/// A thread that we trace.
pub struct Thread {
    /// Its id.
    pub tid: Tid,
    /// The process it belongs to.
    pub pid: Tid,
    /// Its file; none before the first image, or when it could not be made.
    pub file: Option<TraceFile>,
    /// The call it is in.
    pub at: Place,
    /// How often it has stopped.
    pub stops: u64,
    cpu: CpuClock,
}

/// Where a thread is.
pub enum Place {
    /// In its own code.
    Outside,
    /// In a call.
    Inside(UnderWay),
    /// A signal has interrupted a call with which the kernel may go on.
    Interrupted(UnderWay, Interruption),
}

/// A call that has not returned.
#[derive(Clone, Copy)]
pub struct UnderWay {
    /// What it is; its result is not known.
    pub call: SystemCall,
    /// The address behind the instruction.
    pub instruction: u64,
    /// When it began, nanoseconds.
    pub start: u64,
    /// CPU nanoseconds from the reading before to the beginning, and whether the thread waited in that time.
    pub gap: Option<CpuUse>,
    /// That it began is on record already.
    pub is_told: bool,
}

/// How a call was interrupted.
#[derive(Clone, Copy)]
pub struct Interruption {
    /// When, nanoseconds.
    pub end: u64,
    /// What the kernel had in its result: one of the values of [`restart`].
    pub result: i64,
}

/// What the kernel has in the result of a call that a signal interrupts, negated; programs never see it.
///
/// Source: `include/linux/errno.h` of the kernel.
pub mod restart {
    /// It goes on, behind a handler only with `SA_RESTART`.
    pub const SYS: i64 = 512;
    /// It goes on.
    pub const NO_INTERRUPTION: i64 = 513;
    /// It goes on, but not behind a handler.
    pub const NO_HANDLER: i64 = 514;
    /// It goes on by `restart_syscall`, but not behind a handler.
    pub const BLOCK: i64 = 516;

    /// True for these.
    pub fn is_one(result: i64) -> bool {
        [SYS, NO_INTERRUPTION, NO_HANDLER, BLOCK].contains(&-result)
    }
}

/// Nanoseconds that recording adds to the time between two calls, and to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    pub gap_ns: u32,
    pub call_ns: u32,
}

/// What recording costs a thread, of wall time and of its own CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    pub wall: Added,
    pub cpu: Added,
}

/// What a thread has used of its processor since the reading before.
#[derive(Clone, Copy)]
pub struct CpuUse {
    /// Nanoseconds.
    pub ns: u64,
    /// It gave its processor up of its own accord.
    pub waited: bool,
}

/// The CPU time of a thread, that of its stops taken off.
struct CpuClock {
    /// Where it is read; `None`: opened anew each time.
    source: Option<Schedstat>,
    costs: Costs,
    /// The latest reading, and the thread's stops until then.
    latest: OnProcessor,
    stops: u64,
    /// Times that the thread gave up its processor, our stops taken off, when that was last asked for.
    switches: u64,
    /// What stops have cost, nanoseconds, and how much of it has not been taken off yet: a stretch may be shorter.
    cost_ns: u64,
    owed_ns: u64,
}

impl Thread {
    /// A thread that has just been seen for the first time, and that is stopped.
    pub fn new(tid: Tid, pid: Tid, file: Option<TraceFile>, costs: Costs) -> Thread {
        let source = Schedstat::hold(tid);
        let latest = clock::on_processor(tid, source.as_ref()).unwrap_or_default();
        let cpu = CpuClock { source, costs, latest, stops: 0, switches: 0, cost_ns: 0, owed_ns: 0 };
        let mut thread = Thread { tid, pid, file, at: Place::Outside, stops: 0, cpu };
        thread.cpu.switches = thread.switches();
        thread
    }

    fn switches(&self) -> u64 {
        clock::voluntary_switches(self.tid).unwrap_or(0).saturating_sub(self.stops)
    }

    /// CPU time until now, that of stops taken off, nanoseconds. `None` where the kernel does not tell (any more).
    pub fn cpu_at_end_ns(&self) -> Option<u64> {
        let now = clock::on_processor(self.tid, self.cpu.source.as_ref())?;
        Some(now.ns.saturating_sub(self.cpu.cost_ns))
    }

    /// The thread is about to begin a call.
    pub fn enter(&mut self, at: AtEntry, before: i64) -> UnderWay {
        let gap = self.read_cpu(self.cpu.costs.cpu.gap_ns);
        let AtEntry { number, args, instruction, .. } = at;
        let call = SystemCall { number, args, result: 0, before };
        // The time is taken last: what we do here is not part of the call.
        UnderWay { call, instruction, start: clock::now(), gap, is_told: false }
    }

    /// Something is about to be recorded inside a call with which the kernel goes on: tells that it was entered.
    pub fn tell_entered(&mut self, call: UnderWay) -> UnderWay {
        let (Some(file), Some(name)) = (&mut self.file, call_of(call.call.number)) else { return call };
        if !call.is_told {
            let cpu_before = call.gap.map_or(0, |used| used.ns);
            let times = Times { cpu_before, ..Times::default() };
            let numbers = [i64::from(name as u16)];
            file.record(Call::Entered, flags_of(call.gap), times, call.start, 0, &numbers, &[], &[]);
        }
        UnderWay { gap: None, is_told: true, ..call }
    }

    /// What the thread has used in the call that has returned.
    pub fn leave(&mut self) -> Option<CpuUse> {
        self.read_cpu(self.cpu.costs.cpu.call_ns)
    }

    /// What it has used since the reading before, `cost_ns` of which was for the stops.
    fn read_cpu(&mut self, cost_ns: u32) -> Option<CpuUse> {
        let now = clock::on_processor(self.tid, self.cpu.source.as_ref())?;
        let (before, stopped) = (self.cpu.latest, self.stops - self.cpu.stops);
        (self.cpu.latest, self.cpu.stops) = (now, self.stops);
        // Put on a processor more often than it was stopped: was that taken away, or given up?
        let mut waited = false;
        if now.times.saturating_sub(before.times) > stopped {
            let switches = self.switches();
            waited = switches > self.cpu.switches;
            self.cpu.switches = switches;
        }
        let used_ns = now.ns.saturating_sub(before.ns);
        self.cpu.owed_ns += u64::from(cost_ns);
        let stops_ns = self.cpu.owed_ns.min(used_ns);
        self.cpu.owed_ns -= stops_ns;
        self.cpu.cost_ns += stops_ns;
        Some(CpuUse { ns: used_ns - stops_ns, waited })
    }
}

/// The flags of a record for what lay before its call.
pub fn flags_of(gap: Option<CpuUse>) -> Flags {
    match gap {
        None => 0,
        Some(CpuUse { waited: false, .. }) => record::CPU_BEFORE,
        Some(CpuUse { waited: true, .. }) => record::CPU_BEFORE | record::WAITED_BEFORE,
    }
}

/// The flags of a record for what its call used.
pub fn flags_of_call(used: CpuUse) -> Flags {
    record::CPU_AFTER | if used.waited { record::WAITED_AFTER } else { 0 }
}
