//! The functions that programs call. Not counted: what they map themselves.

use crate::counters::{given_back, taken};
use crate::real::{call, is_spare, spare};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// Counts a block that was asked for, and returns it.
unsafe fn count(block: *mut c_void, asked: usize) -> *mut c_void {
    if !block.is_null() {
        // SAFETY: the allocator has just made it.
        taken(asked, unsafe { size_of_block(block) }.unwrap_or(asked));
    }
    block
}

/// What the allocator uses for a block.
unsafe fn size_of_block(block: *mut c_void) -> Option<usize> {
    // SAFETY: a block of the allocator, which is asked.
    unsafe { call::USABLE(block) }
}

macro_rules! allocating {
    ($($name:ident $real:ident ($($argument:ident),*) $asked:expr;)*) => {
        $(
            /// As libc's.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            pub unsafe extern "C" fn $name($($argument: usize),*) -> *mut c_void {
                // SAFETY: the caller's arguments; a block that was just made.
                unsafe {
                    match call::$real($($argument),*) {
                        Some(block) => count(block, $asked),
                        None => spare($asked),
                    }
                }
            }
        )*
    };
}

allocating! {
    malloc MALLOC (size) size;
    calloc CALLOC (count, size) count.saturating_mul(size);
    aligned_alloc ALIGNED_ALLOC (alignment, size) size;
    memalign MEMALIGN (alignment, size) size;
    valloc VALLOC (size) size;
    pvalloc PVALLOC (size) size;
}

/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn posix_memalign(place: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    // SAFETY: the caller's arguments; where there is none, memory is what it says that there is not.
    let result = unsafe { call::POSIX_MEMALIGN(place, alignment, size) }.unwrap_or(libc::ENOMEM);
    if result == 0 {
        // SAFETY: it has filled in the place.
        unsafe { count(*place, size) };
    }
    result
}

/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if is_spare(block) {
        // How long it was is not known; behind it are other spare bytes.
        // SAFETY: a new block, to which what may be the old one's is copied.
        unsafe {
            let new = malloc(size);
            if !new.is_null() {
                std::ptr::copy(block.cast::<u8>(), new.cast(), size.min(64));
            }
            return new;
        }
    }
    // SAFETY: the caller's block, before it may be gone.
    let before = if block.is_null() { None } else { unsafe { size_of_block(block) } };
    // SAFETY: the caller's arguments.
    let Some(new) = (unsafe { call::REALLOC(block, size) }) else { return spare(size) };
    // Without a new one the old one stays, unless nothing was asked for.
    if let Some(before) = before.filter(|_| !new.is_null() || size == 0) {
        given_back(before);
    }
    // SAFETY: a block that was just made.
    unsafe { count(new, size) }
}

/// As libc's: a size that is too large for a number is no memory.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn reallocarray(block: *mut c_void, number: usize, size: usize) -> *mut c_void {
    match number.checked_mul(size) {
        // SAFETY: the caller's arguments.
        Some(size) => unsafe { realloc(block, size) },
        None => {
            // SAFETY: the calling thread's own.
            unsafe { *libc::__errno_location() = libc::ENOMEM };
            null_mut()
        }
    }
}

/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn free(block: *mut c_void) {
    if block.is_null() || is_spare(block) {
        return;
    }
    // SAFETY: the caller's block, which is there until it is given back.
    unsafe {
        if let Some(size) = size_of_block(block) {
            given_back(size);
        }
        call::FREE(block);
    }
}
