//! Hostile surroundings: other libraries in the process, other roots and users, limits, prisons, disks that are full.
//!
//! Whatever is around it, a program does the same under the shim as without it; and its trace holds what it did, or says
//! what is missing.

mod descriptors;
mod disks;
mod environment;
mod libraries;
mod loaded;
mod places;
mod preloads;
mod time;

use serde_json::Value;
use std::path::Path;
use syn_trace::{Call, Run};
use tests::{Job, Recorded, program, record, syn};

/// What the program `surroundings` does in most of its parts.
const MANY: u64 = 300_000;

/// Runs one part of the program `surroundings` without and with the shim.
#[track_caller]
fn part(part: &str) -> Recorded {
    let recorded = record(&Job::new(program("surroundings")).arg(part));
    assert!(recorded.plain.status.success(), "{part}: {}", recorded.plain.stderr);
    recorded
}

/// How many calls of this kind moved one byte.
fn single_bytes(run: &Run, call: Call) -> u64 {
    let events = run.threads.iter().flat_map(|thread| thread.events());
    events.filter(|event| event.call == call && event.result == 1).count() as u64
}

/// Every write is on record, and they were more than a trace holds before it grows.
#[track_caller]
fn holds_many(run: &Run) {
    assert_eq!(single_bytes(run, Call::Pwrite), MANY);
    assert_eq!((run.dropped(), run.unobserved()), (0, vec![]));
    let bytes = run.path.read_dir().expect("a run folder").flatten();
    let largest = bytes.filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).max();
    assert!(largest > Some(1 << 20), "the trace never had to grow: {largest:?} bytes");
}

/// What is not on record is counted.
#[track_caller]
fn counts_many(run: &Run) {
    let (written, dropped) = (single_bytes(run, Call::Pwrite), run.dropped());
    assert!(written > 1000, "{written} writes on record");
    assert!(written + dropped >= MANY, "{written} writes on record, {dropped} missing");
}

/// What `syn info --json` says, with whichever exit code.
#[track_caller]
fn info(run: &Path) -> Value {
    let said = syn().args(["info", "--json"]).arg(run).run_in(Path::new("/"));
    serde_json::from_str(&said.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", said.stdout, said.stderr))
}

/// How many processes `syn info` says were not entered.
#[track_caller]
fn not_entered(run: &Path) -> usize {
    info(run)["not_entered"].as_array().expect("a list").len()
}
