//! Whether the thread has kept its processor, looked at at the boundaries of calls.

use crate::core::preemption::{self, Mark};
use crate::core::{clock, sys};
use crate::recording::thread::state::State;
use core::sync::atomic::Ordering;
use syn_trace::calls::Call;
use syn_trace::record::{self, Flags};

/// Where a thread has a lock that others may wait for, clocks are read so many times as rarely: about every millisecond. A
/// reading takes about as long as what many a lock is taken for, and whoever wants it would wait as much longer.
const RARER_WITH_LOCK: u64 = 20;

/// A boundary of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    WithoutLock,
    EntryWithLock,
    ReturnWithLock,
    /// Which it has waited for.
    ReturnFromWait,
}

impl Boundary {
    #[inline(always)]
    pub fn entry_of(call: Call) -> Boundary {
        if call.enters_with_lock() { Boundary::EntryWithLock } else { Boundary::WithoutLock }
    }

    #[inline(always)]
    pub fn return_of(call: Call) -> Boundary {
        match (call.returns_with_lock(), call.waits_for_lock()) {
            (true, true) => Boundary::ReturnFromWait,
            (true, false) => Boundary::ReturnWithLock,
            (false, _) => Boundary::WithoutLock,
        }
    }
}

/// What a look at the processor has shown, where the thread did not certainly keep it.
#[derive(Clone, Copy)]
pub struct Looked {
    /// CPU time, nanoseconds, where it was read.
    pub cpu: u64,
    /// As flags of a call, or of what lay before it.
    pub flags: Flags,
}

/// A look in front of a call, see [`look`].
#[cold]
#[inline(never)]
#[unsafe(link_section = ".text.startup")]
pub fn look_before(state: &State, now: u64, boundary: Boundary) -> Looked {
    let found = look(state, now, boundary);
    // Who lost the processor between two calls did not wait, if nobody knows better.
    let waited = found.waited.unwrap_or(found.read && found.kept);
    let flags = (record::CPU_BEFORE, record::WAITED_BEFORE, record::LOST_BEFORE, record::KEPT_BEFORE);
    Looked { cpu: found.cpu, flags: found.flags(waited, flags) }
}

/// A look behind a call, see [`look`].
#[cold]
#[inline(never)]
#[unsafe(link_section = ".text.startup")]
pub fn look_after(state: &State, now: u64, boundary: Boundary) -> Looked {
    let found = look(state, now, boundary);
    // Who lost the processor in a call mostly waited there.
    let waited = found.waited.unwrap_or(found.read);
    let flags = (record::CPU_AFTER, record::WAITED_AFTER, record::LOST_AFTER, record::KEPT_AFTER);
    Looked { cpu: found.cpu, flags: found.flags(waited, flags) }
}

/// The same before it is known whether it was in a call.
#[derive(Default)]
struct Found {
    cpu: u64,
    read: bool,
    /// Since the boundary before.
    kept: bool,
    /// `None` where nobody knows.
    waited: Option<bool>,
    lost: bool,
}

impl Found {
    fn flags(&self, has_waited: bool, (read, waited, lost, kept): (Flags, Flags, Flags, Flags)) -> Flags {
        let flag = |is: bool, flag: Flags| if is { flag } else { 0 };
        flag(self.read, read) | flag(has_waited, waited) | flag(self.lost, lost) | flag(self.kept, kept)
    }
}

/// The thread may have lost its processor before `now`. Reads its clock, unless that has just been done: a thread that waits
/// again and again would do little else. Then the next look does, which comes at the next boundary. Where the kernel does
/// not tell, the clock is read after everything that took long.
#[unsafe(link_section = ".text.startup")]
fn look(state: &State, now: u64, boundary: Boundary) -> Found {
    let is_known = preemption::is_known();
    if state.is_apart.get() {
        // The thread itself stands still: neither its mark nor this processor tells anything of it.
        return Found { lost: is_known, ..Found::default() };
    }
    let since =
        if is_known { state.cpu_ticks.get() } else { state.last_end.get().max(state.entered.get().start) };
    let kept = Mark::Unread.stands();
    let rarer = match boundary {
        Boundary::WithoutLock => 1,
        // What the thread computed with the lock is told at once where it lost its processor.
        Boundary::EntryWithLock if !kept => 1,
        _ => RARER_WITH_LOCK,
    };
    let least = if is_known { rarer * clock::rarely_ticks() } else { clock::long_ticks() };
    let mut found = Found::default();
    if now.saturating_sub(since) > least && may_read_clocks(state) {
        found.kept = kept;
        // Whatever happens from here on, while the clocks are read as well, the next look finds.
        Mark::Told.put();
        let began = clock::ticks();
        let helpers_cpu_ns = state.header().helpers_cpu_ns.load(Ordering::Relaxed);
        found.cpu = clock::thread_cpu_ns().saturating_add(helpers_cpu_ns);
        // Of those that were in waits for locks since the reading before it is known where they were.
        let in_locks = state.lock_waits.take();
        found.read = true;
        found.waited = clock::voluntary_switches().map(|switches| {
            let before = state.switches.replace(switches);
            switches.wrapping_sub(before) > in_locks
        });
        let read_at = clock::ticks();
        state.cpu_ticks.set(read_at);
        // Of one that lost the processor nobody knows how long it took.
        if Mark::Told.stands() {
            state.header().readings.add(read_at.saturating_sub(began));
        }
    } else {
        found.lost = is_known && !kept;
        if found.lost && boundary == Boundary::ReturnFromWait {
            state.lock_waits.set(state.lock_waits.get() + 1);
        }
        Mark::Unread.put();
    }
    found
}

/// False in a handler that has interrupted the writing of a record, whose readings belong to that record's sequence, on a
/// thread that stands in for another, and where system calls of our own could end the process.
#[cold]
fn may_read_clocks(state: &State) -> bool {
    !state.encoding.load(Ordering::Relaxed) && !state.is_apart.get() && sys::may_read_clocks()
}
