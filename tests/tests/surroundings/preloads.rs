//! Other libraries that are preloaded beside ours, in front of it and behind it, and programs with something of the kind built
//! in.

use std::path::{Path, PathBuf};
use tests::{
    Comparison, Direction, Dump, Job, Recorded, Tally, library, program, program_sanitized, workloads,
};

/// Runs the job with the other library in front of the shim, then behind it.
#[track_caller]
fn in_both_orders(job: &Job, other: &Path, check: impl Fn(&str, &Recorded)) {
    for (order, comparison) in
        [("in front", Comparison::of(job).before(other)), ("behind", Comparison::of(job).behind(other))]
    {
        let recorded = comparison.run();
        assert!(recorded.plain.status.success(), "{order}: {}", recorded.plain.stderr);
        assert_eq!(recorded.run.dropped(), 0, "{order}");
        check(order, &recorded);
    }
}

/// A library of the system, where it may lie.
#[track_caller]
fn system_library(package: &str, places: &[&str]) -> PathBuf {
    let found = places.iter().map(Path::new).find(|place| place.is_file());
    found.unwrap_or_else(|| panic!("{places:?} are missing; on Debian: {package}")).to_owned()
}

/// Its constructor may run before ours, its destructor after ours, and it has a thread.
#[test]
fn a_library_with_constructors() {
    let job = Job::new(program("early"));
    in_both_orders(&job, &library("constructing"), |order, recorded| {
        let dump = Dump::of(&recorded.run_folder());
        assert_eq!(dump.written("early.left"), (9, 45), "{order}");
        assert_eq!(dump.written("constructed"), (3, 15), "{order}");
        assert_eq!(recorded.run.unobserved(), [], "{order}");
    });
}

/// Where it stands behind ours, its constructor runs first of all, when libc has no environment yet: what the user has set
/// holds all the same.
#[test]
fn a_library_whose_constructor_runs_first() {
    let job = Job::new(program("early"));
    in_both_orders(&job, &library("constructing_first"), |order, recorded| {
        let dump = Dump::of(&recorded.run_folder());
        assert_eq!(dump.written("early.left"), (9, 45), "{order}");
        assert_eq!(dump.written("constructed"), (3, 15), "{order}");
        assert_eq!(recorded.run.unobserved(), [], "{order}");
    });
}

#[test]
fn a_program_with_constructors() {
    let recorded = tests::record(&Job::new(program("early")));
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    assert_eq!(Dump::of(&recorded.run_folder()).written("early.left"), (9, 45));
    assert_eq!(recorded.run.dropped(), 0);
}

/// A second tool that wraps the same functions: both see every call, and each call is on record once. Where the other one
/// hides libc's functions from us, those that libc calls itself may be missing; then the trace says so.
#[test]
fn another_interposer() {
    let job = Job::new(program("posix_surface")).args(["open", "transfers", "vectors", "duplicates"]);
    let alone = moved(&Dump::of(&tests::record(&job).run_folder()));
    assert!(alone.iter().all(|&(calls, _)| calls > 10), "{alone:?}");
    in_both_orders(&job, &library("interposing"), |order, recorded| {
        let counts = std::fs::read_to_string(recorded.recorded_folder().join("interposed")).expect("a file");
        assert!(!counts.starts_with("0 opens, 0 reads, 0 writes"), "{order}: {counts}");
        let dump = Dump::of(&recorded.run_folder());
        let said = recorded.run.unobserved().iter().any(|(_, what)| what.starts_with("libc's own calls"));
        let mut by_itself = moved(&dump);
        if !said {
            // What the other tool tells at its end.
            let Tally { calls, bytes } = dump.moved(Direction::Write, "interposed");
            by_itself[1] = (by_itself[1].0 - calls, by_itself[1].1 - bytes);
        }
        assert_eq!(by_itself, alone, "{order}");
    });
}

/// Calls that read and bytes read, calls that write and bytes written, whoever made them.
fn moved(dump: &Dump) -> [(u64, u64); 2] {
    [Direction::Read, Direction::Write].map(|direction| {
        let moving = dump.0.iter().filter(|seen| !seen.is_of_loader());
        let moving = moving.filter(|seen| Direction::of(&seen.call) == Some(direction));
        // The line of text that every part ends with goes through a stream.
        let sizes = moving.filter(|seen| seen.args["fd"] != 1).map(|seen| seen.result.max(0) as u64);
        sizes.fold((0, 0), |(calls, bytes), size| (calls + 1, bytes + size))
    })
}

#[test]
fn an_interposer_of_dlsym() {
    let job = Job::new(program("loader")).arg("--library").arg(library("plugin"));
    in_both_orders(&job, &library("looking_up"), |order, recorded| {
        assert_eq!(Dump::of(&recorded.run_folder()).written("plugin"), (10, 10), "{order}");
    });
}

