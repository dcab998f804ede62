//! Which thread of one run plays the role of which thread of another: the same rank, or made by the same call of the same role.

use crate::follow::process_tree::ProcessTree;
use crate::graph::dependency::{Moment, Point};
use crate::mpi::Worlds;
use crate::rules::process_create::Creator;
use std::collections::{BTreeMap, VecDeque};
use syn_trace::Run;

/// What tells a thread from the others that the same thread made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    is_process: bool,
    exe: String,
    command: String,
}

/// Where a thread comes from.
#[derive(Clone, Debug)]
struct Role {
    /// World and rank, of the first thread of such a process.
    rank: Option<(u32, u32)>,
    /// The place where another thread made it.
    made_at: Option<Point>,
    label: Label,
}

/// The roles of a run's threads.
#[derive(Debug)]
pub struct Roles(Vec<Role>);

impl Roles {
    /// From who made which process (`creators`) and which thread (`thread_creators`).
    pub fn of(
        run: &Run,
        worlds: &Worlds,
        process_tree: &ProcessTree,
        creators: &[Option<Creator>],
        thread_creators: &[Option<Moment>],
    ) -> Roles {
        let role = |(index, thread): (usize, &syn_trace::run::Thread)| {
            let process = &run.processes[thread.process];
            let is_process = process_tree.threads[index].is_none();
            let (rank, made_at) = match is_process {
                true => (worlds.of_process[thread.process], creators[thread.process].map(|(_, at)| at)),
                false => (None, thread_creators[index]),
            };
            let (exe, command) = (process.exe.clone(), process.command.clone());
            Role { rank, made_at: made_at.map(|at| at.point()), label: Label { is_process, exe, command } }
        };
        Roles(run.threads.iter().enumerate().map(role).collect())
    }

    /// By thread of this run: its counterpart in `other`.
    pub fn pair(&self, other: &Roles) -> Vec<Option<u32>> {
        let mut found = vec![None; self.0.len()];
        let (mine, theirs) = (self.made_by(), other.made_by());
        let ranks: BTreeMap<(u32, u32), u32> =
            (0u32..).zip(&other.0).filter_map(|(thread, role)| Some((role.rank?, thread))).collect();
        let mut pairs: Vec<(u32, u32)> = (0u32..)
            .zip(&self.0)
            .filter_map(|(thread, role)| Some((thread, *ranks.get(&role.rank?)?)))
            .collect();
        pairs.extend(self.pair_siblings(&mine, None, other, &theirs, None));
        while let Some((thread, counterpart)) = pairs.pop() {
            found[thread as usize] = Some(counterpart);
            pairs.extend(self.pair_siblings(&mine, Some(thread), other, &theirs, Some(counterpart)));
        }
        found
    }

    /// The threads without a rank that every thread made, in its order; and those that nobody made, in the order of their
    /// starts.
    fn made_by(&self) -> BTreeMap<Option<u32>, Vec<u32>> {
        let mut made: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
        for (thread, role) in (0u32..).zip(&self.0).filter(|(_, role)| role.rank.is_none()) {
            made.entry(role.made_at.map(|at| at.thread)).or_default().push(thread);
        }
        made.values_mut().for_each(|list| list.sort_by_key(|&thread| self.0[thread as usize].made_at));
        made
    }

    /// The first with one command is the first with it in the other run, and so on; then the first of what is left of a program.
    fn pair_siblings(
        &self,
        mine: &BTreeMap<Option<u32>, Vec<u32>>,
        maker: Option<u32>,
        other: &Roles,
        theirs: &BTreeMap<Option<u32>, Vec<u32>>,
        other_maker: Option<u32>,
    ) -> Vec<(u32, u32)> {
        let list =
            |made: &BTreeMap<Option<u32>, Vec<u32>>, maker| made.get(&maker).cloned().unwrap_or_default();
        let (mut mine, mut theirs) = (list(mine, maker), list(theirs, other_maker));
        let mut pairs = Vec::new();
        for by_command in [true, false] {
            let key = |role: &Role| {
                let Label { is_process, exe, command } = role.label.clone();
                (is_process, exe, by_command.then_some(command))
            };
            let mut free: BTreeMap<_, VecDeque<u32>> = BTreeMap::new();
            for &thread in &theirs {
                free.entry(key(&other.0[thread as usize])).or_default().push_back(thread);
            }
            mine.retain(|&thread| {
                let next = free.get_mut(&key(&self.0[thread as usize])).and_then(VecDeque::pop_front);
                pairs.extend(next.map(|next| (thread, next)));
                next.is_none()
            });
            theirs = free.into_values().flatten().collect();
            theirs.sort_by_key(|&thread| other.0[thread as usize].made_at);
            if mine.is_empty() || theirs.is_empty() {
                break;
            }
        }
        pairs
    }
}
