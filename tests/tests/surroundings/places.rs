//! Other roots, users and namespaces; limits; prisons.

use crate::{counts_many, holds_many, not_entered, part, single_bytes};
use std::os::unix::fs::MetadataExt;
use syn_trace::{Call, shared_libc};
use tests::{Dump, Job, program, run_recorded};

#[test]
fn another_root() {
    holds_many(&part("chroot").run);
}

/// Neither can the run folder be found, nor would the file be opened: 12 MB of records, and none is missing.
#[test]
fn another_root_and_no_privileges() {
    let recorded = part("chroot-user");
    assert_eq!((recorded.run.dropped(), recorded.run.unobserved()), (0, vec![]));
    let threads = recorded.run.threads.iter();
    let asked = threads.flat_map(|thread| thread.events()).filter(|event| event.call == Call::Access);
    assert_eq!(asked.count(), 50_000);
    let files = recorded.run_folder().read_dir().expect("a run folder").flatten();
    let bytes: u64 = files.filter_map(|entry| entry.metadata().ok()).map(|file| file.blocks() * 512).sum();
    assert!(bytes > 12_000_000, "{bytes} bytes");
}

#[test]
fn without_privileges() {
    let recorded = part("user");
    holds_many(&recorded.run);
    assert_eq!(
        Dump::of(&recorded.run_folder()).calls("write").filter(|seen| seen.is_about("file")).count(),
        1
    );
}

/// The other user cannot open the trace's file to give it more room; what it has been given before stays.
#[test]
fn another_user_for_files() {
    holds_many(&part("user-of-files").run);
}

/// New processes and images that may not make files in the run folder are missing in it: `syn info` says which.
#[test]
fn processes_without_privileges() {
    let recorded = part("user-first");
    let written = Dump::of(&recorded.run_folder()).written("file").0;
    let missing = not_entered(&recorded.run_folder());
    assert_eq!(written + missing as u64, 2, "{written} on record, {missing} not entered");
}

#[test]
fn namespaces() {
    const KINDS: [u32; 7] = [
        0x20000,
        0x40000000,
        0x10000000,
        0x20000000,
        0x8000000,
        0x4000000,
        0x20000 | 0x40000000 | 0x10000000,
    ];
    let recorded = part("namespaces");
    let dump = Dump::of(&recorded.run_folder());
    for kind in KINDS {
        assert_eq!(dump.written(&format!("file.{kind:x}")), (2, 13), "{kind:x}");
    }
    assert_eq!(recorded.run.dropped(), 0);
    assert_eq!(not_entered(&recorded.run_folder()), 0);
}

/// Runs a part that needs to know a folder without and with the shim, which records into it.
#[track_caller]
fn part_with_folder(part: &str) -> (tempfile::TempDir, tests::Outcome) {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let [doomed, run] = ["doomed", "run"].map(|name| scratch.path().join(name));
    std::fs::create_dir(&doomed).expect("a folder in an empty one");
    let job = Job::new(program("surroundings")).arg(part);
    let plain = job.clone().env("FOLDER", &doomed).run_in(scratch.path()).succeeded();
    let recording = job.env("FOLDER", &run).env("LD_PRELOAD", tests::shim()).env("SYN_RUN", &run);
    let recorded = recording.run_in(scratch.path());
    assert_eq!(recorded.status, plain.status, "{}", recorded.stderr);
    assert_eq!((&recorded.stdout, &recorded.stderr), (&plain.stdout, &plain.stderr));
    (scratch, recorded)
}

#[test]
fn a_run_folder_that_is_hidden() {
    let (scratch, _) = part_with_folder("hidden");
    let run = syn_trace::Run::open(scratch.path().join("run")).expect("a run folder");
    assert!(run.unreadable.is_empty(), "{:?}", run.unreadable);
    counts_many(&run);
}

/// Nothing of it comes back.
#[test]
fn a_run_folder_that_is_removed() {
    let (scratch, _) = part_with_folder("removed");
    assert!(!scratch.path().join("run").exists());
}

/// Only four system calls are left: those of the program, and none of ours.
#[test]
fn strict_mode() {
    let recorded = part("strict");
    assert_eq!(single_bytes(&recorded.run, Call::Write), 1001);
    assert_eq!(recorded.run.dropped(), 0);
}

#[test]
fn filters() {
    let recorded = part("filter-kills");
    assert_eq!(single_bytes(&recorded.run, Call::Write), 1000);
    assert_eq!(recorded.run.dropped(), 0);
    counts_many(&part("filter-kills-long").run);
    let recorded = part("filter-refuses");
    assert_eq!(single_bytes(&recorded.run, Call::Write), 1000);
    counts_many(&recorded.run);
}

