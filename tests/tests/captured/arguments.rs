//! What a record of a file call holds beyond its result: offsets that the kernel moved, locks, names, both files.

use serde_json::{Value, json};
use tests::{Dump, Job, Seen, program, record, shim};

/// The records of one part of the program that makes every file call there is.
#[track_caller]
fn part(name: &str) -> Dump {
    let recorded = record(&Job::new(program("posix_surface")).arg(name));
    Dump::of(&recorded.run_folder())
}

/// These arguments of the first calls with this name, and their results.
#[track_caller]
fn first<const N: usize>(dump: &Dump, call: &str, names: [&str; N], count: usize) -> Vec<Value> {
    let told = |seen: &Seen| json!([names.map(|name| seen.args[name].clone()).to_vec(), seen.result]);
    dump.calls(call).take(count).map(told).collect()
}

#[test]
fn copies_tell_where_they_began_and_both_files() {
    let dump = part("copies");
    let told = first(&dump, "copy_file_range", ["off_in", "off_out", "count"], 4);
    let expected =
        [json!([[-1, -1, 4], 4]), json!([[6, 10, 100], 4]), json!([[0, -1, 6], 6]), json!([[14, -1, 10], 0])];
    assert_eq!(told, expected);
    let told = first(&dump, "sendfile", ["offset", "count"], 4);
    assert_eq!(told, [json!([[-1, 3], 3]), json!([[7, 100], 3]), json!([[0, 2], 2]), json!([[10, 5], 0])]);
    let told = first(&dump, "splice", ["off_in", "off_out", "count", "flags"], 2);
    assert_eq!(told, [json!([[1, -1, 4, 1], 4]), json!([[-1, -1, 3, 0], 3])]);
    let told = first(&dump, "vmsplice", ["count", "nr_segs"], 2);
    assert_eq!(told, [json!([[10, 2], 10]), json!([[4, 1], 4])]);
    for call in ["copy_file_range", "sendfile"] {
        let seen = dump.calls(call).next().expect("there are several");
        let second = seen.second_path.as_deref().unwrap_or_default();
        assert!(seen.is_about("in") && second.ends_with("/out"), "{seen:?}");
    }
}

#[test]
fn locks_tell_what_they_cover() {
    let dump = part("locks");
    let told = first(&dump, "fcntl", ["cmd", "lock"], 3);
    // F_SETLK, F_SETLKW, F_GETLK with l_type, l_whence, l_start, l_len; the kernel answers F_UNLCK.
    let expected =
        [json!([[6, [1, 0, 0, 100]], 0]), json!([[7, [2, 0, 0, 0]], 0]), json!([[5, [2, 0, 0, 0]], 0])];
    assert_eq!(told, expected);
    let refused = dump.calls("fcntl").find(|seen| seen.errno == Some(11)).expect("one lock is refused");
    assert_eq!(refused.args["lock"], json!([0, 0, 15, 1]), "what was asked for is known");
    assert_eq!(dump.calls("lockf").count(), 7, "those with a bad descriptor or command too");
    assert!(dump.calls("lockf").all(|seen| seen.depth == 0));
    let told = first(&dump, "flock", ["operation"], 3);
    assert_eq!(told, [json!([[1], 0]), json!([[5], 0]), json!([[6], -1])]);
}

#[test]
fn attributes_tell_their_names() {
    let dump = part("attributes");
    let seen = dump.calls("setxattr").next().expect("there are several");
    assert_eq!((&seen.args["size"], &seen.args["flags"]), (&json!(5), &json!(1)));
    assert!(seen.is_about("link"));
    // Where the file system keeps no attributes, the error comes after the name all the same.
    assert_eq!(seen.args["name"], json!("user.a"));
    let missing = dump.calls("getxattr").find(|seen| seen.is_about("missing")).expect("one fails");
    assert_eq!(missing.args["name"], json!("user.a"), "whether the kernel has looked at it or not");
}

#[test]
fn nameless_memory_has_a_name_and_no_path() {
    let dump = part("memory");
    let made = dump.calls("memfd_create").next().expect("there are two");
    assert_eq!((&made.args["name"], &made.path), (&json!("memory"), &None));
    let written = dump.calls("write").find(|seen| seen.result == 8).expect("eight bytes go there");
    assert_eq!((&written.args["fd"], &written.path), (&json!(made.result), &None));
}

#[test]
fn what_libc_makes_of_one_call_is_recorded_where_it_makes_it() {
    let dump = part("trees");
    let entries = |depth| dump.calls("getdents64").filter(|seen| seen.depth == depth).count();
    assert!(entries(0) >= 3, "the program's own");
    assert!(entries(1) > 20, "those of ftw, nftw, fts, scandirat and glob");
    assert_eq!(
        dump.calls("unlink").filter(|seen| seen.result == 0).count(),
        12,
        "remove took all files away"
    );
    let dump = part("temporary");
    let opened = dump.calls("open").filter(|seen| seen.result >= 0 && seen.depth == 1).count();
    assert!(opened >= 5, "mkstemp and its kin, and tmpfile: {opened}");
}

#[test]
fn a_directory_read_into_own_memory_ends_with_nothing() {
    let dump = part("directories");
    // Nine files, `.` and `..`: four times all of them, twice all but the first, and once the first alone; seven ends.
    let found = dump.calls("readdir").filter(|seen| seen.result == 1).count();
    let ends = dump.calls("readdir").filter(|seen| seen.result == 0).count();
    assert_eq!((found, ends), (4 * 11 + 2 * 10 + 1, 7));
    assert!(dump.calls("readdir").all(|seen| seen.errno.is_none()));
}

/// A clone names both files, and how much of the one the other shares. On a file system that cannot clone, strace says
/// that it could.
#[test]
fn clones_of_files() {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let run = scratch.path().join("run");
    let strace =
        Job::new("strace").args(["-o", "injected", "-e", "trace=ioctl", "-e", "inject=ioctl:retval=0"]);
    let variables = [("LD_PRELOAD", shim()), ("SYN_RUN", run.clone())];
    let variables = variables.map(|(name, value)| ["-E".into(), format!("{name}={}", value.display())]);
    let job = strace.args(variables.into_iter().flatten()).arg(program("posix_surface")).arg("clones");
    let _ = job.run_in(scratch.path()).succeeded();
    let dump = Dump::of(&run);
    let all: Vec<_> = dump.calls("ioctl_ficlonerange").collect();
    let ranges =
        all.iter().map(|seen| ["src_offset", "dest_offset", "count"].map(|name| seen.args[name].as_i64()));
    let expected = [[0, 0, 10], [4, 0, 6], [1, 20, 3]].map(|range| range.map(Some));
    assert_eq!(ranges.collect::<Vec<_>>(), expected);
    for seen in all {
        let second = seen.second_path.as_deref().unwrap_or_default();
        assert!(seen.is_about("from") && second.ends_with("/to") && seen.errno.is_none(), "{seen:?}");
    }
}
