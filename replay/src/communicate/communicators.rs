//! Making communicators.

#![allow(unsafe_code)]

use super::engine::Engine;
use mpi::ffi::{self, MPI_Comm, MPI_Group};
use std::ops::Range;
use std::os::raw::c_int;
use syn_plan::{CommId, Creation, Group, ListId, NONE};

/// Not a tag that an application is likely to use, and one that every MPI has.
const BRIDGE_TAG: c_int = 32766;

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
                (Creation::Merge, group) => {
                    // The group whose members come first in the new one is the low one.
                    let place = |rank| self.plan.group(old).and_then(|both| both.position(rank));
                    let first = group.and_then(|group| place(group.ranks().next()?)).unwrap_or(0);
                    let is_high = !self.sides(old)[0].contains(&first);
                    ffi::MPI_Intercomm_merge(parent, is_high.into(), &mut made);
                }
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
        // SAFETY: as the caller vouches.
        unsafe { self.keep_communicator(new, made) };
    }

    /// Makes an inter-communicator, of whose groups `local` is one. The first members of both know each other in
    /// `MPI_COMM_WORLD`.
    ///
    /// # Safety
    /// The plan has been checked.
    pub(super) unsafe fn make_bridge(&self, local: CommId, new: CommId) {
        let [_, others] = self.sides(new);
        let other = self.plan.group(new).and_then(|both| both.ranks().nth(others.start as usize));
        // SAFETY: as the caller vouches.
        unsafe {
            let (mut made, world) = (ffi::RSMPI_COMM_NULL, ffi::RSMPI_COMM_WORLD);
            let leader = other.unwrap_or(0) as c_int;
            ffi::MPI_Intercomm_create(self.comm(local), 0, world, leader, BRIDGE_TAG, &mut made);
            self.keep_communicator(new, made);
        }
    }

    /// Both sides of a communicator, as this rank sees them: see [`Group::sides`].
    fn sides(&self, comm: CommId) -> [Range<u64>; 2] {
        let group = self.plan.group(comm).unwrap_or(Group::Alone);
        group.sides(group.position(self.rank).unwrap_or(0))
    }

    /// Buffers and lists are made for the members and places that communicators have in the plan: a new one must have the same.
    unsafe fn keep_communicator(&self, new: CommId, made: MPI_Comm) {
        if new == NONE {
            return;
        }
        // SAFETY: as the caller vouches; the communicator has just been made.
        unsafe {
            if made != ffi::RSMPI_COMM_NULL {
                let (mut size, mut mine, mut others, mut is_between) = (0, 0, 0, 0);
                ffi::MPI_Comm_size(made, &mut size);
                ffi::MPI_Comm_rank(made, &mut mine);
                ffi::MPI_Comm_test_inter(made, &mut is_between);
                if is_between != 0 {
                    ffi::MPI_Comm_remote_size(made, &mut others);
                }
                let [own, peers] = self.sides(new).map(|side| side.end - side.start);
                let side = self.numbers.side(new);
                let planned = (own, side.place(), if side.is_between { peers } else { 0 });
                if planned != (size as u64, mine, others as u64) {
                    self.fail(&format!("communicator {new} has other members than in the plan"));
                }
            }
        }
        self.comms.set(new, made);
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
        // SAFETY: as the caller vouches.
        unsafe { self.keep_communicator(new, made) };
    }
}
