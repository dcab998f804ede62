//! An emulation consumes what was profiled.

use super::{House, metric};

const WORK: &str = r#"
import time
held = bytearray(60 << 20)
with open("out", "wb", buffering=0) as file:
    for _ in range(400):
        file.write(b"x" * 20000)
begun = time.process_time()
while time.process_time() - begun < 0.6: pass
"#;

fn near(what: &str, asked: f64, got: f64, tolerance: f64) {
    assert!((got / asked - 1.0).abs() < tolerance, "{what}: {got} of {asked}");
}

#[test]
fn cpu_bytes_and_memory_are_those_of_the_program() {
    let house = House::new();
    assert!(house.profile(&["--rate", "100"], &["python3", "-c", WORK]).success());
    let syn = super::program();
    let emulate = [syn.to_str().expect("a name that is text"), "emulate", "--report", "report.json", "1"];
    assert!(house.profile(&["--rate", "100"], &emulate).success());
    let report = std::fs::read_to_string(house.path().join("report.json")).expect("written");
    let report: serde_json::Value = serde_json::from_str(&report).expect("an object");
    let (program, emulation) = (house.shown(1), house.shown(2));
    let get = |profile, name| metric(profile, name).expect("measured");
    near(
        "CPU time",
        get(&program, "cpu.time"),
        report["consumed"]["cpu_ns"].as_f64().expect("a number") / 1e9,
        0.05,
    );
    assert_eq!(report["consumed"]["bytes"][1].as_f64(), metric(&program, "storage.bytes_written"));
    near("memory", get(&program, "memory.peak"), get(&emulation, "memory.peak"), 0.1);
    let compare = house.done(&["profiles", "compare", "1", "2"]);
    assert!(compare.contains("write_bytes") && compare.contains("cpu_ns"), "{compare}");
    // Without what the emulator does before and afterwards: its own reads are less than those of Python at its start.
    let compared = |report: &str| house.syn(&["profiles", "compare", "--emulation", report, "1", "2"]);
    let emulation_alone = String::from_utf8(compared("report.json").stdout).expect("text");
    let second = |table: &str, row: &str| -> f64 {
        let line = table.lines().find(|line| line.starts_with(row)).expect(row);
        line.split_ascii_whitespace().nth(2).expect("a column for each").parse().expect("a number")
    };
    near(
        "run time",
        report["emulated_s"][0].as_f64().expect("a number"),
        second(&emulation_alone, "run_time_s"),
        1e-6,
    );
    assert!(
        second(&emulation_alone, "read_bytes") < second(&compare, "read_bytes"),
        "{compare}{emulation_alone}"
    );
    // Some thousand bytes are the emulator's own, which are much of what a small Python reads.
    let (asked, got) = (get(&program, "storage.bytes_read"), second(&emulation_alone, "read_bytes"));
    assert!((got - asked).abs() < asked * 0.05 + 16384.0, "bytes read: {got} of {asked}");
    house.done(&["emulate", "--report", "other.json", "1"]);
    for (name, why) in
        [("other.json", "is not of the emulation"), ("out", "is no report"), ("none", "cannot read")]
    {
        let refused = compared(name);
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(1) && error.contains(why), "{name}: {error}");
    }
}

