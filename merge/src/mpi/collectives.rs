//! Brings together the calls that are one collective operation: the k-th one that every member makes on a
//! communicator.

use super::communicators::CommId;
use super::matching::Place;
use crate::graph::dependency::{Dependencies, Moment};
use crate::rules::collective::{self, Arrival};
use foldhash::{HashMap, HashSet};
use std::collections::VecDeque;
use syn_trace::Call;
use syn_trace::calls::ROOT;

/// A part in a collective operation that a request stands for: it is complete when the request is.
#[derive(Clone, Copy, Debug)]
pub struct Started {
    /// The communicator.
    pub comm: CommId,
    /// Which one on it.
    pub nth: u64,
    /// Its rank in the communicator.
    pub rank: u32,
    /// What it called.
    pub call: Call,
    /// The root it named.
    pub root: i64,
    /// When it came.
    pub enter: Moment,
    /// Bytes that it gives, and gets.
    pub bytes: (i64, i64),
    /// The call that notes of its counts stand behind.
    pub noted: Place,
}

impl Started {
    /// It left then.
    pub fn left(self, leave: Moment) -> Arrival {
        Arrival {
            rank: self.rank,
            call: self.call,
            root: self.root,
            enter: self.enter,
            leave,
            bytes: self.bytes,
            noted: self.noted,
        }
    }
}

/// Operations that some members have not reached yet.
#[derive(Debug, Default)]
struct Pending {
    /// The number of the first one in `queue`.
    first: u64,
    /// So many members of the recording take part in each.
    present: usize,
    /// How many of the communicator belong to the first of two groups; 0 where there is one.
    first_group: u32,
    queue: VecDeque<Vec<Arrival>>,
}

/// The collective operations of a run. Memory: those that are under way, and exchanges, less than the notes of these.
#[derive(Debug, Default)]
pub struct Collectives {
    pending: Vec<Pending>,
    spare: Vec<Vec<Arrival>>,
    /// Exchanges, with the size of a first group: who gives to whom stands in notes behind the calls.
    exchanges: Vec<(u32, Vec<Arrival>)>,
    /// Operations whose members called different functions.
    pub mixed: u64,
    /// Operations that some members never reached.
    pub incomplete: u64,
    /// Which of them these are: no replay can do them.
    pub broken: HashSet<(CommId, u64)>,
    /// Bytes that each member gave and got, by rank: of operations for which they may differ.
    pub traffic: HashMap<(CommId, u64), Vec<(i64, i64)>>,
    /// See [`super::Matching`].
    pub roots: HashMap<(CommId, u64), u32>,
}

impl Collectives {
    /// A member reaches an operation, which so many members of the recording take part in; see [`Pending`] for `first_group`.
    pub fn arrive(
        &mut self,
        (comm, nth): (CommId, u64),
        (present, first_group): (u32, u32),
        arrival: Arrival,
        found: &mut Dependencies,
    ) {
        if self.pending.len() <= comm as usize {
            self.pending.resize_with(comm as usize + 1, Pending::default);
        }
        let mut pending = &mut self.pending[comm as usize];
        (pending.present, pending.first_group) = (present as usize, first_group);
        let Some(index) = nth.checked_sub(pending.first) else { return };
        while pending.queue.len() as u64 <= index {
            pending.queue.push_back(self.spare.pop().unwrap_or_default());
        }
        pending.queue[index as usize].push(arrival);
        while pending.queue.front().is_some_and(|arrivals| arrivals.len() >= present as usize) {
            let Some(mut arrivals) = pending.queue.pop_front() else { break };
            let instance = (comm, pending.first);
            pending.first += 1;
            self.complete(instance, first_group, &mut arrivals, found);
            arrivals.clear();
            self.spare.push(arrivals);
            pending = &mut self.pending[comm as usize];
        }
    }

    /// All members came.
    fn complete(
        &mut self,
        instance: (CommId, u64),
        first_group: u32,
        arrivals: &mut [Arrival],
        found: &mut Dependencies,
    ) {
        if let Some(root) = arrivals.iter().find(|arrival| arrival.root == ROOT).filter(|_| first_group > 0) {
            self.roots.insert(instance, root.rank);
        }
        if !self.connect(arrivals, first_group, found) {
            self.mixed += 1;
            self.broken.insert(instance);
        } else if collective::varies(arrivals[0].call) {
            self.traffic.insert(instance, arrivals.iter().map(|arrival| arrival.bytes).collect());
        }
    }

    /// Connects the parts of an operation, or puts off an exchange. False when the members called different functions.
    fn connect(&mut self, arrivals: &mut [Arrival], first_group: u32, found: &mut Dependencies) -> bool {
        if !arrivals
            .iter()
            .all(|arrival| collective::tells_pairs(arrival.call) && arrival.call == arrivals[0].call)
        {
            return collective::connect(arrivals, first_group, found);
        }
        arrivals.sort_unstable_by_key(|arrival| arrival.rank);
        self.exchanges.push((first_group, arrivals.to_vec()));
        true
    }

    /// Connects what is left: the operations that not all members came to, among those who did; and those behind one of these.
    /// `told` is what notes tell.
    pub fn finish(&mut self, told: &HashMap<(Place, Call), Vec<i64>>, found: &mut Dependencies) {
        for (comm, pending) in (0..).zip(std::mem::take(&mut self.pending)) {
            let Pending { first, present, first_group, queue } = pending;
            for (nth, mut arrivals) in (first..).zip(queue) {
                if arrivals.len() >= present {
                    self.complete((comm, nth), first_group, &mut arrivals, found);
                    continue;
                }
                self.incomplete += 1;
                self.broken.insert((comm, nth));
                self.mixed += u64::from(!self.connect(&mut arrivals, first_group, found));
            }
        }
        for (first_group, arrivals) in std::mem::take(&mut self.exchanges) {
            let told = |arrival: &Arrival| told.get(&(arrival.noted, Call::MpiCounts)).map(Vec::as_slice);
            collective::connect_pairs(&arrivals, first_group, told, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::span;

    #[test]
    fn what_all_came_to_is_whole_behind_what_some_did_not() {
        let (mut all, mut found) = (Collectives::default(), Dependencies::default());
        for (rank, nth) in [(0, 0), (0, 1), (1, 1), (0, 2)] {
            let times = span(rank, nth as u32 + 1, 10 * (nth + 1), 10 * (nth + 1) + 5);
            let arrival = Arrival {
                rank,
                call: Call::MpiAllgatherv,
                root: 0,
                enter: times.enter,
                leave: times.leave,
                bytes: (8, 16),
                noted: (rank, nth as u32 + 1),
            };
            all.arrive((0, nth), (2, 0), arrival, &mut found);
        }
        all.finish(&HashMap::default(), &mut found);
        assert_eq!((all.incomplete, all.broken.len(), all.broken.contains(&(0, 1))), (2, 2, false));
        assert_eq!(all.traffic[&(0, 1)], [(8, 16); 2]);
        assert_eq!(found.len(), 1);
    }
}
