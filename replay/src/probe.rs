//! How fast a machine is: replayed for a moment, and slept on.

use crate::burn;
use crate::clock::{ExactSleeps, now_ns, sleep_until, tick_ns};
use crate::communicate::{Comm, MpiIo};
use crate::demands;
use crate::io::{Handles, Target};
use crate::job::{Job, Machine};
use crate::measure::Outcome;
use crate::mode::Mode;
use crate::process::ProcessEnd;
use crate::program::{Prepared, Runner, Since};
use crate::storage::{Parents, Paths, Root};
use crate::transport::{Nobody, Transport};
use anyhow::Context;
use rustix::fs::{MemfdFlags, memfd_create};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use syn_plan::{Balance, Edge, Io, Op, Plan, Program, Rule, Step, Steps, Thread};

/// Steps of the two programs that measure what a step costs. What counts is by how much the longer one takes longer: both begin, and
/// make room for what they count, and that is no step's.
const PROBE_STEPS: [u64; 2] = [1000, 3000];
/// The fastest of so many counts: what else runs on the machine only ever adds to it.
const PROBE_ROUNDS: usize = 30;
/// Sleeps after which it is known what waking up takes, and how long they are: as short waits for another process are.
const SLEEPS: usize = 41;
const SLEEP_NS: u64 = 50_000;

/// Measures this machine with as many threads as will run at once.
///
/// # Errors
/// When threads cannot be started.
pub fn measure(plan: &Plan) -> anyhow::Result<Machine> {
    // What demands compute is measured while they do it.
    if demands::are_in(plan) {
        return Ok(Machine::default());
    }
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let (tick_ns, speed) = tick_ns(|| burn::calibrate(plan.programs.len().clamp(1, cores)));
    let speed = speed.context("cannot measure the speed of this machine")?;
    let steps = step_costs(tick_ns).context("cannot measure the cost of a step")?;
    Ok(Machine { tick_ns, speed, wake_ns: wake(), ..steps })
}

/// What steps cost that the meter of a program does not see as computation: a call and a wait inside of themselves, and a computation
/// between calls of MPI.
///
/// Inside a call counts by how much a small one takes longer there than in a loop; inside a wait, what one for nobody takes.
fn step_costs(tick_ns: f64) -> anyhow::Result<Machine> {
    let file = memfd_create("syn-replay step cost", MemfdFlags::CLOEXEC)?;
    let of_program =
        |op: Op, part: fn(&Outcome) -> u64| of_one(|steps| Ok(part(&steps_take(&file, op, steps, tick_ns)?)));
    let all = |outcome: &Outcome| outcome.cpu_ns;
    let wait = Op::Wait { edge: 0, count: 0, stride: 0 };
    let inside_ns = of_program(small_call(), |outcome| outcome.balance.calls_cpu_ns)?;
    Ok(Machine {
        io_inside_ns: (inside_ns - of_one(|calls| bare_calls_take(&file, calls))?).max(0.0),
        wait_inside_ns: of_program(wait, |outcome| outcome.balance.explained())?,
        compute_step_ns: of_program(Op::Compute { cpu_ns: 0, idle_ns: 0 }, all)?,
        ..Machine::default()
    })
}

/// By how much a further step makes longer what `take` measures, nanoseconds: from the fastest rounds of few and of many.
fn of_one(take: impl Fn(u64) -> anyhow::Result<u64>) -> anyhow::Result<f64> {
    let mut fastest = [u64::MAX; 2];
    for _ in 0..PROBE_ROUNDS {
        for (fastest, steps) in fastest.iter_mut().zip(PROBE_STEPS) {
            *fastest = take(steps)?.min(*fastest);
        }
    }
    let [few, many] = fastest;
    Ok(many.saturating_sub(few) as f64 / (PROBE_STEPS[1] - PROBE_STEPS[0]) as f64)
}

