//! What recording costs is on record.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use syn_trace::Run;
use syn_trace::run::StartCosts;
use tests::{Job, record, shim, syn};

/// Opens, writes and closes a file again and again; then a child that does nothing.
const PROGRAM: &str = "i=0; while [ $i -lt 2000 ]; do echo $i >>file; i=$((i + 1)); done; ( : ); :";

#[test]
fn recording_tells_what_it_costs() {
    let recorded = record(&Job::new("sh").args(["-c", PROGRAM]));
    let run = &recorded.run;
    let [shell, child] = &run.processes[..] else { panic!("{} processes", run.processes.len()) };
    let header = |thread: usize| run.threads[thread].trace.header();
    let (shell, child) = (header(shell.threads[0]), header(child.threads[0]));
    for behind in &shell.behind {
        let (calls, mean) = (behind.calls.load(Relaxed), behind.mean());
        assert!(calls > 50, "{calls} of thousands of calls");
        assert!(mean.is_some_and(|ticks| (10..100_000).contains(&ticks)), "{mean:?} ticks behind a call");
    }
    for header in [shell, child] {
        assert!(header.setup_ticks.load(Relaxed) > 0, "ticks until the recorder was ready");
    }
    assert!((1..=shell.start_cpu_ns).contains(&shell.setup_cpu_ns), "{} ns to set up", shell.setup_cpu_ns);
    assert_eq!(child.setup_cpu_ns, 0, "a forked child finds everything set up");
}

/// Forks that become another program, and ones that do not.
const SHORT: &str = "i=0; while [ $i -lt 10 ]; do (exec true); ( : ); i=$((i + 1)); done; :";

/// What recording adds to the start of each image, as it is on record, nanoseconds.
fn added(run: &Path) -> u64 {
    let told = Run::open(run).expect("a run").balances();
    told.threads.iter().map(|thread| thread.startup.recording_ns).sum()
}

#[test]
fn a_trial_tells_what_recording_adds_unseen_where_many_processes_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let recorded = |words: &[&str]| {
        let job = syn().args(["record", "-o", "runs", "--shim"]).arg(shim()).args(["--"]);
        let _ = job.args(words.iter().copied()).run_in(folder.path()).succeeded();
    };
    recorded(&["sh", "-c", SHORT]);
    let run = folder.path().join("runs/1");
    let costs = StartCosts::read(&run);
    assert!((1..5_000_000).contains(&(costs.image_ns + costs.forked_ns)), "{costs:?}");
    let left = std::fs::read_dir(&run).expect("a folder").flatten();
    let folders = left.filter(|entry| entry.path().is_dir()).count();
    assert_eq!(folders, 0, "what the trial recorded is gone");
    let known = StartCosts { image_ns: 1_000, forked_ns: 20 };
    StartCosts::default().write(&run).expect("a file");
    let unseen = added(&run);
    known.write(&run).expect("a file");
    assert_eq!(added(&run) - unseen, 11 * 1_000 + 10 * 20, "a shell, and ten that children became");

    recorded(&["true"]);
    assert_eq!(StartCosts::read(&folder.path().join("runs/2")), StartCosts::default(), "not for one process");
}
