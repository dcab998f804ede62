//! Signals that are meant for the command while it is being recorded.
//!
//! Ctrl-C at a terminal reaches the command by itself, since it is in our process group; a signal that someone
//! sends to us is passed on. Either way we stay until the command has ended, to tell about the run folder.

use crate::output::complain;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithRawSiginfo;
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a signal finds.
#[derive(Clone, Copy)]
enum Phase {
    /// Nothing that could not end here.
    Idle,
    /// A process that it can be sent to: a zombie still counts, a reaped one does not.
    Running(Pid),
    /// The command has ended, and what it was is being told. Ctrl-C may have ended it before it is seen here: it ends us when it comes
    /// once more.
    Telling,
    /// The same, and this signal has come.
    Asked(i32),
}

/// Passes signals on to the command that is running.
pub struct Relay {
    phase: Arc<Mutex<Phase>>,
    interrupted: Arc<AtomicBool>,
    advice: Arc<Mutex<String>>,
}

impl Relay {
    /// Takes over the signals. Without a command running they end this program, as they would have.
    pub fn start() -> io::Result<Relay> {
        // What we were told to ignore (by nohup, or by a shell for what it runs in the background), the command is to ignore as well.
        let ignored = ignored();
        let ours = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];
        let taken = ours.into_iter().filter(|signal| !ignored.contains(signal));
        let mut signals = SignalsInfo::<WithRawSiginfo>::new(taken)?;
        if ignored.contains(&SIGCHLD) {
            // Nobody could see how the command ends. With a handler for it here, the command starts with the default.
            signal_hook::flag::register(SIGCHLD, Arc::default())?;
        }
        let phase = Arc::new(Mutex::new(Phase::Idle));
        let interrupted = Arc::new(AtomicBool::new(false));
        let advice = Arc::new(Mutex::new(String::new()));
        let relay = Relay { phase: phase.clone(), interrupted: interrupted.clone(), advice: advice.clone() };
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for received in signals.forever() {
                let number = received.si_signo;
                let mut phase = lock(&phase);
                if !matches!(number, SIGUSR1 | SIGUSR2) {
                    interrupted.store(true, Ordering::Relaxed);
                }
                match (*phase, Signal::from_named_raw(number)) {
                    (Phase::Telling, _) => *phase = Phase::Asked(number),
                    (Phase::Idle | Phase::Asked(_), _) => {
                        let advice = lock(&advice);
                        if !advice.is_empty() {
                            complain(&advice);
                        }
                        std::process::exit(128 + number)
                    }
                    (Phase::Running(child), Some(signal))
                        if !came_from_terminal(number, received.si_code) =>
                    {
                        // It fails only for a set-user-ID command, which is not ours to stop.
                        let _ = kill_process(child, signal);
                    }
                    _ => {}
                }
            }
        })?;
        Ok(relay)
    }

    /// Starts `command`; no signal gets lost in between.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let mut phase = lock(&self.phase);
        self.interrupted.store(false, Ordering::Relaxed);
        let child = command.spawn()?;
        *phase = Phase::Running(Pid::from_child(&child));
        Ok(child)
    }

    /// The same for a process that somebody else starts, and waits for.
    pub fn begin(&self, pid: u32) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            *lock(&self.phase) = Phase::Running(pid);
        }
    }

    /// There is no such process any more.
    pub fn end(&self) {
        *lock(&self.phase) = Phase::Telling;
    }

    /// All is told about the command, which ended with this code. The exit code to go on with: that of a signal that came meanwhile,
    /// if it is 0, so that nothing more is run.
    pub fn told(&self, code: u8) -> u8 {
        match (code, std::mem::replace(&mut *lock(&self.phase), Phase::Idle)) {
            (0, Phase::Asked(signal)) => 128u8.saturating_add(signal as u8),
            _ => code,
        }
    }

    /// What to say when a signal ends this program. The signal of a terminal may end the command before it is seen here.
    pub fn advise(&self, advice: &str) {
        advice.clone_into(&mut lock(&self.advice));
    }

    /// True when somebody wanted the command that was spawned last to end.
    pub fn was_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Waits for the command. Its process id stays taken until no more signal can be sent to it.
    pub fn wait(&self, child: &mut Child) -> io::Result<ExitStatus> {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(error) = waitid(WaitId::Pid(Pid::from_child(child)), ended) {
            if error != rustix::io::Errno::INTR {
                return Err(error.into());
            }
        }
        self.end();
        child.wait()
    }
}

/// The signals that this program ignores: `SigIgn` in `/proc/self/status` (proc_pid_status(5)).
fn ignored() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    (1..=64).filter(|signal| mask.unwrap_or(0) >> (signal - 1) & 1 != 0).collect()
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The terminal sends SIGINT and SIGQUIT to its whole foreground process group, the command included. What a process has sent to us
/// may have been meant for us alone. Source: sigaction(2).
fn came_from_terminal(signal: i32, code: i32) -> bool {
    const SI_KERNEL: i32 = 0x80;
    matches!(signal, SIGINT | SIGQUIT) && code == SI_KERNEL
}
