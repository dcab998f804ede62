//! Which communicator of one process is the same as which of another.
//!
//! A handle is a number in one process and may be used again after `MPI_Comm_free`. What all members agree on is:
//! made from which communicator, with which members, as the how-manieth such one. Every member of a group takes
//! part in all creations of that group, in one order (MPI-4.0, 7.4.2), so that their counts agree.

use super::members::{count, expand, position};
use super::world::Worlds;
use foldhash::HashMap;
use syn_trace::calls::effect::Members;
use syn_trace::calls::{COMM_NULL, COMM_SELF, COMM_WORLD, UNDEFINED};

/// Names a communicator of the run; the first ones are the worlds.
pub type CommId = u32;

/// The parents of communicators that have none which all members know.
const FROM_SELF: CommId = u32::MAX;
const FROM_MERGE: CommId = u32::MAX - 1;

/// Names a list of members.
type ListId = u32;
/// The list of all members of the parent.
const ALL: ListId = ListId::MAX;

/// The handle under which a window is followed: no communicator has it.
pub fn window(handle: i64) -> i64 {
    handle ^ 1 << 62
}

/// A communicator as one of its members sees it.
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    /// Which one.
    pub comm: CommId,
    /// This process's rank in it.
    pub rank: u32,
    /// How many collective calls this process has made on it.
    pub collectives: u64,
}

/// What a handle stands for.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    /// A communicator among the ranks of one world.
    Within(Joined),
    /// `MPI_COMM_SELF` or a copy of it: nobody to wait for.
    Alone,
    /// An inter-communicator; nothing where its remote group is not known. Nothing stands for a communicator of several worlds, too, of
    /// which it is not known who is in it.
    Between(Option<Joined>),
}

/// How a new communicator came about.
#[derive(Clone, Copy, Debug)]
pub struct Creation<'a> {
    /// Who takes part.
    pub part: Members,
    /// The communicator it was made from.
    pub parent: i64,
    /// The handle of the new one.
    pub handle: i64,
    /// Its members as (first world rank, stride, count), in rank order.
    pub members: &'a [i64],
}

impl Creation<'_> {
    /// The communicator all of whose members take part: of the old one before there is a new one, or of the new one.
    pub fn all_of(&self) -> Option<i64> {
        match self.part {
            Members::Within | Members::Between => Some(self.parent),
            _ => Some(self.handle).filter(|&handle| handle != COMM_NULL),
        }
    }

    /// Whether these are the members of the old one.
    pub fn is_over_old(&self) -> bool {
        matches!(self.part, Members::Within | Members::Between)
    }
}

/// One of the collective operations of a communicator.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    /// The communicator, and which one on it.
    pub id: (CommId, u64),
    /// The rank of the process in the communicator.
    pub rank: u32,
}

/// One communicator of the run.
#[derive(Clone, Debug)]
pub struct Communicator {
    /// World rank of every member; of an inter-communicator one group behind the other. Of one that spans worlds, each in its own.
    pub members: Vec<u32>,
    /// How many belong to the first of two groups; 0 where there is one.
    pub first_group: u32,
    /// How many of them are in the recording.
    pub present: u32,
    /// Its members are of several worlds, of which some started others.
    pub spans_worlds: bool,
}

/// All communicators of a run, and what every process calls them.
#[derive(Debug)]
pub struct Communicators {
    known: Known,
    created: HashMap<(u32, CommId, ListId), u32>,
    /// The rank of a process in a communicator that was made, whatever handle it has for it now.
    ranks: HashMap<(u32, CommId), u32>,
    handles: Vec<HashMap<i64, Meaning>>,
    bridges: Bridges,
}

