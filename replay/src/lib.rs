//! Closed-model replay of a plan below a storage root.
//!
//! ```text
//! load ─► measure this machine ─► [ folder ─► prepare ─► replay ] × repeat ─► remove ─► report
//!                                                          │
//!              launch: local processes or MPI ranks ───────┤
//!              program: one thread per program ────────────┼─► io (beneath the root), burn, transport
//! ```
//!
//! A plan is untrusted input: it is checked when it is loaded, everything it names lies beneath one fresh folder
//! (`storage`), and nothing in it is executed.
//!
//! `unsafe` is allowed where the operating system or MPI is met: in `sys`, `io`, the atoms of `demands` and the MPI transport.

#![deny(unsafe_code)]

mod against;
mod ahead;
pub mod args;
pub mod burn;
pub mod clock;
mod communicate;
mod delays;
pub mod demands;
mod divergence;
mod failure;
mod idle;
mod io;
mod job;
mod launch;
mod loaded;
mod measure;
mod meter;
mod mode;
pub mod page;
mod probe;
mod process;
mod program;
mod progress;
mod report;
mod storage;
pub mod sys;
mod transport;

pub use args::Args;
use communicate::LEAVES_STORAGE;
pub use communicate::{Comm, MpiIo};

use against::Application;
use anyhow::Context;
use delays::Delays;
use demands::own::OwnMemory;
use failure::{FailedElsewhere, WRONG_USAGE, WrongUsage, exit_code};
pub use failure::{NEEDS_A_LOOK, complain};
use job::{Job, Machine};
use launch::{Launcher, Local};
use loaded::Loaded;
use measure::Outcome;
pub use measure::Preparation;
pub use mode::{Mode, Waiting};
use progress::Progress;
pub use report::DivergenceReport;
use report::Report;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
#[cfg(feature = "mpi")]
use std::sync::{Mutex, PoisonError, mpsc};
use storage::Folder;
use syn_plan::Plan;
#[cfg(feature = "mpi")]
use syn_plan::Rule;
use syn_trace::Call;
use syn_trace::calls::Effect;
use sys::shared::SharedSlice;

/// A replay that MPI does not let go of is reported after so long.
#[cfg(feature = "mpi")]
const LONGEST_END: std::time::Duration = std::time::Duration::from_secs(60);

/// Replays a plan and reports how it went. Returns the exit code: 0 done, 2 wrong usage (said on stderr), 3 done, but
/// the result needs a look (divergences or warnings).
///
/// # Errors
/// When the plan cannot be read, the storage is not usable, or a replaying process ended early.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let outcome = with_launcher(&args, |launcher| replayed(&args, launcher))
        .and_then(|replayed| replayed.map_or(Ok(0), |replayed| tell(&args, replayed)));
    match &outcome {
        Err(error) if error.is::<FailedElsewhere>() => Ok(exit_code(error)),
        Err(error) if error.is::<WrongUsage>() => {
            complain(format_args!("{error:#}"));
            Ok(WRONG_USAGE)
        }
        _ => outcome,
    }
}

/// What the root has of all replays; nothing elsewhere.
#[cfg(feature = "mpi")]
fn with_launcher(
    args: &Args,
    replay: impl FnOnce(&dyn Launcher) -> anyhow::Result<Replayed>,
) -> anyhow::Result<Option<Replayed>> {
    if started_by_mpi().is_none() {
        return replay(&Local::new()?).map(Some);
    }
    let ranks = launch::Ranks::new(args)?;
    let (replayed, is_root) = (replay(&ranks)?, ranks.is_root());
    let replayed = Mutex::new(is_root.then_some(replayed));
    let take = &|| replayed.lock().unwrap_or_else(PoisonError::into_inner).take();
    let took_ns = std::thread::scope(|scope| {
        let (ends, hears) = mpsc::channel::<()>();
        scope.spawn(move || {
            if hears.recv_timeout(LONGEST_END) != Err(mpsc::RecvTimeoutError::Timeout) {
                return;
            }
            if let Some(replayed) = take() {
                let seconds = LONGEST_END.as_secs();
                complain(format_args!(
                    "MPI_Finalize has not returned for {seconds} s; what it takes is not in the report"
                ));
                sys::child::exit_now(tell(args, replayed).unwrap_or(1).into());
            }
        });
        let since_ns = clock::now_ns();
        drop(ranks);
        drop(ends);
        clock::now_ns() - since_ns
    });
    Ok(take().map(|replayed| replayed.mpi_ended(took_ns)))
}

