//! Whether accesses to windows stay within them: who makes the calls trusts a plan with the memory of other ranks.

use crate::mpi::{Mpi, NOBODY};
use crate::{CommId, Group, Op, Plan};
use std::collections::HashMap;

/// The windows of a plan, and who has how much memory in each.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    comms: HashMap<u32, CommId>,
    /// One that is made on two communicators: who is meant by a rank's number would depend on when.
    ambiguous: Option<u32>,
    /// By window and rank in `MPI_COMM_WORLD`: the bytes, and those of a unit.
    memory: HashMap<(u32, u32), (u64, u64)>,
}

fn calls(plan: &Plan) -> impl Iterator<Item = (u32, Mpi)> + '_ {
    plan.programs.iter().flat_map(|program| {
        program.steps.counted().filter_map(|counted| match counted.step.op {
            Op::Mpi { call, .. } => Some((program.thread.rank?, call)),
            _ => None,
        })
    })
}

impl Windows {
    /// Those of a plan.
    pub(crate) fn of(plan: &Plan) -> Windows {
        let mut windows = Windows::default();
        for (rank, call) in calls(plan) {
            if let Mpi::WinMake { comm, window, bytes, unit, .. } = call {
                if windows.comms.insert(window, comm).is_some_and(|other| other != comm) {
                    windows.ambiguous = Some(window);
                }
                // Made again, it has what both have.
                let memory = windows.memory.entry((window, rank)).or_insert((bytes, unit.into()));
                *memory = (memory.0.min(bytes), memory.1.max(unit.into()));
            }
        }
        windows
    }

    /// Says what goes beyond the memory of its target.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), String> {
        if let Some(window) = self.ambiguous {
            return Err(format!("window {window} is made on two communicators"));
        }
        for (rank, call) in calls(plan) {
            let (Mpi::Rma { window, peer, at, bytes, .. } | Mpi::RmaRequest { window, peer, at, bytes, .. }) =
                call
            else {
                if let Mpi::WinLock { window, peer, .. } = call
                    && peer != NOBODY
                    && self.target(plan, rank, window, peer).is_none()
                {
                    return Err(format!("rank {rank} locks what is no window of its: {call}"));
                }
                continue;
            };
            let fits = || {
                let target = self.target(plan, rank, window, peer)?;
                let &(size, unit) = self.memory.get(&(window, target))?;
                (at.checked_mul(unit)?.checked_add(bytes)? <= size).then_some(())
            };
            if peer != NOBODY && fits().is_none() {
                return Err(format!("rank {rank} reaches beyond a window: {call}"));
            }
        }
        Ok(())
    }

    /// The rank in `MPI_COMM_WORLD` of a member of a window that `rank` has, too.
    fn target(&self, plan: &Plan, rank: u32, window: u32, peer: i32) -> Option<u32> {
        self.memory.get(&(window, rank))?;
        let group = plan.group(*self.comms.get(&window)?)?;
        if group == Group::Alone {
            return (peer == 0).then_some(rank);
        }
        group.ranks().nth(usize::try_from(peer).ok()?)
    }
}
