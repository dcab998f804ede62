//! `libsynalloc.so`: counts what a program allocates, by size, into a file that it shares with the profiler.
//!
//! 1. Every call goes on to the allocator that the program has without this library, and returns what that returns.
//! 2. Nothing is allocated here, and no function of libc is called that the recorder hooks: system calls are made directly.
//! 3. Without `SYN_ALLOCATIONS`, or where its file cannot be mapped, nothing is counted.
//!
//! Counters are added to by all processes of the command at once; a child that is forked has the mapping already.

#![allow(clippy::missing_safety_doc)]
// In the program of the unit tests nothing is exported.
#![cfg_attr(test, allow(dead_code))]

mod counters;
mod hooks;
mod real;

use std::ffi::{CStr, c_char, c_int};
use syn_trace::allocations::VARIABLE;

/// glibc's loader hands constructors what `main` gets. Libc's own `environ` may not be set yet.
extern "C" fn begin(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    real::find();
    let mut at = environment;
    // SAFETY: the environment is a list of strings that ends with a null pointer.
    while let Some(entry) = unsafe { at.as_ref() }.filter(|entry| !entry.is_null()) {
        // SAFETY: an entry of the environment.
        let text = unsafe { CStr::from_ptr(*entry) };
        let value = text.to_bytes_with_nul().strip_prefix(VARIABLE.as_bytes());
        if let Some(path) = value.and_then(|value| value.strip_prefix(b"=")) {
            if let Ok(path) = CStr::from_bytes_with_nul(path) {
                counters::map(path);
            }
            return;
        }
        // SAFETY: it was not the end of the list.
        at = unsafe { at.add(1) };
    }
}

#[cfg(not(test))]
#[used]
// SAFETY: the section holds pointers to functions that the loader calls with these arguments.
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = begin;
