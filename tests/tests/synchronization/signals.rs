//! Signals sent, awaited, due by timers, and handled.

use crate::{count, failures, number, part, results, values};
use tests::{Dump, Seen};

const SIGABRT: i64 = 6;
const SIGKILL: i64 = 9;
const SIGUSR1: i64 = 10;
const SIGUSR2: i64 = 12;
const SIGPIPE: i64 = 13;
const SIGTERM: i64 = 15;
const SIGCHLD: i64 = 17;

/// How often each signal arrived at a handler.
fn arrivals(dump: &Dump, signal: i64) -> usize {
    dump.calls("signal-delivered").filter(|seen| number(seen, "signum") == signal).count()
}

fn signals_of(dump: &Dump, call: &str) -> Vec<i64> {
    dump.calls(call).map(|seen| number(seen, "sig")).collect()
}

#[test]
fn every_way_to_send() {
    let (recorded, dump) = part("sent");
    assert_eq!(signals_of(&dump, "raise"), [SIGUSR1, SIGUSR1, SIGCHLD]);
    assert_eq!(signals_of(&dump, "pthread_kill"), [SIGUSR1; 2]);
    assert_eq!(signals_of(&dump, "sigqueue"), [SIGUSR1]);
    assert_eq!(failures(&dump, "kill"), [22, 3], "EINVAL, ESRCH");
    let child = dump.calls("fork").next().expect("it forks").result;
    let in_child: Vec<_> = dump.calls("kill").filter(|seen| i64::from(seen.pid) == child).collect();
    assert_eq!(in_child.iter().map(|seen| number(seen, "pid")).collect::<Vec<_>>(), [0, 0], "own group");
    assert_eq!(arrivals(&dump, SIGUSR1), 7 + 2);
    let handled: Vec<_> = dump.calls("signal-delivered").map(|seen| i64::from(seen.pid)).collect();
    assert_eq!(handled.iter().filter(|pid| **pid == child).count(), 2);
    assert_eq!(recorded.run.processes.len(), 2);
}

#[test]
fn every_way_to_wait() {
    let (_, dump) = part("awaited");
    assert_eq!(results(&dump, "sigwait")[..3], [SIGUSR1; 3]);
    assert_eq!(failures(&dump, "sigwait"), [11, 14], "EAGAIN, EFAULT");
    let set = 1 << (SIGUSR1 - 1);
    let sets: Vec<_> = dump.calls("sigwait").map(|seen| number(seen, "set")).collect();
    assert_eq!(sets, [set, set, set, set, 0]);
    let timeouts: Vec<_> = dump.calls("sigwait").map(|seen| number(seen, "timeout")).collect();
    assert_eq!(timeouts[..4], [-1, -1, 0, 0]);
    assert_eq!(failures(&dump, "sigsuspend"), [4, 14, 4], "EINTR, EFAULT, EINTR");
    let masks: Vec<_> = dump.calls("sigsuspend").map(|seen| number(seen, "mask")).collect();
    assert_eq!(masks, [0, 0, 1 << (SIGUSR2 - 1)], "sigpause takes its signal out of the mask");
    assert_eq!(arrivals(&dump, SIGUSR1), 2, "five were taken without a handler");
}

#[test]
fn timers() {
    let (_, dump) = part("timers");
    let made = dump.calls("timer_create").next().expect("a timer is made");
    assert_eq!((number(made, "clockid"), number(made, "sig")), (1, SIGUSR2));
    assert_eq!(failures(&dump, "timer_create"), [22], "EINVAL");
    let timer = number(made, "timerid");
    assert_eq!(values(&dump, "timer_settime", "timerid"), [timer].into());
    assert_eq!(values(&dump, "timer_delete", "timerid"), [timer].into());
    let set: Vec<_> = dump
        .calls("setitimer")
        .map(|seen| ["which", "value", "interval"].map(|name| number(seen, name)))
        .collect();
    assert_eq!(set[0], [1, 100_000_500_000, 5_000_250_000]);
    assert_eq!(set[1..], [[1, 0, 0], [0, 0, 0]], "disarmed; ualarm(0, 0)");
    assert_eq!(number(dump.calls("alarm").nth(1).expect("alarm is called"), "seconds"), 1_000_000_000_000);
    assert_eq!(count(&dump, "signal-delivered"), 0);
}

#[test]
fn sleeps_that_are_written_over() {
    let (_, dump) = part("interrupted-sleeps");
    let asked = |call, argument| -> Vec<i64> {
        dump.calls(call).map(|seen| number(seen, argument) / 1_000_000_000).collect()
    };
    assert_eq!(asked("nanosleep", "rqtp"), [100, 99]);
    assert_eq!(asked("clock_nanosleep", "request"), [50, 40]);
    assert_eq!(signals_of(&dump, "timer_create"), [SIGUSR1, 0], "the last one tells nobody");
}

