//! What recording costs is on record.

use std::sync::atomic::Ordering::Relaxed;
use tests::{Job, record};

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
