//! io_uring, through liburing and by number.

use super::{BLOCK, about, failures, list, number, numbers, parts, results, unobserved};
use std::collections::BTreeMap;
use tests::{Dump, Recorded, Seen};

const NOP: i64 = 0;
const READV: i64 = 1;
const WRITEV: i64 = 2;
const FSYNC: i64 = 3;
/// `IORING_FSYNC_DATASYNC`.
const DATASYNC: i64 = 1;
const READ_FIXED: i64 = 4;
const WRITE_FIXED: i64 = 5;
const CLOSE: i64 = 19;
const READ: i64 = 22;
const WRITE: i64 = 23;
const LINK: i64 = 4;
const MORE: i64 = 2;
const EBADF: i32 = 9;
const EEXIST: i32 = 17;

/// Runs a part that needs io_uring; `None`, with the reason printed, where the kernel has none even without the shim.
#[track_caller]
fn ring_part(name: &str) -> Option<(Recorded, Dump)> {
    let (recorded, dump) = parts(&[name]);
    match recorded.plain.stdout.lines().find(|line| line.contains("no io_uring")) {
        None => Some((recorded, dump)),
        Some(reason) => {
            println!("{name} is skipped: {reason}");
            None
        }
    }
}

/// Tag, operation, bytes asked for and offset of every submission for this file.
fn submissions(dump: &Dump, file: &str) -> Vec<[i64; 4]> {
    let fields = |seen: &Seen| ["user_data", "opcode", "count", "offset"].map(|name| number(seen, name));
    about(dump, "sqe", file).map(fields).collect()
}

/// The results by tag; a failure is a negative errno value.
fn completions(dump: &Dump) -> BTreeMap<i64, Vec<i64>> {
    let mut all: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for seen in dump.calls("cqe") {
        let result = number(seen, "res");
        assert_eq!(seen.errno.map_or(seen.result, |errno| -i64::from(errno)), result, "{seen:?}");
        all.entry(number(seen, "user_data")).or_default().push(result);
    }
    all
}

#[test]
fn submissions_and_their_completions() {
    let Some((_, dump)) = ring_part("ring") else { return };
    let writes = (0..6).map(|place| [100 + place, WRITE, BLOCK, place * BLOCK]);
    let vectors =
        [[200, WRITEV, 2 * BLOCK, 6 * BLOCK], [201, FSYNC, DATASYNC, 0], [300, READV, 2 * BLOCK, 6 * BLOCK]];
    let reads = (0..20).map(|round| [400 + round, READ, BLOCK, round % 6 * BLOCK]);
    let expected: Vec<_> = writes.chain(vectors).chain(reads).collect();
    assert_eq!(submissions(&dump, "ring"), expected);
    let linked = dump.calls("sqe").filter(|seen| number(seen, "flags") & LINK != 0);
    assert_eq!(numbers(linked, "user_data"), [200]);

    let completions = completions(&dump);
    assert_eq!(completions.len(), expected.len() + 1);
    for [tag, operation, bytes, _] in expected {
        let result = if operation == FSYNC { 0 } else { bytes };
        assert_eq!(completions[&tag], [result], "{tag}");
    }
    assert_eq!(completions[&500], [-i64::from(EBADF)]);
    assert_eq!(unobserved(&dump), [""; 0]);

    assert_eq!(
        dump.calls("io_uring_setup").count(),
        1,
        "once, although the library's functions call each other"
    );
    let submitted: i64 = numbers(dump.calls("io_uring_enter"), "to_submit").iter().sum();
    assert_eq!(submitted as usize, dump.calls("sqe").count(), "the library hands over each of them once");
    assert_eq!(dump.calls("close").filter(|seen| seen.depth == 1).count(), 1, "the ring itself");
}

#[test]
fn registered_files_are_known_by_their_place() {
    let Some((_, dump)) = ring_part("ring-registered") else { return };
    let fixed = |tag| [tag, BLOCK, BLOCK];
    let seen: Vec<_> = submissions(&dump, "registered").iter().map(|[_, rest @ ..]| *rest).collect();
    assert_eq!(seen, [fixed(WRITE_FIXED), fixed(READ_FIXED)]);
    let files: Vec<_> = dump.calls("io_uring_register").map(|seen| list(seen, "files")).collect();
    assert_eq!(files[0][..2], [0, -1]);
    assert_eq!(files[2].len(), 2, "an update");
    assert_eq!(numbers(dump.calls("io_uring_register"), "opcode"), [2, 0, 6, 1, 3]);
}

