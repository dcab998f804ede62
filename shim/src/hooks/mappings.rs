//! Files mapped into memory.
//!
//! Only mappings of files, and of memory that processes share, are recorded. What allocators do all the time, anonymous
//! memory of their own, costs a look at two flags (`mmap`) or at a counter (`munmap`), and enters nothing: allocators call
//! while they hold their locks, and before any constructor has run. Loads and stores in a mapping make no call; which pages
//! they touched is asked of the page tables before a call that takes pages away or writes them back
//! ([`crate::page_scans`]), and at the end of the process.
//!
//! Libraries that patch these functions (allocators, those of networks) are called in their place, and make the system call
//! themselves, by libc's `syscall` or by what they have moved of the function: that is the call which is on record already
//! ([`crate::recording::library_calls`]).
//!
//! Not seen: what the loader maps (`loading/objects.rs` tells of some); `remap_file_pages`, which Linux only emulates;
//! `process_madvise`, which is advice to another process.

mod placing;

use super::files::ErrorNumber;
use super::hooks;
use crate::core::real::Outcome;
use crate::page_scans;
use crate::recording::library_calls::{Library, inside, is_inside};
use crate::recording::mappings::{self as table, PAGE, end_of, inherited};
use crate::recording::span::{self, Span};
use core::ffi::{c_int, c_uint};
use libc::off_t;
pub(super) use placing::{map, note_overflow, remap, unmap};
use syn_trace::calls::Call;
use syn_trace::record::Flags;

/// Sends exported functions, and libc's own calls of them (behind `+`), to one of the functions above.
macro_rules! send {
    (@exported $body:ident $sig:tt $ret:ty, $($name:ident)+) => { $( send!(@one $body $sig $ret, $name); )+ };
    (@one $body:ident ($($arg:ident : $ty:ty),*) $ret:ty, $name:ident) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
            let Some(address) = super::real!($name).present_address() else { return super::missing() };
            // SAFETY: the function behind this name has this type; it gets the caller's own arguments.
            unsafe { $body(core::mem::transmute::<usize, unsafe extern "C-unwind" fn($($ty),*) -> $ret>(address), 0, $($arg),*) }
        }
    };
    (@inner $body:ident $sig:tt $ret:ty,) => {};
    (@inner $body:ident ($($arg:ident : $ty:ty),*) $ret:ty, $name:literal $number:ident) => {
        const _: () = {
            type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
            unsafe extern "C-unwind" fn hook($($arg: $ty),*) -> $ret {
                let Some(address) = INNER.address() else { return super::missing() };
                // SAFETY: the trampoline does what the function of this name does.
                unsafe { $body(core::mem::transmute::<usize, Function>(address), syn_trace::record::INNER, $($arg),*) }
            }
            #[used]
            #[unsafe(link_section = "syn_inners")]
            static INNER: crate::core::real::Inner = crate::core::real::Inner::of_system_call(
                $name,
                // SAFETY: only the address is used, as the target of a jump from the function with this type.
                unsafe { core::mem::transmute::<Function, crate::core::real::usize_fn>(hook) },
                libc::$number,
            );
        };
    };
    ($( $body:ident: $($name:ident)|+ $(+ $inner:literal $number:ident)? ($($sig:tt)*) -> $ret:ty; )*) => { $(
        send!(@exported $body ($($sig)*) $ret, $($name)+);
        send!(@inner $body ($($sig)*) $ret, $($inner $number)?);
    )* };
}

send! {
    map: mmap | mmap64 + c"mmap64" SYS_mmap
        (address: usize, bytes: usize, protection: c_int, flags: c_int, fd: c_int, offset: off_t) -> isize;
    unmap: munmap + c"munmap" SYS_munmap (address: usize, bytes: usize) -> c_int;
    // The last argument is there only with MREMAP_FIXED; as a fixed one it goes on unread.
    remap: mremap (address: usize, old_bytes: usize, new_bytes: usize, flags: c_int, new_address: usize) -> isize;
    protect: mprotect (address: usize, bytes: usize, protection: c_int) -> c_int;
    protect_with_key: pkey_mprotect (address: usize, bytes: usize, protection: c_int, key: c_int) -> c_int;
}

/// Not recorded: that a mapping has become writable tells how its pages are to be read later.
#[inline(always)]
pub(super) unsafe fn protect(
    real: unsafe extern "C-unwind" fn(usize, usize, c_int) -> c_int,
    _: Flags,
    address: usize,
    bytes: usize,
    protection: c_int,
) -> c_int {
    // SAFETY: the caller's own arguments.
    let result = unsafe { real(address, bytes, protection) };
    note_protection(address, bytes, protection, result);
    result
}

#[inline(always)]
unsafe fn protect_with_key(
    real: unsafe extern "C-unwind" fn(usize, usize, c_int, c_int) -> c_int,
    _: Flags,
    address: usize,
    bytes: usize,
    protection: c_int,
    key: c_int,
) -> c_int {
    // SAFETY: the caller's own arguments.
    let result = unsafe { real(address, bytes, protection, key) };
    note_protection(address, bytes, protection, result);
    result
}

#[inline(always)]
fn note_protection(address: usize, bytes: usize, protection: c_int, result: c_int) {
    let end = end_of(address, bytes);
    if result == 0 && protection & libc::PROT_WRITE != 0 && table::overlaps(address, end) {
        table::set_writable(address, end);
    }
}