/// The communicators that were met, by what all members agree on. Who follows the calls a second time takes it from the first: clocks
/// may be aligned by then, and whoever comes first another one.
#[derive(Clone, Debug, Default)]
pub struct Known {
    list: Vec<Communicator>,
    /// Lists of members by world.
    member_lists: HashMap<(u32, Vec<u32>), ListId>,
    /// The same by their runs: every member tells all of them.
    by_runs: HashMap<(u32, Vec<i64>), ListId>,
    by_identity: HashMap<(CommId, ListId, u32), CommId>,
    /// Inter-communicators: by world and groups, and the how-manieth between them.
    between: HashMap<(u32, Groups, u32), CommId>,
    /// Those with a world that was started at run time.
    with_started: HashMap<u32, CommId>,
}

/// What processes have made of inter-communicators.
#[derive(Debug, Default)]
struct Bridges {
    /// By process and handle: the local group, until the remote one is known.
    local: HashMap<(u32, i64), Vec<i64>>,
    /// By process and both groups.
    created: HashMap<(u32, Groups), u32>,
}

/// The members of both, as ranks of the world, the lower first.
type Groups = [Vec<u32>; 2];

impl Communicator {
    /// Whom a rank means by another one, which in an inter-communicator is a rank of the other group. -1 is nobody.
    pub fn peer(&self, rank: u32, other: i64) -> i64 {
        let (first, all) = (i64::from(self.first_group), self.members.len() as i64);
        match i64::from(rank) < first {
            _ if first == 0 => other,
            true if (0..all - first).contains(&other) => first + other,
            false if (0..first).contains(&other) => other,
            _ => -1,
        }
    }
}

impl Communicators {
    /// The worlds, and nothing else yet.
    pub fn new(worlds: &Worlds) -> Communicators {
        let list = worlds
            .worlds
            .iter()
            .map(|world| Communicator {
                members: (0..world.members.len() as u32).collect(),
                first_group: 0,
                present: world.members.iter().flatten().count() as u32,
                spans_worlds: false,
            })
            .collect();
        Communicators::again(worlds, Known { list, ..Known::default() })
    }

    /// The calls are followed once more.
    pub fn again(worlds: &Worlds, known: Known) -> Communicators {
        let handles = (0..worlds.of_process.len()).map(|process| {
            let world = worlds
                .known(process as u32)
                .map(|(comm, rank)| Meaning::Within(Joined { comm, rank, collectives: 0 }));
            let world = world.map(|world| (COMM_WORLD, world));
            world.into_iter().chain([(COMM_SELF, Meaning::Alone)]).collect()
        });
        let handles = handles.collect();
        Communicators {
            known,
            created: HashMap::default(),
            ranks: HashMap::default(),
            handles,
            bridges: Bridges::default(),
        }
    }

    /// The communicators themselves.
    pub fn into_known(self) -> Known {
        self.known
    }

    /// What `handle` stands for in `process`.
    #[inline]
    pub fn meaning(&mut self, process: u32, handle: i64) -> Option<&mut Meaning> {
        self.handles[process as usize].get_mut(&handle)
    }

    /// The rank of `process` in a communicator that it has made.
    pub fn rank_in(&self, process: u32, comm: CommId) -> Option<u32> {
        self.ranks.get(&(process, comm)).copied()
    }

    /// The communicator.
    pub fn get(&self, comm: CommId) -> &Communicator {
        &self.known.list[comm as usize]
    }

    /// A process takes part in the next collective operation on a communicator.
    pub fn take_part(&mut self, process: u32, handle: i64) -> Option<Instance> {
        let (Meaning::Within(joined) | Meaning::Between(Some(joined))) = self.meaning(process, handle)?
        else {
            return None;
        };
        joined.collectives += 1;
        Some(Instance { id: (joined.comm, joined.collectives - 1), rank: joined.rank })
    }

    /// A process makes a communicator, which is a collective operation: that, and false when the members cannot be.
    pub fn make(
        &mut self,
        worlds: &Worlds,
        process: u32,
        creation: &Creation<'_>,
    ) -> (Option<Instance>, bool) {
        let over_old = creation.is_over_old();
        let before = if over_old { self.take_part(process, creation.parent) } else { None };
        let known = self.create(worlds, process, creation);
        let behind = creation.all_of().filter(|_| known && !over_old);
        (before.or_else(|| self.take_part(process, behind?)), known)
    }

