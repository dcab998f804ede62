//! What cannot be replayed is refused with a clear message, and nothing is touched.

use crate::common::*;
use std::path::Path;
use syn_plan::{Initial, Io, Op};

fn small() -> Draft {
    let mut draft = Draft::new();
    let file = draft.absent("/out");
    draft.program(0, None, &[open(file, 0, O_WRONLY | O_CREAT), write(0, 100), close(0)]);
    draft
}

fn refused(storage: &Path, words: &[&str]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plan = folder.path().join("app.syn");
    small().0.save(&plan).expect("the plan is written");
    let output = replay(storage, &plan).output().expect("syn-replay starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "{word:?} not in {stderr}");
    }
}

#[test]
fn a_missing_storage() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    refused(&folder.path().join("nowhere"), &["nowhere", "no such folder"]);
}

#[test]
fn where_nobody_reads_why_it_fails_all_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plan = folder.path().join("app.syn");
    small().0.save(&plan).expect("the plan is written");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = replay(&folder.path().join("nowhere"), &plan).stderr(writer).status();
    assert_eq!(status.expect("syn-replay starts").code(), Some(1), "it has not panicked");
}

#[test]
fn a_storage_that_is_a_file() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    refused(file.path(), &["is not a folder"]);
}

#[test]
fn a_storage_that_cannot_be_written() {
    refused(Path::new("/sys/kernel"), &["/sys/kernel", "cannot make a folder in it"]);
}

#[test]
fn a_storage_that_is_too_small_for_the_prepared_files() {
    let mut draft = Draft::new();
    draft.regular("/huge", 1 << 60);
    draft.replay(&[]).failed_saying(&["too small", &(1_u64 << 60).to_string(), "free"]);
}

#[test]
fn a_storage_that_is_too_small_for_what_is_written() {
    let mut draft = Draft::new();
    let file = draft.absent("/huge");
    draft.program(
        0,
        None,
        &[open(file, 0, O_WRONLY | O_CREAT), Op::Repeat { count: 1 << 20, steps: 1 }, write(0, 1 << 40)],
    );
    draft.replay(&[]).failed_saying(&["too small"]);
}

#[test]
fn a_plan_that_climbs_out() {
    let storage = tempfile::tempdir().expect("a temporary folder");
    let outside = storage.path().join("outside");
    let mut draft = Draft::new();
    let file = draft.absent(&format!("/../..{}", outside.display()));
    draft.program(0, None, &[open(file, 0, O_WRONLY | O_CREAT)]);
    draft.replay_on(storage, &[]).failed_saying(&["..", "nothing was touched"]);
    assert!(!outside.exists());
}

/// A link is relative when it is made; moved up, it points above the root, where a file of that name lies.
#[test]
fn a_link_that_climbs_out_is_not_followed() {
    let storage = tempfile::tempdir().expect("a temporary folder");
    let victim = storage.path().join("victim");
    std::fs::write(&victim, "untouched").expect("a file beside the replay's folder");
    let mut draft = Draft::new();
    let (target, deep, moved) = (draft.absent("/victim"), draft.absent("/a/link"), draft.absent("/link"));
    let ops = [
        io(Io::Symlink { target, link: deep }, 0),
        io(Io::Rename { from: deep, to: moved }, 0),
        io(Io::Open { file: moved, handle: 0, flags: O_WRONLY, mode: 0 }, 0),
        io(Io::Truncate { file: moved, bytes: 0 }, 0),
        io(Io::Stat { file: moved, follow: true }, 0),
        io(Io::Access { file: moved, mode: 0 }, 0),
        io(Io::Stat { file: moved, follow: false }, 0),
    ];
    draft.program(0, None, &ops);
    let replay = draft.replay_on(storage, &[]);
    assert_eq!(replay.code(), 3, "{}", replay.stderr());
    let examples = replay.report()["divergences"]["examples"].as_array().expect("examples");
    assert_eq!(examples.len(), 4);
    assert!(
        examples.iter().all(|example| example["found"] == -18),
        "EXDEV is openat2's answer: {examples:?}"
    );
    assert_eq!(std::fs::read_to_string(&victim).expect("the victim"), "untouched");
}

/// Folders reached through a link that leads out are not entered either.
#[test]
fn a_link_in_the_middle_of_a_path_is_not_followed_out() {
    let storage = tempfile::tempdir().expect("a temporary folder");
    let outside = storage.path().join("outside");
    std::fs::create_dir(&outside).expect("a folder beside the replay's");
    std::fs::write(outside.join("victim"), "untouched").expect("a file in it");
    let mut draft = Draft::new();
    let (target, deep, moved) = (draft.absent("/outside"), draft.absent("/a/link"), draft.absent("/link"));
    let (victim, fresh) = (draft.absent("/link/victim"), draft.absent("/link/fresh"));
    let ops = [
        io(Io::Symlink { target, link: deep }, 0),
        io(Io::Rename { from: deep, to: moved }, 0),
        io(Io::Unlink { file: victim }, -18),
        io(Io::Rename { from: victim, to: fresh }, -18),
        io(Io::Mkdir { file: fresh, mode: 0o755 }, -18),
        io(Io::Link { from: victim, to: fresh }, -18),
        io(Io::Open { file: fresh, handle: 0, flags: O_WRONLY | O_CREAT, mode: 0o644 }, -18),
    ];
    draft.program(0, None, &ops);
    let replay = draft.replay_on(storage, &[]);
    assert_eq!(replay.code(), 0, "{}{}", String::from_utf8_lossy(&replay.output.stdout), replay.stderr());
    let left: Vec<_> =
        std::fs::read_dir(&outside).expect("outside").map(|entry| entry.expect("one").file_name()).collect();
    assert_eq!(left, ["victim"]);
}

