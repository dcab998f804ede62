//! Calls about permissions, owners, times, extended attributes, nodes and the page cache.

use crate::common::*;
use serde_json::Value;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use syn_plan::{Attribute, Edge, Initial, Io, Op, Rule};

/// One program that uses each of them, with failures that must come out too.
fn everything() -> Draft {
    let mut draft = Draft::new();
    let there = draft.regular("/data/there", 100_000);
    let other = draft.regular("/data/other", 0);
    let folder = draft.absent("/data/folder");
    let inside = draft.absent("/data/folder/inside");
    let renamed = draft.absent("/data/renamed");
    let soft = draft.absent("/data/soft");
    let listed = draft.file("/data", Initial::Directory);
    draft.0.names = vec!["user.mark".into(), "user.there".into()];
    draft.0.attributes.push(Attribute { file: listed, name: 1, bytes: 40 });
    let ops = [
        io(Io::Access { file: other, mode: 1 }, 0),
        open(there, 5, O_RDWR),
        io(Io::Advise { handle: 5, offset: 0, bytes: 0, advice: 4 }, 0),
        io(Io::Advise { handle: 5, offset: 0, bytes: 0, advice: 99 }, -22),
        io(Io::Readahead { handle: 5, offset: 0, bytes: 50 }, 0),
        io(Io::Fchmod { handle: 5, mode: 0o640 }, 0),
        io(Io::Fchown { handle: 5 }, 0),
        io(Io::Futimens { handle: 5 }, 0),
        io(Io::FsetXattr { handle: 5, name: 0, bytes: 30, flags: 1 }, 0),
        io(Io::FsetXattr { handle: 5, name: 0, bytes: 30, flags: 1 }, -17),
        io(Io::FgetXattr { handle: 5, name: 0, bytes: 0 }, 0),
        io(Io::FgetXattr { handle: 5, name: 0, bytes: 10 }, -34),
        io(Io::FlistXattr { handle: 5, bytes: 100 }, 0),
        io(Io::FremoveXattr { handle: 5, name: 0 }, 0),
        io(Io::FgetXattr { handle: 5, name: 0, bytes: 100 }, -61),
        io(Io::Fstatfs { handle: 5 }, 0),
        close(5),
        io(Io::Chmod { file: there, mode: 0o600, follow: true }, 0),
        io(Io::Chmod { file: other, mode: 0o444, follow: true }, 0),
        io(Io::Chown { file: there, follow: true }, 0),
        io(Io::Symlink { target: renamed, link: soft }, 0),
        io(Io::Chown { file: soft, follow: false }, 0),
        io(Io::Chown { file: soft, follow: true }, -2),
        io(Io::Utimens { file: there, follow: true }, 0),
        io(Io::Utimens { file: soft, follow: false }, 0),
        io(Io::GetXattr { file: listed, follow: true, name: 1, bytes: 100 }, 0),
        io(Io::SetXattr { file: there, follow: true, name: 1, bytes: 9, flags: 0 }, 0),
        io(Io::ListXattr { file: there, follow: true, bytes: 0 }, 0),
        io(Io::RemoveXattr { file: there, follow: true, name: 1 }, 0),
        io(Io::RemoveXattr { file: there, follow: true, name: 1 }, -61),
        io(Io::Mknod { file: inside, mode: 0o100_644 }, -2),
        io(Io::Mknod { file: folder, mode: 0o100_644 }, 0),
        io(Io::RenameWith { from: folder, to: there, flags: 1 }, -17),
        io(Io::RenameWith { from: folder, to: there, flags: 2 }, 0),
        io(Io::RenameWith { from: there, to: folder, flags: 2 }, 0),
        io(Io::Mknod { file: inside, mode: 0o010_600 }, -20),
        io(Io::Unlink { file: folder }, 0),
        io(Io::Mknod { file: folder, mode: 0o010_600 }, 0),
        // Nobody reads from the FIFO: a replay does not wait for one.
        io(Io::Open { file: folder, handle: 6, flags: O_WRONLY, mode: 0 }, -6),
        io(Io::Mknod { file: folder, mode: 0o140_600 }, -17),
        io(Io::Statfs { file: listed }, 0),
        io(Io::Inherit { file: there, handle: 7, flags: O_RDWR, offset: 60_000 }, 0),
        read(7, 1000),
        close(7),
    ];
    draft.program(0, None, &ops);
    draft
}

