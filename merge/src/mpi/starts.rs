//! Worlds that are started at run time, by `MPI_Comm_spawn`. Which world a call has started is not on record. Its processes begin before that
//! call returns, and come to the end of `MPI_Init` when it has been made by all (MPI-4.1, 11.8.2): a started world that had begun by then is
//! the call's if there is one that no other call has started.

use super::communicators::{CommId, Meaning};
use super::matcher::{How, Made, Matcher};
use super::world::Worlds;
use crate::follow::pass::Seen;
use foldhash::{HashMap, HashSet};
use syn_trace::calls::NOBODY;

/// Ranks that start a world together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Starters {
    /// Their collective operation; none of a process that does so by itself.
    call: Option<(CommId, u64)>,
    /// This process's rank among them, and how many they are.
    rank: u32,
    count: u32,
}

/// The worlds whose call is known.
#[derive(Debug, Default)]
pub(super) struct Starts {
    by_call: HashMap<(CommId, u64), Option<u32>>,
    taken: HashSet<u32>,
}

impl Starts {
    /// The world of so many ranks that a call has started, which was made and returned then.
    fn by(
        &mut self,
        worlds: &Worlds,
        starters: Starters,
        size: usize,
        (enter_ns, returned_ns): (u64, u64),
    ) -> Option<u32> {
        if let Some(&known) = starters.call.and_then(|call| self.by_call.get(&call)) {
            return known;
        }
        let mut begun = (0..).zip(&worlds.worlds).filter(|(world, one)| {
            let fits = one.is_started && !one.is_guess && one.members.len() == size;
            // Of several who start it one may come late.
            let after = starters.call.is_some() || one.began_ns >= enter_ns;
            fits && after && one.began_ns <= returned_ns && !self.taken.contains(world)
        });
        let world = match (begun.next(), begun.next()) {
            (Some((world, _)), None) => Some(world),
            _ => None,
        };
        self.taken.extend(world);
        if let Some(call) = starters.call {
            self.by_call.insert(call, world);
        }
        world
    }
}

impl Matcher<'_> {
    /// A call that starts a world has returned.
    pub(super) fn start_world(&mut self, seen: &Seen<'_>, comm: i64) {
        let call = self.join_in(seen, seen.event.call, comm, NOBODY, (0, 0));
        let (rank, count) = match (&call, self.communicators.meaning(seen.process, comm)) {
            (Some(call), _) => (call.rank, self.communicators.get(call.comm).members.len() as u32),
            (None, Some(Meaning::Alone)) => (0, 1),
            _ => return self.count_unmatched(seen),
        };
        let starters = Starters { call: call.map(|call| (call.comm, call.nth)), rank, count };
        if let Some(call) = call {
            self.leave(call, seen.leave());
        }
        self.bridged.insert(seen.thread, Made::by(How::Start(starters), seen));
    }

    /// Two worlds are joined, of which the one has started the other: `remote` is how many ranks the other group has.
    pub(super) fn join_worlds(&mut self, seen: &Seen<'_>, handle: i64, made: Made, remote: i64) {
        let (process, worlds) = (seen.process, self.worlds);
        let Some((own, own_rank)) = worlds.known(process) else { return };
        let (world, starters, place) = match made.how {
            How::Start(starters) => {
                let times = (made.enter.ns, made.leave.ns);
                let found = self.starts.by(worlds, starters, remote as usize, times);
                (found, starters.count, (starters.rank, true))
            }
            _ => (Some(own), remote.clamp(0, u32::MAX.into()) as u32, (own_rank, false)),
        };
        match world {
            Some(world) => {
                self.communicators.join_started(worlds, (process, handle), (world, starters), place);
            }
            None => self.unmatched.count(made.call, made.leave.ns.saturating_sub(made.enter.ns)),
        }
    }
}
