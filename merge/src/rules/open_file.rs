//! An open file that several threads of one process use: it is used after the call that opened it, and closed after the
//! last use. Of calls at its position each begins where the one before has ended (ARTC, Weiss et al., "ROOT",
//! SOSP'13: descriptors are ordered by stage, what shares a position sequentially).
//!
//! A replay does not use numbers of descriptors again, so a close comes before nothing. Calls that overlapped are not
//! ordered, since the recording does not show which was first.
//!
//! Only a change of threads at the position costs a dependency, of some 14 bytes in the plan and 600 in the merge; a position
//! that one thread uses costs nothing.

use crate::graph::dependency::{Dependencies, Moment, Span};
use std::collections::{BTreeMap, VecDeque};
use syn_plan::Rule;

/// So many of the latest calls at a position are kept, for those that overlap the next one.
const MOST_MOVES: usize = 16;

/// An open file that several threads may use.
#[derive(Debug)]
pub struct HandedOver {
    opened: Moment,
    /// The last use by every thread.
    uses: BTreeMap<u32, Span>,
    /// The last calls that used the position, by return.
    moves: VecDeque<Span>,
    /// The calls that made its further descriptors.
    duplicated: Vec<Moment>,
}

impl HandedOver {
    /// It was opened by a call that returned at `leave`.
    pub fn new(leave: Moment) -> HandedOver {
        HandedOver { opened: leave, uses: BTreeMap::new(), moves: VecDeque::new(), duplicated: Vec::new() }
    }

    /// A call uses it.
    pub fn use_it(&mut self, span: Span, found: &mut Dependencies) {
        let before = self.uses.insert(span.enter.point().thread, span);
        if before.is_none_or(|before| before.enter.ns < self.opened.ns) {
            add(Rule::FileCreate, self.opened, span.enter, found);
        }
    }

    /// The same, at its position: after those before it, without those that these come after.
    pub fn move_it(&mut self, span: Span, found: &mut Dependencies) {
        let over = self.moves.iter().filter(|before| before.leave.ns <= span.enter.ns);
        let since_ns = over.clone().map(|before| before.enter.ns).max().unwrap_or(0);
        for before in over.filter(|before| before.leave.ns >= since_ns) {
            found.add_one(Rule::FileData, before.leave, span.enter);
        }
        if self.moves.len() == MOST_MOVES {
            self.moves.pop_front();
        }
        self.moves.push_back(span);
        self.use_it(span, found);
    }

    /// A call makes a further descriptor for it.
    pub fn duplicate(&mut self, span: Span, found: &mut Dependencies) {
        self.use_it(span, found);
        self.duplicated.push(span.leave);
    }

    /// A call closes one of several descriptors: the plan takes it for the latest.
    pub fn close_one(&mut self, span: Span, found: &mut Dependencies) {
        self.use_it(span, found);
        if let Some(duplicated) = self.duplicated.pop() {
            add(Rule::FileCreate, duplicated, span.enter, found);
        }
    }

    /// Its last descriptor is closed by a call that began at `enter`. Of a use that overlaps that, only what came before it
    /// has to be over.
    pub fn close(&self, enter: Moment, found: &mut Dependencies) {
        for last in self.uses.values() {
            let end = if last.leave.ns <= enter.ns { last.leave } else { last.enter };
            add(Rule::FileCreate, end, enter, found);
        }
    }
}

/// `target` waits for `source` if that is what was recorded.
fn add(rule: Rule, source: Moment, target: Moment, found: &mut Dependencies) {
    if source.ns <= target.ns && source.point().thread != target.point().thread {
        found.add_one(rule, source, target);
    }
}
