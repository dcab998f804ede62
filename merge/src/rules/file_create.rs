//! A call that finds a file (or finds it gone) comes after the call of another thread that made it (or removed it), and
//! before the one that changes that next.
//!
//! The recording shows only that it was so. Of calls that overlap, the order of their returns says nothing: each saw, or changed, the
//! name at some instant between its entry and its return. What they found tells which came first: a file is made where there is none,
//! and removed where there is one. So a call that contradicts what is known tells of a change that has not returned yet, or of one from
//! outside the run. Of a rename over a file that is there the inode tells that calls have opened, where it is on record. Of other calls that
//! overlap it nothing does, nor of calls that overlap when the name is seen for the first time: there the returns count, and a replay
//! that finds it otherwise says so.

mod polls;
#[cfg(test)]
mod tests;

use crate::graph::dependency::{Dependencies, Moment, Span};
pub use polls::{EndedPolls, Polls, is_failed_poll};
use std::ops::Range;

/// Of a name with so many epochs older ones are forgotten, and of one with the most also those that something from outside the run may
/// have begun.
const MANY_EPOCHS: usize = 64;
const MOST_EPOCHS: usize = 4096;

/// So many files that a thread finds under a name are told apart, while no change of it is on record: some file systems number files anew
/// when they are opened.
const MOST_INODES: usize = 8;

/// An inode's number; 0 where it is not on record.
pub type Inode = u64;

/// Who found the name so.
#[derive(Clone, Copy, Debug)]
struct Finder {
    /// The entry of the thread's first call that did.
    first: Moment,
    /// The return of its last one.
    last: Moment,
    /// These are failed calls that may be polls.
    asks: bool,
    /// What they opened.
    inode: Inode,
}

impl Finder {
    fn key(&self) -> (u32, bool, Inode) {
        (self.last.point().thread, self.asks, self.inode)
    }
}

/// The time between two changes.
#[derive(Debug)]
struct Epoch {
    exists: bool,
    /// Which file is there, as far as the change that began it or an open tells.
    inode: Inode,
    /// What began it; not known of the first one, of a change that has not returned yet, and of one from outside the run.
    begun: Option<Span>,
    /// When it had begun at the latest: the first return of a call that found the name so, or changed it.
    begun_by_ns: u64,
    /// By thread; polls apart, and files by their inodes.
    found_by: Vec<Finder>,
}

impl Epoch {
    fn new(exists: bool, begun: Option<Span>, begun_by_ns: u64) -> Epoch {
        Epoch { exists, inode: 0, begun, begun_by_ns, found_by: Vec::new() }
    }

    /// What a thread's calls have found, polls or others.
    fn finders_of(&self, thread: u32, asks: bool) -> Range<usize> {
        let from = self.found_by.partition_point(|finder| finder.key() < (thread, asks, 0));
        let are_all = |finder: &&Finder| finder.last.point().thread == thread && finder.asks == asks;
        from..from + self.found_by[from..].iter().take_while(are_all).count()
    }

    fn has_finder(&self, thread: u32) -> bool {
        !self.finders_of(thread, false).is_empty()
    }

    /// A thread's calls have found it. Whether they are the first ones that did. What others than opens find is what it had opened last.
    fn add_finder(&mut self, finder: Finder) -> bool {
        let thread = finder.last.point().thread;
        let is_first = !self.has_finder(thread);
        let mut finders = self.finders_of(thread, finder.asks);
        let place = if finder.inode == 0 || finders.len() >= MOST_INODES {
            finders.max_by_key(|&at| self.found_by[at].last.point())
        } else {
            finders.find(|&at| self.found_by[at].inode == finder.inode)
        };
        if let Some(place) = place {
            self.found_by[place].last = finder.last;
            return false;
        }
        // Most names have one.
        if self.found_by.is_empty() {
            self.found_by.reserve_exact(1);
        }
        self.found_by.insert(self.found_by.partition_point(|other| other.key() < finder.key()), finder);
        is_first
    }
}

/// Whether one path exists, as far as the run's calls tell.
#[derive(Debug, Default)]
pub struct Existence {
    epochs: Vec<Epoch>,
    /// Whether it was there before the run, where the first calls to return say otherwise.
    corrected: Option<bool>,
}

