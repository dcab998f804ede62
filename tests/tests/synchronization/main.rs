//! Synchronization and signals: with the shim the programs do what they do without it, and the trace holds who waited
//! and who ended the wait, every signal sent, and every one that arrived.

mod ipc;
mod locks;
mod programs;
mod signals;

use std::collections::BTreeSet;
use tests::{Dump, Job, Recorded, Seen, program, record};

/// Runs one part of the program `sync_surface` without and with the shim; it verifies its own results.
#[track_caller]
fn part(name: &str) -> (Recorded, Dump) {
    let recorded = record(&Job::new(program("sync_surface")).arg(name));
    assert!(recorded.plain.status.success(), "{name}: {}", recorded.plain.stderr);
    let dump = Dump::of(&recorded.run_folder());
    (recorded, dump)
}

/// How many calls of this name there are, whatever their results.
fn count(dump: &Dump, call: &str) -> usize {
    dump.calls(call).count()
}

/// An argument that is a number.
#[track_caller]
fn number(seen: &Seen, name: &str) -> i64 {
    seen.args.get(name).and_then(serde_json::Value::as_i64).unwrap_or_else(|| panic!("no {name}: {seen:?}"))
}

/// The different values of an argument over all calls of this name.
fn values(dump: &Dump, call: &str, name: &str) -> BTreeSet<i64> {
    dump.calls(call).map(|seen| number(seen, name)).collect()
}

/// The results of all calls of this name, in order of return.
fn results(dump: &Dump, call: &str) -> Vec<i64> {
    dump.calls(call).map(|seen| seen.result).collect()
}

/// The `errno` of all calls of this name that failed, in order of return.
fn failures(dump: &Dump, call: &str) -> Vec<i32> {
    dump.calls(call).filter_map(|seen| seen.errno).collect()
}
