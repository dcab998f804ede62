//! `syn profile`: runs a command, looks at what it consumes, and keeps that in a store.

use crate::exit_code::LOOK;
use crate::input::open_folder;
use crate::output::complain;
use crate::record::{Relay, exit_code, shim};
use crate::survey::{NotEntered, Survey, Unobserved, describe_ending};
use anyhow::Context;
use std::ffi::OsString;
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
    /// Counts what is allocated, through a preloaded library: bytes, and sizes of blocks. Part of --shim where the library is found.
    #[arg(long)]
    allocations: bool,
    /// Makes the profile of a run folder instead of running anything.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["n", "shim", "allocations", "live", "command"])]
    from: Option<PathBuf>,
    /// The command and its arguments.
    #[arg(required_unless_present = "from", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
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
    let tags = syn_profile::commands::tags(&args.tags)?;
    let mut store = Store::open(&args.store.clone().unwrap_or_else(default_path))?;
    let mut options = Options { tags, rate: args.rate, live: args.live, allocations: None };
    if let Some(folder) = &args.from {
        return from_run(folder, &options, &mut store);
    }
    let libraries = Libraries::of(&args)?;
    let relay = Relay::start().context("cannot prepare for signals")?;
    for _ in 0..args.n {
        let done = match one(&args, &mut options, &mut store, &relay, &libraries)? {
            Ok(done) => done,
            Err(error) => {
                complain(&format!("cannot run {}: {error}", args.command[0].display()));
                return Ok(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 });
            }
        };
        let code = relay.told(exit_code(done.status));
        if code != 0 {
            crate::signal_end::die_as(done.status);
            return Ok(code);
        }
        if done.lost.is_some() && args.n > 1 {
            return Ok(LOOK);
        }
    }
    Ok(0)
}

/// Makes a profile of a run folder, and says what the run lacks.
fn from_run(folder: &Path, options: &Options, store: &mut Store) -> anyhow::Result<u8> {
    let run = open_folder(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let survey = Survey::of(&run);
    let mut missed = NotEntered::describe(&survey.not_entered);
    missed.extend(Unobserved::describe(&survey.unobserved));
    missed.extend(run.about_empty());
    let id = syn_profile::from_run::profile(&run, &missed, options, store)?;
    missed.iter().for_each(|about| complain(&format!("warning: {about}")));
    complain(&format!("profile {id} of {}", folder.display()));
    let is_damaged = survey.threads.iter().any(|thread| describe_ending(thread.ending).is_some());
    Ok(if is_damaged || !run.unreadable.is_empty() { LOOK } else { 0 })
}

/// What is preloaded into the command.
struct Libraries {
    shim: Option<PathBuf>,
    counter: Option<PathBuf>,
}

impl Libraries {
    fn of(args: &Args) -> anyhow::Result<Libraries> {
        let shim = if args.shim { Some(shim::find(None)?) } else { None };
        let counter = match (args.allocations, args.shim) {
            (true, _) => Some(shim::find_counter()?),
            (false, true) => {
                shim::find_counter().map_err(|error| complain(&format!("warning: {error:#}"))).ok()
            }
            (false, false) => None,
        };
        Ok(Libraries { shim, counter })
    }
}

fn one(
    args: &Args,
    options: &mut Options,
    store: &mut Store,
    relay: &Relay,
    libraries: &Libraries,
) -> anyhow::Result<Result<Done, io::Error>> {
    let mut command = Command::new(&args.command[0]);
    command.args(&args.command[1..]);
    let folder = tempfile::tempdir().context("cannot make a folder for the recording")?;
    let run = folder.path().join("run");
    std::fs::create_dir(&run).context("cannot make a folder for the recording")?;
    let preloaded: Vec<&Path> =
        libraries.shim.iter().chain(&libraries.counter).map(PathBuf::as_path).collect();
    if !preloaded.is_empty() {
        command.env("LD_PRELOAD", shim::preload(&preloaded));
    }
    if libraries.shim.is_some() {
        command.env("SYN_RUN", &run);
        shim::leave_outer_job(&mut command, &run);
    }
    options.allocations = libraries.counter.as_ref().map(|_| folder.path().join("allocations"));
    if let Some(path) = &options.allocations {
        command.env(syn_trace::allocations::VARIABLE, path);
    }
    syn_tracer::hand_down(&mut command);
    let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let done = match profile(&words, &mut command, options, store, &Relayed(relay))? {
        Ok(done) => done,
        Err(error) => return Ok(Err(error)),
    };
    match &done.lost {
        Some(lost) => complain(&format!("warning: profile {} is not complete: {lost}", done.id)),
        None => {
            complain(&format!("profile {} in {}", done.id, store.path().display()));
            let amend = |_: &PathBuf| syn_profile::from_run::amend(&run, done.id, store);
            let added = libraries.shim.as_ref().map_or(Ok(()), amend);
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
