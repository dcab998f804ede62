//! Programs and stores to which something happens: the program ends as it would have, and the profile says what is missing.

use super::{House, metric, notes, program, signal};
use std::process::{Command, Output};

/// A script in a mount namespace of its own with a small tmpfs in `small`; none where that is not allowed.
fn with_small_disk(house: &House, bytes: &str, script: &str) -> Option<Output> {
    std::fs::create_dir_all(house.path().join("small")).expect("a folder");
    let whole = format!("mount -t tmpfs -o size={bytes} none small || exit 99\n{script}");
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &whole, "sh"]).arg(program()).current_dir(house.path());
    command.env("SYN_PROFILES", house.path().join("profiles.db"));
    let output = command.output().expect("unshare is part of every distribution");
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(99) || told.starts_with("unshare: ") {
        eprintln!("no mount namespace here: nothing is tested ({told})");
        return None;
    }
    Some(output)
}

#[test]
fn two_thousand_threads() {
    let house = House::new();
    let threads = r#"
import threading
threading.stack_size(65536)
gate = threading.Event()
all = [threading.Thread(target=gate.wait) for _ in range(2000)]
for one in all: one.start()
import time; time.sleep(0.5)
gate.set()
for one in all: one.join()
"#;
    assert!(house.profile(&["--rate", "10"], &["python3", "-c", threads]).success());
    assert_eq!(metric(&house.shown(1), "processes.threads"), Some(2001.0));
}

#[test]
fn a_program_that_changes_its_user() {
    let house = House::new();
    let change = r#"
import os, sys, time
if os.getuid() != 0: sys.exit(0)
time.sleep(0.3) # samples see the first user too
os.setuid(65534)
begun = time.process_time()
while time.process_time() - begun < 0.3: pass
time.sleep(0.2)
os._exit(5)
"#;
    let status = house.profile(&["--rate", "20"], &["python3", "-c", change]);
    if status.success() {
        eprintln!("not root: nothing is tested");
        return;
    }
    assert_eq!(status.code(), Some(5));
    let profile = house.shown(1);
    assert!(notes(&profile).contains("several users"), "{}", notes(&profile));
    let cpu = metric(&profile, "cpu.time").expect("measured");
    assert!((0.3..1.5).contains(&cpu), "{cpu} s");
}

