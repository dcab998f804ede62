//! `libsynshim.so`: the recorder that is preloaded into unmodified programs.
//!
//! Rules of this library, which runs inside other people's programs:
//!
//! 1. A result is never changed, errno is never changed, no descriptor of ours stays open.
//! 2. Between entry and return of a hook there is no lock, no allocation, and no system call on the usual path.
//! 3. No libc function that we hook is called from here: system calls are made directly (`core::sys`).
//! 4. No panic, no thread-local with a destructor, nothing on a hook's frame that needs dropping.
//! 5. User pointers are read only after the real call has read them (but for libc's `environ` in a process with one thread).
//! 6. What cannot be recorded is counted, in the trace.
//!
//! Tables that most processes never touch lie together (section `.bss.tables`, behind the other statics), and
//! so do the functions that run at the start and the end of every process (section `.text.startup`): what is touched then
//! shares a few pages, each of which costs every process a page fault.
//!
//! The life of one call:
//!
//! ```text
//! hook            hooks/*                C arguments               one line per call
//!  │ enter        recording/span         this thread's state, start ticks, CPU reading after a long gap
//!  │ real call    core/real              the next library's function, or a trampoline into libc (core/detour)
//!  │ returned     recording/span         end ticks
//!  └ leave        recording/span/append  record at the cursor, committed by one store (syn_trace::record)
//!                 recording/thread       … another chunk of the process's file, now and then
//! ```
//!
//! A file stands above all that it uses: hooks above io_uring and page scans, these above recording, that above throttle and core.

#![allow(clippy::missing_safety_doc)]
// In the program of the unit tests nothing is exported, and so hardly anything is used.
#![cfg_attr(test, allow(dead_code, non_snake_case, unused_imports, unused_macros))]

mod core;
mod recording;
mod throttle;

mod hooks;
#[cfg_attr(not(feature = "io-uring"), path = "io_uring_absent.rs")]
mod io_uring;
#[cfg_attr(not(feature = "page-scans"), path = "page_scans_absent.rs")]
mod page_scans;

use crate::core::elf;
use ::core::ffi::{c_char, c_int};
use recording::beginning;
use recording::process::{self, settings};

/// The constructor. It is linked to run before those of all other libraries (`-z initfirst`), libc's own among them,
/// so that what they do is seen; libc sets `environ` only after it. glibc's loader hands constructors what `main` gets.
#[unsafe(link_section = ".text.startup")]
extern "C" fn begin(count: c_int, arguments: *const *const c_char) {
    // First what writes: a page that is read before it is written to costs two faults.
    settings::note_arguments(count, arguments);
    elf::note_started_with();
    // Calls of MPI go on through our entry points also where nothing is recorded.
    hooks::mpi::prepare();
    if process::is_recording() {
        hooks::threads::prepare();
        beginning::begin();
        hooks::loading::objects::tell_started_with();
    }
}

/// The destructor, for the orderly end of a process whose `_exit` could not be detoured.
#[unsafe(link_section = ".text.startup")]
extern "C" fn finish() {
    hooks::processes::exit::end_at_unload();
}

#[cfg_attr(not(test), used)]
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
#[cfg_attr(test, allow(dead_code))]
static BEGIN: extern "C" fn(c_int, *const *const c_char) = begin;

#[cfg_attr(not(test), used)]
#[cfg_attr(test, allow(dead_code))]
#[cfg_attr(not(test), unsafe(link_section = ".fini_array"))]
static FINISH: extern "C" fn() = finish;