/// What the root has of all replays.
#[cfg(not(feature = "mpi"))]
fn with_launcher(
    _args: &Args,
    replay: impl FnOnce(&dyn Launcher) -> anyhow::Result<Replayed>,
) -> anyhow::Result<Option<Replayed>> {
    match started_by_mpi() {
        Some(ranks) if ranks > 1 => Err(WrongUsage(format!(
            "started as one of {ranks} MPI ranks, but this build replays with local processes only; start it without \
             mpirun, or build it with `cargo build --release -p syn-replay --features mpi` (needs an MPI compiler and \
             libclang)"
        ))
        .into()),
        _ => replay(&Local::new()?).map(Some),
    }
}

/// The number of ranks, if a launcher of MPI programs started this process: Open MPI, one that speaks PMI (MPICH, Intel MPI, Slurm), or
/// Slurm that speaks PMIx, which says how many there are by a name of its own.
pub fn started_by_mpi() -> Option<u32> {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let of_slurm = || number("SLURM_STEP_NUM_TASKS").filter(|_| std::env::var_os("PMIX_RANK").is_some());
    number("OMPI_COMM_WORLD_SIZE").or_else(|| number("PMI_SIZE")).or_else(of_slurm)
}

/// A plan and its replays, whose outcomes the root has.
struct Replayed {
    launcher: &'static str,
    plan: Loaded,
    machine: Machine,
    comm: Comm,
    mpi_io: MpiIo,
    against: Option<Application>,
    replays: Vec<Vec<Outcome>>,
}

impl Replayed {
    /// What MPI takes to end is known when it has. Ranks in which it ends so are longer, and so is who waits for their end.
    #[cfg(feature = "mpi")]
    fn mpi_ended(mut self, took_ns: u64) -> Replayed {
        let Ok(plan) = self.plan.whole() else { return self };
        for outcomes in &mut self.replays {
            let ended = outcomes.iter().filter(|outcome| outcome.ends_mpi).map(|outcome| outcome.program);
            let longer = launch::waiting_for_ends(plan, ended.collect());
            for outcome in outcomes.iter_mut().filter(|outcome| longer.contains(&outcome.program)) {
                let rule = if outcome.ends_mpi { Rule::Collective } else { Rule::ProcessJoin };
                outcome.end_ns = outcome.end_ns.saturating_add(took_ns);
                outcome.balance.wall_ns = outcome.balance.wall_ns.saturating_add(took_ns);
                outcome.balance.explain(rule, took_ns);
            }
        }
        self
    }
}

fn replayed(args: &Args, launcher: &dyn Launcher) -> anyhow::Result<Replayed> {
    let plan = agreed(launcher, launcher.load(&args.plan))?;
    replayed_plan(plan, args, launcher)
}

