//! fio with each of its engines for files: what it counts is what is on record, and what the kernel saw.

use super::{list, number, unobserved};
use serde_json::Value;
use std::collections::HashMap;
use tests::strace::{self, Maker};
use tests::{Direction, Dump, Job, run_recorded};

const FILE: &str = "data";
pub(super) const BYTES: u64 = 1 << 20;
const EACH: u64 = 16 << 10;

/// One job of fio on one file, with a fixed order of places.
pub(super) fn fio(engine: &str, direction: Direction, threads: bool) -> Job {
    let is_asynchronous = ["libaio", "posixaio", "io_uring"].contains(&engine);
    let pattern = match direction {
        Direction::Read => "randread",
        Direction::Write => "randwrite",
    };
    let job =
        Job::new("fio").args(["--name=job", "--randseed=7", "--fallocate=none", "--output-format=json"]);
    let job =
        job.arg(format!("--filename={FILE}")).arg(format!("--size={BYTES}")).arg(format!("--bs={EACH}"));
    let job = job.arg(format!("--ioengine={engine}")).arg(format!("--rw={pattern}"));
    let job = job.arg(format!("--iodepth={}", if is_asynchronous { 4 } else { 1 }));
    if threads { job.arg("--thread") } else { job }
}

/// What fio says it has moved, by direction: bytes and calls.
fn counted(stdout: &str) -> [(u64, u64); 2] {
    let from = stdout.find('{').unwrap_or_else(|| panic!("fio wrote no JSON: {stdout}"));
    let report: Value = serde_json::from_str(&stdout[from..]).expect("what fio writes is JSON");
    ["read", "write"].map(|direction| {
        let counts = &report["jobs"][0][direction];
        let count = |name: &str| counts[name].as_u64().unwrap_or_else(|| panic!("no {name}: {counts}"));
        (count("io_bytes"), count("total_ios"))
    })
}

/// fio without the shim and with it, on a file that is there: its counters, and the trace.
#[track_caller]
fn run(engine: &str, direction: Direction, threads: bool) -> Dump {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let job = fio(engine, direction, threads);
    let expected = match direction {
        Direction::Read => [(BYTES, BYTES / EACH), (0, 0)],
        Direction::Write => [(0, 0), (BYTES, BYTES / EACH)],
    };
    std::fs::write(scratch.path().join(FILE), vec![1; BYTES as usize]).expect("a file in an empty folder");
    let plain = job.run_in(scratch.path()).succeeded();
    assert_eq!(counted(&plain.stdout), expected, "{engine} without the shim");
    let run = scratch.path().join("run");
    let (recorded, _) = run_recorded(&job, scratch.path(), &run);
    let recorded = recorded.succeeded();
    assert_eq!(counted(&recorded.stdout), expected, "{engine} with the shim");
    assert_eq!(recorded.stderr, plain.stderr);
    Dump::of(&run)
}

const DIRECTIONS: [Direction; 2] = [Direction::Read, Direction::Write];

/// Bytes of the completions of control blocks of this direction for the file.
fn completed(dump: &Dump, direction: Direction) -> u64 {
    // A control block is used again as soon as its completion was seen.
    let mut under_way: HashMap<i64, Direction> = HashMap::new();
    let mut bytes = 0;
    for seen in &dump.0 {
        match seen.call.as_str() {
            "iocb" if seen.is_about(FILE) => {
                let is_read = [0, 7].contains(&number(seen, "opcode"));
                let direction = if is_read { Direction::Read } else { Direction::Write };
                under_way.insert(number(seen, "iocb"), direction);
            }
            "io_getevents" => {
                for pair in list(seen, "completed").chunks(2) {
                    let of = under_way.remove(&pair[0]).expect("what completes was submitted");
                    bytes += if of == direction { pair[1].max(0) as u64 } else { 0 };
                }
            }
            _ => {}
        }
    }
    bytes
}

#[test]
fn calls_that_move_bytes_themselves() {
    for engine in ["sync", "psync", "vsync", "pvsync", "pvsync2", "posixaio"] {
        for (direction, threads) in DIRECTIONS.into_iter().flat_map(|way| [(way, false), (way, true)]) {
            let dump = run(engine, direction, threads);
            assert_eq!(
                dump.moved(direction, FILE).bytes,
                BYTES,
                "{engine}, {direction:?}, threads: {threads}"
            );
            assert_eq!(unobserved(&dump), [""; 0], "{engine}");
        }
    }
}

