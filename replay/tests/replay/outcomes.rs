//! Divergences, warnings, and processes that end early.

use crate::common::*;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Child, Stdio};
use syn_plan::{FIRST_COMMUNICATOR, Io, LeftOut, Mpi, Op};
use syn_trace::{Call, builder::TraceBuilder};

#[test]
fn what_follows_a_failed_open_names_the_file_that_was_to_be_opened() {
    let mut draft = Draft::new();
    let (there, missing) = (draft.regular("/there", 100), draft.absent("/missing"));
    let fstat = || io(Io::Fstat { handle: 0 }, 0);
    let ops = [open(there, 0, 0), fstat(), open(missing, 0, 0), fstat(), close(0)];
    draft.program(0, None, &ops);
    let replay = draft.replay(&[]);
    // One cause, and what followed from it: nothing is said of the file that the handle was of before.
    let divergences = &replay.report()["divergences"];
    assert_eq!((&divergences["total"], &divergences["causes"]), (&3.into(), &1.into()));
    assert_eq!(divergences["examples"][0]["file"], "/missing");
    assert_eq!(divergences["examples"][0]["consequences"], serde_json::json!({"close": 1, "fstat": 1}));
}

/// Steps that are left out count, in repeats as often as these are followed.
#[test]
fn a_divergence_is_told_with_its_number_in_the_plan() {
    let mut draft = Draft::new();
    let missing = draft.absent("/missing");
    let mpi = || Op::Mpi { call: Mpi::FreeComm { comm: FIRST_COMMUNICATOR }, cpu_ns: 0, idle_ns: 0 };
    let stat = || io(Io::Stat { file: missing, follow: true }, 0);
    let ops = [mpi(), Op::Repeat { count: 2, steps: 3 }, mpi(), Op::Sleep { ns: 1 }, mpi(), stat()];
    draft.program(0, Some(0), &ops);
    draft.0.lists = vec![vec![]];
    draft.0.communicators = vec![vec![(0, 1, 1)]];
    let replay = draft.replay(&["--comm", "none"]);
    let report = replay.report();
    assert_eq!(report["comm"], "none");
    assert_eq!(report["divergences"]["examples"][0]["step"], 7, "{report}");
}

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
    draft.0.about.runs_ns = vec![900_000, 1_000_000, 1_100_000, 1_000_000];
    let file = draft.regular("/in", 8192);
    draft.program(0, Some(0), &[open(file, 0, 0), read(0, 8192)]);
    let replay = draft.replay(&[]);
    let report = replay.went_well();
    assert_eq!((&report["kind"], &report["mode"]), (&"replay".into(), &"closed".into()));
    assert_eq!(report["storage"], replay.storage.path().to_str().expect("text"));
    assert_eq!(report["recorded_s"], 0.001);
    let (recorded, replayed) = (0.001, report["replayed_s"].as_f64().expect("a number"));
    let change = report["change_percent"].as_f64().expect("a number");
    assert!((change - (replayed - recorded) * 100.0 / recorded).abs() < 1e-6);
    assert_eq!(report["recorded_runs_s"].as_array().map(Vec::len), Some(4));
    assert_eq!(report["recorded_spread_percent"], 20.0);
    assert_eq!(report["application_s"], serde_json::json!([]));
    assert!(report["error_percent"].is_null() && report["application_spread_percent"].is_null());
    assert!(!replay.text().contains("error"), "{}", replay.text());
    assert_eq!(report["ranks"][0]["rank"], 0);
    for call in ["open", "read"] {
        for side in ["recorded", "replayed"] {
            assert!(report["calls"][call][side]["latency_us"]["p99"].is_f64());
        }
    }
}

/// The folder of a recording that took `ms` milliseconds, in the first five of which the recorder got ready.
fn recorded(command: &str, ms: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let thread = TraceBuilder::new(7, 7).process_start(&format!("/bin/{command}"), "/", command);
    let thread = thread.header(|header| header.setup_ticks = 5_000_000.into());
    let trace = thread.call(Call::Sync, 10, ms * 1_000_000 - 10, 0, &[], &[], &[]);
    trace.write(folder.path()).expect("the trace is written");
    folder
}

#[test]
fn there_is_an_error_against_the_application_measured_on_the_storage() {
    let mut draft = Draft::new();
    draft.program(0, None, &[Op::Sleep { ns: 1000 }]);
    let runs = [recorded("app", 200), recorded("app", 100)];
    let paths = runs.iter().map(|run| run.path().to_str().expect("text"));
    let options: Vec<&str> = ["--against"].into_iter().chain(paths).collect();
    let replay = draft.replay(&options);
    let report = replay.went_well();
    let number = |name: &str| report[name].as_f64().expect("a number");
    let application: Vec<f64> =
        report["application_s"].as_array().expect("a list").iter().filter_map(|one| one.as_f64()).collect();
    let median = (application[0] + application[1]) / 2.0;
    assert!((application[0] / application[1] - 2.0).abs() < 1e-3, "{application:?}");
    assert!((number("error_percent") - (median - number("replayed_s")) * 100.0 / median).abs() < 1e-3);
    let recording = report["application_recording_s"].as_array().expect("a list").iter();
    let recording: Vec<f64> = recording.filter_map(|one| one.as_f64()).collect();
    assert!(
        recording.len() == 2 && recording.iter().all(|cost| (cost - 0.005).abs() < 1e-4),
        "{recording:?}"
    );
    assert!(replay.text().contains(", of which recording cost a thread 0.005"), "{}", replay.text());
    let spread = (application[0] - application[1]) * 100.0 / median;
    assert!((number("application_spread_percent") - spread).abs() < 1e-3);
    assert!(replay.text().contains("error of the replay"), "{}", replay.text());
}

