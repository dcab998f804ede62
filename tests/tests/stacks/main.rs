//! One library for every MPI: the same programs under each of them, and every call that they make counted by a profiling
//! library of the tests' own, which lies behind the shim and knows nothing of it.

mod counting;
mod installed;

use counting::Counted;
use installed::{Stack, stacks};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syn_trace::Run;
use tests::{Dump, Job, Outcome, shim};

/// What a job did, counted behind the shim, and what is on record.
struct Recorded {
    counted: BTreeMap<String, u64>,
    dump: Dump,
    mpi: String,
    is_complete: bool,
    unobserved: Vec<String>,
}

/// Runs `program` on two ranks of this MPI, without the shim and with it.
fn record(stack: &Stack, program: Job) -> Recorded {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let [plain, recorded, counts] = ["plain", "recorded", "counts"].map(|name| {
        let folder = scratch.path().join(name);
        std::fs::create_dir(&folder).expect("a folder in an empty one");
        folder
    });
    let job = stack.launcher(2).followed_by(&program.arg("file"));
    let without = job.run_in(&plain).succeeded();
    let counted = Counted::of(stack, scratch.path());
    let run = scratch.path().join("run");
    let preloaded = [shim(), counted.preload.clone()].map(|path| path.into_os_string());
    let with =
        job.env("LD_PRELOAD", preloaded.join(":".as_ref())).env("SYN_RUN", &run).env("COUNTS", &counts);
    let with = with.run_in(&recorded).succeeded();
    assert_eq!((with.stdout, with.stderr), (without.stdout, without.stderr), "{}", stack.name);
    let file = |folder: &Path| std::fs::read(folder.join("file")).expect("the file that the job makes");
    assert!(file(&plain) == file(&recorded), "{}: the file is another one with the shim", stack.name);
    let info = tests::syn().args(["info", "--json"]).arg(&run).run_in(scratch.path());
    let info: serde_json::Value = serde_json::from_str(&info.stdout).expect("JSON");
    let reasons = info["unobserved"].as_array().expect("a list");
    let mut unobserved: Vec<_> =
        reasons.iter().map(|one| one["reason"].as_str().unwrap_or_default().to_owned()).collect();
    unobserved.sort();
    unobserved.dedup();
    Recorded {
        counted: counted.calls(&counts),
        dump: Dump::of(&run),
        mpi: info["mpi"].as_str().unwrap_or_default().to_owned(),
        is_complete: info["complete"] == true,
        unobserved,
    }
}

/// Every call was recorded under its name, or noted; and the run is not called complete, since one was noted.
fn check(stack: &Stack, program: Job) {
    let Recorded { counted, dump, mpi, is_complete, unobserved } = record(stack, program);
    assert_eq!(mpi, stack.recorded_as, "{}", stack.name);
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    let mut noted = Vec::new();
    for (name, count) in &counted {
        match counting::recorded_as(name) {
            Some(call) => *expected.entry(call).or_default() += count,
            None => noted.push(format!("MPI calls that are not recorded: {name}")),
        }
    }
    let mut recorded: BTreeMap<&str, u64> = BTreeMap::new();
    // The others are notes behind them.
    let calls = dump.0.iter().filter(|seen| seen.layer.starts_with("mpi") && seen.call.starts_with("MPI_"));
    for seen in calls.filter(|seen| seen.depth == 0) {
        *recorded.entry(&seen.call).or_default() += 1;
    }
    assert_eq!(recorded, expected, "{}", stack.name);
    assert!(recorded.values().sum::<u64>() > 100, "{}: the program did something", stack.name);
    assert_eq!((unobserved, is_complete), (noted, false), "{}", stack.name);
}

#[test]
fn in_c() {
    for stack in stacks() {
        check(&stack, Job::new(stack.built_program()));
    }
}

#[test]
fn in_fortran() {
    for stack in stacks().iter().filter(|stack| stack.fortran.is_some()) {
        // The C functions inside are the Fortran ones' own, or not called at all: only names are compared.
        let recorded = record(stack, Job::new(stack.built_fortran_program()));
        let calls = |name: &str| recorded.dump.calls(name).filter(|seen| seen.depth == 0).count();
        let names = ["MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Ibarrier", "MPI_Wait", "MPI_Win_create"];
        assert_eq!(names.map(calls), [10, 10, 20, 2, 4, 2], "{}", stack.name);
        let names =
            ["MPI_Win_fence", "MPI_Put", "MPI_File_open", "MPI_File_set_view", "MPI_File_write_at_all"];
        assert_eq!(names.map(calls), [4, 2, 2, 2, 2], "{}", stack.name);
        let opened = recorded.dump.calls("MPI_File_open").all(|seen| seen.is_about("file"));
        assert!(opened, "{}: the name without its blanks", stack.name);
        assert_eq!(recorded.unobserved, ["MPI calls that are not recorded: MPI_Comm_idup"], "{}", stack.name);
    }
}

