//! Calls with unusual arguments, many calls, and surroundings in which they are not easy to record.

use crate::{complete, part};
use syn_trace::Call;
use tests::{Direction, Dump, Job, Seen, program, program_fortified, record};

/// The modes of nameless files, which only the fourth argument tells.
#[test]
fn modes_of_nameless_files() {
    let dump = complete("posix_surface", "open");
    let nameless = i64::from(0o20_000_000); // __O_TMPFILE
    let modes = |call: &str| -> Vec<i64> {
        let opened = dump.calls(call).filter(|seen| seen.args["flags"].as_i64().unwrap_or(0) & nameless != 0);
        opened.map(|seen| seen.args["mode"].as_i64().expect("a mode")).collect()
    };
    assert_eq!((modes("open"), modes("openat")), (vec![0o640], vec![0o604]));
}

/// `fcntl` with a third argument: that it arrives is the program's own check; here, that it is on record.
#[test]
fn third_arguments_of_fcntl() {
    const F_SETPIPE_SZ: i64 = 1031;
    const F_ADD_SEALS: i64 = 1033;
    for (what, command) in [("pipes", F_SETPIPE_SZ), ("seals", F_ADD_SEALS)] {
        let dump = complete("posix_surface", what);
        let mut calls =
            dump.calls("fcntl").filter(|seen| seen.args["cmd"] == command && seen.errno.is_none());
        assert!(
            calls.any(|seen| seen.args["arg"].as_i64() > Some(0)),
            "{what}: {:?}",
            dump.calls("fcntl").collect::<Vec<_>>()
        );
    }
    assert!(complete("posix_surface", "locks").calls("fcntl").count() >= 4);
}

#[test]
fn bad_addresses_and_long_paths() {
    let dump = complete("posix_surface", "bad-addresses");
    for call in ["open", "write", "writev", "pwritev", "read", "readv", "stat", "rename", "fcntl"] {
        assert!(dump.calls(call).any(|seen| seen.errno == Some(14)), "{call} failed with EFAULT");
    }
    let dump = complete("posix_surface", "long-paths");
    assert_eq!(dump.calls("open").filter(|seen| seen.errno == Some(36)).count(), 2);
}

#[test]
fn few_descriptors() {
    assert_eq!(complete("process_surface", "fd3").written("file"), (3, 15));
    assert_eq!(complete("process_surface", "closefrom").written("file"), (6, 30), "three of them empty");
    let dump = complete("failures", "descriptors");
    assert_eq!(dump.calls("readdir").filter(|seen| seen.result == 1).count(), 6, "0 to 3, and two dots");
}

/// A thread and a child whose files cannot be opened in the process's own table.
#[test]
fn no_descriptor_left() {
    let (recorded, dump) = part("process_surface", "fd-exhausted");
    assert_eq!(recorded.run.dropped(), 0);
    assert_eq!(dump.written("file"), (2, 12));
}

#[test]
fn standard_streams_closed() {
    assert_eq!(complete("failures", "closed-streams").written("file"), (3, 3));
}

#[test]
fn environment_cleared() {
    assert_eq!(complete("failures", "clearenv").written("file"), (20_000, 20_000));
}

/// What the recorder cannot write when its folder is out of reach, it counts; nothing is left in the new root.
#[test]
fn root_changed() {
    let (recorded, dump) = part("failures", "chroot");
    let (calls, bytes) = dump.written("file");
    assert!(calls > 0 && calls == bytes, "{calls} writes, {bytes} bytes");
    // With the record of the end, which comes last.
    let missing = recorded.run.dropped();
    assert!(calls + missing >= 20_000, "{calls} on record, {missing} missing");
}

/// A thread begins where no descriptor is to be had, and the first thread of the process has ended.
#[test]
fn the_first_thread_ends_first() {
    assert_eq!(complete("failures", "first-thread-ends").calls("pwrite").count(), 100);
}

#[test]
fn hundreds_of_thousands_of_reads() {
    let recorded = record(&Job::new(program("failures")).arg("reads"));
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    let events = recorded.run.threads.iter().flat_map(|thread| thread.events());
    assert_eq!(events.filter(|event| event.call == Call::Pread && event.result == 8).count(), 400_000);
    assert_eq!(recorded.run.dropped(), 0);
}

#[test]
fn a_hundred_thousand_opens() {
    let recorded = record(&Job::new(program("failures")).arg("opens"));
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    let events = || recorded.run.threads.iter().flat_map(|thread| thread.events());
    assert_eq!(events().filter(|event| event.call == Call::Open && event.result == 3).count(), 100_001);
    assert!(events().filter(|event| event.call == Call::Close && event.numbers[0] == 3).count() >= 100_000);
    assert_eq!(recorded.run.dropped(), 0);
}

/// More descriptors than the recorder lists: it says so.
#[test]
fn ten_thousand_descriptors() {
    let (recorded, dump) = part("failures", "many-descriptors");
    assert_eq!(dump.written("file"), (1, 1));
    let unobserved = recorded.run.unobserved();
    assert_eq!(unobserved.len(), 1, "{unobserved:?}");
    assert!(unobserved[0].1.contains("open descriptors at start: more than 4096"), "{unobserved:?}");
}

/// A fortified program calls libc's checked entry points, and its trace is that of the plain one.
#[test]
fn fortified_programs() {
    for name in ["posix_surface", "stdio_surface"] {
        let [plain, fortified] = [program(name), program_fortified(name)].map(|program| {
            let recorded = record(&Job::new(program));
            let mut calls = Dump::of(&recorded.run_folder()).0;
            // Of the program itself: what its children do meanwhile comes in any order.
            let program = calls[0].pid;
            calls.retain(|seen| seen.pid == program && !seen.call.contains('-'));
            // Other results are process ids or times.
            let bytes = |seen: &Seen| Direction::of(&seen.call).map(|_| seen.result);
            calls.into_iter().map(|seen| (bytes(&seen), seen.call, seen.errno)).collect::<Vec<_>>()
        });
        assert!(plain.len() > 200, "{name}: {} calls", plain.len());
        assert_eq!(plain.len(), fortified.len(), "{name}");
        let first = plain.iter().zip(&fortified).find(|(one, other)| one != other);
        assert_eq!(first, None, "{name}: the first difference between plain and fortified");
    }
}
