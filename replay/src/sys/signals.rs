//! Waiting for the end of a child and for an interrupt at once, without a signal handler: the signals are blocked,
//! and fetched when it suits.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::time::Duration;

const INTERRUPTS: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Keeps interrupts and the ends of children until they are asked for. Forked children inherit the block, so an
/// interrupt from the terminal is their parent's to handle.
pub struct Signals {
    before: libc::sigset_t,
    interrupts: libc::sigset_t,
    all: libc::sigset_t,
    interrupted: Cell<bool>,
}

impl Signals {
    /// Blocks the signals for the calling thread and those it starts.
    pub fn block() -> Signals {
        let interrupts = set_of(&INTERRUPTS);
        let all = set_of(&[&INTERRUPTS[..], &[libc::SIGCHLD]].concat());
        let mut before = set_of(&[]);
        // SAFETY: both sets are initialised and live on this frame. The default action of SIGCHLD keeps the status of
        // ended children, which an inherited `SIG_IGN` would throw away.
        unsafe {
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            libc::pthread_sigmask(libc::SIG_BLOCK, &all, &mut before);
        }
        Signals { before, interrupts, all, interrupted: Cell::new(false) }
    }

    /// True when someone asked this process to end since the signals were blocked.
    pub fn interrupted(&self) -> bool {
        self.fetch(&self.interrupts, Duration::ZERO);
        self.interrupted.get()
    }

    /// Waits until a child ended or an interrupt came, at most for `timeout`.
    pub fn wait(&self, timeout: Duration) {
        self.fetch(&self.all, timeout);
    }

    fn fetch(&self, set: &libc::sigset_t, timeout: Duration) {
        let timeout = libc::timespec {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_nsec: timeout.subsec_nanos().into(),
        };
        // SAFETY: `set` and `timeout` are initialised; no information about the signal is asked for.
        let signal = unsafe { libc::sigtimedwait(set, std::ptr::null_mut(), &timeout) };
        if INTERRUPTS.contains(&signal) {
            self.interrupted.set(true);
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: `before` was filled in by the kernel when the signals were blocked.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set before anything else touches it; the numbers are valid signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}
