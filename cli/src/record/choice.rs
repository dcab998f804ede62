//! Who is throttled, and what that may cost.

use std::time::Duration;
use syn_trace::board::kind;

/// Which nodes are throttled: ranks, or processes without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Those that the plain run asks for.
    Auto,
    /// Each of them.
    All,
    /// So many.
    Some(usize),
}

/// From the command line.
pub fn mode(text: &str) -> Result<Option<Mode>, String> {
    Ok(match text {
        "none" => None,
        "auto" => Some(Mode::Auto),
        "all" => Some(Mode::All),
        number => Some(Mode::Some(number.parse().map_err(|_| "auto, all, none, or how many nodes")?)),
    })
}

/// What the throttled runs may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// All of them together.
    Time(Duration),
    /// So many runs.
    Runs(usize),
}

/// From the command line: `90s`, `5m`, or a number of runs.
pub fn budget(text: &str) -> Result<Budget, String> {
    let number =
        |text: &str| text.parse::<u64>().map_err(|_| "seconds (90s), minutes (5m), or a number of runs");
    Ok(match (text.strip_suffix('s'), text.strip_suffix('m')) {
        (Some(seconds), _) => Budget::Time(Duration::from_secs(number(seconds)?)),
        (_, Some(minutes)) => Budget::Time(Duration::from_secs(60 * number(minutes)?)),
        _ => Budget::Runs(number(text)? as usize),
    })
}

/// Calls that are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Held {
    /// On files: data, names, attributes.
    Io,
    /// Of MPI.
    Mpi,
    /// On sockets.
    Socket,
    /// Locks and signals.
    Sync,
}

impl Held {
    /// Its bit among [`kind`].
    pub fn bit(self) -> u32 {
        u32::from(match self {
            Held::Io => kind::IO,
            Held::Mpi => kind::MPI,
            Held::Socket => kind::SOCKET,
            Held::Sync => kind::SYNC,
        })
    }
}
