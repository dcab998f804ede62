//! What a profile says is what the kernel says, whatever the program does.

use super::{House, metric, notes, signal};

/// Children that live for some 35 ms, half of which compute and half of which write 1 MiB; prints what the kernel says of them.
const SHORT: &str = r#"
import os, resource, sys, time
def burn(seconds):
    begun = time.process_time()
    while time.process_time() - begun < seconds: pass
for number in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        if number % 2: burn(0.035)
        else:
            with open("out%d" % number, "wb", buffering=0) as file: file.write(b"x" * (1 << 20))
            time.sleep(0.03)
            os.unlink("out%d" % number)
        os._exit(0)
    os.waitpid(child, 0)
own, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
with open("used", "w") as file: file.write(str(own.ru_utime + own.ru_stime + theirs.ru_utime + theirs.ru_stime))
"#;

#[test]
fn short_children_are_counted_whole_at_any_rate() {
    let house = House::new();
    for (id, rate) in [(1, "1"), (2, "10"), (3, "auto")] {
        assert!(house.profile(&["--rate", rate], &["python3", "-c", SHORT, "60"]).success());
        let profile = house.shown(id);
        let used: f64 =
            std::fs::read_to_string(house.path().join("used")).expect("written").parse().expect("a number");
        let counted = metric(&profile, "cpu.time").expect("measured");
        // What Python does at its end comes behind its own reading.
        assert!(
            counted >= used * 0.99 && counted < used + 0.15,
            "rate {rate}: counted {counted} s, used {used} s"
        );
        let written = metric(&profile, "storage.bytes_written").expect("measured");
        assert!((written / f64::from(30 << 20) - 1.0).abs() < 0.01, "rate {rate}: {written} bytes of 30 MiB");
    }
}

#[test]
fn the_command_ends_as_it_would_have() {
    let house = House::new();
    assert_eq!(house.profile(&[], &["sh", "-c", "exit 7"]).code(), Some(7));
    assert_eq!(signal(house.profile(&[], &["sh", "-c", "kill -TERM $$"])), Some(15));
    assert_eq!(signal(house.profile(&[], &["sh", "-c", "kill -KILL $$"])), Some(9));
    assert_eq!(house.profile(&[], &["/nonexistent"]).code(), Some(127));
    let killed = house.shown(3);
    assert!(notes(&killed).contains("ended by signal 9"), "{}", notes(&killed));
    let list = house.done(&["profiles", "list"]);
    assert_eq!(list.lines().count(), 4, "what could not be started left nothing:\n{list}");
    assert!(list.contains("exit 7") && list.contains("signal 15"), "{list}");
}

#[test]
fn the_peak_of_a_small_program_is_not_the_profilers() {
    let house = House::new();
    assert!(house.profile(&["--rate", "50"], &["sleep", "0.2"]).success());
    let profile = house.shown(1);
    let get = |name: &str| metric(&profile, name).expect("measured");
    // A process begins as a copy of the one that made it, and the kernel keeps that peak.
    assert!(get("memory.peak") < f64::from(4 << 20), "{} bytes", get("memory.peak"));
    assert!(get("memory.peak_of_one") <= get("memory.peak") && get("profiler.peak") > f64::from(4 << 20));
    // The last look is at a process that has ended: what it had until then is on record.
    house.done(&["profiles", "export", "-o", "samples.csv", "1"]);
    let text = std::fs::read_to_string(house.path().join("samples.csv")).expect("written");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let place = lines.next().expect("names").split(',').position(|name| name == "resident_bytes");
    let last = lines.next_back().expect("samples").split(',').nth(place.expect("a column")).expect("as many");
    assert!(last.parse::<u64>().expect("a number") > 0, "{text}");
}