/// Declares calls that are recorded where they are about a mapping of a file, and what is found out before them.
macro_rules! about_files {
    ($( $call:ident: $name:ident $(= $body:ident)? ($address:ident : usize, $bytes:ident : usize $(, $arg:ident : $ty:ty)*) -> $ret:ty,
        [$($number:expr),*] $(, before $before:expr)?; )*) => { $(
        about_files!(@body $call $name $($body)? ($address, $bytes $(, $arg: $ty)*) $ret, [$($number),*], $($before)?);
    )* };
    // What has a system call of its own has its body in a function of its own.
    (@body $call:ident $name:ident $body:ident ($address:ident, $bytes:ident $(, $arg:ident : $ty:ty)*) $ret:ty, $numbers:tt, $($before:expr)?) => {
        /// By `real`, which does what the function of nearly this name does.
        #[allow(clippy::missing_safety_doc)]
        pub(super) unsafe fn $body(
            real: unsafe extern "C-unwind" fn(usize, usize $(, $ty)*) -> $ret, $address: usize, $bytes: usize $(, $arg: $ty)*
        ) -> $ret {
            about_files!(@record $call real ($address, $bytes $(, $arg)*) $numbers, $($before)?)
        }
        about_files!(@exported $name ($address, $bytes $(, $arg: $ty)*) $ret, |real| $body(real, $address, $bytes $(, $arg)*));
    };
    (@body $call:ident $name:ident ($address:ident, $bytes:ident $(, $arg:ident : $ty:ty)*) $ret:ty, $numbers:tt, $($before:expr)?) => {
        about_files!(@exported $name ($address, $bytes $(, $arg: $ty)*) $ret,
            |real| about_files!(@record $call real ($address, $bytes $(, $arg)*) $numbers, $($before)?));
    };
    (@exported $name:ident ($address:ident, $bytes:ident $(, $arg:ident : $ty:ty)*) $ret:ty, |$real:ident| $then:expr) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name($address: usize, $bytes: usize $(, $arg: $ty)*) -> $ret {
            type Function = unsafe extern "C-unwind" fn(usize, usize $(, $ty)*) -> $ret;
            let Some(function) = super::real!($name).address() else { return super::missing() };
            // SAFETY: the function behind this name has this type; it gets the caller's own arguments.
            #[allow(unused_unsafe)]
            unsafe {
                let $real = core::mem::transmute::<usize, Function>(function);
                $then
            }
        }
    };
    (@record $call:ident $real:ident ($address:ident, $bytes:ident $(, $arg:ident)*) [$($number:expr),*], $($before:expr)?) => {{
            let (start, end) = ($address & !(PAGE - 1), end_of($address, $bytes));
            let library = Library::Memory(Call::$call, $address as i64);
            let concerns_file = table::overlaps(start, end) && !is_inside(library);
            let span = if concerns_file { span::enter(Call::$call, 0) } else { None };
            // SAFETY: the caller's own arguments.
            let Some(mut span) = span else { return unsafe { $real($address, $bytes $(, $arg)*) } };
            inherited::introduce(&mut span, start, end);
            $( $before(&mut span, start, end); )?
            // SAFETY: as above.
            let result = inside(library, || unsafe { $real($address, $bytes $(, $arg)*) });
            span.returned();
            let failed = result.failed();
            let outcome = if failed { span::errno() } else { result.number() };
            span.leave(Call::$call, failed, outcome, &[$address as i64, $bytes as i64, $($number),*], &[], &[]);
            result
    }};
}

about_files! {
    Msync: msync = sync_file (address: usize, bytes: usize, flags: c_int) -> c_int, [i64::from(flags)],
        before |span: &mut Span, start, end| {
            // MS_ASYNC alone does nothing.
            if flags & libc::MS_SYNC != 0 {
                page_scans::tell_while_cheap(span, start, end);
            }
        };
    Madvise: madvise = advise (address: usize, bytes: usize, advice: c_int) -> c_int, [i64::from(advice)],
        before |span: &mut Span, start, end| {
            const TAKES_PAGES_AWAY: [c_int; 4] =
                [libc::MADV_DONTNEED, MADV_DONTNEED_LOCKED, libc::MADV_REMOVE, libc::MADV_PAGEOUT];
            if TAKES_PAGES_AWAY.contains(&advice) {
                page_scans::tell(span, start, end);
            }
        };
    Madvise: posix_madvise (address: usize, bytes: usize, advice: c_int) -> ErrorNumber, [i64::from(advice)];
    Mincore: mincore = ask_core (address: usize, bytes: usize, vec: *mut u8) -> c_int, [];
    Mlock: mlock (address: usize, bytes: usize) -> c_int, [0];
    Mlock: mlock2 (address: usize, bytes: usize, flags: c_uint) -> c_int, [i64::from(flags)];
    Munlock: munlock (address: usize, bytes: usize) -> c_int, [];
}

/// Not yet in the libc crate; since Linux 5.18.
const MADV_DONTNEED_LOCKED: c_int = 24;

hooks! {
    Mlockall: mlockall (flags: c_int) -> result: c_int, [flags as i64], [];
    Munlockall: munlockall () -> result: c_int, [], [];
}
