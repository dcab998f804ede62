//! `syn-replay`: the same code as `syn replay`.

#![forbid(unsafe_code)]

use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "syn-replay", version, about = "Replays a recorded application below a storage root")]
struct Cli {
    #[command(flatten)]
    args: syn_replay::Args,
}

fn main() -> ExitCode {
    match syn_replay::run(Cli::parse().args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            syn_replay::complain(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
