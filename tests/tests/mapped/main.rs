//! Files mapped into memory: every call about them is on record, under the name of the file, and the pages that the trace
//! says were touched are those that the program touched, as precisely as `trace/FORMAT.md` promises.

mod fallback;
mod kernel;
mod pages;
mod replayed;

use pages::Pages;
use tests::{Dump, Job, Recorded, program, record};

/// These parts of the program, without and with the shim.
#[track_caller]
fn parts(names: &str) -> (Recorded, Dump) {
    let recorded = record(&Job::new(program("mmap_surface")).args(names.split_whitespace()));
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    let dump = Dump::of(&recorded.run_folder());
    (recorded, dump)
}

/// The calls about memory, by name, in the order of return.
fn calls_about<'a>(dump: &'a Dump, file: &str) -> Vec<&'a str> {
    let about = dump.0.iter().filter(|seen| seen.layer == "mmap" && seen.is_about(file));
    about.map(|seen| seen.call.as_str()).collect()
}

#[test]
fn nothing_is_changed_and_nothing_goes_unseen() {
    let (recorded, dump) = parts("");
    let unobserved: Vec<_> = dump.calls("unobserved").collect();
    assert_eq!(
        unobserved.len(),
        3,
        "too many mappings at one time, no look and no question allowed: {unobserved:?}"
    );
    assert!(recorded.recorded.stdout.ends_with("mmap_surface: left-mapped passed\n"));
}

#[test]
fn a_mapping_outlives_its_descriptor() {
    let (_, dump) = parts("after-close");
    assert_eq!(calls_about(&dump, "after-close"), ["mmap", "pages-touched", "munmap"]);
    assert_eq!(calls_about(&dump, "another"), [""; 0]);
}

#[test]
fn what_takes_the_place_of_a_mapping() {
    let (_, dump) = parts("replaced replaced-by-memory moving-over");
    let (old, new) = (calls_about(&dump, "replaced"), calls_about(&dump, "replacing"));
    assert_eq!(old, ["mmap", "pages-touched", "pages-touched"]);
    assert_eq!(new, ["mmap", "pages-touched", "munmap"], "which is of both files");
    let old = calls_about(&dump, "replaced-by-memory");
    assert_eq!(old, ["mmap", "pages-touched", "pages-touched", "munmap"], "memory alone is none of ours");
    assert_eq!(calls_about(&dump, "moved-over"), ["mmap", "pages-touched"]);
    assert_eq!(calls_about(&dump, "moving-over"), ["mmap", "mremap", "pages-touched", "munmap"]);
}

#[test]
fn calls_about_memory_that_is_no_file_are_not_recorded() {
    let (_, dump) = parts("anonymous");
    let is_counted =
        |seen: &&tests::Seen| seen.layer == "mmap" && !seen.is_of_loader() && !seen.is_about("mmap_surface");
    let of_files: Vec<_> = dump.0.iter().filter(is_counted).collect();
    assert!(of_files.is_empty(), "{of_files:?}");
}

#[test]
fn a_device_has_no_pages_of_a_file() {
    let (_, dump) = parts("device");
    assert_eq!(calls_about(&dump, "zero"), ["mmap", "munmap"]);
}

#[test]
fn what_fails_is_recorded_too() {
    let (_, dump) = parts("errors");
    let failures = dump.0.iter().filter(|seen| seen.layer == "mmap" && seen.result == -1);
    let failures: Vec<_> = failures.map(|seen| (seen.call.as_str(), seen.errno.unwrap_or(0))).collect();
    let (bad_descriptor, not_allowed, bad_address, no_such_device, invalid) = (9, 13, 14, 19, 22);
    let expected = [
        ("mmap", not_allowed),
        ("mmap", not_allowed),
        ("mmap", no_such_device),
        ("mmap", invalid),
        ("mmap", invalid),
        ("mmap", invalid),
        ("mmap", bad_descriptor),
        ("munmap", invalid),
        ("msync", invalid),
        ("madvise", invalid),
        ("mremap", invalid),
        ("mremap", invalid),
        ("mincore", bad_address),
    ];
    assert_eq!(failures, expected);
    assert_eq!(Pages::of(&dump, "errors").written, [1], "a failed call takes nothing away");
}

#[test]
fn advice_locks_and_write_backs() {
    let (_, dump) = parts("advice locking write-back");
    let advice = calls_about(&dump, "advice");
    assert_eq!(advice, ["mmap", "madvise", "pages-touched", "madvise", "pages-touched", "munmap"]);
    let locking = calls_about(&dump, "locking");
    assert_eq!(locking, ["mmap", "mlock", "mlock", "munlock", "mincore", "pages-touched", "munmap"]);
    assert_eq!((dump.calls("mlockall").count(), dump.calls("munlockall").count()), (1, 1));
    let write_back = calls_about(&dump, "write-back");
    assert_eq!(write_back, ["mmap", "pages-touched", "msync", "msync", "pages-touched", "munmap"]);
}

