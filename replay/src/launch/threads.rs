//! The threads of one process of the replay. See [`super::beginnings`] for which of them begin later.

use super::beginnings::Beginnings;
use super::shares::Shares;
use crate::clock::{ExactSleeps, with_usual_slack};
use crate::io::Target;
use crate::job::Job;
use crate::measure::Outcome;
use crate::process::ProcessEnd;
use crate::program::{Prepared, Runner, Since, number_as_in_plan};
use crate::sys::birthplace::Birthplace;
use crate::sys::own_files::OwnFiles;
use crate::transport::{Transport, Waiter};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, Scope};
use syn_plan::{EdgeId, Mpi, Rule};

/// What is replayed in one process.
pub struct Part<'a> {
    /// Processes of the plan, each as its programs.
    pub processes: &'a [Vec<usize>],
    /// Which of these begin later.
    pub beginnings: &'a Beginnings,
    /// Gives each process that begins later open files of its own; `None`: all have the same.
    pub own_files: Option<OwnFiles>,
}

/// Runs the programs of a part of the plan in this process, each in a thread, one of them in the calling one. `start` is
/// called once, when all that exist from the start are ready, and returns the common start. `died` is called in a thread that
/// cannot go on, and does not return.
pub fn run_programs<'p>(
    job: &Job<'_>,
    part: &Part<'_>,
    transport: &dyn Transport,
    place: &(dyn Fn(usize) -> &'p AtomicU64 + Sync),
    start: &(dyn Fn() -> u64 + Sync),
    died: &(dyn Fn(&str) + Sync),
) -> Vec<Outcome> {
    let Part { processes, beginnings, ref own_files } = *part;
    let later = beginnings.later();
    let process = |indices: &Vec<usize>| {
        let programs = || indices.iter().map(|&index| &job.plan.programs[index]);
        let prepared = |&index| (index, Prepared::of(job, index));
        Process {
            target: job.target(indices),
            end: ProcessEnd::of(programs()),
            left: AtomicUsize::new(indices.len()),
            shares: Shares::of(job.plan, indices),
            prepared: Mutex::new(
                indices.iter().filter(|index| later.contains(index)).map(prepared).collect(),
            ),
        }
    };
    let all = || {
        processes.iter().enumerate().flat_map(|(at, indices)| indices.iter().map(move |&index| (at, index)))
    };
    let first: Vec<(usize, usize)> = all().filter(|(_, index)| !later.contains(index)).collect();
    let process_of =
        all().filter(|(_, index)| later.contains(index)).map(|(at, index)| (index, at)).collect();
    let processes: Vec<Process<'_>> = processes.iter().map(process).collect();
    let (start_ns, outcomes) = (AtomicU64::new(0), Mutex::default());
    let threads = Threads {
        job,
        transport,
        place,
        died,
        processes,
        process_of,
        beginnings,
        own_files: own_files.as_ref(),
        start_ns,
        outcomes,
    };
    let ready = Barrier::new(first.len());
    let start = || {
        if ready.wait().is_leader() {
            threads.start_ns.store(start(), Ordering::Relaxed);
        }
        ready.wait();
    };
    std::thread::scope(|scope| {
        let (threads, start) = (&threads, &start);
        for &(process, index) in first.iter().skip(1) {
            threads.create(scope, &threads.processes[process], index, None, start);
        }
        if let Some(&(process, index)) = first.first() {
            threads.run(scope, &threads.processes[process], index, None, start);
        }
    });
    let Threads { processes, outcomes, .. } = threads;
    let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(outcome) = outcomes.first_mut() {
        for Target { direct_refused, handles, .. } in processes.iter().map(|process| &process.target) {
            outcome.direct_refused += direct_refused.load(Ordering::Relaxed);
            outcome.queues_refused += handles.queues.refused.load(Ordering::Relaxed);
        }
    }
    outcomes
}

/// A process of the plan.
struct Process<'a> {
    target: Target<'a>,
    end: ProcessEnd,
    /// Programs that have not ended.
    left: AtomicUsize,
    /// What it has of the process that begins it.
    shares: Shares,
    /// For the programs that begin later: nobody is to wait for that then.
    prepared: Mutex<BTreeMap<usize, Prepared>>,
}

