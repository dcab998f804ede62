//! Looking for messages before they are received, and receiving those that were found.

use core::ffi::c_int;
use core::ptr;
use syn_trace::Call;

use super::{OwnStatus, Ptr, SUCCESS, bytes, comm, in_vain, int_at, made, matched};
use crate::abi::Mpi;
use crate::language::{Handle, Language};
use crate::recorder::Recorder;
use crate::session;

/// `MPI_Probe`
pub unsafe fn probe<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    source: L::Int,
    tag: L::Int,
    on: L::Handle,
    status: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; a blocking probe has found a message when it returns.
    unsafe { try_probe::<R, L>(call, real, source, tag, on, ptr::null_mut(), status) }
}

/// `MPI_Iprobe`
#[inline(always)]
pub unsafe fn try_probe<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    source: L::Int,
    tag: L::Int,
    on: L::Handle,
    flag: Ptr,
    status: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open_poll::<R>(call, flag) else { return real(status) };
    let mut own = OwnStatus::new();
    let status = own.instead_of::<L>(mpi, status);
    let result = real(status);
    // SAFETY: as the caller vouches.
    let numbers = || unsafe { found::<L>(mpi, result, source, tag, on, flag, status) };
    // SAFETY: as above.
    if unsafe { in_vain(result, flag) } && R::count_in_vain(open, call, &numbers()) {
        return result;
    }
    R::returned(open);
    let numbers = numbers();
    R::leave(open, call, result.into(), &numbers, &[], &[]);
    result
}

/// `MPI_Mprobe`
pub unsafe fn match_probe<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    source: L::Int,
    tag: L::Int,
    on: L::Handle,
    message: Ptr,
    status: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; a blocking probe has found a message when it returns.
    unsafe { try_match_probe::<R, L>(call, real, source, tag, on, ptr::null_mut(), message, status) }
}

/// `MPI_Improbe`
pub unsafe fn try_match_probe<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    source: L::Int,
    tag: L::Int,
    on: L::Handle,
    flag: Ptr,
    message: Ptr,
    status: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open_poll::<R>(call, flag) else { return real(status) };
    let mut own = OwnStatus::new();
    let status = own.instead_of::<L>(mpi, status);
    let result = real(status);
    // SAFETY: as the caller vouches.
    let numbers = || unsafe {
        let [source, tag, on, flag, by, as_tag, bytes] =
            found::<L>(mpi, result, source, tag, on, flag, status);
        let message = if flag == 0 { 0 } else { made::<L>(mpi, result, Handle::Message, message) };
        [source, tag, on, flag, by, as_tag, bytes, message]
    };
    // SAFETY: as above.
    if unsafe { in_vain(result, flag) } && R::count_in_vain(open, call, &numbers()) {
        return result;
    }
    R::returned(open);
    let numbers = numbers();
    R::leave(open, call, result.into(), &numbers, &[], &[]);
    result
}

/// What was looked for and what was found. `flag` is null for the calls that wait for a message.
unsafe fn found<L: Language>(
    mpi: Mpi,
    result: c_int,
    source: L::Int,
    tag: L::Int,
    on: L::Handle,
    flag: Ptr,
    status: Ptr,
) -> [i64; 7] {
    // SAFETY: as the caller vouches; results are read only after success.
    unsafe {
        let flag = result == SUCCESS && (flag.is_null() || int_at(flag, 0) != 0);
        let matched = matched(mpi, flag, status);
        [
            mpi.rank(L::int(source)),
            mpi.tag(L::int(tag)),
            comm::<L>(mpi, on),
            flag.into(),
            matched.source,
            matched.tag,
            matched.bytes,
        ]
    }
}

/// `MPI_Mrecv`
pub unsafe fn mrecv<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    count: L::Count,
    datatype: L::Handle,
    message: Ptr,
    status: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real(status) };
    let mut own = OwnStatus::new();
    let status = own.instead_of::<L>(mpi, status);
    // SAFETY: an input of the call, which sets it to null.
    let message = unsafe { L::handle_at(mpi, Handle::Message, message, 0) };
    let result = real(status);
    R::returned(open);
    // SAFETY: as the caller vouches.
    let numbers = unsafe {
        let matched = matched(mpi, result == SUCCESS, status);
        let bytes = bytes::<L>(mpi, result, count, datatype);
        [bytes, message as i64, matched.source, matched.tag, matched.bytes]
    };
    R::leave(open, call, result.into(), &numbers, &[], &[]);
    result
}

/// `MPI_Imrecv`
pub unsafe fn imrecv<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    count: L::Count,
    datatype: L::Handle,
    message: Ptr,
    request: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real() };
    // SAFETY: an input of the call, which sets it to null.
    let message = unsafe { L::handle_at(mpi, Handle::Message, message, 0) };
    let result = real();
    R::returned(open);
    // SAFETY: as the caller vouches.
    let numbers = unsafe {
        let bytes = bytes::<L>(mpi, result, count, datatype);
        [bytes, message as i64, made::<L>(mpi, result, Handle::Request, request)]
    };
    R::leave(open, call, result.into(), &numbers, &[], &[]);
    result
}
