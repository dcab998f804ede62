//! How a process's recording begins: by the constructor, or by a call before it.

use crate::core::elf;
use crate::recording::process;
use crate::recording::span::note;
use crate::recording::thread::stack::frame_address;
use crate::recording::{detours, thread};
use core::sync::atomic::{AtomicBool, Ordering};

static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// Makes ready what the first record needs, once. The program's own first functions run before all constructors, and before ours
/// those of a library that wants to be first, too: with glibc before 2.34 libpthread is one, and ours then comes last.
#[cold]
#[inline(never)]
#[unsafe(link_section = ".text.startup")]
fn begin_anew() {
    HAS_BEGUN.store(true, Ordering::Relaxed);
    elf::note_started_with();
    let detoured = if process::records_everything() { detours::install() } else { Ok(()) };
    // Before there can be several threads, and before a filter can be in the way.
    let _ = process::machine();
    // The trace begins here, also for a program that makes no call of its own.
    let _ = thread::obtain(frame_address());
    if let Err(reason) = detoured {
        note::unobserved(reason);
    }
    if !process::records_everything() {
        return;
    }
    if elf::is_go_program() {
        note::unobserved(
            b"system calls: a Go program makes them itself; `syn record --backend=ptrace` sees them",
        );
    }
    if elf::is_started_with(b"/liboshmem.so") {
        note::unobserved(b"calls of OpenSHMEM, and what they wait for");
    }
}

/// To be called before anything of a process is recorded.
#[inline(always)]
pub fn begin() {
    if !HAS_BEGUN.load(Ordering::Relaxed) && process::is_recording() {
        begin_anew();
    }
}
