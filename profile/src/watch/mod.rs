//! Watchers: each looks at one resource, through `pre`, `sample`, `post` and `finalize`. A new one is one file and one row.

mod allocations;
mod connections;
mod cpu;
mod memory;
mod network;
mod processes;
mod room;
mod storage;
pub mod system;
mod watcher;

use crate::profiler::Options;
pub use watcher::{Totals, Watcher, Whole};

/// A watcher in the table.
pub struct Row {
    /// The resource.
    pub name: &'static str,
    /// Where its figures come from.
    pub source: &'static str,
    /// What it does without that source.
    pub fall_back: &'static str,
    /// Makes one.
    pub make: fn(&Options) -> Box<dyn Watcher>,
}

/// All watchers, in the order in which they look. The storage watcher comes after the one of processors, which is the
/// one that wants its figures from one instant.
pub const WATCHERS: &[Row] = &[
    Row {
        name: "cpu",
        source: "CPU clocks of processes, cutime of parents, rusage of the reaped, perf_event_open(2)",
        fall_back: "without counters: CPU time and a calibrated rate",
        make: |_| Box::new(cpu::Cpu::default()),
    },
    Row {
        name: "storage",
        source: "/proc/PID/io, with that of waited-for children; descriptors of those that write much",
        fall_back: "of processes that may not be looked at: when they have been waited for",
        make: |_| Box::new(storage::Storage::default()),
    },
    Row {
        name: "memory",
        source: "/proc/PID/stat, smaps_rollup now and then, rusage of the reaped",
        fall_back: "without smaps_rollup: no proportional size",
        make: |_| Box::new(memory::Memory::default()),
    },
    Row {
        name: "allocations",
        source: "counters of the preloaded library libsynalloc.so",
        fall_back: "without it: pages touched for the first time",
        make: |options| Box::new(allocations::Allocations::new(options.allocations.clone())),
    },
    Row {
        name: "network",
        source: "sock_diag(7): bytes of each TCP connection",
        fall_back: "what the interfaces of the network namespace moved meanwhile, for comparison",
        make: |_| Box::new(network::Network::default()),
    },
    Row {
        name: "processes",
        source: "/proc, the profiler being the subreaper of orphans",
        fall_back: "processes that live between two samples are in the sums, and not in the list",
        make: |_| Box::new(processes::Processes::default()),
    },
    Row {
        name: "system",
        source: "/proc, /sys and the control group",
        fall_back: "what is not there is not measured",
        make: |_| Box::new(system::System::default()),
    },
];
