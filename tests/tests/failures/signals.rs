//! Signals and cancellation: what happens to a program in the middle of something.

use crate::{complete, part};
use std::collections::BTreeSet;
use tests::{Dump, Seen};

/// What `lseek` to the end of this file returned: its size.
#[track_caller]
pub fn size_found(dump: &Dump, name: &str) -> u64 {
    let seek = dump.calls("lseek").find(|seen| seen.is_about(name) && seen.args["whence"] == 2);
    seek.expect("the part asks for the size at its end").result as u64
}

#[test]
fn writes_of_a_handler_amid_writes() {
    let dump = complete("process_surface", "handler");
    assert_eq!(dump.written("handler"), (200, 200));
    let (calls, bytes) = dump.written("main");
    assert!(calls >= 64 && bytes == calls * 512, "{calls} writes, {bytes} bytes");
}

#[test]
fn writes_of_a_handler_amid_streams() {
    let dump = complete("failures", "handler-streams");
    assert_eq!(dump.written("handler"), (200, 200));
    let size = size_found(&dump, "lines");
    assert_eq!(dump.written("lines"), (size / 5, size));
}

#[test]
fn a_handler_on_a_small_stack() {
    assert_eq!(complete("failures", "handler-stack").written("file"), (1, 18));
    assert_eq!(complete("failures", "smallest-signal-stack").written("file"), (6, 15), "three of them empty");
}

/// A call that a handler leaves by siglongjmp has no record, and is counted as lost; all that follow have.
#[test]
fn jumps_out_of_calls() {
    let (recorded, dump) = part("process_surface", "siglongjmp");
    assert_eq!(dump.written("file"), (1, 15));
    assert!((1..=200).contains(&recorded.run.dropped()), "{} of 200 jumps", recorded.run.dropped());
}

/// The program runs out of stack wherever it is, in the recorder too.
#[test]
fn jumps_out_of_overflows() {
    let (recorded, dump) = part("failures", "overflow");
    assert!(recorded.run.dropped() <= 20, "{} of 20 overflows", recorded.run.dropped());
    assert_eq!(dump.written("file"), (21, 27));
    let (calls, bytes) = dump.written("deep");
    assert!(calls > 20_000 && calls == bytes, "{calls} writes, {bytes} bytes");
}

#[test]
fn masks_and_handlers_as_the_program_set_them() {
    assert_eq!(complete("failures", "masks").written("file"), (5, 34));
    assert_eq!(complete("failures", "handlers").written("file"), (1, 7));
}

#[test]
fn forks_of_a_handler_amid_writes() {
    let dump = complete("failures", "handler-forks");
    assert_eq!(dump.written("children"), (50, 50));
    let children: BTreeSet<u32> =
        dump.calls("write").filter(|seen| seen.is_about("children")).map(|seen| seen.pid).collect();
    assert_eq!(children.len(), 50, "each child has a trace of its own");
    let size = size_found(&dump, "file");
    assert_eq!(dump.written("file"), (size, size));
}

#[test]
fn a_handler_that_becomes_another_program() {
    let dump = complete("failures", "handler-exec");
    assert_eq!(dump.written("file"), (2, 15));
    assert!(dump.calls("stat").any(|seen| seen.is_about("file") && seen.errno.is_none()));
}

/// What a handler does is its own, also where the calls of the function that it interrupts are not recorded twice.
#[test]
fn handlers_in_calls_that_are_made_of_others() {
    let dump = complete("failures", "handler-in-calls");
    assert_eq!(dump.written("file"), (4, 4));
    assert_eq!(dump.calls("preadv").count(), 1);
    assert_eq!(dump.calls("lockf").count(), 2);
    let byte_read = |seen: &&Seen| seen.result == 1 && seen.args["count"] == 1;
    assert_eq!(
        dump.calls("read").filter(byte_read).count(),
        4,
        "by the checked function, by ready and by answers"
    );
}

#[test]
fn cancelled_in_every_call_that_waits() {
    assert_eq!(complete("failures", "cancel").written("file"), (24, 24));
}

/// A thread may be cancelled when its write is done and before it has returned: that one has no record.
#[test]
fn cancelled_amid_writes() {
    let (recorded, dump) = part("failures", "cancel-writes");
    assert_eq!(recorded.run.dropped(), 0);
    let (calls, bytes) = dump.written("file");
    let size = size_found(&dump, "file");
    assert!(
        calls == bytes && calls <= size && size <= calls + 100,
        "{calls} writes, {size} bytes in the file"
    );
}

#[test]
fn errno_after_every_call() {
    let (recorded, dump) = part("failures", "errno");
    let printed: Vec<i32> = recorded
        .recorded
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("errno ")?.split_whitespace().next()?.parse().ok())
        .filter(|&errno| errno != 7777)
        .collect();
    assert!(printed.len() > 60, "{}", recorded.recorded.stdout);
    for errno in [2, 9, 14, 17, 20, 22] {
        let times = |all: &mut dyn Iterator<Item = i32>| all.filter(|&found| found == errno).count();
        let (printed, recorded) =
            (times(&mut printed.iter().copied()), times(&mut dump.0.iter().filter_map(|seen| seen.errno)));
        assert!(printed > 0 && recorded > 0, "errno {errno}: printed {printed} times, {recorded} on record");
    }
}
