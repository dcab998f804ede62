//! C streams, at the level of opening, flushing and closing.
//!
//! What the streams read and write is seen where libc does it: the entry detours record the `read`, `write`,
//! `open`, `lseek` and `close` that libc itself makes. Where the detours could not be placed, `fread` and
//! `fwrite` are recorded in their stead, and the trace says so ([`syn_trace::header::SEES_LIBC_INTERNAL`] is unset).

use super::directories::closes_stream;
use super::metadata::Opaque;
use super::processes::wait;
use super::{hooks, opened_status};
use crate::core::detour;
use crate::recording::thread::current;
use crate::recording::{first_records, span};
use core::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    fn fileno(stream: Opaque) -> c_int;
}

/// The descriptor of a stream, -1 for a null pointer or a stream without one.
///
/// # Safety
/// `stream` is null or an open stream.
unsafe fn descriptor(stream: Opaque) -> i64 {
    if stream.is_null() {
        return -1;
    }
    // SAFETY: as the caller vouches; errno is put back because `fileno` sets it for a stream without a descriptor.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let fd = fileno(stream);
        *errno = before;
        i64::from(fd)
    }
}

/// # Safety
/// `stream` is null or an open stream; `mode` is what it was opened with.
unsafe fn opened(stream: Opaque, mode: *const c_char) -> [i64; 4] {
    // SAFETY: as the caller vouches; a null pointer is no stream's mode.
    let (fd, first) = unsafe { (descriptor(stream), if mode.is_null() { 0 } else { *mode as u8 }) };
    let flags = match first {
        b'w' => libc::O_CREAT | libc::O_TRUNC,
        b'a' => libc::O_CREAT,
        _ => 0,
    };
    let [kind, size, inode] = opened_status(fd as c_int, flags);
    [fd, kind, size, inode]
}

hooks! {
    Fopen: fopen | fopen64 (path: *const c_char, mode: *const c_char) -> stream: Opaque, { opened(stream, mode) }, [path, mode];
    Freopen: freopen | freopen64 (path: *const c_char, mode: *const c_char, old: Opaque) -> stream: Opaque,
        { opened(stream, mode) }, [path, mode];
    Fflush: fflush (stream: Opaque) -> result: c_int, [descriptor(stream)], [];
    Popen quiet: popen (command: *const c_char, kind: *const c_char) -> stream: Opaque, [descriptor(stream)], [command, kind],
        &[], then tell_pipe(stream);
}

/// Which pipe a stream of `popen` is an end of: libc makes it where nobody sees it.
///
/// # Safety
/// `stream` is null or an open stream.
unsafe fn tell_pipe(stream: Opaque) {
    if !stream.is_null()
        && let Some(state) = current::state()
    {
        // SAFETY: as the caller vouches. A pipe has no path.
        first_records::inherited_descriptor(state, unsafe { descriptor(stream) } as c_int, &mut []);
    }
}

closes_stream!(fclose, Fclose, descriptor);
closes_stream!(pclose, Pclose, descriptor, then wait::tell_used(true));

/// Streams as a whole, recorded only where libc's own calls cannot be seen.
macro_rules! without_detours {
    ($($name:ident $call:ident ($($arg:ident : $ty:ty),*) $size:ident $count:ident $stream:ident;)*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> usize {
            type Function = unsafe extern "C-unwind" fn($($ty),*) -> usize;
            let Some(address) = super::real!($name).address() else { return 0 };
            // SAFETY: the function behind this name has this type.
            let real: Function = unsafe { core::mem::transmute::<usize, Function>(address) };
            let span = if detour::in_place() {
                None
            } else {
                span::enter(syn_trace::calls::Call::$call, 0)
            };
            // SAFETY: the caller's own arguments.
            let moved = unsafe { real($($arg),*) };
            if let Some(mut span) = span {
                span.returned();
                // SAFETY: the real call has used the stream.
                let fd = unsafe { descriptor($stream) };
                let numbers = [fd, $size as i64, $count as i64];
                span.leave(syn_trace::calls::Call::$call, false, moved as i64, &numbers, &[], &[]);
            }
            moved
        }
    )* };
}

without_detours! {
    fread Fread (buffer: *mut c_void, size: usize, count: usize, stream: Opaque) size count stream;
    __fread_chk Fread (buffer: *mut c_void, room: usize, size: usize, count: usize, stream: Opaque) size count stream;
    fwrite Fwrite (buffer: *const c_void, size: usize, count: usize, stream: Opaque) size count stream;
}
