//! Signals, forks and jumps that interrupt whatever the program, or its recorder, is at.

use crate::{complete, part};
use std::collections::BTreeSet;
use tests::Seen;

#[test]
fn descriptors_are_the_programs_alone() {
    assert_eq!(complete("failures", "own-descriptors").written("file"), (1, 4));
    let dump = complete("failures", "descriptors-used-up");
    assert_eq!(dump.calls("lseek").count(), 60_000);
}

/// Two that share thread-locals cannot both be recorded: the thread that was there first is, and the trace says so.
#[test]
fn memory_that_is_shared_at_once() {
    let (recorded, dump) = part("failures", "memory-shared");
    assert_eq!(recorded.run.dropped(), 0);
    let own = dump.calls("write").filter(|seen| seen.args["count"] == 2 && seen.result == 2).count();
    assert_eq!((own, dump.calls("write").filter(|seen| seen.result == 1).count()), (20_000, 0));
    assert!(recorded.run.unobserved().iter().any(|(_, what)| what.contains("CLONE_SETTLS")));
}

#[test]
fn no_time_stamp_counter() {
    let (recorded, dump) = part("failures", "without-counter");
    assert_eq!(dump.written("file"), (4, 4));
    assert!(recorded.run.unobserved().iter().any(|(_, what)| what.contains("time stamp counter")));
}

/// What matters here is that it comes to its end: the records of handlers that run after a trace has ended are counted.
#[test]
fn signals_that_arrive_at_the_end() {
    let (_, dump) = part("failures", "signals-at-ends");
    assert_eq!(dump.calls("_exit").filter(|seen| seen.args["status"] == 3).count(), 120);
}

/// The call that the handler interrupts never returns: where its record was being written it is lost, and counted.
#[test]
fn a_handler_that_ends_the_process() {
    let (recorded, dump) = part("failures", "exits-amid-calls");
    assert_eq!(dump.written("handled"), (60, 60));
    assert_eq!(dump.calls("_exit").filter(|seen| seen.args["status"] == 7).count(), 60);
    assert!(recorded.run.dropped() <= 60, "{}", recorded.run.dropped());
}

#[test]
fn an_exec_that_fails_when_the_run_folder_is_out_of_reach() {
    assert_eq!(complete("failures", "exec-without-rights").written("file"), (10, 10));
}

#[test]
fn a_fork_leaves_the_childs_memory_alone() {
    complete("failures", "forks-keep-memory");
}

/// The call during which the child was forked has a record in the parent's trace, perhaps one in the child's.
#[test]
fn children_that_go_back_to_an_interrupted_call() {
    let dump = complete("failures", "forks-amid-calls");
    assert_eq!(dump.written("children"), (6000, 6000));
    let writers: BTreeSet<u32> =
        dump.calls("write").filter(|seen| seen.is_about("children")).map(|seen| seen.pid).collect();
    assert_eq!(writers.len(), 60, "each child has a trace of its own");
}

#[test]
fn jumps_before_deeper_calls() {
    let (recorded, dump) = part("failures", "jumps-to-deeper");
    assert_eq!(dump.written("deep"), (15_000, 15_000));
    assert!(dump.calls("pwrite").all(|seen| seen.depth == 0), "no call is around them");
    assert!(recorded.run.dropped() <= 30, "{} of 30 jumps", recorded.run.dropped());
}

#[test]
fn handlers_on_a_stack_above_the_interrupted_one() {
    let dump = complete("failures", "coroutine");
    assert_eq!(dump.written("file"), (1, 3));
    assert_eq!(dump.calls("lseek").filter(|seen| seen.is_about("handled")).count(), 200);
    assert!(dump.calls("lseek").all(|seen| seen.depth == 0), "no call is around them");
}

/// The longer list of a handler that interrupts the writing of a record may find no room, which is counted.
#[test]
fn lists_of_interrupted_calls() {
    let (recorded, dump) = part("failures", "polls-in-handlers");
    let lists = |timeout: i64| -> BTreeSet<String> {
        let of_kind = dump.calls("poll").filter(|seen| seen.args["timeout"] == timeout);
        of_kind.map(|seen| seen.args["ready"].to_string()).collect()
    };
    assert_eq!((lists(-1).len(), lists(0).len()), (1, 1), "all polls of a kind found the same");
    assert_ne!(lists(-1), lists(0));
    assert!(recorded.run.dropped() <= 200, "{}", recorded.run.dropped());
}

/// At whichever instruction of a call, or of a handler's, a further handler comes: every record says what one call did, and what
/// has none is counted.
#[test]
fn handlers_that_interrupt_each_others_calls() {
    let (recorded, dump) = part("failures", "handlers-nest");
    let number = |seen: &Seen, name: &str| seen.args[name].as_i64().expect("a number");
    let (seeks, total): (Vec<_>, Vec<_>) = dump.calls("lseek").partition(|seen| number(seen, "fd") >= 50);
    for seen in &seeks {
        assert_eq!(number(seen, "offset"), seen.result, "{seen:?}");
        assert_eq!(seen.result / 1000, number(seen, "fd") - 50, "{seen:?}");
    }
    for seen in dump.calls("pread") {
        let level = number(seen, "fd") - 50;
        assert_eq!((seen.result, number(seen, "offset")), (level + 1, 999 - level), "{seen:?}");
    }
    let opens: Vec<_> = dump.calls("open").filter(|seen| seen.errno == Some(20)).collect();
    for seen in &opens {
        let path = seen.path.as_deref().unwrap_or_default();
        assert_eq!(path.bytes().last(), Some(b'a' + (number(seen, "flags") >> 12) as u8), "{seen:?}");
    }
    for seen in dump.calls("poll") {
        let level = number(seen, "timeout") / 1_000_000;
        assert_eq!(seen.args["ready"][0], 100 * (level + 1), "{seen:?}");
    }
    let others = ["pread", "poll", "signal-delivered"].map(|call| dump.calls(call).count());
    let on_record = seeks.len() + opens.len() + others.iter().sum::<usize>();
    let made = total.last().expect("the part ends with it").result as u64;
    assert!(made > 1000, "{made} calls and handlers");
    assert_eq!(on_record as u64 + recorded.run.dropped(), made, "on record or counted");
}
