//! The header of a thread's trace, in its first chunk (see [`crate::chunks`]).
//!
//! Its page stays mapped for as long as the thread lives, so that what changes while recording (the latest clock pair,
//! the number of dropped records, the rank) is on record whatever ends the process. All fields are little endian.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// The first eight bytes of a file, and of every thread's header.
pub const MAGIC: [u8; 8] = *b"SYNTRACE";
/// The format version this code writes, and the only one it reads.
pub const VERSION: u32 = 5;
/// Bytes of a thread's header; the records follow it.
pub const HEADER_BYTES: usize = 512;

/// `clock`: ticks of the invariant time stamp counter.
pub const CLOCK_TSC: u32 = 0;
/// `clock`: nanoseconds of `CLOCK_MONOTONIC`.
pub const CLOCK_MONOTONIC: u32 = 1;

/// `state`: the thread was recording when the file was last touched.
pub const STATE_RECORDING: u32 = 0;
/// `state`: the thread ended in an orderly way.
pub const STATE_THREAD_ENDED: u32 = 1;
/// `state`: the process ended through `_exit`, or replaced its image through `execve`.
pub const STATE_PROCESS_ENDED: u32 = 2;
/// `state`: recording was given up (disk full, file unreachable); `dropped` counts what was lost.
pub const STATE_STOPPED: u32 = 3;

/// `capabilities`: libc's own calls are seen (entry detours are in place).
pub const SEES_LIBC_INTERNAL: u64 = 1;
/// `capabilities`: only process creation is recorded, because the program is a launcher or is left out by choice.
pub const PROCESS_ONLY: u64 = 2;
/// `capabilities`: the MPI entry points are recorded.
pub const SEES_MPI: u64 = 4;
/// `capabilities`: recorded from outside, by ptrace(2): system calls, and no calls of libraries.
pub const BY_PTRACE: u64 = 8;
/// `capabilities`: it is known of every stretch whether the thread kept its processor (rseq(2)); without it, short
/// stretches are taken to have kept it.
pub const SEES_PREEMPTION: u64 = 16;
/// `capabilities`: before `start` the thread never gave up its processor of its own accord; what it was without one, it was ready to run.
pub const BEGAN_READY: u64 = 32;

/// `mpi`: which implementation was found at `MPI_Init`.
pub const MPI_NONE: u32 = 0;
/// Open MPI.
pub const MPI_OPEN_MPI: u32 = 1;
/// MPICH and everything with its ABI.
pub const MPI_MPICH: u32 = 2;
/// Any MPI through the standard ABI of MPI 5.
pub const MPI_STANDARD_ABI: u32 = 3;

/// The name of an `mpi` code.
pub const fn mpi_name(code: u32) -> Option<&'static str> {
    match code {
        MPI_OPEN_MPI => Some("Open MPI"),
        MPI_MPICH => Some("MPICH"),
        MPI_STANDARD_ABI => Some("MPI standard ABI"),
        _ => None,
    }
}

/// One instant on both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ClockPair {
    /// The thread's tick counter.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub monotonic_ns: u64,
}

/// The header as it lies in the file. Atomic fields change while recording.
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// [`HEADER_BYTES`].
    pub header_bytes: u32,
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Parent process id when the process image started.
    pub ppid: u32,
    /// Times in records are in units of 2^`tick_shift` ticks.
    pub tick_shift: u32,
    /// Which counter the ticks are of: [`CLOCK_TSC`] or [`CLOCK_MONOTONIC`].
    pub clock: u32,
    /// One of the `STATE_` values.
    pub state: AtomicU32,
    /// Which of `latest` is valid.
    pub latest_index: AtomicU32,
    /// One of the `MPI_` values.
    pub mpi: AtomicU32,
    /// Rank in `MPI_COMM_WORLD`, -1 before `MPI_Init`.
    pub rank: AtomicI32,
    /// Size of `MPI_COMM_WORLD`, 0 before `MPI_Init`.
    pub ranks: AtomicI32,
    /// Ticks that recording adds to the time between two calls, on warm caches: for rows of polls, and where `behind` has no
    /// calls.
    pub gap_cost_ticks: u32,
    /// Ticks that recording adds to the duration of a call.
    pub call_cost_ticks: u32,
    /// Bits of what was observable.
    pub capabilities: AtomicU64,
    /// `CLOCK_MONOTONIC` when the process image started; with the pid and the boot it names the image.
    pub process_start_ns: u64,
    /// `CLOCK_REALTIME` at `start`, nanoseconds; aligns hosts before anything better is known.
    pub start_realtime_ns: u64,
    /// When the thread's recording started; record times count from its ticks.
    pub start: ClockPair,
    /// A later pair, written alternately so that one is always whole.
    pub latest: [ClockPair; 2],
    /// Records that were not written.
    pub dropped: AtomicU64,
    /// The kernel's boot id, which names the machine and its clocks.
    pub boot_id: [u8; 16],
    /// Host name, padded with zeros.
    pub host: [u8; 64],
    /// CPU time of the thread when its recording started, nanoseconds: CPU readings count on from it.
    pub start_cpu_ns: u64,
    /// CPU time of the whole process, in the file of the thread that ended it or replaced its image; 0 in others.
    pub process_cpu_ns: AtomicU64,
    /// When the thread ended, or was ended with its process; 0 where nobody knows.
    pub end_ticks: AtomicU64,
    /// CPU time of the thread then, nanoseconds.
    pub end_cpu_ns: AtomicU64,
    /// CPU time of the recorder's own threads that did something in this one's stead, while it stood still, nanoseconds.
    /// All CPU times of the thread but `start_cpu_ns` include it.
    pub helpers_cpu_ns: AtomicU64,
    /// Ticks that a CPU reading takes, on warm caches: where `readings` has none.
    pub reading_cost_ticks: u32,
    /// Processors of the machine, or container: those that its first process may use.
    pub processors: u32,
    /// CPU time of the thread before its recording started that was the recorder's: to find out what and where to record, and
    /// to detour functions; nanoseconds.
    pub setup_cpu_ns: u64,
    /// Ticks from `start` until the recorder was ready and the program went on.
    pub setup_ticks: AtomicU64,
    /// What the recorder did behind the returns of calls that name no path, and of those that do, in a sample of them.
    pub behind: [Behind; 2],
    /// What readings of the CPU clock took during which the thread kept its processor.
    pub readings: Behind,
    /// A number that the ranks of one job have in common, made from the job's id; 0 before `MPI_Init`, and where no id is known.
    pub job: AtomicU64,
}

/// The recorder's work behind the returns of some calls, or in some readings of the CPU clock.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Behind {
    /// All of it, ticks.
    pub ticks: AtomicU64,
    /// Behind so many calls.
    pub calls: AtomicU64,
}

impl Behind {
    /// Behind another call it took `ticks`. Only one thread writes.
    pub fn add(&self, ticks: u64) {
        self.ticks.store(self.ticks.load(Ordering::Relaxed).saturating_add(ticks), Ordering::Relaxed);
        self.calls.store(self.calls.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
    }

    /// Ticks behind a call on average, if any was seen.
    pub fn mean(&self) -> Option<u32> {
        let ticks = self.ticks.load(Ordering::Relaxed).checked_div(self.calls.load(Ordering::Relaxed))?;
        Some(ticks.min(u64::from(u32::MAX)) as u32)
    }
}

const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);