#[test]
fn dispatched_system_calls() {
    let recorded = part("dispatched");
    assert_eq!(single_bytes(&recorded.run, Call::Write), 1010);
    assert_eq!(recorded.run.dropped(), 0);
}

/// Whoever comes to be under a filter that lets no file be opened is missing, and the trace says so.
#[test]
fn others_under_a_filter() {
    let recorded = part("filter-others");
    let written = single_bytes(&recorded.run, Call::Write);
    assert!((10..=30).contains(&written), "{written} writes on record");
    let missing = recorded.run.dropped() + 10 * not_entered(&recorded.run_folder()) as u64;
    assert!(written + missing >= 30, "{written} writes on record, {missing} missing");
}

/// Text that was written to stays as it was where it may not be executed afterwards: the program runs, and is recorded without
/// detours.
#[test]
fn text_that_cannot_be_changed() {
    let recorded = part("filter-text");
    let unobserved = recorded.run.unobserved();
    match &unobserved[..] {
        // The first process has left a libc with the detours in it, which can be mapped.
        [] => assert!(!shared_libc::in_run(&recorded.run_folder()).is_empty(), "nothing is said of it"),
        [(_, what)] => assert!(what.contains("does not let code be changed"), "{what}"),
        _ => panic!("{unobserved:?}"),
    }
    assert_eq!(Dump::of(&recorded.run_folder()).written("file"), (1, 5));
}

/// A program that would be ended by what the recorder does at its start is not recorded, and the trace says so; nor is what
/// that program starts.
#[test]
fn inherited_filters() {
    let recorded = part("filters-inherited");
    let unobserved = recorded.run.unobserved();
    // Of the third of five, the child without a trace is what is missing.
    assert_eq!(unobserved.len(), 4, "{unobserved:?}");
    assert!(unobserved.iter().all(|(_, what)| what.contains("seccomp filter")), "{unobserved:?}");
    assert_eq!(Dump::of(&recorded.run_folder()).written("file"), (0, 0));

    let recorded = part("filter-harmless");
    assert_eq!(recorded.run.unobserved(), []);
    assert_eq!(Dump::of(&recorded.run_folder()).written("file"), (1, 5));
}

/// The limit holds for the trace as well; the signal for exceeding it is the program's only.
#[test]
fn a_limit_of_file_sizes() {
    counts_many(&part("file-size").run);
}

#[test]
fn no_memory_left() {
    counts_many(&part("address-space").run);
}

#[test]
fn all_memory_locked() {
    holds_many(&part("locked-memory").run);
}

#[test]
fn no_descriptor_left() {
    counts_many(&part("descriptors").run);
}

/// Kernels and file systems that cannot do what the recorder asks them for first.
#[test]
fn calls_that_fail() {
    for fails in ["madvise:error=EINVAL", "mremap:error=ENOMEM", "fallocate:error=EOPNOTSUPP"] {
        let scratch = tempfile::tempdir().expect("a folder for temporary files");
        let run = scratch.path().join("run");
        let (name, _) = fails.split_once(':').expect("a call and how it fails");
        let preload = format!("LD_PRELOAD={}", tests::shim().display());
        let arguments = ["-f", "-qq", "--seccomp-bpf", "-o", "calls", "-e", &format!("trace={name}"), "-e"];
        let job = Job::new("strace").args(arguments).arg(format!("inject={fails}")).args(["-E", &preload]);
        let job = job.arg(program("surroundings")).arg("many-writes").env("SYN_RUN", &run);
        let _ = job.run_in(scratch.path()).succeeded();
        let calls = std::fs::read_to_string(scratch.path().join("calls")).expect("what strace has seen");
        assert!(calls.contains("(INJECTED)"), "{fails}: {calls}");
        holds_many(&syn_trace::Run::open(&run).expect("a run folder"));
    }
}

/// The first file of a process under a limit which is too small even for its first records.
#[test]
fn a_limit_of_file_sizes_from_the_start() {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let job = Job::new("sh").args(["-c", "ulimit -f 16; exec \"$0\" vfork exec"]).arg(program("failures"));
    let plain = job.run_in(scratch.path()).succeeded();
    let (recorded, _) = run_recorded(&job, scratch.path(), &scratch.path().join("run"));
    assert_eq!((recorded.status, recorded.stdout), (plain.status, plain.stdout), "{}", recorded.stderr);
}

/// What libc does behind a thread that has ended is none of its calls, and none that is missing.
#[test]
fn memory_given_back_behind_a_thread() {
    assert_eq!(part("given-back").run.dropped(), 0);
}
