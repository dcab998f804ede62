//! Runs a program without the shim, and once more under the shim and strace together, and compares.

use crate::allowed::ALLOWED;
use crate::objects::Names;
use crate::tally::Key;
use crate::{kernel, recorded};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use syn_trace::Run;
use tempfile::TempDir;
use tests::workloads::LAUNCHERS;
use tests::{Job, Outcome, Tally, differences, strace};

/// Differences of a program and class that are shown one by one.
const SHOWN: usize = 5;

/// A program to be compared.
pub struct Program {
    /// How it is started.
    pub job: Job,
    /// Classes of calls that it makes: the comparison is worth nothing without them.
    pub makes: &'static [&'static str],
    /// Names of files that differ between any two runs.
    pub different: &'static [&'static str],
    /// What is the same in any two runs of the calls that fail.
    pub errors: Errors,
}

/// How far failed calls are the same in any two runs of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// As often, for the same reasons.
    Counted,
    /// For the same reasons.
    Reasons,
    /// Not at all: the ranks of an MPI program race for what they share, and its launcher for their ends.
    Raced,
}

/// Where everything goes.
struct Folders {
    scratch: TempDir,
}

impl Folders {
    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Runs the job in an empty folder that is called the same each time, since programs write down where they are.
    fn run(&self, job: &Job) -> Outcome {
        let work = self.path("work");
        std::fs::create_dir(&work).expect("a folder where there is none");
        job.run_in(&work)
    }

    /// The same behind strace, which writes into the folder `strace`.
    fn run_traced(&self, strace: &Path, job: &Job) -> Outcome {
        std::fs::create_dir(strace).expect("a folder where there is none");
        self.run(job)
    }

    /// Makes room for another run.
    fn put_aside(&self, name: &str) {
        std::fs::rename(self.path("work"), self.path(name)).expect("a folder is renamed");
    }
}

/// Complete and harmless.
#[track_caller]
pub fn check(program: &Program) {
    let folders = Folders { scratch: tempfile::tempdir().expect("a folder for temporary files") };
    let [recorded, alone, run] = ["strace", "strace-alone", "run"].map(|name| folders.path(name));
    let plain = folders.run(&program.job).succeeded();
    folders.put_aside("plain");

    let traced = strace::job(&recorded, &run, &kernel::calls()).followed_by(&program.job);
    let outcome = folders.run_traced(&recorded, &traced);
    check_same(program, &folders, &plain, &outcome);
    check_complete(program, &folders, &run, &recorded);
    folders.put_aside("recorded");

    if program.errors == Errors::Raced {
        return;
    }
    let traced = strace::alone(&alone, &kernel::calls()).followed_by(&program.job);
    let _ = folders.run_traced(&alone, &traced).succeeded();
    check_errors(program, &folders, &recorded, &alone);
}

/// The program printed the same, ended in the same way and left the same files.
#[track_caller]
fn check_same(program: &Program, folders: &Folders, plain: &Outcome, recorded: &Outcome) {
    assert_eq!(recorded.stderr, plain.stderr, "stderr with the shim (left) and without");
    assert_eq!(recorded.stdout, plain.stdout, "stdout with the shim (left) and without");
    assert_eq!(recorded.status, plain.status, "exit status with the shim (left) and without");
    let mut left = differences(&folders.path("plain"), &folders.path("work"));
    left.retain(|difference| !program.different.iter().any(|name| difference.contains(name)));
    assert!(left.is_empty(), "the files left without and with the shim differ: {left:#?}");
}

/// The trace holds what the kernel saw.
#[track_caller]
fn check_complete(program: &Program, folders: &Folders, run: &Path, strace: &Path) {
    let run = Run::open(run).unwrap_or_else(|error| panic!("{error}"));
    check_run(&run);
    let mut names = Names::default();
    let kernel = kernel::counted(strace, &folders.path("work"), &mut names);
    let trace = recorded::counted(&run, &mut names).renamed(&names);
    let kernel = kernel.renamed(&names);
    let differences = kernel.differences(&trace);
    let allowed = ALLOWED.map(|allowed| allowed.because).join("\n- ");
    assert!(
        differences.is_empty(),
        "the kernel and the trace differ:\n{}\nbesides what is allowed:\n- {allowed}",
        report(&run, &differences)
    );
    for class in program.makes {
        assert!(trace.calls(class) > 0, "the program made no call of the class \"{class}\"");
    }
}

/// The same calls fail for the same reasons without the shim, as often as with it.
#[track_caller]
fn check_errors(program: &Program, folders: &Folders, with_shim: &Path, without: &Path) {
    let errors = |strace| kernel::errors(strace, &folders.path("work"));
    let (with_shim, without) = (errors(with_shim), errors(without));
    let both: BTreeSet<_> = with_shim.keys().chain(without.keys()).collect();
    let count = |errors: &BTreeMap<_, u64>, error| match errors.get(error) {
        Some(_) if program.errors == Errors::Reasons => 1,
        count => count.copied().unwrap_or(0),
    };
    let both = both.into_iter().map(|error| (error, count(&with_shim, error), count(&without, error)));
    let different: Vec<_> = both.filter(|(_, one, other)| one != other).collect();
    assert!(different.is_empty(), "failed calls, how often with the shim and without: {different:?}");
}

/// Nothing was lost, and nothing was taken for a launcher that is none: its calls would be missing from both sides.
#[track_caller]
fn check_run(run: &Run) {
    assert!(run.unreadable.is_empty(), "unreadable traces: {:?}", run.unreadable);
    assert_eq!(run.dropped(), 0, "dropped records");
    for process in run.processes.iter().filter(|process| process.process_only) {
        let name = process.exe.rsplit('/').next().unwrap_or_default();
        assert!(LAUNCHERS.contains(&name), "{name} was recorded as a launcher");
    }
}

/// The sums by program and class, then the differences themselves.
fn report(run: &Run, differences: &[(Key, Tally, Tally)]) -> String {
    let programs: BTreeMap<u32, &str> = run
        .processes
        .iter()
        .map(|process| (process.pid, process.exe.rsplit('/').next().unwrap_or_default()))
        .collect();
    let program = |pid: u32| programs.get(&pid).copied().unwrap_or("(not in the trace)");
    let mut sums: BTreeMap<(&str, &str), [u64; 5]> = BTreeMap::new();
    for (key, kernel, trace) in differences {
        let sum = sums.entry((program(key.pid), key.class)).or_default();
        let numbers = [1, kernel.calls, trace.calls, kernel.bytes, trace.bytes];
        sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    let mut text = String::new();
    for ((program, class), [objects, kernel, trace, kernel_bytes, trace_bytes]) in sums {
        let _ = writeln!(
            text,
            "{program}: {class}: {objects} objects, {kernel} calls and {kernel_bytes} bytes in the kernel, {trace} and \
             {trace_bytes} in the trace"
        );
    }
    let mut shown: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (key, kernel, trace) in differences {
        let Key { pid, class, object } = key;
        let shown = shown.entry((program(*pid), class)).or_default();
        *shown += 1;
        if *shown <= SHOWN {
            let _ = writeln!(
                text,
                "  {pid} {} {class} {object}: kernel {kernel:?}, trace {trace:?}",
                program(*pid)
            );
        }
    }
    text
}
