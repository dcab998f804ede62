//! Every operation does what its name says, beneath the root, in every mode that does I/O.

use crate::common::*;
use std::os::unix::fs::MetadataExt;
use syn_plan::{AT_POSITION, Initial, Io, Op};

/// One program that uses every operation.
fn everything() -> Draft {
    let mut draft = Draft::new();
    let made = draft.absent("/data/made");
    let there = draft.regular("/data/there", 100_000);
    let folder = draft.absent("/data/folder");
    let inside = draft.absent("/data/folder/inside");
    let renamed = draft.absent("/data/folder/renamed");
    let hard = draft.absent("/data/hard");
    let soft = draft.absent("/data/soft");
    let copied = draft.absent("/data/copied");
    let listed = draft.file("/data", Initial::Directory);
    let ops = [
        open(made, 0, O_RDWR | O_CREAT | O_EXCL),
        io(Io::Open { file: made, handle: 9, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o644 }, -17),
        write(0, 5000),
        io(Io::Seek { handle: 0, offset: 1000 }, 1000),
        io(Io::Locate { handle: 0, distance: -500, whence: 2 }, 0),
        read(0, 4000),
        io(Io::Locate { handle: 0, distance: -5001, whence: 2 }, -22),
        io(Io::Locate { handle: 0, distance: 5000, whence: 3 }, -6),
        io(Io::Locate { handle: 0, distance: 0, whence: 4 }, 0),
        io(Io::Read { handle: 0, bytes: 4000 }, 0),
        io(Io::WriteAt { handle: 0, bytes: 3000, offset: 20_000 }, 3000),
        io(Io::ReadAt { handle: 0, bytes: 100_000, offset: 0 }, 23_000),
        io(Io::Dup { handle: 0, new: 1 }, 0),
        close(0),
        io(Io::Close { handle: 0 }, -9),
        io(Io::Write { handle: 0, bytes: 1 }, -9),
        write(1, 10),
        io(Io::Fsync { handle: 1 }, 0),
        io(Io::Fdatasync { handle: 1 }, 0),
        io(Io::SyncRange { handle: 1, offset: 0, bytes: 4096, flags: 2 }, 0),
        io(Io::SyncFs, 0),
        io(Io::Ftruncate { handle: 1, bytes: 7000 }, 0),
        io(Io::Allocate { handle: 1, mode: 0, offset: 0, bytes: 9000 }, 0),
        io(Io::PosixFallocate { handle: 1, offset: 1000, bytes: 8000 }, 0),
        io(Io::PosixFallocate { handle: 1, offset: 0, bytes: 0 }, -22),
        io(Io::Fstat { handle: 1 }, 0),
        io(Io::Populate { handle: 1, offset: 100, bytes: 1 << 40, write: true }, 0),
        io(Io::Send { handle: 1, bytes: 100, offset: 0 }, 100),
        io(Io::Send { handle: 1, bytes: 100, offset: 9000 }, 0),
        io(Io::Seek { handle: 1, offset: 8990 }, 8990),
        io(Io::Send { handle: 1, bytes: 100, offset: AT_POSITION }, 10),
        open(copied, 5, O_RDWR | O_CREAT),
        io(Io::SendTo { from: 1, to: 5, bytes: 3000, offset: 0 }, 3000),
        io(Io::CopyRange { from: 1, to: 5, bytes: 2000, offset: 10, to_offset: AT_POSITION }, 2000),
        io(Io::ReadAt { handle: 5, bytes: 9000, offset: 0 }, 5000),
        io(Io::CopyRange { from: 5, to: 1, bytes: 5000, offset: 0, to_offset: 4000 }, 5000),
        close(5),
        // Neither call appends.
        open(copied, 6, O_WRONLY | O_APPEND),
        io(Io::SendTo { from: 1, to: 6, bytes: 60, offset: 0 }, 60),
        io(Io::CopyRange { from: 1, to: 6, bytes: 70, offset: 0, to_offset: AT_POSITION }, 70),
        io(Io::Seek { handle: 6, offset: 5130 }, 5130),
        close(6),
        close(1),
        open(there, 2, 0),
        io(Io::Populate { handle: 2, offset: 0, bytes: 8192, write: false }, 0),
        io(Io::Populate { handle: 2, offset: 0, bytes: 8192, write: true }, -13),
        io(Io::PopulateAtRandom { handle: 2, offset: 8192, bytes: 1 << 40 }, 0),
        read(2, 100_000),
        io(Io::Write { handle: 2, bytes: 1 }, -9),
        close(2),
        io(Io::Truncate { file: there, bytes: 50 }, 0),
        io(Io::Stat { file: there, follow: true }, 0),
        io(Io::Stat { file: hard, follow: false }, -2),
        io(Io::Access { file: there, mode: 4 }, 0),
        io(Io::Access { file: hard, mode: 0 }, -2),
        io(Io::Mkdir { file: folder, mode: 0o755 }, 0),
        io(Io::Mkdir { file: folder, mode: 0o755 }, -17),
        open(inside, 3, O_WRONLY | O_CREAT),
        close(3),
        io(Io::Rename { from: inside, to: renamed }, 0),
        io(Io::Rmdir { file: folder }, -39),
        io(Io::Link { from: there, to: hard }, 0),
        io(Io::Symlink { target: renamed, link: soft }, 0),
        io(Io::Readlink { file: soft }, 0),
        io(Io::Stat { file: soft, follow: true }, 0),
        io(Io::Unlink { file: renamed }, 0),
        io(Io::Stat { file: soft, follow: true }, -2),
        io(Io::Stat { file: soft, follow: false }, 0),
        open(listed, 4, 0o200000),
        io(Io::ReadDir { handle: 4, entries: 100 }, 0),
        close(4),
        io(Io::Rmdir { file: folder }, 0),
    ];
    draft.program(0, None, &ops);
    draft
}

