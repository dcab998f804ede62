//! Steps as text.

use crate::sample::{CALLS, OPS, sample};
use std::collections::HashSet;
use syn_plan::{Io, Op, Step};

#[test]
fn lines_name_the_call_and_what_it_is_about() {
    let step = Step { start_ns: 10, took_ns: 5, op: Op::Io { call: CALLS[5], result: -5 } };
    assert_eq!(step.to_string(), "10 +5 pread h0 bytes=300 offset=18446744073709551615 = -5");
    assert_eq!(CALLS[0].to_string(), "open f0 h0 flags=0o1102 mode=0o644");
    assert_eq!(Io::Rename { from: 1, to: 2 }.to_string(), "rename f1 f2");
    assert_eq!(OPS[0].to_string(), "compute cpu_ns=1000000 idle_ns=500");
    assert_eq!(OPS[3].to_string(), "wait e0 count=1");
    assert_eq!(sample().files[1].initial.to_string(), "regular bytes=8589934592");
}

#[test]
fn every_call_has_a_name_of_its_own() {
    let names: HashSet<&str> = CALLS.iter().map(Io::name).collect();
    assert_eq!(names.len(), CALLS.len());
    for call in CALLS {
        assert!(call.to_string().starts_with(call.name()));
    }
}
