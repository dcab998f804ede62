//! Files mapped into memory.
//!
//! Only mappings of files are recorded. What allocators do all the time, anonymous memory, costs a look at a flag
//! (`mmap`) or at a counter (`munmap`), and enters nothing: allocators call while they hold their locks, and before any
//! constructor has run. Loads and stores in a mapping make no call; which pages they touched is asked of the page tables
//! before a call that takes pages away or writes them back ([`touched`]), and at the end of the process.
//!
//! Not seen: libraries, which the loader maps by system calls of its own; `remap_file_pages`, which Linux only emulates;
//! `process_madvise`, which is advice to another process.

mod maps;
mod pagemap;
mod table;
mod touched;

use super::files::ErrorNumber;
use super::{hooks, rings, status_of};
use crate::process;
use crate::real::Outcome;
use crate::span::{self, Span};
use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicBool, Ordering};
use libc::off_t;
use syn_trace::calls::Call;
use table::{DATA, Mapping, PAGE, SHARED, WRITABLE};

/// The address behind `bytes` at `start`, to the end of its page.
fn end_of(start: usize, bytes: usize) -> usize {
    start.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(PAGE)).unwrap_or(usize::MAX)
}

/// True when the kernel takes these for a part of memory: otherwise the call fails and changes nothing.
fn is_range(start: usize, bytes: usize) -> bool {
    start.is_multiple_of(PAGE) && bytes != 0
}

/// The traits of a mapping with these arguments of mmap(2).
fn traits_of(fd: c_int, protection: c_int, flags: c_int) -> u32 {
    let mode = if process::is_confined() { 0 } else { status_of(fd)[0] };
    let is_data = [libc::S_IFREG, libc::S_IFBLK].contains(&(mode as u32 & libc::S_IFMT));
    let mut traits = if is_data { DATA } else { 0 };
    // MAP_SHARED_VALIDATE has the bit of MAP_SHARED too.
    if flags & libc::MAP_SHARED != 0 {
        traits |= SHARED;
    }
    if protection & libc::PROT_WRITE != 0 {
        traits |= WRITABLE;
    }
    traits
}

/// Says once that there are more mappings than can be followed.
#[cold]
fn note_overflow(span: &Span) {
    static NOTED: AtomicBool = AtomicBool::new(false);
    if !NOTED.swap(true, Ordering::Relaxed) {
        let what: &[u8] =
            b"mapped files: more than 4096 at a time; calls about the further ones are not recorded";
        // SAFETY: this thread's state, while the hook runs.
        span::note(unsafe { &mut *span.state() }, Call::Unobserved, 0, &[], &[what]);
    }
}

/// What is left of mappings of files at the end of the process image.
pub fn tell_all_touched(span: &mut Span) {
    touched::look(span, 0, usize::MAX);
}

type MapFunction = unsafe extern "C-unwind" fn(usize, usize, c_int, c_int, c_int, off_t) -> isize;
type UnmapFunction = unsafe extern "C-unwind" fn(usize, usize) -> c_int;
type RemapFunction = unsafe extern "C-unwind" fn(usize, usize, usize, c_int, usize) -> isize;

