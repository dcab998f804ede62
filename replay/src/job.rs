//! What is replayed, on which machine, how.

use crate::args::{Args, Mode};
use crate::burn;
use crate::clock::{ExactSleeps, now_ns, sleep_until, thread_cpu_ns};
use crate::io::{Handles, Target};
use crate::measure::Outcome;
use crate::process::ProcessEnd;
use crate::program::{Prepared, Runner};
use crate::storage::{Parents, Paths, Root};
use crate::transport::{Nobody, polls};
use anyhow::Context;
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;
use syn_plan::{Balance, Edge, Io, Op, Plan, Program, Rule, Step, Steps, Thread};

/// Steps of the program that measures what a step costs.
const PROBE_STEPS: u64 = 2000;
/// The fastest of so many counts: what else runs on the machine only ever adds to it.
const PROBE_ROUNDS: usize = 30;
/// Readings of the CPU clock in a round.
const READINGS: u32 = 100;
/// Sleeps after which it is known what waking up takes, and how long they are: as short waits for another process are.
const SLEEPS: usize = 41;
const SLEEP_NS: u64 = 50_000;

/// How fast this machine is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine {
    /// Iterations of [`burn::burn`] in a nanosecond of processor time.
    pub iterations_per_ns: f64,
    /// What the replay itself adds to a step of I/O, nanoseconds.
    pub io_step_ns: f64,
    /// The same of a computation.
    pub compute_step_ns: f64,
    /// The same of any other step.
    pub step_ns: f64,
    /// What a reading of the CPU clock takes, nanoseconds.
    pub reading_ns: f64,
    /// How much later than asked for a sleep ends, nanoseconds.
    pub wake_ns: f64,
}

impl Machine {
    /// Measures this machine with as many threads as will run at once.
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn measure(programs: usize) -> anyhow::Result<Machine> {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let iterations_per_ns =
            burn::calibrate(programs.clamp(1, cores)).context("cannot measure the speed of this machine")?;
        let steps = step_costs().context("cannot measure the cost of a step")?;
        Ok(Machine { iterations_per_ns, reading_ns: reading(), wake_ns: wake(), ..steps })
    }
}

/// One replay of a plan.
#[derive(Debug)]
pub struct Job<'a> {
    /// What is replayed.
    pub plan: &'a Plan,
    /// Its files below the root, by number.
    pub paths: &'a Paths,
    /// Where.
    pub root: &'a Root,
    /// Grows when a process changes what the path of a folder leads to; `None` where processes cannot tell each other.
    pub generation: Option<&'a AtomicU64>,
    /// When operations are issued.
    pub mode: Mode,
    /// How fast the machine is.
    pub machine: Machine,
    /// What computation is multiplied with.
    pub cpu_scale: f64,
    /// Whether messages are waited for by polling.
    pub polls: bool,
}

impl<'a> Job<'a> {
    /// As the command line says.
    pub fn new(
        args: &Args,
        plan: &'a Plan,
        paths: &'a Paths,
        root: &'a Root,
        generation: Option<&'a AtomicU64>,
        machine: Machine,
    ) -> Job<'a> {
        let polls = polls(plan, args.wait);
        Job { plan, paths, root, generation, mode: args.mode, machine, cpu_scale: args.cpu_scale, polls }
    }

    /// The programs with these numbers, as one process with its own open files.
    pub fn target(&self, programs: &[usize]) -> Target<'a> {
        let handles = Handles::for_programs(programs.iter().map(|&index| &self.plan.programs[index]));
        let (root, files, paths) = (self.root, &self.plan.files[..], self.paths);
        let names = &self.plan.names[..];
        let parents = Parents::new(root, paths, self.generation);
        Target { root, files, paths, parents, names, handles, direct_refused: AtomicU64::new(0) }
    }
}

/// What steps cost by themselves: those of I/O by a program of `lseek`s against a bare loop of them, computations by a
/// program of computations of nothing, others by one of waits for nobody.
fn step_costs() -> anyhow::Result<Machine> {
    let file = memfd_create("syn-replay step cost", MemfdFlags::CLOEXEC)?;
    let bare = |_| {
        let before = thread_cpu_ns();
        for _ in 0..PROBE_STEPS {
            seek(&file, SeekFrom::Start(0))?;
        }
        anyhow::Ok(thread_cpu_ns() - before)
    };
    let seek_ns = (0..PROBE_ROUNDS).map(bare).collect::<Result<Vec<_>, _>>()?.into_iter().min().unwrap_or(0);
    let seeks_ns = steps_take(&file, Op::Io { call: Io::Seek { handle: 0, offset: 0 }, result: 0 })?;
    let nothing_ns = steps_take(&file, Op::Compute { cpu_ns: 0, idle_ns: 0 })?;
    let waits_ns = steps_take(&file, Op::Wait { edge: 0, count: 0, stride: 0 })?;
    let of_one = |ns: u64| ns as f64 / PROBE_STEPS as f64;
    Ok(Machine {
        io_step_ns: of_one(seeks_ns.saturating_sub(seek_ns)),
        compute_step_ns: of_one(nothing_ns),
        step_ns: of_one(waits_ns),
        ..Machine::default()
    })
}

