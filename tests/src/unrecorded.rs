//! The test programs by themselves: they pass without the shim, or nothing that they say with it means anything.

use crate::{Job, differences, mpirun, program, program_fortified};
use std::path::Path;
use std::time::Duration;

/// Runs the program with 1, 2, 3 and 4 ranks; the first line each time.
fn with_ranks(name: &str, arguments: &[&str]) -> Vec<String> {
    let ranks = 1..=4;
    let outputs = ranks.map(|ranks| {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let outcome = mpirun(ranks).arg(program(name)).args(arguments).run_in(folder.path()).succeeded();
        assert_eq!(outcome.stderr, "", "{name} with {ranks} ranks");
        outcome.stdout.lines().next().expect("each program prints a line").to_owned()
    });
    outputs.collect()
}

fn in_both_variants(name: &str, left_behind: &[&str]) {
    for program in [program(name), program_fortified(name)] {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let outcome = Job::new(program).run_in(folder.path()).succeeded();
        assert_eq!(outcome.stderr, "", "{name}");
        let files: Vec<_> =
            folder.path().read_dir().expect("a folder").flatten().map(|e| e.file_name()).collect();
        assert_eq!(files, left_behind, "{name} cleans up");
    }
}

#[test]
fn pseudo() {
    for name in ["pseudo", "pseudosync", "pseudosyncdat"] {
        let lines = with_ranks(name, &["--fsync", "--steps", "2"]);
        assert!(
            lines[3].starts_with(&format!("{name}: 2 checkpoints of 4194304 bytes verified")),
            "{}",
            lines[3]
        );
    }
    with_ranks("pseudo", &["--shift", "1", "--collective-sync", "--compute", "10"]);
}

#[test]
fn fitness() {
    let lines = with_ranks("fitness", &["--steps", "2", "--compute", "5"]);
    assert_eq!(lines[2], "fitness: 6291456 bytes verified in 6 turns, 480 units of work");
}

#[test]
fn fitness_in_two_steps() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let fitness = mpirun(3).arg(program("fitness"));
    let _ = fitness.clone().arg("--prepare").run_in(folder.path()).succeeded();
    let _ = fitness.arg("--prepared").run_in(folder.path()).succeeded();
}

#[test]
fn quake_does_not_depend_on_the_number_of_ranks() {
    let shared = with_ranks("quake", &["--fsync"]);
    let per_rank = with_ranks("quake", &["--per-rank"]);
    assert!(shared.iter().chain(&per_rank).all(|line| *line == shared[0]), "{shared:?} {per_rank:?}");
}

#[test]
fn mpi_surface() {
    with_ranks("mpi_surface", &[]);
}

#[test]
fn mpi_surface_in_fortran() {
    with_ranks("mpi_surface_f", &[]);
    with_ranks("mpi_surface_f77", &[]);
}

#[test]
fn posix_surface() {
    in_both_variants("posix_surface", &[]);
}

#[test]
fn stdio_surface() {
    in_both_variants("stdio_surface", &["stdio_surface.left"]);
}

#[test]
fn process_surface() {
    in_both_variants("process_surface", &[]);
}

#[test]
fn sync_surface() {
    in_both_variants("sync_surface", &[]);
}

#[test]
fn wrong_usage_has_code_2() {
    let folder = Path::new("/");
    let outcome = Job::new(program("posix_surface")).arg("--no-such-option").run_in(folder);
    assert_eq!(outcome.status.code(), Some(2));
    assert!(outcome.stderr.contains("bad option --no-such-option"), "{}", outcome.stderr);
    let outcome = Job::new(program("process_surface")).arg("no-such-part").run_in(folder);
    assert_eq!(outcome.status.code(), Some(2));
    assert!(outcome.stderr.contains("no part is called no-such-part; there are: fork"), "{}", outcome.stderr);
}

#[test]
fn a_failed_check_says_where_and_ends_the_job() {
    let outcome = mpirun(2).arg(program("pseudo")).args(["--dir", "/no/such/folder"]).run_in(Path::new("/"));
    assert!(!outcome.status.success());
    assert!(outcome.stderr.contains("rank 0: expected: p.fd >= 0 (errno 2"), "{}", outcome.stderr);
}

#[test]
#[should_panic(expected = "was ended after")]
fn a_job_that_takes_too_long_is_ended() {
    Job::new("sh").args(["-c", "sleep 600 & wait"]).limit(Duration::from_millis(300)).run_in(Path::new("/"));
}

#[test]
fn differences_are_found() {
    let one = tempfile::tempdir().expect("a folder for temporary files");
    let other = tempfile::tempdir().expect("a folder for temporary files");
    for (folder, content) in [(&one, "a"), (&other, "b")] {
        std::fs::create_dir(folder.path().join("below")).expect("a folder in an empty one");
        std::fs::write(folder.path().join("below/changed"), content).expect("a file");
        std::fs::write(folder.path().join("same"), "same").expect("a file");
    }
    std::fs::write(other.path().join("new"), "").expect("a file");
    let found = differences(one.path(), other.path());
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("below/changed is not the same") && found[1].starts_with("new is only in"));
}
