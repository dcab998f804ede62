//! Pieces of a thread's time.

use crate::calls::Call;

/// A piece of a thread's time. `wall_ns` = `cpu_ns` + `waited_ns` + `unmeasured_ns` + what it was preempted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// When it began, nanoseconds since the start of the run.
    pub start_ns: u64,
    /// Its length, nanoseconds, the cost of recording taken off.
    pub wall_ns: u64,
    /// CPU time in it, nanoseconds.
    pub cpu_ns: u64,
    /// Time without the processor after the thread gave it up of its own accord, nanoseconds.
    pub waited_ns: u64,
    /// Time of which nobody knows what it was, nanoseconds.
    pub unmeasured_ns: u64,
    /// What recording took, beside `wall_ns`, nanoseconds.
    pub recording_ns: u64,
    /// The innermost call that it is inside of; `None` for the thread's own code.
    pub inside: Option<Call>,
}

impl Segment {
    /// No time at all.
    pub const NOTHING: Segment = Segment {
        start_ns: 0,
        wall_ns: 0,
        cpu_ns: 0,
        waited_ns: 0,
        unmeasured_ns: 0,
        recording_ns: 0,
        inside: None,
    };

    /// Time in which the thread was ready to run and the processor was another's, nanoseconds.
    pub fn preempted_ns(&self) -> u64 {
        self.wall_ns
            .saturating_sub(self.cpu_ns)
            .saturating_sub(self.waited_ns)
            .saturating_sub(self.unmeasured_ns)
    }
    /// Its length with the cost of recording, nanoseconds.
    #[inline]
    pub(super) fn raw_ns(&self) -> u64 {
        self.wall_ns + self.recording_ns
    }

    /// What a reading says of it: CPU time, what recording took among it.
    #[inline]
    pub(super) fn settle(&mut self, total_ns: u64, waited: bool) {
        // Recording takes no more than the processor did.
        let raw_ns = self.raw_ns();
        self.recording_ns = self.recording_ns.min(total_ns);
        self.wall_ns = raw_ns - self.recording_ns;
        self.cpu_ns = (total_ns - self.recording_ns).min(self.wall_ns);
        self.waited_ns = if waited { self.wall_ns - self.cpu_ns } else { 0 };
    }

    /// The same of a thread that is stopped twice at every call, by a recorder that takes no CPU time of its: where it had no
    /// processor and did not wait, it stood still for the recorder, as good as always.
    #[inline]
    pub(super) fn settle_stopped(&mut self, cpu_ns: u64, waited: bool) {
        let raw_ns = self.raw_ns();
        self.cpu_ns = cpu_ns.min(raw_ns);
        let left_ns = raw_ns - self.cpu_ns;
        self.recording_ns = if waited { self.recording_ns.min(left_ns) } else { left_ns };
        self.wall_ns = raw_ns - self.recording_ns;
        self.waited_ns = self.wall_ns - self.cpu_ns;
    }
}

/// What an event and what lay before it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// From the boundary before to the entry of the call; empty for a call around earlier records.
    pub before: Segment,
    /// From there, or from the last boundary inside the call, to its return.
    pub call: Segment,
}

impl Measured {
    /// No time at all.
    pub const NOTHING: Measured = Measured { before: Segment::NOTHING, call: Segment::NOTHING };
}
