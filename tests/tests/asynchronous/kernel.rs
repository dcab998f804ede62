//! The kernel's asynchronous I/O, through libaio and by number.

use super::{BLOCK, about, failures, list, number, numbers, parts, results};
use std::collections::BTreeMap;
use tests::Dump;

const PREAD: i64 = 0;
const PWRITE: i64 = 1;
const FSYNC: i64 = 2;
const POLL: i64 = 5;
const PREADV: i64 = 7;
const PWRITEV: i64 = 8;

/// `opcode`, bytes asked for and offset of every control block for this file.
fn blocks(dump: &Dump, file: &str) -> Vec<[i64; 3]> {
    about(dump, "iocb", file)
        .map(|seen| ["opcode", "count", "offset"].map(|name| number(seen, name)))
        .collect()
}

/// Every completion: control block and result.
fn completions(dump: &Dump) -> Vec<[i64; 2]> {
    let lists = dump.calls("io_getevents").map(|seen| list(seen, "completed"));
    lists.flat_map(|list| list.chunks(2).map(|pair| [pair[0], pair[1]]).collect::<Vec<_>>()).collect()
}

#[test]
fn control_blocks_and_their_completions() {
    let (_, dump) = parts(&["libaio"]);
    assert_eq!(
        blocks(&dump, "libaio"),
        [
            [PWRITE, BLOCK, 0],
            [PWRITE, BLOCK, BLOCK],
            [PWRITEV, 2 * BLOCK, 2 * BLOCK],
            [FSYNC, 0, 0],
            [PREAD, BLOCK, 0],
            [PREADV, 2 * BLOCK, 2 * BLOCK],
            [PREAD, BLOCK, 100 * BLOCK],
        ]
    );
    assert_eq!(dump.calls("iocb").filter(|seen| number(seen, "opcode") == POLL).count(), 1);
    assert_eq!(results(&dump, "io_submit"), [3, 1, 3, 1]);
    assert_eq!(results(&dump, "io_getevents"), [3, 1, 3, 0, 1]);
    let mut moved: BTreeMap<i64, usize> = BTreeMap::new();
    for [_, result] in completions(&dump) {
        *moved.entry(result).or_default() += 1;
    }
    // Writes and reads, the synchronization and the read behind the end, and POLLIN with POLLRDNORM.
    assert_eq!(moved, BTreeMap::from([(BLOCK, 3), (2 * BLOCK, 2), (0, 2), (0x41, 1)]));
    let minute = 60_000_000_000;
    assert_eq!(numbers(dump.calls("io_getevents"), "timeout"), [-1, minute, minute, 0, -1]);
    let context = number(dump.calls("io_setup").next().expect("one is set up"), "ctx");
    for call in ["io_submit", "io_getevents", "io_destroy"] {
        assert!(dump.calls(call).all(|seen| number(seen, "ctx") == context), "{call}");
    }
    assert_eq!(dump.calls("syscall").count(), 0, "what libaio calls is recorded once");
}

#[test]
fn what_the_kernel_refuses() {
    let (_, dump) = parts(&["libaio-refusals"]);
    const EBADF: i32 = 9;
    const EFAULT: i32 = 14;
    const EINVAL: i32 = 22;
    assert_eq!(failures(&dump, "io_setup"), [EINVAL]);
    assert_eq!(failures(&dump, "io_submit"), [EBADF, EINVAL, EFAULT, EFAULT]);
    assert_eq!(results(&dump, "io_submit")[0], 1, "of two");
    assert_eq!(blocks(&dump, "refused"), [[PWRITE, BLOCK, 0]], "only the one that was taken");
    assert_eq!(dump.calls("iocb").count(), 1);
    assert_eq!(failures(&dump, "io_cancel").len(), 1);
    assert_eq!(failures(&dump, "io_destroy"), [EINVAL]);
}

#[test]
fn through_the_queue_functions() {
    let (_, dump) = parts(&["libaio-queue"]);
    assert_eq!(results(&dump, "io_setup"), [0]);
    assert_eq!(blocks(&dump, "queue"), [[PWRITE, BLOCK, 0]]);
    assert_eq!(completions(&dump).iter().map(|pair| pair[1]).collect::<Vec<_>>(), [BLOCK]);
    assert_eq!(results(&dump, "io_destroy"), [0]);
}

#[test]
fn by_number() {
    let (_, dump) = parts(&["libaio-by-number"]);
    assert_eq!(blocks(&dump, "numbered"), [[PWRITE, BLOCK, BLOCK], [PREAD, BLOCK, BLOCK]]);
    assert_eq!(completions(&dump).iter().map(|pair| pair[1]).collect::<Vec<_>>(), [BLOCK; 2]);
    assert_eq!(failures(&dump, "io_submit"), [14]);
    assert_eq!(failures(&dump, "io_destroy"), [22]);
    assert!(dump.calls("io_submit").all(|seen| seen.depth == 0), "the program's own");
}
