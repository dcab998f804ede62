//! Complete: what the kernel saw a program read and write is in its trace, call by call and byte by byte.
//!
//! Each program runs once, under the shim and under strace at the same time. Per thread, file and direction, the number
//! of calls and the number of bytes must be the same in both records. Launchers and shells are left out: of them only
//! process creation is recorded. So are programs that move bytes in other ways than by read and write (`cat` and `cp`
//! use copy_file_range(2)), and what has no path: pipes, sockets, nameless files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn_trace::Run;
use tests::strace::{self, Transfer, same_name};
use tests::workloads::{self, LAUNCHERS};
use tests::{Direction, Dump, Job, Tally, mpirun, program, program_fortified};

/// What is counted in both records.
type Moved = BTreeMap<(u32, Direction, String), Tally>;

/// What only strace may see, by what the call is about.
struct Allowed {
    is: fn(&Transfer) -> bool,
    because: &'static str,
}

/// The allowed differences. Whatever else differs is a fault of the recorder.
const ALLOWED: [Allowed; 3] = [
    Allowed {
        because: "the dynamic loader reads the ELF header of every library with system calls of its own",
        is: |call| call.name == "read" && call.path.contains(".so") && call.asked == 832,
    },
    Allowed {
        because: "and the program headers that did not fit into the first 832 bytes",
        is: |call| call.name == "pread64" && call.path.contains(".so") && call.asked <= 4096,
    },
    Allowed {
        because: "the shim itself reads the words of the command line and the boot id, once in every process",
        is: |call| ["/proc/self/cmdline", "/proc/sys/kernel/random/boot_id"].contains(&call.path.as_str()),
    },
];

/// Compares the records of a job that uses these files, among others.
#[track_caller]
fn compare(job: &Job, files: &[&str]) {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let [strace, work] = ["strace", "work"].map(|name| scratch.path().join(name));
    std::fs::create_dir(&strace).expect("a folder in an empty one");
    std::fs::create_dir(&work).expect("a folder in an empty one");
    let folder = scratch.path().join("run");
    let outcome = strace::job(&strace, &folder).followed_by(job).run_in(&work).succeeded();
    let run = Run::open(&folder).unwrap_or_else(|error| panic!("{error}\n{}", outcome.stderr));
    check_launchers(&run);
    let kernel = seen_by_kernel(&strace);
    let recorded = seen_by_shim(&folder);
    for name in files {
        let is_there = recorded.keys().any(|(.., path)| path.rsplit('/').next() == Some(name));
        assert!(is_there, "{name} is among what was recorded: {recorded:?}");
    }
    let keys: BTreeSet<_> = kernel.keys().chain(recorded.keys()).collect();
    let differing = keys.into_iter().filter(|&key| kernel.get(key) != recorded.get(key));
    let report: Vec<String> = differing
        .map(|key| format!("{key:?}: kernel {:?}, trace {:?}", kernel.get(key), recorded.get(key)))
        .collect();
    let allowed = ALLOWED.map(|allowed| allowed.because).join("; ");
    assert!(
        report.is_empty(),
        "besides what is allowed ({allowed}), the records differ:\n{}",
        report.join("\n")
    );
}

/// Nothing was taken for a launcher that is none: its I/O would be missing from both sides of the comparison.
#[track_caller]
fn check_launchers(run: &Run) {
    for process in run.processes.iter().filter(|process| process.process_only) {
        let name = process.exe.rsplit('/').next().unwrap_or_default();
        assert!(LAUNCHERS.contains(&name), "{name} was recorded as a launcher");
    }
}

fn seen_by_shim(folder: &Path) -> Moved {
    let mut moved = Moved::new();
    for seen in Dump::of(folder).0 {
        let (Some(direction), Some(path)) = (Direction::of(&seen.call), &seen.path) else { continue };
        if path.starts_with('/') {
            moved.entry((seen.tid, direction, same_name(path))).or_default().add(seen.result);
        }
    }
    moved
}

/// What the kernel saw, less what only it can see.
fn seen_by_kernel(folder: &Path) -> Moved {
    let mut moved = Moved::new();
    strace::for_each_transfer(folder, &LAUNCHERS, |tid, call| {
        if !ALLOWED.iter().any(|allowed| (allowed.is)(call)) {
            let direction = Direction::of(&call.name).expect("only such calls were traced");
            moved.entry((tid, direction, call.path.clone())).or_default().add(call.result);
        }
    });
    moved
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
        compare(&Job::new(program), &["file"]);
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
