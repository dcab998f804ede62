//! `syn record`: runs a command with the shim preloaded, or traced from outside, and leaves a run folder.

mod folder;
pub mod shim;
mod signals;
mod throttle;

use crate::FAILED;
use crate::info::statement;
use crate::output::complain;
use crate::survey::{NotEntered, Reason, Survey};
use anyhow::{Context, bail};
use folder::Folder;
pub use signals::Relay;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use syn_trace::{Run, TraceError, board};
use syn_tracer::Ended;

/// Runs a command and records it. Returns the command's exit code; 128 + N when signal N ended it.
#[derive(clap::Args)]
pub struct Args {
    /// The folder in which run folders are made, numbered from 1.
    #[arg(short, long, value_name = "DIR", default_value = "runs")]
    output: PathBuf,
    /// Takes DIR itself as the run folder, made if it is missing, and adds to what is in it: programs that work together, as a
    /// server and its clients do, become one run.
    #[arg(long, conflicts_with = "repeat")]
    join: bool,
    /// How calls are seen. `shim`: by a library that is preloaded into every program. `ptrace`: from outside, as system
    /// calls, with two stops for each; also in statically linked, Go and set-user-ID programs (those only as root).
    /// Returns when the last process of the command has ended.
    #[arg(long, value_enum, default_value_t = Backend::Shim)]
    backend: Backend,
    /// The library to preload. Without it: $SYN_SHIM, then libsynshim.so beside this program or in ../lib/syn.
    #[arg(long, value_name = "FILE")]
    shim: Option<PathBuf>,
    /// Runs and records the command N times, each time into its own folder; stops at the first that fails.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Runs the command once, and then again while one of its nodes (ranks, or processes without one) is held before its calls, to see
    /// who waits for it: `auto` the nodes that the plain run asks for, if any, `all` of them, or N of them. Each run gets a folder of
    /// its own; merge all of them. On the same DIR it goes on where it was interrupted.
    #[arg(long, value_name = "auto|all|none|N", value_parser = throttle::mode, default_value = "none",
        conflicts_with_all = ["join", "repeat"])]
    throttle: ThrottleMode,
    /// Every how manyth call is held: 1, or in `auto` mode what gives a hundred holds at first.
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..))]
    period: Option<u32>,
    /// What the throttled runs may cost: a time (90s, 5m) or a number of runs.
    #[arg(long, value_name = "TIME|RUNS", value_parser = throttle::budget)]
    budget: Option<throttle::Budget>,
    /// Which calls are held.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "io")]
    hold: Vec<throttle::Held>,
    /// The longest time for a hold, seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    bound: f64,
    /// An address of this host at which the watchdogs of the other hosts of the job reach the one here. Only who knows the secret in
    /// the run folder is listened to.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    watchdog_address: IpAddr,
    /// What starts a watchdog on another host: a command that takes the host's name and a command line.
    #[arg(long, value_name = "COMMAND", default_value = "ssh")]
    remote_shell: String,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// `None`: nobody is throttled.
type ThrottleMode = Option<throttle::Mode>;

/// How calls are seen.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Backend {
    Shim,
    Ptrace,
}

/// As shells have it: the command was not found, or could not be run.
const NOT_FOUND: u8 = 127;
const NOT_RUNNABLE: u8 = 126;

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

impl Args {
    fn words(&self) -> Vec<String> {
        self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }
}

/// Records with the shim.
fn record(
    words: &[OsString],
    shim: &Path,
    folder: &Folder,
    relay: &Relay,
    throttled: bool,
) -> anyhow::Result<u8> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("LD_PRELOAD", shim::preload(&[shim])).env("SYN_RUN", &folder.path);
    // There may be something in the folder already.
    if folder.joined || throttled {
        command.env("SYN_JOB", &folder.path);
    }
    if throttled {
        command.env(board::VARIABLE, "1");
    }
    let mut child = match relay.spawn(&mut command) {
        Ok(child) => child,
        Err(error) => return Ok(not_run(folder, &words[0].to_string_lossy(), &error)),
    };
    let status =
        relay.wait(&mut child).with_context(|| format!("cannot wait for {}", words[0].to_string_lossy()))?;
    tell(folder, words)?;
    Ok(exit_code(status))
}

