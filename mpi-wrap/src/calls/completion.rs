//! Requests: starting, freeing and cancelling them, and the calls that complete them.
//!
//! A completion call lists what it completed; a call that fails lists nothing. Null requests are not listed. When
//! one record cannot hold the list, further records of the same call hold the rest; each stands for as many
//! requests as it lists, and the last one for those that did not complete, too.

use core::ffi::c_int;
use core::ptr;
use syn_trace::Call;
use syn_trace::record::MAX_LIST;

use super::{OwnStatus, Ptr, SUCCESS, int_at, matched};
use crate::abi::{Mpi, Status};
use crate::language::{Handle, Language};
use crate::recorder::Recorder;
use crate::scratch::Scratch;
use crate::session;

/// Numbers that a record holds for each completed request.
const EACH: usize = 4;

/// `MPI_Start`
pub unsafe fn activate<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    request: Ptr,
) -> c_int {
    let Some((mut open, mpi)) = session::open::<R>() else { return real() };
    // SAFETY: an input of the call.
    let request = unsafe { L::handle_at(mpi, Handle::Request, request, 0) };
    let result = real();
    R::returned(&mut open);
    R::leave(open, call, result.into(), &[1], &[], &[request as i64]);
    result
}

/// `MPI_Startall`
pub unsafe fn activate_all<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    count: L::Int,
    requests: Ptr,
) -> c_int {
    let Some((mut open, mpi)) = session::open::<R>() else { return real() };
    let result = real();
    R::returned(&mut open);
    // SAFETY: an input of the call.
    let count = if result == SUCCESS { unsafe { length::<L>(count) } } else { 0 };
    let list: &mut [i64] =
        Scratch::of::<R>(&open, count.min(MAX_LIST) * size_of::<i64>()).take_up_to(MAX_LIST);
    let mut done = 0;
    loop {
        let piece = (count - done).min(list.len());
        for (index, place) in list[..piece].iter_mut().enumerate() {
            // SAFETY: starting a request leaves its handle as it is; the array is that long.
            *place = unsafe { L::handle_at(mpi, Handle::Request, requests, done + index) } as i64;
        }
        done += piece;
        if done == count || piece == 0 {
            R::leave(open, call, result.into(), &[piece as i64], &[], &list[..piece]);
            return result;
        }
        R::part(&mut open, call, result.into(), &[piece as i64], &list[..piece]);
    }
}

