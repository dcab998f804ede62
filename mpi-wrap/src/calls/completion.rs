//! The calls that complete requests. Each lists what it completed; a call that fails lists nothing, and null requests
//! are not listed.

use core::ffi::c_int;
use core::ptr;
use syn_trace::Call;

use super::batch::Batch;
use super::{OwnStatus, Ptr, SUCCESS, in_vain, int_at};
use crate::abi::{Mpi, Status};
use crate::language::{Handle, Language};
use crate::recorder::Recorder;
use crate::session;

/// `MPI_Wait`
pub unsafe fn wait<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    request: Ptr,
    status: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; the request is complete when the call returns.
    unsafe { test::<R, L>(call, real, request, ptr::null_mut(), status) }
}

/// `MPI_Test`
pub unsafe fn test<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    request: Ptr,
    flag: Ptr,
    status: Ptr,
) -> c_int {
    let Some(opened) = session::open_poll::<R>(call, flag) else { return real(status) };
    // SAFETY: as the caller vouches.
    unsafe { one::<R, L>(opened, call, real, request, ptr::null_mut(), flag, status) }
}

/// The same, if it is one of a long row of polls: the shortest way for them.
#[inline(always)]
pub unsafe fn test_in_row<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    request: Ptr,
    flag: Ptr,
    status: Ptr,
) -> Option<c_int> {
    let opened = session::open_untimed::<R>(call, flag)?;
    // SAFETY: as the caller vouches.
    Some(unsafe { one::<R, L>(opened, call, real, request, ptr::null_mut(), flag, status) })
}

/// A call on one request that has been opened. `index` is where it says which has completed, null if it does not; `flag` where it
/// says whether, null if it waits for that.
#[inline(always)]
unsafe fn one<R: Recorder, L: Language>(
    (open, mpi): (R::Open, Mpi),
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    request: Ptr,
    index: Ptr,
    flag: Ptr,
    status: Ptr,
) -> c_int {
    let mut own = OwnStatus::new();
    let status = own.instead_of::<L>(mpi, status);
    // SAFETY: an input of the call, which may set it to null.
    let request = unsafe { L::handle_at(mpi, Handle::Request, request, 0) };
    let result = real(status);
    // SAFETY: as the caller vouches.
    if unsafe { in_vain(result, flag) } && R::count_in_vain(open, call, &[1, 0]) {
        return result;
    }
    // SAFETY: as the caller vouches.
    unsafe { leave_one::<R>(open, mpi, call, result, request, index, flag, status) }
}

/// `MPI_Waitany`
pub unsafe fn wait_any<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    count: L::Int,
    requests: Ptr,
    index: Ptr,
    status: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; one request is complete when the call returns.
    unsafe { test_any::<R, L>(call, real, count, requests, index, ptr::null_mut(), status) }
}

/// `MPI_Testany`, of one request if it is one of a long row of polls.
#[inline(always)]
pub unsafe fn test_any_in_row<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    count: L::Int,
    requests: Ptr,
    index: Ptr,
    flag: Ptr,
    status: Ptr,
) -> Option<c_int> {
    // SAFETY: as the caller vouches.
    unsafe {
        if L::int(count) != 1 {
            return None;
        }
        let opened = session::open_untimed::<R>(call, flag)?;
        Some(one::<R, L>(opened, call, real, requests, index, flag, status))
    }
}

/// Apart, so that a poll in vain is short.
#[inline(never)]
#[allow(clippy::too_many_arguments)]
unsafe fn leave_one<R: Recorder>(
    open: R::Open,
    mpi: Mpi,
    call: Call,
    result: c_int,
    request: usize,
    index: Ptr,
    flag: Ptr,
    status: Ptr,
) -> c_int {
    R::returned(open);
    // SAFETY: results are read only after success. A negative index is MPI_UNDEFINED: the request was none that could complete.
    let completed = unsafe { completed(result, flag) && (index.is_null() || int_at(index, 0) >= 0) }
        && request != mpi.request_null();
    let Status { source, tag, bytes } = match completed {
        // SAFETY: the status is filled when a request completed.
        true => unsafe { mpi.completion_at(status, 0) },
        false => Status::UNKNOWN,
    };
    let list = [request as i64, source, tag, bytes];
    let listed = if completed { &list[..] } else { &[] };
    R::leave(open, call, result.into(), &[1, completed.into()], &[], listed);
    result
}

