//! Calls whose record holds nothing but some of their arguments: one-sided communication, partitioned messages, dynamic
//! processes, and files for the most part. A line of the table names a function of [`fields`] for each number of the record.

use core::ffi::c_int;
use syn_trace::Call;

use super::{Ptr, SUCCESS, bytes, comm, leave, open};
use crate::abi::Mpi;
use crate::language::{Handle, Language};
use crate::recorder::Recorder;

/// Records what `numbers` says once the call has returned; it is told whether the call succeeded.
pub unsafe fn record<R: Recorder, const N: usize>(
    call: Call,
    real: impl FnOnce() -> c_int,
    numbers: impl FnOnce(Mpi, c_int) -> [i64; N],
) -> c_int {
    let Some((span, mpi)) = open::<R>(call) else { return real() };
    let result = real();
    R::returned(span);
    leave::<R, _>(span, call, result, &numbers(mpi, result), &[]);
    result
}

/// `MPI_Win_free`
pub unsafe fn free_window<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    place: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { free::<R, L>(call, real, Handle::Window, place) }
}

/// Calls that set the handle at `place` to null.
pub(super) unsafe fn free<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    kind: Handle,
    place: Ptr,
) -> c_int {
    let Some((span, mpi)) = open::<R>(call) else { return real() };
    // SAFETY: an input of the call, which sets it to null.
    let handle = unsafe { L::handle_at(mpi, kind, place, 0) };
    let result = real();
    R::returned(span);
    leave::<R, _>(span, call, result, &[handle as i64], &[]);
    result
}

/// Numbers of a record, made of arguments. Each is told what the call returned: results are read after success only.
pub mod fields {
    use super::super::{int_at, made};
    use super::*;

    /// In place of an offset: where the file's pointer is.
    pub const AT_POINTER: i64 = -1;

    macro_rules! fields {
        ($( $(#[$doc:meta])* fn $name:ident($mpi:ident, $result:ident $(, $argument:ident: $type:ty)*) $body:expr; )*) => { $(
            $(#[$doc])*
            #[inline]
            #[allow(unused_variables, unused_unsafe)]
            pub unsafe fn $name<L: Language>($mpi: Mpi, $result: c_int $(, $argument: $type)*) -> i64 {
                // SAFETY: the application's arguments of a call that has returned; results are read after success only.
                unsafe { $body }
            }
        )* };
    }

    fields! {
        /// Bytes of so many elements.
        fn bytes(mpi, result, count: L::Count, datatype: L::Handle) super::bytes::<L>(mpi, result, count, datatype);
        /// Bytes of one element.
        fn size_of(mpi, result, datatype: L::Handle)
            if result == SUCCESS { mpi.bytes(1, L::handle(mpi, Handle::Datatype, datatype)) } else { 0 };
        /// Bytes of so many elements, counted by an `MPI_Count` in every form.
        fn long_bytes(mpi, result, count: L::Long, datatype: L::Handle)
            if result == SUCCESS { mpi.bytes(L::long(count), L::handle(mpi, Handle::Datatype, datatype)) } else { 0 };
        /// A plain number.
        fn int(mpi, result, value: L::Int) L::int(value).into();
        /// A number of elements.
        fn count(mpi, result, value: L::Count) L::count(value);
        /// An offset or a length.
        fn long(mpi, result, value: L::Long) L::long(value);
        /// The place of the file's pointer.
        fn at_pointer(mpi, result) AT_POINTER;
        /// A rank.
        fn rank(mpi, result, value: L::Int) mpi.rank(L::int(value));
        /// A tag.
        fn tag(mpi, result, value: L::Int) mpi.tag(L::int(value));
        /// A communicator.
        fn on(mpi, result, value: L::Handle) comm::<L>(mpi, value);
        /// A window.
        fn window(mpi, result, value: L::Handle) L::handle(mpi, Handle::Window, value) as i64;
        /// A file.
        fn file(mpi, result, value: L::Handle) L::handle(mpi, Handle::File, value) as i64;
        /// A request that the call leaves as it is.
        fn request_at(mpi, result, place: Ptr) L::handle_at(mpi, Handle::Request, place, 0) as i64;
        /// A request by its handle.
        fn request(mpi, result, value: L::Handle) L::handle(mpi, Handle::Request, value) as i64;
        /// A request that the call has made.
        fn new_request(mpi, result, place: Ptr) made::<L>(mpi, result, Handle::Request, place);
        /// A communicator that the call has made.
        fn new_comm(mpi, result, place: Ptr)
            if result == SUCCESS { mpi.comm(L::handle_at(mpi, Handle::Comm, place, 0)) } else { 0 };
        /// A window that the call has made.
        fn new_window(mpi, result, place: Ptr) made::<L>(mpi, result, Handle::Window, place);
        /// A file that the call has opened.
        fn new_file(mpi, result, place: Ptr) made::<L>(mpi, result, Handle::File, place);
        /// What the call found out.
        fn flag(mpi, result, place: Ptr) if result == SUCCESS { int_at(place, 0).into() } else { 0 };
        /// Flags of a file, those of MPI-IO in canonical form.
        fn mode(mpi, result, value: L::Int) mpi.file_mode(L::int(value));
        /// What an offset is counted from, as of `lseek(2)`.
        fn whence(mpi, result, value: L::Int) mpi.whence(L::int(value));
        /// 1 for `MPI_LOCK_EXCLUSIVE`.
        fn exclusive(mpi, result, value: L::Int) (L::int(value) == mpi.abi.lock_exclusive).into();
    }
}
