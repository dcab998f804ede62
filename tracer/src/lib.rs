//! The second recorder: for programs that no library can be preloaded into (statically linked ones, Go, set-user-ID
//! programs) and for system calls that pass by every library. It writes the same run folder as the shim.
//!
//! ```text
//! start      fork, filter, exec             the child installs the filter, which every thread below it inherits
//! filter     which calls stop a thread      those without a record run at full speed
//! ptrace     stops                          entry, exit, new thread, new image, signal, end
//! tree       what a stop means              one loop over all threads of all processes
//!  ├ process    one image: its mappings, handlers, first records
//!  ├ thread     a call under way, times and CPU readings
//!  └ context    the memory and the descriptors behind a call   (syn_trace::system_calls decodes it)
//! file       a thread's records             mapped, a record is there entirely or not at all
//!  └ image     the file of a process image
//! cost       what a stop costs              measured at start, for the files' headers and the CPU times
//! ```
//!
//! A system call is what is recorded, so `fopen` appears as the `openat` in it, `pthread_create` as `clone`,
//! `pthread_mutex_lock` as the `futex` it had to wait in; MPI does not appear, only what it does to get there. A call
//! that a signal interrupted and that the kernel goes on with afterwards is one record, unless the handler makes
//! recorded calls of its own.
//!
//! All threads are served by the one thread that traces them: where several make calls at once, they wait for each
//! other. Recording goes on until the last process of the tree has ended: whoever outlives its tracer would find every
//! call with a record failing.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod clock;
mod context;
mod cost;
mod descriptors;
mod error;
mod file;
mod filter;
mod image;
mod inherited;
mod memory;
mod process;
mod ptrace;
mod start;
mod thread;
mod tree;

pub use error::Error;
pub use inherited::hand_down;
pub use ptrace::Ended;
use std::ffi::OsString;
use std::path::Path;
pub use tree::Unmade;

/// Runs a command and records it into `folder`, with everything that it starts; returns when all of that has ended.
/// `started` is told the command's process id, for passing signals on to it; `ended`, that there is no such process any
/// more. Returns how the command ended, and which traces could not be made.
///
/// # Errors
/// [`Error`] when the command cannot be started or traced. What goes wrong with a trace later on is counted in it.
pub fn run(
    command: &[OsString],
    folder: &Path,
    started: impl FnOnce(u32),
    ended: impl FnOnce(),
) -> Result<(Ended, Option<Unmade>), Error> {
    let command = start::Command::new(command)?;
    inherited::ignore_size_limit();
    let costs = cost::measure()?;
    let body = start::Body::Command(&command);
    let child = start::start(body)?;
    started(child.pid() as u32);
    let tree = tree::Tree::new(folder, costs, child.pid());
    let released = child.release();
    let how = tree.follow(ended);
    // The child tells why it could not become the command.
    released?.succeeded(body)?;
    how
}