#[test]
fn descriptors_come_and_go_through_a_ring() {
    let Some((_, dump)) = ring_part("ring-descriptors") else { return };
    let seen: Vec<_> = about(&dump, "sqe", "opened").map(|seen| number(seen, "opcode")).collect();
    assert_eq!(seen, [WRITE, CLOSE]);
    let read = about(&dump, "pread", "opened").next().expect("the program reads it as any other");
    assert_eq!(read.result, BLOCK);
    assert_eq!(failures(&dump, "close"), [EBADF], "it was closed before");
    assert!(dump.calls("close").all(|seen| !seen.is_about("opened")));
}

#[test]
fn one_submission_may_have_many_completions() {
    let Some((_, dump)) = ring_part("ring-multishot") else { return };
    assert_eq!(dump.calls("sqe").count(), 1);
    // The fourth, when the other end is closed, comes after the program has stopped looking.
    assert_eq!(completions(&dump)[&11][..3], [1; 3], "POLLIN, three times");
    assert!(dump.calls("cqe").take(3).all(|seen| number(seen, "flags") & MORE != 0));
}

#[test]
fn entries_of_double_size() {
    let Some((_, dump)) = ring_part("ring-wide") else { return };
    assert_eq!(numbers(dump.calls("sqe"), "user_data"), (1000..1010).collect::<Vec<_>>());
    assert_eq!(numbers(dump.calls("cqe"), "user_data"), (1000..1010).collect::<Vec<_>>());
}

/// With liburing even these are seen: the program calls it, whether or not it calls the kernel.
#[test]
fn submissions_that_the_kernel_takes_by_itself() {
    let Some((_, dump)) = ring_part("ring-polled") else { return };
    let expected: Vec<_> = (0..12).map(|place| [place, WRITE, BLOCK, place * BLOCK]).collect();
    assert_eq!(submissions(&dump, "polled"), expected);
    assert_eq!(completions(&dump), (0..12).map(|tag| (tag, vec![BLOCK])).collect());
    assert_eq!(unobserved(&dump), [""; 0]);
}

#[test]
fn a_ring_of_the_programs_own() {
    let Some((_, dump)) = ring_part("ring-by-number") else { return };
    let expected: Vec<_> = (0..6).map(|round| [50 + round, WRITE, BLOCK, round * BLOCK]).collect();
    let mut submitted = submissions(&dump, "by-number");
    submitted.retain(|[_, operation, ..]| *operation != NOP);
    assert_eq!(submitted, expected);
    let tags = |from: i64| (from..from + 6).collect::<Vec<_>>();
    let idle = dump.calls("sqe").filter(|seen| number(seen, "opcode") == NOP);
    assert_eq!(numbers(idle, "user_data"), tags(60));
    let mut done = numbers(dump.calls("cqe"), "user_data");
    done.sort_unstable();
    assert_eq!(done, [tags(50), tags(60)].concat());
    assert_eq!(results(&dump, "io_uring_enter"), [2, 2, 2, 2, 2, 2, -1]);
    assert_eq!(failures(&dump, "io_uring_enter"), [EBADF]);
    assert_eq!(failures(&dump, "io_uring_setup"), [14]);
    assert_eq!(unobserved(&dump), [""; 0]);
}

/// What nobody has asked for is found at the end of the process.
#[test]
fn completions_that_were_taken_out_without_a_call() {
    let Some((_, dump)) = ring_part("ring-left") else { return };
    assert_eq!(numbers(dump.calls("cqe"), "user_data"), [2000, 2001, 2002]);
}

/// The number of a ring that has been closed is a file's: what is mapped of that is no queue.
#[test]
fn a_file_where_a_ring_was() {
    let Some((_, dump)) = ring_part("ring-closed") else { return };
    assert_eq!(numbers(dump.calls("sqe"), "user_data"), [3000]);
    assert_eq!(numbers(dump.calls("cqe"), "user_data"), [3000]);
    assert_eq!(unobserved(&dump), [""; 0]);
}

/// Of liburing 2.8, which not every system has.
#[test]
fn functions_that_came_later() {
    let Some((_, dump)) = ring_part("ring-later") else { return };
    let operations = numbers(dump.calls("io_uring_register"), "opcode");
    assert_eq!(operations, [22, 26, 22, 23, 27, 28, 29, 0, 30, 20]);
    assert_eq!(failures(&dump, "io_uring_register")[0], EEXIST);
    assert_eq!(numbers(dump.calls("sqe"), "user_data"), [4000, 4001, 4002, 4003]);
    assert_eq!(numbers(dump.calls("cqe"), "user_data"), [4000, 4001, 4002, 4003]);
    assert_eq!(dump.calls("close").filter(|seen| seen.depth == 1).count(), 2, "a ring, a ring's descriptor");
    assert_eq!(unobserved(&dump), [""; 0]);
}
