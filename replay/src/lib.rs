//! Closed-model replay of a plan below a storage root.
//!
//! ```text
//! load ─► measure this machine ─► [ folder ─► prepare ─► replay ─► remove ] × repeat ─► report
//!                                                          │
//!              launch: local processes or MPI ranks ───────┤
//!              program: one thread per program ────────────┼─► io (beneath the root), burn, transport
//! ```
//!
//! A plan is untrusted input: it is checked when it is loaded, everything it names lies beneath one fresh folder
//! (`storage`), and nothing in it is executed.
//!
//! `unsafe` is allowed where the operating system or MPI is met: in `sys`, `io` and the MPI transport.

#![deny(unsafe_code)]

mod against;
pub mod args;
pub mod burn;
pub mod clock;
mod divergence;
mod idle;
mod io;
mod job;
mod launch;
mod loaded;
mod measure;
mod meter;
mod process;
mod program;
mod progress;
mod report;
mod storage;
pub mod sys;
mod transport;

pub use args::{Args, Mode, Waiting};

use against::Application;
use anyhow::Context;
use job::{Job, Machine};
use launch::{Launcher, Local};
use loaded::Loaded;
use measure::Outcome;
use progress::Progress;
use report::Report;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use storage::Folder;
use syn_plan::Plan;
use sys::shared::SharedSlice;

/// Exit code: failed.
const FAILED: u8 = 1;
/// Exit code: wrong usage.
const WRONG_USAGE: u8 = 2;
/// Exit code: done, but the result needs a look.
const NEEDS_A_LOOK: u8 = 3;

/// The command line does not fit what it is about.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct WrongUsage(String);

/// A rank of the job failed, and has said why.
#[derive(Debug, thiserror::Error)]
#[error("a rank has failed")]
struct FailedElsewhere(u8);

/// Replays a plan and reports how it went. Returns the exit code: 0 done, 2 wrong usage (said on stderr), 3 done, but
/// the result needs a look (divergences or warnings).
///
/// # Errors
/// When the plan cannot be read, the storage is not usable, or a replaying process ended early.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let outcome = with_launcher(|launcher| stages(&args, launcher));
    match &outcome {
        Err(error) if error.is::<FailedElsewhere>() => Ok(exit_code(error)),
        Err(error) if error.is::<WrongUsage>() => {
            eprintln!("syn-replay: {error:#}");
            Ok(WRONG_USAGE)
        }
        _ => outcome,
    }
}

/// What a process that fails with `error` exits with.
fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<FailedElsewhere>() {
        Some(&FailedElsewhere(code)) => code,
        None if error.is::<WrongUsage>() => WRONG_USAGE,
        None => FAILED,
    }
}

#[cfg(feature = "mpi")]
fn with_launcher(stages: impl FnOnce(&dyn Launcher) -> anyhow::Result<u8>) -> anyhow::Result<u8> {
    match started_by_mpi() {
        Some(_) => stages(&launch::Ranks::new()?),
        None => stages(&Local::new()?),
    }
}

#[cfg(not(feature = "mpi"))]
fn with_launcher(stages: impl FnOnce(&dyn Launcher) -> anyhow::Result<u8>) -> anyhow::Result<u8> {
    match started_by_mpi() {
        Some(ranks) if ranks > 1 => Err(WrongUsage(format!(
            "started as one of {ranks} MPI ranks, but this build replays with local processes only; start it without \
             mpirun, or build it with `cargo build --release -p syn-replay --features mpi` (needs an MPI compiler and \
             libclang)"
        ))
        .into()),
        _ => stages(&Local::new()?),
    }
}

/// The number of ranks, if a launcher of MPI programs started this process: Open MPI, or one that speaks PMI (MPICH,
/// Intel MPI, Slurm).
fn started_by_mpi() -> Option<u32> {
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"].iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

fn stages(args: &Args, launcher: &dyn Launcher) -> anyhow::Result<u8> {
    let plan = agreed(launcher, launcher.load(&args.plan))?;
    launcher.agree(plan.is_the_roots(|fingerprint| launcher.share(fingerprint)))?;
    let against = if launcher.is_root() { Application::of(&args.against, plan.whole()?) } else { Ok(None) };
    let against = agreed(launcher, against)?;
    let paths = plan.paths(|facts| launcher.share(facts));
    launcher.prepare_edges(&plan);
    // Processes that share no memory cannot tell each other what they change.
    let told = launcher.shares_memory() || !paths.change();
    let generation = agreed(launcher, SharedSlice::<AtomicU64>::new(1))?;
    let generation = told.then_some(&generation[0]);
    let needed = if launcher.is_root() { storage::needed_bytes(plan.whole()?) } else { 0 };
    let machine = agreed(launcher, Machine::measure(plan.mine().programs.len()))?;
    let progress = Progress::new(args.repeat.get(), launcher.is_root());
    let mut replays = Vec::new();
    for number in 1..=args.repeat.get() {
        let keep = args.keep && number == args.repeat.get();
        let folder = folder(args, launcher, &plan, needed, keep, &progress)?;
        progress.replaying(number);
        let job = Job::new(args, plan.mine(), &paths, &folder.root, generation, machine);
        replays.push(agreed(launcher, launcher.replay(&job))?);
        launcher.agree(folder.remove())?;
    }
    progress.done();
    let reported = if launcher.is_root() {
        tell(args, launcher, plan.whole()?, machine, &replays, against)
    } else {
        Ok(0)
    };
    Ok(launcher.share_code(agreed(launcher, reported)?))
}

/// A stage's value, when the stage went well everywhere.
fn agreed<T>(launcher: &dyn Launcher, stage: anyhow::Result<T>) -> anyhow::Result<T> {
    let (value, stage) = match stage {
        Ok(value) => (Some(value), Ok(())),
        Err(error) => (None, Err(error)),
    };
    launcher.agree(stage)?;
    value.context("a stage that failed was taken for one that went well")
}

/// The fresh folder, with the files that are there when the replay starts.
fn folder(
    args: &Args,
    launcher: &dyn Launcher,
    plan: &Loaded,
    needed: u64,
    keep: bool,
    progress: &Progress,
) -> anyhow::Result<Folder> {
    let made = launcher.is_root().then(|| -> anyhow::Result<Folder> {
        let folder = Folder::create(&args.storage, needed, keep)?;
        let plan = plan.whole()?;
        let bar = progress.preparing(plan);
        storage::prepare(plan, &folder.root, args.cold, &bar, &|| launcher.interrupted())?;
        Ok(folder)
    });
    let made = agreed(launcher, made.transpose())?;
    let path = made.as_ref().map(|folder| folder.path.as_os_str().as_bytes().to_vec());
    let path = PathBuf::from(OsString::from_vec(launcher.share(path)));
    agreed(launcher, made.map_or_else(|| Folder::open(&path), Ok))
}

fn tell(
    args: &Args,
    launcher: &dyn Launcher,
    plan: &Plan,
    machine: Machine,
    replays: &[Vec<Outcome>],
    against: Option<Application>,
) -> anyhow::Result<u8> {
    let report = Report::new(args, launcher.name(), plan, machine, replays, against);
    std::io::stdout().write_all(report.text().as_bytes()).context("cannot write the report to stdout")?;
    if let Some(path) = &args.report {
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(path, text + "\n")
            .with_context(|| format!("cannot write the report {}", path.display()))?;
    }
    Ok(if report.needs_a_look() { NEEDS_A_LOOK } else { 0 })
}
