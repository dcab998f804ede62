//! Worlds that are started at run time, by `MPI_Comm_spawn` and `MPI_Comm_spawn_multiple`. Which world a call has started is not on record, but how many
//! each side is. The processes begin before that call returns, and come to the end of `MPI_Init` when it has been made by all (MPI-4.1,
//! 11.8.2): of the worlds that fit, the call's is the one that had begun by then and that no other call has started. Where there are several of
//! these, nobody knows. Hosts are taken to have one clock: this comes before clocks are aligned.

use super::communicators::CommId;
use super::world::Worlds;
use crate::follow::pass::Seen;
use crate::graph::dependency::Moment;
use foldhash::{HashMap, HashSet};
use syn_trace::Call;

/// Ranks that start a world together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Starters {
    /// Their collective operation; none of a process that does so by itself.
    pub(super) call: Option<(CommId, u64)>,
    /// This process's rank among them.
    pub(super) rank: u32,
    /// How many they are, and how many of these are in the recording.
    pub(super) count: u32,
    pub(super) present: u32,
}

/// A call behind which a note tells the other group of an inter-communicator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    pub(super) how: How,
    pub(super) call: Call,
    pub(super) record: u32,
    pub(super) enter: Moment,
    pub(super) leave: Moment,
}

impl Made {
    pub(super) fn by(how: How, seen: &Seen<'_>) -> Made {
        let (call, record) = (seen.event.call, seen.record);
        Made { how, call, record, enter: seen.enter(), leave: seen.leave() }
    }
}

/// What has made it.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// Two groups of one world.
    Groups,
    /// Ranks that have started a world.
    Start(Starters),
    /// They have started this process's world.
    Begin,
}

/// The worlds whose call is known.
#[derive(Debug, Default)]
pub(super) struct Starts {
    by_call: HashMap<(CommId, u64), Option<u32>>,
    taken: HashSet<u32>,
}

impl Starts {
    /// The world of `size` ranks that a call of ranks of the world `own` has started, which was made and returned then.
    pub(super) fn by(
        &mut self,
        worlds: &Worlds,
        own: u32,
        starters: Starters,
        size: i64,
        (enter_ns, returned_ns): (u64, u64),
    ) -> Option<u32> {
        if let Some(&known) = starters.call.and_then(|call| self.by_call.get(&call)) {
            return known;
        }
        let mut begun = (0..).zip(&worlds.worlds).filter(|&(world, one)| {
            let fits = one.started_by == Some(starters.count) && one.members.len() as i64 == size;
            // Of several who start it one may come late.
            let after = starters.count > 1 || one.began_ns >= enter_ns;
            fits && after && one.began_ns <= returned_ns && world != own && !self.taken.contains(&world)
        });
        let world = match (begun.next(), begun.next()) {
            (Some((world, one)), None) if !one.is_guess => Some(world),
            _ => None,
        };
        self.taken.extend(world);
        if let Some(call) = starters.call {
            self.by_call.insert(call, world);
        }
        world
    }
}

#[cfg(test)]
mod tests {
    use super::super::world::World;
    use super::*;

    /// Worlds of two ranks each: who started them, and when they began.
    fn worlds(of: &[(Option<u32>, u64)]) -> Worlds {
        let world = |&(started_by, began_ns)| World {
            members: vec![Some(0), Some(1)],
            is_guess: false,
            started_by,
            began_ns,
        };
        Worlds { worlds: of.iter().map(world).collect(), of_process: Vec::new(), impossible: Vec::new() }
    }

    fn alone() -> Starters {
        Starters { call: None, rank: 0, count: 1, present: 1 }
    }

    #[test]
    fn a_call_has_started_the_world_that_began_meanwhile() {
        let worlds = worlds(&[(None, 0), (Some(1), 15), (Some(1), 35), (Some(2), 36)]);
        let mut starts = Starts::default();
        assert_eq!(starts.by(&worlds, 0, alone(), 3, (10, 20)), None, "of another size");
        assert_eq!(starts.by(&worlds, 1, alone(), 2, (10, 20)), None, "itself");
        assert_eq!(starts.by(&worlds, 0, alone(), 2, (10, 20)), Some(1));
        assert_eq!(starts.by(&worlds, 0, alone(), 2, (10, 20)), None, "it is another one's");
        assert_eq!(starts.by(&worlds, 0, alone(), 2, (30, 40)), Some(2));
        let both = |rank, nth| Starters { call: Some((0, nth)), rank, count: 2, present: 2 };
        // One of the two came when it had begun.
        assert_eq!(starts.by(&worlds, 0, both(1, 7), 2, (37, 40)), Some(3));
        assert_eq!(starts.by(&worlds, 0, both(0, 7), 2, (30, 41)), Some(3), "the same call");
        assert_eq!(starts.by(&worlds, 0, both(0, 8), 2, (30, 50)), None);
    }

    #[test]
    fn of_two_worlds_that_begin_at_once_nobody_knows_whose_they_are() {
        let mut starts = Starts::default();
        let mut two = worlds(&[(None, 0), (Some(1), 15), (Some(1), 16)]);
        assert_eq!(starts.by(&two, 0, alone(), 2, (10, 20)), None);
        two.worlds[2].is_guess = true;
        assert_eq!(starts.by(&two, 0, alone(), 2, (10, 20)), None);
        assert_eq!(starts.by(&two, 0, alone(), 2, (16, 20)), None, "a guess");
        assert_eq!(starts.by(&two, 0, alone(), 2, (10, 15)), Some(1));
    }
}