#[test]
fn every_operation_comes_out_as_recorded_in_every_mode() {
    let draft = everything();
    for mode in ["closed", "afap", "think", "timed"] {
        let replay = draft.replay(&["--mode", mode]);
        let report = replay.went_well();
        assert_eq!(report["mode"], mode);
        assert_eq!(report["divergences"]["total"], 0);
        assert_eq!(report["calls"].as_object().expect("calls").len(), 33, "{}", report["calls"]);
        assert_eq!(report["calls"]["write"]["bytes"], 5010);
        assert_eq!(report["calls"]["pread"]["bytes"], 28_000);
        assert_eq!(report["calls"]["sendfile"]["bytes"], 110);
        assert_eq!(report["calls"]["sendfile to file"]["bytes"], 3060);
        assert_eq!(report["calls"]["copy_file_range"]["bytes"], 7070);
        assert_eq!(report["calls"]["open"]["count"], 7);
        assert_eq!(report["lateness_us"].is_null(), mode != "timed");
    }
}

#[test]
fn what_is_kept_is_what_was_done() {
    let replay = everything().replay(&["--keep"]);
    assert_eq!(replay.code(), 0, "{}", replay.stderr());
    assert_eq!(replay.kept("/data/made").metadata().expect("made").len(), 9000);
    assert_eq!(replay.kept("/data/copied").metadata().expect("copied").len(), 5130);
    let there = replay.kept("/data/there").metadata().expect("there");
    assert_eq!((there.len(), there.nlink()), (50, 2));
    assert_eq!(
        std::fs::read_link(replay.kept("/data/soft")).expect("a link").to_str(),
        Some("folder/renamed")
    );
    assert!(!replay.kept("/data/folder").exists());
    assert!(std::fs::read(replay.kept("/data/hard")).expect("hard").iter().any(|&byte| byte != 0));
}

#[test]
fn a_transfer_larger_than_the_buffer_moves_every_byte() {
    let bytes = (40 << 20) + 123;
    let mut draft = Draft::new();
    let file = draft.absent("/large");
    draft.program(
        0,
        None,
        &[
            open(file, 0, O_RDWR | O_CREAT),
            write(0, bytes),
            io(Io::ReadAt { handle: 0, bytes: bytes + 1, offset: 0 }, bytes as i64),
        ],
    );
    let replay = draft.replay(&["--keep"]);
    assert_eq!(replay.code(), 0, "{}", replay.stderr());
    assert_eq!(replay.kept("/large").metadata().expect("large").len(), bytes);
}

#[test]
fn repeats_are_followed() {
    let mut draft = Draft::new();
    let file = draft.absent("/log");
    draft.program(
        0,
        None,
        &[
            open(file, 0, O_WRONLY | O_CREAT),
            Op::Repeat { count: 1000, steps: 2 },
            Op::Compute { cpu_ns: 1000, idle_ns: 0 },
            write(0, 17),
            close(0),
        ],
    );
    let replay = draft.replay(&["--keep"]);
    assert_eq!(replay.code(), 0, "{}", replay.stderr());
    assert_eq!(replay.report()["calls"]["write"]["count"], 1000);
    assert_eq!(replay.kept("/log").metadata().expect("log").len(), 17_000);
}

#[test]
fn prepared_files_are_not_sparse_and_cold_ones_are_read() {
    let mut draft = Draft::new();
    let file = draft.regular("/input", 5 << 20);
    draft.program(0, None, &[open(file, 0, 0), read(0, 5 << 20)]);
    let replay = draft.replay(&["--keep", "--cold", "--repeat", "2"]);
    assert_eq!(replay.code(), 0, "{}", replay.stderr());
    let input = replay.kept("/input").metadata().expect("input");
    assert_eq!(input.len(), 5 << 20);
    assert!(input.blocks() * 512 >= 5 << 20);
    assert_eq!(replay.report()["replayed_s"].as_array().map(Vec::len), Some(2));
}

/// A child has the descriptors that a fork leaves it; opening them is the replay's own doing.
#[test]
fn what_stands_for_inherited_descriptors_takes_no_time_of_the_program() {
    // Less than opening a file takes.
    const WORK_NS: u64 = 1_000;
    let work_s = |inherited: bool| {
        let mut draft = Draft::new();
        let file = draft.regular("/file", 1);
        let found = match inherited {
            true => io(Io::Inherit { file, handle: 0, flags: 0, offset: 0 }, 0),
            false => open(file, 0, 0),
        };
        let work = Op::Compute { cpu_ns: WORK_NS, idle_ns: 0 };
        draft.program(0, None, &[Op::Repeat { count: 20_000, steps: 3 }, found, work, close(0)]);
        draft.replay(&[]).went_well()["balance"]["replayed"]["work_s"].as_f64().expect("seconds")
    };
    let (opened_s, inherited_s) = (work_s(false), work_s(true));
    assert!(inherited_s < opened_s * 0.7, "{inherited_s} s of work beside {opened_s} s");
}
