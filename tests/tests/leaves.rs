//! What an application leaves behind, its replay leaves behind: recorded, merged and replayed through the front end.

use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use syn_plan::Plan;
use tests::{has_go, program, shim, syn, unordered};

/// `S_IFMT`.
const KIND: u32 = 0o170_000;

/// Names below a folder: the kind, and the length of files.
fn left(folder: &Path) -> BTreeMap<String, (u32, u64)> {
    let entries = folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut left = BTreeMap::new();
    for path in entries {
        let metadata = path.symlink_metadata().expect("there");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let length = if metadata.is_file() { metadata.size() } else { 0 };
        left.insert(name, (metadata.permissions().mode() & KIND, length));
    }
    left
}

#[test]
fn a_replay_leaves_what_the_application_leaves() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let at = |name: &str| folder.path().join(name);
    for name in ["work", "work/looked", "storage"] {
        std::fs::create_dir(at(name)).expect("made");
    }
    std::fs::write(at("work/in"), [b'x'; 100]).expect("written");
    std::fs::write(at("work/looked/inside"), b"bytes").expect("written");
    let record = syn().arg("record").arg("--shim").arg(shim()).arg("-o").arg(at("runs")).arg("--");
    let _ = record.arg(program("leaves")).run_in(&at("work")).succeeded();
    let run = at("runs").read_dir().expect("runs").next().expect("a run").expect("a run").path();
    let merge =
        syn().arg("merge").arg(&run).arg("-o").arg(at("app.syn")).arg("--json").arg(at("merged.json"));
    let _ = merge.run_in(Path::new("/")).succeeded();
    let replay = syn().arg("replay").arg(at("app.syn")).arg("--storage").arg(at("storage")).arg("--keep");
    let outcome = replay.arg("--report").arg(at("report.json")).run_in(Path::new("/")).succeeded();
    let json = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(at(name)).expect("a report")).expect("JSON")
    };
    let report = json("report.json");
    assert_eq!(report["divergences"]["total"], 0, "{}", outcome.stdout);
    let kept = at("storage").read_dir().expect("storage").next().expect("kept").expect("kept").path();
    let work = at("work").canonicalize().expect("a path");
    assert_eq!(left(&kept.join(work.strip_prefix("/").expect("absolute"))), left(&work));
    for (call, count) in
        [("chmod", 2), ("fchmod", 1), ("utimensat", 1), ("futimens", 1), ("posix_fadvise", 1), ("mknod", 2)]
    {
        assert_eq!(report["calls"][call]["count"], count, "{call}");
    }
    let left_out = json("merged.json")["left_out"].as_array().expect("a list").clone();
    let is_told = |name: &str| left_out.iter().any(|call| call["call"] == name && call["count"] == 1);
    assert!(is_told("socket (socket)"), "{left_out:?}");
}

/// Records `program` in a folder of its own, merges, and replays several times: the edges of the plan order all that threads do
/// to a descriptor, and so nothing comes out otherwise than recorded.
fn replays_in_order(program: &Path, backend: &[&OsStr]) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let at = |name: &str| folder.path().join(name);
    for name in ["work", "storage"] {
        std::fs::create_dir(at(name)).expect("made");
    }
    let record = backend.iter().fold(syn().arg("record"), |record, argument| record.arg(argument));
    let _ = record.arg("-o").arg(at("runs")).arg("--").arg(program).run_in(&at("work")).succeeded();
    let merge = syn().arg("merge").arg(at("runs/1")).arg("-o").arg(at("app.syn"));
    let merged = merge.run_in(Path::new("/")).succeeded();
    assert!(!merged.stdout.contains("contradicted"), "{}", merged.stdout);
    let plan = Plan::load(&at("app.syn")).expect("a plan");
    assert_eq!(unordered(&plan), Vec::<String>::new());
    for _ in 0..3 {
        let replay = syn().arg("replay").arg(at("app.syn")).arg("--storage").arg(at("storage"));
        let report = at("report.json");
        let outcome = replay.arg("--report").arg(&report).run_in(Path::new("/"));
        let report: Value = serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("JSON");
        assert_eq!(report["divergences"]["total"], 0, "{}", outcome.stdout);
    }
}

/// A goroutine goes from thread to thread: what it does in turn several threads do.
#[test]
fn goroutines_are_replayed_in_order() {
    if !has_go() {
        return eprintln!("skipped: there is no compiler for Go here (Debian: golang-go)");
    }
    replays_in_order(&program("goroutines"), &["--backend=ptrace".as_ref()]);
}

#[test]
fn descriptors_that_threads_share_are_replayed_in_order() {
    let program = program("descriptors");
    replays_in_order(&program, &["--shim".as_ref(), shim().as_os_str()]);
    replays_in_order(&program, &["--backend=ptrace".as_ref()]);
}