/// What whoever starts `syn` lets it ignore (nohup, a shell for what it runs in the background), the program ignores as well; and its end
/// is seen where nobody is told of ends of children.
#[test]
fn signals_that_are_ignored() {
    let house = House::new();
    let script =
        r#"trap "" HUP USR1; "$0" profile --no-probe -- sh -c 'kill -HUP $$; kill -USR1 $$; exit 5'"#;
    let run = |script: &str| {
        let mut command = Command::new("timeout");
        command.args(["60", "sh", "-c", script]).arg(program()).current_dir(house.path());
        // A build for MPI has a library in it, UCX, that takes this signal for its own before anything else runs.
        command.env("SYN_PROFILES", house.path().join("profiles.db")).env("UCX_DEBUG_SIGNO", "0");
        command.output().expect("a shell").status.code()
    };
    assert_eq!(run(script), Some(5));
    assert_eq!(run(r#"trap "" CHLD; exec "$0" profile --no-probe -- sh -c 'exit 6'"#), Some(6));
}

/// Nobody reads what is printed: no panic, and what was to be written is written.
#[test]
fn output_that_nobody_takes() {
    let house = House::new();
    assert!(house.profile(&[], &["true"]).success());
    let to_full = |words: &str| {
        let script = format!(r#""$0" {words} >/dev/full"#);
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(program()).current_dir(house.path());
        let output = command.env("SYN_PROFILES", house.path().join("profiles.db")).output().expect("a shell");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{words}: {told}");
        assert!(told.contains("cannot write to standard output"), "{words}: {told}");
    };
    for words in ["profiles list", "profiles show 1", "profiles stats", "profiles compare 1 1"] {
        to_full(words);
    }
    to_full("emulate --report report.json 1");
    assert!(house.path().join("report.json").exists());
}

/// What a first repeat has left behind is no part of the second one.
#[test]
fn repeats_do_not_count_what_others_left() {
    let house = House::new();
    let script = "if [ ! -e again ]; then touch again; setsid sh -c 'i=0; while [ $i -lt 9000000 ]; do i=$((i+1)); done' & echo $! >left; sleep 0.5; else sleep 0.3; fi";
    let status = house.profile(&["-n", "2"], &["sh", "-c", script]);
    let left = std::fs::read_to_string(house.path().join("left")).expect("a process id");
    let ended = Command::new("sh").args(["-c", &format!("kill -9 {left}")]).status().expect("a shell");
    assert!(status.success() && ended.success(), "{status}");
    let cpu = metric(&house.shown(2), "cpu.time").expect("measured");
    assert!(cpu < 0.1, "{cpu} s in the second one, which sleeps");
}

#[test]
fn words_that_are_no_text_are_handed_over() {
    use std::os::unix::ffi::OsStrExt;
    let house = House::new();
    let mut command = Command::new(program());
    command.args(["profile", "--no-probe", "--", "printf", "%s"]).current_dir(house.path());
    command.arg(std::ffi::OsStr::from_bytes(b"a\xff"));
    let output = command.env("SYN_PROFILES", house.path().join("profiles.db")).output().expect("it starts");
    assert_eq!(output.stdout, b"a\xff", "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(house.shown(1)["head"]["command"][2], "a\u{fffd}");
}

#[test]
fn a_program_that_fills_the_disk() {
    let house = House::new();
    let script = "\"$1\" profile --no-probe -- dd if=/dev/zero of=small/all bs=64k status=none; code=$?; [ $code = 1 ] || exit 7";
    let Some(output) = with_small_disk(&house, "2m", script) else { return };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("No space left"), "{told}");
    let written = metric(&house.shown(1), "storage.bytes_written").expect("measured");
    assert!((2_000_000.0..2_300_000.0).contains(&written), "{written}");
}

/// An emulation whose calls fail consumes less than the program did.
#[test]
fn an_emulation_whose_calls_fail_needs_a_look() {
    let house = House::new();
    let write = "f = open('out', 'wb', buffering=0)\nfor _ in range(8): f.write(bytes(1 << 20))";
    assert!(house.profile(&[], &["python3", "-c", write]).success());
    // Files may be 1 MiB long; who writes more is told so.
    let script = r#"trap '' XFSZ; ulimit -f 2048; exec "$0" emulate --report report.json 1"#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(program()).current_dir(house.path());
    let output = command.env("SYN_PROFILES", house.path().join("profiles.db")).output().expect("a shell");
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("operations did not come out as recorded: ") && told.contains(" write"), "{told}");
    assert!(told.contains("File too large"), "{told}");
    let report = std::fs::read_to_string(house.path().join("report.json")).expect("written");
    let report: serde_json::Value = serde_json::from_str(&report).expect("an object");
    assert!(report["divergences"]["total"].as_u64() > Some(0), "{report}");
    assert!(!house.done(&["emulate", "1"]).contains("did not come out"), "they do not fail without a limit");
}

/// What is written in a folder with little room is written over again and again, which is told.
#[test]
fn an_emulation_that_has_less_room_says_so() {
    let house = House::new();
    assert!(
        house.profile(&[], &["dd", "if=/dev/zero", "of=all", "bs=64k", "count=160", "status=none"]).success()
    );
    let Some(output) = with_small_disk(&house, "6m", "\"$1\" emulate --dir small 1") else { return };
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("10485760 written"), "{said}{told}");
    assert!(
        told.contains("would take 10485760 bytes, and half of what is free in small is 3145728"),
        "{told}"
    );
    assert!(said.contains("files      3145728 bytes long in the place of 10485760"), "{said}");
    let enough = house.syn(&["emulate", "1"]);
    let both = [enough.stdout, enough.stderr].concat();
    assert!(!String::from_utf8_lossy(&both).contains("free"), "{}", String::from_utf8_lossy(&both));
}

#[test]
fn a_store_that_can_only_be_read_is_read() {
    let house = House::new();
    let script = r#"
"$1" profile --no-probe --store 'small/a store?.db' -- true || exit 71
mount -o remount,ro small || exit 72
for words in list "show 1" "export -o out.json 1" check "compare 1 1"; do
    "$1" profiles ${words%% *} --store 'small/a store?.db' $(echo "$words " | cut -d' ' -f2-) >>said || exit 73
done
"$1" emulate --store 'small/a store?.db' 1 || exit 74
"$1" profiles rm --store 'small/a store?.db' 1 && exit 75
"$1" profile --no-probe --store 'small/a store?.db' -- true && exit 76
exit 0
"#;
    let Some(output) = with_small_disk(&house, "2m", script) else { return };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {told}", output.status);
    assert_eq!(told.matches("can only be read here; to write, copy it").count(), 2, "{told}");
}

#[test]
fn a_store_on_a_full_disk_stays_whole() {
    let house = House::new();
    let script = r#"
"$1" profile --no-probe --store small/s -- true || exit 71
"$1" profile --no-probe --rate 1000 --store small/s -- sh -c 'dd if=/dev/zero of=small/all bs=4k status=none; sleep 3; exit 3'
[ $? = 3 ] || exit 72
rm small/all
"$1" profiles check --store small/s || exit 73
"$1" profiles list --store small/s
"#;
    let Some(output) = with_small_disk(&house, "600k", script) else { return };
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{:?}: {said}{told}", output.status);
    assert!(told.contains("is not complete"), "{told}");
    assert!(said.contains("the store is whole") && said.contains("exit 0"), "{said}");
    assert!(said.contains("unfinished"), "the second profile is there as far as there was room: {said}");
}

#[test]
fn a_static_program_and_one_that_is_killed_while_it_forks() {
    let house = House::new();
    let source = house.path().join("still.c");
    let text = "#include <unistd.h>\nint main(void) { char b[4096]; for (int i = 0; i < 100; i++) write(1, b, sizeof b); return 4; }";
    std::fs::write(&source, text).expect("a file");
    let built =
        Command::new("cc").args(["-static", "-o", "still", "still.c"]).current_dir(house.path()).status();
    assert!(built.expect("a compiler").success());
    let status = house.profile(&["--rate", "100"], &["sh", "-c", "./still >out; exit $?"]);
    assert_eq!(status.code(), Some(4));
    let written = metric(&house.shown(1), "storage.bytes_written").expect("measured");
    assert!((409_600.0..420_000.0).contains(&written), "{written}");
    // The recorder cannot enter it: what it tells is missing, and said to be.
    let output = house.syn(&["profile", "--no-probe", "--shim", "--", "./still"]);
    assert_eq!(output.status.code(), Some(4));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("warning"), "{told}");
    let killed = "for i in 1 2 3 4 5; do (sleep 0.2) & done; kill -KILL $$";
    assert_eq!(signal(house.profile(&["--rate", "100"], &["sh", "-c", killed])), Some(9));
    let profile = house.shown(3);
    assert!(notes(&profile).contains("ended by signal 9"), "{}", notes(&profile));
}

