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
        number => match number.parse().map_err(|_| "auto, all, none, or how many nodes")? {
            0 => {
                return Err("at least 1 node; with `none`, or without --throttle, nobody is throttled".into());
            }
            nodes => Some(Mode::Some(nodes)),
        },
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
        (_, Some(minutes)) => Budget::Time(Duration::from_secs(number(minutes)?.saturating_mul(60))),
        _ => Budget::Runs(number(text)? as usize),
    })
}

/// Thirty years. The board holds nanoseconds in 64 bits.
const MOST_BOUND_S: f64 = 1e9;

/// From the command line: seconds.
pub fn bound(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= MOST_BOUND_S => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("seconds, more than 0 and at most {MOST_BOUND_S}")),
    }
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
