//! The throttling engine: threads publish what they do on a board that the processes of a host share, and those of one node are
//! held before some of their calls until the watchdog finds that every other node has exited or is blocked
//! (Mesnier et al., "//TRACE", FAST'07, section 3.2).
//!
//! Nobody waits for a lock here, and a hold ends by itself: when its time is over, or when the watchdog gives no sign of life.

use crate::core::{file_status, sys};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use syn_trace::board::{BYTES, Board, Doing, NOBODY, Release, Slot, UNRANKED, hold};
use syn_trace::calls::Call;

/// The board; null where nobody is throttled.
static BOARD: AtomicPtr<Board> = AtomicPtr::new(ptr::null_mut());
/// This process's rank, or [`NOBODY`].
static RANK: AtomicU32 = AtomicU32::new(NOBODY);
/// This process's node, [`NOBODY`] until one of its threads needs it.
static NODE: AtomicU32 = AtomicU32::new(NOBODY);

/// A held thread looks around so often, nanoseconds. Signals wake it more often, which does not count.
const LOOK_NS: u64 = 20_000_000;
/// The watchdog is taken to be gone after so many looks, and so long a time, without a sign of life. (A job that stood still as a
/// whole has had no looks.)
const LOOKS: u32 = 50;
const SILENCE_NS: u64 = 1_000_000_000;

/// True in a job of which somebody is throttled.
#[inline(always)]
pub fn is_on() -> bool {
    !BOARD.load(Ordering::Relaxed).is_null()
}

fn board() -> Option<&'static Board> {
    // SAFETY: null or the mapping, which stays.
    unsafe { BOARD.load(Ordering::Relaxed).as_ref() }
}

/// Maps the board at `path`, which ends with a zero byte. `None` if there is none. To be called while the process starts.
pub fn open(path: *const u8, rank: Option<u32>) -> Option<()> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: the path ends with a zero byte; the descriptor is ours; a new mapping disturbs nothing.
    let mapped = unsafe {
        let fd = sys::openat(libc::AT_FDCWD, path, libc::O_RDWR | libc::O_CLOEXEC, 0);
        if fd < 0 {
            return None;
        }
        let known = file_status::of(fd as i32, |status| status.stx_size as usize >= BYTES).unwrap_or(false);
        let mapped = if known { sys::mmap(0, BYTES, protection, flags, fd as i32, 0) } else { -1 };
        sys::close(fd as i32);
        mapped
    };
    let found = (mapped > 0).then_some(mapped as *mut Board)?;
    // SAFETY: it was just mapped, and every value of its bytes is valid.
    if !unsafe { &*found }.is_valid() {
        // SAFETY: nobody knows the mapping.
        unsafe { sys::munmap(found as usize, BYTES) };
        return None;
    }
    RANK.store(rank.unwrap_or(NOBODY), Ordering::Relaxed);
    BOARD.store(found, Ordering::Relaxed);
    Some(())
}

/// The node of a child that is about to be forked: a node of its own, unless it has this process's rank. It is allotted before the
/// fork, so that children have their numbers in the order in which they are made, whichever of them runs first.
pub fn node_of_child() -> u32 {
    match (board(), RANK.load(Ordering::Relaxed)) {
        (Some(board), NOBODY) => new_node(board),
        (_, rank) => rank,
    }
}

/// In a forked child, with what was allotted to it; [`NOBODY`] where no hook has seen the fork.
pub fn begin_in_forked_child(node: u32) {
    // A page less to copy where nobody is throttled.
    if board().is_some() {
        NODE.store(node, Ordering::Relaxed);
    }
}

fn new_node(board: &Board) -> u32 {
    UNRANKED | board.unranked.fetch_add(1, Ordering::Relaxed)
}

/// A thread that begins to record comes to the board. Null without one, or when that is full.
pub fn join(pid: u32, tid: u32) -> *const Slot {
    let Some(board) = board() else { return ptr::null() };
    let node = match NODE.load(Ordering::Relaxed) {
        NOBODY => node_of(board, pid),
        known => known,
    };
    NODE.store(node, Ordering::Relaxed);
    board.join(pid, tid, node).map_or(ptr::null(), ptr::from_ref)
}

