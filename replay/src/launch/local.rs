//! Local processes: one child for each process of the plan that no other one created, with all that come of it, their programs as threads.

use super::Launcher;
use super::beginnings::Beginnings;
use super::threads::{Part, run_programs};
use crate::clock::now_ns;
use crate::failure::complain;
use crate::job::Job;
use crate::loaded::Loaded;
use crate::measure::Outcome;
use crate::sys::birthplace::Birthplace;
use crate::sys::child::{exit_now, fork, require_one_thread};
use crate::sys::own_files::OwnFiles;
use crate::sys::shared::SharedSlice;
use crate::sys::signals::Signals;
use crate::sys::{give_back_memory, raise_limit_of_files, resident_bytes, used};
use crate::transport::shared::Counters;
use anyhow::{Context, bail};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::thread::futex::{self, Flags};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use syn_plan::Plan;

/// Numbers in a line of the processor's cache, so that programs do not disturb each other by telling where they are.
const LINE: usize = 8;
/// Between two looks at whether all children are ready.
const READY_LOOK: Duration = Duration::from_micros(500);
/// Children report their end by a signal; this is in case of one that came before the wait.
const END_LOOK: Duration = Duration::from_secs(1);
/// No program has begun.
const NOT_BEGUN: u64 = u64::MAX;

/// The calling process is the root; the children do the work.
pub struct Local {
    signals: Signals,
}

impl Local {
    /// Raises the limit of open files as far as allowed, and keeps interrupts until they are asked for.
    ///
    /// # Errors
    /// When the calling process has more than one thread.
    pub fn new() -> anyhow::Result<Local> {
        require_one_thread()?;
        raise_limit_of_files();
        Ok(Local { signals: Signals::block() })
    }
}

impl Launcher for Local {
    fn name(&self) -> &'static str {
        "local"
    }
    fn is_root(&self) -> bool {
        true
    }
    fn shares_memory(&self) -> bool {
        true
    }
    fn load(&self, path: &Path) -> anyhow::Result<Loaded> {
        Ok(Loaded::All(Plan::load(path)?))
    }
    fn agree(&self, stage: anyhow::Result<()>) -> anyhow::Result<()> {
        stage
    }
    fn share(&self, bytes: Option<Vec<u8>>) -> Vec<u8> {
        bytes.unwrap_or_default()
    }
    /// Every process sees all counters.
    fn prepare_edges(&self, _loaded: &Loaded) {}
    fn interrupted(&self) -> bool {
        self.signals.interrupted()
    }

    fn replay(&self, job: &Job<'_>) -> anyhow::Result<Vec<Outcome>> {
        let stage = Stage::new(job)?;
        if job.own.is_some() {
            // Children have as little as we have.
            give_back_memory();
        }
        let mut children = Children { running: BTreeMap::new() };
        let beginnings = Beginnings::of(job.plan, job.mode);
        for programs in &beginnings.processes(job.plan) {
            let results = File::from(memfd_create("syn-replay results", MemfdFlags::CLOEXEC)?);
            let pid = fork(|| stage.play(job, programs, &beginnings, &results))
                .context("cannot start a process of the replay")?;
            children.running.insert(pid.as_raw_nonzero().get(), (programs.concat(), results));
        }
        let mut outcomes = Vec::new();
        let processes = children.running.len() as u32;
        while stage.control[READY].load(Ordering::Acquire) < processes {
            self.signals.wait(READY_LOOK);
            self.look_after(&mut children, &stage, job, &mut outcomes)?;
        }
        let mut preparation = None;
        if let Some(own) = job.own {
            give_back_memory();
            let all = || children.running.keys().copied().chain([std::process::id() as i32]);
            preparation = Some(used(all()));
            match job.plan.about.ranks {
                0 | 1 => own.is_of(all()),
                // Each rank demands for itself, and does not know what the others hold.
                ranks => own.begins_with(resident_bytes(all()) / u64::from(ranks)),
            }
        }
        stage.start();
        while !children.running.is_empty() {
            self.signals.wait(END_LOOK);
            self.look_after(&mut children, &stage, job, &mut outcomes)?;
        }
        outcomes.sort_by_key(|outcome| outcome.program);
        outcomes.first_mut().into_iter().for_each(|first| first.preparation = preparation);
        Ok(outcomes)
    }
}

impl Local {
    /// Takes in the outcomes of children that have ended.
    fn look_after(
        &self,
        children: &mut Children,
        stage: &Stage,
        job: &Job<'_>,
        outcomes: &mut Vec<Outcome>,
    ) -> anyhow::Result<()> {
        if self.signals.interrupted() {
            bail!("interrupted");
        }
        while !children.running.is_empty() {
            let Some((pid, status)) =
                waitpid(None, WaitOptions::NOHANG).context("lost sight of the children")?
            else {
                break;
            };
            let Some((programs, mut results)) = children.running.remove(&pid.as_raw_nonzero().get()) else {
                continue;
            };
            if status.exit_status() != Some(0) {
                let end = match (status.terminating_signal(), status.exit_status()) {
                    (Some(signal), _) => format!("was ended by signal {signal}"),
                    (_, code) => format!("ended with status {}", code.unwrap_or(-1)),
                };
                bail!("a replaying process {end}: {}", stage.describe(job, &programs));
            }
            results.seek(SeekFrom::Start(0))?;
            let found: Vec<Outcome> =
                serde_json::from_reader(BufReader::new(results)).with_context(|| {
                    format!("process {pid:?} left no results: {}", stage.describe(job, &programs))
                })?;
            outcomes.extend(found);
        }
        Ok(())
    }
}

