//! Real programs that live by locks and signals.

use crate::{count, number, values};
use tests::workloads::python_itself;
use tests::{Dump, Job, program, program_fortified, record};

/// All parts one after the other, in both variants.
#[test]
fn the_whole_surface() {
    for program in [program("sync_surface"), program_fortified("sync_surface")] {
        let recorded = record(&Job::new(&program));
        assert!(recorded.plain.status.success(), "{}: {}", program.display(), recorded.plain.stderr);
    }
}

/// Waits of the C++ library reach the conditions that the program was linked against, and no older ones.
#[test]
fn locks_of_cpp() {
    let recorded = record(&Job::new(program("cpp_waits")));
    assert_eq!(recorded.recorded.stdout, "cpp_waits: 400 turns\n");
    let dump = Dump::of(&recorded.run_folder());
    let waited = values(&dump, "pthread_cond_wait", "cond");
    let in_time = values(&dump, "pthread_cond_timedwait", "cond");
    let told = values(&dump, "pthread_cond_broadcast", "cond");
    assert!(in_time.len() == 1 && in_time.is_superset(&waited) && in_time.is_superset(&told));
}

#[test]
fn threads_and_signals_of_python() {
    const PROGRAM: &str = r#"
import os, queue, signal, threading
arrived = []
def arrive(number, frame):
    arrived.append(number)
assert signal.signal(signal.SIGUSR1, arrive) == signal.SIG_DFL
assert signal.getsignal(signal.SIGUSR1) is arrive
for turn in range(20):
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.raise_signal(signal.SIGUSR1)
    signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
work, done = queue.Queue(), queue.Queue()
def worker():
    while (item := work.get()) is not None:
        done.put(item * item)
threads = [threading.Thread(target=worker) for number in range(4)]
for thread in threads:
    thread.start()
for number in range(500):
    work.put(number)
assert sum(done.get() for number in range(500)) == sum(n * n for n in range(500))
for thread in threads:
    work.put(None)
for thread in threads:
    thread.join()
barrier, lock, total = threading.Barrier(3), threading.Lock(), [0]
def add():
    barrier.wait()
    for turn in range(100):
        with lock:
            total[0] += 1
threads = [threading.Thread(target=add) for number in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert total == [300] and not threading.Event().wait(0.001)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
signal.setitimer(signal.ITIMER_REAL, 0.0001)
assert signal.sigwait([signal.SIGALRM]) == signal.SIGALRM
assert signal.signal(signal.SIGUSR1, signal.SIG_DFL) is arrive
print(len(arrived), "signals")
"#;
    let recorded = record(&Job::new(python_itself()).args(["-S", "-E", "-c", PROGRAM]));
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    assert_eq!(recorded.recorded.stdout, "60 signals\n");
    let dump = Dump::of(&recorded.run_folder());
    let arrived = dump.calls("signal-delivered").filter(|seen| number(seen, "signum") == 10);
    assert_eq!(arrived.count(), 60);
    let waits = count(&dump, "sem_wait") + count(&dump, "sem_timedwait") + count(&dump, "pthread_cond_wait");
    assert!(waits > 0, "its locks are semaphores, or mutexes with conditions");
    assert_eq!(count(&dump, "thread-start"), 7);
    assert_eq!(count(&dump, "setitimer"), 1);
    assert_eq!(dump.calls("sigwait").map(|seen| seen.result).collect::<Vec<_>>(), [14]);
}

/// Alarms that end a read by way of `die`, and a series of them. The first ones come again and again: one that comes
/// just before the read does not end it.
#[test]
fn alarms_of_perl() {
    const PROGRAM: &str = r#"
use strict; use warnings; use Time::HiRes qw(ualarm);
pipe(my $reader, my $writer) or die;
my ($reading, $count) = (1, 0);
$SIG{ALRM} = sub {
    if ($reading) { $reading = 0; ualarm(0); die "too late\n" }
    ualarm(500) if ++$count < 20;
};
eval { ualarm(2000, 2000); sysread($reader, my $data, 1) };
print "ended: $@";
ualarm(500);
select(undef, undef, undef, 1) while $count < 20;
ualarm(0);
$SIG{USR1} = 'IGNORE';
kill 'USR1', $$;
print "20 alarms\n";
"#;
    let recorded = record(&Job::new("perl").args(["-e", PROGRAM]));
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    assert_eq!(recorded.recorded.stdout, "ended: too late\n20 alarms\n");
    let dump = Dump::of(&recorded.run_folder());
    let alarms = dump.calls("signal-delivered").filter(|seen| number(seen, "signum") == 14);
    assert!(alarms.count() >= 21);
    assert!(count(&dump, "setitimer") >= 23, "ualarm");
    assert_eq!(count(&dump, "kill"), 1);
}
