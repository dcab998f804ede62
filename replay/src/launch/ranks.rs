//! The ranks of an MPI job: each runs the programs of one recorded rank.

use super::beginnings::Beginnings;
use super::threads::{Part, run_programs};
use super::{Launcher, by_process};
use crate::args::Args;
use crate::clock::now_ns;
use crate::communicate::{Comm, Engine, Watchdog};
use crate::failure::{FailedElsewhere, WrongUsage, complain, exit_code};
use crate::job::Job;
use crate::loaded::Loaded;
use crate::measure::Outcome;
use crate::mode::Mode;
use crate::sys::child::exit_now;
use crate::sys::{raise_limit_of_files, resident_bytes};
use crate::transport::communicator::{Shared, pause};
use crate::transport::listeners::listeners;
use crate::transport::messages::{Messages, RankEdges, outside};
use anyhow::{Context, bail};
use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64};
use syn_plan::{Op, Plan, PlanError, PlanFile, Program, Rule};

/// The rank that prepares and reports.
const LEADER: i32 = 0;
/// The tag of messages that carry outcomes.
const OUTCOMES: mpi::Tag = 2;
/// The tag of those that say who waits for a rank's signals.
const LISTENERS: mpi::Tag = 3;

/// One rank of the job. MPI is finalised when it is dropped.
pub struct Ranks {
    world: Shared,
    rank: u32,
    size: u32,
    threading: Threading,
    /// How long MPI took to begin, once all ranks had come to that, nanoseconds.
    begin_ns: u64,
    edges: OnceLock<RankEdges>,
    _universe: Universe,
}

impl Ranks {
    /// Joins the job.
    ///
    /// # Errors
    /// When MPI is already in use by this process.
    pub fn new(args: &Args) -> anyhow::Result<Ranks> {
        raise_limit_of_files();
        let since_ns = now_ns();
        let (universe, threading) = mpi::initialize_with_threading(threading(args))
            .context("MPI was initialised before the replay")?;
        let (took_ns, mut begin_ns) = (now_ns() - since_ns, 0);
        // What is replayed has the world to itself.
        let world = universe.world().duplicate();
        world.all_reduce_into(&took_ns, &mut begin_ns, SystemOperation::min());
        let (rank, size) = (world.rank() as u32, world.size() as u32);
        Ok(Ranks {
            world: Shared::new(world),
            rank,
            size,
            threading,
            begin_ns,
            edges: OnceLock::new(),
            _universe: universe,
        })
    }

    /// Ends the whole job, after saying why.
    fn abort(&self, why: &str) {
        complain(format_args!("rank {}: {why}", self.rank));
        match self.world.0.try_lock() {
            Ok(world) => world.abort(1),
            // The thread that holds it may wait for ever; the launcher ends the job when one rank is gone.
            Err(_) => exit_now(1),
        }
    }

    /// Returns when every rank has come here, without taking processor time from those that still replay.
    fn wait_for_all(&self) {
        let world = self.world.lock();
        let mut arrived = world.immediate_barrier();
        while let Err(not_yet) = arrived.test() {
            arrived = not_yet;
            pause();
        }
    }

    /// Outcomes of every rank, in the leader.
    fn gather(&self, mine: Vec<Outcome>) -> anyhow::Result<Vec<Outcome>> {
        let world = self.world.lock();
        if self.rank != LEADER as u32 {
            let text = serde_json::to_vec(&mine)?;
            world.process_at_rank(LEADER).send_with_tag(&text[..], OUTCOMES);
            return Ok(Vec::new());
        }
        let mut all = mine;
        for rank in 1..self.size as i32 {
            let (text, _) = world.process_at_rank(rank).receive_vec_with_tag::<u8>(OUTCOMES);
            let theirs: Vec<Outcome> =
                serde_json::from_slice(&text).with_context(|| format!("rank {rank} sent no outcomes"))?;
            all.extend(theirs);
        }
        all.sort_by_key(|outcome| outcome.program);
        Ok(all)
    }
}

