//! `syn record`: run folders, environment, exit codes and signals. Recording itself is tested with the shim, in `tests/`.

mod support;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use support::{Folder, Said, rank, syn};

/// A folder with a file that passes for the shim: the loader cannot load it, says so, and goes on.
fn folder_with_shim() -> (Folder, PathBuf) {
    let folder = Folder::new();
    let shim = folder.path().join("libsynshim.so");
    fs::write(&shim, b"").unwrap();
    (folder, shim)
}

fn record(folder: &Folder, args: &[&str]) -> Command {
    let mut command = syn();
    command.current_dir(folder.path()).args(["record", "--shim", "libsynshim.so"]).args(args);
    command
}

fn said(mut command: Command) -> Said {
    Said::of(command.output().unwrap())
}

#[test]
fn the_command_sees_the_shim_and_its_run_folder() {
    let (folder, shim) = folder_with_shim();
    let mut command = record(&folder, &["--", "sh", "-c", "echo $SYN_RUN; echo $LD_PRELOAD"]);
    command.env("LD_PRELOAD", "/other.so");
    let said = said(command).code(0).err_has(&["nothing was recorded", "runs/1"]);
    let root = folder.path().canonicalize().unwrap();
    let shim = shim.canonicalize().unwrap();
    assert_eq!(said.out, format!("{}\n{}:/other.so\n", root.join("runs/1").display(), shim.display()));
    assert!(root.join("runs/1").is_dir());
}

#[test]
fn run_folders_are_numbered_on() {
    let (folder, _) = folder_with_shim();
    fs::create_dir_all(folder.path().join("mine/7")).unwrap();
    fs::write(folder.path().join("mine/notes"), "").unwrap();
    said(record(&folder, &["-o", "mine", "--repeat", "2", "true"])).code(0);
    assert!(folder.path().join("mine/8").is_dir() && folder.path().join("mine/9").is_dir());
    said(record(&folder, &["-o", "mine", "--repeat", "3", "false"])).code(1);
    assert!(folder.path().join("mine/10").is_dir() && !folder.path().join("mine/11").exists());
}

#[test]
fn commands_join_one_run_folder() {
    let (folder, _) = folder_with_shim();
    let show = ["--join", "-o", "mine/together", "--", "sh", "-c", "echo $SYN_RUN $SYN_JOB"];
    let root = folder.path().canonicalize().unwrap().join("mine/together");
    let line = format!("{0} {0}\n", root.display());
    for _ in 0..2 {
        assert_eq!(said(record(&folder, &show)).code(0).err_has(&["together is empty"]).out, line);
    }
    assert_eq!(fs::read_dir(folder.path().join("mine")).unwrap().count(), 1, "no numbered folder beside it");
    rank(0).write(&root).unwrap();
    said(record(&folder, &show)).code(0).err_has(&["nothing was recorded", "together is as it was"]);
    said(record(&folder, &["--join", "--repeat", "2", "true"])).code(2);
}

#[test]
fn the_exit_code_is_the_commands() {
    let (folder, _) = folder_with_shim();
    said(record(&folder, &["--", "sh", "-c", "exit 42"])).code(42);
    said(record(&folder, &["--", "sh", "-c", "kill -9 $$"])).code(128 + 9);
    said(record(&folder, &["no-such-command-anywhere"]))
        .code(127)
        .err_has(&["cannot run no-such-command-anywhere"]);
    said(record(&folder, &["/etc/passwd"])).code(126).err_has(&["Permission denied"]);
    assert!(!folder.path().join("runs/3").exists(), "a command that did not start leaves no folder");
}

#[test]
fn the_commands_own_options_stay_its_own() {
    let (folder, _) = folder_with_shim();
    assert_eq!(
        said(record(&folder, &["echo", "-o", "--repeat", "--", "x"])).code(0).out,
        "-o --repeat -- x\n"
    );
}

#[test]
fn without_a_shim_nothing_is_run() {
    let folder = Folder::new();
    let mut command = syn();
    command.current_dir(folder.path()).args(["record", "--shim", "missing.so", "touch", "ran"]);
    said(command).code(1).err_has(&["cannot find the shim", "missing.so", "SYN_SHIM"]);
    assert!(!folder.path().join("ran").exists() && !folder.path().join("runs").exists());
    fs::create_dir(folder.path().join("a b")).unwrap();
    fs::write(folder.path().join("a b/shim.so"), b"").unwrap();
    let mut command = syn();
    command.current_dir(folder.path()).args(["record", "--shim", "a b/shim.so", "true"]);
    said(command).code(1).err_has(&["spaces and colons"]);
}

/// A script that is being recorded, not in the foreground of a terminal, where SIGINT would count as the terminal's own.
fn running(folder: &Folder, script: &str) -> Child {
    let mut command = record(folder, &["--", "sh", "-c", script]);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_signal_reaches_the_command_and_the_run_is_still_told_about() {
    let (folder, _) = folder_with_shim();
    for (signal, name) in [(Signal::TERM, "TERM"), (Signal::INT, "INT"), (Signal::USR1, "USR1")] {
        let script = format!("trap 'echo caught; exit 7' {name}; echo ready; read line");
        let mut child = running(&folder, &script);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "caught");
        // Held open until now, so that only the signal can have ended the read.
        drop(child.stdin.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(7));
        assert!(String::from_utf8_lossy(&output.stderr).contains("syn: "));
    }
}

/// As a terminal does it: the command may be gone before the signal is seen here.
#[test]
fn a_signal_to_all_of_the_process_group_leaves_the_run_told_about() {
    let (folder, _) = folder_with_shim();
    for _ in 0..20 {
        let mut child = running(&folder, "echo ready; exec sleep 30");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        assert!(String::from_utf8_lossy(&output.stderr).contains("nothing was recorded"), "{output:?}");
    }
}