#[test]
fn a_store_of_an_older_version_is_made_one_of_this() {
    let house = House::new();
    assert!(house.profile(&["--tag", "a=b"], &["true"]).success());
    let sql = "ALTER TABLE sample DROP COLUMN allocations; ALTER TABLE sample DROP COLUMN allocated_bytes;
        ALTER TABLE sample DROP COLUMN freed_bytes; DROP TABLE file_block; ALTER TABLE sample DROP COLUMN syncs; ALTER TABLE sample DROP COLUMN seeks; ALTER TABLE sample DROP COLUMN opens;
        ALTER TABLE sample DROP COLUMN stats; ALTER TABLE sample DROP COLUMN names; PRAGMA user_version = 1;";
    let done = Command::new("sqlite3").args(["profiles.db", sql]).current_dir(house.path()).status();
    assert!(done.expect("sqlite3 is installed").success());
    let before = house.shown(1);
    assert_eq!(before["head"]["tags"]["a"], "b");
    assert!(house.profile(&["--rate", "100"], &["sleep", "0.1"]).success());
    house.done(&["profiles", "export", "-o", "new.csv", "2"]);
    house.done(&["profiles", "import", "new.csv"]);
    house.done(&["profiles", "check"]);
}

#[test]
fn a_file_exported_by_the_version_before_is_read() {
    let house = House::new();
    assert!(house.profile(&["--rate", "100"], &["sleep", "0.1"]).success());
    house.done(&["profiles", "export", "-o", "new.csv", "1"]);
    let text = std::fs::read_to_string(house.path().join("new.csv")).expect("written");
    let mut lines = text.lines();
    let head = lines.next().and_then(|line| line.strip_prefix("# syn-profile 3 ")).expect("the profile");
    let mut head: serde_json::Value = serde_json::from_str(head).expect("an object");
    head["tail"]["totals"].as_array_mut().expect("a list").truncate(25);
    // Without the three columns in front of the sizes.
    let shorter = lines.map(|line| {
        let mut cells: Vec<&str> = line.split(',').collect();
        cells.drain(27..30);
        cells.join(",")
    });
    let older: Vec<String> = [format!("# syn-profile 2 {head}")].into_iter().chain(shorter).collect();
    std::fs::write(house.path().join("old.csv"), older.join("\n")).expect("a file");
    house.done(&["profiles", "import", "old.csv"]);
    house.done(&["profiles", "export", "-o", "again.csv", "2"]);
    let again = std::fs::read_to_string(house.path().join("again.csv")).expect("written");
    assert_eq!(again.lines().skip(1).collect::<Vec<_>>(), text.lines().skip(1).collect::<Vec<_>>());
}
