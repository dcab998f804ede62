//! Making communicators.

#![allow(unsafe_code)]

use super::engine::Engine;
use mpi::ffi::{self, MPI_Comm, MPI_Group};
use std::os::raw::c_int;
use syn_plan::{CommId, Creation, Group, ListId, NONE};

impl Engine<'_> {
    /// Makes a communicator with the members that it had.
    ///
    /// # Safety
    /// The plan has been checked.
    pub(super) unsafe fn make_communicator(&self, how: Creation, old: CommId, new: CommId) {
        let parent = self.comm(old);
        let group = self.plan.group(new).filter(|_| new != NONE);
        // SAFETY: as the caller vouches; the groups are freed when they have been used.
        let made = unsafe {
            let mut made = ffi::RSMPI_COMM_NULL;
            match (how, group) {
                (Creation::Dup, _) => {
                    ffi::MPI_Comm_dup(parent, &mut made);
                }
                (Creation::DupWithInfo, _) => {
                    ffi::MPI_Comm_dup_with_info(parent, ffi::RSMPI_INFO_NULL, &mut made);
                }
                (Creation::Split, group) => made = self.split(parent, group),
                (Creation::Create | Creation::CreateGroup, group) => {
                    let mut members = self.group_of(parent, old, group);
                    if how == Creation::Create {
                        ffi::MPI_Comm_create(parent, members, &mut made);
                    } else {
                        ffi::MPI_Comm_create_group(parent, members, 0, &mut made);
                    }
                    if members != ffi::RSMPI_GROUP_EMPTY {
                        ffi::MPI_Group_free(&mut members);
                    }
                }
            }
            made
        };
        if new != NONE {
            self.comms.set(new, made);
        }
    }

    unsafe fn group_of(&self, parent: MPI_Comm, old: CommId, members: Option<Group<'_>>) -> MPI_Group {
        let among = self.plan.group(old);
        let place = |rank| among.and_then(|among| among.position(rank)).unwrap_or(0) as c_int;
        let ranks: Vec<c_int> =
            members.map(|members| members.ranks().map(place).collect()).unwrap_or_default();
        // SAFETY: as the caller vouches.
        unsafe {
            let mut group = ffi::RSMPI_GROUP_EMPTY;
            if ranks.is_empty() {
                return group;
            }
            let mut all = ffi::RSMPI_GROUP_EMPTY;
            ffi::MPI_Comm_group(parent, &mut all);
            ffi::MPI_Group_incl(all, ranks.len() as c_int, ranks.as_ptr(), &mut group);
            ffi::MPI_Group_free(&mut all);
            group
        }
    }

    /// Groups that are made at once have no member in common.
    unsafe fn split(&self, parent: MPI_Comm, group: Option<Group<'_>>) -> MPI_Comm {
        // SAFETY: as the caller vouches.
        unsafe {
            let (color, key) = match group {
                Some(group) => (
                    group.ranks().next().unwrap_or(0) as c_int,
                    group.position(self.rank).unwrap_or(0) as c_int,
                ),
                None => (ffi::RSMPI_UNDEFINED, 0),
            };
            let mut made = ffi::RSMPI_COMM_NULL;
            ffi::MPI_Comm_split(parent, color, key, &mut made);
            made
        }
    }

    /// Makes a communicator with a topology. All edges weigh the same.
    ///
    /// # Safety
    /// The plan has been checked.
    pub(super) unsafe fn make_topology(&self, old: CommId, new: CommId, lists: [ListId; 2]) {
        let numbers = |list: ListId| -> Vec<c_int> {
            self.plan.lists[list as usize].iter().map(|&rank| rank as c_int).collect()
        };
        let [sources, destinations] = lists.map(numbers);
        let weights = vec![1; sources.len().max(destinations.len())];
        // SAFETY: as the caller vouches; MPI copies the lists.
        let made = unsafe {
            let mut members = self.split(self.comm(old), self.plan.group(new));
            let mut made = ffi::RSMPI_COMM_NULL;
            ffi::MPI_Dist_graph_create_adjacent(
                members,
                sources.len() as c_int,
                sources.as_ptr(),
                weights.as_ptr(),
                destinations.len() as c_int,
                destinations.as_ptr(),
                weights.as_ptr(),
                ffi::RSMPI_INFO_NULL,
                0,
                &mut made,
            );
            ffi::MPI_Comm_free(&mut members);
            made
        };
        self.comms.set(new, made);
    }
}
