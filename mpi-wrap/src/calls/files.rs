//! Calls on files whose record holds more than their arguments.

use core::ffi::{CStr, c_char, c_int};
use syn_trace::Call;

use super::plain::{fields, free};
use super::{OwnStatus, Ptr, SUCCESS, bytes, comm, leave, matched, open};
use crate::abi::Mpi;
use crate::language::{Handle, Language};
use crate::recorder::{MIN_SCRATCH_BYTES, Recorder};
use crate::scratch::Scratch;

/// `MPI_File_close`
pub unsafe fn close_file<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    place: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { free::<R, L>(call, real, Handle::File, place) }
}

/// `MPI_File_read_at` and its kind: at an offset.
pub unsafe fn transfer_at<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    file: L::Handle,
    offset: L::Long,
    count: L::Count,
    datatype: L::Handle,
    status: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { transfer_from::<R, L>(call, real, file, Some(offset), count, datatype, status) }
}

/// `MPI_File_read` and its kind: at one of the file's pointers.
pub unsafe fn transfer<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    file: L::Handle,
    count: L::Count,
    datatype: L::Handle,
    status: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { transfer_from::<R, L>(call, real, file, None, count, datatype, status) }
}

unsafe fn transfer_from<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    file: L::Handle,
    offset: Option<L::Long>,
    count: L::Count,
    datatype: L::Handle,
    status: Ptr,
) -> c_int {
    let Some((span, mpi)) = open::<R>(call) else { return real(status) };
    let mut own = OwnStatus::new();
    let status = own.instead_of::<L>(mpi, status);
    let result = real(status);
    R::returned(span);
    // SAFETY: as the caller vouches.
    let numbers = unsafe {
        [
            bytes::<L>(mpi, result, count, datatype),
            offset.map_or(fields::AT_POINTER, |offset| L::long(offset)),
            L::handle(mpi, Handle::File, file) as i64,
            matched(mpi, result == SUCCESS, status).bytes,
        ]
    };
    leave::<R, _>(span, call, result, &numbers, &[]);
    result
}

/// The second half of a split collective transfer.
pub unsafe fn transfer_end<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce(Ptr) -> c_int,
    file: L::Handle,
    status: Ptr,
) -> c_int {
    let Some((span, mpi)) = open::<R>(call) else { return real(status) };
    let mut own = OwnStatus::new();
    let status = own.instead_of::<L>(mpi, status);
    let result = real(status);
    R::returned(span);
    // SAFETY: as the caller vouches.
    let numbers =
        unsafe { [L::handle(mpi, Handle::File, file) as i64, matched(mpi, result == SUCCESS, status).bytes] };
    leave::<R, _>(span, call, result, &numbers, &[]);
    result
}

/// `MPI_File_open`. `length` is that of the name in Fortran; in C the name ends with a zero.
pub unsafe fn open_file<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    on: L::Handle,
    name: Ptr,
    length: Option<usize>,
    mode: L::Int,
    info: L::Handle,
    place: Ptr,
) -> c_int {
    let Some((span, mpi)) = open::<R>(call) else { return real() };
    let result = real();
    R::returned(span);
    // SAFETY: as the caller vouches.
    unsafe {
        let file = fields::new_file::<L>(mpi, result, place);
        let numbers = [fields::mode::<L>(mpi, result, mode), comm::<L>(mpi, on), file];
        R::part(span, call, result.into(), &numbers, &[text(result, name, length)], &[]);
        tell_hints::<R, L>(span, mpi, result, file, info);
    }
    R::abandon(span);
    result
}

/// `MPI_File_set_view`
pub unsafe fn view_file<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    file: L::Handle,
    displacement: L::Long,
    etype: L::Handle,
    filetype: L::Handle,
    info: L::Handle,
) -> c_int {
    let Some((span, mpi)) = open::<R>(call) else { return real() };
    let result = real();
    R::returned(span);
    // SAFETY: as the caller vouches.
    unsafe {
        let file = L::handle(mpi, Handle::File, file) as i64;
        let sizes = [etype, filetype].map(|datatype| fields::size_of::<L>(mpi, result, datatype));
        R::part(span, call, result.into(), &[L::long(displacement), sizes[0], sizes[1], file], &[], &[]);
        if result == SUCCESS {
            let mut scratch = Scratch::of::<R>(span, MIN_SCRATCH_BYTES);
            let made = mpi.describe(L::handle(mpi, Handle::Datatype, filetype), &mut scratch);
            R::part(span, Call::MpiFileType, 0, &[file], &[], made);
        }
        tell_hints::<R, L>(span, mpi, result, file, info);
    }
    R::abandon(span);
    result
}

/// `MPI_File_set_info`
pub unsafe fn hint_file<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    file: L::Handle,
    info: L::Handle,
) -> c_int {
    let Some((span, mpi)) = open::<R>(call) else { return real() };
    let result = real();
    R::returned(span);
    // SAFETY: as the caller vouches.
    unsafe {
        let file = L::handle(mpi, Handle::File, file) as i64;
        R::part(span, call, result.into(), &[file], &[], &[]);
        tell_hints::<R, L>(span, mpi, result, file, info);
    }
    R::abandon(span);
    result
}

/// Behind the record of a call that has given hints: which.
unsafe fn tell_hints<R: Recorder, L: Language>(
    span: R::Open,
    mpi: Mpi,
    result: c_int,
    file: i64,
    info: L::Handle,
) {
    if result != SUCCESS {
        return;
    }
    // SAFETY: the call has accepted the info object; the scratch memory is used by one at a time.
    let hints = unsafe {
        let info = L::handle(mpi, Handle::Info, info);
        mpi.hints(info, &mut Scratch::of::<R>(span, MIN_SCRATCH_BYTES))
    };
    if !hints.is_empty() {
        R::part(span, Call::MpiFileHints, 0, &[file], &[hints], &[]);
    }
}

/// `MPI_File_delete`
pub unsafe fn delete_file<R: Recorder>(
    call: Call,
    real: impl FnOnce() -> c_int,
    name: Ptr,
    length: Option<usize>,
) -> c_int {
    let Some((span, _)) = open::<R>(call) else { return real() };
    let result = real();
    R::returned(span);
    // SAFETY: as the caller vouches.
    leave::<R, _>(span, call, result, &[], &[unsafe { text(result, name, length) }]);
    result
}

/// A name that the call has accepted; empty after a failure.
unsafe fn text<'a>(result: c_int, name: Ptr, length: Option<usize>) -> &'a [u8] {
    if result != SUCCESS || name.is_null() {
        return b"";
    }
    // SAFETY: a name of that length, padded with blanks, or one that ends with a zero.
    unsafe {
        match length {
            // Older compilers pass an `int`, and leave what is above it as it was.
            Some(length) => {
                core::slice::from_raw_parts(name.cast::<u8>(), length as u32 as usize).trim_ascii_end()
            }
            None => CStr::from_ptr(name.cast::<c_char>()).to_bytes(),
        }
    }
}