#[test]
fn tunables_change_what_they_say() {
    let house = House::new();
    assert!(house.profile(&["--rate", "100"], &["python3", "-c", WORK]).success());
    let report = |options: &[&str]| -> serde_json::Value {
        house.done(&[&["emulate", "--report", "r.json"], options, &["1"]].concat());
        serde_json::from_str(&std::fs::read_to_string(house.path().join("r.json")).expect("written"))
            .expect("an object")
    };
    let number = |report: &serde_json::Value, place: &str| {
        report.pointer(place).and_then(|value| value.as_f64()).expect(place)
    };
    let plain = report(&[]);
    let half = report(&["--scale", "cpu=0.5", "--scale", "storage=0.5"]);
    near(
        "half the CPU time",
        number(&plain, "/consumed/cpu_ns") / 2.0,
        number(&half, "/consumed/cpu_ns"),
        0.05,
    );
    near(
        "half the bytes",
        number(&plain, "/consumed/bytes/1") / 2.0,
        number(&half, "/consumed/bytes/1"),
        0.02,
    );
    let wide = report(&[
        "--processes",
        "2",
        "--threads",
        "2",
        "--block",
        "4096",
        "--kernel",
        "float",
        "--efficiency",
        "0.7",
    ]);
    near(
        "CPU time by four threads",
        number(&plain, "/consumed/cpu_ns"),
        number(&wide, "/consumed/cpu_ns"),
        0.08,
    );
    assert_eq!(number(&plain, "/consumed/bytes/1"), number(&wide, "/consumed/bytes/1"));
    let drawn = [1, 2].map(|_| {
        number(&report(&["--vary", "cpu=0.3", "--seed", "5", "--which", "drawn"]), "/consumed/cpu_ns")
    });
    near("the same seed", drawn[0], drawn[1], 0.05);
    assert!((drawn[0] / number(&plain, "/consumed/cpu_ns") - 1.0).abs() > 0.02, "something was drawn");
}

#[test]
fn messages_go_to_a_partner_and_come_back() {
    let house = House::new();
    let talk = r#"
import socket, threading, time
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
other, _ = server.accept()
def take():
    left = 5000000
    while left: left -= len(other.recv(65536))
thread = threading.Thread(target=take); thread.start()
client.sendall(b"x" * 5000000); thread.join(); time.sleep(0.2)
"#;
    assert!(house.profile(&["--rate", "50"], &["python3", "-c", talk]).success());
    let profile = house.shown(1);
    assert_eq!(metric(&profile, "network.bytes_inner"), Some(5_000_000.0), "both ends are the program's");
    let told = house.done(&["emulate", "1"]);
    assert!(told.contains("5000000 within"), "{told}");
    let told = house.done(&["emulate", "--scale", "network=2", "1"]);
    assert!(told.contains("10000000 within"), "{told}");
}

#[test]
fn messages_that_were_written_are_written_again() {
    let house = House::new();
    let talk = r#"
import os, socket, time
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
other, _ = server.accept()
for _ in range(500):
    os.write(client.fileno(), b"x" * 10000)
    left = 10000
    while left: left -= len(os.read(other.fileno(), left))
time.sleep(0.2)
"#;
    assert!(house.profile(&["--rate", "50"], &["python3", "-c", talk]).success());
    let profile = house.shown(1);
    let files = profile["tail"]["files"].as_array().expect("a list");
    let ends = files.iter().filter(|file| file["system"] == "socket").count();
    assert_eq!(ends, 2, "both ends of the connection: {files:?}");
    let told = house.done(&["emulate", "1"]);
    assert!(told.contains("5000000 within"), "{told}");
    let written: f64 = told
        .split(" written")
        .next()
        .and_then(|text| text.rsplit(' ').next())
        .expect("a number")
        .parse()
        .expect("a number");
    assert!(written < 100_000.0, "messages go to no file: {told}");
    let syn = super::program();
    let emulate = [syn.to_str().expect("a name that is text"), "emulate", "1"];
    assert!(house.profile(&["--rate", "50"], &emulate).success());
    for name in ["storage.bytes_written", "storage.bytes_read"] {
        let [asked, got] =
            [&profile, &house.shown(2)].map(|profile| metric(profile, name).expect("measured"));
        near(name, asked, got, 0.1);
    }
}

#[test]
fn idle_time_is_kept_when_it_is_asked_for() {
    let house = House::new();
    assert!(house.profile(&["--rate", "100"], &["python3", "-c", "import time; time.sleep(0.8)"]).success());
    let took = |options: &[&str]| -> f64 {
        let told = house.done(&[&["emulate", "--report", "r.json"], options, &["1"]].concat());
        // Who leaves it out says so.
        assert_eq!(told.contains("--keep-idle keeps it"), options.is_empty(), "{told}");
        let text = std::fs::read_to_string(house.path().join("r.json")).expect("written");
        let report: serde_json::Value = serde_json::from_str(&text).expect("an object");
        report["emulated_s"][0].as_f64().expect("a number")
    };
    assert!(took(&[]) < 0.8);
    assert!(took(&["--keep-idle"]) >= 0.8);
    // Half the computing does not make it sleep less.
    assert!(took(&["--keep-idle", "--scale", "cpu=0.5"]) >= 0.8);
    assert_eq!(house.syn(&["emulate", "--keep-idle", "--keep-time", "1"]).status.code(), Some(2));
}