/// What the threads share.
struct Threads<'a, 'p> {
    job: &'a Job<'a>,
    transport: &'a dyn Transport,
    place: &'a (dyn Fn(usize) -> &'p AtomicU64 + Sync),
    died: &'a (dyn Fn(&str) + Sync),
    processes: Vec<Process<'a>>,
    /// The process of each program that begins later.
    process_of: BTreeMap<usize, usize>,
    beginnings: &'a Beginnings,
    /// How processes that begin later get open files of their own; `None` where all threads share those of the process.
    own_files: Option<&'a OwnFiles>,
    /// The common start, once it is known.
    start_ns: AtomicU64,
    outcomes: Mutex<Vec<Outcome>>,
}

impl<'a> Threads<'a, '_> {
    /// Runs a program in a thread of its own, as soon as `start` returns.
    fn create<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        process: &'scope Process<'a>,
        index: usize,
        since: Option<Since>,
        start: impl FnOnce() + Send + 'scope,
    ) {
        let run = move || self.run(scope, process, index, since, start);
        let thread = Builder::new().spawn_scoped(scope, run);
        if let Err(error) = thread {
            (self.died)(&format!("cannot start the thread of program {index}: {error}"));
        }
    }

    /// Runs a program in the calling thread, and those that it becomes.
    fn run<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        process: &'scope Process<'a>,
        index: usize,
        since: Option<Since>,
        start: impl FnOnce(),
    ) {
        let at = Cell::new(index);
        let body = || {
            let _exact = ExactSleeps::begin();
            let (mut next, mut since) = self.image(scope, process, index, since, start);
            while let Some(index) = next {
                at.set(index);
                let process = &self.processes[self.process_of[&index]];
                (next, since) = self.image(scope, process, index, Some(since), || ());
            }
        };
        if std::panic::catch_unwind(AssertUnwindSafe(body)).is_err() {
            (self.died)(&format!("program {} panicked", at.get()));
        }
    }

    /// Runs a program in the calling thread; the one that it becomes, and since when.
    fn image<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        process: &'scope Process<'a>,
        index: usize,
        since: Option<Since>,
        start: impl FnOnce(),
    ) -> (Option<usize>, Since) {
        let earlier = locked(&process.prepared).remove(&index);
        let prepared = earlier.unwrap_or_else(|| Prepared::of(self.job, index));
        let creator = Creator { threads: self, scope, process, next: OnceLock::new() };
        let place = (self.place)(index);
        let runner = Runner::new(self.job, &process.target, &creator, &process.end, index, place, prepared);
        start();
        let (mut outcome, since, leaves_out) = runner.run(self.start_ns.load(Ordering::Relaxed), since);
        self.transport.ended();
        process.end.ended(&self.job.plan.programs[index].thread);
        let next = creator.next.into_inner();
        if let Some(next) = next.map(|next| &self.processes[self.process_of[&next]]) {
            let is_alone = process.left.load(Ordering::Acquire) == 1;
            next.shares.stay_open(&process.target.handles, &next.target.handles, is_alone);
        }
        if process.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            process.target.close_all();
        }
        if leaves_out {
            number_as_in_plan(self.job, &mut outcome);
        }
        locked(&self.outcomes).push(outcome);
        (next, since)
    }
}

/// The transport of a process's program, which creates threads where the program did.
struct Creator<'scope, 'env, 'a, 'p> {
    threads: &'scope Threads<'a, 'p>,
    scope: &'scope Scope<'scope, 'env>,
    /// Of the program.
    process: &'scope Process<'a>,
    /// The program that goes on in this thread when its own is over.
    next: OnceLock<usize>,
}

impl Transport for Creator<'_, '_, '_, '_> {
    fn signal(&self, edge: EdgeId) {
        let Threads { job, transport, beginnings, process_of, processes, own_files, .. } = self.threads;
        transport.signal(edge);
        if let Some(next) = beginnings.image(edge) {
            // A program becomes another one once.
            let _ = self.next.set(next);
        }
        let created = beginnings.created(edge);
        if created.is_empty() {
            return;
        }
        // Its time begins with its first step.
        let own_files = own_files.filter(|_| job.plan.edges[edge as usize].rule == Rule::ProcessCreate);
        let birthplace = match beginnings.stands_still(edge) {
            true => Birthplace::anywhere(),
            false => Birthplace::of_creator(),
        };
        let create = |&index: &usize| {
            let process = &processes[process_of[&index]];
            let (shares, handles) = (&process.shares, &process.target.handles);
            let shared =
                shares.are_of(index).then(|| shares.share(&self.process.target.handles, handles, own_files));
            let begins = move || {
                birthplace.leave();
                own_files.into_iter().for_each(OwnFiles::begin);
                shared.flatten().into_iter().for_each(|shared| shared.arrive(handles));
            };
            self.threads.create(self.scope, process, index, Some(Since::default()), begins);
        };
        with_usual_slack(|| created.iter().for_each(create));
        birthplace.give_way();
    }

