//! The ranks of an MPI job: each runs the programs of one recorded rank.

use super::threads::run_programs;
use super::{Launcher, by_process};
use crate::args::Mode;
use crate::clock::now_ns;
use crate::job::Job;
use crate::measure::Outcome;
use crate::sys::child::exit_now;
use crate::transport::messages::{Messages, Shared, pause};
use crate::{FailedElsewhere, WrongUsage, exit_code};
use anyhow::{Context, bail};
use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use syn_plan::Plan;

/// The rank that prepares and reports.
const LEADER: i32 = 0;
/// The tag of messages that carry outcomes.
const OUTCOMES: mpi::Tag = 2;

/// One rank of the job. MPI is finalised when it is dropped.
pub struct Ranks {
    world: Shared,
    rank: u32,
    size: u32,
    threading: Threading,
    _universe: Universe,
}

impl Ranks {
    /// Joins the job.
    ///
    /// # Errors
    /// When MPI is already in use by this process.
    pub fn new() -> anyhow::Result<Ranks> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Serialized)
            .context("MPI was initialised before the replay")?;
        let world = universe.world();
        let (rank, size) = (world.rank() as u32, world.size() as u32);
        Ok(Ranks { world: Shared::new(world), rank, size, threading, _universe: universe })
    }

    fn mine<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = usize> + 'a {
        (0..plan.programs.len()).filter(|&index| rank_of(plan, index) == self.rank)
    }

    /// Ends the whole job, after saying why.
    fn abort(&self, why: &str) {
        eprintln!("syn-replay: rank {}: {why}", self.rank);
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

/// The rank that runs a program. Processes without a rank, such as launchers, go to the leader.
fn rank_of(plan: &Plan, program: usize) -> u32 {
    plan.programs[program].thread.rank.unwrap_or(LEADER as u32)
}

fn recorded_ranks(plan: &Plan) -> u32 {
    let used =
        plan.programs.iter().filter_map(|program| program.thread.rank).max().map_or(0, |rank| rank + 1);
    plan.about.ranks.max(used)
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
    fn programs_here(&self, plan: &Plan) -> usize {
        self.mine(plan).count()
    }
    /// Never: the launcher ends all ranks at once, and what they leave on the storage is removed by hand.
    fn interrupted(&self) -> bool {
        false
    }

    fn fits(&self, plan: &Plan) -> anyhow::Result<()> {
        let recorded = recorded_ranks(plan);
        if recorded == 0 && self.size > 1 {
            bail!(WrongUsage("the plan is of an application without MPI; replay it without mpirun".into()));
        }
        if recorded != self.size && recorded > 0 {
            let size = self.size;
            bail!(WrongUsage(format!(
                "the plan is for {recorded} ranks, but there are {size}; start it with `mpirun -np {recorded}`"
            )));
        }
        if self.programs_here(plan) > 1 && self.threading < Threading::Serialized {
            bail!("rank {} has several threads to replay, but this MPI allows only one", self.rank);
        }
        Ok(())
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
        {
            eprintln!("syn-replay: {error:#}");
        }
        self.world.lock().barrier();
        Err(FailedElsewhere(first as u8).into())
    }

    fn share_folder(&self, folder: Option<PathBuf>) -> PathBuf {
        let world = self.world.lock();
        let leader = world.process_at_rank(LEADER);
        let mut path = folder.unwrap_or_default().as_os_str().as_bytes().to_vec();
        let mut length = path.len() as u64;
        leader.broadcast_into(&mut length);
        path.resize(length as usize, 0);
        leader.broadcast_into(&mut path[..]);
        PathBuf::from(OsString::from_vec(path))
    }

    fn share_code(&self, code: u8) -> u8 {
        let mut code = code;
        self.world.lock().process_at_rank(LEADER).broadcast_into(&mut code);
        code
    }

    fn replay(&self, job: &Job<'_>) -> anyhow::Result<Vec<Outcome>> {
        let plan = job.plan;
        let mine: Vec<usize> = self.mine(plan).collect();
        let processes: Vec<Vec<usize>> = by_process(plan, mine.iter().copied()).into_values().collect();
        let rank_of = |index| rank_of(plan, index);
        let edges = Messages::new(plan, job.polls, &self.world, self.rank, &rank_of);
        let places: Vec<AtomicU64> = plan.programs.iter().map(|_| AtomicU64::new(0)).collect();
        let start = || {
            self.world.lock().barrier();
            now_ns()
        };
        if mine.is_empty() {
            start();
        }
        let died = |why: &str| self.abort(why);
        let outcomes = run_programs(job, &processes, &edges, &|index| &places[index], &start, &died);
        if job.mode == Mode::Closed {
            edges.finish(plan, &rank_of);
        }
        self.wait_for_all();
        self.gather(outcomes)
    }
}
