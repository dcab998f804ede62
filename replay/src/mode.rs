//! When a replay goes on: with its operations, and where a rank waits for another one.

use clap::ValueEnum;
use serde::Serialize;

/// When an I/O operation is issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// When the one before it, its computation and what it waits for are done (closed model)
    #[default]
    Closed,
    /// As fast as possible: no computation, no waiting
    Afap,
    /// After the think time that was recorded, computation and waiting alike (think-limited)
    Think,
    /// At the time it was issued in the recording (open model)
    Timed,
}

impl Mode {
    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Closed => "closed",
            Mode::Afap => "afap",
            Mode::Think => "think",
            Mode::Timed => "timed",
        }
    }
}

/// How a rank waits for another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Waiting {
    /// As the recorded application did
    #[default]
    Auto,
    /// Poll, and yield the processor between two polls; after some polls in vain sleep
    Spin,
    /// Sleep until woken
    Block,
}