/// The rank, the node that the process was before an exec, or a new one.
fn node_of(board: &Board, pid: u32) -> u32 {
    let rank = RANK.load(Ordering::Relaxed);
    if rank != NOBODY {
        return rank;
    }
    let before = board.slots().iter().find(|slot| slot.pid.load(Ordering::Relaxed) == pid);
    before.map_or_else(|| new_node(board), |slot| slot.node.load(Ordering::Relaxed))
}

fn doing(slot: &Slot) -> Doing {
    Doing(slot.doing.load(Ordering::Relaxed))
}

/// The thread is in this call.
pub fn enter(slot: &Slot, call: Call) {
    slot.doing.store(doing(slot).entered(call as u16).0, Ordering::Release);
}

/// A call got it somewhere.
pub fn advance(slot: &Slot) {
    slot.doing.store(doing(slot).advanced().0, Ordering::Release);
}

/// It computes.
pub fn leave(slot: &Slot) {
    slot.doing.store(doing(slot).left().0, Ordering::Release);
}

/// Whether the thread is to be held before this call: counts it, if it is of a kind that may be.
pub fn is_to_hold(slot: &Slot, call: Call) -> bool {
    let Some(board) = board() else { return false };
    let may = board.throttled.load(Ordering::Relaxed) == slot.node.load(Ordering::Relaxed)
        && board.kinds.load(Ordering::Relaxed) & u32::from(call.hold_kind()) != 0;
    if !may || board.lost.load(Ordering::Relaxed) != 0 || sys::is_confined() {
        return false;
    }
    let count = slot.io.load(Ordering::Relaxed);
    slot.io.store(count + 1, Ordering::Relaxed);
    count.is_multiple_of(u64::from(board.period.load(Ordering::Relaxed).max(1)))
}

/// Holds the thread. Signal handlers run meanwhile.
pub fn hold(slot: &Slot) -> Release {
    let Some(board) = board() else { return Release::Lost };
    let began_ns = sys::clock_ns(libc::CLOCK_MONOTONIC);
    slot.hold.store(hold::HELD, Ordering::Release);
    let bound_ns = board.bound_ns.load(Ordering::Relaxed);
    let (mut sign, mut silent_since_ns, mut looks) = (board.heartbeat.load(Ordering::Relaxed), began_ns, 0);
    let mut looked_ns = began_ns;
    let reason = loop {
        sleep(slot);
        if slot.hold.load(Ordering::Acquire) == hold::RELEASED {
            break Release::Quiet;
        }
        let now_ns = sys::clock_ns(libc::CLOCK_MONOTONIC);
        let latest = board.heartbeat.load(Ordering::Relaxed);
        if latest != sign {
            (sign, silent_since_ns, looks) = (latest, now_ns, 0);
        }
        if now_ns.saturating_sub(looked_ns) >= LOOK_NS {
            (looked_ns, looks) = (now_ns, looks + 1);
        }
        if looks > LOOKS && now_ns.saturating_sub(silent_since_ns) > SILENCE_NS {
            board.lost.store(1, Ordering::Relaxed);
            break Release::Lost;
        }
        if now_ns.saturating_sub(began_ns) > bound_ns {
            break Release::Bound;
        }
    };
    slot.hold.store(hold::NONE, Ordering::Release);
    board.holds[reason as usize - 1].fetch_add(1, Ordering::Relaxed);
    let held_ns = sys::clock_ns(libc::CLOCK_MONOTONIC).saturating_sub(began_ns);
    board.held_ns.fetch_add(held_ns, Ordering::Relaxed);
    reason
}

/// Until the thread is let go, a signal arrives, or it is time to look around.
fn sleep(slot: &Slot) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: LOOK_NS as i64 };
    let (word, expected) = (slot.hold.as_ptr() as usize, hold::HELD as usize);
    // SAFETY: the word and the time are valid; nothing is written. Processes share the word: no FUTEX_PRIVATE_FLAG.
    unsafe {
        sys::call(
            libc::SYS_futex,
            [word, libc::FUTEX_WAIT as usize, expected, &raw const time as usize, 0, 0],
        )
    };
}
