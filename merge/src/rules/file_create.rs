//! A call that finds a file (or finds it gone) comes after the call of another thread that made it (or removed it), and
//! before the one that changes that next.
//!
//! The recording shows only that it was so. Of calls that overlap, the order of their returns says nothing: each saw, or changed, the
//! name at some instant between its entry and its return. What they found tells which came first: a file is made where there is none,
//! and removed where there is one. So a call that contradicts what is known tells of a change that has not returned yet, or of one from
//! outside the run.

mod questions;
#[cfg(test)]
mod tests;

use crate::graph::dependency::{Dependencies, Moment, Span};
pub use questions::{AnsweredRows, Questions, is_in_row};

/// So many of a name's epochs are kept at most.
const MOST_EPOCHS: usize = 64;

/// Who found the name so.
#[derive(Clone, Copy, Debug)]
struct Finder {
    /// The entry of the thread's first call that did.
    first: Moment,
    /// The return of its last one.
    last: Moment,
    /// These are questions that may be asked until the answer is another.
    asks: bool,
}

/// The time between two changes.
#[derive(Debug)]
struct Epoch {
    exists: bool,
    /// What began it; not known of the first one, of a change that has not returned yet, and of one from outside the run.
    begun: Option<Span>,
    /// When it had begun at the latest: the first return of a call that found the name so, or changed it.
    begun_by_ns: u64,
    /// By thread; questions apart.
    found_by: Vec<Finder>,
}

impl Epoch {
    fn new(exists: bool, begun: Option<Span>, begun_by_ns: u64) -> Epoch {
        Epoch { exists, begun, begun_by_ns, found_by: Vec::new() }
    }

    /// Where a thread's calls are, or belong.
    fn place(&self, thread: u32, asks: bool) -> Result<usize, usize> {
        self.found_by
            .binary_search_by_key(&(thread, asks), |finder| (finder.last.point().thread, finder.asks))
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

    /// Whether it was there before the run, where calls say otherwise that returned before the one that had changed it.
    pub fn corrected(&self) -> Option<bool> {
        self.corrected
    }

    /// A call made the path exist, or removed it, or put another file there; `before` is what it needed to succeed.
    pub fn change(
        &mut self,
        change: Span,
        before: Option<bool>,
        exists: bool,
        questions: &mut Questions,
        found: &mut Dependencies,
    ) {
        let at = match self.awaited(&change, before, exists) {
            Some(at) => self.fill(at, before, change),
            None => self.append(before, exists, change),
        };
        if let Some(last) = at.checked_sub(1).map(|last| &self.epochs[last]) {
            let has_found = last.place(change.enter.point().thread, false).is_ok();
            if let Some(begun) = last.begun.filter(|_| !has_found) {
                questions.order_behind_change(begun.leave, change.enter, found);
            }
            for finder in &last.found_by {
                questions.order(finder.last, change.enter, found);
            }
        }
        for finder in &self.epochs[at].found_by {
            questions.order_behind_change(change.leave, finder.first, found);
        }
        if let Some(next) = self.epochs.get(at + 1).and_then(|next| next.begun) {
            questions.order_behind_change(change.leave, next.enter, found);
        }
    }

    /// The epoch that this change has begun, if calls that returned before it have shown it: the first one that another change must
    /// have begun, or else the very first, if nothing is known to have come before.
    fn awaited(&self, change: &Span, before: Option<bool>, exists: bool) -> Option<usize> {
        let had_begun = |epoch: &Epoch| epoch.begun_by_ns <= change.enter.ns;
        let first = self.epochs.iter().rposition(had_begun).map_or(0, |last| last + 1);
        let fits = |&at: &usize| self.epochs[at].begun.is_none() && self.epochs[at].exists == exists;
        let is_other = self.exists().is_some_and(|now| before != Some(now));
        let is_first = || (first == 0 && is_other).then_some(0).filter(fits);
        (first.max(1)..self.epochs.len()).find(fits).or_else(is_first)
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

    fn append(&mut self, before: Option<bool>, exists: bool, change: Span) -> usize {
        if self.epochs.len() >= MOST_EPOCHS {
            self.forget();
        }
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
        self.epochs.push(epoch);
        self.epochs.len() - 1
    }

    /// Forgets older epochs. Those around a change that has not returned yet are kept as long as can be: who is preempted in a call
    /// returns from it after a hundred turns of others.
    fn forget(&mut self) {
        let (recent, most) = (MOST_EPOCHS / 2, MOST_EPOCHS * 3 / 4);
        let unknown: Vec<bool> = self.epochs.iter().map(|epoch| epoch.begun.is_none()).collect();
        let mut around = (0..).map(|at: usize| {
            at >= recent || unknown[at.saturating_sub(1)..unknown.len().min(at + 2)].contains(&true)
        });
        self.epochs.retain(|_| around.next().unwrap_or(true));
        self.epochs.drain(..self.epochs.len().saturating_sub(most));
    }

    /// A call saw that the path exists, or that it does not.
    pub fn find(&mut self, call: Span, exists: bool, questions: &mut Questions, found: &mut Dependencies) {
        let Span { enter, leave } = call;
        let thread = enter.point().thread;
        let Some(at) = self.found_in(enter.ns, exists, leave.ns) else { return };
        let asks = questions.may_have(leave);
        let epoch = &mut self.epochs[at];
        epoch.begun_by_ns = epoch.begun_by_ns.min(leave.ns);
        let mut is_first = !asks || epoch.place(thread, false).is_err();
        match epoch.place(thread, asks) {
            Ok(place) => {
                epoch.found_by[place].last = leave;
                is_first = false;
            }
            Err(place) => {
                if epoch.found_by.is_empty() {
                    epoch.found_by.reserve_exact(1);
                }
                epoch.found_by.insert(place, Finder { first: enter, last: leave, asks });
            }
        }
        if let Some(begun) = epoch.begun.filter(|_| is_first) {
            questions.order_behind_change(begun.leave, enter, found);
        }
        if let Some(next) = self.epochs.get(at + 1).and_then(|next| next.begun) {
            questions.order(leave, next.enter, found);
        }
    }

    /// The last epoch in which a call may have found this; a new one if there is none. `None` if it was before all that is kept.
    fn found_in(&mut self, enter_ns: u64, exists: bool, leave_ns: u64) -> Option<usize> {
        for (at, epoch) in self.epochs.iter().enumerate().rev() {
            if epoch.exists == exists {
                return Some(at);
            }
            if epoch.begun_by_ns <= enter_ns {
                break;
            }
            if at == 0 && epoch.begun.is_some() {
                return None;
            }
        }
        // Something that has not returned yet has changed it, or something outside the run.
        Some(self.push(Epoch::new(exists, None, leave_ns)))
    }
}
