//! One step.

/// Calls of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls {
    /// True: writes; false: reads.
    pub write: bool,
    /// Bytes of each.
    pub bytes: u64,
    /// How many.
    pub count: u64,
}

/// Blocks of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocations {
    /// Bytes of each.
    pub bytes: u64,
    /// How many.
    pub count: u64,
}

/// What is consumed between two instants at which all atoms stand still.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// How long it was, nanoseconds.
    pub span_ns: u64,
    /// CPU time of each executor, nanoseconds on this machine; as many as were wanted at once.
    pub cpu_ns: Vec<u64>,
    /// Calls on files.
    pub calls: Vec<Calls>,
    /// Resident memory at the end, bytes.
    pub resident: u64,
    /// Memory touched for the first time, bytes.
    pub touched: u64,
    /// Bytes sent to the partner, received from it, and sent to ourselves.
    pub network: [u64; 3],
    /// Bytes of one call on the network; 0 where that is not known.
    pub message: u64,
    /// The parts of messages that were sent by calls that write, and received by calls that read: such bytes are in no call on a file.
    pub as_files: [f64; 2],
    /// Blocks taken from the allocator and given back.
    pub allocations: Vec<Allocations>,
    /// Time in which nothing was computed, nanoseconds.
    pub idle_ns: u64,
    /// Calls that bring data to the device.
    pub syncs: u64,
    /// Calls that set a position.
    pub seeks: u64,
    /// Files opened.
    pub opens: u64,
    /// Questions about files.
    pub stats: u64,
    /// Changes of names.
    pub names: u64,
    /// Living processes and threads.
    pub population: [u64; 2],
}

impl Step {
    /// No call on a file, or on its name.
    pub fn leaves_files_alone(&self) -> bool {
        let others = [self.syncs, self.seeks, self.opens, self.stats, self.names];
        self.calls.is_empty() && others == [0; 5]
    }

    /// Computation, and memory that stays.
    pub fn computes_alone(&self) -> bool {
        self.leaves_files_alone()
            && self.network == [0; 3]
            && self.touched == 0
            && self.allocations.is_empty()
    }
}
