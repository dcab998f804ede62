//! Runs that are damaged, incomplete, or none, and recordings that cannot be.

use crate::says;
use std::path::{Path, PathBuf};
use syn_trace::{Run, header};
use tempfile::TempDir;
use tests::{Job, mpirun, program, run_recorded, shim, syn};

/// A recorded job of two ranks, to be damaged.
struct Damaged {
    folder: TempDir,
    /// The trace of rank 1.
    trace: PathBuf,
}

impl Damaged {
    fn new() -> Damaged {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let job = mpirun(2).arg(program("pseudo"));
        let (_, run) = run_recorded(&job, folder.path(), &folder.path().join("run"));
        let trace = trace_of_rank(&run, 1);
        Damaged { folder, trace }
    }

    fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn on(&self, subcommand: &str) -> Job {
        syn().arg(subcommand).arg(self.run())
    }

    fn plan(&self) -> PathBuf {
        self.folder.path().join("app.syn")
    }

    fn merge(&self) -> Job {
        self.on("merge").arg("-o").arg(self.plan())
    }

    /// The trace holds these bytes from now on.
    fn write(&self, bytes: &[u8]) {
        std::fs::write(&self.trace, bytes).expect("a trace can be written");
    }

    /// `info`, `check` and `dump` go on with the other traces, and say what is wrong with this one.
    #[track_caller]
    fn is_looked_at(&self, words: &[&str]) {
        let name = self.trace.file_name().and_then(|name| name.to_str()).expect("a name");
        for subcommand in ["info", "check", "dump"] {
            let all: Vec<&str> = words.iter().copied().chain([name]).collect();
            says(self.on(subcommand), 3, &all);
        }
    }

    /// `merge` refuses to go on without rank 1, unless told to.
    #[track_caller]
    fn is_missed(&self) {
        says(self.merge(), 1, &["no trace of 1 of 2 ranks: 1", "--partial"]);
        assert!(!self.plan().exists());
        says(self.merge().arg("--partial"), 3, &["warning", "no trace of 1 of 2 ranks: 1"]);
        std::fs::remove_file(self.plan()).expect("a plan was made");
    }
}

fn trace_of_rank(run: &Run, rank: u32) -> PathBuf {
    let of_rank = |process: &&syn_trace::run::Process| process.rank == Some(rank);
    let process = run.processes.iter().find(of_rank).expect("the rank has a trace");
    run.threads[process.threads[0]].trace.path().to_owned()
}

#[test]
fn a_rank_without_trace() {
    let damaged = Damaged::new();
    std::fs::remove_file(&damaged.trace).expect("a trace can be removed");
    says(damaged.on("info"), 3, &["rank 1"]);
    damaged.is_missed();
}

#[test]
fn traces_that_are_none() {
    let damaged = Damaged::new();
    let whole = std::fs::read(&damaged.trace).expect("a trace");
    let bytes = header::HEADER_BYTES;
    damaged.write(b"");
    damaged.is_looked_at(&["cut off in front of its first event (0 bytes)"]);
    damaged.is_missed();

    damaged.write(&whole[..bytes / 2]);
    damaged.is_looked_at(&[&format!("({} bytes)", bytes / 2)]);
    damaged.is_missed();

    damaged.write(b"#!/bin/sh\necho this is another program's file\n");
    damaged.is_looked_at(&["not a syn trace", "#!/bin/s"]);
    damaged.is_missed();
}

#[test]
fn a_trace_of_a_newer_version() {
    let damaged = Damaged::new();
    let mut newer = std::fs::read(&damaged.trace).expect("a trace");
    newer[8..12].copy_from_slice(&(header::VERSION + 1).to_le_bytes());
    damaged.write(&newer);
    let words = [
        format!("trace format {} is newer than {}", header::VERSION + 1, header::VERSION),
        "update syn".into(),
    ];
    damaged.is_looked_at(&[&words[0], &words[1]]);
    says(damaged.merge(), 1, &[&words[0]]);
    assert!(!damaged.plan().exists());
}

/// What precedes the end is used, in the dump and in the plan.
#[test]
fn a_trace_that_is_cut_off() {
    let damaged = Damaged::new();
    let whole = std::fs::read(&damaged.trace).expect("a trace");
    let used = whole.iter().rposition(|&byte| byte != 0).expect("records") + 1;
    damaged.write(&whole[..used - 1]);
    damaged.is_looked_at(&["cut off inside the record at byte"]);
    says(damaged.merge(), 3, &["warning", "cut off inside the record at byte", "what precedes was used"]);
    assert!(damaged.plan().exists());
}

#[test]
fn runs_that_are_none() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let file = folder.path().join("file");
    std::fs::write(&file, "hello\n").expect("a file");
    let output = folder.path().join("app.syn");
    let merge = |run: &Path| syn().arg("merge").arg(run).arg("-o").arg(&output);
    says(merge(folder.path()), 1, &["is not a run folder", "*.trace"]);
    says(merge(&folder.path().join("nowhere")), 1, &["nowhere", "No such file"]);
    says(merge(&file), 1, &["is a file", "a run is a folder"]);
    says(syn().arg("merge"), 2, &["<RUN>"]);
    for (only, why) in [("in", "absolute"), ("/w/../in", "absolute"), ("//", "--all-files")] {
        says(merge(&file).arg("--only").arg(only), 2, &[why]);
    }
    says(merge(&file).arg("--only").arg("/w").arg("--all-files"), 2, &["cannot be used with"]);
    says(syn().arg("replay").arg(&file).arg("--storage").arg(folder.path()), 1, &["not a syn plan"]);
    says(syn().arg("replay").arg(&file), 2, &["--storage"]);
    assert!(!output.exists());
}

/// `record` refuses these options before it runs anything.
#[track_caller]
fn is_not_recorded(options: &[&str], words: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let (output, ran) = (folder.path().join("runs"), folder.path().join("ran"));
    let record = syn().arg("record").arg("--shim").arg(shim()).arg("-o").arg(&output).args(options);
    says(record.args(["--", "touch"]).arg(&ran), 2, words);
    assert!(!output.exists() && !ran.exists(), "{options:?}");
}

#[test]
fn bounds_and_numbers_of_nodes_that_cannot_be() {
    for bound in ["-1", "0", "nan", "inf", "1e30", "soon"] {
        is_not_recorded(
            &["--throttle=all", "--bound", bound],
            &["--bound", bound, "more than 0 and at most"],
        );
    }
    for nodes in ["0", "00"] {
        is_not_recorded(&[&format!("--throttle={nodes}")], &["--throttle", "at least 1 node", "`none`"]);
    }
    is_not_recorded(&["--throttle=-1"], &["auto, all, none, or how many nodes"]);
    is_not_recorded(&["--throttle=all", "--budget", "-1"], &["--budget", "or a number of runs"]);
    is_not_recorded(&["--throttle=all", "--period", "0"], &["--period", "0 is not in 1.."]);
}

#[test]
fn options_of_throttling_without_it() {
    for (option, value) in [
        ("--period", "2"),
        ("--budget", "3"),
        ("--hold", "mpi"),
        ("--bound", "1"),
        ("--watchdog-address", "127.0.0.1"),
        ("--remote-shell", "rsh"),
    ] {
        is_not_recorded(&[option, value], &["--throttle", "not provided", option]);
    }
}
