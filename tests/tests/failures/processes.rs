//! Threads and processes: how they come and go, and what they do at their ends and after them.

use crate::complete;
use std::collections::BTreeSet;
use tests::{Dump, Job, Seen, mpirun, program, record};

const ENOENT: i32 = 2;

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
fn forks_in_threads() {
    let dump = complete("failures", "thread-forks");
    assert_eq!(dump.written("file"), (200, 200));
    assert_eq!(writers(&dump, "file").len(), 200, "each child has a trace of its own");
    assert_eq!(dump.calls("fork").count(), 200);
}

#[test]
fn handlers_around_forks() {
    let dump = complete("failures", "fork-handlers");
    assert_eq!(dump.written("file"), (30, 30));
    assert_eq!(writers(&dump, "file").len(), 11, "the program and its ten children");
}

/// Children of `_Fork`, `clone` and bare system calls: the recorder finds out by itself.
#[test]
fn forks_that_libc_does_not_know_of() {
    let dump = complete("failures", "unseen-forks");
    assert_eq!(dump.written("file"), (4, 20));
    assert_eq!(writers(&dump, "file").len(), 4, "each child has a trace of its own");
}

/// As libraries make processes that are to start fast: the child runs in its parent's memory. What it does there is not on
/// record.
#[test]
fn children_in_shared_memory() {
    let dump = complete("failures", "shared-memory");
    assert_eq!(dump.written("file"), (6, 6), "of the parent, and of the programs");
    assert_eq!(dump.calls("vfork").count(), 6);
}

/// A child in its parent's memory closes a file and becomes another program; the parent goes on with that file.
#[test]
fn a_child_that_borrows_its_parents_memory() {
    let dump = complete("failures", "borrowed");
    let writes: Vec<&Seen> = dump.calls("write").filter(|seen| seen.is_about("file")).collect();
    assert_eq!(writes.len(), 1);
    let parent = writes[0].pid;
    assert_eq!(dump.calls("execve").filter(|seen| seen.pid == parent).count(), 0);
    let child = dump.calls("vfork").next().expect("a child").result;
    assert!(dump.0.iter().any(|seen| i64::from(seen.pid) == child), "the program has a trace of its own");
    let became: Vec<&Seen> = dump.calls("child-execve").collect();
    assert_eq!(became.len(), 1);
    assert_eq!(became[0].args["pid"], child);
}

/// The processes that wrote to files of this name.
fn writers(dump: &Dump, name: &str) -> BTreeSet<u32> {
    dump.calls("write").filter(|seen| seen.is_about(name)).map(|seen| seen.pid).collect()
}

#[test]
fn two_thousand_threads_at_once() {
    let dump = complete("failures", "threads-at-once");
    assert_eq!(dump.written("file"), (4000, 4000));
    let threads: BTreeSet<u32> =
        dump.calls("pwrite").filter(|seen| seen.is_about("file")).map(|seen| seen.tid).collect();
    assert_eq!(threads.len(), 2000);
}

#[test]
fn thousands_of_threads() {
    let dump = complete("failures", "threads");
    assert_eq!(dump.written("file"), (2000, 2000));
    for call in ["pthread_create", "thread-start", "thread-end", "pthread_join"] {
        assert_eq!(dump.calls(call).count(), 2000, "{call}");
    }
}

