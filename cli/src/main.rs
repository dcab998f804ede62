//! `syn`: record an application's I/O and communication, merge the recordings into a plan, replay the plan; profile what a
//! command consumes and emulate it.
//!
//! Each subcommand is a module here or the library behind it; this file only chooses. Exit codes: 0 done, 1 failed,
//! 2 wrong usage, 3 done but the result needs a look. `syn record` and `syn profile` return the exit code of the command.

#![forbid(unsafe_code)]

mod check;
mod dump;
mod exit_code;
mod info;
mod input;
mod output;
mod pack;
mod profile;
mod record;
mod signal_end;
mod survey;
mod watchdog;
mod why;

use clap::{Parser, Subcommand};
use exit_code::{DONE, FAILED};
use std::process::ExitCode;

/// Records what an application does to storage and network, and replays it on another storage system.
#[derive(Parser)]
#[command(name = "syn", version, arg_required_else_help = true)]
struct Syn {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Record(record::Args),
    /// Merges recorded runs of one application into a plan
    Merge(syn_merge::Args),
    /// Replays a plan below a storage folder and reports how close it came
    Replay(syn_replay::Args),
    Info(info::Args),
    Dump(dump::Args),
    Check(check::Args),
    Pack(pack::Args),
    Why(why::Args),
    Profile(profile::Args),
    Profiles(syn_profile::commands::Args),
    Emulate(Box<syn_profile::emulate::Args>),
    Predict(syn_profile::commands::PredictArgs),
    Watchdog(watchdog::Args),
}

fn main() -> ExitCode {
    let done = match Syn::parse().command {
        Command::Record(args) => record::run(args),
        Command::Merge(args) => syn_merge::run(args),
        Command::Replay(args) => syn_replay::run(args),
        Command::Info(args) => info::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Pack(args) => pack::run(&args),
        Command::Why(args) => why::run(&args),
        Command::Profile(args) => profile::run(args),
        Command::Profiles(args) => syn_profile::commands::run(&args),
        Command::Emulate(args) => syn_profile::emulate::run(&args),
        Command::Predict(args) => syn_profile::commands::predict(&args),
        Command::Watchdog(args) => watchdog::run(args),
    };
    match done {
        Ok(code) => code.into(),
        // Whoever read the output has seen enough (`syn dump X | head`).
        Err(error) if output::reader_is_gone(&error) => DONE.into(),
        Err(error) => {
            output::complain(&format!("{error:#}"));
            FAILED.into()
        }
    }
}
