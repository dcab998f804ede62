//! Environments that are not what a shell makes of them.

use crate::complete;

#[test]
fn a_torn_environment() {
    let dump = complete("failures", "torn-environment");
    assert_eq!(dump.calls("execve").filter(|seen| seen.errno == Some(14)).count(), 2);
}

/// What is missing in the child's environment is added to it while its path waits to be recorded.
#[test]
fn an_environment_after_vfork() {
    let dump = complete("failures", "vfork-environment");
    assert_eq!(dump.written("file"), (1, 6));
    let became = dump.calls("child-execve").next().expect("the child's exec call, as its parent tells it");
    assert!(became.is_about("failures"), "{became:?}");
}
