//! What the command is to find of two signals is what this program has found: Rust's runtime ignores SIGPIPE before `main`, and
//! [`ignore_size_limit`] ignores SIGXFSZ.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the signals were ignored when this program started.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);
static SIZE_IGNORED: AtomicBool = AtomicBool::new(false);

/// The dynamic loader or libc calls this before `main`.
#[used]
// SAFETY: the section holds pointers to functions of this kind.
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    PIPE_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    SIZE_IGNORED.store(is_ignored(libc::SIGXFSZ), Ordering::Relaxed);
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: zeros are a valid action, which the call fills in.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// A file longer than RLIMIT_FSIZE allows is an error (EFBIG), and does not end this program.
pub fn ignore_size_limit() {
    // SAFETY: no handler is installed.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// In a forked child, which may make only async-signal-safe calls: as this program was started.
pub fn restore() {
    for (signal, ignored) in [(libc::SIGPIPE, &PIPE_IGNORED), (libc::SIGXFSZ, &SIZE_IGNORED)] {
        let action = if ignored.load(Ordering::Relaxed) { libc::SIG_IGN } else { libc::SIG_DFL };
        // SAFETY: no handler is installed.
        unsafe { libc::signal(signal, action) };
    }
}

/// The command starts with these signals as this program did, where [`Command`] would not do that by itself.
pub fn hand_down(command: &mut Command) {
    if PIPE_IGNORED.load(Ordering::Relaxed) {
        // SAFETY: `restore` makes async-signal-safe calls only.
        unsafe {
            command.pre_exec(|| {
                restore();
                Ok(())
            })
        };
    }
}
