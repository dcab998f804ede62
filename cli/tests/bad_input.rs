//! Every kind of bad input gets a message that says what it is, and the exit code that goes with it.

mod support;

use std::fs;
use support::{Folder, on, rank, run, whole_run};
use syn_trace::header::VERSION;

const ALL: [&str; 3] = ["info", "dump", "check"];

#[test]
fn what_is_not_there() {
    for subcommand in ALL {
        on(subcommand, "/nowhere/at/all".as_ref()).code(1).err_has(&["/nowhere/at/all", "No such file"]);
    }
}

#[test]
fn causes_are_told_once() {
    let folder = Folder::new();
    let missing = folder.path().join("missing/app.syn");
    let folder = folder.path().as_os_str();
    let said = run(["replay".as_ref(), "--storage".as_ref(), folder, missing.as_os_str()]).code(1);
    assert_eq!(said.err.matches("No such file").count(), 1, "{}", said.err);
    let run_folder = whole_run();
    let said =
        run(["merge".as_ref(), "-o".as_ref(), missing.as_os_str(), run_folder.path().as_os_str()]).code(1);
    assert_eq!(said.err.matches("No such file").count(), 1, "{}", said.err);
}

#[test]
fn what_is_neither_trace_nor_plan() {
    let folder = Folder::new();
    let file = folder.path().join("notes.txt");
    fs::write(&file, "hello\n").unwrap();
    for subcommand in ALL {
        on(subcommand, &file).code(1).err_has(&["notes.txt", "neither a trace nor a plan", "hello"]);
        on(subcommand, folder.path()).code(1).err_has(&["holds no traces", "syn record"]);
        on(subcommand, "/dev/null".as_ref()).code(1).err_has(&["neither a folder nor a regular file"]);
    }
}

#[test]
fn the_folder_around_the_runs() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("0")).unwrap();
    rank(0).write(&folder.path().join("0")).unwrap();
    on("info", folder.path()).code(1).err_has(&["did you mean"]);
}

#[test]
fn traces_of_other_versions_and_lengths() {
    let folder = Folder::new();
    let file = folder.path().join("1-1-0.trace");
    let mut newer = rank(0).bytes();
    newer[8] = VERSION as u8 + 1;
    let header_only = &rank(0).bytes()[..100];
    for (bytes, expected) in [
        (&newer[..], format!("newer than {VERSION}")),
        (header_only, "(100 bytes)".into()),
        (&[], "(0 bytes)".into()),
    ] {
        fs::write(&file, bytes).unwrap();
        for subcommand in ALL {
            on(subcommand, &file).code(1).err_has(&["1-1-0.trace", &expected]);
            on(subcommand, folder.path()).code(1).err_has(&["1-1-0.trace", &expected]);
        }
    }
}

#[test]
fn one_bad_file_among_good_ones() {
    let folder = whole_run();
    fs::write(folder.path().join("9-9-0.trace"), b"").unwrap();
    assert!(on("info", folder.path()).code(3).out.contains("9-9-0.trace"));
    on("dump", folder.path()).code(3).err_has(&["9-9-0.trace"]);
    assert!(on("check", folder.path()).code(3).out.contains("1 fault, 3 threads"));
}

#[test]
fn check_says_where_a_trace_is_cut_off() {
    let folder = Folder::new();
    let whole = rank(0).bytes();
    let file = folder.path().join("101-101-0.trace");
    fs::write(&file, &whole[..support::end_of_records(&rank(0)) - 3]).unwrap();
    let said = on("check", &file).code(3);
    assert!(
        said.out.contains("cut off inside the record at byte") && said.out.contains("12 records precede"),
        "{}",
        said.out
    );
    let last = said.out.split("at byte ").nth(1).and_then(|rest| rest.split(';').next());
    let last: usize = last.and_then(|at| at.parse().ok()).expect("where the last record begins");
    fs::write(&file, &whole[..last]).unwrap();
    let between = format!("cut off at byte {last}, between two records");
    assert!(on("check", &file).code(3).out.contains(&format!("{between}; 12 records precede it")));
    assert!(on("info", &file).code(3).out.contains(&between));
    on("dump", &file).code(3).err_has(&[&between]);
    fs::write(&file, &whole).unwrap();
    assert!(on("check", &file).code(0).out.contains("whole, 1 threads, 13 records"));
}

#[test]
fn the_worst_of_several_decides() {
    let good = whole_run();
    let good = good.path().to_str().unwrap();
    run(["check", good, good]).code(0);
    run(["check", good, "/nowhere"]).code(1);
}

#[test]
fn wrong_usage() {
    for args in [&["info"][..], &["dump", "--no-such-flag", "x"], &["record"], &["no-such-subcommand"], &[]] {
        run(args).code(2);
    }
}