/// The kernel's peak of a child has what the profiler had when it made it.
#[test]
fn a_peak_that_nobody_saw_is_not_known() {
    let house = House::new();
    assert!(house.profile(&["--rate", "0.1"], &["sleep", "0.1"]).success());
    let profile = house.shown(1);
    for name in ["memory.peak", "memory.peak_of_one"] {
        assert_eq!(metric(&profile, name), None, "{name}");
    }
    let shown = house.done(&["profiles", "show", "1"]);
    assert!(shown.contains("no look found the processes with their memory"), "{shown}");
    house.done(&["emulate", "1"]);
    // What is more than the profiler's is known all the same.
    assert!(house.profile(&["--rate", "0.1"], &["python3", "-c", "bytearray(100 << 20)"]).success());
    let peak = metric(&house.shown(2), "memory.peak").expect("the kernel knows it");
    assert!(peak > f64::from(100 << 20), "{peak}");
}

#[test]
fn the_command_keeps_its_input_and_output() {
    let house = House::new();
    let output = std::process::Command::new("sh")
        .args(["-c", r#"printf 'a line\n' | "$0" profile --no-probe -- cat"#])
        .arg(super::program())
        .env("SYN_PROFILES", house.path().join("profiles.db"))
        .output()
        .expect("sh is there");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a line\n");
}

#[test]
fn orphans_are_counted_and_daemons_are_said_to_live_on() {
    let house = House::new();
    // The burning process is an orphan at once, and ends before the command does.
    let orphan = "(python3 -c 'import time\nwhile time.process_time() < 0.5: pass\nopen(\"done\", \"w\")' &) ; while [ ! -e done ]; do sleep 0.05; done; sleep 0.1";
    assert!(house.profile(&["--rate", "10"], &["sh", "-c", orphan]).success());
    let cpu = metric(&house.shown(1), "cpu.time").expect("measured");
    assert!(cpu >= 0.5, "{cpu} s");
    let daemon = "setsid sleep 3 >/dev/null 2>&1 & sleep 0.2";
    assert!(house.profile(&["--rate", "50"], &["sh", "-c", daemon]).success());
    let profile = house.shown(2);
    assert!(
        notes(&profile).contains("lived on") && notes(&profile).contains("sleep ("),
        "{}",
        notes(&profile)
    );
}

#[test]
fn a_cleared_environment_and_many_threads_change_nothing() {
    let house = House::new();
    let cleared = ["env", "-i", "/bin/sh", "-c", "exit $(/usr/bin/env | /usr/bin/grep -c SYN_)"];
    let output = house.syn(&[&["profile", "--no-probe", "--allocations", "--"], &cleared[..]].concat());
    assert_eq!(output.status.code(), Some(0), "the program finds the environment that it has made");
    assert!(
        metric(&house.shown(1), "memory.allocations").is_some_and(|calls| calls > 0.0),
        "`env` itself is counted"
    );
    let threads = "import threading, time\nall = [threading.Thread(target=time.sleep, args=(1,)) for _ in range(300)]\n[t.start() for t in all]; [t.join() for t in all]";
    assert!(house.profile(&["--rate", "20"], &["python3", "-c", threads]).success());
    let profile = house.shown(2);
    assert_eq!(metric(&profile, "processes.threads"), Some(301.0));
    assert_eq!(
        metric(&profile, "cpu.waiting"),
        None,
        "more threads than are looked at one by one: said, and not made up"
    );
}

/// A connection that is closed behind its last byte, between two looks at it.
const CLOSED_AT_ONCE: &str = r#"
import os, socket, time
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
other, _ = server.accept()
time.sleep(0.2) # the profiler gets to know them
if os.fork() == 0:
    client.close()
    left = 80000000
    while left: left -= len(other.recv(1 << 20))
    os._exit(0)
other.close()
client.sendall(b"x" * 80000000); client.close(); os.wait()
"#;

#[test]
fn what_connections_moved_before_their_ends_is_counted() {
    let house = House::new();
    assert!(house.profile(&["--rate", "5"], &["python3", "-c", CLOSED_AT_ONCE]).success());
    let profile = house.shown(1);
    let inner = metric(&profile, "network.bytes_inner").expect("measured");
    // Whether the closing came, which counts as a byte, the kernel does not say.
    assert!((79_999_999.0..=80_000_000.0).contains(&inner), "{inner}");
}

#[test]
fn the_shim_tells_sizes_and_files() {
    let house = House::new();
    let write = "dd if=/dev/zero of=out bs=4096 count=300 status=none";
    assert!(house.profile(&["--shim"], &["sh", "-c", write]).success());
    let profile = house.shown(1);
    let blocks = profile["tail"]["blocks"].as_array().expect("a list");
    let whole =
        |block: &&serde_json::Value| block["kind"] == "write" && block["bin"] == 13 && block["count"] == 300;
    assert!(blocks.iter().any(|block| whole(&block)), "{blocks:?}");
    let files = profile["tail"]["files"].as_array().expect("a list");
    let out = files.iter().find(|file| file["path"].as_str().is_some_and(|path| path.ends_with("/out")));
    let out = out.expect("the file is listed");
    assert_eq!(out["bytes"][1], 1_228_800);
    let sizes = out["blocks"].as_array().expect("a list");
    assert!(sizes.iter().any(|block| whole(&block)), "sizes of its own: {sizes:?}");
    let shown = house.done(&["profiles", "show", "1"]);
    assert!(shown.contains("system     calls"), "sizes by file system: {shown}");
    // The same from a run folder, with samples that know their sizes.
    house.done(&["record", "-o", "runs", "--", "sh", "-c", write]);
    house.done(&["profile", "--from", "runs/1", "--tag", "from=run"]);
    let recorded = house.shown(2);
    assert_eq!(recorded["tail"]["totals"][10], 1_228_800, "bytes written");
    assert!(recorded["tail"]["blocks"].as_array().expect("a list").iter().any(|block| whole(&block)));
    let told = house.done(&["emulate", "--tag", "from=run"]);
    assert!(told.contains("1228800 written"), "{told}");
}

/// Sampling sees TCP alone.
#[test]
fn messages_of_other_sockets_are_those_on_record() {
    let house = House::new();
    let talk = r#"
import os, socket
one, other = socket.socketpair()
for number in range(100):
    # By calls on sockets, and by those on files.
    if number % 2: one.sendall(bytes(10000))
    else: os.write(one.fileno(), bytes(10000))
    left = 10000
    while left: left -= len(other.recv(left))
"#;
    assert!(house.profile(&["--shim"], &["python3", "-c", talk]).success());
    let profile = house.shown(1);
    for name in ["network.bytes_sent", "network.bytes_received", "network.recorded_sent"] {
        assert_eq!(metric(&profile, name), Some(1e6), "{name}");
    }
    let shown = house.done(&["profiles", "show", "1"]);
    let line = shown.lines().find(|line| line.starts_with("network.bytes_sent ")).expect("a row");
    assert!(line.contains("recorded calls") && !line.contains("use --shim"), "{line}");
}

/// What a pipe or a device takes is no storage, and is not written to files.
#[test]
fn pipes_are_counted_apart_where_calls_are_recorded() {
    let house = House::new();
    let pipe = "dd if=/dev/zero bs=64k count=160 status=none | cat >out";
    assert!(house.profile(&["--shim"], &["sh", "-c", pipe]).success());
    let profile = house.shown(1);
    let get = |name: &str| metric(&profile, name).expect("measured");
    let all = f64::from(10 << 20);
    assert!(get("storage.pipes_written") >= all && get("storage.pipes_read") >= 2.0 * all, "both sides");
    for name in ["storage.bytes_written", "storage.recorded_written", "storage.room"] {
        assert!((all..all + 100_000.0).contains(&get(name)), "{name}: {} of {all}", get(name));
    }
    assert!(get("storage.bytes_read") < 1e6, "{} bytes of programs and libraries", get("storage.bytes_read"));
    let told = house.done(&["emulate", "1"]);
    let written =
        told.split(" read, ").nth(1).and_then(|text| text.split(' ').next()).expect("what was moved");
    let written: f64 = written.parse().expect("a number");
    assert!((all..all + 100_000.0).contains(&written), "{told}");
}

/// Bytes that come from a pipe without a read, and bytes that get into a file without a write.
#[test]
fn splice_counts_once_and_mappings_are_told() {
    let house = House::new();
    let splice = r#"
import os
out = os.open("out", os.O_CREAT | os.O_RDWR, 0o600)
read, write = os.pipe()
for _ in range(20):
    os.write(write, bytes(50000))
    os.splice(read, out, 50000)
"#;
    assert!(house.profile(&["--shim"], &["python3", "-c", splice]).success());
    let profile = house.shown(1);
    let out = |profile: &serde_json::Value, name: &str| {
        let files = profile["tail"]["files"].as_array().expect("a list").clone();
        files.into_iter().find(|file| file["path"].as_str().is_some_and(|path| path.ends_with(name)))
    };
    assert_eq!(out(&profile, "/out").expect("it is listed")["bytes"][1], 1_000_000);
    let pipe = out(&profile, "without a name)").expect("the pipe is listed");
    let [read, written] = [0, 1].map(|place| pipe["bytes"][place].as_u64().expect("a number"));
    assert!((1_000_000..1_100_000).contains(&written), "what was written into it: {pipe}");
    assert!(read < 100_000, "it was not read: {pipe}");
    assert!(!notes(&profile).contains("mappings"), "{}", notes(&profile));
    let map = r#"
import mmap
with open("out", "r+b") as file:
    held = mmap.mmap(file.fileno(), 1000000)
    held[:1000000] = b"x" * 1000000
    held.flush()
"#;
    assert!(house.profile(&["--shim"], &["python3", "-c", map]).success());
    let told = notes(&house.shown(2));
    assert!(
        told.contains("shared mappings of files (1, the first of them ") && told.contains("/out)"),
        "{told}"
    );
}

#[test]
fn a_recorded_run_is_found_by_the_words_of_its_command() {
    let house = House::new();
    let words = ["sh", "-c", "true; true x"];
    house.done(&[&["record", "-o", "runs", "--"], &words[..]].concat());
    house.done(&["profile", "--from", "runs/1"]);
    assert_eq!(house.shown(1)["head"]["command"], serde_json::json!(["sh -c true; true x"]));
    assert!(house.profile(&[], &words).success());
    let list = house.done(&[&["profiles", "list"], &words[..]].concat());
    assert_eq!(list.lines().count(), 3, "both: {list}");
    assert_eq!(house.syn(&["profile", "--from", "runs/1", "echo"]).status.code(), Some(2), "nothing is run");
}

/// A trace that cannot be read is missing in the profile, which says so.
#[test]
fn a_profile_of_a_damaged_run_says_what_is_missing() {
    let house = House::new();
    house.done(&["record", "-o", "runs", "--", "sh", "-c", "dd if=/dev/zero of=out count=1 status=none; :"]);
    house.done(&["profile", "--from", "runs/1"]);
    let missing = |profile: &serde_json::Value| notes(profile).contains(".trace");
    assert!(!missing(&house.shown(1)), "{}", notes(&house.shown(1)));
    let folder = std::fs::read_dir(house.path().join("runs/1")).expect("a run folder");
    let traces = folder.flatten().map(|entry| entry.path());
    let mut traces: Vec<_> =
        traces.filter(|path| path.extension().is_some_and(|end| end == "trace")).collect();
    traces.sort();
    assert_eq!(traces.len(), 2);
    std::fs::write(&traces[0], [0xa5; 200]).expect("a file");
    let output = house.syn(&["profile", "--from", "runs/1"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(3) && told.contains("warning: ") && told.contains(".trace"),
        "{told}"
    );
    let profile = house.shown(2);
    assert!(missing(&profile) && notes(&profile).contains("first process whose trace can be read"));
}

/// 5000 blocks of 1000 bytes that are held together, and 3000 more of 100 in a child.
const ALLOCATING: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    static void *held[5000];
    for (int i = 0; i < 5000; i++) held[i] = malloc(1000);
    for (int i = 0; i < 5000; i++) free(held[i]);
    if (fork() == 0) {
        for (int i = 0; i < 3000; i++) free(calloc(10, 10));
        _exit(0);
    }
    wait(NULL);
    void *block = NULL;
    for (int i = 1; i <= 10; i++) block = realloc(block, i * 3000);
    free(block);
    if (posix_memalign(&block, 4096, 5000)) return 1;
    printf("%d\n", (int)((unsigned long)block % 4096));
    return 3;
}
"#;

#[test]
fn who_allocates_nothing_is_told_from_who_cannot_be_entered() {
    let house = House::new();
    std::fs::write(house.path().join("n.c"), "int main(void) { return 0; }").expect("a file");
    let reason = |id: u32, program: &str, option: &[&str]| {
        let mut cc = std::process::Command::new("cc");
        cc.args(["-o", program, "n.c"]).args(option);
        assert!(cc.current_dir(house.path()).status().expect("a compiler").success());
        house.done(&["profile", "--no-probe", "--allocations", "--", &format!("./{program}")]);
        let profile = house.shown(id);
        let rows = profile["tail"]["metrics"]["rows"].as_array().expect("a table").clone();
        let row = rows.into_iter().find(|row| row["name"] == "memory.block").expect("a row");
        row["how"].as_str().expect("text").to_owned()
    };
    assert!(reason(1, "none", &[]).contains("took no block"));
    assert!(reason(2, "still", &["-static"]).contains("cannot be loaded"));
}

#[test]
fn allocations_are_counted_by_size_and_emulated() {
    let house = House::new();
    std::fs::write(house.path().join("a.c"), ALLOCATING).expect("a file");
    let cc =
        std::process::Command::new("cc").args(["-O0", "-o", "a", "a.c"]).current_dir(house.path()).status();
    assert!(cc.expect("a compiler").success());
    let output = house.syn(&["profile", "--no-probe", "--allocations", "--", "./a"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n");
    let profile = house.shown(1);
    let count = |profile: &serde_json::Value, bin: u64| {
        let blocks = profile["tail"]["blocks"].as_array().expect("a list");
        let block = blocks.iter().find(|block| block["kind"] == "allocate" && block["bin"] == bin);
        block.map_or(0, |block| block["count"].as_u64().expect("a number"))
    };
    assert!((5000..5010).contains(&count(&profile, 10)), "blocks of 512 to 1023 bytes");
    assert!((3000..3010).contains(&count(&profile, 7)), "a child's, of 64 to 127 bytes");
    assert!(count(&profile, 14) >= 3, "what was made larger");
    let get = |name: &str| metric(&profile, name).expect("measured");
    assert!(
        (4_960_000.0..5_500_000.0).contains(&get("memory.allocated_peak")),
        "{}",
        get("memory.allocated_peak")
    );
    let (allocated, freed) = (get("memory.allocated"), get("memory.freed"));
    // Of the last block and that of standard output nobody gives anything back.
    assert!(freed < allocated && allocated - freed < 30_000.0, "{allocated} taken, {freed} given back");
    // The emulation asks its allocator for as much.
    let syn = super::program();
    let emulate = [syn.to_str().expect("a name that is text"), "emulate", "1"];
    assert!(house.profile(&["--allocations"], &emulate).success());
    let emulation = house.shown(2);
    for bin in [7, 10] {
        let (asked, got) = (count(&profile, bin), count(&emulation, bin));
        assert!(got >= asked && got < asked + 2000, "bin {bin}: {got} of {asked}, and the emulator's own");
    }
}
