//! Divergences, warnings, and processes that end early.

use crate::common::*;
use std::path::Path;
use std::process::{Child, Stdio};
use syn_plan::{Io, Op};

#[test]
fn divergences_are_counted_and_told() {
    let mut draft = Draft::new();
    let (there, missing) = (draft.regular("/there", 100), draft.absent("/missing"));
    draft.program(
        0,
        Some(0),
        &[
            io(Io::Stat { file: there, follow: true }, -2),
            open(missing, 0, 0),
            open(there, 1, 0),
            read(1, 4096),
        ],
    );
    let replay = draft.replay(&[]);
    assert_eq!(replay.code(), 3, "{}", replay.stderr());
    let found = &replay.report()["divergences"];
    assert_eq!(found["total"], 3);
    assert_eq!(found["by_call"], serde_json::json!({"open": 1, "read": 1, "stat": 1}));
    let examples: Vec<(i64, i64, &str)> = found["examples"]
        .as_array()
        .expect("examples")
        .iter()
        .map(|example| {
            let number = |name: &str| example[name].as_i64().expect("a number");
            (number("expected"), number("found"), example["file"].as_str().expect("a file"))
        })
        .collect();
    assert_eq!(examples, [(-2, 0, "/there"), (0, -2, "/missing"), (4096, 100, "/there")]);
    let text = String::from_utf8_lossy(&replay.output.stdout);
    assert!(text.contains("3 operations did not come out as recorded"), "{text}");
    assert!(text.contains("recorded 4096, here 100"), "{text}");
}

#[test]
fn dropped_records_need_a_look() {
    let mut draft = Draft::new();
    draft.0.about.dropped = 7;
    draft.0.about.remarks.push("static program not entered".into());
    draft.program(0, None, &[Op::Sleep { ns: 1000 }]);
    let replay = draft.replay(&[]);
    assert_eq!(replay.code(), 3);
    assert!(replay.report()["warnings"][0].as_str().is_some_and(|warning| warning.starts_with("7 records")));
    assert_eq!(replay.report()["remarks"][0], "static program not entered");
}

#[test]
fn the_report_has_the_promised_fields() {
    let mut draft = Draft::new();
    draft.0.about.runs_ns = vec![900_000, 1_000_000, 1_100_000];
    let file = draft.regular("/in", 8192);
    draft.program(0, Some(0), &[open(file, 0, 0), read(0, 8192)]);
    let replay = draft.replay(&[]);
    let report = replay.went_well();
    assert_eq!((&report["kind"], &report["mode"]), (&"replay".into(), &"closed".into()));
    assert_eq!(report["storage"], replay.storage.path().to_str().expect("text"));
    assert_eq!(report["recorded_s"], 0.001);
    let (recorded, replayed) = (0.001, report["replayed_s"].as_f64().expect("a number"));
    let error = report["error_percent"].as_f64().expect("a number");
    assert!((error - (recorded - replayed) * 100.0 / recorded).abs() < 1e-6);
    assert_eq!(report["application_spread_percent"], 20.0);
    assert_eq!(report["ranks"][0]["rank"], 0);
    for call in ["open", "read"] {
        for side in ["recorded", "replayed"] {
            assert!(report["calls"][call][side]["latency_us"]["p99"].is_f64());
        }
    }
}

/// A plan of which the last program sleeps until it is ended.
fn sleepers() -> Draft {
    let mut draft = Draft::new();
    let edge = draft.edge(1);
    draft.program(0, Some(0), &[wait(edge, 1)]);
    draft.program(
        1,
        Some(1),
        &[Op::Compute { cpu_ns: 1000, idle_ns: 0 }, Op::Sleep { ns: 3_600_000_000_000 }, signal(edge)],
    );
    draft
}

fn start(plan: &Path, storage: &Path) -> Child {
    sleepers().0.save(plan).expect("the plan is written");
    replay(storage, plan).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("syn-replay starts")
}

/// The process ids of the two replaying processes, in the order of their start, once the second one sleeps in its
/// second step.
fn children(parent: &mut Child) -> Vec<String> {
    let list = format!("/proc/{0}/task/{0}/children", parent.id());
    loop {
        let children: Vec<String> = std::fs::read_to_string(&list)
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let asleep = |pid: &String| {
            let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
            call.starts_with(&format!("{} ", libc::SYS_clock_nanosleep))
        };
        if children.len() == 2 && asleep(&children[1]) {
            return children;
        }
        assert!(parent.try_wait().expect("syn-replay is there").is_none(), "it ended early");
        std::thread::yield_now();
    }
}

fn kill(pid: &str, signal: &str) {
    let status = std::process::Command::new("kill").args([signal, pid]).status().expect("kill starts");
    assert!(status.success());
}

fn ended(child: Child, storage: &Path) -> String {
    let output = child.wait_with_output().expect("syn-replay ends");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read_dir(storage).expect("the storage").count(), 0, "the folder is gone");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_process_that_dies_ends_the_replay_and_is_told() {
    let (folder, storage) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let mut child = start(&folder.path().join("app.syn"), storage.path());
    kill(&children(&mut child)[1], "-KILL");
    let stderr = ended(child, storage.path());
    for word in
        ["signal 9", "program 1", "rank 1", "recorded as process 1001", "step 1: sleep ns=3600000000000"]
    {
        assert!(stderr.contains(word), "{word:?} not in {stderr}");
    }
}

#[test]
fn an_interrupt_ends_the_replay_and_leaves_nothing() {
    let (folder, storage) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let mut child = start(&folder.path().join("app.syn"), storage.path());
    let replaying = children(&mut child);
    kill(&child.id().to_string(), "-INT");
    assert!(ended(child, storage.path()).contains("interrupted"));
    for pid in replaying {
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}