#[test]
fn another_application_is_warned_about_and_a_plan_is_none() {
    let mut draft = Draft::new();
    draft.program(0, None, &[Op::Sleep { ns: 1000 }]);
    draft.0.about.ranks = 2;
    let other = recorded("other", 100);
    let replay = draft.replay(&["--against", other.path().to_str().expect("text")]);
    assert_eq!(replay.code(), 3, "{}", replay.stderr());
    let warnings = replay.report()["warnings"].to_string();
    assert!(
        warnings.contains("has 0 ranks, the plan has 2") && warnings.contains("ran `other`"),
        "{warnings}"
    );
    let plan = other.path().join("app.syn");
    draft.0.save(&plan).expect("the plan is written");
    draft
        .replay(&["--against", plan.to_str().expect("text")])
        .failed_saying(&["is a plan", "before --against"]);
    draft.replay(&["--against", "/nowhere"]).failed_saying(&["/nowhere"]);
}

#[test]
fn consequences_of_a_failed_open_stand_under_it() {
    let mut draft = Draft::new();
    let (there, missing) = (draft.regular("/there", 100), draft.absent("/missing"));
    let fstat = |handle| io(Io::Fstat { handle }, 0);
    draft.program(0, None, &[open(there, 0, 0), open(missing, 0, 0), fstat(0), read(0, 10), close(0)]);
    let dup = io(Io::Dup { handle: 0, new: 1 }, 0);
    draft.program(1, None, &[open(missing, 0, 0), dup, fstat(1), open(there, 1, 0), fstat(1), close(1)]);
    let replay = draft.replay(&["--repeat", "2"]);
    assert_eq!(replay.code(), 3, "{}", replay.stderr());
    let found = &replay.report()["divergences"];
    assert_eq!(
        (&found["total"], &found["causes"], &found["each"]),
        (&7.into(), &2.into(), &serde_json::json!([7, 7]))
    );
    let examples = found["examples"].as_array().expect("examples");
    assert_eq!(examples.len(), 2, "{examples:?}");
    assert!(examples.iter().all(|one| one["file"] == "/missing"), "{examples:?}");
    assert_eq!(examples[0]["consequences"], serde_json::json!({"fstat": 1, "read": 1, "close": 1}));
    assert_eq!(examples[1]["consequences"], serde_json::json!({"dup": 1, "fstat": 1}));
    let text = replay.text();
    assert!(text.contains("and so were not as recorded: 1 close, 1 fstat, 1 read"), "{text}");
}

#[test]
fn what_the_plan_leaves_out_is_told() {
    let mut draft = Draft::new();
    draft.program(0, None, &[io(Io::SyncFs, 0)]);
    let whole = draft.replay(&[]);
    whole.went_well();
    assert!(whole.text().contains("all operations came out as recorded"), "{}", whole.text());
    let left_out = |call: &str, count| LeftOut { call: call.into(), count, bytes: 5, ns: 1_000_000 };
    draft.0.about.left_out = vec![left_out("sendto", 7), left_out("mmap", 2)];
    let replay = draft.replay(&[]);
    let expected = serde_json::json!({"call": "sendto", "count": 7, "bytes": 5, "s": 0.001});
    assert_eq!(replay.went_well()["left_out"][0], expected);
    let text = replay.text();
    for part in ["all 1 replayed operations came out", "9 calls of 2 kinds are not replayed: sendto, mmap"] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert!(!text.contains("all operations"), "{text}");
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
fn children(parent: &mut Child) -> Vec<u32> {
    let list = format!("/proc/{0}/task/{0}/children", parent.id());
    loop {
        let listed = std::fs::read_to_string(&list).unwrap_or_default();
        let children: Vec<u32> = listed.split_whitespace().map(|pid| pid.parse().expect("a pid")).collect();
        let asleep = |pid: u32| {
            let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
            call.starts_with(&format!("{} ", libc::SYS_clock_nanosleep))
        };
        if children.len() == 2 && asleep(children[1]) {
            return children;
        }
        assert!(parent.try_wait().expect("syn-replay is there").is_none(), "it ended early");
        std::thread::yield_now();
    }
}

fn kill(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a process id");
    kill_process(pid, signal).expect("a process of ours");
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
    kill(children(&mut child)[1], Signal::KILL);
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
    for signal in [Signal::INT, Signal::QUIT] {
        let mut child = start(&folder.path().join("app.syn"), storage.path());
        let replaying = children(&mut child);
        kill(child.id(), signal);
        assert!(ended(child, storage.path()).contains("interrupted"));
        for pid in replaying {
            assert!(!Path::new(&format!("/proc/{pid}")).exists());
        }
    }
}
