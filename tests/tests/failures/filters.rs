//! Filters of seccomp(2): the recorder asks what they let it ask, and says so where they do not.

use crate::{complete, part};
use tests::Dump;

fn bound_to(dump: &Dump) -> Vec<&str> {
    dump.calls("bind").map(|seen| seen.args["addr"].as_str().expect("an address")).collect()
}

#[test]
fn behind_a_filter_that_lets_everything_pass() {
    let dump = complete("failures", "filter");
    let open = dump.calls("open").filter(|seen| seen.is_about("file")).find(|seen| seen.args["flags"] == 0);
    assert_eq!(open.expect("the child's").args["st_size"], 4);
    assert_eq!(bound_to(&dump), ["unix:socket"]);
}

#[test]
fn behind_one_that_ends_who_asks() {
    let (recorded, dump) = part("failures", "filter-questions");
    assert_eq!(recorded.run.dropped(), 0);
    let unobserved = recorded.run.unobserved();
    assert!(unobserved.len() == 1 && unobserved[0].1.contains("nobody can ask"), "{unobserved:?}");
    assert_eq!(bound_to(&dump), ["unix:socket"], "the given name");
}