/// Records through ptrace.
fn trace(words: &[OsString], folder: &Folder, relay: &Relay) -> anyhow::Result<u8> {
    let ended = syn_tracer::run(words, &folder.path, |pid| relay.begin(pid), || relay.end());
    relay.end();
    match ended {
        Ok(ended) => {
            tell(folder, words)?;
            Ok(match ended {
                Ended::Code(code) => code as u8,
                Ended::Signal(signal) => 128u8.saturating_add(signal as u8),
            })
        }
        Err(syn_tracer::Error::Command { program, cause }) => Ok(not_run(folder, &program, &cause)),
        Err(error) => {
            // It stays when something was recorded.
            let _ = std::fs::remove_dir(&folder.path);
            Err(error.into())
        }
    }
}

/// Says that the command could not be started. An empty run folder would only be in the way.
fn not_run(folder: &Folder, program: &str, error: &std::io::Error) -> u8 {
    let _ = std::fs::remove_dir(&folder.path);
    complain(&format!("cannot run {program}: {error}"));
    if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_RUNNABLE }
}

pub fn exit_code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => 128u8.saturating_add(signal as u8),
        (None, None) => FAILED,
    }
}

/// One line about what was recorded, and what was not.
fn tell(folder: &Folder, words: &[OsString]) -> Result<(), TraceError> {
    let (run, folder, before) = (Run::open(&folder.path)?, &folder.path, folder.traces);
    if run.threads.len() + run.unreadable.len() == before {
        let name = words[0].to_string_lossy();
        let why = Reason::of(&name, ".");
        let hint = if why.ptrace_helps() { HINT } else { "" };
        complain(&format!(
            "warning: nothing was recorded: {name} is {}; {} {}{hint}",
            why.text(),
            folder.display(),
            if before == 0 { "is empty" } else { "is as it was" }
        ));
        return Ok(());
    }
    let launchers = run.processes.iter().filter(|process| process.process_only).count();
    let mut line = format!(
        "recorded {} processes ({launchers} of them launchers or left out), {} threads in {}",
        run.processes.len(),
        run.threads.len(),
        folder.display()
    );
    let (dropped, unreadable) = (run.dropped(), run.unreadable.len());
    if dropped + unreadable as u64 > 0 {
        line += &format!("; warning: {dropped} records dropped, {unreadable} files unreadable");
    }
    complain(&line);
    let statement = folder.join(statement::FILE);
    if let Err(error) = std::fs::write(&statement, statement::text(&run)) {
        complain(&format!("warning: cannot write {}: {error}", statement.display()));
    }
    tell_not_entered(&run);
    if run.processes.len() >= MANY_PROCESSES && !folder::is_in_memory(folder) {
        complain(
            "many processes: where making files is slow, a run folder on tmpfs (-o /dev/shm/…) makes their starts cheaper",
        );
    }
    Ok(())
}

/// From so many process images on, what it costs to make their files is worth a hint.
const MANY_PROCESSES: usize = 300;

const HINT: &str = ". `syn record --backend=ptrace` records such programs too";

/// Which processes left no trace, and why.
fn tell_not_entered(run: &Run) {
    const LISTED: usize = 8;
    let missing = Survey::of(run).not_entered;
    let lines = NotEntered::describe(&missing);
    for line in lines.iter().take(LISTED) {
        complain(&format!("warning: not recorded: {line}"));
    }
    if lines.len() > LISTED {
        let more = lines.len() - LISTED;
        complain(&format!(
            "warning: not recorded: {more} more; `syn info --all {}` lists them",
            run.path.display()
        ));
    }
    if missing.iter().any(|process| process.ptrace_helps) {
        complain("`syn record --backend=ptrace` records programs that the shim cannot enter");
    }
}
