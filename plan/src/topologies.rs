//! Communicators with a topology: whom collective operations among neighbours are with.

use crate::mpi::{Creation, Mpi};
use crate::{CommId, ListId, Op, Plan};
use std::collections::HashMap;

/// Of a communicator and a rank of the world: the lists of those from which it receives, and to which it sends.
#[derive(Debug, Default)]
pub struct Topologies {
    known: HashMap<(u32, CommId), (ListId, ListId)>,
    /// Made twice, with other neighbours.
    differs: Option<CommId>,
}

/// How a rank came by a communicator.
#[derive(Debug, PartialEq, Eq)]
enum Made {
    /// With neighbours of its own.
    Of(ListId, ListId),
    /// As a copy.
    As(CommId),
    /// In a way that gives no neighbours.
    Without,
}

impl Topologies {
    /// Those of a plan, in whichever order its programs stand. A copy of a communicator has its topology.
    pub fn of(plan: &Plan) -> Topologies {
        let mut made: HashMap<(u32, CommId), Vec<Made>> = HashMap::new();
        for program in &plan.programs {
            let Some(rank) = program.thread.rank else { continue };
            for step in program.steps.iter() {
                let (new, how) = match step.op {
                    Op::Mpi { call: Mpi::MakeTopology { new, sources, destinations, .. }, .. } => {
                        (new, Made::Of(sources, destinations))
                    }
                    Op::Mpi { call: Mpi::MakeComm { how, comm, new }, .. } => match how {
                        Creation::Dup | Creation::DupWithInfo => (new, Made::As(comm)),
                        _ => (new, Made::Without),
                    },
                    _ => continue,
                };
                let all = made.entry((rank, new)).or_default();
                if !all.contains(&how) {
                    all.push(how);
                }
            }
        }
        let mut found = Topologies::default();
        let mut copies: HashMap<(u32, CommId), Vec<CommId>> = HashMap::new();
        let mut next = Vec::new();
        for (&(rank, new), all) in &made {
            for how in all {
                match *how {
                    Made::Of(sources, destinations) => next.push(((rank, new), (sources, destinations))),
                    Made::As(comm) => copies.entry((rank, comm)).or_default().push(new),
                    Made::Without => {}
                }
            }
        }
        while let Some((at, lists)) = next.pop() {
            if found.known.insert(at, lists).is_some() {
                continue;
            }
            let copies = copies.get(&at).into_iter().flatten();
            next.extend(copies.map(|&copy| ((at.0, copy), lists)));
        }
        // Whoever made it, it is the same.
        let lists_of = |rank: u32, how: &Made| match *how {
            Made::Of(sources, destinations) => Some((sources, destinations)),
            Made::As(comm) => found.known.get(&(rank, comm)).copied(),
            Made::Without => None,
        };
        let differ = |(&(rank, new), all): (&(u32, CommId), &Vec<Made>)| {
            let lists = found.known.get(&(rank, new)).copied();
            all.iter().any(|how| lists_of(rank, how) != lists).then_some(new)
        };
        found.differs = made.iter().filter_map(differ).min();
        found
    }

    /// The ranks in the communicator from which `rank` of the world receives, and to which it sends.
    pub fn neighbours<'a>(&self, plan: &'a Plan, rank: u32, comm: CommId) -> Option<(&'a [u64], &'a [u64])> {
        let &(sources, destinations) = self.known.get(&(rank, comm))?;
        Some((&plan.lists[sources as usize], &plan.lists[destinations as usize]))
    }

    /// Says what cannot be.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.differs {
            Some(comm) => Err(format!("communicator {comm} is made twice, with other neighbours")),
            None => Ok(()),
        }
    }
}
