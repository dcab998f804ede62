//! Time that is right: programs that compute and wait for a known while, before and inside every kind of call, come out of
//! `syn info`, of the plan and of the replay with what they measured themselves.
//!
//! CPU time is compared with CPU time of the same run, so that a busy machine changes nothing; only the replay's total is
//! compared with the recording's, within a wide band. The same is recorded beside a load of twice as many threads as there
//! are processors. A failed test lists every part that came out wrong, and how.

mod answer;
mod balance;
mod check;
mod costs;
mod ends;
mod load;
mod stages;

use check::Slack;
use load::Load;
use stages::Stages;
use std::path::Path;
use std::sync::Mutex;
use tests::{Job, library, mpirun, program, workloads};

/// The replay's total time is compared: one part at a time, however many threads the tests run on.
static ALONE: Mutex<()> = Mutex::new(());

/// What is wrong each of three times. A host that takes the processor in the middle of a measurement spoils that one; what is
/// wrong in the tool is wrong again.
fn again(measure: impl Fn() -> Vec<String>) -> Vec<String> {
    const TIMES: usize = 3;
    let mut found = measure();
    for _ in 1..TIMES {
        if found.is_empty() {
            break;
        }
        eprintln!("measured again: {}", found.join("; "));
        found = measure();
    }
    found
}

/// Parts of a program that are treated alike.
struct Family {
    /// Before the part's name on the command line.
    job: Job,
    /// Each is one run.
    parts: &'static [&'static str],
    /// What its processes may use after they have said what they used, seconds.
    afterwards: f64,
}

impl Family {
    fn of(name: &str, parts: &'static [&'static str]) -> Family {
        let job = Job::new(program(name)).env("TIME_LIBRARY", library("computing"));
        Family { job, parts, afterwards: 0.0 }
    }

    fn mpi(ranks: u32, parts: &'static [&'static str]) -> Family {
        Family { job: mpirun(ranks).arg(program("time/mpi")), parts, afterwards: 0.0 }
    }

    /// A program without parts.
    fn whole(job: Job) -> Family {
        Family { job, parts: &[""], afterwards: 0.0 }
    }

    fn slack(&self, slack: Slack) -> Slack {
        slack.and(self.afterwards)
    }

    fn jobs(&self) -> impl Iterator<Item = (&'static str, Job)> {
        self.parts.iter().map(|&part| {
            let words = Some(part).filter(|part| !part.is_empty());
            (part, self.job.clone().args(words))
        })
    }

    /// Every part by itself, recorded, merged and replayed.
    #[track_caller]
    fn quiet(&self) {
        let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut failures = Vec::new();
        for (part, job) in self.jobs() {
            let found = again(|| {
                let stages = Stages::of(&job);
                let mut found = stages.check_recorded(self.slack(check::QUIET));
                found.extend(stages.check_replay());
                found
            });
            failures.extend(found.into_iter().map(|failure| format!("{part}: {failure}")));
        }
        assert!(failures.is_empty(), "{} things are wrong:\n{}", failures.len(), failures.join("\n"));
    }

    /// Every part recorded and merged while others take the processors.
    #[track_caller]
    fn beside_load(&self) {
        let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let _load = Load::start(2 * processors);
        let mut failures = Vec::new();
        for (part, job) in self.jobs() {
            let found = again(|| Stages::of(&job).check_recorded(self.slack(check::BESIDE_LOAD)));
            failures.extend(found.into_iter().map(|failure| format!("{part}: {failure}")));
        }
        assert!(failures.is_empty(), "{} things are wrong:\n{}", failures.len(), failures.join("\n"));
    }
}

