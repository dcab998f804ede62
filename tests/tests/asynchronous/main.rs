//! Asynchronous I/O: with the shim the program does what it does without it, and the trace holds each operation with its
//! file, place, bytes and result, whichever interface it went through.

mod engines;
mod kernel;
mod posix;
mod replayed;
mod rings;

use serde_json::Value;
use tests::{Dump, Job, Recorded, Seen, program, record};

/// Bytes of each transfer of the program.
const BLOCK: i64 = 512;

/// Runs these parts of the program `aio_surface` without and with the shim; it verifies its own results.
#[track_caller]
fn parts(names: &[&str]) -> (Recorded, Dump) {
    let recorded = record(&Job::new(program("aio_surface")).args(names));
    assert!(recorded.plain.status.success(), "{names:?}: {}", recorded.plain.stderr);
    let dump = Dump::of(&recorded.run_folder());
    (recorded, dump)
}

/// The calls of this name that are about a file of this name.
fn about<'a>(dump: &'a Dump, call: &'a str, file: &'a str) -> impl Iterator<Item = &'a Seen> {
    dump.calls(call).filter(move |seen| seen.is_about(file))
}

/// An argument that is a number.
#[track_caller]
fn number(seen: &Seen, name: &str) -> i64 {
    seen.args.get(name).and_then(Value::as_i64).unwrap_or_else(|| panic!("no {name}: {seen:?}"))
}

/// An argument that is a list of numbers.
#[track_caller]
fn list(seen: &Seen, name: &str) -> Vec<i64> {
    let list = seen.args.get(name).and_then(Value::as_array).unwrap_or_else(|| panic!("no {name}: {seen:?}"));
    list.iter().map(|number| number.as_i64().expect("a number")).collect()
}

/// The value of an argument in each of these calls.
fn numbers<'a>(seen: impl Iterator<Item = &'a Seen>, name: &str) -> Vec<i64> {
    seen.map(|seen| number(seen, name)).collect()
}

/// The results of all calls of this name, in order of return.
fn results(dump: &Dump, call: &str) -> Vec<i64> {
    dump.calls(call).map(|seen| seen.result).collect()
}

/// The errno of all calls of this name that failed, in order of return.
fn failures(dump: &Dump, call: &str) -> Vec<i32> {
    dump.calls(call).filter_map(|seen| seen.errno).collect()
}

/// What the run says it could not see.
fn unobserved(dump: &Dump) -> Vec<String> {
    let texts = dump.calls("unobserved").map(|seen| seen.args["what"].as_str().expect("a text").to_owned());
    texts.collect()
}
