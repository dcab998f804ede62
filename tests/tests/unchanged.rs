//! Harmless: with the shim, programs print the same, end in the same way and leave the same files as without it.

use std::path::Path;
use tests::{Job, mpirun, program, program_fortified, record, record_but, workloads};

/// Runs the program with 1 and with 3 ranks, without and with the shim.
fn same_with_ranks(name: &str, arguments: &[&str]) {
    for ranks in [1, 3] {
        let recorded = record(&mpirun(ranks).arg(program(name)).args(arguments));
        assert!(recorded.plain.status.success(), "{name} with {ranks} ranks: {}", recorded.plain.stderr);
        let mut seen: Vec<_> = recorded.run.processes.iter().filter_map(|process| process.rank).collect();
        seen.sort();
        assert_eq!(seen, (0..ranks).collect::<Vec<_>>(), "{name}: every rank has a trace");
    }
}

/// Runs the program, plain and fortified, without and with the shim.
fn same_in_both_variants(name: &str) {
    for program in [program(name), program_fortified(name)] {
        let recorded = record(&Job::new(&program));
        assert!(recorded.plain.status.success(), "{}: {}", program.display(), recorded.plain.stderr);
        assert_eq!(recorded.run.unobserved(), [], "{}", program.display());
    }
}

#[test]
fn pseudo() {
    same_with_ranks("pseudo", &["--fsync", "--shift", "1"]);
    same_with_ranks("pseudosync", &["--collective-sync"]);
    same_with_ranks("pseudosyncdat", &["--compute", "20"]);
}

#[test]
fn fitness() {
    same_with_ranks("fitness", &["--compute", "5"]);
}

#[test]
fn quake() {
    same_with_ranks("quake", &["--fsync"]);
    same_with_ranks("quake", &["--per-rank"]);
}

#[test]
fn messages_in_c() {
    same_with_ranks("mpi_surface", &[]);
}

#[test]
fn messages_in_fortran() {
    same_with_ranks("mpi_surface_f", &[]);
    same_with_ranks("mpi_surface_f77", &[]);
}

#[test]
fn posix_calls() {
    same_in_both_variants("posix_surface");
}

/// Nobody is asked for the times of files, which would make them finer, and writing slower.
#[test]
fn times_of_files() {
    same_in_both_variants("file_times");
}

#[test]
fn streams() {
    same_in_both_variants("stdio_surface");
}

#[test]
fn processes() {
    same_in_both_variants("process_surface");
}

/// `log.lammps` holds times.
#[test]
fn lammps() {
    let recorded = record_but(&workloads::lammps(2, 6, 40), &["log.lammps"]);
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    assert!(recorded.recorded_folder().join("melt.end.1").is_file());
}

/// The last line that it prints is a list of the descriptors it finds open.
#[test]
fn python() {
    let recorded = record(&workloads::python());
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    assert!(recorded.recorded.stdout.starts_with("['0', '1', '2', "), "{}", recorded.recorded.stdout);
}

#[test]
fn tools() {
    let recorded = record(&workloads::tools());
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    assert_eq!(recorded.recorded.stdout, "d/numbers\n30000 resorted\n");
}

#[test]
fn a_program_that_is_told_not_to_be_recorded() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let run = folder.path().join("run");
    let job = Job::new("sh").args(["-c", "echo said; exit 7"]);
    let quiet = job.env("LD_PRELOAD", tests::shim()).env("SYN_OFF", "1").env("SYN_RUN", &run);
    let outcome = quiet.run_in(Path::new("/"));
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("said\n", ""));
    assert_eq!(outcome.status.code(), Some(7));
    assert!(!run.exists());
}

/// A run folder that cannot be made: one line on stderr, and the program runs unrecorded.
#[test]
fn a_run_folder_that_cannot_be_made() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let in_the_way = folder.path().join("file");
    std::fs::write(&in_the_way, "in the way").expect("a file");
    let job = Job::new("sh").args(["-c", "echo said; sh -c 'echo and this'; exit 7"]);
    let recording = job.env("LD_PRELOAD", tests::shim()).env("SYN_RUN", in_the_way.join("run"));
    let outcome = recording.run_in(Path::new("/"));
    assert_eq!(outcome.stdout, "said\nand this\n");
    assert_eq!(outcome.status.code(), Some(7));
    assert!(outcome.stderr.starts_with("syn: cannot make the run folder"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
}

/// Calls of MPI go through the recorder's entry points also where nothing is recorded: told not to, or without a run folder.
#[test]
fn calls_of_programs_that_are_not_recorded() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let in_the_way = folder.path().join("file");
    std::fs::write(&in_the_way, "in the way").expect("a file");
    for name in ["mpi_surface", "mpi_surface_f"] {
        let job = || mpirun(2).arg(program(name));
        let plain = job().run_in(folder.path()).succeeded();
        let unrecorded = || job().env("LD_PRELOAD", tests::shim());
        let run = in_the_way.join("run");
        for unrecorded in [unrecorded().env("SYN_OFF", "1"), unrecorded().env("SYN_RUN", &run)] {
            let outcome = unrecorded.run_in(folder.path()).succeeded();
            assert_eq!(outcome.stdout, plain.stdout, "{name}");
        }
    }
}
