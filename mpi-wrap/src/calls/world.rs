//! Initialisation and end.

use core::ffi::c_int;
use syn_trace::Call;
use syn_trace::calls::UNDEFINED;

use super::communicator::leave_with_remote;
use super::{SUCCESS, comm};
use crate::inquiry;
use crate::language::Language;
use crate::recorder::Recorder;
use crate::scratch::Scratch;
use crate::session;

/// `MPI_Init`
pub unsafe fn init<R: Recorder, L: Language>(call: Call, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: as the caller vouches; MPI_Init asks for MPI_THREAD_SINGLE, which is 0.
    unsafe { start::<R>(call, real, || 0) }
}

/// `MPI_Init_thread`
pub unsafe fn init_thread<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    required: L::Int,
) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { start::<R>(call, real, || L::int(required)) }
}

unsafe fn start<R: Recorder>(
    call: Call,
    real: impl FnOnce() -> c_int,
    required: impl FnOnce() -> c_int,
) -> c_int {
    let real = || {
        let result = real();
        R::initialised();
        result
    };
    if !session::begin() {
        return real();
    }
    let Some(open) = R::enter(call) else {
        let result = real();
        // Not observed here; the first call that is will find MPI running.
        session::give_up();
        return result;
    };
    let result = real();
    R::returned(open);
    if result != SUCCESS {
        session::give_up();
        R::leave(open, call, result.into(), &[UNDEFINED, 0, i64::from(required())], &[b""], &[]);
        return result;
    }
    match session::start::<R>(&mut Scratch::of::<R>(open, inquiry::VERSION_BYTES)) {
        Some(world) => {
            let numbers = [i64::from(world.rank), i64::from(world.size), i64::from(required())];
            match world.mpi.parent() {
                None => R::leave(open, call, result.into(), &numbers, &[world.version], &[]),
                Some(parent) => {
                    R::part(open, call, result.into(), &numbers, &[world.version], &[]);
                    leave_with_remote::<R>(open, world.mpi, parent);
                }
            }
        }
        None => R::abandon(open),
    }
    result
}

/// `MPI_Finalize`
pub unsafe fn finalize<R: Recorder, L: Language>(call: Call, real: impl FnOnce() -> c_int) -> c_int {
    let Some((open, _)) = session::open::<R>(call) else { return real() };
    let result = real();
    R::returned(open);
    session::close();
    R::leave(open, call, result.into(), &[], &[], &[]);
    result
}

/// `MPI_Abort`
pub unsafe fn abort<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    of: L::Handle,
    code: L::Int,
) -> c_int {
    let Some((open, mpi)) = session::open::<R>(call) else { return real() };
    // SAFETY: both are inputs of the call.
    let numbers = unsafe { [comm::<L>(mpi, of), L::int(code).into()] };
    R::began(open, call, &numbers);
    let result = real();
    R::abandon(open);
    result
}
