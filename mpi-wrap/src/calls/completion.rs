//! The calls that complete requests. Each lists what it completed; a call that fails lists nothing, and null requests
//! are not listed.

use core::ffi::c_int;
use core::ptr;
use syn_trace::Call;

use super::batch::Batch;
use super::{OwnStatus, Ptr, SUCCESS, in_vain, int_at, matched};
use crate::abi::Status;
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
#[inline(always)]
pub unsafe fn test<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    request: Ptr,
    flag: Ptr,
    status: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open_poll::<R>(call, flag) else { return real(status) };
    let mut own = OwnStatus::new();
    let status = own.instead_of::<L>(mpi, status);
    // SAFETY: an input of the call, which may set it to null.
    let request = unsafe { L::handle_at(mpi, Handle::Request, request, 0) };
    let result = real(status);
    // SAFETY: as the caller vouches.
    if unsafe { in_vain(result, flag) } && R::count_in_vain(open, call, &[1, 0]) {
        return result;
    }
    R::returned(open);
    // SAFETY: results are read only after success.
    let completed = unsafe { completed(result, flag) } && request != mpi.request_null();
    // SAFETY: the status is filled when a request completed.
    let Status { source, tag, bytes } = unsafe { matched(mpi, completed, status) };
    let list = [request as i64, source, tag, bytes];
    let listed = if completed { &list[..] } else { &[] };
    R::leave(open, call, result.into(), &[1, completed.into()], &[], listed);
    result
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

/// `MPI_Testany`
#[inline(always)]
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
    let batch = unsafe { Batch::new::<R, L>(open, &mpi, count, requests, Some(status)) };
    let result = real(status);
    // SAFETY: as the caller vouches.
    if unsafe { in_vain(result, flag) } && batch.count_in_vain::<R>(open, call) {
        return result;
    }
    R::returned(open);
    // SAFETY: as above.
    unsafe { leave_any::<R, L>(batch, open, call, result, requests, index, flag) }
}

/// Apart, so that a poll in vain does not have to put the batch into memory for it.
#[inline(never)]
unsafe fn leave_any<R: Recorder, L: Language>(
    mut batch: Batch,
    open: R::Open,
    call: Call,
    result: c_int,
    requests: Ptr,
    index: Ptr,
    flag: Ptr,
) -> c_int {
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
