//! `SYN_ONLY` and `SYN_EXCEPT`: of programs that are left out, process creation alone is recorded, and the trace says so.

use syn_trace::{Call, Layer, Run};
use tests::{Job, run_recorded};

/// Runs `env cat words` and gives the run.
fn record(variable: &str, value: &str) -> Run {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    std::fs::write(folder.path().join("words"), "a few words\n").expect("a file");
    let job = Job::new("timeout").args(["60", "cat", "words"]).env(variable, value);
    let run_folder = folder.path().join("run");
    let (outcome, run) = run_recorded(&job, folder.path(), &run_folder);
    assert!(outcome.status.success() && outcome.stdout == "a few words\n", "{}", outcome.stderr);
    // Its files are mapped; the folder may go.
    run
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
        let (calls, unobserved) = cat(&record("SYN_EXCEPT", list));
        assert_eq!(calls, 0, "SYN_EXCEPT={list}");
        assert!(unobserved.iter().any(|reason| reason.contains("SYN_EXCEPT")), "{unobserved:?}");
    }
}

#[test]
fn programs_can_be_chosen() {
    let (calls, unobserved) = cat(&record("SYN_ONLY", "cat"));
    assert!(calls >= 3 && unobserved.is_empty(), "{calls} calls, {unobserved:?}");
    let (calls, unobserved) = cat(&record("SYN_ONLY", "dog"));
    assert!(calls == 0 && unobserved.len() == 1, "{calls} calls, {unobserved:?}");
    // Nothing is left out by a name that only looks alike.
    assert!(cat(&record("SYN_EXCEPT", "/cat:ca:cats:words")).0 >= 3);
}
