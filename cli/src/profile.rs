//! `syn profile`: runs a command, looks at what it consumes, and keeps that in a store.

use crate::LOOK;
use crate::output::complain;
use crate::record::{Relay, exit_code, shim};
use anyhow::Context;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use syn_profile::profiler::{Done, Launch, Options, profile};
use syn_profile::rate::Rate;
use syn_profile::store::{Store, default_path};

/// Runs a command and keeps what it consumes, sample by sample. Exits as the command does, by the same signal too.
#[derive(clap::Args)]
pub struct Args {
    /// Tags the profile; may be repeated.
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = syn_profile::commands::tag)]
    tags: Vec<(String, String)>,
    /// Runs and profiles the command N times; stops at the first that fails.
    #[arg(short, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,
    /// Samples a second, or `auto`: up to 1000 at the start, then as things change, at least 10.
    #[arg(long, value_name = "auto|HZ", default_value = "auto")]
    rate: Rate,
    /// The store; without it $SYN_PROFILES, else syn/profiles.db among the user's data.
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Says on standard error once a second how things stand.
    #[arg(long)]
    live: bool,
    /// Measures what this machine can do, after the command; without it only when the store has nothing about it.
    #[arg(long)]
    probe: bool,
    /// Does not measure what this machine can do.
    #[arg(long, conflicts_with = "probe")]
    no_probe: bool,
    /// Records the calls as well, through the preloaded library: sizes of reads, writes and messages, files and file systems.
    #[arg(long)]
    shim: bool,
    /// Makes the profile of a run folder instead of running anything.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["n", "shim", "live"])]
    from: Option<PathBuf>,
    /// The command and its arguments.
    #[arg(required_unless_present = "from", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

struct Relayed<'a>(&'a Relay);

impl Launch for Relayed<'_> {
    fn start(&self, command: &mut Command) -> io::Result<Child> {
        self.0.spawn(command)
    }
    fn ended(&self) {
        self.0.end();
    }
}

/// Runs the subcommand.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let mut store = Store::open(&args.store.clone().unwrap_or_else(default_path))?;
    let options = Options { tags: args.tags.iter().cloned().collect(), rate: args.rate, live: args.live };
    if let Some(folder) = &args.from {
        let id = syn_profile::from_run::profile(folder, &options, &mut store)?;
        complain(&format!("profile {id} of {}", folder.display()));
        return Ok(0);
    }
    let library = if args.shim { Some(shim::find(None)?) } else { None };
    let relay = Relay::start().context("cannot prepare for signals")?;
    for _ in 0..args.n {
        let done = match one(&args, &options, &mut store, &relay, library.as_deref())? {
            Ok(done) => done,
            Err(error) => {
                complain(&format!("cannot run {}: {error}", args.command[0]));
                return Ok(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 });
            }
        };
        if !done.status.success() {
            crate::signal_end::die_as(done.status);
            return Ok(exit_code(done.status));
        }
        if done.lost.is_some() && args.n > 1 {
            return Ok(LOOK);
        }
    }
    Ok(0)
}

fn one(
    args: &Args,
    options: &Options,
    store: &mut Store,
    relay: &Relay,
    library: Option<&Path>,
) -> anyhow::Result<Result<Done, io::Error>> {
    let mut command = Command::new(&args.command[0]);
    command.args(&args.command[1..]);
    let folder = match library {
        Some(library) => {
            let folder = tempfile::tempdir().context("cannot make a folder for the recording")?;
            command.env("LD_PRELOAD", shim::preload(library)).env("SYN_RUN", folder.path());
            Some(folder)
        }
        None => None,
    };
    let done = match profile(&args.command, &mut command, options, store, &Relayed(relay))? {
        Ok(done) => done,
        Err(error) => return Ok(Err(error)),
    };
    match &done.lost {
        Some(lost) => complain(&format!("warning: profile {} is not complete: {lost}", done.id)),
        None => {
            complain(&format!("profile {} in {}", done.id, store.path().display()));
            let added =
                folder.map_or(Ok(()), |folder| syn_profile::from_run::amend(folder.path(), done.id, store));
            if let Err(error) = added.and_then(|()| probe(args, store, done.id)) {
                complain(&format!("warning: {error:#}"));
            }
        }
    }
    Ok(Ok(done))
}

/// Probes of a machine are worth this long, nanoseconds.
const PROBES_LAST_NS: i64 = 30 * 86_400 * 1_000_000_000;

fn probe(args: &Args, store: &mut Store, id: i64) -> anyhow::Result<()> {
    let now_ns = std::time::SystemTime::UNIX_EPOCH.elapsed()?.as_nanos() as i64;
    let machine = syn_profile::machine::fingerprint();
    if args.no_probe || (!args.probe && store.probes_of(&machine, now_ns - PROBES_LAST_NS)?.is_some()) {
        return Ok(());
    }
    let metrics =
        syn_profile::machine::probe(Path::new(".")).context("cannot measure what this machine can do")?;
    Ok(store.add_metrics(id, &metrics)?)
}