#[test]
fn in_python() {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("programs/stacks/calls.py");
    for stack in stacks().iter().filter(|stack| stack.python.is_some()) {
        check(stack, stack.python_job(&script));
    }
}

/// A part of mpi4py's own tests, on one rank: two would look for each other's messages at full speed, which takes minutes on a
/// busy machine. Each ends as without the shim. `scripts/mpi4py` runs all, on more ranks.
#[test]
fn mpi4pys_own_tests() {
    const PARTS: [&str; 4] = ["test_p2p_buf", "test_cco_nb_buf", "test_request", "test_rma"];
    let suite = installed::mpis().join("mpi4py-4.1.2/test/main.py");
    for stack in stacks().iter().filter(|stack| ["Open MPI 5", "MPICH 5"].contains(&stack.name)) {
        let job = stack.launcher(1).followed_by(&stack.python_job(&suite).arg("-v").args(PARTS));
        let scratch = tempfile::tempdir().expect("a folder for temporary files");
        let plain = job.run_in(scratch.path());
        let (recorded, _) = tests::run_recorded(&job, scratch.path(), &scratch.path().join("run"));
        assert_eq!(ended(&recorded), ended(&plain), "{}", stack.name);
        assert_eq!(recorded.status, plain.status, "{}", stack.name);
        assert!(ended(&plain).len() > 100, "{}: {}", stack.name, plain.stderr);
    }
}

/// How each test ended.
fn ended(outcome: &Outcome) -> Vec<&str> {
    outcome.stderr.lines().filter(|line| line.contains(" ... ")).collect()
}

/// Whatever an MPI exports is recorded, noted, or passed through for a reason.
#[test]
fn no_function_of_any_mpi_is_unknown() {
    for stack in stacks() {
        let unknown: Vec<_> =
            counting::functions(&stack.libmpi).into_iter().filter(|name| !counting::is_known(name)).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", stack.name);
    }
}

/// An MPI that nobody knows: the program runs as it would, its I/O is on record, and the trace says what is not.
#[test]
fn an_unknown_mpi() {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let program = installed::with_own_mpi("unknown");
    let run = scratch.path().join("run");
    let (outcome, _) = tests::run_recorded(&Job::new(program), scratch.path(), &run);
    assert_eq!(outcome.succeeded().stdout, "rank 0 of 1 got 42\n");
    let dump = Dump::of(&run);
    assert_eq!(dump.written("output"), (1, 4));
    assert!(dump.0.iter().all(|seen| !seen.layer.starts_with("mpi")));
    let info = tests::syn().args(["info", "--json"]).arg(&run).run_in(scratch.path());
    let info: serde_json::Value = serde_json::from_str(&info.stdout).expect("JSON");
    assert_eq!(info["complete"], false);
    let reasons = info["unobserved"].as_array().expect("a list");
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    let reason = reasons[0]["reason"].as_str().expect("a text");
    assert!(reason.ends_with("layouts are not known: Strange MPI 1.0"), "{reason}");
}

/// Ranks that get the library one by one, from a launcher that does not record, come to one folder.
#[test]
fn ranks_of_every_launcher_share_a_folder() {
    const RANKS: u32 = 4;
    for stack in stacks() {
        let library = shim().into_os_string().into_string().expect("a path in UTF-8");
        let rank = Job::new("env").args(["SYN_RUN=run".into(), format!("LD_PRELOAD={library}")]);
        let job = stack.launcher(RANKS).followed_by(&rank.args(["sleep", "0.01"]));
        for _ in 0..3 {
            let scratch = tempfile::tempdir().expect("a folder for temporary files");
            let _ = job.run_in(scratch.path()).succeeded();
            let run = Run::open(scratch.path().join("run")).expect("a run folder");
            let ranks = run.processes.iter().filter(|process| process.command == "sleep 0.01").count();
            assert_eq!(ranks, RANKS as usize, "{}", stack.name);
        }
    }
}