impl Existence {
    /// True, false, or not known.
    pub fn exists(&self) -> Option<bool> {
        self.epochs.last().map(|epoch| epoch.exists)
    }

    /// Since when it is there, if a call has made it.
    pub fn made_ns(&self) -> Option<u64> {
        self.epochs.last().filter(|epoch| epoch.exists)?.begun.map(|change| change.enter.ns)
    }

    /// Whether the last change so far is of another thread than this one, has removed it, and is not over before `since_ns`.
    pub fn is_removed_by_other(&self, by: Moment, since_ns: u64) -> bool {
        let last = self.epochs.last().filter(|epoch| !epoch.exists);
        last.and_then(|last| last.begun).is_some_and(|change| {
            change.enter.point().thread != by.point().thread && change.leave.ns >= since_ns
        })
    }

    /// Whether the last change so far has removed it, and was over when this call began, or is this call.
    pub fn is_gone_by(&self, call: &Span) -> bool {
        let last = self.epochs.last().filter(|epoch| !epoch.exists);
        let is_over = |change: Span| change.leave.ns < call.enter.ns || change.leave == call.leave;
        last.is_some_and(|last| last.begun.is_none_or(is_over))
    }

    /// Whether it was there before the run, where calls say otherwise that returned before the one that had changed it.
    pub fn corrected(&self) -> Option<bool> {
        self.corrected
    }

    /// A call made the path exist, or removed it, or put another file there (`inode`); `before` is what it needed to succeed. Whether it is
    /// the last change so far: of one that returns late others have shown what came behind it.
    pub fn change(
        &mut self,
        change: Span,
        before: Option<bool>,
        exists: bool,
        inode: Inode,
        polls: &mut Polls,
        found: &mut Dependencies,
    ) -> bool {
        let at = match self.epoch_begun_by(&change, before, exists) {
            Some(at) => self.fill(at, before, change),
            None => self.append(before, exists, change),
        };
        if inode != 0 {
            self.epochs[at].inode = inode;
        }
        self.take_early_finders(at, &change);
        if let Some(last) = at.checked_sub(1).map(|last| &self.epochs[last]) {
            let has_found = last.has_finder(change.enter.point().thread);
            if let Some(begun) = last.begun.filter(|_| !has_found) {
                polls.order_behind_change(begun.leave, change.enter, found);
            }
            for finder in &last.found_by {
                polls.order(finder.last, change.enter, found);
            }
        }
        for finder in &self.epochs[at].found_by {
            polls.order_behind_change(change.leave, finder.first, found);
        }
        if let Some(next) = self.epochs.get(at + 1).and_then(|next| next.begun) {
            polls.order_behind_change(change.leave, next.enter, found);
        }
        at + 1 == self.epochs.len()
    }

    /// The epoch that this change has begun, if calls that returned before it have shown one that a change must have begun. The name
    /// may have been so since before the run in the first one: that one only if the last one is not as the change needed it.
    fn epoch_begun_by(&self, change: &Span, before: Option<bool>, exists: bool) -> Option<usize> {
        let had_begun = |epoch: &Epoch| epoch.begun_by_ns <= change.enter.ns;
        let first = self.epochs.iter().rposition(had_begun).map_or(0, |last| last + 1);
        let was_so = |at: usize| before.is_none_or(|before| self.epochs[at - 1].exists == before);
        let fits = |&at: &usize| {
            let epoch = &self.epochs[at];
            epoch.begun.is_none() && epoch.exists == exists && (at == 0 || was_so(at))
        };
        let needs_other = before.is_some_and(|before| self.exists() == Some(!before));
        let very_first = || (first == 0 && needs_other).then_some(0).filter(fits);
        (first.max(1)..self.epochs.len()).find(fits).or_else(very_first)
    }

    fn fill(&mut self, mut at: usize, before: Option<bool>, change: Span) -> usize {
        self.epochs[at].begun = Some(change);
        if let Some(before) = before.filter(|_| at == 0) {
            self.corrected = Some(before);
            self.epochs.insert(0, Epoch::new(before, None, change.leave.ns));
            at = 1;
        }
        at
    }

