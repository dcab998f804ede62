//! Whether the calls of MPI in a plan can be made, and whether they match each other.
//!
//! That every number refers to something is checked whenever a plan is read. Whether what one rank waits for is done by another
//! is asked before the calls are made ([`Plan::check_communication`]): as many messages are sent on every channel as are
//! received there, and all members of a communicator take part in the same collective operations with the same sizes, or, between
//! two groups, with the same roots. What order MPI allows them in depends on the MPI, so that who makes the calls bounds how long
//! they may take.

use crate::fault::Fault;
use crate::group::Groups;
use crate::mpi::{Mpi, NONE};
use crate::possible::{Arguments, MAX_BYTES, MAX_REQUESTS};
use crate::topologies::Topologies;
use crate::traffic::Traffic;
use crate::windows::Windows;
use crate::{CommId, Counted, Op, Plan, Referent};

impl Arguments for Plan {
    fn size(&self, comm: CommId) -> u64 {
        self.group(comm).map_or(0, |group| group.len())
    }

    fn list(&self, list: u32) -> &[u64] {
        self.lists.get(list as usize).map_or(&[], |list| list)
    }
}

impl Plan {
    /// True when it has calls of MPI.
    pub fn communicates(&self) -> bool {
        !self.lists.is_empty() || !self.communicators.is_empty()
    }

    /// Checks that messages are received as often as they are sent, and that all members of a communicator take part in the
    /// same operations.
    ///
    /// # Errors
    /// [`Fault::Unmatched`].
    pub fn check_communication(&self) -> Result<(), Fault> {
        Windows::of(self).check(self).map_err(|what| Fault::Unmatched { what })?;
        let topologies = Topologies::of(self);
        topologies.check().map_err(|what| Fault::Unmatched { what })?;
        let mut traffic = Traffic::new(self, topologies);
        for program in &self.programs {
            let Some(rank) = program.thread.rank else { continue };
            for Counted { step, times, .. } in program.steps.counted() {
                if let Op::Mpi { call, .. } = step.op {
                    traffic.add(program.thread.process, rank, &call, times);
                }
            }
        }
        traffic.settle().map_err(|what| Fault::Unmatched { what })
    }
}

/// Checks what a call of `rank` refers to: it is there, and the rank has to do with it.
pub(crate) fn refer_to_what_is(
    groups: &Groups<'_>,
    rank: Option<u32>,
    call: &Mpi,
) -> Result<(), &'static str> {
    let plan = groups.plan;
    let rank = rank.ok_or("is made by a process without a rank")?;
    let mut wrong = None;
    call.refer(|what, number| {
        let is_there = match what {
            Referent::Communicator if number == NONE => true,
            Referent::Communicator => plan.group(number).is_some_and(|group| group.position(rank).is_some()),
            Referent::List => (number as usize) < plan.lists.len(),
            Referent::Request => number < MAX_REQUESTS,
            Referent::File => (number as usize) < plan.files.len(),
            Referent::Handle | Referent::Queue => true,
        };
        if !is_there {
            wrong = Some("refers to what is not there, or the rank has nothing to do with");
        }
    });
    wrong.map_or(Ok(()), Err)?;
    let (sent, received) = call.bytes();
    if sent.max(received) > MAX_BYTES {
        return Err("moves more bytes than MPI counts");
    }
    call.is_possible(plan).then_some(()).ok_or("names a rank, a request or a list of bytes that cannot be")
}