fn replayed_plan(plan: Loaded, args: &Args, launcher: &dyn Launcher) -> anyhow::Result<Replayed> {
    launcher.agree(plan.is_the_roots(|fingerprint| launcher.share(fingerprint)))?;
    let against = if launcher.is_root() { Application::of(&args.against, plan.whole()?) } else { Ok(None) };
    let against = agreed(launcher, against)?;
    let comm = comm(args, launcher, &plan)?;
    let mpi_io = mpi_io(args, launcher, &plan, comm)?;
    let paths = plan.paths(|facts| launcher.share(facts));
    launcher.prepare_edges(&plan);
    // Processes that share no memory cannot tell each other what they change.
    let told = launcher.shares_memory() || !paths.change();
    let processes = launch::by_process(plan.mine()).len();
    let shared = agreed(launcher, SharedSlice::<AtomicU64>::new(1 + OwnMemory::words(processes)))?;
    let generation = told.then_some(&shared[0]);
    let own = demands::are_in(plan.mine()).then(|| OwnMemory::new(&shared[1..]));
    let needed = if launcher.is_root() { storage::needed_bytes(plan.whole()?) } else { 0 };
    let machine = agreed(launcher, probe::measure(plan.mine()))?;
    let progress = Progress::new(args.repeat.get(), launcher.is_root());
    let (mut replays, mut earlier) = (Vec::new(), Vec::new());
    for number in 1..=args.repeat.get() {
        let keep = args.keep && number == args.repeat.get();
        let folder = folder(args, launcher, &plan, needed, keep, &progress)?;
        progress.replaying(number);
        let mut job =
            Job::new(args, plan.mine(), &paths, &folder, (generation, own), machine, (comm, mpi_io));
        job.delays = args.inject_delays.map(|seed| Delays(seed.wrapping_add(number.into())));
        let outcomes = launcher.replay(&job).and_then(|outcomes| {
            let failure = outcomes.iter().find_map(|outcome| outcome.failure.as_ref());
            failure.map_or(Ok(()), |why| Err(anyhow::anyhow!("a demand could not be met: {why}")))?;
            Ok(outcomes)
        });
        replays.push(agreed(launcher, outcomes)?);
        // ext4 passes over inodes that were freed in the last minutes, one by one: what is removed now makes the next replay slower.
        let removed = if number < args.repeat.get() && folder.may_stay(needed) {
            earlier.push(folder);
            Ok(())
        } else {
            folder.remove()
        };
        launcher.agree(removed)?;
    }
    launcher.agree(earlier.into_iter().try_for_each(Folder::remove))?;
    progress.done();
    Ok(Replayed { launcher: launcher.name(), plan, machine, comm, mpi_io, against, replays })
}

/// What a replay has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Consumed {
    /// The common start, nanoseconds of the monotonic clock of the root's machine.
    pub start_ns: u64,
    /// From the common start to the last end, nanoseconds.
    pub wall_ns: u64,
    /// CPU time of its threads meanwhile, nanoseconds.
    pub cpu_ns: u64,
    /// Bytes read and written.
    pub bytes: [u64; 2],
    /// Bytes sent, received, sent to the replay itself.
    pub network: [u64; 3],
    /// What its processes had used before; of ranks of an MPI job nobody looks.
    pub preparation: Option<Preparation>,
}

impl Consumed {
    fn of(outcomes: &[Outcome]) -> Consumed {
        let first = outcomes.iter().find(|outcome| outcome.program == 0);
        let start_ns = first.map_or(0, |outcome| outcome.start_ns);
        let preparation = first.and_then(|outcome| outcome.preparation);
        let mut all = Consumed { start_ns, preparation, ..Consumed::default() };
        for outcome in outcomes {
            all.wall_ns = all.wall_ns.max(outcome.end_ns);
            all.cpu_ns += outcome.cpu_ns;
            for (name, class) in &outcome.classes {
                match Call::from_name(name).map(Call::effect) {
                    Some(Effect::Read(_)) => all.bytes[0] += class.bytes,
                    Some(Effect::Write(_)) => all.bytes[1] += class.bytes,
                    _ => {}
                }
            }
            all.network.iter_mut().zip(outcome.network).for_each(|(sum, bytes)| *sum += bytes);
        }
        all
    }
}