    fn wait_until(&self, edge: EdgeId, count: u32, deadline_ns: u64) -> bool {
        self.threads.transport.wait_until(edge, count, deadline_ns)
    }

    fn call(&self, program: usize, call: &Mpi) {
        self.threads.transport.call(program, call);
    }

    fn comes_from_outside(&self, edge: EdgeId) -> bool {
        self.threads.transport.comes_from_outside(edge)
    }

    fn wait(&self, edge: EdgeId, count: u32, who: Waiter) {
        self.threads.transport.wait(edge, count, who);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Machine;
    use crate::mode::Mode;
    use crate::storage::{Paths, Root};
    use crate::transport::shared::Counters;
    use rustix::fs::{MemfdFlags, memfd_create};
    use syn_plan::{Balance, Edge, Op, Plan, Program, Step, Thread};

    fn program(process: u32, ops: &[Op]) -> Program {
        let thread = Thread { process, rank: None, pid: process, tid: 0, ends_with_process: false };
        let steps = ops.iter().map(|&op| Step { start_ns: 0, took_ns: 0, op }).collect();
        Program { thread, balance: Balance::default(), steps }
    }

    /// One thread creates two, the first of which creates another process.
    fn creations() -> Plan {
        let signal = |edge| Op::Signal { edge };
        let wait = |edge| Op::Wait { edge, count: 1, stride: 0 };
        let programs = vec![
            program(1, &[signal(0), signal(1), wait(3)]),
            program(1, &[wait(0), signal(2)]),
            program(1, &[wait(1)]),
            program(2, &[wait(2), signal(3)]),
        ];
        let rules = [Rule::ThreadCreate, Rule::ThreadCreate, Rule::ProcessCreate, Rule::ProcessJoin];
        let edges = rules.map(|rule| Edge::new(rule, 1)).to_vec();
        Plan { programs, edges, ..Plan::default() }
    }

    #[test]
    fn threads_begin_where_they_are_created() {
        let plan = creations();
        let root = Root::new(memfd_create("root", MemfdFlags::CLOEXEC).expect("memory"));
        let paths = Paths::default();
        let machine = Machine::default();
        for (mode, there_from_the_start) in [(Mode::Closed, vec![0]), (Mode::Afap, vec![0, 1, 2, 3])] {
            let (plan, root, paths) = (&plan, &root, &paths);
            let job = Job {
                plan,
                paths,
                root,
                generation: None,
                mode,
                machine,
                cpu_scale: 1.0,
                polls: false,
                own: None,
                peer: None,
                delays: None,
                comm: crate::communicate::Comm::Order,
                mpi_io: crate::communicate::MpiIo::Posix,
                folder: ".".as_ref(),
            };
            let beginnings = Beginnings::of(plan, mode);
            let counters = Counters::new(plan, false).expect("memory");
            let places: Vec<AtomicU64> = plan.programs.iter().map(|_| AtomicU64::new(0)).collect();
            let begun: Mutex<Vec<usize>> = Mutex::default();
            let place = |index: usize| {
                locked(&begun).push(index);
                &places[index]
            };
            let there: Mutex<Vec<usize>> = Mutex::default();
            let start = || {
                *locked(&there) = locked(&begun).clone();
                crate::clock::now_ns()
            };
            let died = |why: &str| panic!("{why}");
            let outcomes = run_programs(
                &job,
                &Part { processes: &[vec![0, 1, 2], vec![3]], beginnings: &beginnings, own_files: None },
                &counters,
                &place,
                &start,
                &died,
            );
            let mut there = locked(&there).clone();
            there.sort_unstable();
            assert_eq!(there, there_from_the_start, "{mode:?}");
            let mut ended: Vec<usize> = outcomes.iter().map(|outcome| outcome.program).collect();
            ended.sort_unstable();
            assert_eq!(ended, [0, 1, 2, 3]);
        }
    }
}
