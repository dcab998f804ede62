//! What is profiled, and how it is started.

use crate::rate::Rate;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};

/// Starts the command, and is told when it has ended but can still be sent signals.
pub trait Launch {
    /// Starts it.
    fn start(&self, command: &mut Command) -> io::Result<Child>;
    /// It has ended; after this its process id is given back.
    fn ended(&self) {}
}

/// What to profile, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// What it is found by, beside the command.
    pub tags: BTreeMap<String, String>,
    /// How often to look.
    pub rate: Rate,
    /// Says on standard error how things stand, once a second.
    pub live: bool,
    /// Where the preloaded library counts allocations, if it does; the file is made.
    pub allocations: Option<PathBuf>,
}
