//! Child processes that are copies of this one.

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Fails unless the calling process has a single thread: only then may its copy go on as a whole program.
///
/// # Errors
/// When there are more threads.
pub fn require_one_thread() -> anyhow::Result<()> {
    let threads = std::fs::read_dir("/proc/self/task").context("cannot list /proc/self/task")?.count();
    if threads != 1 {
        bail!(
            "a replay with local processes forks, so it must be started with one thread; there are {threads}"
        );
    }
    Ok(())
}

/// Forks; runs `body` in the child, which ends with the status that it returns. Returns the child's process id. A
/// child does not survive its parent.
///
/// # Errors
/// When the process limit is reached or memory is short.
pub fn fork(body: impl FnOnce() -> i32) -> anyhow::Result<Pid> {
    let parent = getpid();
    // SAFETY: `require_one_thread` was asked before, and threads started since then have been joined, so no lock is
    // held by a thread that does not exist in the child.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()).context("cannot start a process (see `ulimit -u`)"),
        0 => {
            // The parent may have ended before the signal was asked for.
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            let orphan = getppid() != Some(parent);
            // A panic must not unwind into what the parent does after the fork.
            let status = if orphan { 1 } else { catch_unwind(AssertUnwindSafe(body)).unwrap_or(1) };
            exit_now(status)
        }
        child => Pid::from_raw(child).context("fork returned no process id"),
    }
}

/// Whether something holds in a child that has one thread.
#[cfg(test)]
pub fn holds_alone(what: impl FnOnce() -> bool) -> bool {
    let child = fork(|| i32::from(!what())).expect("a process");
    let ended = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
    ended.expect("a child of ours").is_some_and(|(_, status)| status.exit_status() == Some(0))
}

/// Ends the calling process at once: destructors and exit handlers are the parent's.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: takes no pointers and does not return.
    unsafe { libc::_exit(status) }
}