#[test]
fn pausing() {
    let (_, dump) = part("pause");
    assert_eq!(failures(&dump, "pause"), [4], "EINTR");
    let paused = dump.calls("pause").next().expect("counted above");
    let arrived = dump.calls("signal-delivered").next().expect("the signal arrives");
    assert_eq!((paused.tid, arrived.tid), (arrived.tid, arrived.tid));
    assert!(paused.start_ns <= arrived.end_ns && arrived.end_ns <= paused.end_ns);
    let handle = dump.calls("thread-start").map(|seen| number(seen, "thread")).next();
    assert_eq!(dump.calls("pthread_kill").map(|seen| number(seen, "thread")).next(), handle);
}

/// Handlers run as they were installed, and what they call is the application's own doing.
#[test]
fn handlers_of_every_form() {
    let (_, dump) = part("handlers");
    assert_eq!(arrivals(&dump, SIGUSR1), 1 + 1 + 5 + 1);
    let of_handler: Vec<_> = dump.calls("pwrite").map(|seen| (seen.depth, number(seen, "offset"))).collect();
    assert_eq!(of_handler, [(0, 5); 5], "written when the deepest has counted");
}

#[test]
fn handlers_on_small_stacks() {
    let (recorded, dump) = part("small-stacks");
    assert_eq!((arrivals(&dump, SIGUSR2), recorded.run.dropped()), (100, 0));
}

/// Where there is no room for making a record, the arrival is counted at least.
#[test]
fn handlers_on_stacks_without_room() {
    let (recorded, dump) = part("narrow-stacks");
    assert_eq!(arrivals(&dump, SIGUSR2) as u64 + recorded.run.dropped(), 5);
}

#[test]
fn handlers_are_read_back_as_they_were_set() {
    let (_, dump) = part("round-trips");
    let kinds = values(&dump, "sigaction", "handler");
    assert_eq!(kinds, [-1, 0, 1, 2].into());
    assert_eq!(failures(&dump, "sigaction"), [22; 3], "EINVAL");
    let asked = |seen: &&Seen| number(seen, "handler") == -1;
    assert_eq!(dump.calls("sigaction").filter(asked).count(), 1 + 6 * 4 + 1, "one of them with a bad signal");
}

#[test]
fn faults() {
    let (_, dump) = part("faults");
    let faults = [11, 7, 8, 4, 5]; // SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP
    for signal in faults {
        assert_eq!(arrivals(&dump, signal), 2, "signal {signal}");
    }
}

/// 10 000 writes are left from inside by a handler: they have no record, the arrivals have one each, and what comes
/// behind them is recorded as ever.
#[test]
fn jumps_out_of_writes() {
    let (recorded, dump) = part("jumps");
    assert_eq!(arrivals(&dump, SIGPIPE), 10_000);
    assert_eq!(dump.written("afterwards"), (1, 10));
    assert_eq!(failures(&dump, "write"), [32], "EPIPE, when the signal is ignored");
    let last = dump.calls("write").last().expect("the program says that the part has passed");
    assert!(recorded.recorded.stdout.ends_with("jumps passed\n") && last.result > 0, "{last:?}");
    let behind: Vec<_> = dump.0.iter().filter(|seen| seen.is_about("afterwards")).collect();
    assert!(
        behind.len() >= 3 && behind.iter().all(|seen| seen.depth == 0),
        "as if inside another: {behind:?}"
    );
    assert_eq!(recorded.run.dropped(), 10_000, "the writes that raise it, and that the handler leaves");
}

/// The timer's handler leaves whatever it interrupts, the writing of records too; each time one call at most is lost.
#[test]
fn jumps_by_a_timer() {
    let (recorded, dump) = part("timed-jumps");
    let (arrived, dropped) = (arrivals(&dump, SIGUSR1) as u64, recorded.run.dropped());
    assert!(arrived <= 1000 && arrived + dropped >= 1000, "{arrived} arrived, {dropped} dropped");
    assert!(dropped <= 1000, "{dropped} dropped");
    let last = dump.calls("pwrite").last().expect("the program writes");
    assert_eq!((last.depth, number(last, "count"), last.result), (0, 7, 7));
}

#[test]
fn handlers_in_children() {
    let (_, dump) = part("children");
    let forked = dump.calls("fork").next().expect("it forks").result;
    let arrived: Vec<_> = dump.calls("signal-delivered").map(|seen| i64::from(seen.pid)).collect();
    assert_eq!(arrived, [forked], "the other child ignores its signal");
}

/// What ends the process stands in the trace before it does; a failed assertion is an abort too.
#[test]
fn deadly_signals() {
    let (_, dump) = part("deadly");
    for (call, signal, times) in [("raise", SIGABRT, 2), ("kill", SIGTERM, 1), ("pthread_kill", SIGKILL, 1)] {
        let sent: Vec<_> = dump.calls(call).map(|seen| (seen.began, number(seen, "sig"))).collect();
        assert_eq!(sent, vec![(true, signal); times], "{call}");
    }
    assert_eq!(count(&dump, "waitpid"), 4);
}

/// The trace says that arrivals at some handlers have no record.
#[test]
fn more_handlers_than_places() {
    let (recorded, dump) = part("many-handlers");
    let unobserved = recorded.run.unobserved();
    assert_eq!(unobserved.len(), 1, "{unobserved:?}");
    assert_eq!(arrivals(&dump, SIGUSR1), 0);
}
