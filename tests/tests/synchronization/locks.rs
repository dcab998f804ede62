//! Mutexes, conditions, read-write locks, barriers, semaphores, spin locks, and C11's names for them.

use crate::{count, failures, number, part, results, values};
use tests::{Dump, Seen};

/// Every wait by a call of these names has a call of the other names about the same object, on another thread, which
/// began before the wait ended and ended after it began.
#[track_caller]
fn every_wait_has_a_wake(dump: &Dump, argument: &str, waits: &[&str], wakes: &[&str]) {
    let successful = |seen: &&Seen| seen.result == 0 && seen.errno.is_none();
    for wait in waits.iter().flat_map(|name| dump.calls(name)).filter(successful) {
        let is_it = |wake: &Seen| {
            let same = number(wake, argument) == number(wait, argument) && wake.tid != wait.tid;
            same && wake.start_ns <= wait.end_ns && wake.end_ns >= wait.start_ns
        };
        assert!(
            wakes.iter().flat_map(|name| dump.calls(name)).any(is_it),
            "nobody ended {wait:?}: {dump:#?}"
        );
    }
}

#[test]
fn locks_that_are_free_leave_no_record() {
    let (_, dump) = part("free");
    let of_locks = |seen: &&Seen| seen.call.contains("mutex") || seen.call.contains("lock");
    assert_eq!(dump.0.iter().filter(of_locks).count(), 0, "{dump:#?}");
}

#[test]
fn mutexes_of_every_kind() {
    let (_, dump) = part("mutex");
    assert_eq!(results(&dump, "pthread_mutex_lock"), [0; 5]);
    assert_eq!(values(&dump, "pthread_mutex_lock", "mutex").len(), 5, "one wait for each");
    assert_eq!(values(&dump, "pthread_mutex_lock", "mutex"), values(&dump, "pthread_mutex_unlock", "mutex"));
    every_wait_has_a_wake(&dump, "mutex", &["pthread_mutex_lock"], &["pthread_mutex_unlock"]);
}

#[test]
fn mutexes_that_are_waited_for_in_time() {
    let (_, dump) = part("mutex-timed");
    let timeout = i64::from(libc_errno::ETIMEDOUT);
    assert_eq!(results(&dump, "pthread_mutex_timedlock"), [timeout, timeout, 0]);
    let times: Vec<_> = dump.calls("pthread_mutex_timedlock").map(|seen| number(seen, "abstime")).collect();
    assert_eq!(times, [1_000_000_005, 1_000_000_005, (1 << 32) * 1_000_000_000 + 7]);
    every_wait_has_a_wake(&dump, "mutex", &["pthread_mutex_timedlock"], &["pthread_mutex_unlock"]);
}

/// Signals and broadcasts that reach nobody are not recorded; the program makes ten of each.
#[test]
fn conditions() {
    let (_, dump) = part("condition");
    assert_eq!((count(&dump, "pthread_cond_signal"), count(&dump, "pthread_cond_broadcast")), (1, 1));
    assert!(count(&dump, "pthread_cond_wait") >= 2);
    let timed: Vec<_> = dump.calls("pthread_cond_timedwait").filter(|seen| seen.result != 0).collect();
    let clocks: Vec<_> = timed.iter().map(|seen| number(seen, "clockid")).collect();
    assert_eq!(clocks, [0, 1, 1], "the default clock, that of the condition, that of the call");
    let mutexes = values(&dump, "pthread_cond_wait", "mutex");
    assert_eq!(mutexes, values(&dump, "pthread_cond_timedwait", "mutex"));
    every_wait_has_a_wake(
        &dump,
        "cond",
        &["pthread_cond_wait", "pthread_cond_timedwait"],
        &["pthread_cond_signal", "pthread_cond_broadcast"],
    );
}

/// A wait that is cancelled does not return and has no record; the threads' traces end in an orderly way.
#[test]
fn cancelled_waits() {
    let (_, dump) = part("cancel");
    assert_eq!((count(&dump, "pthread_cond_wait"), count(&dump, "sem_wait")), (0, 0));
    let ended: Vec<_> = dump.calls("thread-end").map(|seen| seen.depth).collect();
    assert_eq!(ended, [0, 0]);
    assert_eq!(count(&dump, "pthread_join"), 2);
}

#[test]
fn read_write_locks() {
    let (_, dump) = part("rwlock");
    let (timeout, deadlock) = (i64::from(libc_errno::ETIMEDOUT), i64::from(libc_errno::EDEADLK));
    assert_eq!(results(&dump, "pthread_rwlock_rdlock"), [deadlock, 0]);
    assert_eq!(results(&dump, "pthread_rwlock_wrlock"), [timeout, timeout, 0, 0]);
    every_wait_has_a_wake(
        &dump,
        "rwlock",
        &["pthread_rwlock_rdlock", "pthread_rwlock_wrlock"],
        &["pthread_rwlock_unlock"],
    );
}

#[test]
fn barriers() {
    let (_, dump) = part("barrier");
    let mut results = results(&dump, "pthread_barrier_wait");
    results.sort();
    assert_eq!(results, [-1, -1, -1, 0, 0, 0], "one of the two is told, each time");
    assert_eq!(values(&dump, "pthread_barrier_wait", "barrier").len(), 1);
}

#[test]
fn semaphores() {
    let (_, dump) = part("semaphore");
    assert_eq!((count(&dump, "sem_wait"), count(&dump, "sem_post")), (1, 2));
    assert_eq!(failures(&dump, "sem_timedwait"), [libc_errno::ETIMEDOUT; 2]);
    every_wait_has_a_wake(&dump, "sem", &["sem_wait", "sem_timedwait"], &["sem_post"]);
}

#[test]
fn spin_locks() {
    let (_, dump) = part("spin");
    assert_eq!(results(&dump, "pthread_spin_lock"), [0]);
}

/// C11's functions do not pass through those of POSIX, but are recorded as if they did.
#[test]
fn threads_of_c11() {
    let (recorded, dump) = part("c11");
    assert_eq!((count(&dump, "pthread_create"), count(&dump, "pthread_join")), (1, 1));
    let made = dump.calls("pthread_create").next().expect("counted above");
    let started = dump.calls("thread-start").next().expect("the thread has a trace");
    assert_eq!(number(made, "thread"), number(started, "thread"));
    assert_eq!(number(started, "creator"), i64::from(made.tid));
    assert_eq!(recorded.run.processes[0].threads.len(), 2);
    assert_eq!(results(&dump, "pthread_mutex_lock").first(), Some(&0));
    assert_eq!(count(&dump, "pthread_cond_signal"), 1, "eleven were made");
    assert_eq!(count(&dump, "pthread_cond_broadcast"), 0);
    assert_eq!(results(&dump, "pthread_cond_timedwait"), [i64::from(libc_errno::ETIMEDOUT)]);
    assert_eq!(dump.calls("nanosleep").map(|seen| number(seen, "rqtp")).collect::<Vec<_>>(), [1]);
    // A thread counts itself among a condition's waiters before it gives the mutex away: so may the wait do that ends
    // another's wait for the mutex.
    let releases = ["pthread_mutex_unlock", "pthread_cond_wait"];
    every_wait_has_a_wake(&dump, "mutex", &["pthread_mutex_lock"], &releases);
    every_wait_has_a_wake(&dump, "cond", &["pthread_cond_wait"], &["pthread_cond_signal"]);
}

/// Error numbers of Linux.
mod libc_errno {
    pub const EDEADLK: i32 = 35;
    pub const ETIMEDOUT: i32 = 110;
}