/// The memory of a thread's handle may be gone when its creator is back; both name it all the same.
#[test]
fn detached_threads() {
    let dump = complete("failures", "detached");
    let named = |call: &str| {
        let mut handles: Vec<i64> =
            dump.calls(call).map(|seen| seen.args["thread"].as_i64().expect("a handle")).collect();
        handles.sort();
        handles
    };
    let created = named("pthread_create");
    assert_eq!(created.len(), 500);
    assert!(!created.contains(&0));
    assert_eq!(created, named("thread-start"));
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

/// The end of a thread is on record before its last round of destructors, and what they do then behind it.
#[test]
fn last_words_of_a_thread() {
    let dump = complete("failures", "last-words");
    assert_eq!(dump.written("file"), (4, 4));
    let behind = dump.0.iter().skip_while(|seen| seen.call != "thread-end").skip(1);
    assert!(behind.filter(|seen| seen.call == "write").count() > 0, "nothing is written behind the end");
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
    assert_eq!(writers(&dump, "file").len(), 2, "the parent and the daemon");
    assert_eq!(complete("process_surface", "daemon").written("daemon"), (1, 7));
    let dump = complete("failures", "daemons");
    assert_eq!(dump.written("file"), (300, 300));
    assert_eq!(writers(&dump, "file").len(), 3, "one daemon for each way of closing");
}

/// The other program knows of the socket what its first one knew, so that both ends can be found.
#[test]
fn sockets_across_exec() {
    let dump = complete("failures", "sockets");
    const S_IFSOCK: i64 = 0o140_000;
    let is_socket =
        |seen: &&Seen| seen.args["st_mode"].as_i64().is_some_and(|mode| mode & 0o170_000 == S_IFSOCK);
    let inherited =
        dump.calls("inherited-fd").filter(is_socket).filter(|seen| seen.args["fd"].as_i64() > Some(2));
    assert!(inherited.count() >= 1, "the socket is among what the program starts with");
}

/// Whatever a program is started with, few descriptors or many, next to each other or far apart: each once, with its path.
#[test]
fn descriptors_of_the_start() {
    const FAR: &str = "exec 5</dev/null 7>file 40>&7 200</dev/zero; exec ls / >/dev/null";
    const MANY: &str = "for fd in {10..60}; do eval \"exec $fd</dev/zero\"; done; exec ls / >/dev/null";
    let far = [(5, "/dev/null"), (7, "file"), (40, "file"), (200, "/dev/zero")];
    let many: Vec<_> = (10..=60).map(|fd| (fd, "/dev/zero")).collect();
    for (script, expected) in [(FAR, &far[..]), (MANY, &many[..])] {
        let recorded = record(&Job::new("bash").args(["-c", script]));
        let dump = Dump::of(&recorded.run_folder());
        // Of the shell itself, and then of what it becomes.
        let second = dump.calls("process-start").nth(1).expect("the shell becomes another program").start_ns;
        let wanted: Vec<i64> = (0..3).chain(expected.iter().map(|(fd, _)| *fd)).collect();
        // The test's own surroundings may hand down more.
        let of_script = |seen: &&Seen| seen.args["fd"].as_i64().is_some_and(|fd| wanted.contains(&fd));
        let of_second = dump.calls("inherited-fd").filter(|seen| seen.start_ns >= second);
        let seen: Vec<_> = of_second.filter(of_script).collect();
        let fds: Vec<_> = seen.iter().filter_map(|seen| seen.args["fd"].as_i64()).collect();
        assert_eq!(fds, wanted, "{script}");
        for (seen, (fd, path)) in seen[3..].iter().zip(expected) {
            assert!(seen.path.as_deref().is_some_and(|it| it.ends_with(path)), "{fd}: {:?}", seen.path);
        }
        assert_eq!(seen[1].path.as_deref(), Some("/dev/null"));
    }
}

/// Worker processes of every start method that Python has, 200 writes each; their pool ends them by a signal.
#[test]
fn pools_of_workers() {
    const PROGRAM: &str = r#"
import multiprocessing, os, sys
def write(number):
    file = os.open(f"worker.{method}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    written = os.write(file, b"worker")
    os.close(file)
    return written
def set_method(name):
    global method
    method = name
if __name__ == "__main__":
    for name in ["fork", "spawn", "forkserver"]:
        with multiprocessing.get_context(name).Pool(2, set_method, [name]) as pool:
            assert sum(pool.map(write, range(200))) == 1200
        print(name, os.path.getsize(f"worker.{name}"))
"#;
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let script = folder.path().join("workers.py");
    std::fs::write(&script, PROGRAM).expect("a new file");
    let python = Job::new(tests::workloads::python_itself()).args(["-S", "-E", "-B"]).arg(script);
    let recorded = record(&python);
    assert_eq!(recorded.recorded.stdout, "fork 1200\nspawn 1200\nforkserver 1200\n");
    let dump = Dump::of(&recorded.run_folder());
    for method in ["fork", "spawn", "forkserver"] {
        assert_eq!(dump.written(&format!("worker.{method}")), (200, 1200), "{method}");
    }
}

#[test]
fn vfork_dup2_exec() {
    assert_eq!(complete("failures", "vfork").written("file"), (1, 6));
    // Of its children one becomes a program, one ends, and one finds none.
    let dump = complete("process_surface", "vfork");
    assert_eq!(dump.written("file"), (1, 12));
    let became: Vec<Option<i32>> = dump.calls("child-execve").map(|seen| seen.errno).collect();
    assert_eq!(became, [None, Some(ENOENT)]);
    assert_eq!(complete("process_surface", "spawn").written("file"), (2, 16));
}

/// Threads make calls while MPI_Finalize runs, the program writes after it and at exit; and one that is finalized at exit.
#[test]
fn writes_around_the_end_of_mpi() {
    for way in ["main", "atexit"] {
        let recorded = record(&mpirun(2).arg(program("late")).args(["--finalize", way]));
        assert!(recorded.plain.status.success(), "{way}: {}", recorded.plain.stderr);
        let dump = Dump::of(&recorded.run_folder());
        for rank in 0..2 {
            assert_eq!(dump.written(&format!("late.{rank}")), (320, 320), "{way}: rank {rank}");
        }
        assert_eq!(dump.calls("MPI_Finalize").count(), 2, "{way}");
        assert_eq!(recorded.run.dropped(), 0, "{way}");
    }
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
