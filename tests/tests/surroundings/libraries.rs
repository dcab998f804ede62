//! Libraries that are loaded while the program runs.

use std::os::unix::fs::MetadataExt;
use tests::{Dump, Job, Recorded, library, mpirun, program, record, run_recorded};

#[track_caller]
fn load(how: &str) -> (Recorded, Dump) {
    let loader = Job::new(program("loader")).arg("--library").arg(library("plugin"));
    let recorded = record(&loader.args(["--how", how]));
    assert!(recorded.plain.status.success(), "{how}: {}", recorded.plain.stderr);
    let dump = Dump::of(&recorded.run_folder());
    assert_eq!(dump.written("file"), (2, 12), "{how}");
    (recorded, dump)
}

#[test]
fn loaded_late() {
    for how in ["local", "global"] {
        let (recorded, dump) = load(how);
        assert_eq!(dump.written("plugin"), (10, 10), "{how}");
        assert_eq!(dump.written("plugin.lines"), (1, 20), "{how}");
        assert_eq!(dump.calls("fsync").filter(|seen| seen.is_about("plugin")).count(), 1, "{how}");
        assert_eq!(dump.calls("rename").count(), 1, "{how}");
        assert_eq!((recorded.run.dropped(), recorded.run.unobserved()), (0, vec![]), "{how}");
    }
}

/// The library finds libc's functions before ours. What is not seen of it, the trace says.
#[test]
fn loaded_with_its_own_surroundings_first() {
    let (recorded, dump) = load("deepbind");
    let everything = dump.written("plugin") == (10, 10)
        && dump.calls("fsync").count() == 1
        && dump.calls("rename").count() == 1;
    let unobserved = recorded.run.unobserved();
    let said = unobserved.iter().any(|(_, what)| what.contains("RTLD_DEEPBIND"));
    assert!(everything || said, "{:?}, {unobserved:?}", dump.written("plugin"));
    // What says so is not inside a call, which nothing would tell the end of.
    let open = syn_trace::Call::Open as i64;
    assert!(dump.calls("call-entered").all(|seen| seen.args["call"] != open));
}

/// The library has a libc of its own, which nobody has changed: the trace says so.
#[test]
fn loaded_into_a_namespace() {
    let (recorded, dump) = load("namespace");
    let unobserved = recorded.run.unobserved();
    let said = unobserved.iter().any(|(_, what)| what.contains("dlmopen"));
    assert!(dump.written("plugin") == (10, 10) || said, "{:?}, {unobserved:?}", dump.written("plugin"));
}

/// As many libraries find room for their thread-locals as without ours: the program prints how many.
#[test]
fn room_for_thread_locals() {
    let loader = Job::new(program("loader")).arg("--library").arg(library("roomy"));
    let recorded = record(&loader.args(["--copies", "40"]));
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    let line = &recorded.recorded.stdout;
    assert!(
        !line.contains("loader: 0 of") && !line.contains("40 of 40"),
        "room for some, not for all: {line}"
    );
}

/// Other libraries are unloaded while the function behind ours is looked up, in one that may be unloaded as well.
#[test]
fn unloaded_meanwhile() {
    let unloading = Job::new(program("unloading")).arg("--library").arg(library("asynchronous"));
    let recorded = record(&unloading.arg("--copied").arg(library("plugin")));
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    let dump = Dump::of(&recorded.run_folder());
    assert!(dump.calls("io_destroy").count() > 0);
    assert!(dump.calls("io_destroy").all(|seen| seen.result == 0));
}

/// MPI that comes with a library, as in Python: the program itself knows nothing of it.
#[test]
fn mpi_in_a_library() {
    let loader = mpirun(2).arg(program("loader")).arg("--library").arg(library("mpi_plugin"));
    let recorded = record(&loader);
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    let dump = Dump::of(&recorded.run_folder());
    for rank in 0..2 {
        assert_eq!(dump.written(&format!("plugin.{rank}")), (1, 8), "rank {rank}");
    }
    for call in ["MPI_Init", "MPI_Sendrecv", "MPI_Finalize"] {
        assert_eq!(dump.calls(call).count(), 2, "{call}");
    }
    assert!(dump.calls("MPI_Sendrecv").all(|seen| seen.rank.is_some()));
}

/// Processes of a run whose folder lies in memory share the text of one libc with the detours, unless others may write to it; and what
/// libc itself does is on record of all of them.
#[test]
fn one_libc_for_a_row_of_processes() {
    const RUNS: usize = 48;
    const SCRIPT: &str = r#"
        for n in $(seq 48); do mkdir $n; (cd $n; "$0" >out 2>&1); done
        look() { grep "r-xp.*libc" /proc/self/maps >$1; }
        n=0
        while [ $n -lt 1000 ]; do
            n=$((n + 1)); look shared
            grep -q "$SYN_RUN/libc-.*so.6$" shared && break
        done
        chmod g+w "$SYN_RUN"/libc-*; look writable
        chmod g-w "$SYN_RUN"/libc-*; look again
        # A mkdir that makes the copy itself, as one in so many does, finds it there.
        for copy in "$SYN_RUN"/libc-*; do
            for try in 1 2 3 4 5 6 7 8; do mv $copy $copy.away; mkdir -m 500 $copy && break; done
        done 2>/dev/null
        look folder
    "#;
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("mounts");
    if mounts.lines().any(|line| line.contains(" /dev/shm ") && line.contains("noexec")) {
        eprintln!("left out: /dev/shm is mounted noexec, and nothing is shared there");
        return;
    }
    let (memory, work) = (tempfile::tempdir_in("/dev/shm"), tempfile::tempdir());
    let (memory, work) = (memory.expect("a folder in memory"), work.expect("a folder"));
    let run = memory.path().join("run");
    let job = Job::new("sh").arg("-c").arg(SCRIPT).arg(program("stdio_surface"));
    let (outcome, recorded) = run_recorded(&job, work.path(), &run);
    assert!(outcome.status.success(), "{}", outcome.stderr);
    assert_eq!((recorded.dropped(), recorded.unobserved()), (0, vec![]));
    let dump = Dump::of(&run);
    for (name, is_shared) in [("shared", true), ("writable", false), ("again", true), ("folder", false)] {
        let said = std::fs::read_to_string(work.path().join(name)).expect("what was looked at");
        assert_eq!(said.contains(&format!("{}/libc-", run.display())), is_shared, "{name}: {said}");
        assert!(dump.written(name).1 >= said.len() as u64, "{name}: {:?} of {said}", dump.written(name));
    }
    // The first ones have changed libc themselves.
    let surfaces = recorded.processes.iter().filter(|process| process.image().ends_with("stdio_surface"));
    let mut calls: Vec<Vec<i64>> = surfaces
        .map(|process| {
            let threads = process.threads.iter().map(|&thread| &recorded.threads[thread]);
            threads.flat_map(|thread| thread.events().map(|event| event.call as i64)).collect()
        })
        .collect();
    let each = calls.len() / RUNS;
    assert!(each > 0 && calls.len() == each * RUNS && calls[0].len() > 100, "{} processes", calls.len());
    // Each makes some children, in any order.
    calls.chunks_mut(each).for_each(|one| one.sort());
    assert!(calls.chunks(each).all(|one| *one == calls[..each]), "{calls:?}");
    let copies = run.read_dir().expect("a run folder").flatten().filter_map(|entry| entry.metadata().ok());
    let uid = run.metadata().expect("a run folder").uid();
    assert!(copies.filter(|file| file.mode() & 0o777 == 0o500).all(|file| file.uid() == uid));
}