    /// Enters a new communicator into the books of `process`. False when its members cannot be.
    pub(super) fn create(&mut self, worlds: &Worlds, process: u32, creation: &Creation<'_>) -> bool {
        if creation.handle == COMM_NULL {
            return true;
        }
        let meaning = match self.handles[process as usize].get(&creation.parent) {
            parent
                if creation.part == Members::Between
                    || matches!(parent, Some(Meaning::Between(_))) && creation.part != Members::Merged =>
            {
                self.bridges.local.insert((process, creation.handle), creation.members.to_vec());
                Some(Meaning::Between(None))
            }
            parent => {
                let parent = match *parent.unwrap_or(&Meaning::Alone) {
                    Meaning::Within(joined) => joined.comm,
                    Meaning::Between(Some(joined)) if self.get(joined.comm).spans_worlds => joined.comm,
                    Meaning::Between(_) => FROM_MERGE,
                    Meaning::Alone => FROM_SELF,
                };
                let spanning = self.known.list.get(parent as usize).filter(|parent| parent.spans_worlds);
                let all = spanning.map(|parent| parent.members.len() as i64);
                if all == Some(count(creation.members)) {
                    self.identify_all(worlds, process, parent, creation.members)
                } else {
                    // Who of another world is in a part of them is not on record.
                    let spans = all.is_some() || creation.members.contains(&UNDEFINED);
                    let within = self.identify(worlds, process, parent, creation.members);
                    within.or(spans.then_some(Meaning::Between(None)))
                }
            }
        };
        match meaning {
            Some(meaning) => self.handles[process as usize].insert(creation.handle, meaning),
            None => self.handles[process as usize].remove(&creation.handle),
        };
        meaning.is_some()
    }

    fn identify(&mut self, worlds: &Worlds, process: u32, parent: CommId, runs: &[i64]) -> Option<Meaning> {
        let (world, world_rank) = worlds.known(process)?;
        let world_members = &worlds.worlds[world as usize].members;
        let members = || expand(runs, world_members.len());
        let key = (world, runs.to_vec());
        let list = match self.known.by_runs.get(&key) {
            Some(&list) => list,
            None => {
                let lists = self.known.member_lists.len() as ListId;
                let list = *self.known.member_lists.entry((world, members()?)).or_insert(lists);
                self.known.by_runs.insert(key, list);
                list
            }
        };
        let rank = position(runs, world_rank)?;
        let nth = self.created.entry((process, parent, list)).or_insert(0);
        *nth += 1;
        let Known { list: all, by_identity, .. } = &mut self.known;
        let comm = *by_identity.entry((parent, list, *nth)).or_insert_with(|| {
            let members = members().unwrap_or_default();
            let present = members.iter().filter(|&&member| world_members[member as usize].is_some()).count();
            all.push(Communicator { members, first_group: 0, present: present as u32, spans_worlds: false });
            all.len() as CommId - 1
        });
        self.ranks.insert((process, comm), rank);
        Some(Meaning::Within(Joined { comm, rank, collectives: 0 }))
    }

    /// One of all members of another one, which spans worlds. Each knows its own place among them.
    fn identify_all(
        &mut self,
        worlds: &Worlds,
        process: u32,
        parent: CommId,
        runs: &[i64],
    ) -> Option<Meaning> {
        let rank = position(runs, worlds.known(process)?.1)?;
        let nth = self.created.entry((process, parent, ALL)).or_insert(0);
        *nth += 1;
        let Known { list, by_identity, .. } = &mut self.known;
        let comm = *by_identity.entry((parent, ALL, *nth)).or_insert_with(|| {
            list.push(Communicator { first_group: 0, ..list[parent as usize].clone() });
            list.len() as CommId - 1
        });
        self.ranks.insert((process, comm), rank);
        Some(Meaning::Within(Joined { comm, rank, collectives: 0 }))
    }