#[test]
fn control_blocks() {
    for (direction, threads) in DIRECTIONS.into_iter().flat_map(|way| [(way, false), (way, true)]) {
        let dump = run("libaio", direction, threads);
        assert_eq!(completed(&dump, direction), BYTES, "{direction:?}, threads: {threads}");
        assert_eq!(dump.calls("iocb").filter(|seen| seen.is_about(FILE)).count() as u64, BYTES / EACH);
        assert_eq!(unobserved(&dump), [""; 0]);
    }
}

/// Pages that are read or written in memory are found by looking at them, and a look is as exact as a page.
#[test]
fn mapped_memory() {
    for threads in [false, true] {
        let dump = run("mmap", Direction::Write, threads);
        let mapped = dump.calls("mmap").filter(|seen| seen.is_about(FILE));
        assert_eq!(
            mapped.map(|seen| number(seen, "length")).sum::<i64>(),
            BYTES as i64,
            "threads: {threads}"
        );
        assert_eq!(dump.moved(Direction::Write, FILE).bytes, 0);
    }
}

#[test]
fn spliced() {
    for (direction, threads) in DIRECTIONS.into_iter().flat_map(|way| [(way, false), (way, true)]) {
        let dump = run("splice", direction, threads);
        let is_file =
            |path: &Option<String>| path.as_deref().is_some_and(|path| path.rsplit('/').next() == Some(FILE));
        let moved = dump.calls("splice").filter(|seen| match direction {
            Direction::Read => is_file(&seen.path),
            Direction::Write => is_file(&seen.second_path),
        });
        let bytes: i64 = moved.map(|seen| seen.result).sum();
        assert_eq!(bytes, BYTES as i64, "{direction:?}, threads: {threads}");
    }
}

/// fio enters its ring by an instruction of its own, so that no library sees it. Then the trace tells how many operations
/// there were; what is still in the queue at the end has a record.
#[test]
fn a_ring_that_is_entered_unseen() {
    for (direction, threads) in DIRECTIONS.into_iter().flat_map(|way| [(way, false), (way, true)]) {
        let scratch = tempfile::tempdir().expect("a folder for temporary files");
        let plain = fio("io_uring", direction, threads).run_in(scratch.path());
        if !plain.status.success() {
            println!("skipped: fio has no io_uring here: {}", plain.stderr);
            return;
        }
        let dump = run("io_uring", direction, threads);
        assert_eq!(dump.calls("io_uring_enter").count(), 0);
        let told = unobserved(&dump);
        let [told] = &told[..] else { panic!("one ring, one note: {told:?}") };
        let numbers: Vec<u64> =
            told.split(' ').filter_map(|word| word.trim_end_matches(':').parse().ok()).collect();
        let [_descriptor, submissions, completions] = numbers[..] else { panic!("three numbers: {told}") };
        let recorded = |call: &str| dump.calls(call).count() as u64;
        assert_eq!(submissions + recorded("sqe"), BYTES / EACH, "{told}");
        assert_eq!(completions + recorded("cqe"), BYTES / EACH, "{told}");
    }
}

/// The same bytes for the kernel: what strace sees the program and libc's threads do with the file.
#[test]
fn as_the_kernel_saw_it() {
    for engine in ["psync", "pvsync2", "posixaio"] {
        let scratch = tempfile::tempdir().expect("a folder for temporary files");
        let [output, work, run] = ["strace", "work", "run"].map(|name| scratch.path().join(name));
        std::fs::create_dir(&output).expect("a folder in an empty one");
        std::fs::create_dir(&work).expect("a folder in an empty one");
        let calls = "read,write,pread64,pwrite64,readv,writev,preadv,pwritev,preadv2,pwritev2";
        let job = strace::job(&output, &run, calls).followed_by(&fio(engine, Direction::Write, false));
        let outcome = job.run_in(&work).succeeded();
        let mut bytes = 0;
        strace::for_each_call(&output, &work, |caller, call| {
            let is_write = Direction::of(&call.name) == Some(Direction::Write);
            let to_file = call.descriptor(0).is_some_and(|fd| fd.object.ends_with("/data"));
            if is_write && to_file && caller.maker(call) != Maker::Shim {
                bytes += call.result.max(0) as u64;
            }
        });
        assert_eq!(bytes, counted(&outcome.stdout)[1].0, "{engine}");
        assert_eq!(Dump::of(&run).moved(Direction::Write, FILE).bytes, bytes, "{engine}");
    }
}
