//! An epoch that locks a target of a window has it after those that keep it out gave it back (MPI-4.1, 12.5.3): an exclusive
//! lock after all others, a shared one after the exclusive one before.
//!
//! MPI may grant a lock lazily: `MPI_Win_lock` may return before the lock is there, and then a flush waits for it, or the
//! unlock. What returned before the other one began to unlock has not waited for it; the first call that returned later has.
//! Whose turn came first is taken from the return of the unlocks.

use crate::graph::dependency::{Dependencies, Span};
use std::collections::BTreeMap;
use syn_plan::Rule;
use syn_trace::Call;

/// A call of an epoch that may have waited for the lock.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    /// The call.
    pub span: Span,
    /// What it called.
    pub call: Call,
    /// The rank in the window that it is about; all of them if `None`.
    pub target: Option<u32>,
}

/// An epoch of one process.
#[derive(Clone, Debug)]
pub struct Locked {
    /// The rank in the window that it locks; all of them if `None`.
    pub target: Option<u32>,
    /// Nobody else may have the lock meanwhile.
    pub exclusive: bool,
    /// The call that locks, flushes, and the one that unlocks.
    pub calls: Vec<Asking>,
    /// The last call unlocks.
    pub is_over: bool,
}

impl Locked {
    fn asked_ns(&self) -> u64 {
        self.calls.first().map_or(u64::MAX, |call| call.span.enter.ns)
    }

    fn over_ns(&self) -> u64 {
        self.calls.last().filter(|_| self.is_over).map_or(u64::MAX, |call| call.span.leave.ns)
    }

    /// The first call that returned after `other` began to give the lock back.
    fn waited_for(&self, other: &Locked, target: u32) -> Option<(Span, Asking)> {
        let release = other.calls.last()?.span;
        let may_wait = |call: &&Asking| call.target.is_none_or(|at| at == target);
        let mut calls = self.calls.iter().filter(may_wait);
        calls.find(|call| call.span.leave.ns >= release.enter.ns).map(|&call| (release, call))
    }
}

/// Connects the epochs of one window. Returns the calls that waited, some more than once.
pub fn connect(mut epochs: Vec<Locked>, found: &mut Dependencies) -> Vec<Asking> {
    epochs.sort_by_key(|epoch| (epoch.over_ns(), epoch.calls.last().map(|call| call.span.leave.point())));
    // Of epochs that are over: by target the last exclusive one, and all shared ones by their ends.
    let mut exclusive: BTreeMap<u32, &Locked> = BTreeMap::new();
    let mut shared: BTreeMap<Option<u32>, Vec<&Locked>> = BTreeMap::new();
    let mut waited = Vec::new();
    for epoch in &epochs {
        let asked_ns = epoch.asked_ns();
        let overlaps = |other: &&Locked| other.over_ns() >= asked_ns;
        let mut wait = |other: &Locked, target| {
            let Some((release, call)) = epoch.waited_for(other, target) else { return };
            if release.enter.point().thread != call.span.leave.point().thread {
                found.add_one(Rule::Epoch, release.enter, call.span.leave);
                waited.push(call);
            }
        };
        match epoch.target {
            Some(target) => {
                let before = exclusive.get(&target).copied();
                if let Some(before) = before.filter(overlaps) {
                    wait(before, target);
                }
                // Those that shared it since then; of each thread the last.
                let since_ns = before.map_or(0, Locked::over_ns).max(asked_ns);
                let mut sharing: BTreeMap<u32, &Locked> = BTreeMap::new();
                let others = [Some(target), None].into_iter().filter(|_| epoch.exclusive);
                for others in others.filter_map(|target| shared.get(&target)) {
                    for &other in others.iter().rev().take_while(|other| other.over_ns() >= since_ns) {
                        let Some(release) = other.calls.last() else { continue };
                        sharing.entry(release.span.leave.point().thread).or_insert(other);
                    }
                }
                sharing.into_values().for_each(|other| wait(other, target));
            }
            None => {
                for (&target, before) in exclusive.iter().filter(|(_, before)| overlaps(before)) {
                    wait(before, target);
                }
            }
        }
        match epoch.target {
            _ if !epoch.is_over => {}
            Some(target) if epoch.exclusive => {
                exclusive.insert(target, epoch);
            }
            target => shared.entry(target).or_default().push(epoch),
        }
    }
    waited
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::{records, span};

    /// Of a thread: its epoch at rank 3, with calls from the record on, each from when to when.
    fn epoch(thread: u32, record: u32, exclusive: bool, calls: &[(u64, u64)]) -> Locked {
        let target = Some(3);
        let asking = |(record, &(enter, leave)): (u32, &(u64, u64))| {
            let span = span(thread, record, enter, leave);
            Asking { span, call: Call::MpiWinLock, target }
        };
        Locked { target, exclusive, calls: (record..).zip(calls).map(asking).collect(), is_over: true }
    }

    fn found(epochs: Vec<Locked>) -> Vec<(u32, u32)> {
        let mut found = Dependencies::default();
        let _ = connect(epochs, &mut found);
        let mut records = records(&found);
        records.sort_unstable();
        records
    }

    #[test]
    fn who_is_granted_the_lock_at_once_waits_in_the_first_call() {
        let holder = epoch(0, 1, true, &[(0, 2), (50, 52)]);
        assert_eq!(found(vec![epoch(1, 7, true, &[(10, 51), (60, 62)]), holder]), [(2, 7)]);
    }

    #[test]
    fn who_is_granted_it_lazily_waits_in_a_flush_or_the_unlock() {
        let holder = || epoch(0, 1, true, &[(0, 2), (50, 52)]);
        assert_eq!(found(vec![epoch(1, 7, true, &[(10, 11), (12, 53), (60, 62)]), holder()]), [(2, 8)]);
        assert_eq!(found(vec![epoch(1, 7, true, &[(10, 11), (12, 13), (14, 62)]), holder()]), [(2, 9)]);
    }

    #[test]
    fn who_shares_waits_for_who_does_not_alone() {
        let epochs = vec![
            epoch(0, 1, true, &[(0, 2), (50, 52)]),
            epoch(1, 11, false, &[(10, 53), (60, 62)]),
            epoch(2, 21, false, &[(11, 54), (70, 72)]),
            epoch(3, 31, true, &[(20, 73), (80, 82)]),
            epoch(4, 41, false, &[(20, 83), (84, 85)]),
        ];
        assert_eq!(found(epochs), [(2, 11), (2, 21), (2, 31), (12, 31), (22, 31), (32, 41)]);
    }

    #[test]
    fn all_targets_are_waited_for_one_by_one() {
        let mut all = epoch(1, 11, false, &[(10, 53), (60, 62)]);
        (all.target, all.calls[0].target, all.calls[1].target) = (None, None, None);
        let mut elsewhere = epoch(2, 21, true, &[(0, 2), (40, 41)]);
        elsewhere.target = Some(5);
        let epochs = vec![
            epoch(0, 1, true, &[(0, 2), (50, 52)]),
            elsewhere,
            all,
            // It asks when all others are done.
            epoch(3, 31, true, &[(90, 91), (92, 93)]),
            epoch(4, 41, true, &[(55, 61), (65, 66)]),
        ];
        assert_eq!(found(epochs), [(2, 11), (12, 41), (22, 11)]);
    }
}
