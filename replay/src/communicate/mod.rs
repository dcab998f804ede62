//! The calls of MPI in a plan: made again, or only what waited for them, or neither.

#[cfg(feature = "mpi")]
mod buffers;
#[cfg(feature = "mpi")]
mod collectives;
#[cfg(feature = "mpi")]
mod datatypes;
#[cfg(feature = "mpi")]
mod engine;
#[cfg(feature = "mpi")]
mod files;
#[cfg(feature = "mpi")]
mod watchdog;
#[cfg(feature = "mpi")]
mod windows;

#[cfg(feature = "mpi")]
pub use engine::Engine;
#[cfg(feature = "mpi")]
pub use watchdog::Watchdog;

use crate::WrongUsage;
use crate::args::Mode;
use clap::ValueEnum;
use serde::Serialize;
use syn_plan::{Edge, Plan};

/// What becomes of the application's communication through MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Comm {
    /// The recorded calls are made again, so that this machine's MPI and network are part of the answer
    Full,
    /// Who waited for whom is kept, and what the calls cost is work
    Order,
    /// Neither: every rank goes on as if it were alone
    None,
}

impl Comm {
    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Comm::Full => "full",
            Comm::Order => "order",
            Comm::None => "none",
        }
    }

    /// Whether an edge is signalled and waited for.
    pub fn follows(self, edge: &Edge) -> bool {
        self == Comm::Order || !edge.rule.is_message()
    }

    /// What is done with a plan: as `asked`, or what is possible where nobody asked. Says on stderr why calls that are there
    /// are not made.
    ///
    /// # Errors
    /// When the calls are to be made, and cannot be: `ranks` tells whether these are the ranks of an MPI job.
    pub fn of(plan: &Plan, asked: Option<Comm>, ranks: bool) -> anyhow::Result<Comm> {
        let full = asked == Some(Comm::Full);
        if full && !ranks {
            return Err(WrongUsage(
                "`--comm full` makes calls of MPI, for which it takes ranks: start it with mpirun, in a build with `--features mpi`".into(),
            )
            .into());
        }
        if !ranks || !plan.communicates() || asked.is_some_and(|asked| asked != Comm::Full) {
            return Ok(asked.filter(|&asked| asked != Comm::Full).unwrap_or(Comm::Order));
        }
        match plan.check_communication() {
            Ok(()) => Ok(Comm::Full),
            Err(fault) if full => Err(fault.into()),
            Err(fault) => {
                eprintln!(
                    "syn-replay: the order of messages is replayed, not the calls of MPI (`--comm order`): {fault}"
                );
                Ok(Comm::Order)
            }
        }
    }
}

/// On which level files are replayed that the application used through MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MpiIo {
    /// The application's calls of `MPI_File_…`, with views and hints, so that this machine's MPI decides how it reads and writes
    Mpi,
    /// What the MPI of the recording read and wrote inside them
    Posix,
}

impl MpiIo {
    /// What is done with such files: as `asked`, or what goes with the way to communicate.
    ///
    /// # Errors
    /// When the calls are to be made, and no others of MPI are.
    pub(crate) fn of(asked: Option<MpiIo>, comm: Comm, mode: Mode) -> Result<MpiIo, WrongUsage> {
        let calls = comm == Comm::Full && mode == Mode::Closed;
        match asked {
            Some(MpiIo::Mpi) if !calls => Err(WrongUsage(
                "`--mpi-io mpi` makes calls of MPI: that takes `--comm full`, in the mode `closed`".into(),
            )),
            None if calls => Ok(MpiIo::Mpi),
            asked => Ok(asked.unwrap_or(MpiIo::Posix)),
        }
    }
}
