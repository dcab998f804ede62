//! Messages from one process to another.

use core::ffi::c_int;
use syn_trace::Call;

use super::{OwnStatus, Ptr, SUCCESS, bytes, comm, made, matched};
use crate::language::{Handle, Language};
use crate::recorder::Recorder;
use crate::session;

/// `MPI_Send` and its modes.
pub unsafe fn send<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    count: L::Count,
    datatype: L::Handle,
    dest: L::Int,
    tag: L::Int,
    on: L::Handle,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real() };
    let result = real();
    R::returned(open);
    // SAFETY: as the caller vouches.
    let numbers = unsafe {
        [
            bytes::<L>(mpi, result, count, datatype),
            mpi.rank(L::int(dest)),
            mpi.tag(L::int(tag)),
            comm::<L>(mpi, on),
        ]
    };
    R::leave(open, call, result.into(), &numbers, &[], &[]);
    result
}

/// Calls that make a request: `MPI_Isend` and its modes, `MPI_Irecv`, and the persistent ones of both.
pub unsafe fn isend_irecv<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    count: L::Count,
    datatype: L::Handle,
    peer: L::Int,
    tag: L::Int,
    on: L::Handle,
    request: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real() };
    let result = real();
    R::returned(open);
    // SAFETY: as the caller vouches.
    let numbers = unsafe {
        [
            bytes::<L>(mpi, result, count, datatype),
            mpi.rank(L::int(peer)),
            mpi.tag(L::int(tag)),
            comm::<L>(mpi, on),
            made::<L>(mpi, result, Handle::Request, request),
        ]
    };
    R::leave(open, call, result.into(), &numbers, &[], &[]);
    result
}

/// `MPI_Recv`
pub unsafe fn receive<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    count: L::Count,
    datatype: L::Handle,
    source: L::Int,
    tag: L::Int,
    on: L::Handle,
    status: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real(status) };
    let mut own = OwnStatus::new();
    let status = own.instead_of::<L>(mpi, status);
    let result = real(status);
    R::returned(open);
    // SAFETY: as the caller vouches.
    let numbers = unsafe {
        let matched = matched(mpi, result == SUCCESS, status);
        [
            bytes::<L>(mpi, result, count, datatype),
            mpi.rank(L::int(source)),
            mpi.tag(L::int(tag)),
            comm::<L>(mpi, on),
            matched.source,
            matched.tag,
            matched.bytes,
        ]
    };
    R::leave(open, call, result.into(), &numbers, &[], &[]);
    result
}

/// `MPI_Sendrecv`
pub unsafe fn sendrecv<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    send_count: L::Count,
    send_type: L::Handle,
    dest: L::Int,
    send_tag: L::Int,
    receive_count: L::Count,
    receive_type: L::Handle,
    source: L::Int,
    receive_tag: L::Int,
    on: L::Handle,
    status: Ptr,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real(status) };
    let mut own = OwnStatus::new();
    let status = own.instead_of::<L>(mpi, status);
    let result = real(status);
    R::returned(open);
    // SAFETY: as the caller vouches.
    let numbers = unsafe {
        let matched = matched(mpi, result == SUCCESS, status);
        [
            bytes::<L>(mpi, result, send_count, send_type),
            mpi.rank(L::int(dest)),
            mpi.tag(L::int(send_tag)),
            bytes::<L>(mpi, result, receive_count, receive_type),
            mpi.rank(L::int(source)),
            mpi.tag(L::int(receive_tag)),
            comm::<L>(mpi, on),
            matched.source,
            matched.tag,
            matched.bytes,
        ]
    };
    R::leave(open, call, result.into(), &numbers, &[], &[]);
    result
}

/// `MPI_Sendrecv_replace`
pub unsafe fn sendrecv_replace<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    count: L::Count,
    datatype: L::Handle,
    dest: L::Int,
    send_tag: L::Int,
    source: L::Int,
    receive_tag: L::Int,
    on: L::Handle,
    status: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; both directions have the same buffer.
    unsafe {
        sendrecv::<R, L>(
            call,
            real,
            count,
            datatype,
            dest,
            send_tag,
            count,
            datatype,
            source,
            receive_tag,
            on,
            status,
        )
    }
}