/// Calls about one request that do not complete it: `MPI_Request_free`, `MPI_Cancel`.
pub unsafe fn give_up<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    request: Ptr,
) -> c_int {
    let Some((mut open, mpi)) = session::open::<R>() else { return real() };
    // SAFETY: an input of the call, which may set it to null.
    let request = unsafe { L::handle_at(mpi, Handle::Request, request, 0) };
    let result = real();
    R::returned(&mut open);
    R::leave(open, call, result.into(), &[request as i64], &[], &[]);
    result
}

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
    let Some((mut open, mpi)) = session::open::<R>() else { return real(status) };
    let mut own = OwnStatus::new();
    let status = own.instead_of::<L>(mpi, status);
    // SAFETY: an input of the call, which may set it to null.
    let request = unsafe { L::handle_at(mpi, Handle::Request, request, 0) };
    let result = real(status);
    R::returned(&mut open);
    // SAFETY: results are read only after success.
    let completed = unsafe { completed(result, flag) } && request != mpi.predefined.request_null;
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
pub unsafe fn test_any<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    count: L::Int,
    requests: Ptr,
    index: Ptr,
    flag: Ptr,
    status: Ptr,
) -> c_int {
    let Some((mut open, mpi)) = session::open::<R>() else { return real(status) };
    let mut own = OwnStatus::new();
    let status = own.instead_of::<L>(mpi, status);
    // SAFETY: inputs of the call; it fills one status.
    let mut batch = unsafe { Batch::new::<R, L>(&open, mpi, count, requests, Some(status)) };
    let result = real(status);
    R::returned(&mut open);
    // SAFETY: results are read only after success. A negative index is MPI_UNDEFINED: all requests were null.
    unsafe {
        if completed(result, flag) {
            if let Ok(index) = usize::try_from(int_at(index, 0) - L::FIRST_INDEX) {
                batch.add::<R>(&mut open, call, index, 0);
            }
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
pub unsafe fn test_all<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    count: L::Int,
    requests: Ptr,
    flag: Ptr,
    statuses: Ptr,
) -> c_int {
    let Some((mut open, mpi)) = session::open::<R>() else { return real(statuses) };
    let wanted = (!L::ignores_statuses(mpi, statuses)).then_some(statuses);
    // SAFETY: inputs of the call; it fills as many statuses as there are requests.
    let mut batch = unsafe { Batch::new::<R, L>(&open, mpi, count, requests, wanted) };
    let result = real(batch.statuses.unwrap_or(statuses));
    R::returned(&mut open);
    // SAFETY: results are read only after success; then all requests are complete.
    unsafe {
        if completed(result, flag) {
            for index in 0..batch.count {
                batch.add::<R>(&mut open, call, index, index);
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
    let Some((mut open, mpi)) = session::open::<R>() else { return real(statuses) };
    let wanted = (!L::ignores_statuses(mpi, statuses)).then_some(statuses);
    // SAFETY: inputs of the call; it fills at most as many statuses as there are requests.
    let mut batch = unsafe { Batch::new::<R, L>(&open, mpi, count, requests, wanted) };
    let result = real(batch.statuses.unwrap_or(statuses));
    R::returned(&mut open);
    // SAFETY: results are read only after success. The count is negative (MPI_UNDEFINED) when all requests were null;
    // otherwise so many indices and statuses are those of the completed requests.
    unsafe {
        if result == SUCCESS {
            for position in 0..usize::try_from(int_at(outcount, 0)).unwrap_or(0) {
                if let Ok(index) = usize::try_from(int_at(indices, position) - L::FIRST_INDEX) {
                    batch.add::<R>(&mut open, call, index, position);
                }
            }
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

/// The length of an array that the application passed.
unsafe fn length<L: Language>(count: L::Int) -> usize {
    // SAFETY: an input of the call.
    usize::try_from(unsafe { L::int(count) }).unwrap_or(0)
}

/// The requests of one completion call, copied before it sets them to null, and the list of those it completed.
struct Batch<'a> {
    mpi: Mpi,
    /// How many requests were passed.
    count: usize,
    /// Their handles, or as many as there was room for.
    handles: &'a [usize],
    /// Where the call puts the statuses: the application's array or ours; none when there was no room for ours.
    statuses: Option<Ptr>,
    list: &'a mut [i64],
    used: usize,
    /// How many completed requests earlier records of this call list.
    listed_before: usize,
}

impl Batch<'_> {
    /// Copies the handles. `statuses` is the array to read from, or none when the application ignores them.
    ///
    /// # Safety
    /// The arrays must be those of the application's call.
    unsafe fn new<R: Recorder, L: Language>(
        open: &R::Open,
        mpi: Mpi,
        count: L::Int,
        requests: Ptr,
        statuses: Option<Ptr>,
    ) -> Self {
        // SAFETY: as the caller vouches.
        let count = unsafe { length::<L>(count) };
        let status_bytes = if statuses.is_none() { count.saturating_mul(mpi.abi.status.bytes) } else { 0 };
        let list = count.saturating_mul(EACH).min(MAX_LIST);
        let handles = count.saturating_mul(size_of::<usize>());
        let wanted = handles.saturating_add(status_bytes).saturating_add(list * size_of::<i64>() + 8);
        let mut scratch = Scratch::of::<R>(open, wanted);
        let list = scratch.take_up_to(list);
        let handles: &mut [usize] = scratch.take_up_to(count);
        for (index, place) in handles.iter_mut().enumerate() {
            // SAFETY: the array is that long.
            *place = unsafe { L::handle_at(mpi, Handle::Request, requests, index) };
        }
        let own = || scratch.take::<u8>(status_bytes).map(|statuses| statuses.as_mut_ptr().cast());
        Batch { mpi, count, handles, statuses: statuses.or_else(own), list, used: 0, listed_before: 0 }
    }

    /// Lists the request at `index` as completed, with the status at `position`.
    ///
    /// # Safety
    /// The call must have filled that status.
    unsafe fn add<R: Recorder>(&mut self, open: &mut R::Open, call: Call, index: usize, position: usize) {
        // A handle that found no room is listed as 0, which is no handle of any implementation.
        let handle = self.handles.get(index).copied().unwrap_or(0);
        if handle == self.mpi.predefined.request_null {
            return;
        }
        if self.used + EACH > self.list.len() {
            let listed = (self.used / EACH) as i64;
            R::part(open, call, SUCCESS.into(), &[listed, listed], &self.list[..self.used]);
            self.listed_before += self.used / EACH;
            self.used = 0;
        }
        let status = match self.statuses {
            // SAFETY: as the caller vouches.
            Some(statuses) => unsafe { self.mpi.status_at(statuses, position) },
            None => Status::UNKNOWN,
        };
        let completion = [handle as i64, status.source, status.tag, status.bytes];
        self.list[self.used..self.used + EACH].copy_from_slice(&completion);
        self.used += EACH;
    }

    /// Writes the (last) record and ends the call.
    fn leave<R: Recorder>(self, open: R::Open, call: Call, result: c_int) {
        let numbers = [(self.count - self.listed_before) as i64, (self.used / EACH) as i64];
        R::leave(open, call, result.into(), &numbers, &[], &self.list[..self.used]);
    }
}