/// Whether several threads of a rank call MPI at once: one waits in a call of the application while another follows its edges. An
/// MPI that allows for it takes longer for each call, so it is not asked for where every rank has one program. Those without a
/// rank, launchers, follow their edges where the rank that they go to makes no calls.
fn threading(args: &Args) -> Threading {
    // What cannot be read is reported where the plan is loaded.
    match PlanFile::open(&args.plan).and_then(|file| crowded(&file)) {
        Ok(true) if matches!(args.comm, None | Some(Comm::Full)) => Threading::Multiple,
        _ => Threading::Serialized,
    }
}

/// Whether a rank has several programs, or one without a rank may signal while ranks communicate.
fn crowded(file: &PlanFile) -> Result<bool, PlanError> {
    for rank in 0..file.ranks()? {
        if file.programs_of(Some(rank))?.len() > 1 {
            return Ok(true);
        }
    }
    let others = file.excerpt(file.programs_of(None)?)?.plan;
    let lives =
        [Rule::ProcessCreate, Rule::ProcessExec, Rule::ProcessJoin, Rule::ThreadCreate, Rule::ThreadJoin];
    let mut steps = others.programs.iter().flat_map(|program| program.steps.iter());
    Ok(steps.any(|step| match step.op {
        Op::Signal { edge } => !lives.contains(&others.edges[edge as usize].rule),
        _ => false,
    }))
}

/// The rank that runs a program. Processes without a rank, such as launchers, go to the leader.
fn rank_of(program: &Program) -> u32 {
    program.thread.rank.unwrap_or(LEADER as u32)
}

