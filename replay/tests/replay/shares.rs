//! Files that a process has open because the one that began it has.

use crate::common::*;
use std::os::unix::fs::MetadataExt;
use syn_plan::{Edge, Io, Op, Rule};

fn share(file: u32, handle: u32, flags: i32, offset: u64) -> Op {
    io(Io::Share { file, handle, flags, offset }, 0)
}

/// One process opens files, begins another, and ends; that one becomes another program. Of the files one has no name any more when they
/// begin: by name it could not be opened. Another one is not open then: by name it can be.
fn inherited() -> Draft {
    let mut draft = Draft::new();
    let (nameless, log) = (draft.absent("/nameless"), draft.absent("/log"));
    let (input, closed) = (draft.regular("/input", 100), draft.regular("/closed", 10));
    let [created, becomes, ended] =
        [Rule::ProcessCreate, Rule::ProcessCreate, Rule::ProcessJoin].map(|rule| {
            draft.0.edges.push(Edge::new(rule, 1));
            draft.0.edges.len() as u32 - 1
        });
    let appends = O_WRONLY | O_APPEND;
    let first = [
        open(nameless, 0, O_RDWR | O_CREAT | O_EXCL),
        open(log, 1, appends | O_CREAT | O_EXCL),
        open(input, 2, O_RDONLY),
        open(closed, 3, O_RDONLY),
        io(Io::Unlink { file: nameless }, 0),
        write(0, 10),
        read(2, 40),
        close(3),
        signal(created),
        wait(ended, 1),
        io(Io::Fstat { handle: 0 }, 0),
        io(Io::ReadAt { handle: 0, bytes: 100, offset: 0 }, 32),
        io(Io::Read { handle: 2, bytes: 100 }, 20),
    ];
    let forked = [
        wait(created, 1),
        share(nameless, 5, O_RDWR, 10),
        share(log, 4, appends, 0),
        share(nameless, 3, O_RDWR, 10),
        share(input, 2, O_RDONLY, 40),
        share(closed, 1, O_RDONLY, 4),
        write(5, 10),
        write(3, 2),
        write(4, 7),
        io(Io::Read { handle: 1, bytes: 100 }, 6),
        signal(becomes),
    ];
    let image = [
        wait(becomes, 1),
        share(log, 1, appends, 7),
        share(nameless, 0, O_RDWR, 22),
        share(nameless, 2, O_RDWR, 22),
        share(input, 3, O_RDONLY, 40),
        write(2, 10),
        write(1, 5),
        read(3, 40),
        io(Io::ReadAt { handle: 0, bytes: 100, offset: 0 }, 32),
        signal(ended),
    ];
    draft.program(0, None, &first);
    draft.program(1, None, &forked);
    draft.program(2, None, &image);
    draft.last().thread.pid = 1001;
    draft
}

#[test]
fn who_begins_a_process_passes_its_open_files_on() {
    let replay = inherited().replay(&["--keep"]);
    assert_eq!(replay.code(), 0, "{}", replay.stderr());
    assert_eq!(replay.report()["divergences"]["total"], 0, "{}", replay.text());
    assert_eq!(replay.kept("/log").metadata().expect("the log").size(), 12);
    assert!(!replay.kept("/nameless").exists());
}

/// All are there from the start, and have open files of their own.
#[test]
fn where_nobody_begins_a_process_its_files_are_opened_by_name() {
    let mut draft = inherited();
    draft.0.edges.iter_mut().for_each(|edge| edge.rule = Rule::Message);
    for program in &mut draft.0.programs {
        program.steps = program.steps.without(|op| match op {
            Op::Io { call: Io::Unlink { .. }, .. } => true,
            // Where the other one has left it only what both share is.
            Op::Io { call: Io::Read { .. }, result } => *result == 20,
            _ => false,
        });
    }
    let replay = draft.replay(&["--keep"]);
    assert_eq!(replay.report()["divergences"]["total"], 0, "{}", replay.text());
    assert_eq!(replay.kept("/nameless").metadata().expect("a file").size(), 32);
}
