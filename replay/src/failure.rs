//! How a replay fails, and what it exits with.

use std::fmt::Display;
use std::io::{self, Write};

/// Exit code: failed.
pub const FAILED: u8 = 1;
/// Exit code: wrong usage.
pub const WRONG_USAGE: u8 = 2;
/// Exit code: done, but the result needs a look.
pub const NEEDS_A_LOOK: u8 = 3;

/// The command line does not fit what it is about.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUsage(pub String);

/// A rank of the job failed, and has said why.
#[derive(Debug, thiserror::Error)]
#[error("a rank has failed")]
pub struct FailedElsewhere(pub u8);

/// One line on standard error, with our name in front. It does not panic where that is closed: others would wait for a process that has
/// died.
pub fn complain(message: impl Display) {
    let _ = writeln!(io::stderr(), "syn-replay: {message}");
}

/// What a process that fails with `error` exits with.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<FailedElsewhere>() {
        Some(&FailedElsewhere(code)) => code,
        None if error.is::<WrongUsage>() => WRONG_USAGE,
        None => FAILED,
    }
}
