//! The board: memory that the threads of a throttled job share on one host. Each thread publishes in a cache line of its own
//! what it does; the watchdog of the host reads that, and lets held calls go.
//!
//! It is a file of the run folder, `board-HOST`, made by whoever throttles the job before it starts. Who maps it reads and
//! writes words, each by itself: nobody waits for anybody, whoever is killed.

#[cfg(feature = "std")]
mod file;

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(feature = "std")]
pub use file::{BoardFile, Request, check_host};

/// Environment variable that tells the processes of a job that there is a board; set to anything.
pub const VARIABLE: &str = "SYN_THROTTLE";
/// The file's name, before the name of the host.
pub const FILE_PREFIX: &str = "board-";
/// The first word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"synboard");
/// Of this layout.
pub const VERSION: u32 = 1;
/// Threads that can publish at a time.
pub const SLOTS: usize = 4096;
/// In the number of a node: not a rank, but the how manyth process without one to come to the board.
pub const UNRANKED: u32 = 1 << 31;
/// Hosts number their processes without a rank by themselves: the first one from 0, each of the others from so many more.
pub const UNRANKED_OF_HOST: u32 = 1 << 20;
/// No node.
pub const NOBODY: u32 = u32::MAX;

/// Why a held call was let go; the second number of a `thread-held` record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Release {
    /// Every other node had exited or was blocked.
    Quiet = 1,
    /// The longest time for a hold was over.
    Bound = 2,
    /// No watchdog was there any more.
    Lost = 3,
}

impl Release {
    /// Each of them.
    pub const ALL: [Release; 3] = [Release::Quiet, Release::Bound, Release::Lost];

    /// The one with this number.
    pub fn from_number(number: i64) -> Option<Release> {
        Release::ALL.into_iter().find(|release| *release as i64 == number)
    }
}

/// Which calls may be held; see [`crate::Call::hold_kind`].
pub mod kind {
    /// Calls on files that move data, change names, or look at them.
    pub const IO: u8 = 1;
    /// MPI.
    pub const MPI: u8 = 2;
    /// Sockets.
    pub const SOCKET: u8 = 4;
    /// Locks and signals.
    pub const SYNC: u8 = 8;
}

/// Whether a thread is held; it waits on this word (futex(2)).
pub mod hold {
    /// It is not held.
    pub const NONE: u32 = 0;
    /// It is.
    pub const HELD: u32 = 1;
    /// It may go on.
    pub const RELEASED: u32 = 2;
}

/// One thread: a cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Slot {
    /// The kernel's thread id, 0 in a slot that is not in use. It stays when the thread has ended.
    pub tid: AtomicU32,
    /// Its process.
    pub pid: AtomicU32,
    /// Its node: rank, or place among those without one and [`UNRANKED`].
    pub node: AtomicU32,
    /// [`hold`].
    pub hold: AtomicU32,
    /// [`Doing`].
    pub doing: AtomicU64,
    /// I/O calls so far, as far as they may be held.
    pub io: AtomicU64,
}

/// What a thread does: the call that it is in (0: none, it computes), and how many calls that got anywhere are over. One word, so
/// that both are of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doing(pub u64);

impl Doing {
    /// The number of the call, 0 outside of calls.
    pub fn call(self) -> u16 {
        self.0 as u16
    }
    /// Calls that are over. Polls that found nothing, and sleeps, do not count.
    pub fn progress(self) -> u64 {
        self.0 >> 16
    }
    /// The same, having entered a call.
    #[must_use]
    pub fn entered(self, call: u16) -> Doing {
        Doing(self.0 & !0xffff | u64::from(call))
    }
    /// The same, outside of calls again.
    #[must_use]
    pub fn left(self) -> Doing {
        self.entered(0)
    }
    /// The same with one more call that got somewhere.
    #[must_use]
    pub fn advanced(self) -> Doing {
        Doing(self.0.wrapping_add(1 << 16))
    }
}

/// The front of the file: what is asked for, and what became of it.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct Board {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`VERSION`].
    pub version: u32,
    /// Slots that are or were in use.
    pub used: AtomicU32,
    /// The node whose calls are held.
    pub throttled: AtomicU32,
    /// Every how manyth I/O call of a thread.
    pub period: AtomicU32,
    /// Which calls: the bits of [`kind`].
    pub kinds: AtomicU32,
    /// Processes without a rank that have come.
    pub unranked: AtomicU32,
    /// The longest time for a hold, nanoseconds.
    pub bound_ns: AtomicU64,
    /// Counted on by the watchdog as long as it lives.
    pub heartbeat: AtomicU64,
    /// Set when a thread has found that the watchdog does not live: nothing is held any more.
    pub lost: AtomicU32,
    /// Threads that found no free slot.
    pub missed: AtomicU32,
    /// Holds, by [`Release`] less 1.
    pub holds: [AtomicU32; 3],
    /// How long all of them lasted, nanoseconds.
    pub held_ns: AtomicU64,
    /// The threads.
    pub slots: [Slot; SLOTS],
}

/// Bytes of the file.
pub const BYTES: usize = size_of::<Board>();

impl Board {
    /// True for memory that holds a board of this layout.
    pub fn is_valid(&self) -> bool {
        self.magic == MAGIC && self.version == VERSION
    }

    /// The slots that are or were in use.
    pub fn slots(&self) -> &[Slot] {
        &self.slots[..(self.used.load(Ordering::Acquire) as usize).min(SLOTS)]
    }

    /// A slot for this thread: the one that it has, after an exec, or a new one.
    pub fn join(&self, pid: u32, tid: u32, node: u32) -> Option<&Slot> {
        let before = self.slots().iter().find(|slot| slot.tid.load(Ordering::Relaxed) == tid);
        let slot = before.or_else(|| {
            let place = self.used.fetch_add(1, Ordering::AcqRel) as usize;
            let slot = self.slots.get(place);
            if slot.is_none() {
                self.used.fetch_sub(1, Ordering::AcqRel);
                self.missed.fetch_add(1, Ordering::Relaxed);
            }
            slot
        })?;
        slot.pid.store(pid, Ordering::Relaxed);
        slot.node.store(node, Ordering::Relaxed);
        slot.hold.store(hold::NONE, Ordering::Relaxed);
        slot.tid.store(tid, Ordering::Release);
        Some(slot)
    }
}

const _: () = assert!(size_of::<Slot>() == 64);
