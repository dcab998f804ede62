//! Pauses of hours, days and years, which a test cannot wait for: traces in which they happened.

use std::path::Path;
use syn_trace::builder::TraceBuilder;
use syn_trace::{Call, Run, header};
use tests::{Dump, Job, run_recorded, syn};

const SECOND: u64 = 1_000_000_000;

/// Beyond 2^32 units of 100 ns (429.5 s), of 1 µs (71 min), of 2.5 GHz ticks (1.7 s); and many years.
const PAUSES: [u64; 6] = [
    430 * SECOND,
    4_295 * SECOND,
    4_400 * SECOND,
    86_400 * SECOND,
    31_557_600 * SECOND,
    10 * 31_557_600 * SECOND,
];

/// A program that pauses between calls, and in a call, for that long.
fn write_trace(folder: &Path, pause: u64, shift: u32) {
    let mut builder = TraceBuilder::new(100, 100).process_start("/bin/app", "/home/u", "app");
    let fd: [i64; 2] = [3, 8];
    builder = builder.call(Call::Open, SECOND, 50_000, 3, &[0o102, 0o644, 0o100_644, 0, 7], &[b"data"], &[]);
    builder = builder.call(Call::Write, SECOND + pause, 1_000, 8, &fd, &[], &[]);
    builder = builder.call(Call::Write, 2 * SECOND + pause, pause, 8, &fd, &[], &[]);
    builder = builder.call(Call::Write, 3 * SECOND + 2 * pause, 1_000, 8, &fd, &[], &[]);
    // The clock reading at the end, by which readers know the rate: the counter ticks 2^shift times per nanosecond.
    let end = 4 * SECOND + 2 * pause;
    builder = builder.header(|header| {
        header.clock = header::CLOCK_TSC;
        header.tick_shift = shift;
        header.start.ticks <<= shift;
        header.latest[0].monotonic_ns = header.start.monotonic_ns + end;
        header.latest[0].ticks = header.start.ticks + (end << shift);
    });
    builder.write(folder).expect("a trace can be written");
}

#[test]
fn long_pauses() {
    for pause in PAUSES {
        for shift in [0, 3] {
            if shift > 0 && pause > 31_557_600 * SECOND {
                continue; // The counter itself has 64 bits.
            }
            let folder = tempfile::tempdir().expect("a folder for temporary files");
            write_trace(folder.path(), pause, shift);
            let run = Run::open(folder.path()).expect("a run");
            let thread = &run.threads[0];
            let times: Vec<(u64, u64)> = thread
                .events()
                .filter(|event| event.call == Call::Write)
                .map(|event| (thread.start_ns(&event), thread.end_ns(&event)))
                .collect();
            let expected = [
                (SECOND + pause, SECOND + pause + 1_000),
                (2 * SECOND + pause, 2 * SECOND + 2 * pause),
                (3 * SECOND + 2 * pause, 3 * SECOND + 2 * pause + 1_000),
            ];
            for (found, expected) in times.iter().zip(expected) {
                // Times are converted by floating point: they are right to a part in 10^15.
                let slack = pause / 1_000_000_000_000 + 2;
                assert!(found.0.abs_diff(expected.0) <= slack, "{pause}: {found:?}, expected {expected:?}");
                assert!(found.1.abs_diff(expected.1) <= slack, "{pause}: {found:?}, expected {expected:?}");
            }
            assert_eq!(times.len(), 3);
        }
    }
}

/// The programs agree: the whole time in `syn info`, the gap in `syn dump`, and a plan can be made of it.
#[test]
fn long_pauses_in_every_program() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let run = folder.path().join("run");
    std::fs::create_dir(&run).expect("a folder in an empty one");
    let pause = 4_400 * SECOND;
    write_trace(&run, pause, 0);
    let elapsed = crate::info(&run)["elapsed_s"].as_f64().expect("seconds");
    assert!((elapsed - (3.0 + 2.0 * 4_400.0)).abs() < 0.001, "{elapsed} s");
    let dump = syn().args(["dump", "--json"]).arg(&run).run_in(Path::new("/")).succeeded();
    let write =
        dump.stdout.lines().filter(|line| line.contains("\"call\":\"write\"")).nth(1).expect("a write");
    let write: serde_json::Value = serde_json::from_str(write).expect("JSON");
    assert_eq!(
        write["end_ns"].as_u64().zip(write["start_ns"].as_u64()).map(|(end, start)| end - start),
        Some(pause)
    );
    let plan = folder.path().join("app.syn");
    let merged = syn().arg("merge").arg(&run).arg("-o").arg(&plan).run_in(Path::new("/"));
    assert!([Some(0), Some(3)].contains(&merged.status.code()), "{}", merged.stderr);
    let elapsed = crate::info(&plan)["elapsed_s"].as_f64();
    assert!(elapsed.is_none_or(|elapsed| elapsed > 8_800.0), "{elapsed:?}");
}

/// A process whose monotonic clock is a day ahead of the others', in a time namespace: its calls stand where they belong.
#[test]
fn another_monotonic_clock() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    const SCRIPT: &str = "unshare -T --monotonic 86400 sh -c 'seq 9 > ahead' && seq 9 > behind";
    let job = Job::new("sh").args(["-c", SCRIPT]);
    let plain = job.run_in(folder.path());
    if !plain.status.success() {
        eprintln!("skipped: this machine does not let a test make a time namespace: {}", plain.stderr);
        return;
    }
    let (outcome, run) = run_recorded(&job, folder.path(), &folder.path().join("run"));
    let _ = outcome.succeeded();
    let dump = Dump::of(&run.path);
    assert_eq!((dump.written("ahead"), dump.written("behind")), ((1, 18), (1, 18)));
    let order: Vec<_> =
        dump.calls("write").filter_map(|seen| seen.path.as_deref()?.rsplit('/').next()).collect();
    assert_eq!(order[order.len() - 2..], ["ahead", "behind"]);
    let elapsed = crate::info(&run.path)["elapsed_s"].as_f64().expect("seconds");
    assert!(elapsed < 60.0, "the job took {elapsed} s");
}
