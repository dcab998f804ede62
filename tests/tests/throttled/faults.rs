//! Whatever becomes of a watchdog or of who is held, the command ends as it would have.

use super::{statements, throttled};
use std::process::{Command, Stdio};
use std::time::Duration;
use tests::{Job, program, shim, syn};

/// The watchdog that the manager has started, once it has.
fn watchdog_of(manager: u32) -> u32 {
    let is_watchdog = |pid: &u32| {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.split(|&byte| byte == 0).nth(1) == Some(b"watchdog")
    };
    let children = format!("/proc/{manager}/task/{manager}/children");
    for _ in 0..6000 {
        let listed = std::fs::read_to_string(&children).unwrap_or_default();
        let pids = listed.split(' ').filter_map(|pid| pid.parse().ok());
        if let Some(found) = pids.into_iter().find(is_watchdog) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the manager has started no watchdog");
}

#[test]
fn without_a_watchdog_nobody_waits() {
    without_a_watchdog(&[]);
}

/// Signals come more often than a held thread looks for the watchdog.
#[test]
fn without_a_watchdog_nobody_waits_amid_signals() {
    without_a_watchdog(&["--alarms"]);
}

fn without_a_watchdog(more: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let spin = Job::new(program("spin")).args(["--rounds", "20", "--compute", "100000"]).args(more);
    let options = ["-o", "runs", "--throttle=1", "--bound", "100"];
    let record = syn().arg("record").arg("--shim").arg(shim()).args(options).arg("--").followed_by(&spin);
    let mut command = record.command_in(folder.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let manager = command.spawn().expect("the manager can be started");
    let dog = watchdog_of(manager.id());
    let killed = Command::new("kill").args(["-9", &dog.to_string()]).status();
    assert!(killed.expect("kill can be started").success());
    let outcome = manager.wait_with_output().expect("it ends");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&outcome.stdout), String::from_utf8_lossy(&outcome.stderr));
    assert!(outcome.status.success(), "{stderr}");
    assert!(stderr.contains("the watchdog was lost"), "{stderr}");
    assert_eq!(stdout, "spin: 40 turns\nspin: 40 turns\n");
}

/// Who is held is killed, and nothing waits for it any longer.
#[test]
fn one_that_is_held_may_be_killed() {
    const KILLS: &str =
        "dd if=/dev/zero of=copy bs=1 count=1000000 2>/dev/null & sleep 0.3; kill -9 $!; wait; echo done";
    let folder = tempfile::tempdir().expect("a folder");
    let outcome =
        throttled(folder.path(), &["--throttle=all"], &Job::new("sh").args(["-c", KILLS])).succeeded();
    let statements = statements(folder.path());
    // The shell and its two children, and the plain run.
    assert_eq!(outcome.stdout, "done\n".repeat(1 + statements.len()));
    assert!(statements.len() >= 3, "{}", outcome.stderr);
    for statement in statements {
        assert_eq!((&statement["watchdog_lost"], &statement["exit_code"]), (&false.into(), &0.into()));
    }
}
