//! Questions about a name that are asked until the answer is another: who changes the answer does not wait for the asking, and of the
//! asking only its end is told. Whether a question is one of these is known when the row of them has ended; until then its orders are kept.

use crate::graph::dependency::{Dependencies, Moment};
use syn_plan::Rule;

/// By thread: where the first question of each row is entered, and the call that succeeded at last; ascending.
pub type AnsweredRows = Vec<Vec<(u32, u32)>>;

/// So many rows of a thread wait for what let their last call succeed. It is a call that still goes on, or none of the run.
const MOST_UNDECIDED: usize = 4;

/// Whether one of these rows has this record in it.
pub fn is_in_row(rows: &[(u32, u32)], record: u32) -> bool {
    let begun = rows.partition_point(|&(first, _)| first <= record);
    begun > 0 && record < rows[begun - 1].1
}

/// Questions of a thread that are the same, with nothing but sleeps between.
#[derive(Debug)]
struct Row {
    first: u32,
    /// The entry of the same call when it succeeded.
    answer: Option<Moment>,
    /// What holds if they turn out to be calls like others.
    orders: Vec<(Moment, Moment)>,
}

impl Row {
    fn has(&self, record: u32) -> bool {
        self.first <= record && self.answer.is_none_or(|answer| record < answer.point().record)
    }

    fn give_up(self, found: &mut Dependencies) {
        for (source, target) in self.orders {
            found.add_one(Rule::FileCreate, source, target);
        }
    }
}

/// The rows of all threads.
#[derive(Debug)]
pub struct Questions {
    /// By thread: those under way, and those of which the reason for their end is not known yet.
    rows: Vec<Vec<Row>>,
    answered: AnsweredRows,
}

impl Questions {
    /// For so many threads.
    pub fn new(threads: usize) -> Questions {
        Questions { rows: (0..threads).map(|_| Vec::new()).collect(), answered: vec![Vec::new(); threads] }
    }

    /// A row begins with this call.
    pub fn begin(&mut self, enter: Moment, found: &mut Dependencies) {
        let rows = &mut self.rows[enter.point().thread as usize];
        if rows.len() == MOST_UNDECIDED {
            rows.remove(0).give_up(found);
        }
        rows.push(Row { first: enter.point().record, answer: None, orders: Vec::new() });
    }

    /// The row under way ends with this call, which succeeds.
    pub fn answer(&mut self, enter: Moment) {
        if let Some(row) = self.rows[enter.point().thread as usize].last_mut() {
            row.answer = Some(enter);
        }
    }

    /// The thread does something else: the row under way was none.
    pub fn give_up(&mut self, thread: u32, found: &mut Dependencies) {
        if let Some(row) = self.rows[thread as usize].pop_if(|row| row.answer.is_none()) {
            row.give_up(found);
        }
    }

    /// The run is over. The rows of which it is known what ended them.
    pub fn finish(self, found: &mut Dependencies) -> AnsweredRows {
        self.rows.into_iter().flatten().for_each(|row| row.give_up(found));
        self.answered
    }

    /// Whether this call is, or may be, in a row that an answer ends.
    pub(super) fn may_have(&self, call: Moment) -> bool {
        let (thread, record) = (call.point().thread as usize, call.point().record);
        self.rows[thread].iter().any(|row| row.has(record)) || is_in_row(&self.answered[thread], record)
    }

    /// A call comes before another one, if neither is in a row.
    pub(super) fn order(&mut self, source: Moment, target: Moment, found: &mut Dependencies) {
        for point in [source.point(), target.point()] {
            if let Some(row) = self.rows[point.thread as usize].iter_mut().find(|row| row.has(point.record)) {
                return row.orders.push((source, target));
            }
            if is_in_row(&self.answered[point.thread as usize], point.record) {
                return;
            }
        }
        found.add_one(Rule::FileCreate, source, target);
    }

    /// The same of a call that changed the name. If the other one has ended a row, that is why.
    pub(super) fn order_behind_change(&mut self, change: Moment, target: Moment, found: &mut Dependencies) {
        self.order(change, target, found);
        let thread = target.point().thread as usize;
        if self.rows[thread].is_empty() || change.point().thread as usize == thread {
            return;
        }
        let ends = |row: &Row| row.answer.is_some_and(|answer| answer.point() == target.point());
        if let Some(place) = self.rows[thread].iter().position(ends) {
            let row = (self.rows[thread].remove(place).first, target.point().record);
            let answered = &mut self.answered[thread];
            answered.insert(answered.partition_point(|other| *other < row), row);
        }
    }
}
