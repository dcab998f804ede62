//! The calls of MPI in a plan: made again, or only what waited for them, or neither.

#[cfg(feature = "mpi")]
mod buffers;
#[cfg(feature = "mpi")]
mod collectives;
#[cfg(feature = "mpi")]
mod communicators;
#[cfg(feature = "mpi")]
mod datatypes;
#[cfg(feature = "mpi")]
mod engine;
#[cfg(feature = "mpi")]
mod files;
#[cfg(feature = "mpi")]
mod point_to_point;
#[cfg(feature = "mpi")]
mod requests;
#[cfg(feature = "mpi")]
mod seat;
#[cfg(feature = "mpi")]
mod tables;
#[cfg(feature = "mpi")]
mod watchdog;
#[cfg(feature = "mpi")]
mod windows;

#[cfg(feature = "mpi")]
pub use engine::Engine;
#[cfg(feature = "mpi")]
pub use watchdog::Watchdog;

use crate::failure::{WrongUsage, complain};
use crate::mode::Mode;
use clap::ValueEnum;
use serde::Serialize;
use std::path::Path;
use syn_plan::{Edge, FileId, Io, Mpi, Op, Plan};

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
    pub fn of(plan: &Plan, asked: Option<Comm>, mode: Mode, ranks: bool) -> anyhow::Result<Comm> {
        let full = asked == Some(Comm::Full);
        if mode != Mode::Closed {
            return match full {
                true => Err(WrongUsage(format!(
                    "`--comm full` makes calls of MPI, and nobody waits for anybody in the mode `{}`",
                    mode.name()
                ))
                .into()),
                false => Ok(Comm::None),
            };
        }
        if full && !ranks {
            return Err(WrongUsage(
                "`--comm full` makes calls of MPI, for which it takes ranks: start it with mpirun, in a build with `--features mpi`".into(),
            )
            .into());
        }
        if full && !plan.communicates() {
            return Err(WrongUsage(
                "`--comm full` makes calls of MPI, and the plan has none (those of jobs with several MPI_COMM_WORLDs are replayed as their order)"
                    .into(),
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
                complain(format_args!(
                    "the order of messages is replayed, not the calls of MPI (`--comm order`): {fault}"
                ));
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

/// True when files that MPI opens by name are below the storage root whatever a plan does: no symbolic link is made, which
/// could be moved and then lead elsewhere, and no name, nor that of the `storage`, looks as if a file system's were in front.
pub(crate) fn stays_below(plan: &Plan, storage: &Path) -> bool {
    let ops = || plan.programs.iter().flat_map(|program| program.steps.iter()).map(|step| step.op);
    let opened = |op: Op| match op {
        Op::Mpi { call: Mpi::FileOpen { file, .. } | Mpi::FileDelete { file }, .. } => Some(file),
        _ => None,
    };
    let is_odd = |file: FileId| plan.files[file as usize].path.contains(':');
    let makes_links = || ops().any(|op| matches!(op, Op::Io { call: Io::Symlink { .. }, .. }));
    let mut opens = ops().filter_map(opened).peekable();
    let storage_is_odd = storage.as_os_str().as_encoded_bytes().contains(&b':');
    opens.peek().is_none() || !(storage_is_odd || opens.any(is_odd) || makes_links())
}

/// Why files that were used through MPI may not be replayed through it.
pub(crate) const LEAVES_STORAGE: &str = "MPI opens files by name, and would leave the storage folder: the plan makes symbolic links, or a \
    name has a colon, which some MPIs take for a prefix";

impl MpiIo {
    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            MpiIo::Mpi => "mpi",
            MpiIo::Posix => "posix",
        }
    }

    /// What is done with such files: as `asked`, or what goes with the way to communicate.
    ///
    /// # Errors
    /// When the calls are to be made, and no others of MPI are, or `stays_below` is not so ([`stays_below`]).
    pub(crate) fn of(asked: Option<MpiIo>, comm: Comm, stays_below: bool) -> Result<MpiIo, WrongUsage> {
        let calls = comm == Comm::Full;
        match asked {
            Some(MpiIo::Mpi) if calls && !stays_below => {
                Err(WrongUsage(format!("{LEAVES_STORAGE}; replay with `--mpi-io posix`")))
            }
            None if !stays_below => Ok(MpiIo::Posix),
            Some(MpiIo::Mpi) if !calls => Err(WrongUsage(
                "`--mpi-io mpi` makes calls of MPI: that takes `--comm full`, in the mode `closed`".into(),
            )),
            None if calls => Ok(MpiIo::Mpi),
            asked => Ok(asked.unwrap_or(MpiIo::Posix)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn_plan::{Balance, File, Initial, Program, Step, Thread};

    fn plan(path: &str, ops: &[Op]) -> Plan {
        let thread = Thread { process: 0, rank: Some(0), pid: 0, tid: 0, ends_with_process: false };
        let steps = ops.iter().map(|&op| Step { start_ns: 0, took_ns: 0, op }).collect();
        let programs = vec![Program { thread, balance: Balance::default(), steps }];
        let file = |path: &str| File { path: path.into(), initial: Initial::Absent };
        Plan { programs, files: vec![file(path), file("/l")], ..Plan::default() }
    }

    #[test]
    fn what_may_lead_elsewhere_is_not_opened_by_name() {
        let delete = Op::Mpi { call: Mpi::FileDelete { file: 0 }, cpu_ns: 0, idle_ns: 0 };
        let link = Op::Io { call: Io::Symlink { target: 0, link: 1 }, result: 0 };
        let storage = Path::new("/disk");
        assert!(stays_below(&plan("/a", &[delete]), storage));
        assert!(stays_below(&plan("/a:b", &[link]), storage), "nothing is opened by name");
        assert!(!stays_below(&plan("/a", &[delete, link]), storage));
        assert!(!stays_below(&plan("/a:b", &[delete]), storage));
        assert!(!stays_below(&plan("/a", &[delete]), Path::new("/disk:1")));
    }
}
