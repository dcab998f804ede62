//! Disks for the trace that are full, or cannot be written to. Each is a file system in memory of its own, mounted where
//! nobody else sees it.

use crate::{MANY, counts_many, not_entered, single_bytes};
use std::path::Path;
use syn_trace::{Call, Run};
use tests::{Job, Outcome, program, shim};

/// Runs the program `surroundings`, which writes much, with its run folder on a disk that is mounted with these options;
/// what is on the disk afterwards is copied to `kept`. `None` where a test may not mount.
fn with_disk(options: &str, part: &str, kept: &Path) -> Option<Outcome> {
    const SCRIPT: &str = r#"mount -t tmpfs -o "$1" none disk || exit 99
        LD_PRELOAD="$2" SYN_RUN="$PWD/disk/run" "$3" "$4"
        code=$?
        cp -r disk/. "$5" || exit 98
        exit $code"#;
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    std::fs::create_dir(scratch.path().join("disk")).expect("a folder in an empty one");
    let job = Job::new("unshare").args(["-rm", "sh", "-c", SCRIPT, "sh", options]);
    let outcome = job.arg(shim()).arg(program("surroundings")).arg(part).arg(kept).run_in(scratch.path());
    if outcome.status.code() == Some(99) || outcome.stderr.starts_with("unshare") {
        eprintln!("skipped: this machine does not let a test mount a disk: {}", outcome.stderr);
        return None;
    }
    assert_eq!(outcome.stdout, format!("surroundings: {part} passed\n"), "{}", outcome.stderr);
    Some(outcome.succeeded())
}

#[test]
fn a_disk_that_fills_up() {
    let kept = tempfile::tempdir().expect("a folder for temporary files");
    let Some(outcome) = with_disk("size=512k", "many-writes", kept.path()) else { return };
    assert_eq!(outcome.stderr, "");
    let run = Run::open(kept.path().join("run")).expect("a run folder");
    assert!(run.unreadable.is_empty(), "{:?}", run.unreadable);
    assert!(single_bytes(&run, Call::Pwrite) < MANY, "the disk was not full");
    counts_many(&run);
}

/// Not even the first file has room: nothing is recorded, and nothing is said that is not true.
#[test]
fn a_disk_that_is_full() {
    let kept = tempfile::tempdir().expect("a folder for temporary files");
    let Some(_) = with_disk("size=4k", "environment", kept.path()) else { return };
    let run = Run::open(kept.path().join("run")).expect("a run folder");
    assert!(run.unreadable.is_empty(), "{:?}", run.unreadable);
    assert!(run.threads.is_empty());
    let left = std::fs::read_dir(&run.path).expect("a run folder").count();
    assert_eq!(left, 0, "files that could not be made long enough are gone");
}

#[test]
fn a_disk_without_room_for_more_files() {
    let kept = tempfile::tempdir().expect("a folder for temporary files");
    // The disk's root, the run folder, and one file.
    let Some(outcome) = with_disk("nr_inodes=3", "environment", kept.path()) else { return };
    assert_eq!(outcome.stderr, "");
    let run = Run::open(kept.path().join("run")).expect("a run folder");
    assert!(run.unreadable.is_empty(), "{:?}", run.unreadable);
    let files = std::fs::read_dir(&run.path).expect("a run folder").count();
    assert_eq!(files, 1, "the first process alone, and what it forks, have traces");
    assert!(not_entered(&run.path) >= 9, "and they tell of all the programs that have none");
}

/// One line says so, and the program runs unrecorded.
#[test]
fn a_disk_that_is_read_only() {
    let kept = tempfile::tempdir().expect("a folder for temporary files");
    let Some(outcome) = with_disk("ro", "environment", kept.path()) else { return };
    assert!(outcome.stderr.starts_with("syn: cannot make the run folder"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    assert!(!kept.path().join("run").exists());
}