/// Replays each of these plans, one after the other, and says what each replay has used, and what in them did not come out as the plans
/// say, in the root of the job. Nothing is printed.
/// Ranks that replay together read their parts of a plan from the file that its [`Args`] name, which is made.
///
/// # Errors
/// As [`run`].
pub fn consume(all: Vec<(Args, Plan)>) -> anyhow::Result<(Vec<Consumed>, DivergenceReport)> {
    let replays = replays_of(all)?;
    let consumed = replays.iter().map(|outcomes| Consumed::of(outcomes)).collect();
    Ok((consumed, DivergenceReport::of(&replays)))
}

/// The outcomes of every replay, in the root of the job.
fn replays_of(all: Vec<(Args, Plan)>) -> anyhow::Result<Vec<Vec<Outcome>>> {
    #[cfg(feature = "mpi")]
    if let (Some(_), Some((first, _))) = (started_by_mpi(), all.first()) {
        all.iter().try_for_each(|(args, plan)| plan.save(&args.plan))?;
        let ranks = launch::Ranks::new(first)?;
        let mut of_root = Vec::new();
        for (args, _) in &all {
            let replays = replayed(args, &ranks)?.replays;
            of_root.extend(replays.into_iter().filter(|_| ranks.is_root()));
        }
        return Ok(of_root);
    }
    let launcher = Local::new()?;
    let mut replays = Vec::new();
    for (args, plan) in all {
        plan.check().context("the plan cannot be replayed")?;
        replays.extend(replayed_plan(Loaded::All(plan), &args, &launcher)?.replays);
    }
    Ok(replays)
}

/// True when ranks of an MPI job replay together; without the feature each is by itself.
pub const RANKS_TOGETHER: bool = cfg!(feature = "mpi");

/// What is done with communication: the root finds out, all do it.
fn comm(args: &Args, launcher: &dyn Launcher, plan: &Loaded) -> anyhow::Result<Comm> {
    let found =
        launcher.is_root().then(|| Comm::of(plan.whole()?, args.comm, args.mode, launcher.name() == "mpi"));
    let found = agreed(launcher, found.transpose())?;
    let told = launcher.share(found.map(|comm| vec![comm as u8]));
    let of_root = [Comm::Full, Comm::Order, Comm::None].into_iter().find(|&comm| told == [comm as u8]);
    of_root.context("the root has not said what is done with communication")
}

/// What is done with files that were used through MPI; the root has the whole plan to look at.
fn mpi_io(args: &Args, launcher: &dyn Launcher, plan: &Loaded, comm: Comm) -> anyhow::Result<MpiIo> {
    let found =
        launcher.is_root().then(|| anyhow::Ok(communicate::stays_below(plan.whole()?, &args.storage)));
    let found = agreed(launcher, found.transpose())?;
    let stays_below = launcher.share(found.map(|found| vec![found.into()])) == [1];
    if launcher.is_root() && comm == Comm::Full && args.mpi_io.is_none() && !stays_below {
        complain(format_args!(
            "what MPI read and wrote inside is replayed (`--mpi-io posix`): {LEAVES_STORAGE}"
        ));
    }
    agreed(launcher, MpiIo::of(args.mpi_io, comm, stays_below).map_err(Into::into))
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

/// Reports; the exit code.
fn tell(args: &Args, replayed: Replayed) -> anyhow::Result<u8> {
    let Replayed { launcher, plan, machine, comm, mpi_io, against, replays } = replayed;
    let report = Report::new(args, (launcher, comm, mpi_io), plan.whole()?, machine, &replays, against);
    let write = |path: &Path, text: String| {
        std::fs::write(path, text).with_context(|| format!("cannot write the report {}", path.display()))
    };
    if let Some(path) = &args.report {
        write(path, serde_json::to_string_pretty(&report)? + "\n")?;
    }
    if let Some(path) = &args.html {
        write(path, report.page())?;
    }
    std::io::stdout().write_all(report.text().as_bytes()).context("cannot write to standard output")?;
    Ok(if report.needs_a_look() { NEEDS_A_LOOK } else { 0 })
}