/// Processor time of a program of [`PROBE_STEPS`] such steps on `file`, nanoseconds: the fastest round.
fn steps_take(file: &OwnedFd, op: Op) -> anyhow::Result<u64> {
    let step = |number| Step { start_ns: number * 1000, took_ns: 200, op };
    let steps: Steps = (0..PROBE_STEPS).map(step).collect();
    let round = |_| anyhow::Ok(run_alone(file, steps.clone(), Machine::default())?.cpu_ns);
    Ok((0..PROBE_ROUNDS).map(round).collect::<Result<Vec<_>, _>>()?.into_iter().min().unwrap_or(0))
}

/// Replays one program whose only open file is `file`.
fn run_alone(file: &OwnedFd, steps: Steps, machine: Machine) -> anyhow::Result<Outcome> {
    // No path is looked up by this program, so a file serves as the root.
    let root = Root::new(file.try_clone()?);
    let handles = Handles::with_room(1);
    handles.put(0, file.try_clone()?, 0)?;
    let direct_refused = AtomicU64::new(0);
    let paths = Paths::default();
    let parents = Parents::new(&root, &paths, None);
    let target =
        Target { root: &root, files: &[], paths: &paths, parents, names: &[], handles, direct_refused };
    let thread = Thread { process: 0, rank: None, pid: 0, tid: 0, ends_with_process: false };
    let program = Program { thread, balance: Balance::default(), steps };
    let edges = vec![Edge::new(Rule::Message, 0)];
    let plan = Plan { programs: vec![program], edges, ..Plan::default() };
    let job = Job {
        plan: &plan,
        paths: &paths,
        root: &root,
        generation: None,
        mode: Mode::Closed,
        machine,
        cpu_scale: 1.0,
        polls: false,
    };
    let end = ProcessEnd::of(&plan.programs);
    let (place, prepared) = (AtomicU64::new(0), Prepared::of(&plan.programs[0], 0));
    Ok(Runner::new(&job, &target, &Nobody, &end, 0, &place, prepared).run(now_ns()))
}

/// What a reading of the CPU clock takes, nanoseconds: the fastest of several rounds.
fn reading() -> f64 {
    let round = |_| {
        let before = now_ns();
        for _ in 0..READINGS {
            std::hint::black_box(thread_cpu_ns());
        }
        now_ns() - before
    };
    (0..PROBE_ROUNDS).map(round).min().unwrap_or(0) as f64 / f64::from(READINGS)
}

/// How late a short sleep ends, nanoseconds: the median.
fn wake() -> f64 {
    let _exact = ExactSleeps::begin();
    let late = |_| {
        let until = now_ns() + SLEEP_NS;
        sleep_until(until);
        now_ns() - until
    };
    let mut late: Vec<u64> = (0..SLEEPS).map(late).collect();
    late.sort_unstable();
    late[SLEEPS / 2] as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However wrong the speed is that was measured: it changes while a plan is replayed.
    #[test]
    fn work_takes_the_processor_time_that_was_recorded() {
        let file = memfd_create("work", MemfdFlags::CLOEXEC).expect("memory");
        let speed = burn::calibrate(1).expect("a thread");
        for (wrong_by, share) in [(1.0, 1), (1.3, 1), (0.7, 1), (1.3, 40), (0.7, 40)] {
            const ALL_NS: u64 = 80_000_000;
            let op = Op::Compute { cpu_ns: ALL_NS / share, idle_ns: 0 };
            let steps: Steps = (0..share).map(|_| Step { start_ns: 0, took_ns: 0, op }).collect();
            let machine = Machine { iterations_per_ns: speed * wrong_by, ..Machine::default() };
            let outcome = run_alone(&file, steps, machine).expect("a replay");
            let error = outcome.cpu_ns.abs_diff(ALL_NS);
            assert!(error < ALL_NS / 50, "speed × {wrong_by}, {share} steps: {} ns", outcome.cpu_ns);
            assert!(outcome.balance.work_ns.abs_diff(outcome.cpu_ns) < ALL_NS / 50, "{:?}", outcome.balance);
        }
    }

    /// A clock that stands still does not keep a replay from its end.
    #[test]
    fn a_loop_that_takes_no_time_ends() {
        let file = memfd_create("work", MemfdFlags::CLOEXEC).expect("memory");
        let steps: Steps =
            [Step { start_ns: 0, took_ns: 0, op: Op::Compute { cpu_ns: 50_000_000, idle_ns: 0 } }]
                .into_iter()
                .collect();
        let outcome = run_alone(&file, steps, Machine::default()).expect("a replay");
        assert!(outcome.cpu_ns < 10_000_000, "{} ns", outcome.cpu_ns);
    }
}
