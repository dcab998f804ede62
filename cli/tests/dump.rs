//! `syn dump`: the fields it promises, the order of its lines, and its behaviour in a pipe.

mod support;

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use support::{Folder, json_on, on, rank, syn, whole_run};
use syn_trace::Call;
use syn_trace::builder::TraceBuilder;

fn events() -> Vec<Value> {
    json_on("dump", whole_run().path()).code(0).json()
}

fn find<'a>(events: &'a [Value], rank: i32, call: &str) -> &'a Value {
    events.iter().find(|event| event["rank"] == rank && event["call"] == call).unwrap()
}

#[test]
fn an_event_has_the_promised_fields() {
    let events = events();
    assert_eq!(
        find(&events, 0, "open"),
        &json!({
            "pid": 101, "tid": 101, "rank": 0, "start_ns": 20_000, "end_ns": 21_000, "call": "open", "layer": "posix",
            "depth": 1, "path": "/home/u/out\\xff", "result": 3,
            "args": {
                "flags": 0o1101, "mode": 0o644, "st_mode": 0o100_644, "st_size": 0, "st_ino": 77,
                "pathname": "sub/../out\\xff",
            },
        })
    );
    let fsync = find(&events, 1, "fsync");
    assert_eq!(
        (&fsync["result"], &fsync["errno"], &fsync["errno_name"]),
        (&json!(-1), &json!(28), &json!("ENOSPC"))
    );
    assert_eq!(fsync["path"], "/home/u/out\\xff");
    assert_eq!(find(&events, 0, "write").get("errno"), None);
    assert_eq!(find(&events, 0, "fclose")["path"], "/home/u/out\\xff");
    assert_eq!(find(&events, 0, "MPI_Waitall")["args"]["completed"], json!([0x7000, 1, -1, 8]));
    assert_eq!(find(&events, 0, "MPI_Waitall")["path"], Value::Null);
    assert_eq!(find(&events, 0, "_exit")["began"], true);
    let launcher = events.iter().find(|event| event["call"] == "posix_spawn").unwrap();
    assert_eq!(launcher["rank"], Value::Null);
}

#[test]
fn gaps_are_compute() {
    let events = events();
    let gap = events.iter().find(|event| event["call"] == "compute" && event["end_ns"] == 1_022_000).unwrap();
    // 1 ms went by since the stream was opened; the CPU reading covers also the 17 us before that.
    assert_eq!(gap["start_ns"], 22_000);
    assert_eq!(gap["cpu_ns"], 900_000 - 17_000);
    assert_eq!((&gap["rank"], &gap["layer"]), (&json!(0), &json!("compute")));
    assert!(events.iter().all(|event| event["end_ns"].as_u64() >= event["start_ns"].as_u64()));
}

#[test]
fn lines_are_in_order_of_return_and_nothing_is_lost() {
    let events = events();
    let ends: Vec<u64> = events.iter().map(|event| event["end_ns"].as_u64().unwrap()).collect();
    assert!(ends.is_sorted());
    assert_eq!(events.iter().filter(|event| event["call"] != "compute").count(), 6 + 2 * 13);
}

#[test]
fn text_is_for_people() {
    let text = on("dump", whole_run().path()).code(0).out;
    for part in [
        r#"[0] 101/101        1000 ns    open(flags=O_WRONLY|O_CREAT|O_TRUNC, mode=0o644"#,
        r#"write(fd=3</home/u/out\\xff>, count=512) = 512"#,
        "= -1 ENOSPC",
        "compute cpu=883000",
        "completed=[28672, 1, -1, 8]",
        "_exit(status=0) …",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
}

#[test]
fn several_hosts_are_told_apart() {
    let folder = Folder::new();
    folder.add(&rank(0));
    folder.add(&rank(1).host("node1"));
    let events = json_on("dump", folder.path()).code(0).json();
    assert_eq!(find(&events, 1, "write")["host"], "node1");
}

#[test]
fn a_damaged_trace_is_printed_up_to_the_damage() {
    let folder = whole_run();
    let mut bytes = rank(1).bytes();
    let end = support::end_of_records(&rank(1));
    // The last record is `_exit`: length, call, flags, end, took, result, status.
    bytes[end - 8] = 200;
    std::fs::write(folder.path().join("102-102-3b9add88.trace"), &bytes).unwrap();
    let said =
        json_on("dump", folder.path()).code(3).err_has(&["102-102-3b9add88.trace", "at byte", "was printed"]);
    assert_eq!(said.json().iter().filter(|event| event["rank"] == 1 && event["call"] == "fclose").count(), 1);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let folder = Folder::new();
    let many = (0..50_000)
        .fold(TraceBuilder::new(1, 1), |builder, at| builder.call(Call::Sync, at * 10, 5, 0, &[], &[], &[]));
    folder.add(&many);
    let mut child = syn()
        .args(["dump".as_ref(), folder.path().as_os_str()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("sync()"), "{line}");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let folder = whole_run();
    let output = syn().args(["dump".as_ref(), folder.path().as_os_str()]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"));
}