/// An allocator that makes calls while it initialises, at the first allocation of the process.
#[test]
fn another_allocator() {
    let jemalloc = system_library(
        "libjemalloc2",
        &["/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "/usr/lib64/libjemalloc.so.2"],
    );
    let job = Job::new(program("failures")).args(["vfork", "threads", "fork-handlers", "handler-exec"]);
    in_both_orders(&job, &jemalloc, |order, recorded| {
        let dump = Dump::of(&recorded.run_folder());
        assert_eq!(dump.written("file"), (2033, 2051), "{order}");
    });
    in_both_orders(&workloads::python(), &jemalloc, |_, _| {});
}

/// The program lives in 2020; its trace does not.
#[test]
fn another_time() {
    let libfaketime = system_library(
        "faketime",
        &["/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1", "/usr/lib64/faketime/libfaketimeMT.so.1"],
    );
    let year = r#"date +%Y; perl -e 'print((localtime)[5] + 1900, "\n")'; exec "$0" vfork exec threads"#;
    let job = Job::new("sh")
        .args(["-c", year])
        .arg(program("failures"))
        .env("FAKETIME", "@2020-06-01 12:00:00 x1000");
    in_both_orders(&job, &libfaketime, |order, recorded| {
        assert!(
            recorded.recorded.stdout.starts_with("2020\n2020\n"),
            "{order}: {}",
            recorded.recorded.stdout
        );
        assert_eq!(Dump::of(&recorded.run_folder()).written("file"), (7001, 7006), "{order}");
        let info = crate::info(&recorded.run_folder());
        let elapsed = info["elapsed_s"].as_f64().expect("seconds");
        assert!(elapsed > 0.0 && elapsed < 120.0, "{order}: the job took {elapsed} s");
        let now = std::time::UNIX_EPOCH.elapsed().expect("a time after 1970").as_secs_f64();
        for thread in &recorded.run.threads {
            let started = thread.trace.header().start_realtime_ns as f64 * 1e-9;
            assert!((now - started).abs() < 600.0, "{order}: a thread started at {started}, it is {now}");
        }
    });
}

/// A program whose sanitizer interposes on libc, too, and wants to be the first to do so unless told otherwise.
#[test]
fn sanitized_programs() {
    let options = "verify_asan_link_order=0:detect_leaks=0";
    for (name, parts) in [("failures", &["exec", "threads", "clearenv"][..]), ("stdio_surface", &[])] {
        let job = Job::new(program_sanitized(name)).args(parts).env("ASAN_OPTIONS", options);
        let recorded = tests::record(&job);
        assert!(recorded.plain.status.success(), "{name}: {}", recorded.plain.stderr);
        assert_eq!(recorded.run.dropped(), 0, "{name}");
        if name == "failures" {
            assert_eq!(Dump::of(&recorded.run_folder()).written("file"), (27_000, 27_000));
        }
    }
}

/// Exceptions go out of callbacks, through libc's functions and our hooks around them; one that nobody catches ends the
/// program as it does without us.
#[test]
fn exceptions() {
    for arguments in [&[][..], &["--uncaught"]] {
        let recorded = tests::record(&Job::new(program("exceptions")).args(arguments));
        assert!(recorded.plain.stdout.starts_with("exceptions: 200 objects"), "{}", recorded.plain.stderr);
        let dump = Dump::of(&recorded.run_folder());
        // 20 comparisons write nothing besides.
        assert_eq!(dump.written("exceptions.left"), (220, 200));
        assert_eq!(recorded.run.dropped(), 0);
    }
}

/// An exception that leaves an MPI call ends it: the calls behind it are the program's own. What a callback does inside an MPI
/// call that goes on is not.
#[test]
fn exceptions_out_of_mpi() {
    let recorded = tests::record(&tests::mpirun(2).arg(program("mpi_exceptions")));
    let dump = Dump::of(&recorded.run_folder());
    for rank in 0..2 {
        let own = |name| dump.calls(name).filter(move |call| call.rank == Some(rank) && call.depth == 0);
        assert_eq!(own("MPI_Barrier").count(), 5, "rank {rank}");
        let file = format!("exceptions.{rank}");
        let written =
            own("write").filter(|call| call.path.as_ref().is_some_and(|path| path.ends_with(&file)));
        assert_eq!(written.count(), 5, "rank {rank}");
        assert_eq!(own("MPI_Comm_free").count(), 1);
    }
    // The calls that the exceptions ended.
    assert_eq!(recorded.run.dropped(), 2 * 5);
}