/// A call that gets to the kernel, behind which the processor has forgotten where branches lead. There is nothing to be read.
fn small_call() -> Op {
    Op::Io { call: Io::Read { handle: 0, bytes: 1 }, result: 0 }
}

/// What so many [`small_call`]s take in a loop, nanoseconds.
fn bare_calls_take(file: &OwnedFd, calls: u64) -> anyhow::Result<u64> {
    let (mut byte, before) = ([0], now_ns());
    for _ in 0..calls {
        rustix::io::read(file, &mut byte)?;
    }
    Ok(now_ns() - before)
}

/// What a program of so many steps on `file` gives that does `op` again and again.
fn steps_take(file: &OwnedFd, op: Op, steps: u64, tick_ns: f64) -> anyhow::Result<Outcome> {
    let steps: Steps = (0..steps).map(|number| Step { start_ns: number * 1000, took_ns: 200, op }).collect();
    run_alone(file, steps, Machine { tick_ns, ..Machine::default() }, None, &Nobody)
}

/// Replays one program whose only open file is `file`.
fn run_alone(
    file: &OwnedFd,
    steps: Steps,
    machine: Machine,
    since: Option<Since>,
    transport: &dyn Transport,
) -> anyhow::Result<Outcome> {
    // No path is looked up by this program, so a file serves as the root.
    let root = Root::new(file.try_clone()?);
    let handles = Handles::with_room(2);
    handles.put(0, file.try_clone()?, 0)?;
    let direct_refused = AtomicU64::new(0);
    let paths = Paths::default();
    let parents = Parents::new(&root, &paths, None);
    let target =
        Target { root: &root, files: &[], paths: &paths, parents, names: &[], handles, direct_refused };
    let thread = Thread { process: 0, rank: None, pid: 0, tid: 0, ends_with_process: false };
    let program = Program { thread, balance: Balance::default(), steps };
    let edges = vec![Edge::new(Rule::Message, 0), Edge::new(Rule::ThreadCreate, 1)];
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
        own: None,
        peer: None,
        delays: None,
        comm: Comm::Order,
        mpi_io: MpiIo::Posix,
        folder: Path::new("."),
    };
    let end = ProcessEnd::of(&plan.programs);
    let (place, prepared) = (AtomicU64::new(0), Prepared::of(&job, 0));
    Ok(Runner::new(&job, &target, transport, &end, 0, &place, prepared).run(now_ns(), since).0)
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
    use crate::burn::Speed;
    use crate::transport::Waiter;
    use std::sync::Mutex;
    use syn_plan::{EdgeId, Mpi};

    /// However wrong the speed is that was measured: it changes while a plan is replayed.
    #[test]
    fn work_takes_the_processor_time_that_was_recorded() {
        let file = memfd_create("work", MemfdFlags::CLOEXEC).expect("memory");
        let speed = burn::calibrate(1).expect("a thread");
        for (wrong_by, share) in [(1.0, 1), (1.3, 1), (0.7, 1), (1.3, 40), (0.7, 40)] {
            const ALL_NS: u64 = 80_000_000;
            let op = Op::Compute { cpu_ns: ALL_NS / share, idle_ns: 0 };
            let speed = Speed {
                iterations_per_ns: speed.iterations_per_ns * wrong_by,
                line_ns: speed.line_ns / wrong_by,
            };
            let machine = Machine { speed, ..Machine::default() };
            // The host of a virtual machine may take the processor in the last slice, which nothing makes up for: the closest counts.
            let replayed = |_| {
                let steps: Steps = (0..share).map(|_| Step { start_ns: 0, took_ns: 0, op }).collect();
                run_alone(&file, steps, machine, None, &Nobody).expect("a replay")
            };
            let outcome = (0..5).map(replayed).min_by_key(|outcome| outcome.cpu_ns.abs_diff(ALL_NS));
            let outcome = outcome.expect("there are five");
            let error = outcome.cpu_ns.abs_diff(ALL_NS);
            assert!(error < ALL_NS / 50, "speed × {wrong_by}, {share} steps: {} ns", outcome.cpu_ns);
            assert!(outcome.balance.work_ns.abs_diff(outcome.cpu_ns) < ALL_NS / 50, "{:?}", outcome.balance);
        }
    }

    /// A thread that another one makes is not ready at once, nor was the application's, whose computation has that in it.
    #[test]
    fn what_a_thread_has_used_to_begin_it_computes_less() {
        const ALL_NS: u64 = 20_000_000;
        const START_NS: u64 = 8_000_000;
        let file = memfd_create("work", MemfdFlags::CLOEXEC).expect("memory");
        let machine = Machine { speed: burn::calibrate(1).expect("a thread"), ..Machine::default() };
        let outcome = std::thread::scope(|scope| {
            let begun = || {
                machine.speed.work(START_NS as f64);
                let ops =
                    [Op::Wait { edge: 1, count: 1, stride: 0 }, Op::Compute { cpu_ns: ALL_NS, idle_ns: 0 }];
                let steps = ops.map(|op| Step { start_ns: 0, took_ns: 0, op }).into_iter().collect();
                run_alone(&file, steps, machine, Some(Since::default()), &Nobody).expect("a replay")
            };
            scope.spawn(begun).join().expect("a thread")
        });
        let Outcome { cpu_ns, balance, .. } = outcome;
        assert!(cpu_ns.abs_diff(ALL_NS) < ALL_NS / 10, "{cpu_ns} ns");
        assert!(balance.work_ns.abs_diff(ALL_NS) < ALL_NS / 10, "{balance:?}");
        assert_eq!(balance.open_ns(), 0);
    }

    /// Notes who waits, and lets it go on.
    #[derive(Default)]
    struct Noting(Mutex<Vec<Waiter>>);

    impl Transport for Noting {
        fn signal(&self, _edge: EdgeId) {}
        fn wait(&self, _edge: EdgeId, _count: u32, who: Waiter) {
            self.0.lock().expect("no panic").push(who);
        }
        fn wait_until(&self, _edge: EdgeId, _count: u32, _deadline_ns: u64) -> bool {
            true
        }
        fn call(&self, _program: usize, _call: &Mpi) {}
    }

    #[test]
    fn who_waited_for_long_has_slept_and_the_first_of_several_waits_tells() {
        use Waiter::{Begins, Slept, Stayed};
        let file = memfd_create("waits", MemfdFlags::CLOEXEC).expect("memory");
        let wait = |edge, took_ns| Step { start_ns: 0, took_ns, op: Op::Wait { edge, count: 1, stride: 0 } };
        let nothing = Step { start_ns: 0, took_ns: 0, op: Op::Compute { cpu_ns: 0, idle_ns: 0 } };
        let steps = [
            wait(1, 9_000),
            wait(0, 0),
            wait(0, 5_001),
            wait(0, 0),
            wait(0, 0),
            nothing,
            wait(0, 0),
            wait(0, 5_000),
        ];
        let noting = Noting::default();
        run_alone(&file, steps.into_iter().collect(), Machine::default(), None, &noting).expect("a replay");
        let waiters = noting.0.into_inner().expect("no panic");
        assert_eq!(waiters, [Begins, Stayed, Slept, Slept, Slept, Stayed, Stayed]);
    }

    /// A clock that stands still does not keep a replay from its end.
    #[test]
    fn a_loop_that_takes_no_time_ends() {
        let file = memfd_create("work", MemfdFlags::CLOEXEC).expect("memory");
        let steps: Steps =
            [Step { start_ns: 0, took_ns: 0, op: Op::Compute { cpu_ns: 50_000_000, idle_ns: 0 } }]
                .into_iter()
                .collect();
        let outcome = run_alone(&file, steps, Machine::default(), None, &Nobody).expect("a replay");
        assert!(outcome.cpu_ns < 10_000_000, "{} ns", outcome.cpu_ns);
    }
}