    /// `process` has an inter-communicator with a world that was `started` at run time, or, being of that world, with those who started it.
    /// `rank` is its own in its group; one of those who started it knows how many of these are in the recording.
    pub fn join_started(
        &mut self,
        worlds: &Worlds,
        (process, handle): (u32, i64),
        started: u32,
        rank: u32,
        present_starters: Option<u32>,
    ) {
        let world = &worlds.worlds[started as usize];
        let Some(starters) = world.started_by else { return };
        let present = world.members.iter().flatten().count() as u32;
        let Known { list, with_started, .. } = &mut self.known;
        let comm = *with_started.entry(started).or_insert_with(|| {
            let members = (0..starters).chain(0..world.members.len() as u32).collect();
            let present = starters + present;
            list.push(Communicator { members, first_group: starters, present, spans_worlds: true });
            list.len() as CommId - 1
        });
        let (before, group) = match present_starters {
            Some(present_starters) => {
                list[comm as usize].present = present_starters + present;
                (0, starters)
            }
            None => (starters, world.members.len() as u32),
        };
        // A damaged trace may say anything.
        let joined = (rank < group).then(|| Joined { comm, rank: before + rank, collectives: 0 });
        if let Some(joined) = joined {
            self.ranks.insert((process, comm), joined.rank);
        }
        self.handles[process as usize].insert(handle, Meaning::Between(joined));
    }

    /// Nobody knows who is in the inter-communicator behind `handle`.
    pub fn forget_members(&mut self, process: u32, handle: i64) {
        self.handles[process as usize].insert(handle, Meaning::Between(None));
    }

    /// The remote group of an inter-communicator that `process` has just made. What does not fit into one record is not known.
    pub fn bridge(&mut self, worlds: &Worlds, process: u32, handle: i64, remote: &[i64]) {
        let Some((world, world_rank)) = worlds.known(process) else { return };
        let world_members = &worlds.worlds[world as usize].members;
        let local = self.bridges.local.remove(&(process, handle));
        let members = |runs: &[i64]| expand(runs, world_members.len());
        let groups = local.and_then(|local| Some([members(&local)?, members(remote)?]));
        let joined = groups.and_then(|mut groups| {
            groups.sort_unstable();
            let all = groups.concat();
            // A damaged trace may say anything.
            let mut each = all.clone();
            each.sort_unstable();
            if each.windows(2).any(|pair| pair[0] == pair[1]) {
                return None;
            }
            let rank = all.iter().position(|&member| member == world_rank)? as u32;
            let nth = self.bridges.created.entry((process, groups.clone())).or_insert(0);
            *nth += 1;
            let first_group = groups[0].len() as u32;
            let Known { list, between, .. } = &mut self.known;
            let comm = *between.entry((world, groups, *nth)).or_insert_with(|| {
                let present = all.iter().filter(|&&member| world_members[member as usize].is_some()).count();
                list.push(Communicator {
                    members: all,
                    first_group,
                    present: present as u32,
                    spans_worlds: false,
                });
                list.len() as CommId - 1
            });
            self.ranks.insert((process, comm), rank);
            Some(Joined { comm, rank, collectives: 0 })
        });
        if let Some(meaning @ Meaning::Between(_)) = self.meaning(process, handle) {
            *meaning = Meaning::Between(joined);
        }
    }

