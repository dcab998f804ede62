//! Older kernels, and systems without /proc: strace makes the calls fail that are not there.

use crate::pages;
use std::path::{Path, PathBuf};
use tests::{Dump, Job, shim};

/// Runs the job with the shim, while strace makes some calls fail. What it injects it writes to `injected`.
#[track_caller]
fn recorded_while(inject: &[&str], job: &Job, scratch: &Path) -> (Dump, PathBuf) {
    let [work, run, injected] = ["work", "run", "injected"].map(|name| scratch.join(name));
    std::fs::create_dir(&work).expect("a folder in an empty one");
    let variables = [("LD_PRELOAD", shim()), ("SYN_RUN", run.clone())];
    let variables = variables.map(|(name, value)| ["-E".into(), format!("{name}={}", value.display())]);
    let strace = Job::new("strace").args(["-f", "-e", "signal=none", "-o"]).arg(&injected).args(inject);
    let strace = strace.args(variables.into_iter().flatten());
    let _ = strace.followed_by(job).run_in(&work).succeeded();
    (Dump::of(&run), injected)
}

/// Linux before 6.7 has no scan; the words of pagemap tell the same.
#[test]
fn without_a_scan() {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let fail = ["-e", "trace=ioctl", "-e", "inject=ioctl:error=ENOTTY"];
    let (dump, injected) = recorded_while(&fail, &pages::job(), scratch.path());
    let injected = std::fs::read_to_string(injected).expect("what strace says");
    assert!(injected.contains("(INJECTED)"), "a scan was asked for: {injected}");
    pages::check(&dump);
}

/// How many looks there were that do not depend on the time they take: before a write-back there is one only while that
/// costs little.
fn told_for_certain(dump: &Dump) -> usize {
    let is_before_sync = |index: usize| {
        let tid = dump.0[index].tid;
        let mut behind =
            dump.0[index..].iter().filter(|seen| seen.tid == tid && seen.call != "pages-touched");
        behind.next().is_some_and(|seen| seen.call == "msync")
    };
    let told = dump.0.iter().enumerate().filter(|(_, seen)| seen.call == "pages-touched");
    told.filter(|(index, _)| !is_before_sync(*index)).count()
}

/// Where the page tables cannot be seen, the trace says so, and nothing else is missing.
#[test]
fn without_pagemap() {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let fail = ["-P", "/proc/self/pagemap", "-e", "trace=openat", "-e", "inject=openat:error=EACCES"];
    let (dump, _) = recorded_while(&fail, &pages::job(), scratch.path());
    let unobserved: Vec<_> = dump.calls("unobserved").map(|seen| seen.args["what"].to_string()).collect();
    assert_eq!(unobserved.len(), 1, "said once: {unobserved:?}");
    assert!(unobserved[0].contains("/proc/self/pagemap"), "{unobserved:?}");
    let seeing = tests::record(&pages::job());
    let seeing = Dump::of(&seeing.run_folder());
    for call in ["mmap", "munmap", "mremap", "msync", "madvise"] {
        assert_eq!(dump.calls(call).count(), seeing.calls(call).count(), "{call}");
    }
    assert_eq!(told_for_certain(&dump), told_for_certain(&seeing));
    for seen in dump.calls("pages-touched") {
        assert_eq!(seen.args["present"], -1, "{seen:?}");
        assert!([0, -1].map(serde_json::Value::from).contains(&seen.args["dirty"]), "{seen:?}");
    }
}
