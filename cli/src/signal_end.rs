//! Ending as a command did: by the same signal.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Ends this process by the signal that ended the command; returns when none did. Without a core of our own.
pub fn die_as(status: ExitStatus) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    if let Some(signal) = status.signal() {
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
        // It fails for signals that end nothing; then the exit code says it.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
}