    /// Calls that returned before the change did, and have opened what it put there, came behind it.
    fn take_early_finders(&mut self, at: usize, change: &Span) {
        let (earlier, from) = self.epochs.split_at_mut(at);
        let ([.., last], [now, ..]) = (earlier, from) else { return };
        let inode = now.inode;
        let is_early =
            |finder: &mut Finder| finder.inode == inode && finder.last.ns >= change.enter.ns && !finder.asks;
        if inode == 0 || !last.exists {
            return;
        }
        for finder in last.found_by.extract_if(.., is_early) {
            now.add_finder(finder);
        }
    }

    fn append(&mut self, before: Option<bool>, exists: bool, change: Span) -> usize {
        if let Some(before) = before.filter(|_| self.exists() != before) {
            self.push(Epoch::new(before, None, change.leave.ns));
        }
        if let Some(last) = self.epochs.last_mut() {
            last.begun_by_ns = last.begun_by_ns.min(change.leave.ns);
        }
        self.push(Epoch::new(exists, Some(change), change.leave.ns))
    }

    /// Where it is now. Most names have one epoch, or two: there is no room to spare for more.
    fn push(&mut self, epoch: Epoch) -> usize {
        if self.epochs.len() < 2 {
            self.epochs.reserve_exact(1);
        }
        if self.epochs.len() >= MANY_EPOCHS && self.epochs.len().is_power_of_two() {
            self.forget();
        }
        self.epochs.push(epoch);
        self.epochs.len() - 1
    }

    /// Forgets older epochs, but not those around a change that has not returned yet: who is preempted in a call returns from it after
    /// hundreds of turns of others.
    fn forget(&mut self) {
        let recent = self.epochs.len() - MANY_EPOCHS / 2;
        let unknown: Vec<bool> = self.epochs.iter().map(|epoch| epoch.begun.is_none()).collect();
        let mut is_kept = (0..).map(|at: usize| {
            at >= recent || unknown[at.saturating_sub(1)..unknown.len().min(at + 2)].contains(&true)
        });
        self.epochs.retain(|_| is_kept.next().unwrap_or(true));
        if self.epochs.len() >= MOST_EPOCHS {
            self.epochs.drain(..MOST_EPOCHS / 2);
        }
    }

    /// A call saw that the path exists, and may have opened it (`inode`), or that it does not.
    pub fn find(
        &mut self,
        call: Span,
        exists: bool,
        inode: Inode,
        polls: &mut Polls,
        found: &mut Dependencies,
    ) {
        let Span { enter, leave } = call;
        let Some(at) = self.found_in(&call, exists, inode) else { return };
        let asks = polls.may_have(leave);
        let epoch = &mut self.epochs[at];
        if epoch.inode == 0 && (at == 0 || epoch.begun_by_ns <= enter.ns) {
            epoch.inode = inode;
        }
        epoch.begun_by_ns = epoch.begun_by_ns.min(leave.ns);
        let is_first = epoch.add_finder(Finder { first: enter, last: leave, asks, inode });
        if let Some(begun) = epoch.begun.filter(|_| is_first) {
            polls.order_behind_change(begun.leave, enter, found);
        }
        if let Some(next) = self.epochs.get(at + 1).and_then(|next| next.begun) {
            polls.order(leave, next.enter, found);
        }
    }

    /// The last epoch in which a call may have found this, of those with the file that it opened if there is one; a new one if there is
    /// none. `None` if it was before all that is kept.
    fn found_in(&mut self, call: &Span, exists: bool, inode: Inode) -> Option<usize> {
        let mut last = None;
        for (at, epoch) in self.epochs.iter().enumerate().rev() {
            if epoch.exists == exists {
                last = last.or(Some(at));
                if inode == 0 || epoch.inode == inode {
                    return Some(at);
                }
            }
            if epoch.begun_by_ns <= call.enter.ns {
                break;
            }
            if at == 0 && epoch.begun.is_some() && last.is_none() {
                return None;
            }
        }
        // Where there is none, something that has not returned yet has changed it, or something outside the run.
        Some(last.unwrap_or_else(|| self.push(Epoch::new(exists, None, call.leave.ns))))
    }
}
