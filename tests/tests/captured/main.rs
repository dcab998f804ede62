//! Complete: what the kernel saw a program do with files is in its trace, call by call and byte by byte.
//!
//! Each program runs once, under the shim and under strace at the same time. Per thread, class of call, file and direction,
//! the number of calls and the number of bytes must be the same in both records; of the program that makes every file call
//! there is, so must be the number of all the others, and of those that failed. Launchers and shells are left out: of them
//! only process creation is recorded. So is what has no path: pipes, sockets, nameless files.

mod arguments;
mod counted;
mod transfers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::PathBuf;
use syn_trace::Run;
use tempfile::TempDir;
use tests::strace;
use tests::workloads::{self, LAUNCHERS};
use tests::{Job, mpirun, program, program_fortified};

/// A job that was run under the shim and under strace.
struct Observed {
    scratch: TempDir,
}

impl Observed {
    /// `calls`: what strace is to tell besides transfers.
    #[track_caller]
    fn run(job: &Job, calls: &str) -> Observed {
        let observed = Observed { scratch: tempfile::tempdir().expect("a folder for temporary files") };
        let (output, work) = (observed.folder("strace"), observed.folder("work"));
        std::fs::create_dir(&output).expect("a folder in an empty one");
        std::fs::create_dir(&work).expect("a folder in an empty one");
        let calls = [&transfers::calls(), calls].join(",");
        let strace = strace::job(&output, &observed.folder("run"), calls.trim_end_matches(','));
        let outcome = strace.followed_by(job).run_in(&work).succeeded();
        let run = Run::open(observed.folder("run"));
        check_launchers(&run.unwrap_or_else(|error| panic!("{error}\n{}", outcome.stderr)));
        observed
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Transfers to and from files, these among others.
    #[track_caller]
    fn compare_transfers(&self, files: &[&str]) {
        let kernel = transfers::seen_by_kernel(&self.folder("strace"), &self.folder("work"), &LAUNCHERS);
        let recorded = transfers::seen_by_shim(&self.folder("run"));
        for name in files {
            let is_there = recorded.keys().any(|(.., path)| path.rsplit('/').next() == Some(name));
            assert!(is_there, "{name} is among what was recorded: {recorded:?}");
        }
        same(&kernel, &recorded);
    }

    /// How often each of the other calls was made.
    #[track_caller]
    fn compare_counts(&self) {
        let kernel = counted::seen_by_kernel(&self.folder("strace"), &self.folder("work"), &LAUNCHERS);
        same(&kernel, &counted::seen_by_shim(&self.folder("run")));
    }
}

#[track_caller]
fn same<K: Ord + Debug, V: PartialEq + Debug>(kernel: &BTreeMap<K, V>, recorded: &BTreeMap<K, V>) {
    let keys: BTreeSet<_> = kernel.keys().chain(recorded.keys()).collect();
    let differing = keys.into_iter().filter(|&key| kernel.get(key) != recorded.get(key));
    let report: Vec<String> = differing
        .map(|key| format!("{key:?}: kernel {:?}, trace {:?}", kernel.get(key), recorded.get(key)))
        .collect();
    assert!(report.is_empty(), "the records differ:\n{}", report.join("\n"));
}

/// Compares the transfers of a job that uses these files, among others.
#[track_caller]
fn compare(job: &Job, files: &[&str]) {
    Observed::run(job, "").compare_transfers(files);
}

/// Nothing was taken for a launcher that is none: its I/O would be missing from both sides of the comparison.
#[track_caller]
fn check_launchers(run: &Run) {
    for process in run.processes.iter().filter(|process| process.process_only) {
        let name = process.exe.rsplit('/').next().unwrap_or_default();
        assert!(LAUNCHERS.contains(&name), "{name} was recorded as a launcher");
    }
}

#[test]
fn lammps() {
    let files = [
        "in.melt",
        "melt.dump",
        "melt.force.0",
        "melt.force.1",
        "melt.restart.1",
        "melt.end.1",
        "log.lammps",
    ];
    compare(&workloads::lammps(2, 6, 40), &files);
}

#[test]
fn pseudo() {
    compare(&mpirun(2).arg(program("pseudo")).args(["--fsync", "--steps", "2"]), &["pseudo.checkpoint"]);
}

#[test]
fn quake() {
    compare(
        &mpirun(2).arg(program("quake")).arg("--per-rank"),
        &["quake.model", "quake.mesh", "quake.rank.1", "quake.checkpoint"],
    );
}

#[test]
fn streams() {
    for program in [program("stdio_surface"), program_fortified("stdio_surface")] {
        compare(&Job::new(program), &["stdio_surface.left"]);
    }
}

#[test]
fn posix_calls() {
    for program in [program("posix_surface"), program_fortified("posix_surface")] {
        let observed = Observed::run(&Job::new(program), &counted::calls());
        observed.compare_transfers(&["file", "in", "out"]);
        observed.compare_counts();
    }
}

/// All parts but two: a handler that leaves a call by siglongjmp takes its record with it, and a process that has no
/// descriptor to spare gets no trace, which is on record as dropped.
#[test]
fn processes() {
    let parts = "fork vfork spawn shell wait daemon exec exec-fails exec-thread ends join detach cancel short-threads \
                 main-leaves thread-forks handler closefrom fd3";
    let files = ["file", "chain", "daemon", "main", "handler"];
    compare(&Job::new(program("process_surface")).args(parts.split_whitespace()), &files);
}

#[test]
fn python() {
    compare(&workloads::python(), &["text", "data", "table.json", "child"]);
}

#[test]
fn tools() {
    compare(&workloads::tools(), &["numbers", "sorted", "d.tar", "d.tar.gz", "resorted"]);
}

#[test]
fn copies() {
    compare(
        &workloads::copies(),
        &["numbers", "again", "appended", "piped", "copy", "sparse", "moved", "installed"],
    );
}
