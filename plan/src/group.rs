//! The members of communicators.

use crate::fault::Fault;
use crate::mpi::{FIRST_COMMUNICATOR, NONE, SELF, WORLD};
use crate::{CommId, Plan};
use std::ops::Range;

/// More ranks than any machine runs; nothing is made as large as a plan says that has more.
const MAX_RANKS: u32 = 1 << 22;

/// The members of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group<'a> {
    /// All of so many ranks.
    World(u32),
    /// The rank that asks.
    Alone,
    /// Runs of ranks: first, stride, count. In an inter-communicator an empty run stands between its two groups.
    Runs(&'a [(u32, i32, u32)]),
}

/// The run between two groups.
pub const BETWEEN: (u32, i32, u32) = (0, 0, 0);

impl Group<'_> {
    /// How many there are.
    pub fn len(&self) -> u64 {
        match *self {
            Group::World(ranks) => ranks.into(),
            Group::Alone => 1,
            Group::Runs(runs) => runs.iter().map(|&(.., count)| u64::from(count)).sum(),
        }
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Of an inter-communicator how many belong to the first group.
    pub fn first_group(&self) -> Option<u64> {
        let Group::Runs(runs) = *self else { return None };
        let between = runs.iter().position(|&(.., count)| count == 0)?;
        Some(Group::Runs(&runs[..between]).len())
    }

    /// The positions of those in the group of a member, and of those that it communicates with: all, or the other group.
    pub fn sides(&self, position: u64) -> [Range<u64>; 2] {
        let all = 0..self.len();
        match self.first_group() {
            None => [all.clone(), all],
            Some(first) if position < first => [0..first, first..all.end],
            Some(first) => [first..all.end, 0..first],
        }
    }

    /// The position of a rank of `MPI_COMM_WORLD` among them.
    pub fn position(&self, rank: u32) -> Option<u64> {
        let runs = match *self {
            Group::World(ranks) => return (rank < ranks).then_some(rank.into()),
            Group::Alone => return Some(0),
            Group::Runs(runs) => runs,
        };
        let mut before = 0;
        for &(first, stride, count) in runs {
            let (distance, stride) = (i64::from(rank) - i64::from(first), i64::from(stride));
            let index = match stride {
                0 => (distance == 0).then_some(0),
                _ => (distance % stride == 0).then_some(distance / stride),
            };
            if let Some(index) = index.filter(|&index| (0..i64::from(count)).contains(&index)) {
                return Some(before + index as u64);
            }
            before += u64::from(count);
        }
        None
    }

    /// The ranks in `MPI_COMM_WORLD`, in order; not of [`Group::Alone`].
    pub fn ranks(&self) -> impl Iterator<Item = u32> + '_ {
        let world = [(0, 1, if let Group::World(ranks) = *self { ranks } else { 0 })];
        let runs = if let Group::Runs(runs) = *self { runs.to_vec() } else { world.to_vec() };
        runs.into_iter().flat_map(|(first, stride, count)| {
            (0..i64::from(count)).map(move |index| (i64::from(first) + i64::from(stride) * index) as u32)
        })
    }
}

impl Plan {
    /// Who is in a communicator of the plan.
    pub fn group(&self, comm: CommId) -> Option<Group<'_>> {
        match comm {
            WORLD => Some(Group::World(self.about.ranks)),
            SELF => Some(Group::Alone),
            NONE => None,
            _ => self.communicators.get((comm - FIRST_COMMUNICATOR) as usize).map(|runs| Group::Runs(runs)),
        }
    }
}

/// The communicators of a plan, each of them in order.
pub(crate) struct Groups<'a> {
    pub(crate) plan: &'a Plan,
}

impl Groups<'_> {
    pub(crate) fn of(plan: &Plan) -> Result<Groups<'_>, Fault> {
        let ranks = plan.about.ranks;
        if plan.communicates() && ranks > MAX_RANKS {
            return Err(Fault::BadCommunicator { comm: WORLD, ranks });
        }
        for (comm, runs) in (FIRST_COMMUNICATOR..).zip(&plan.communicators) {
            let group = Group::Runs(runs);
            let bad = || Err(Fault::BadCommunicator { comm, ranks });
            if group.is_empty() || group.len() > u64::from(ranks) {
                return bad();
            }
            let is_rank = |&(first, stride, count): &(u32, i32, u32)| {
                let last = i64::from(first) + i64::from(stride) * (i64::from(count) - 1);
                count > 0 && first < ranks && (0..i64::from(ranks)).contains(&last)
            };
            // One group, or two.
            let mut groups = runs.split(|&run| run == BETWEEN);
            let (first, second) = (groups.next().unwrap_or_default(), groups.next());
            if first.is_empty() || second.is_some_and(<[_]>::is_empty) || groups.next().is_some() {
                return bad();
            }
            let mut seen = vec![false; ranks as usize];
            if !first.iter().chain(second.unwrap_or_default()).all(is_rank)
                || group.ranks().any(|rank| std::mem::replace(&mut seen[rank as usize], true))
            {
                return bad();
            }
        }
        Ok(Groups { plan })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_has_the_other_one_for_peers() {
        let runs = [(4, -2, 3), BETWEEN, (1, 0, 1), (3, 1, 1)];
        let both = Group::Runs(&runs);
        assert_eq!(both.ranks().collect::<Vec<_>>(), [4, 2, 0, 1, 3]);
        assert_eq!(
            [4, 2, 0, 1, 3, 5].map(|rank| both.position(rank)),
            [Some(0), Some(1), Some(2), Some(3), Some(4), None]
        );
        assert_eq!(both.first_group(), Some(3));
        assert_eq!([2, 3].map(|position| both.sides(position)), [[0..3, 3..5], [3..5, 0..3]]);
        for one in [Group::Runs(&runs[..1]), Group::World(3)] {
            assert_eq!((one.first_group(), one.sides(1)), (None, [0..3, 0..3]));
        }
    }
}
