//! The command line.

use super::choice;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

/// Runs a command and records it. Returns the command's exit code; 128 + N when signal N ended it.
#[derive(clap::Args)]
pub struct Args {
    /// The folder in which run folders are made, numbered from 1.
    #[arg(short, long, value_name = "DIR", default_value = "runs")]
    pub output: PathBuf,
    /// Takes DIR itself as the run folder, made if it is missing, and adds to what is in it: programs that work together, as a
    /// server and its clients do, become one run.
    #[arg(long, conflicts_with = "repeat")]
    pub join: bool,
    /// How calls are seen. `shim`: by a library that is preloaded into every program. `ptrace`: from outside, as system
    /// calls, with two stops for each; also in statically linked, Go and set-user-ID programs (those only as root).
    /// Returns when the last process of the command has ended.
    #[arg(long, value_enum, default_value_t = Backend::Shim)]
    pub backend: Backend,
    /// The library to preload. Without it: $SYN_SHIM, then libsynshim.so beside this program or in ../lib/syn.
    #[arg(long, value_name = "FILE")]
    pub shim: Option<PathBuf>,
    /// Runs and records the command N times, each time into its own folder; stops at the first that fails.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Runs the command once, and then again while one of its nodes (ranks, or processes without one) is held before its calls, to see
    /// who waits for it: `auto` the nodes that the plain run asks for, if any, `all` of them, or N of them. Each run gets a folder of
    /// its own; merge all of them. On the same DIR it goes on where it was interrupted.
    #[arg(long, value_name = "auto|all|none|N", value_parser = choice::mode, default_value = "none",
        conflicts_with_all = ["join", "repeat"])]
    pub throttle: ThrottleMode,
    /// Every how manyth call is held: 1, or in `auto` mode what gives a hundred holds at first.
    #[arg(long, value_name = "P", requires = "throttle", value_parser = clap::value_parser!(u32).range(1..))]
    pub period: Option<u32>,
    /// What the throttled runs may cost: a time (90s, 5m) or a number of runs.
    #[arg(long, value_name = "TIME|RUNS", requires = "throttle", value_parser = choice::budget)]
    pub budget: Option<choice::Budget>,
    /// Which calls are held.
    #[arg(long, requires = "throttle", value_enum, value_delimiter = ',', default_value = "io")]
    pub hold: Vec<choice::Held>,
    /// The longest time for a hold, seconds.
    #[arg(long, value_name = "SECONDS", requires = "throttle", value_parser = choice::bound, default_value = "10")]
    pub bound: Duration,
    /// An address of this host at which the watchdogs of the other hosts of the job reach the one here. Only who knows the secret in
    /// the run folder is listened to.
    #[arg(long, value_name = "ADDRESS", requires = "throttle", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub watchdog_address: IpAddr,
    /// What starts a watchdog on another host: a command that takes the host's name and a command line.
    #[arg(long, value_name = "COMMAND", requires = "throttle", default_value = "ssh")]
    pub remote_shell: String,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// `None`: nobody is throttled.
pub type ThrottleMode = Option<choice::Mode>;

/// How calls are seen.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Backend {
    /// By the preloaded library.
    Shim,
    /// From outside.
    Ptrace,
}

impl Args {
    /// The command, as texts.
    pub fn words(&self) -> Vec<String> {
        self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }
}
