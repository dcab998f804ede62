//! `syn-merge`: the same as `syn merge`.

use clap::Parser;
use std::process::ExitCode;

/// Makes a plan of recorded runs.
#[derive(Parser)]
#[command(name = "syn-merge", version)]
struct Command {
    #[command(flatten)]
    args: syn_merge::Args,
}

fn main() -> ExitCode {
    match syn_merge::run(Command::parse().args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("syn-merge: {error:#}");
            ExitCode::FAILURE
        }
    }
}
