//! A thread may ask for a name again and again until the answer is another: a poll. Who changes the answer does not wait for the failed
//! polls, and only the call that succeeds at last comes behind the change. Whether failed calls are polls is known when a run of them
//! has ended; until then their orders are kept here.

use crate::graph::dependency::{Dependencies, Moment};
use syn_plan::Rule;

/// By thread: where the first failed poll of each run is entered, and the call that succeeded at last; ascending.
pub type EndedPolls = Vec<Vec<(u32, u32)>>;

/// So many runs of a thread are kept until it is known which change has ended them: it is a call that still goes on, or none of the
/// recorded ones.
const MOST_UNDECIDED: usize = 4;

/// Whether this record is a failed poll of one of these runs.
pub fn is_failed_poll(runs: &[(u32, u32)], record: u32) -> bool {
    let begun = runs.partition_point(|&(first, _)| first <= record);
    begun > 0 && record < runs[begun - 1].1
}

/// Failed calls of a thread that ask the same, with nothing but sleeps between.
#[derive(Debug)]
struct Run {
    /// The entry of the first one.
    first: Moment,
    /// The entry of the same call when it succeeded.
    success: Option<Moment>,
    /// What holds if they turn out to be calls like others.
    orders: Vec<(Moment, Moment)>,
}

impl Run {
    fn has(&self, record: u32) -> bool {
        self.first.point().record <= record
            && self.success.is_none_or(|success| record < success.point().record)
    }

    fn give_up(self, found: &mut Dependencies) {
        for (source, target) in self.orders {
            found.add_one(Rule::FileCreate, source, target);
        }
    }
}

/// The runs of all threads.
#[derive(Debug)]
pub struct Polls {
    /// By thread: the run under way, and those of which it is not known yet what has ended them.
    runs: Vec<Vec<Run>>,
    ended: EndedPolls,
}

impl Polls {
    /// For so many threads.
    pub fn new(threads: usize) -> Polls {
        Polls { runs: (0..threads).map(|_| Vec::new()).collect(), ended: vec![Vec::new(); threads] }
    }

    /// A run begins with the call that is entered here.
    pub fn begin(&mut self, enter: Moment, found: &mut Dependencies) {
        let runs = &mut self.runs[enter.point().thread as usize];
        if runs.len() == MOST_UNDECIDED {
            runs.remove(0).give_up(found);
        }
        runs.push(Run { first: enter, success: None, orders: Vec::new() });
    }

    /// The run under way ends with the call that is entered here, which succeeds.
    pub fn succeed(&mut self, enter: Moment) {
        if let Some(run) = self.runs[enter.point().thread as usize].last_mut() {
            run.success = Some(enter);
        }
    }

    /// The thread does something else: the calls under way were no polls.
    pub fn give_up(&mut self, thread: u32, found: &mut Dependencies) {
        if let Some(run) = self.runs[thread as usize].pop_if(|run| run.success.is_none()) {
            run.give_up(found);
        }
    }

    /// The recording is over. The runs of which it is known what ended them.
    pub fn finish(self, found: &mut Dependencies) -> EndedPolls {
        self.runs.into_iter().flatten().for_each(|run| run.give_up(found));
        self.ended
    }

    /// Whether this call is, or may turn out to be, a failed poll.
    pub(super) fn may_have(&self, call: Moment) -> bool {
        let (thread, record) = (call.point().thread as usize, call.point().record);
        self.runs[thread].iter().any(|run| run.has(record)) || is_failed_poll(&self.ended[thread], record)
    }

    /// A call comes before another one, if neither is a failed poll.
    pub(super) fn order(&mut self, source: Moment, target: Moment, found: &mut Dependencies) {
        for point in [source.point(), target.point()] {
            if let Some(run) = self.runs[point.thread as usize].iter_mut().find(|run| run.has(point.record)) {
                return run.orders.push((source, target));
            }
            if is_failed_poll(&self.ended[point.thread as usize], point.record) {
                return;
            }
        }
        found.add_one(Rule::FileCreate, source, target);
    }

    /// The same of a call that changed the name. If that returned since the other one began to ask, it is why that succeeded.
    pub(super) fn order_behind_change(&mut self, change: Moment, target: Moment, found: &mut Dependencies) {
        self.order(change, target, found);
        let thread = target.point().thread as usize;
        if change.point().thread as usize == thread {
            return;
        }
        let ends = |run: &Run| {
            run.success.is_some_and(|success| success.point() == target.point()) && run.first.ns <= change.ns
        };
        if let Some(place) = self.runs[thread].iter().position(ends) {
            let run = (self.runs[thread].remove(place).first.point().record, target.point().record);
            let ended = &mut self.ended[thread];
            ended.insert(ended.partition_point(|other| *other < run), run);
        }
    }
}
