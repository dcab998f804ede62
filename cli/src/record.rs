//! `syn record`: runs a command with the shim preloaded, or traced from outside, and leaves a run folder.

mod args;
mod choice;
mod folder;
mod once;
pub mod shim;
mod signals;
mod throttle;
mod trial;

use anyhow::{Context, bail};
pub use args::Args;
use args::Backend;
use folder::Folder;
pub use once::exit_code;
use once::{record, trace};
pub use signals::Relay;

/// Runs the subcommand.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let shim = match args.backend {
        Backend::Shim => Some(shim::find(args.shim.as_deref())?),
        Backend::Ptrace => None,
    };
    let relay = Relay::start().context("cannot prepare for signals")?;
    match (args.throttle, &shim) {
        (Some(mode), Some(shim)) => return throttle::run(&args, mode, shim, &relay),
        (Some(_), None) => bail!("--throttle needs the shim: ptrace stops threads, it does not hold them"),
        (None, _) => {}
    }
    for _ in 0..args.repeat {
        let folder = if args.join { Folder::join(&args.output)? } else { Folder::make(&args.output)? };
        let code = match &shim {
            Some(shim) => record(&args.command, shim, &folder, &relay, false)?,
            None => trace(&args.command, &folder, &relay)?,
        };
        if code != 0 {
            return Ok(code);
        }
    }
    Ok(0)
}
