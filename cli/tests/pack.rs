//! `syn pack`: smaller files, the same events.

mod support;

use support::{json_on, on, whole_run};

#[test]
fn packed_runs_are_read_as_before() {
    let folder = whole_run();
    let (info, dump) =
        (json_on("info", folder.path()).code(0).json().remove(0), json_on("dump", folder.path()).code(0).out);
    let said = support::run(["pack", "--exact", folder.path().to_str().unwrap()]).code(0).out;
    assert!(said.starts_with("packed 3 traces of 32 events"), "{said}");
    assert_eq!(json_on("dump", folder.path()).code(0).out, dump);
    let packed = json_on("info", folder.path()).code(0).json().remove(0);
    assert_eq!((&packed["events"], &packed["calls"]), (&info["events"], &info["calls"]));
    // What is packed already stays as it is.
    let said = support::run(["pack", folder.path().to_str().unwrap()]).code(0).out;
    assert!(said.starts_with("packed 0 traces"), "{said}");
    assert!(on("check", folder.path()).code(0).out.contains("whole"));
}

#[test]
fn damaged_traces_are_left_alone() {
    let folder = whole_run();
    let victim = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&victim).unwrap();
    bytes.truncate(bytes.iter().rposition(|&byte| byte != 0).unwrap() - 1);
    std::fs::write(&victim, &bytes).unwrap();
    let said = support::run(["pack", folder.path().to_str().unwrap()]).code(3);
    assert!(
        said.err.contains("cut off inside the record") && said.err.contains("left as it is"),
        "{}",
        said.err
    );
    assert_eq!(std::fs::read(&victim).unwrap(), bytes);
    let empty = tempfile::tempdir().unwrap();
    let said = support::run(["pack", empty.path().to_str().unwrap()]).code(1);
    assert!(said.err.contains("is not a run folder"), "{}", said.err);
}