#[inline(always)]
unsafe fn map(
    real: MapFunction,
    from: u8,
    address: usize,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> isize {
    let anonymous = flags & libc::MAP_ANONYMOUS != 0;
    if anonymous && (flags & libc::MAP_FIXED == 0 || !table::overlaps(address, end_of(address, bytes))) {
        // SAFETY: the caller's own arguments.
        return unsafe { real(address, bytes, protection, flags, fd, offset) };
    }
    let fd = if anonymous { -1 } else { fd };
    // SAFETY: as above; the kernel ignores the descriptor of anonymous memory.
    unsafe { map_file(real, from, address, bytes, protection, flags, fd, offset) }
}

#[cold]
#[inline(never)]
#[allow(clippy::too_many_arguments)]
unsafe fn map_file(
    real: MapFunction,
    from: u8,
    address: usize,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> isize {
    let end = end_of(address, bytes);
    // MAP_FIXED takes the place of what is there, if it succeeds.
    let replaces = flags & libc::MAP_FIXED != 0 && is_range(address, bytes);
    let mut span = span::enter(Call::Mmap, from);
    if replaces {
        if let Some(span) = &mut span {
            touched::introduce(span, address, end);
            touched::tell(span, address, end);
        }
        table::mark(address, end);
    }
    // SAFETY: the caller's own arguments.
    let result = unsafe { real(address, bytes, protection, flags, fd, offset) };
    if let Some(span) = &mut span {
        span.returned();
    }
    let failed = result == -1;
    let mut kept_all = failed || !replaces || table::remove(address, end);
    let Some(span) = span else { return result };
    if !failed && fd >= 0 {
        let start = result as usize;
        let traits = traits_of(fd, protection, flags);
        let mapping = Mapping {
            start,
            end: end_of(start, bytes),
            offset: offset as u64,
            traits,
            owner: process::pid(),
        };
        touched::begin();
        kept_all &= table::insert(mapping);
        rings::ring_mapped(fd, offset, start);
    }
    let numbers = [i64::from(fd), bytes as i64, i64::from(protection), i64::from(flags), offset];
    if !kept_all {
        note_overflow(&span);
    }
    span.leave(Call::Mmap, failed, if failed { span::errno() } else { result as i64 }, &numbers, &[], &[]);
    result
}

#[inline(always)]
unsafe fn unmap(real: UnmapFunction, from: u8, address: usize, bytes: usize) -> c_int {
    if !table::overlaps(address, end_of(address, bytes)) {
        // SAFETY: the caller's own arguments.
        return unsafe { real(address, bytes) };
    }
    // SAFETY: as above.
    unsafe { unmap_file(real, from, address, bytes) }
}

#[cold]
#[inline(never)]
unsafe fn unmap_file(real: UnmapFunction, from: u8, address: usize, bytes: usize) -> c_int {
    let end = end_of(address, bytes);
    rings::ring_unmapped(address, bytes);
    let mut span = span::enter(Call::Munmap, from);
    if is_range(address, bytes) {
        if let Some(span) = &mut span {
            touched::introduce(span, address, end);
            touched::tell(span, address, end);
        }
        table::mark(address, end);
    }
    // SAFETY: the caller's own arguments.
    let result = unsafe { real(address, bytes) };
    if let Some(span) = &mut span {
        span.returned();
    }
    let failed = result != 0;
    let kept_all = failed || table::remove(address, end);
    if let Some(span) = span {
        if !kept_all {
            note_overflow(&span);
        }
        let outcome = if failed { span::errno() } else { 0 };
        span.leave(Call::Munmap, failed, outcome, &[address as i64, bytes as i64], &[], &[]);
    }
    result
}

#[inline(always)]
unsafe fn remap(
    real: RemapFunction,
    from: u8,
    address: usize,
    old_bytes: usize,
    new_bytes: usize,
    flags: c_int,
    new_address: usize,
) -> isize {
    let fixed = flags & libc::MREMAP_FIXED != 0;
    if !table::overlaps(address, end_of(address, old_bytes.max(1)))
        && !(fixed && table::overlaps(new_address, end_of(new_address, new_bytes)))
    {
        // SAFETY: the caller's own arguments.
        return unsafe { real(address, old_bytes, new_bytes, flags, new_address) };
    }
    // SAFETY: as above.
    unsafe { remap_file(real, from, address, old_bytes, new_bytes, flags, new_address) }
}

#[cold]
#[inline(never)]
unsafe fn remap_file(
    real: RemapFunction,
    from: u8,
    address: usize,
    old_bytes: usize,
    new_bytes: usize,
    flags: c_int,
    new_address: usize,
) -> isize {
    let (old_end, cut) = (end_of(address, old_bytes), end_of(address, new_bytes));
    let new_end = end_of(new_address, new_bytes);
    let replaces = flags & libc::MREMAP_FIXED != 0 && is_range(new_address, new_bytes);
    let mut span = span::enter(Call::Mremap, from);
    if let Some(span) = &mut span {
        touched::introduce(span, address, end_of(address, old_bytes.max(1)));
        // What is cut off, and what is replaced.
        if cut < old_end {
            touched::tell(span, cut, old_end);
        }
        if replaces {
            touched::introduce(span, new_address, new_end);
            touched::tell(span, new_address, new_end);
        }
    }
    table::mark(address, end_of(address, old_bytes.max(1)));
    if replaces {
        table::mark(new_address, new_end);
    }
    // SAFETY: the caller's own arguments.
    let result = unsafe { real(address, old_bytes, new_bytes, flags, new_address) };
    if let Some(span) = &mut span {
        span.returned();
    }
    let failed = result == -1;
    if !failed {
        let (old_bytes, new_bytes) = (old_end - address, end_of(0, new_bytes));
        let keeps = old_bytes == 0 || flags & libc::MREMAP_DONTUNMAP != 0;
        let kept_all = (!replaces || table::remove(new_address, new_end))
            & table::relocate(address, old_bytes, result as usize, new_bytes, keeps);
        if let (false, Some(span)) = (kept_all, &span) {
            note_overflow(span);
        }
    }
    if let Some(span) = span {
        let outcome = if failed { span::errno() } else { result as i64 };
        let numbers = [address as i64, old_bytes as i64, new_bytes as i64, i64::from(flags)];
        span.leave(Call::Mremap, failed, outcome, &numbers, &[], &[]);
    }
    result
}

/// Sends exported functions, and libc's own calls of them (behind `+`), to one of the functions above.
macro_rules! send {
    (@exported $body:ident $sig:tt $ret:ty, $($name:ident)+) => { $( send!(@one $body $sig $ret, $name); )+ };
    (@one $body:ident ($($arg:ident : $ty:ty),*) $ret:ty, $name:ident) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
            let Some(address) = super::real!($name).address() else { return super::missing() };
            // SAFETY: the function behind this name has this type; it gets the caller's own arguments.
            unsafe { $body(core::mem::transmute::<usize, unsafe extern "C-unwind" fn($($ty),*) -> $ret>(address), 0, $($arg),*) }
        }
    };
    (@inner $body:ident $sig:tt $ret:ty,) => {};
    (@inner $body:ident ($($arg:ident : $ty:ty),*) $ret:ty, $name:literal) => {
        const _: () = {
            type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
            unsafe extern "C-unwind" fn hook($($arg: $ty),*) -> $ret {
                let Some(address) = INNER.real.address() else { return super::missing() };
                // SAFETY: the trampoline does what the function of this name does.
                unsafe { $body(core::mem::transmute::<usize, Function>(address), syn_trace::record::INNER, $($arg),*) }
            }
            static INNER: crate::real::Inner = crate::real::Inner {
                real: crate::real::Real::new($name),
                // SAFETY: only the address is used, as the target of a jump from the function with this type.
                hook: unsafe { core::mem::transmute::<Function, crate::real::usize_fn>(hook) },
            };
            #[used]
            #[unsafe(link_section = "syn_inners")]
            static ENTRY: &crate::real::Inner = &INNER;
        };
    };
    ($( $body:ident: $($name:ident)|+ $(+ $inner:literal)? ($($sig:tt)*) -> $ret:ty; )*) => { $(
        send!(@exported $body ($($sig)*) $ret, $($name)+);
        send!(@inner $body ($($sig)*) $ret, $($inner)?);
    )* };
}

