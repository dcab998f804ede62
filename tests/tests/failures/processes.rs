//! Signal handlers, threads and processes: what they do in the middle of something, at their ends and after them.

use crate::{complete, part};
use std::collections::BTreeSet;
use tests::{Dump, mpirun, program};

/// What `lseek` to the end of this file returned: its size.
#[track_caller]
fn size_found(dump: &Dump, name: &str) -> u64 {
    let seek = dump.calls("lseek").find(|seen| seen.is_about(name) && seen.args["whence"] == 2);
    seek.expect("the part asks for the size at its end").result as u64
}

#[test]
fn writes_of_a_handler_amid_writes() {
    let dump = complete("process_surface", "handler");
    assert_eq!(dump.written("handler"), (200, 200));
    let (calls, bytes) = dump.written("main");
    assert!(calls >= 64 && bytes == calls * 512, "{calls} writes, {bytes} bytes");
}

#[test]
fn writes_of_a_handler_amid_streams() {
    let dump = complete("failures", "handler-streams");
    assert_eq!(dump.written("handler"), (200, 200));
    let size = size_found(&dump, "lines");
    assert_eq!(dump.written("lines"), (size / 5, size));
}

#[test]
fn a_handler_on_a_small_stack() {
    assert_eq!(complete("failures", "handler-stack").written("file"), (1, 18));
}

/// A call that a handler leaves by siglongjmp has no record; all that follow have.
#[test]
fn jumps_out_of_calls() {
    assert_eq!(complete("process_surface", "siglongjmp").written("file"), (1, 15));
}

#[test]
fn forks_while_another_thread_writes() {
    let dump = complete("failures", "forks");
    let writers: BTreeSet<u32> = (0..200)
        .map(|number| {
            let name = format!("child.{number}");
            assert_eq!(dump.written(&name), (1, 5), "{name}");
            dump.calls("write").find(|seen| seen.is_about(&name)).expect("one write").pid
        })
        .collect();
    assert_eq!(writers.len(), 200, "each child has a trace of its own");
    assert_eq!(dump.calls("fork").count(), 200);
}

#[test]
fn thousands_of_threads() {
    let dump = complete("failures", "threads");
    assert_eq!(dump.written("file"), (2000, 2000));
    for call in ["pthread_create", "thread-start", "thread-end", "pthread_join"] {
        assert_eq!(dump.calls(call).count(), 2000, "{call}");
    }
}

#[test]
fn cancelled_and_left_behind() {
    assert_eq!(complete("process_surface", "cancel").written("file"), (2, 20));
    assert_eq!(complete("process_surface", "detach").written("file"), (4, 4));
    assert_eq!(complete("process_surface", "main-leaves").written("file"), (1, 12));
}

#[test]
fn the_smallest_stack() {
    assert_eq!(complete("failures", "stacks").written("file"), (1, 5));
}

/// The recorder leaves a thread before its last two rounds of destructors, and counts what it does not see then.
#[test]
fn last_words_of_a_thread() {
    let (recorded, dump) = part("failures", "last-words");
    let (calls, bytes) = dump.written("file");
    assert!(calls >= 2 && calls == bytes, "{calls} writes, {bytes} bytes");
    assert_eq!(calls + recorded.run.dropped(), 4);
}

#[test]
fn every_way_to_end() {
    let dump = complete("process_surface", "ends");
    assert_eq!(dump.written("file"), (8, 14), "six empty writes, and two at exit");
    let mut codes: Vec<i64> =
        dump.calls("_exit").map(|seen| seen.args["status"].as_i64().expect("a code")).collect();
    codes.sort();
    assert_eq!(codes, [0, 20, 21, 22, 23], "all but abort and SIGKILL");
}

#[test]
fn writes_then_exec() {
    let dump = complete("failures", "exec");
    assert_eq!(dump.written("file"), (5000, 5000));
    assert_eq!(dump.calls("process-start").count(), 3, "the program, its child, and what that becomes");
    assert_eq!(complete("process_surface", "exec").written("chain"), (9, 63));
}

#[test]
fn daemons() {
    let dump = complete("failures", "daemon");
    assert_eq!(dump.written("file"), (2, 14));
    let writers: BTreeSet<u32> =
        dump.calls("write").filter(|seen| seen.is_about("file")).map(|seen| seen.pid).collect();
    assert_eq!(writers.len(), 2, "the parent and the daemon");
    assert_eq!(complete("process_surface", "daemon").written("daemon"), (1, 7));
}

#[test]
fn vfork_dup2_exec() {
    assert_eq!(complete("failures", "vfork").written("file"), (1, 6));
    assert_eq!(complete("process_surface", "vfork").written("file"), (1, 12));
    assert_eq!(complete("process_surface", "spawn").written("file"), (2, 16));
}

/// Without MPI_Finalize launchers complain in their own words, with process ids in them: the codes are compared.
#[test]
fn mpi_without_finalize() {
    for way in ["return", "_exit", "abort", "kill"] {
        let job = mpirun(3).arg(program("unfinished")).args(["--end", way]);
        let folders =
            ["plain", "recorded"].map(|_| tempfile::tempdir().expect("a folder for temporary files"));
        let plain = job.run_in(folders[0].path());
        let run = folders[1].path().join("run");
        let (recorded, _) = tests::run_recorded(&job, folders[1].path(), &run);
        assert_eq!(recorded.status, plain.status, "{way}\n{}", recorded.stderr);
        let dump = Dump::of(&run);
        for rank in 0..3 {
            assert_eq!(dump.written(&format!("unfinished.{rank}")), (100, 25_600), "{way}: rank {rank}");
        }
        assert_eq!(dump.calls("MPI_Abort").count(), usize::from(way == "abort"));
    }
}
