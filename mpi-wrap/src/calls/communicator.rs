//! Making and freeing communicators.

use core::ffi::c_int;
use syn_trace::Call;
use syn_trace::calls::COMM_NULL;
use syn_trace::record::MAX_LIST;

use super::{Ptr, SUCCESS, comm};
use crate::abi::Mpi;
use crate::inquiry::Of;
use crate::language::{Handle, Language};
use crate::recorder::Recorder;
use crate::runs::Run;
use crate::scratch::Scratch;
use crate::session;

/// Ranks that are translated at a time.
const PIECE: usize = 1024;
/// The longest list of members in one record: whole runs.
const MAX_MEMBERS: usize = MAX_LIST / 3 * 3;
/// Scratch memory for two pieces and a list.
const SCRATCH: usize = 2 * PIECE * size_of::<c_int>() + MAX_MEMBERS * size_of::<i64>();

/// Calls that make a communicator from another one. A group of more runs than fit into one record is continued in
/// further records of the same call. Of one with two groups, a note behind the record tells the other group.
pub unsafe fn create<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    from: L::Handle,
    place: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { make::<R, L>(call, real, from, place, false) }
}

/// The same with a topology: a note behind the record tells the neighbours.
pub unsafe fn create_topology<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    from: L::Handle,
    place: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { make::<R, L>(call, real, from, place, true) }
}

unsafe fn make<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    from: L::Handle,
    place: Ptr,
    has_neighbours: bool,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real() };
    let result = real();
    R::returned(open);
    // SAFETY: an input of the call.
    let from = unsafe { comm::<L>(mpi, from) };
    let new = match result {
        // SAFETY: the call succeeded, so the place is valid and holds the handle.
        SUCCESS => unsafe { L::handle_at(mpi, Handle::Comm, place, 0) },
        _ => mpi.comm_null(),
    };
    let numbers = [from, mpi.comm(new)];
    if numbers[1] == COMM_NULL {
        R::leave(open, call, result.into(), &numbers, &[], &[]);
        return result;
    }
    let mut scratch = Scratch::of::<R>(open, SCRATCH);
    let last = list_members(mpi, new, &mut scratch, |full| {
        R::part(open, call, result.into(), &numbers, &[], full);
    });
    let is_inter = !has_neighbours && mpi.is_inter(new);
    if !has_neighbours && !is_inter {
        R::leave(open, call, result.into(), &numbers, &[], last);
        return result;
    }
    R::part(open, call, result.into(), &numbers, &[], last);
    if is_inter {
        leave_with_remote::<R>(open, mpi, new);
        return result;
    }
    let mut scratch = Scratch::of::<R>(open, SCRATCH);
    let ranks = scratch.take_up_to(2 * PIECE);
    match mpi.neighbours(new, ranks) {
        Some((is_grid, sources, ranks)) => {
            let list: &mut [i64] = scratch.take_up_to(MAX_MEMBERS);
            let mut used = 0;
            let head = [i64::from(is_grid), sources as i64];
            for number in head.into_iter().chain(ranks.iter().map(|&rank| mpi.rank(rank))) {
                if used == list.len() {
                    R::part(open, Call::MpiNeighbours, 0, &[numbers[1]], &[], list);
                    used = 0;
                }
                list[used] = number;
                used += 1;
            }
            R::leave(open, Call::MpiNeighbours, 0, &[numbers[1]], &[], &list[..used]);
        }
        None => R::abandon(open),
    }
    result
}

/// `MPI_Comm_spawn` and `MPI_Comm_spawn_multiple`: a note behind the record tells how many processes have been made.
pub unsafe fn spawn<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    how_many: L::Int,
    root: L::Int,
    from: L::Handle,
    place: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real() };
    let result = real();
    R::returned(open);
    // SAFETY: inputs of the call; if it succeeded the place is valid and holds the handle.
    let (numbers, new) = unsafe {
        let new = match result {
            SUCCESS => L::handle_at(mpi, Handle::Comm, place, 0),
            _ => mpi.comm_null(),
        };
        let how_many = L::int(how_many).into();
        ([how_many, mpi.rank(L::int(root)), comm::<L>(mpi, from), mpi.comm(new)], new)
    };
    if new == mpi.comm_null() {
        R::leave(open, call, result.into(), &numbers, &[], &[]);
    } else {
        R::part(open, call, result.into(), &numbers, &[], &[]);
        leave_with_remote::<R>(open, mpi, new);
    }
    result
}

/// Notes the other group of an inter-communicator, and leaves the call whose record stands before that.
pub(super) fn leave_with_remote<R: Recorder>(open: R::Open, mpi: Mpi, comm: usize) {
    let mut scratch = Scratch::of::<R>(open, SCRATCH);
    let numbers = [mpi.comm(comm)];
    let last = list_ranks(mpi, Of::Remote(comm), &mut scratch, |full| {
        R::part(open, Call::MpiRemoteGroup, 0, &numbers, &[], full);
    });
    R::leave(open, Call::MpiRemoteGroup, 0, &numbers, &[], last);
}

/// `MPI_Win_start` and `MPI_Win_post`: a note behind the record tells the group.
pub unsafe fn open_epoch<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    group: L::Handle,
    window: L::Handle,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real() };
    let result = real();
    R::returned(open);
    // SAFETY: inputs of the call.
    let (group, window) =
        unsafe { (L::handle(mpi, Handle::Group, group), L::handle(mpi, Handle::Window, window) as i64) };
    R::part(open, call, result.into(), &[window], &[], &[]);
    if result == SUCCESS {
        let mut scratch = Scratch::of::<R>(open, SCRATCH);
        let last = list_ranks(mpi, Of::Group(group), &mut scratch, |full| {
            R::part(open, Call::MpiWinGroup, 0, &[window], &[], full);
        });
        R::leave(open, Call::MpiWinGroup, 0, &[window], &[], last);
    } else {
        R::abandon(open);
    }
    result
}

/// Hands over each list of members that is full and returns the last one.
fn list_members<'a>(mpi: Mpi, comm: usize, scratch: &mut Scratch, full: impl FnMut(&[i64])) -> &'a [i64] {
    list_ranks(mpi, Of::Comm(comm), scratch, full)
}

fn list_ranks<'a>(mpi: Mpi, of: Of, scratch: &mut Scratch, mut full: impl FnMut(&[i64])) -> &'a [i64] {
    let ranks = scratch.take_up_to(PIECE);
    let translated = scratch.take_up_to(PIECE);
    let list: &mut [i64] = scratch.take_up_to(MAX_MEMBERS);
    let mut used = 0;
    let mut run = Run::default();
    mpi.world_ranks(of, ranks, translated, |piece| {
        for &rank in piece {
            if let Some(finished) = run.push(mpi.rank(rank)) {
                // Here and below: one more run always fits after this one.
                list[used..used + 3].copy_from_slice(&finished);
                used += 3;
                if used + 3 > list.len() {
                    full(&list[..used]);
                    used = 0;
                }
            }
        }
    });
    if let Some(finished) = run.finish() {
        list[used..used + 3].copy_from_slice(&finished);
        used += 3;
    }
    &list[..used]
}

/// Calls that end the life of the communicator at `place`: `MPI_Comm_free`, `MPI_Comm_disconnect`.
pub unsafe fn release<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    place: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real() };
    // SAFETY: an input of the call, which sets it to null.
    let comm = mpi.comm(unsafe { L::handle_at(mpi, Handle::Comm, place, 0) });
    let result = real();
    R::returned(open);
    R::leave(open, call, result.into(), &[comm], &[], &[]);
    result
}