/// Both tests of a family, under its name.
macro_rules! family {
    ($(#[$about:meta])* $name:ident, $family:expr) => {
        mod $name {
            use super::*;

            $(#[$about])*
            #[test]
            fn quiet() {
                $family.quiet();
            }

            /// The same beside twice as many busy threads as there are processors.
            #[test]

            fn beside_load() {
                $family.beside_load();
            }
        }
    };
}

const CALLS: &[&str] = &[
    "write",
    "fflush",
    "large-fwrite",
    "spill",
    "fclose",
    "slow-pipe",
    "fine-grain",
    "calls-alone",
    "sleep",
    "timers",
    "fsync",
    "open",
    "page-faults",
    "constructor",
];
const HANDLERS: &[&str] = &["handler-computes", "handler-writes"];
const ENDED_BY_SIGNALS: &[&str] = &[
    "select",
    "pselect",
    "poll",
    "epoll",
    "read",
    "nanosleep",
    "pause",
    "child-select",
    "child-poll",
    "child-epoll",
    "child-nanosleep",
    "child-read",
    "restarted-read",
    "restarted-waitpid",
];
const SYNC: &[&str] = &[
    "mutex",
    "mutex-of-worker",
    "rwlock",
    "condition",
    "condition-timeout",
    "semaphore",
    "barrier",
    "user-space",
];
const FORKS: &[&str] = &["fork", "fork-beside", "sleeping-child", "grandchildren", "many-children"];
const STARTED: &[&str] = &["vfork-exec", "posix-spawn", "exec", "system", "popen"];
const THREADS: &[&str] =
    &["joined", "without-calls", "detached", "many", "one-by-one", "alive-at-exit", "exit-in-thread"];
const OPENMP: &[&str] = &["equal", "unequal", "dynamic", "serial-parts"];
const MESSAGES: &[&str] = &[
    "send-recv",
    "late-receiver",
    "wait",
    "waitall",
    "waitany",
    "testing",
    "testing-between",
    "sendrecv",
    "persistent",
    "probe",
    "iprobe",
    "many-small",
];
const COLLECTIVES: &[&str] = &["barrier", "broadcast", "reductions", "gathers", "all-to-all"];

/// A script beside the programs.
fn script(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/time").join(name)
}

family!(calls, Family::of("time/calls", CALLS));
family!(handlers, Family::of("time/signals", HANDLERS));
family!(ended_by_signals, Family::of("time/signals", ENDED_BY_SIGNALS));
family!(synchronization, Family::of("time/sync", SYNC));
family!(forks, Family::of("time/processes", FORKS));
family!(started, Family::of("time/processes", STARTED));
family!(
    /// Under a filter of seccomp(2).
    confined,
    Family::of("time/confined", &["clocks-and-usage", "clocks-alone"])
);
family!(threads, Family::of("time/threads", THREADS));
family!(
    /// Workers sleep at the end of a region.
    openmp,
    {
        let family = Family::of("time/openmp", OPENMP);
        Family { job: family.job.env("OMP_NUM_THREADS", "2").env("OMP_WAIT_POLICY", "passive"), ..family }
    }
);
family!(
    /// Workers spin at the end of a region, as many as there are processors or more.
    openmp_spinning,
    {
        let family = Family::of("time/openmp", OPENMP);
        let job = family.job.env("OMP_NUM_THREADS", "2").env("OMP_WAIT_POLICY", "active");
        Family { job, afterwards: 0.03, ..family }
    }
);
family!(messages, Family::mpi(2, MESSAGES));
family!(collectives, Family::mpi(2, COLLECTIVES));
family!(
    /// More ranks than two processors hold.
    crowded_ranks,
    Family::mpi(4, &["send-recv", "waitall", "barrier", "reductions", "many-small"])
);
family!(fortran, Family::whole(Job::new(program("time/fortran"))));
family!(cxx, Family::whole(Job::new(program("time/cxx"))));
family!(
    /// The interpreter is at work after the script's last line.
    python,
    {
        let job = Job::new(workloads::python_itself()).args(["-S", "-E"]).arg(script("script.py"));
        Family { afterwards: 0.01, ..Family::whole(job) }
    }
);
family!(perl, Family::whole(Job::new("perl").arg(script("waiting.pl"))));
family!(shell, Family::whole(Job::new("sh").arg(script("shell.sh"))));
