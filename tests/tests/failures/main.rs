//! What real programs do and tracers have failed at: each program passes by itself, does the same under the shim, and its
//! trace holds what it did. The numbers that are expected here stand in the comments of the programs' parts.

mod calls;
mod environments;
mod filters;
mod interruptions;
mod pointers;
mod processes;
mod signals;

use tests::{Dump, Job, Recorded, program, record};

/// Runs one part of a program without and with the shim, and dumps the trace.
#[track_caller]
fn part(name: &str, part: &str) -> (Recorded, Dump) {
    let recorded = record(&Job::new(program(name)).arg(part));
    assert!(recorded.plain.status.success(), "{part}: {}", recorded.plain.stderr);
    let dump = Dump::of(&recorded.run_folder());
    (recorded, dump)
}

/// The same for a part of which nothing may be missing.
#[track_caller]
fn complete(name: &str, what: &str) -> Dump {
    let (recorded, dump) = part(name, what);
    assert_eq!(recorded.run.dropped(), 0, "{what}");
    assert_eq!(recorded.run.unobserved(), [], "{what}");
    dump
}
