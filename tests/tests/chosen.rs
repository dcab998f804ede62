//! `SYN_ONLY` and `SYN_EXCEPT`, with both recorders: of programs that are left out, process creation alone is recorded, and
//! the trace says so. `SYN_OFF`: not even that.

use syn_trace::{Call, Layer, Run};
use tests::{Job, run_recorded, syn};

/// Runs `timeout 60 cat words`, with the shim and traced from outside, and gives both runs.
fn record(variable: &str, value: &str) -> [Run; 2] {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    std::fs::write(folder.path().join("words"), "a few words\n").expect("a file");
    let job = Job::new("timeout").args(["60", "cat", "words"]).env(variable, value);
    let (outcome, with_shim) = run_recorded(&job, folder.path(), &folder.path().join("run"));
    assert!(outcome.status.success() && outcome.stdout == "a few words\n", "{}", outcome.stderr);
    let recorder = syn().args(["record", "--backend=ptrace", "-o", "traced", "--"]).followed_by(&job);
    let outcome = recorder.run_in(folder.path()).succeeded();
    assert_eq!(outcome.stdout, "a few words\n");
    let traced = Run::open(folder.path().join("traced/1")).expect("a run folder");
    // Their files are mapped; the folder may go.
    [with_shim, traced]
}

/// How many calls of the run's `cat` are of files, and what the trace says it did not see.
fn cat(run: &Run) -> (usize, Vec<String>) {
    let (mut calls, mut unobserved) = (0, Vec::new());
    for (index, process) in
        run.processes.iter().enumerate().filter(|(_, process)| process.exe.ends_with("/cat"))
    {
        assert!(process.command.starts_with("cat words"));
        for (_, event) in run.process_events(index) {
            calls += usize::from(event.call.layer() == Layer::Posix);
            if event.call == Call::Unobserved {
                unobserved.push(String::from_utf8_lossy(&event.texts[0].bytes()).into_owned());
            }
        }
    }
    (calls, unobserved)
}

#[test]
fn programs_can_be_left_out() {
    for list in ["cat", "dog:cat", "/usr/bin/:/bin/"] {
        for run in record("SYN_EXCEPT", list) {
            let (calls, unobserved) = cat(&run);
            assert_eq!(calls, 0, "SYN_EXCEPT={list}");
            assert!(unobserved.iter().any(|reason| reason.contains("SYN_EXCEPT")), "{unobserved:?}");
        }
    }
}

#[test]
fn programs_can_be_chosen() {
    for run in record("SYN_ONLY", "cat") {
        let (calls, unobserved) = cat(&run);
        assert!(calls >= 3 && unobserved.is_empty(), "{calls} calls, {unobserved:?}");
    }
    for run in record("SYN_ONLY", "dog") {
        let (calls, unobserved) = cat(&run);
        assert!(calls == 0 && unobserved.len() == 1, "{calls} calls, {unobserved:?}");
    }
    // Nothing is left out by a name that only looks alike.
    for run in record("SYN_EXCEPT", "/cat:ca:cats:words") {
        assert!(cat(&run).0 >= 3);
    }
}

/// A process whose environment switches recording off leaves no trace, and its maker does.
#[test]
fn programs_can_be_switched_off() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let job = Job::new("timeout").args(["60", "env", "SYN_OFF=1", "echo", "unseen"]);
    let (outcome, with_shim) = run_recorded(&job, folder.path(), &folder.path().join("run"));
    assert_eq!(outcome.succeeded().stdout, "unseen\n");
    let recorder = syn().args(["record", "--backend=ptrace", "-o", "traced", "--"]).followed_by(&job);
    let _ = recorder.run_in(folder.path());
    for run in [with_shim, Run::open(folder.path().join("traced/1")).expect("a run folder")] {
        let recorded = |name: &str| run.processes.iter().any(|process| process.exe.ends_with(name));
        assert!(recorded("/timeout") && recorded("/env") && !recorded("/echo"));
    }
}
