//! Pointers that lead nowhere: a program must fail as it does without the recorder.

use crate::{complete, part};

/// What could be read is on record, and no more.
#[test]
fn texts_that_the_kernel_has_not_read() {
    let dump = complete("failures", "texts-unread");
    for (call, name) in [("rename", "missing/one"), ("renameat", "missing/two"), ("link", "missing/one")] {
        let seen = dump.calls(call).find(|seen| seen.errno.is_some()).expect("a failed call");
        assert!(seen.path.as_ref().is_some_and(|path| path.ends_with(name)), "{call}: {seen:?}");
        assert_eq!(seen.second_path, None, "{call}");
    }
    assert_eq!(dump.calls("rename").count(), 2);
    assert_eq!(dump.calls("mknod").filter(|seen| seen.path.is_none() && seen.errno.is_some()).count(), 2);
}

/// No system call of the recorder's own may end the process.
#[test]
fn failures_in_a_prison() {
    let (recorded, dump) = part("failures", "prison");
    assert_eq!(recorded.run.dropped(), 0);
    let failed = |call, has_path| {
        dump.calls(call).filter(|seen| !seen.began && seen.path.is_some() == has_path).count()
    };
    // That there is no such file the kernel says of a path that it has read.
    assert_eq!((failed("access", true), failed("access", false), failed("execve", false)), (1, 1, 2));
}

#[test]
fn paths_are_on_record_as_they_were_handed_over() {
    let dump = complete("failures", "paths-written-over");
    let links = |call: &str| dump.calls(call).filter(|seen| seen.args["pathname"] == "link").count();
    assert_eq!((links("readlink"), links("readlinkat")), (2, 1));
}

#[test]
fn what_was_handed_over_may_be_gone_when_a_call_returns() {
    let dump = complete("failures", "parts-given-back");
    assert_eq!(dump.calls("writev").filter(|seen| seen.result == 300_000).count(), 50);
}

#[test]
fn times_are_on_record_as_they_were_asked_for() {
    let dump = complete("failures", "times-written-over");
    let times = |call: &str| -> Vec<i64> {
        dump.calls(call).filter_map(|seen| seen.args["timeout"].as_i64()).collect()
    };
    assert_eq!((times("poll"), times("select")), (vec![3_000_000], vec![4_000_000]));
}

#[test]
fn callers_are_found_from_calls_by_number() {
    complete("failures", "numbers-callers");
}
