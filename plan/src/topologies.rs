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

impl Topologies {
    /// Those of a plan. A copy of a communicator has its topology.
    pub fn of(plan: &Plan) -> Topologies {
        let mut found = Topologies::default();
        for program in &plan.programs {
            let Some(rank) = program.thread.rank else { continue };
            for step in program.steps.iter() {
                let Op::Mpi { call, .. } = step.op else { continue };
                let made = match call {
                    Mpi::MakeTopology { new, sources, destinations, .. } => {
                        Some((new, (sources, destinations)))
                    }
                    Mpi::MakeComm { how: Creation::Dup | Creation::DupWithInfo, comm, new } => {
                        found.known.get(&(rank, comm)).map(|&lists| (new, lists))
                    }
                    _ => None,
                };
                let Some((new, lists)) = made else { continue };
                if *found.known.entry((rank, new)).or_insert(lists) != lists {
                    found.differs = Some(new);
                }
            }
        }
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
