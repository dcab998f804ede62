//! Asynchronous I/O is in the plan, and a replay does it: what was written is there when it is read.

use super::engines::{BYTES, fio};
use serde_json::Value;
use std::path::Path;
use syn_merge::{Options, merge};
use syn_plan::{Io, Op, Plan};
use tests::{Direction, Job, program, record, run_recorded, syn};

/// The plan of a run, and the report of its replay.
#[track_caller]
fn replayed(run: &Path) -> (Plan, Value) {
    let scratch = tempfile::tempdir().expect("a folder");
    let plan = merge(&Options { runs: vec![run.to_owned()], ..Options::default() }).expect("merged").plan;
    plan.check().expect("a plan that can be replayed");
    let (file, report) = (scratch.path().join("app.syn"), scratch.path().join("report"));
    plan.save(&file).expect("saved");
    let replay = syn().arg("replay").arg(&file).arg("--storage").arg(scratch.path());
    let _ = replay.arg("--report").arg(&report).run_in(scratch.path());
    let report = std::fs::read(&report).expect("a report");
    (plan, serde_json::from_slice(&report).expect("JSON"))
}

fn calls(plan: &Plan) -> impl Iterator<Item = (Io, i64)> {
    let steps = plan.programs.iter().flat_map(|program| program.steps.iter());
    steps.filter_map(|step| match step.op {
        Op::Io { call, result } => Some((call, result)),
        _ => None,
    })
}

/// Requests, and bytes that they moved in the recording.
fn requests(plan: &Plan) -> (u64, u64) {
    let submitted = calls(plan).filter(|(call, _)| {
        matches!(call, Io::SubmitRead { .. } | Io::SubmitWrite { .. } | Io::SubmitSync { .. })
    });
    submitted.fold((0, 0), |(count, bytes), (_, result)| (count + 1, bytes + result as u64))
}

#[test]
fn every_interface() {
    for part in [
        "posix",
        "posix-lists",
        "posix-idle",
        "libaio",
        "libaio-queue",
        "libaio-by-number",
        "ring",
        "ring-by-number",
    ] {
        let recorded = record(&Job::new(program("aio_surface")).arg(part));
        assert!(recorded.recorded.status.success(), "{part}: {}", recorded.recorded.stderr);
        if recorded.plain.stdout.contains("no io_uring") {
            println!("{part} is skipped: {}", recorded.plain.stdout);
            continue;
        }
        let (plan, report) = replayed(&recorded.run_folder());
        let (count, bytes) = requests(&plan);
        assert!(count > 0 && bytes > 0, "{part}: {count} requests, {bytes} bytes");
        assert_eq!(report["divergences"]["total"], 0, "{part}: {}", report["divergences"]);
        let completed: i64 = calls(&plan)
            .filter_map(|(call, result)| matches!(call, Io::Complete { .. }).then_some(result))
            .sum();
        assert_eq!(report["calls"]["complete"]["bytes"], completed, "{part}");
    }
}

#[test]
fn what_fio_does() {
    let cases = ["libaio", "posixaio"].into_iter().flat_map(|engine| {
        [Direction::Read, Direction::Write].into_iter().flat_map(move |direction| {
            [false, true].into_iter().map(move |threads| (engine, direction, threads))
        })
    });
    for (engine, direction, threads) in cases {
        let scratch = tempfile::tempdir().expect("a folder");
        std::fs::write(scratch.path().join("data"), vec![1; BYTES as usize]).expect("a file");
        let run = scratch.path().join("run");
        let (output, _) = run_recorded(&fio(engine, direction, threads), scratch.path(), &run);
        let _ = output.succeeded();
        let (plan, report) = replayed(&run);
        let what = format!("{engine}, {direction:?}, threads: {threads}");
        assert_eq!(requests(&plan).1, BYTES, "{what}");
        assert_eq!(report["calls"]["complete"]["bytes"], BYTES, "{what}");
        assert_eq!(report["divergences"]["total"], 0, "{what}: {}", report["divergences"]);
    }
}
