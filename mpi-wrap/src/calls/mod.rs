//! Every form of call: makes the real call and says what the record of it holds.
//!
//! Each function takes the call's number in the trace, the real call (with holes for the statuses that may be
//! replaced), and those of the application's arguments that the record needs, in the order of the MPI standard.
//!
//! # Safety
//! What all of them ask of the caller: the arguments are those of the application's call of this MPI function in
//! this language, and `real` makes that call.

#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

mod batch;
pub mod collective;
pub mod communicator;
pub mod completion;
pub mod files;
pub mod matching;
pub mod neighbours;
pub mod plain;
pub mod point_to_point;
pub mod requests;
pub mod rooted;
pub mod world;

#[cfg(test)]
mod tests;

pub use collective::*;
pub use communicator::*;
pub use completion::*;
pub use files::*;
pub use matching::*;
pub use neighbours::*;
pub use plain::*;
pub use point_to_point::*;
pub use requests::*;
pub use rooted::*;
pub use world::*;

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr;
use syn_trace::Call;

use crate::abi::{Mpi, Status};
pub(crate) use crate::language::Ptr;
use crate::language::{Handle, Language};
use crate::recorder::Recorder;
use crate::session;

const SUCCESS: c_int = 0;

/// Opens a call of a form that stands behind many functions. In the function that makes the call: a recorder takes its frame for
/// the sign that the call is under way.
#[inline(always)]
fn open<R: Recorder>(call: Call) -> Option<(R::Open, Mpi)> {
    session::open::<R>(call)
}

/// Ends such a call: once for each number of numbers.
#[inline(never)]
fn leave<R: Recorder, const N: usize>(
    open: R::Open,
    call: Call,
    result: c_int,
    numbers: &[i64; N],
    texts: &[&[u8]],
) {
    R::leave(open, call, result.into(), numbers, texts, &[]);
}

/// Bytes of `count` elements of a datatype. After a failure both may be invalid and count for nothing.
#[inline]
unsafe fn bytes<L: Language>(mpi: Mpi, result: c_int, count: L::Count, datatype: L::Handle) -> i64 {
    if result != SUCCESS {
        return 0;
    }
    // SAFETY: the application's arguments, accepted by the real call.
    unsafe { mpi.bytes(L::count(count), L::handle(mpi, Handle::Datatype, datatype)) }
}

/// A communicator in canonical form.
#[inline]
unsafe fn comm<L: Language>(mpi: Mpi, comm: L::Handle) -> i64 {
    // SAFETY: the application's argument.
    mpi.comm(unsafe { L::handle(mpi, Handle::Comm, comm) })
}

/// The handle that the call has put at `place`; 0 when it failed.
#[inline]
unsafe fn made<L: Language>(mpi: Mpi, result: c_int, kind: Handle, place: Ptr) -> i64 {
    if result != SUCCESS {
        return 0;
    }
    // SAFETY: the call succeeded, so the place is valid and holds the handle.
    unsafe { L::handle_at(mpi, kind, place, 0) as i64 }
}

/// The integer at `index` of an array, which is the same in all languages.
#[inline]
unsafe fn int_at(array: Ptr, index: usize) -> c_int {
    // SAFETY: the caller vouches for the array.
    unsafe { array.cast::<c_int>().add(index).read_unaligned() }
}

/// Did the call succeed, and find nothing? `flag` is where it says so (or how many it found); null for one that waits.
#[inline]
unsafe fn in_vain(result: c_int, flag: Ptr) -> bool {
    // SAFETY: a result, read after success.
    result == SUCCESS && !flag.is_null() && unsafe { int_at(flag, 0) } == 0
}

/// A status of ours, to be passed where the application wants none. As large as that of any implementation.
struct OwnStatus(MaybeUninit<[u64; 8]>);

impl OwnStatus {
    #[inline]
    fn new() -> OwnStatus {
        OwnStatus(MaybeUninit::uninit())
    }

    /// The status to pass: the application's, or this one.
    #[inline]
    fn instead_of<L: Language>(&mut self, mpi: Mpi, status: Ptr) -> Ptr {
        if L::ignores_status(mpi, status) { ptr::from_mut(self.0.write([0; 8])).cast() } else { status }
    }
}

/// What the status says when the call succeeded and matched a message.
#[inline]
unsafe fn matched(mpi: Mpi, is_matched: bool, status: Ptr) -> Status {
    // SAFETY: the call has filled it then.
    if is_matched { unsafe { mpi.status_at(status, 0) } } else { Status::UNKNOWN }
}
