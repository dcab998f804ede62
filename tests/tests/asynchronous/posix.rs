//! POSIX asynchronous I/O: what the program asked for, and what libc's threads did.

use super::{BLOCK, about, failures, list, number, numbers, parts, results};
use std::collections::BTreeSet;
use tests::{Direction, Dump};

/// The threads on which something was done to this file by libc.
fn helpers(dump: &Dump, file: &str) -> BTreeSet<u32> {
    let transfers = dump.0.iter().filter(|seen| Direction::of(&seen.call).is_some() && seen.is_about(file));
    transfers.filter(|seen| seen.depth == 1).map(|seen| seen.tid).collect()
}

#[test]
fn what_was_asked_for_and_what_was_done() {
    let (_, dump) = parts(&["posix"]);
    let writes = || about(&dump, "aio_write", "posix");
    assert_eq!(numbers(writes(), "offset"), [0, BLOCK, 2 * BLOCK]);
    assert_eq!(numbers(writes(), "count"), [BLOCK; 3]);
    let reads: Vec<_> = about(&dump, "aio_read", "posix").map(|seen| number(seen, "offset")).collect();
    assert_eq!(reads, [2 * BLOCK], "the one whose descriptor is open");
    assert_eq!(about(&dump, "aio_fsync", "posix").count(), 1);
    assert_eq!(failures(&dump, "aio_read"), [22]);
    assert_eq!(results(&dump, "aio_cancel"), [2; 3], "AIO_ALLDONE");

    // libc's threads make the transfers, each recorded once, on the thread that made it.
    assert_eq!(dump.moved(Direction::Write, "posix").bytes, 3 * BLOCK as u64);
    assert_eq!(dump.moved(Direction::Write, "posix").calls, 3);
    assert_eq!(dump.moved(Direction::Read, "posix").bytes, BLOCK as u64);
    let helpers = helpers(&dump, "posix");
    assert!(
        !helpers.is_empty() && dump.0.iter().all(|seen| seen.tid != seen.pid || !helpers.contains(&seen.tid))
    );
    for tid in helpers {
        let start = dump.calls("thread-start").find(|seen| seen.tid == tid).expect("it has a start");
        assert_eq!(number(start, "creator"), i64::from(start.pid), "libc made it on the main thread");
    }
    // What failed says why, although errno does not.
    assert_eq!(failures(&dump, "aio_return"), [9]);
    assert_eq!(results(&dump, "aio_return"), [BLOCK, BLOCK, BLOCK, 0, BLOCK, -1]);
    assert!(
        dump.calls("aio_suspend").all(|seen| list(seen, "aiocbs").len() == 1),
        "null pointers are no waits"
    );
}

#[test]
fn the_transfers_of_a_list() {
    let (_, dump) = parts(&["posix-lists"]);
    assert_eq!(numbers(dump.calls("lio_listio"), "nitems"), [6, 6, 1]);
    assert_eq!(failures(&dump, "lio_listio"), [22]);
    let writes: Vec<_> = about(&dump, "aio_write", "list").collect();
    assert_eq!(numbers(writes.iter().copied(), "offset"), [0, BLOCK, 2 * BLOCK, 3 * BLOCK]);
    assert!(writes.iter().all(|seen| seen.depth == 1), "the program itself called lio_listio");
    assert_eq!(numbers(about(&dump, "aio_read", "list"), "offset"), [BLOCK, 2 * BLOCK, 3 * BLOCK]);
    assert_eq!(dump.moved(Direction::Write, "list").bytes, 4 * BLOCK as u64);
    assert_eq!(dump.moved(Direction::Read, "list").bytes, 3 * BLOCK as u64);
}

/// The program itself verifies that nothing of a thread is left behind.
#[test]
fn threads_of_libc_come_and_go() {
    let (_, dump) = parts(&["posix-idle"]);
    assert_eq!(dump.moved(Direction::Write, "idle").bytes, 4 * BLOCK as u64);
    let helpers = helpers(&dump, "idle");
    assert_eq!(helpers.len(), 4, "each round has a thread of its own");
    let ended = dump.calls("thread-end").filter(|seen| helpers.contains(&seen.tid)).count();
    assert_eq!(ended, 4, "their ends are on record");
}
