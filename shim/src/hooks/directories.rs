//! Reading directories through libc. The `getdents64` that it makes is recorded beside ([`super::transfers`]), and so are
//! those of `scandir`, `ftw`, `fts` and `glob`.
//!
//! Not seen: how `ftw` and `nftw` open the folders below the first, and `scandirat` its own. libc does that in a function
//! without a name, whose entry cannot be found; what is read there is recorded of a descriptor without a path.

use super::hooks;
use super::metadata::Opaque;
use crate::recording::span;
use core::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    fn dirfd(directory: Opaque) -> c_int;
}

/// The descriptor of a directory stream.
///
/// # Safety
/// `directory` is null or an open stream.
unsafe fn descriptor(directory: Opaque) -> i64 {
    // SAFETY: as the caller vouches.
    if directory.is_null() { -1 } else { unsafe { i64::from(dirfd(directory)) } }
}

/// What `readdir` returns: a null pointer at the end is no failure, and libc leaves errno as it was.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Entry(*mut c_void);

impl crate::core::real::Outcome for Entry {
    const MISSING: Entry = Entry(core::ptr::null_mut());
    fn failed(self) -> bool {
        false
    }
    fn number(self) -> i64 {
        i64::from(!self.0.is_null())
    }
}

hooks! {
    Opendir: opendir (path: *const c_char) -> directory: Opaque, [descriptor(directory)], [path];
    Fdopendir: fdopendir (fd: c_int) -> directory: Opaque, [fd as i64], [];
    Readdir: readdir | readdir64 (directory: Opaque) -> entry: Entry, [descriptor(directory)], [];
    Rewinddir: rewinddir (directory: Opaque) -> result: (), [descriptor(directory)], [];
}

/// The stream is gone after the call: its descriptor is read before.
macro_rules! closes_stream {
    ($name:ident, $call:ident, $descriptor:path $(, then $after:expr)?) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name(stream: $crate::hooks::metadata::Opaque) -> core::ffi::c_int {
            type Function = unsafe extern "C-unwind" fn($crate::hooks::metadata::Opaque) -> core::ffi::c_int;
            let Some(address) = $crate::hooks::real!($name).address() else {
                return $crate::hooks::missing();
            };
            // SAFETY: the function behind this name has this type.
            let real: Function = unsafe { core::mem::transmute::<usize, Function>(address) };
            let Some(mut span) = $crate::recording::span::enter(syn_trace::calls::Call::$call, 0) else {
                // SAFETY: the caller's own argument.
                return unsafe { real(stream) };
            };
            // SAFETY: the stream is still open; the real call gets the caller's own argument.
            let (fd, result) = unsafe { ($descriptor(stream), real(stream)) };
            span.returned();
            let failed = result == -1;
            let outcome = if failed { $crate::recording::span::errno() } else { i64::from(result) };
            span.leave(syn_trace::calls::Call::$call, failed, outcome, &[fd], &[], &[]);
            $( $after; )?
            result
        }
    };
}
pub(crate) use closes_stream;

closes_stream!(closedir, Closedir, descriptor);

/// `readdir_r` returns an error number, and by pointer the entry or null.
macro_rules! reads_into_own_memory {
    ($($name:ident),*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name(directory: Opaque, entry: Opaque, result: *mut Opaque) -> c_int {
            type Function = unsafe extern "C-unwind" fn(Opaque, Opaque, *mut Opaque) -> c_int;
            let Some(address) = super::real!($name).address() else {
                return libc::ENOSYS;
            };
            // SAFETY: the function behind this name has this type.
            let real: Function = unsafe { core::mem::transmute::<usize, Function>(address) };
            let Some(mut span) = span::enter(syn_trace::calls::Call::Readdir, 0) else {
                // SAFETY: the caller's own arguments.
                return unsafe { real(directory, entry, result) };
            };
            // SAFETY: the caller's own arguments.
            let error = unsafe { real(directory, entry, result) };
            span.returned();
            let failed = error != 0;
            // SAFETY: the real call has used the stream, and has set the result.
            let (fd, found) = unsafe { (descriptor(directory), i64::from(!(*result).is_null())) };
            let outcome = if failed { i64::from(error) } else { found };
            span.leave(syn_trace::calls::Call::Readdir, failed, outcome, &[fd], &[], &[]);
            error
        }
    )* };
}

reads_into_own_memory!(readdir_r, readdir64_r);