#[test]
fn every_operation_comes_out_as_recorded() {
    let draft = everything();
    let replay = draft.replay(&["--keep"]);
    assert_eq!(replay.code(), 0, "{}", String::from_utf8_lossy(&replay.output.stdout));
    let report = replay.report();
    assert_eq!(report["divergences"]["total"], 0);
    // A file that a process found open is no call of it.
    assert_eq!((&report["calls"]["inherited"], &report["calls"]["lseek"]), (&Value::Null, &Value::Null));
    assert_eq!(report["calls"]["mknod"]["count"], 5);
    let mode = |path: &str| replay.kept(path).metadata().expect("there").permissions().mode() & 0o7777;
    assert_eq!((mode("/data/there"), mode("/data/other")), (0o600, 0o444));
    assert!(replay.kept("/data/folder").metadata().expect("there").file_type().is_fifo());
}

#[test]
fn a_folder_without_rights_is_removed_all_the_same() {
    let mut draft = Draft::new();
    let (folder, file) = (draft.absent("/d"), draft.absent("/d/f"));
    let ops = [
        io(Io::Mkdir { file: folder, mode: 0o777 }, 0),
        io(Io::Mknod { file, mode: 0o100_644 }, 0),
        io(Io::Chmod { file: folder, mode: 0, follow: true }, 0),
    ];
    draft.program(0, None, &ops);
    draft.replay(&[]).went_well();
}

/// A created process has open files of its own: names of descriptors are looked up among these.
#[test]
fn a_created_process_finds_what_it_names() {
    let mut draft = Draft::new();
    let folder = draft.file("/a/b", Initial::Directory);
    let (file, renamed, soft) =
        (draft.regular("/a/b/c", 10), draft.absent("/elsewhere"), draft.absent("/soft"));
    draft.0.names = vec!["user.mark".into()];
    let created = draft.edge(1);
    draft.0.edges[created as usize] = Edge::new(Rule::ProcessCreate, 1);
    draft.program(0, None, &[signal(created)]);
    let ops = [
        wait(created, 1),
        io(Io::SetXattr { file, follow: true, name: 0, bytes: 9, flags: 0 }, 0),
        io(Io::GetXattr { file, follow: true, name: 0, bytes: 100 }, 0),
        io(Io::ListXattr { file: folder, follow: true, bytes: 0 }, 0),
        io(Io::Symlink { target: renamed, link: soft }, 0),
        io(Io::Chmod { file, mode: 0o600, follow: true }, 0),
        io(Io::Utimens { file, follow: true }, 0),
    ];
    draft.program(1, None, &ops);
    let replay = draft.replay(&["--keep"]);
    assert_eq!(replay.code(), 0, "{}", replay.text());
    let mode = replay.kept("/a/b/c").metadata().expect("there").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
}

#[test]
fn a_link_that_leads_out_is_not_followed() {
    let outside = tempfile::tempdir().expect("a temporary folder");
    let victim = outside.path().join("victim");
    std::fs::write(&victim, b"x").expect("written");
    let before = victim.metadata().expect("there").permissions().mode();
    let mut draft = Draft::new();
    // Made deep down, a link climbs as far as from there; moved up, it leads out of the root.
    let (deep, deeper) = (draft.file("/a", Initial::Directory), draft.file("/a/b/c/d", Initial::Directory));
    let target = draft.absent(victim.to_str().expect("a path"));
    let (link, moved) = (draft.absent("/a/b/c/d/link"), draft.absent("/link"));
    let ops = [
        io(Io::Stat { file: deep, follow: true }, 0),
        io(Io::Stat { file: deeper, follow: true }, 0),
        io(Io::Symlink { target, link }, 0),
        io(Io::Rename { from: link, to: moved }, 0),
        io(Io::Chmod { file: moved, mode: 0o777, follow: true }, -18),
        io(Io::Utimens { file: moved, follow: true }, -18),
    ];
    draft.program(0, None, &ops);
    draft.replay(&[]).went_well();
    assert_eq!(victim.metadata().expect("there").permissions().mode(), before);
}

