//! What an application leaves behind, its replay leaves behind: recorded, merged and replayed through the front end.

use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use tests::{has_go, program, shim, syn};

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

/// A goroutine goes from thread to thread: what it does in turn several threads do. Nothing orders the use of a descriptor
/// by one thread after another has opened it, so a few calls may come too early in a replay, and are told of.
#[test]
fn goroutines_are_replayed_in_order() {
    if !has_go() {
        return eprintln!("skipped: there is no compiler for Go here (Debian: golang-go)");
    }
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let at = |name: &str| folder.path().join(name);
    for name in ["work", "storage"] {
        std::fs::create_dir(at(name)).expect("made");
    }
    let record = syn().arg("record").arg("--backend=ptrace").arg("-o").arg(at("runs")).arg("--");
    let _ = record.arg(program("goroutines")).run_in(&at("work")).succeeded();
    let merge = syn().arg("merge").arg(at("runs/1")).arg("-o").arg(at("app.syn"));
    let merged = merge.run_in(Path::new("/")).succeeded();
    assert!(!merged.stdout.contains("contradicted"), "{}", merged.stdout);
    for _ in 0..3 {
        let replay = syn().arg("replay").arg(at("app.syn")).arg("--storage").arg(at("storage"));
        let report = at("report.json");
        let outcome = replay.arg("--report").arg(&report).run_in(Path::new("/"));
        let report: Value = serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("JSON");
        let total = report["divergences"]["total"].as_u64().expect("a number");
        assert!(total <= 15, "of 1700 operations: {}", outcome.stdout);
    }
}
