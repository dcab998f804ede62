//! `syn pack`: smaller files, the same events.

mod support;

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};
use support::{Folder, json_on, on};

/// A run of another machine that was written an hour ago: in one of its traces there is no end.
fn whole_run() -> Folder {
    let folder = support::whole_run();
    for (name, _) in files(folder.path()) {
        age(&folder.path().join(name));
    }
    folder
}

fn age(path: &Path) {
    let hour = Duration::from_secs(3600);
    File::options().append(true).open(path).unwrap().set_modified(SystemTime::now() - hour).unwrap();
}

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

/// What is in a run folder, by name.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn packing_that_was_interrupted_is_finished() {
    let folder = whole_run();
    let dump = json_on("dump", folder.path()).code(0).out;
    let before = files(folder.path());
    support::run(["pack", "--exact", folder.path().to_str().unwrap()]).code(0);
    let packed = files(folder.path());
    assert_eq!(packed.len(), 1);
    assert_eq!(packed[0].0, before[0].0.replace(".trace", ".pack"));
    // The power went off before the last two traces were taken away, and while another file was written.
    for (name, bytes) in &before[1..] {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    std::fs::write(folder.path().join("1-1-1.packing"), b"SYNPA").unwrap();
    assert_eq!(json_on("dump", folder.path()).code(0).out, dump);
    let said = support::run(["pack", folder.path().to_str().unwrap()]).code(0).out;
    assert!(said.starts_with("packed 0 traces"), "{said}");
    assert_eq!(files(folder.path())[1], packed[0]);
    assert_eq!(json_on("dump", folder.path()).code(0).out, dump);
}

#[test]
fn what_comes_later_is_packed_beside_the_rest() {
    let folder = whole_run();
    let late = files(folder.path()).remove(0);
    std::fs::remove_file(folder.path().join(&late.0)).unwrap();
    support::run(["pack", folder.path().to_str().unwrap()]).code(0);
    std::fs::write(folder.path().join(&late.0), &late.1).unwrap();
    age(&folder.path().join(&late.0));
    let said = support::run(["pack", folder.path().to_str().unwrap()]).code(0).out;
    assert!(said.starts_with("packed 1 traces"), "{said}");
    assert_eq!(files(folder.path()).len(), 2);
    let info = json_on("info", folder.path()).code(0).json().remove(0);
    assert_eq!(info["threads"], 3);
}

#[test]
fn packed_files_that_cannot_be_read_are_told() {
    let folder = whole_run();
    support::run(["pack", folder.path().to_str().unwrap()]).code(0);
    let (name, packed) = files(folder.path()).remove(0);
    let path = folder.path().join(&name);
    for (at, value, expected) in
        [(8, 1, "older than 3"), (8, 4, "newer than 3"), (70, packed[70] ^ 1, "damaged")]
    {
        let mut bytes = packed.clone();
        bytes[at] = value;
        std::fs::write(&path, bytes).unwrap();
        on("info", folder.path()).code(1).err_has(&[name.as_str(), expected]);
    }
    std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    on("check", folder.path()).code(1).err_has(&[name.as_str(), "cut off"]);
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

#[test]
fn what_may_still_be_recorded_elsewhere_is_left_alone() {
    let folder = support::whole_run();
    let said = support::run(["pack", folder.path().to_str().unwrap()]).code(3);
    assert!(said.out.starts_with("packed 2 traces"), "{}", said.out);
    let said =
        said.err_has(&["process 100 on ", "may still record into it", "--force packs it", "left as it is"]);
    assert_eq!(said.err.lines().filter(|line| line.contains("may still")).count(), 1, "{}", said.err);
    let said = support::run(["pack", "--force", folder.path().to_str().unwrap()]).code(0);
    assert!(said.out.starts_with("packed 1 traces"), "{}", said.out);
    assert_eq!(json_on("info", folder.path()).code(0).json().remove(0)["threads"], 3);
}