/// `MPI_Testany`
pub unsafe fn test_any<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    count: L::Int,
    requests: Ptr,
    index: Ptr,
    flag: Ptr,
    status: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open_poll::<R>(call, flag) else { return real(status) };
    let mut own = OwnStatus::new();
    let status = own.instead_of::<L>(mpi, status);
    // SAFETY: inputs of the call; it fills one status.
    let mut batch = unsafe { Batch::new::<R, L>(open, &mpi, count, requests, Some(status)) };
    let result = real(status);
    // SAFETY: as the caller vouches.
    if unsafe { in_vain(result, flag) } && batch.count_in_vain::<R>(open, call) {
        return result;
    }
    R::returned(open);
    // SAFETY: results are read only after success. A negative index is MPI_UNDEFINED: all requests were null.
    unsafe {
        if completed(result, flag) {
            batch.add_indexed::<R, L>(open, call, requests, index, 1);
        }
    }
    batch.leave::<R>(open, call, result);
    result
}

/// `MPI_Waitall`
pub unsafe fn wait_all<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    count: L::Int,
    requests: Ptr,
    statuses: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; all requests are complete when the call returns.
    unsafe { test_all::<R, L>(call, real, count, requests, ptr::null_mut(), statuses) }
}

/// `MPI_Testall`
#[inline(always)]
pub unsafe fn test_all<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    count: L::Int,
    requests: Ptr,
    flag: Ptr,
    statuses: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open_poll::<R>(call, flag) else { return real(statuses) };
    let wanted = (!L::ignores_statuses(mpi, statuses)).then_some(statuses);
    // SAFETY: inputs of the call; it fills as many statuses as there are requests.
    let mut batch = unsafe { Batch::new::<R, L>(open, &mpi, count, requests, wanted) };
    let result = real(batch.statuses.unwrap_or(statuses));
    // SAFETY: as the caller vouches.
    if unsafe { in_vain(result, flag) } && batch.count_in_vain::<R>(open, call) {
        return result;
    }
    R::returned(open);
    // SAFETY: results are read only after success; then all requests are complete.
    unsafe {
        if completed(result, flag) {
            for index in 0..batch.count {
                batch.add::<R>(open, call, index, index);
            }
        }
    }
    batch.leave::<R>(open, call, result);
    result
}

/// `MPI_Waitsome` and `MPI_Testsome`
pub unsafe fn some<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    count: L::Int,
    requests: Ptr,
    outcount: Ptr,
    indices: Ptr,
    statuses: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open_poll::<R>(call, outcount) else { return real(statuses) };
    let wanted = (!L::ignores_statuses(mpi, statuses)).then_some(statuses);
    // SAFETY: inputs of the call; it fills at most as many statuses as there are requests.
    let mut batch = unsafe { Batch::new::<R, L>(open, &mpi, count, requests, wanted) };
    let result = real(batch.statuses.unwrap_or(statuses));
    // SAFETY: as the caller vouches.
    if unsafe { in_vain(result, outcount) } && batch.count_in_vain::<R>(open, call) {
        return result;
    }
    R::returned(open);
    // SAFETY: results are read only after success. The count is negative (MPI_UNDEFINED) when all requests were null; otherwise so many indices
    // and statuses are those of the completed requests.
    unsafe {
        if result == SUCCESS {
            let completed = usize::try_from(int_at(outcount, 0)).unwrap_or(0);
            batch.add_indexed::<R, L>(open, call, requests, indices, completed);
        }
    }
    batch.leave::<R>(open, call, result);
    result
}

/// Did the call succeed and complete what it was to complete? `flag` is null for the calls that wait.
unsafe fn completed(result: c_int, flag: Ptr) -> bool {
    // SAFETY: a result, read after success.
    result == SUCCESS && (flag.is_null() || unsafe { int_at(flag, 0) } != 0)
}