/// Two processes look into folders; one of them moves, replaces and closes them, and both find what is there then.
#[test]
fn a_folder_that_moved_is_found_where_it_is() {
    let mut draft = Draft::new();
    let (old, new) = (draft.file("/a/old", Initial::Directory), draft.absent("/a/new"));
    let (before, inside) = (draft.regular("/a/old/file", 1), draft.regular("/a/old/deep/file", 1));
    let (after, after_inside) = (draft.absent("/a/new/file"), draft.absent("/a/new/deep/file"));
    let empty = draft.file("/b", Initial::Directory);
    let (in_empty, top) = (draft.absent("/b/file"), draft.regular("/top", 1));
    let edges: Vec<u32> = (0..6).map(|_| draft.edge(1)).collect();
    let stat = |file, result| io(Io::Stat { file, follow: true }, result);
    let first = [stat(before, 0), stat(inside, 0), stat(after, -2), stat(in_empty, -2), stat(top, 0)];
    let moved = [stat(before, -2), stat(inside, -2), stat(after, 0), stat(after_inside, 0), stat(top, 0)];
    let swapped = [stat(before, -2), stat(in_empty, 0), stat(after, -2), stat(after_inside, -2)];
    let removed = [stat(before, -2), stat(in_empty, 0), io(Io::Mknod { file: before, mode: 0o100_644 }, -2)];
    let turn = |number: usize| [signal(edges[2 * number]), wait(edges[2 * number + 1], 1)];
    let looks = [&first[..], &turn(0), &moved, &turn(1), &swapped, &turn(2), &removed].concat();
    draft.program(0, None, &looks);
    let answer = |number: usize, seen: &[Op], changes: &[Op]| {
        let (asked, done) = (wait(edges[2 * number], 1), signal(edges[2 * number + 1]));
        [seen, &[asked], changes, &[done]].concat()
    };
    let changes = [
        answer(0, &first, &[io(Io::Rename { from: old, to: new }, 0)]),
        answer(1, &moved, &[io(Io::RenameWith { from: new, to: empty, flags: 2 }, 0)]),
        answer(
            2,
            &swapped,
            &[io(Io::Rename { from: new, to: old }, 0), stat(before, -2), io(Io::Rmdir { file: old }, 0)],
        ),
        removed.to_vec(),
    ];
    draft.program(1, None, &changes.concat());
    draft.replay(&[]).went_well();
}

/// More folders than are kept open, with few descriptors allowed, and more open files than that leaves room for.
#[test]
fn folders_that_are_kept_open_leave_room_for_files() {
    let mut draft = Draft::new();
    let files: Vec<u32> = (0..100).map(|number| draft.regular(&format!("/d{number}/f"), 1)).collect();
    let stats = files.iter().map(|&file| io(Io::Stat { file, follow: true }, 0));
    let opens = (0..).zip(&files).map(|(handle, &file)| open(file, handle, O_RDWR));
    let ops: Vec<Op> = stats.clone().chain(opens).chain(stats).collect();
    draft.program(0, None, &ops);
    let storage = tempfile::tempdir().expect("a temporary folder");
    let plan = storage.path().join("app.syn");
    draft.0.save(&plan).expect("the plan is written");
    let replay = replay(storage.path(), &plan);
    let limited = "ulimit -n 125; exec \"$0\" \"$@\"";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", limited]).arg(replay.get_program()).args(replay.get_args());
    let output = shell.env_remove("OMPI_COMM_WORLD_SIZE").env_remove("PMI_SIZE").output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}