/// A folder that the replay has used gives way to a link that leads out; another process has used it too.
#[test]
fn a_link_in_place_of_a_folder_that_was_used_is_not_followed_out() {
    let storage = tempfile::tempdir().expect("a temporary folder");
    let outside = storage.path().join("outside");
    std::fs::create_dir(&outside).expect("a folder beside the replay's");
    std::fs::write(outside.join("victim"), "untouched").expect("a file in it");
    let mut draft = Draft::new();
    let (target, deep) = (draft.absent("/outside"), draft.absent("/a/link"));
    let (used, gone) = (draft.file("/used", Initial::Directory), draft.absent("/gone"));
    let (victim, fresh) = (draft.regular("/used/victim", 10), draft.absent("/used/fresh"));
    let (found, replaced) = (draft.edge(1), draft.edge(1));
    let uses = [
        io(Io::Stat { file: victim, follow: true }, 0),
        io(Io::Chmod { file: victim, mode: 0o600, follow: true }, 0),
        io(Io::Stat { file: fresh, follow: false }, -2),
    ];
    let stays_out = [
        io(Io::Stat { file: victim, follow: true }, -18),
        io(Io::Stat { file: victim, follow: false }, -18),
        io(Io::Chmod { file: victim, mode: 0o777, follow: true }, -18),
        io(Io::Utimens { file: victim, follow: false }, -18),
        io(Io::Access { file: victim, mode: 0 }, -18),
        io(Io::Rename { from: victim, to: fresh }, -18),
        io(Io::Mkdir { file: fresh, mode: 0o755 }, -18),
        io(Io::Unlink { file: victim }, -18),
    ];
    let replaces = [
        wait(found, 1),
        io(Io::Symlink { target, link: deep }, 0),
        io(Io::Rename { from: used, to: gone }, 0),
        io(Io::Rename { from: deep, to: used }, 0),
        signal(replaced),
    ];
    draft.program(0, None, &[&uses[..], &[signal(found), wait(replaced, 1)], &stays_out].concat());
    draft.program(1, None, &[&uses[..], &replaces, &stays_out].concat());
    let replay = draft.replay_on(storage, &[]);
    assert_eq!(replay.code(), 0, "{}{}", replay.text(), replay.stderr());
    assert_eq!(std::fs::read_to_string(outside.join("victim")).expect("the victim"), "untouched");
    assert_eq!(std::fs::read_dir(&outside).expect("outside").count(), 1);
}

#[test]
fn a_plan_that_would_wait_for_ever() {
    let mut draft = Draft::new();
    let (one, other) = (draft.edge(1), draft.edge(1));
    draft.program(0, Some(0), &[wait(one, 1), signal(other)]);
    draft.program(1, Some(1), &[wait(other, 1), signal(one)]);
    draft.replay(&[]).failed_saying(&["wait for ever", "program 0 at step 0"]);
}

#[test]
fn a_plan_that_contradicts_itself() {
    let mut draft = Draft::new();
    draft.regular("/a", 10);
    draft.file("/a/b", Initial::Directory);
    draft.replay(&[]).failed_saying(&["/a/b", "regular file at the start"]);
}

#[test]
fn a_file_that_is_no_plan() {
    let storage = tempfile::tempdir().expect("a temporary folder");
    let output = replay(storage.path(), Path::new("/etc/hostname")).output().expect("syn-replay starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a syn plan"));
}

#[test]
fn wrong_usage_ends_with_2() {
    let storage = tempfile::tempdir().expect("a temporary folder");
    for options in [["--repeat", "0"], ["--mode", "fast"], ["--cpu-scale", "-1"], ["--cpu-scale", "nan"]] {
        let output =
            replay(storage.path(), Path::new("app.syn")).args(options).output().expect("syn-replay starts");
        assert_eq!(output.status.code(), Some(2), "{options:?}");
    }
}

#[cfg(not(feature = "mpi"))]
#[test]
fn several_ranks_without_the_feature() {
    let storage = tempfile::tempdir().expect("a temporary folder");
    for launcher in ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"] {
        let output = replay(storage.path(), Path::new("app.syn"))
            .env(launcher, "4")
            .output()
            .expect("syn-replay starts");
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("--features mpi"));
    }
}