/// The path is known in a child's trace as well, and the pages are the child's own.
#[test]
fn a_forked_child_has_its_parents_mappings() {
    let (recorded, dump) = parts("forked");
    let parent = recorded.run.processes[0].pid;
    let of_children = |call| dump.calls(call).filter(|seen| seen.pid != parent && seen.is_about("forked"));
    assert_eq!(of_children("inherited-mapping").count(), 1, "the other child uses none");
    let touched: Vec<_> = of_children("pages-touched").map(Pages::of_one).collect();
    assert_eq!(touched.len(), 1);
    assert_eq!(touched[0].present, [7]);
}

/// At the end of a process image and before the next one.
#[test]
fn what_is_still_mapped_at_the_end() {
    let (_, dump) = parts("becomes-program left-mapped");
    for (file, page, end) in [("becomes-program", 14, "execve"), ("left-mapped", 18, "_exit")] {
        let at = dump.0.iter().position(|seen| seen.call == "pages-touched" && seen.is_about(file));
        let at = at.unwrap_or_else(|| panic!("{file} is among {:?}", dump.0));
        assert_eq!(Pages::of_one(&dump.0[at]).written, [page]);
        let next = dump.0[at..].iter().skip(1).find(|seen| seen.tid == dump.0[at].tid);
        assert_eq!(next.map(|seen| (seen.call.as_str(), seen.began)), Some((end, true)));
    }
}

/// Where a system call of the recorder would end the process, there is no look, nor a question what is mapped, and the trace says so.
#[test]
fn a_process_that_must_not_make_other_calls() {
    let (recorded, dump) = parts("confined");
    assert_eq!(calls_about(&dump, "confined"), ["mmap", "pages-touched", "munmap", "mmap"]);
    let touched = dump.calls("pages-touched").next().expect("a record");
    assert_eq!((&touched.args["present"], &touched.args["dirty"]), (&(-1).into(), &(-1).into()));
    let unobserved = recorded.run.unobserved();
    let tells = |what: &str| unobserved.iter().any(|(_, told)| told.contains(what));
    assert!(unobserved.len() == 2 && tells("pages touched") && tells("nobody can ask"), "{unobserved:?}");
}

#[test]
fn threads_map_at_the_same_time() {
    let (_, dump) = parts("threads");
    let of_file = |call| dump.calls(call).filter(|seen| seen.is_about("threads"));
    assert_eq!([of_file("mmap").count(), of_file("munmap").count()], [400; 2]);
    for page in 0..4 {
        let touched = of_file("pages-touched").filter(|seen| Pages::of_one(seen).written == [page]);
        assert_eq!(touched.count(), 100, "page {page}");
    }
}

/// More at a time than can be followed are counted among what was not observed; what comes later is recorded again.
#[test]
fn more_mappings_than_can_be_followed() {
    let (recorded, dump) = parts("too-many");
    let unobserved: Vec<_> = recorded.run.unobserved();
    assert_eq!(unobserved.len(), 1, "{unobserved:?}");
    let of_file = |call| dump.calls(call).filter(|seen| seen.is_about("too-many")).count();
    let of_program = dump.calls("mmap").filter(|seen| seen.is_of_loader()).count();
    assert_eq!((of_file("mmap"), of_file("munmap")), (5001, 4096 - of_program + 1));
    assert_eq!(Pages::of(&dump, "too-many").written, [17]);
}

/// `fopen` with the letter m maps the file inside libc.
#[test]
fn libcs_own_mappings() {
    let (_, dump) = parts("mapped-stream");
    let of_stream = |call| dump.calls(call).filter(|seen| seen.is_about("mapped-stream"));
    assert_eq!(of_stream("mmap").map(|seen| seen.depth).collect::<Vec<_>>(), [1]);
    assert_eq!(of_stream("munmap").map(|seen| seen.depth).collect::<Vec<_>>(), [1]);
    assert_eq!(of_stream("read").count(), 0);
    assert_eq!(Pages::of(&dump, "mapped-stream").present.len(), 64);
}

/// A library that is called in place of libc's functions, and makes the system calls by `syscall`: each mapping is on record
/// once, and so are those that the library makes for itself meanwhile. So it is when the functions are as they were.
#[test]
fn functions_that_are_patched_while_the_program_runs() {
    let recorded = record(&Job::new(program("patched")));
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    let dump = Dump::of(&recorded.run_folder());
    for file in ["ahead", "behind"] {
        assert_eq!(calls_about(&dump, file), ["mmap", "pages-touched", "munmap"], "{file}");
    }
    assert_eq!(calls_about(&dump, "meanwhile"), ["mmap", "pages-touched"]);
    assert_eq!(calls_about(&dump, "instead"), ["mmap", "pages-touched", "munmap"]);
    assert_eq!(calls_about(&dump, "inside"), ["mmap", "pages-touched", "munmap"]);
    let (inside, others): (Vec<_>, Vec<_>) =
        dump.calls("mmap").chain(dump.calls("munmap")).partition(|seen| seen.is_about("inside"));
    assert!(inside.iter().all(|seen| seen.depth == 1) && others.iter().all(|seen| seen.depth == 0));
}
