//! `syn record`: runs a command with the shim preloaded, and leaves a run folder.

mod folder;
mod shim;
mod signals;

use crate::FAILED;
use crate::output::complain;
use anyhow::Context;
use signals::Relay;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use syn_trace::{Run, TraceError};

/// Runs a command and records it. Returns the command's exit code; 128 + N when signal N ended it.
#[derive(clap::Args)]
pub struct Args {
    /// The folder in which run folders are made, numbered from 1.
    #[arg(short, long, value_name = "DIR", default_value = "runs")]
    output: PathBuf,
    /// The library to preload. Without it: $SYN_SHIM, then libsynshim.so beside this program or in ../lib/syn.
    #[arg(long, value_name = "FILE")]
    shim: Option<PathBuf>,
    /// Runs and records the command N times, each time into its own folder; stops at the first that fails.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// As shells have it: the command was not found, or could not be run.
const NOT_FOUND: u8 = 127;
const NOT_RUNNABLE: u8 = 126;

/// Runs the subcommand.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let shim = shim::find(args.shim.as_deref())?;
    let relay = Relay::start().context("cannot prepare for signals")?;
    for _ in 0..args.repeat {
        let folder = folder::make(&args.output)?;
        let code = record(&args.command, &shim, &folder, &relay)?;
        if code != 0 {
            return Ok(code);
        }
    }
    Ok(0)
}

fn record(words: &[OsString], shim: &Path, folder: &Path, relay: &Relay) -> anyhow::Result<u8> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("LD_PRELOAD", shim::preload(shim)).env("SYN_RUN", folder);
    let mut child = match relay.spawn(&mut command) {
        Ok(child) => child,
        Err(error) => {
            // An empty run folder would only be in the way.
            let _ = std::fs::remove_dir(folder);
            complain(&format!("cannot run {}: {error}", words[0].to_string_lossy()));
            return Ok(if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_RUNNABLE });
        }
    };
    let status =
        relay.wait(&mut child).with_context(|| format!("cannot wait for {}", words[0].to_string_lossy()))?;
    tell(folder, words)?;
    Ok(exit_code(status))
}

fn exit_code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => 128u8.saturating_add(signal as u8),
        (None, None) => FAILED,
    }
}

/// One line about what was recorded.
fn tell(folder: &Path, words: &[OsString]) -> Result<(), TraceError> {
    let run = Run::open(folder)?;
    if run.threads.is_empty() && run.unreadable.is_empty() {
        let name = words[0].to_string_lossy();
        complain(&format!(
            "warning: nothing was recorded: {name} is statically linked, set-user-ID, a script for such an interpreter, \
             or clears its environment; {} is empty",
            folder.display()
        ));
        return Ok(());
    }
    let launchers = run.processes.iter().filter(|process| process.process_only).count();
    let mut line = format!(
        "recorded {} processes ({launchers} of them launchers), {} threads in {}",
        run.processes.len(),
        run.threads.len(),
        folder.display()
    );
    let (dropped, unreadable) = (run.dropped(), run.unreadable.len());
    if dropped + unreadable as u64 > 0 {
        line += &format!("; warning: {dropped} records dropped, {unreadable} files unreadable");
    }
    complain(&line);
    Ok(())
}
