//! `syn-merge`: the same as `syn merge`.

use clap::Parser;
use std::io::Write;
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
            // Where standard error is closed there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "syn-merge: {error:#}");
            ExitCode::FAILURE
        }
    }
}
