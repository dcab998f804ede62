//! Requests apart from their completion: starting, freeing and cancelling them.

use core::ffi::c_int;
use syn_trace::Call;
use syn_trace::record::MAX_LIST;

use super::{Ptr, SUCCESS};
use crate::language::{Handle, Language};
use crate::recorder::Recorder;
use crate::scratch::Scratch;
use crate::session;

/// `MPI_Start`
pub unsafe fn start<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    request: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real() };
    // SAFETY: an input of the call.
    let request = unsafe { L::handle_at(mpi, Handle::Request, request, 0) };
    let result = real();
    R::returned(open);
    R::leave(open, call, result.into(), &[1], &[], &[request as i64]);
    result
}

/// `MPI_Startall`
pub unsafe fn start_all<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    count: L::Int,
    requests: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real() };
    let result = real();
    R::returned(open);
    // SAFETY: an input of the call.
    let count = if result == SUCCESS { usize::try_from(unsafe { L::int(count) }).unwrap_or(0) } else { 0 };
    let list: &mut [i64] =
        Scratch::of::<R>(open, count.min(MAX_LIST) * size_of::<i64>()).take_up_to(MAX_LIST);
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
        R::part(open, call, result.into(), &[piece as i64], &[], &list[..piece]);
    }
}

/// Calls about one request that do not complete it: `MPI_Request_free`, `MPI_Cancel`.
pub unsafe fn give_up<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    request: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real() };
    // SAFETY: an input of the call, which may set it to null.
    let request = unsafe { L::handle_at(mpi, Handle::Request, request, 0) };
    let result = real();
    R::returned(open);
    R::leave(open, call, result.into(), &[request as i64], &[], &[]);
    result
}
