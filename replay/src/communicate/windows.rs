//! Calls on windows. What is accumulated are sums of double-precision numbers where the sizes allow it, and of whole numbers
//! by atomic calls.

#![allow(unsafe_code)]

use super::buffers::Buffer;
use super::engine::{Engine, until};
use mpi::ffi::{self, MPI_Aint, MPI_Datatype, MPI_Group, MPI_Op, MPI_Win};
use std::os::raw::{c_int, c_void};
use syn_plan::{Access, Epoch, Lock, Mpi, NOBODY, Window};

impl Engine<'_> {
    /// Makes a call on a window.
    ///
    /// # Safety
    /// The plan has been checked: no access goes beyond a window.
    pub(super) unsafe fn on_window(&self, call: &Mpi) {
        // SAFETY: as the caller vouches, here and below.
        unsafe {
            match *call {
                Mpi::WinMake { how, comm, window, bytes, unit } => {
                    let (comm, unit, size) = (self.comm(comm), unit as c_int, bytes as MPI_Aint);
                    let (none, mut made) = (ffi::RSMPI_INFO_NULL, ffi::RSMPI_WIN_NULL);
                    let mut base: *mut c_void = std::ptr::null_mut();
                    let place = (&raw mut base).cast();
                    let mut own = None;
                    match how {
                        Window::Create => {
                            let memory = own.insert(Buffer::new(bytes));
                            ffi::MPI_Win_create(memory.at(), size, unit, none, comm, &mut made)
                        }
                        Window::Allocate => ffi::MPI_Win_allocate(size, unit, none, comm, place, &mut made),
                        Window::AllocateShared => {
                            ffi::MPI_Win_allocate_shared(size, unit, none, comm, place, &mut made)
                        }
                    };
                    self.state().windows.insert(window, (made, own));
                }
                Mpi::WinFree { window } => {
                    let freed = self.state().windows.remove(&window);
                    if let Some((mut freed, _memory)) = freed {
                        ffi::MPI_Win_free(&mut freed);
                    }
                }
                Mpi::WinSync { how, window, members } => {
                    if let Some(window) = self.window(window) {
                        self.sync(how, window, members);
                    }
                }
                Mpi::WinLock { how, window, peer, exclusive } => {
                    let Some(window) = self.window(window) else { return };
                    let kind = if exclusive { ffi::MPI_LOCK_EXCLUSIVE } else { ffi::MPI_LOCK_SHARED };
                    let peer = target(peer);
                    match how {
                        Lock::Lock => ffi::MPI_Win_lock(kind as c_int, peer, 0, window),
                        Lock::Unlock => ffi::MPI_Win_unlock(peer, window),
                        Lock::Flush => ffi::MPI_Win_flush(peer, window),
                        Lock::FlushLocal => ffi::MPI_Win_flush_local(peer, window),
                    };
                }
                Mpi::Rma { how, window, peer, at, bytes } => {
                    if let Some(window) = self.window(window) {
                        let mut none = ffi::RSMPI_REQUEST_NULL;
                        let to = self.buffers.receive.at();
                        self.access(how, window, (peer, at, bytes), to, &mut none);
                    }
                }
                Mpi::RmaRequest { how, window, peer, at, bytes, request } => {
                    if let Some(window) = self.window(window) {
                        let mut new = ffi::RSMPI_REQUEST_NULL;
                        let to = self.buffers.of_request(request);
                        self.access(how, window, (peer, at, bytes), to, &mut new);
                        self.keep(request, new);
                    }
                }
                _ => {}
            }
        }
    }

    fn window(&self, number: u32) -> Option<MPI_Win> {
        self.state().windows.get(&number).map(|&(window, _)| window)
    }

    unsafe fn sync(&self, how: Epoch, window: MPI_Win, members: u32) {
        // SAFETY: as the caller vouches.
        unsafe {
            match how {
                Epoch::Fence => drop(ffi::MPI_Win_fence(0, window)),
                Epoch::Start => drop(self.with_group(members, |group| ffi::MPI_Win_start(group, 0, window))),
                Epoch::Post => drop(self.with_group(members, |group| ffi::MPI_Win_post(group, 0, window))),
                Epoch::Complete => drop(ffi::MPI_Win_complete(window)),
                Epoch::Wait => drop(ffi::MPI_Win_wait(window)),
                Epoch::Test => until(|flag| ffi::MPI_Win_test(window, flag)),
                Epoch::LockAll => drop(ffi::MPI_Win_lock_all(0, window)),
                Epoch::UnlockAll => drop(ffi::MPI_Win_unlock_all(window)),
                Epoch::FlushAll => drop(ffi::MPI_Win_flush_all(window)),
                Epoch::FlushLocalAll => drop(ffi::MPI_Win_flush_local_all(window)),
            }
        }
    }

    /// With the group of these ranks of the world.
    unsafe fn with_group(&self, members: u32, call: impl FnOnce(MPI_Group) -> c_int) -> c_int {
        let ranks: Vec<c_int> = self.plan.lists[members as usize].iter().map(|&rank| rank as c_int).collect();
        // SAFETY: as the caller vouches; both groups are freed when they have been used.
        unsafe {
            let (mut all, mut group) = (ffi::RSMPI_GROUP_EMPTY, ffi::RSMPI_GROUP_EMPTY);
            if ranks.is_empty() {
                return call(group);
            }
            ffi::MPI_Comm_group(ffi::RSMPI_COMM_WORLD, &mut all);
            ffi::MPI_Group_incl(all, ranks.len() as c_int, ranks.as_ptr(), &mut group);
            let result = call(group);
            ffi::MPI_Group_free(&mut group);
            ffi::MPI_Group_free(&mut all);
            result
        }
    }

    unsafe fn access(
        &self,
        how: Access,
        window: MPI_Win,
        (peer, at, bytes): (i32, u64, u64),
        to: *mut c_void,
        request: &mut ffi::MPI_Request,
    ) {
        let from = self.buffers.send.at().cast_const();
        let (peer, at, count) = (target(peer), at as MPI_Aint, bytes as c_int);
        // SAFETY: as the caller vouches; the buffers have room for so many bytes.
        unsafe {
            let byte = ffi::RSMPI_UINT8_T;
            let (items, item, sum) = summed(bytes);
            match how {
                Access::Put => ffi::MPI_Put(from, count, byte, peer, at, count, byte, window),
                Access::Rput => ffi::MPI_Rput(from, count, byte, peer, at, count, byte, window, request),
                Access::Get => ffi::MPI_Get(to, count, byte, peer, at, count, byte, window),
                Access::Rget => ffi::MPI_Rget(to, count, byte, peer, at, count, byte, window, request),
                Access::Accumulate => {
                    ffi::MPI_Accumulate(from, items, item, peer, at, items, item, sum, window)
                }
                Access::Raccumulate => {
                    ffi::MPI_Raccumulate(from, items, item, peer, at, items, item, sum, window, request)
                }
                Access::GetAccumulate => ffi::MPI_Get_accumulate(
                    from, items, item, to, items, item, peer, at, items, item, sum, window,
                ),
                Access::RgetAccumulate => ffi::MPI_Rget_accumulate(
                    from, items, item, to, items, item, peer, at, items, item, sum, window, request,
                ),
                Access::FetchAndOp => {
                    ffi::MPI_Fetch_and_op(from, to, whole(bytes), peer, at, ffi::RSMPI_SUM, window)
                }
                Access::CompareAndSwap => {
                    ffi::MPI_Compare_and_swap(from, from, to, whole(bytes), peer, at, window)
                }
            };
        }
    }
}

fn target(peer: i32) -> c_int {
    // SAFETY: a constant of the MPI that is linked.
    if peer == NOBODY { unsafe { ffi::RSMPI_PROC_NULL } } else { peer }
}

/// How many items so many bytes are, their type, and what is done with them.
fn summed(bytes: u64) -> (c_int, MPI_Datatype, MPI_Op) {
    // SAFETY: constants of the MPI that is linked.
    unsafe {
        match bytes.is_multiple_of(8) {
            true => ((bytes / 8) as c_int, ffi::RSMPI_DOUBLE, ffi::RSMPI_SUM),
            false => (bytes as c_int, ffi::RSMPI_UINT8_T, ffi::RSMPI_BOR),
        }
    }
}

/// A whole number of so many bytes.
fn whole(bytes: u64) -> MPI_Datatype {
    // SAFETY: constants of the MPI that is linked.
    unsafe {
        match bytes {
            1 => ffi::RSMPI_UINT8_T,
            2 => ffi::RSMPI_UINT16_T,
            4 => ffi::RSMPI_INT32_T,
            _ => ffi::RSMPI_INT64_T,
        }
    }
}