impl Launcher for Ranks {
    fn name(&self) -> &'static str {
        "mpi"
    }
    fn is_root(&self) -> bool {
        self.rank == LEADER as u32
    }
    fn shares_memory(&self) -> bool {
        self.size == 1
    }
    /// Never: the launcher ends all ranks at once, and what they leave on the storage is removed by hand.
    fn interrupted(&self) -> bool {
        false
    }

    fn load(&self, path: &Path) -> anyhow::Result<Loaded> {
        let file = PlanFile::open(path)?;
        let recorded = file.ranks()?.max(file.about()?.ranks);
        if recorded == 0 && self.size > 1 {
            bail!(WrongUsage("the plan is of an application without MPI; replay it without mpirun".into()));
        }
        if recorded != self.size && recorded > 0 {
            let size = self.size;
            bail!(WrongUsage(format!(
                "the plan is for {recorded} ranks, but there are {size}; start it with `mpirun -np {recorded}`"
            )));
        }
        let mut programs: Vec<usize> = file.programs_of(Some(self.rank))?.collect();
        if self.is_root() {
            programs.extend(file.programs_of(None)?);
        }
        if programs.len() > 1 && self.threading < Threading::Serialized {
            bail!("rank {} has several threads to replay, but this MPI allows only one", self.rank);
        }
        let whole = self.is_root().then(|| Plan::load(path)).transpose()?;
        Ok(Loaded::Part { part: Box::new(file.excerpt(programs)?), whole, fingerprint: file.fingerprint() })
    }

    fn agree(&self, stage: anyhow::Result<()>) -> anyhow::Result<()> {
        let mine = stage
            .as_ref()
            .err()
            .map_or(u64::MAX, |error| u64::from(self.rank) << 8 | u64::from(exit_code(error)));
        let mut first = u64::MAX;
        self.world.lock().all_reduce_into(&mine, &mut first, SystemOperation::min());
        if first == u64::MAX {
            return Ok(());
        }
        // The launcher ends all ranks as soon as one has failed: the reason is told before any of them leaves.
        if let Err(error) = stage
            && first == mine
            && !error.is::<FailedElsewhere>()
        {
            complain(format_args!("{error:#}"));
        }
        self.world.lock().barrier();
        Err(FailedElsewhere(first as u8).into())
    }

    fn share(&self, bytes: Option<Vec<u8>>) -> Vec<u8> {
        let world = self.world.lock();
        let leader = world.process_at_rank(LEADER);
        let mut bytes = bytes.unwrap_or_default();
        let mut length = bytes.len() as u64;
        leader.broadcast_into(&mut length);
        bytes.resize(length as usize, 0);
        // The address of no bytes may be that of `MPI_IN_PLACE`.
        if length > 0 {
            leader.broadcast_into(&mut bytes[..]);
        }
        bytes
    }

    fn prepare_edges(&self, loaded: &Loaded) {
        let Loaded::Part { part, whole, .. } = loaded else { return };
        let world = self.world.lock();
        let listeners = if let Some(plan) = whole {
            let mut of_ranks = listeners(plan, self.size, &rank_of);
            for (rank, listeners) in of_ranks.iter().enumerate().skip(1) {
                world.process_at_rank(rank as mpi::Rank).send_with_tag(&listeners[..], LISTENERS);
            }
            std::mem::take(&mut of_ranks[LEADER as usize])
        } else {
            world.process_at_rank(LEADER).receive_vec_with_tag::<u32>(LISTENERS).0
        };
        drop(world);
        let outside = self.share(
            whole
                .as_ref()
                .map(|plan| outside(plan).iter().flat_map(|edge| edge.to_le_bytes()).collect::<Vec<u8>>()),
        );
        let outside = outside.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
        let (numbers, programs) = (part.edges.clone(), part.programs.clone());
        let edges = RankEdges { numbers, programs, outside, listeners };
        // Once, before the first replay.
        let _ = self.edges.set(edges);
    }

    fn replay(&self, job: &Job<'_>) -> anyhow::Result<Vec<Outcome>> {
        let plan = job.plan;
        let of_rank = self.edges.get().context("nobody has said who waits for whom")?;
        let processes: Vec<Vec<usize>> = by_process(plan).into_values().collect();
        let beginnings = Beginnings::of(plan, job.mode);
        let ranked = plan.programs.iter().filter(|program| program.thread.rank.is_some()).count();
        let engine = || {
            if job.comm != Comm::Full {
                return Ok(None);
            }
            if ranked > 1 && self.threading < Threading::Multiple {
                bail!(
                    "rank {} replays several threads, and this MPI does not let them call it at once: `--comm order` does without",
                    self.rank
                );
            }
            let lets_all_in = self.threading == Threading::Multiple;
            Engine::new(job, self.rank, &self.world, lets_all_in, self.begin_ns).map(Some)
        };
        // Ranks that wait for the common start would wait for ever for one that has failed.
        let (engine, stage) = match engine() {
            Ok(engine) => (engine, Ok(())),
            Err(error) => (None, Err(error)),
        };
        self.agree(stage)?;
        let demands = job.own.is_some();
        let edges = Messages::new(plan, of_rank, job.polls, demands, &self.world, self.rank, engine.as_ref());
        let places: Vec<AtomicU64> = plan.programs.iter().map(|_| AtomicU64::new(0)).collect();
        let start = || {
            if let Some(own) = job.own {
                own.begins_with(resident_bytes([std::process::id() as i32]));
            }
            self.world.lock().barrier();
            now_ns()
        };
        if plan.programs.is_empty() {
            start();
        }
        let died = |why: &str| self.abort(why);
        let over = AtomicBool::new(false);
        let mut outcomes = std::thread::scope(|scope| {
            let recorded_ns = plan.about.recorded_ns;
            let part = Part { processes: &processes, beginnings: &beginnings, own_files: None };
            let _watch =
                engine.as_ref().map(|engine| Watchdog::begin(scope, engine, recorded_ns, &over, &died));
            run_programs(job, &part, &edges, &|index| &places[index], &start, &died)
        });
        if job.mode == Mode::Closed {
            edges.finish(plan, job.comm);
        }
        outcomes.iter_mut().for_each(|outcome| outcome.program = of_rank.programs[outcome.program]);
        self.wait_for_all();
        self.gather(outcomes)
    }
}
