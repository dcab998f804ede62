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
    assert!(house.profile(&["--rate", "20"], &["env", "-i", "/bin/sleep", "0.3"]).success());
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
    assert_eq!(out.expect("the file is listed")["bytes"][1], 1_228_800);
    // The same from a run folder, with samples that know their sizes.
    house.done(&["record", "-o", "runs", "--", "sh", "-c", write]);
    house.done(&["profile", "--from", "runs/1", "--tag", "from=run"]);
    let recorded = house.shown(2);
    assert_eq!(recorded["tail"]["totals"][10], 1_228_800, "bytes written");
    assert!(recorded["tail"]["blocks"].as_array().expect("a list").iter().any(|block| whole(&block)));
    let told = house.done(&["emulate", "--tag", "from=run"]);
    assert!(told.contains("1228800 written"), "{told}");
}