    /// `handle` is free to be used again.
    pub fn free(&mut self, process: u32, handle: i64) {
        if handle != COMM_WORLD && handle != COMM_SELF {
            self.handles[process as usize].remove(&handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::world::World;
    use super::*;

    /// Of four ranks each of two pairs makes a communicator of its own, and then one with the other pair.
    fn make(communicators: &mut Communicators, worlds: &Worlds, process: u32) -> [CommId; 2] {
        let members = [[0, 1, 2], [2, 1, 2]];
        let (own, other) = match process {
            0 | 1 => (members[0], members[1]),
            _ => (members[1], members[0]),
        };
        let pair = Creation { part: Members::Within, parent: COMM_WORLD, handle: 7, members: &own };
        assert!(communicators.make(worlds, process, &pair).1);
        let both = Creation { part: Members::Between, parent: 7, handle: 8, members: &own };
        assert!(communicators.make(worlds, process, &both).1);
        communicators.bridge(worlds, process, 8, &other);
        [7, 8].map(|handle| match communicators.meaning(process, handle) {
            Some(Meaning::Within(joined) | Meaning::Between(Some(joined))) => joined.comm,
            meaning => panic!("{meaning:?}"),
        })
    }

    #[test]
    fn a_second_time_numbers_are_the_same_whoever_comes_first() {
        let members = (0..4).map(Some).collect();
        let of_process = (0..4).map(|rank| Some((0, rank))).collect();
        let world = World { members, is_guess: false, started_by: None, began_ns: 0 };
        let worlds = Worlds { worlds: vec![world], of_process, impossible: Vec::new() };
        let mut first = Communicators::new(&worlds);
        let found = [0, 1, 2, 3].map(|process| make(&mut first, &worlds, process));
        assert_eq!(found, [[1, 2], [1, 2], [3, 2], [3, 2]]);
        let mut again = Communicators::again(&worlds, first.into_known());
        let mut backwards = [3, 2, 1, 0].map(|process| make(&mut again, &worlds, process));
        backwards.reverse();
        assert_eq!(backwards, found);
    }

    /// One process starts a world of two, and is merged with it; then the three copy that, and part.
    #[test]
    fn worlds_of_which_one_started_the_other_are_merged() {
        let world = |members: &[u32], started_by| World {
            members: members.iter().copied().map(Some).collect(),
            is_guess: false,
            started_by,
            began_ns: 0,
        };
        let of_process = vec![Some((0, 0)), Some((1, 0)), Some((1, 1))];
        let worlds = vec![world(&[0], None), world(&[1, 2], Some(1))];
        let worlds = Worlds { worlds, of_process, impossible: Vec::new() };
        let mut all = Communicators::new(&worlds);
        // Of the other world each sees a -4: the one that has started it comes behind it here.
        let (starter, started): (&[i64], &[i64]) = (&[-4, 0, 2, 0, 0, 1], &[0, 1, 2, -4, 0, 1]);
        for (process, rank, starters, members) in
            [(0, 0, Some(1), starter), (1, 0, None, started), (2, 1, None, started)]
        {
            all.join_started(&worlds, (process, 5), 1, rank, starters);
            let merged = Creation { part: Members::Merged, parent: 5, handle: 6, members };
            assert!(all.make(&worlds, process, &merged).1);
            let copy = Creation { part: Members::Within, parent: 6, handle: 7, members };
            assert!(all.make(&worlds, process, &copy).1);
            let part = Creation { part: Members::Within, parent: 7, handle: 8, members: &members[..3] };
            assert!(all.make(&worlds, process, &part).1);
        }
        let ranks = [0, 1, 2].map(|process| {
            [5, 6, 7].map(|handle| match all.meaning(process, handle) {
                Some(Meaning::Within(joined) | Meaning::Between(Some(joined))) => (joined.comm, joined.rank),
                meaning => panic!("{meaning:?}"),
            })
        });
        assert_eq!(ranks, [[(2, 0), (3, 2), (4, 2)], [(2, 1), (3, 0), (4, 0)], [(2, 2), (3, 1), (4, 1)]]);
        assert_eq!((all.get(2).first_group, all.get(2).peer(0, 1), all.get(3).present), (1, 2, 3));
        assert!(matches!(all.meaning(0, 8), Some(Meaning::Between(None))), "who else is in it is not known");
        assert!(matches!(all.meaning(1, 8), Some(Meaning::Within(_))), "of one world");
        all.join_started(&worlds, (0, 9), 1, 7, Some(1));
        assert!(matches!(all.meaning(0, 9), Some(Meaning::Between(None))), "there is no such rank");
    }
}