send! {
    map: mmap | mmap64 + c"mmap64"
        (address: usize, bytes: usize, protection: c_int, flags: c_int, fd: c_int, offset: off_t) -> isize;
    unmap: munmap + c"munmap" (address: usize, bytes: usize) -> c_int;
    // The last argument is there only with MREMAP_FIXED; as a fixed one it goes on unread.
    remap: mremap (address: usize, old_bytes: usize, new_bytes: usize, flags: c_int, new_address: usize) -> isize;
    protect: mprotect (address: usize, bytes: usize, protection: c_int) -> c_int;
    protect_with_key: pkey_mprotect (address: usize, bytes: usize, protection: c_int, key: c_int) -> c_int;
}

/// Not recorded: that a mapping has become writable tells how its pages are to be read later.
#[inline(always)]
unsafe fn protect(
    real: unsafe extern "C-unwind" fn(usize, usize, c_int) -> c_int,
    _: u8,
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
    _: u8,
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
    ($( $call:ident: $name:ident ($address:ident : usize, $bytes:ident : usize $(, $arg:ident : $ty:ty)*) -> $ret:ty,
        [$($number:expr),*] $(, before $before:expr)?; )*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name($address: usize, $bytes: usize $(, $arg: $ty)*) -> $ret {
            type Function = unsafe extern "C-unwind" fn(usize, usize $(, $ty)*) -> $ret;
            let Some(function) = super::real!($name).address() else { return super::missing() };
            // SAFETY: the function behind this name has this type.
            let real = unsafe { core::mem::transmute::<usize, Function>(function) };
            let (start, end) = ($address & !(PAGE - 1), end_of($address, $bytes));
            let span = if table::overlaps(start, end) { span::enter(Call::$call, 0) } else { None };
            // SAFETY: the caller's own arguments.
            let Some(mut span) = span else { return unsafe { real($address, $bytes $(, $arg)*) } };
            touched::introduce(&mut span, start, end);
            $( $before(&mut span, start, end); )?
            // SAFETY: as above.
            let result = unsafe { real($address, $bytes $(, $arg)*) };
            span.returned();
            let failed = result.failed();
            let outcome = if failed { span::errno() } else { result.number() };
            span.leave(Call::$call, failed, outcome, &[$address as i64, $bytes as i64, $($number),*], &[], &[]);
            result
        }
    )* };
}

about_files! {
    Msync: msync (address: usize, bytes: usize, flags: c_int) -> c_int, [i64::from(flags)],
        before |span: &mut Span, start, end| {
            // MS_ASYNC alone does nothing.
            if flags & libc::MS_SYNC != 0 {
                touched::tell_before_sync(span, start, end);
            }
        };
    Madvise: madvise (address: usize, bytes: usize, advice: c_int) -> c_int, [i64::from(advice)],
        before |span: &mut Span, start, end| {
            const TAKES_PAGES_AWAY: [c_int; 4] =
                [libc::MADV_DONTNEED, MADV_DONTNEED_LOCKED, libc::MADV_REMOVE, libc::MADV_PAGEOUT];
            if TAKES_PAGES_AWAY.contains(&advice) {
                touched::tell(span, start, end);
            }
        };
    Madvise: posix_madvise (address: usize, bytes: usize, advice: c_int) -> ErrorNumber, [i64::from(advice)];
    Mincore: mincore (address: usize, bytes: usize, vec: *mut u8) -> c_int, [];
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