#[test]
fn load_is_held_without_a_profile() {
    let house = House::new();
    let told = house.done(&["emulate", "--load", "cpu=20%", "--seconds", "2"]);
    assert!(told.contains("of 20.00 % asked for"), "{told}");
    assert_eq!(house.syn(&["emulate", "--load", "cpu=120%"]).status.code(), Some(2));
}

/// `syn emulate 1` as one of some ranks; the reports of those that wrote one.
fn reports_of_ranks(house: &House, mut command: std::process::Command) -> Vec<serde_json::Value> {
    command.current_dir(house.path()).env("SYN_PROFILES", house.path().join("profiles.db"));
    let output = command.output().expect("it can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(house.path().join("rank.json")).expect("written");
    let told = String::from_utf8_lossy(&output.stdout).matches("emulated ").count();
    vec![serde_json::from_str(&text).expect("an object"); told]
}

/// Built with MPI the ranks replay one plan together, and one of them reports; without it each does its part by itself.
#[test]
fn ranks_of_a_job_take_their_parts() {
    let house = House::new();
    assert!(house.profile(&["--rate", "100"], &["python3", "-c", WORK]).success());
    let cpu = metric(&house.shown(1), "cpu.time").expect("measured");
    let mut command = std::process::Command::new("mpirun");
    command.args(["-np", "2"]).arg(super::program()).args(["emulate", "--report", "rank.json", "1"]);
    let reports = reports_of_ranks(&house, command);
    let (count, part) = if syn_replay::RANKS_TOGETHER { (1, 1.0) } else { (2, 0.5) };
    assert_eq!(reports.len(), count);
    let consumed =
        |report: &serde_json::Value| report["consumed"]["cpu_ns"].as_f64().expect("a number") / 1e9;
    // Ranks look for messages while they wait, which is CPU time, and more of it on a crowded machine.
    let used = consumed(&reports[0]) / (cpu * part);
    assert!((0.95..2.0).contains(&used), "{used} of the ranks' part");
    let mut wide = std::process::Command::new("mpirun");
    wide.args(["-np", "2"]).arg(super::program());
    wide.args(["emulate", "--processes", "2", "--threads", "2", "--report", "rank.json", "1"]);
    let reports = reports_of_ranks(&house, wide);
    let used = consumed(&reports[0]) / (cpu * part);
    assert!((0.95..2.0).contains(&used), "{used} of the part of ranks with four threads each");
    let mut local = std::process::Command::new(super::program());
    local.args(["emulate", "--ranks", "3", "--report", "rank.json", "1"]);
    let reports = reports_of_ranks(&house, local);
    near("three ranks here", cpu, consumed(&reports[0]), 0.1);
    // Each rank rounds the bytes of each step.
    near("their bytes", 8e6, reports[0]["consumed"]["bytes"][1].as_f64().expect("a number"), 0.01);
}

/// What `syn info` says of the plan `app.syn`; that waiting is not explained needs a look.
fn info(house: &House) -> serde_json::Value {
    let output = house.syn(&["info", "--json", "app.syn"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("an object")
}

#[test]
fn a_profile_is_a_plan_like_any_other() {
    let house = House::new();
    assert!(house.profile(&["--rate", "100"], &["python3", "-c", WORK]).success());
    house.done(&["emulate", "--plan", "app.syn", "1"]);
    house.done(&["check", "app.syn"]);
    let info = info(&house);
    assert!(
        info["calls"]["busy"].as_u64() > Some(20) && info["calls"]["write"].as_u64() >= Some(400),
        "{info}"
    );
    let replay = house.syn(&["replay", "--storage", ".", "--report", "replay.json", "app.syn"]);
    // Waiting that nobody observed needs a look.
    assert!(matches!(replay.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&replay.stderr));
    let text = std::fs::read_to_string(house.path().join("replay.json")).expect("written");
    let report: serde_json::Value = serde_json::from_str(&text).expect("an object");
    let work = report["balance"]["replayed"]["work_s"].as_f64().expect("a number");
    near("its work", metric(&house.shown(1), "cpu.time").expect("measured"), work, 0.1);
    assert_eq!(
        std::fs::read_dir(house.path())
            .expect("a folder")
            .flatten()
            .filter(|entry| entry.path().is_dir())
            .count(),
        0
    );
}

#[test]
fn syncs_seeks_and_names_are_emulated_as_often() {
    let house = House::new();
    let calls = r#"
import os, time
for number in range(6):
    with open("file%d" % number, "wb", buffering=0) as file:
        for _ in range(4):
            file.seek(0); file.write(b"x" * 5000); os.fsync(file.fileno())
    for _ in range(10): os.stat("file%d" % number)
    os.rename("file%d" % number, "other"); os.unlink("other")
    time.sleep(0.03)
"#;
    assert!(house.profile(&["--rate", "50", "--shim"], &["python3", "-c", calls]).success());
    house.done(&["emulate", "--plan", "app.syn", "1"]);
    let info = info(&house);
    let count = |name: &str| info["calls"][name].as_u64().unwrap_or(0);
    assert_eq!(count("fsync"), 24);
    assert!(count("lseek") >= 24 && count("stat") >= 60 && count("open") >= 6 + 2, "{info}");
    // Twelve changes; who writes an odd number into a sample gets one more there.
    assert!((12..=24).contains(&(count("mknod") + count("unlink"))), "{info}");
    let told = house.done(&["emulate", "1"]);
    assert!(told.contains("written"), "{told}");
}

#[test]
fn a_prediction_for_the_same_machine_is_about_what_was_recorded() {
    let house = House::new();
    house.done(&["profile", "--probe", "--rate", "100", "--", "python3", "-c", WORK]);
    let told = house.done(&["predict", "1"]);
    let number = |behind: &str| -> f64 {
        let text = told.split(behind).nth(1).unwrap_or_else(|| panic!("{behind} in {told}"));
        text.split_whitespace().next().expect("a number").parse().expect("a number")
    };
    // Loops run at another speed beside other programs: this says that it is no multiple.
    let ratio = number("expected here ") / number("recorded ");
    assert!((0.4..2.5).contains(&ratio), "{told}");
}

/// What is written over takes room once, what is written to many files takes it in each.
#[test]
fn an_emulation_takes_the_room_that_the_program_took() {
    let house = House::new();
    let room = |id, script: &str| {
        assert!(house.profile(&["--rate", "100"], &["python3", "-c", script]).success());
        let profile = house.shown(id);
        near("written", 134_217_728.0, metric(&profile, "storage.bytes_written").expect("measured"), 0.001);
        metric(&profile, "storage.room").expect("measured")
    };
    // So slowly that the profiler sees it on a busy machine as well.
    let write = "
import time
def write(name, pieces):
    with open(name, 'wb', buffering=0) as file:
        for _ in range(pieces):
            file.write(bytes(1 << 20))
            time.sleep(0.025)
";
    let over = room(1, &format!("{write}for n in range(4): write('one', 32)"));
    assert!((33_554_432.0..50_000_000.0).contains(&over), "{over} bytes of 32 MiB, four times");
    near("many files", 134_217_728.0, room(2, &format!("{write}for n in range(32): write(str(n), 4)")), 0.02);
    house.done(&["emulate", "--dir", ".", "--plan", "one.plan", "1"]);
    let dump = house.done(&["dump", "--json", "one.plan"]);
    let begins = dump.lines().filter(|line| line.contains("Seek") || line.contains("seek")).count();
    assert!((2..5).contains(&begins), "the file begins anew {begins} times");
}