/// The children that have not ended. Dropped early, none of them goes on.
struct Children {
    running: BTreeMap<i32, (Vec<usize>, File)>,
}

impl Drop for Children {
    fn drop(&mut self) {
        let pids: Vec<Pid> = self.running.keys().filter_map(|&pid| Pid::from_raw(pid)).collect();
        for &pid in &pids {
            // A child that has ended in the meantime is reaped all the same.
            let _ = kill_process(pid, Signal::KILL);
        }
        for &pid in &pids {
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

/// What the children and their parent share.
struct Stage {
    edges: Counters,
    places: SharedSlice<AtomicU64>,
    start_ns: SharedSlice<AtomicU64>,
    control: SharedSlice<AtomicU32>,
}

/// In [`Stage::control`]: how many processes are ready.
const READY: usize = 0;
/// In [`Stage::control`]: 1 once the programs may start.
const GATE: usize = 1;
/// In [`Stage::control`]: how many programs have ended.
const ENDED: usize = 2;

impl Stage {
    fn new(job: &Job<'_>) -> anyhow::Result<Stage> {
        let places = SharedSlice::<AtomicU64>::new(job.plan.programs.len() * LINE)?;
        places.iter().for_each(|place| place.store(NOT_BEGUN, Ordering::Relaxed));
        let edges = Counters::new(job.plan, job.polls)?;
        Ok(Stage { edges, places, start_ns: SharedSlice::new(1)?, control: SharedSlice::new(3)? })
    }

    /// In the child: runs its programs and leaves what they gave in `results`. Returns the exit status.
    fn play(
        &self,
        job: &Job<'_>,
        processes: &[Vec<usize>],
        beginnings: &Beginnings,
        mut results: &File,
    ) -> i32 {
        let place = |index: usize| &self.places[index * LINE];
        let died = |why: &str| {
            complain(why);
            exit_now(1)
        };
        let start = || self.wait_for_start(job);
        Birthplace::prepare();
        let part = Part { processes, beginnings, own_files: OwnFiles::from_now_on() };
        let outcomes = run_programs(job, &part, &self.edges, &place, &start, &died);
        self.wait_for_others(processes.iter().map(Vec::len).sum(), job.plan.programs.len());
        let mut out = BufWriter::new(&mut results);
        let written = serde_json::to_writer(&mut out, &outcomes).map_err(anyhow::Error::from);
        match written.and_then(|()| Ok(out.flush()?)) {
            Ok(()) => 0,
            Err(error) => {
                complain(format_args!("cannot hand over the results of a replaying process: {error:#}"));
                1
            }
        }
    }

    fn wait_for_start(&self, job: &Job<'_>) -> u64 {
        if job.own.is_some() {
            give_back_memory();
        }
        self.control[READY].fetch_add(1, Ordering::AcqRel);
        let gate = &self.control[GATE];
        while gate.load(Ordering::Acquire) == 0 {
            // Returns at once when the gate is open.
            let _ = futex::wait(gate, Flags::empty(), 0, None);
        }
        self.start_ns[0].load(Ordering::Relaxed)
    }

    /// When `ended` programs have ended, until all have: handing over what they gave, and the end of a process, take a
    /// processor for a millisecond, in which others are still to be measured.
    fn wait_for_others(&self, ended: usize, all: usize) {
        let count = &self.control[ENDED];
        let mut seen = count.fetch_add(ended as u32, Ordering::AcqRel) + ended as u32;
        if seen == all as u32 {
            // Waking fails for addresses only that are not mapped.
            let _ = futex::wake(count, Flags::empty(), i32::MAX as u32);
        }
        while seen < all as u32 {
            // Returns at once when the count has changed.
            let _ = futex::wait(count, Flags::empty(), seen, None);
            seen = count.load(Ordering::Acquire);
        }
    }

    fn start(&self) {
        self.start_ns[0].store(now_ns(), Ordering::Relaxed);
        self.control[GATE].store(1, Ordering::Release);
        // Waking fails for addresses only that are not mapped.
        let _ = futex::wake(&self.control[GATE], Flags::empty(), i32::MAX as u32);
    }

    /// Where programs stood, for a message.
    fn describe(&self, job: &Job<'_>, programs: &[usize]) -> String {
        let places = programs.iter().map(|&index| {
            let (plan, program) = (job.plan, &job.plan.programs[index]);
            let thread = &program.thread;
            let rank = thread.rank.map_or("no rank".into(), |rank| format!("rank {rank}"));
            let name = plan.process_name(thread);
            let who = format!("program {index} ({rank}, recorded as {name}, thread {})", thread.tid);
            match self.places[index * LINE].load(Ordering::Relaxed) {
                NOT_BEGUN => format!("{who} had not begun"),
                at => match job.done(program).nth(at as usize) {
                    Some((number, step)) => format!("{who} was at step {number}: {}", step.op),
                    None => format!("{who} was behind its steps"),
                },
            }
        });
        places.collect::<Vec<_>>().join("; ")
    }
}
