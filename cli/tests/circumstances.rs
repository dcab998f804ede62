//! `syn record` where things are not as usual: limits, a folder that goes away, children and ignored signals that it has from whoever
//! started it, a recorder around it.

mod support;

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
use std::process::Command;
use support::{Folder, Said, syn};

const BACKENDS: [&str; 2] = ["shim", "ptrace"];

/// A file that passes for the shim: the loader cannot load it, says so, and goes on.
fn folder() -> Folder {
    let folder = Folder::new();
    fs::write(folder.path().join("libsynshim.so"), b"").unwrap();
    folder
}

/// A shell that runs `before`, and then becomes the recorder of a shell that runs `script`.
fn record_after(folder: &Path, before: &str, backend: &str, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.current_dir(folder).args(["-c", &format!("{before}\nexec \"$@\""), "sh"]);
    command.arg(syn().get_program()).args(["record", "--shim", "libsynshim.so", "--backend", backend]);
    command.args(["--", "sh", "-c", script]).env_remove("LD_PRELOAD");
    command
}

fn said(mut command: Command) -> Said {
    Said::of(command.output().unwrap())
}

#[test]
fn signals_are_ignored_as_they_were() {
    let folder = folder();
    for backend in BACKENDS {
        for (before, expected) in [("", 0), ("trap '' PIPE", 1 << 12), ("trap '' XFSZ", 1 << 24)] {
            let said =
                said(record_after(folder.path(), before, backend, "grep SigIgn: /proc/self/status")).code(0);
            let mask = said.out.trim_start_matches("SigIgn:").trim();
            let mask = u64::from_str_radix(mask, 16).expect(mask);
            assert_eq!(mask & (1 << 12 | 1 << 24), expected, "{backend}, {before:?}");
        }
    }
}

#[test]
fn a_child_that_was_there_before_is_not_waited_for() {
    let folder = folder();
    let helper = "sleep 100 >/dev/null 2>&1 &\necho $! >helper";
    for backend in BACKENDS {
        let said = said(record_after(folder.path(), helper, backend, "exit 5"));
        let helper = fs::read_to_string(folder.path().join("helper")).unwrap().trim().parse().unwrap();
        kill_process(Pid::from_raw(helper).unwrap(), Signal::KILL).expect("the helper has not ended");
        said.code(5);
    }
}

/// A trace that may not be longer ends; the command goes on.
#[test]
fn the_limit_of_a_files_size() {
    let folder = folder();
    let script = "i=0; while [ $i -lt 3000 ]; do : </dev/null; i=$((i+1)); done; exit 7";
    said(record_after(folder.path(), "ulimit -f 56", "ptrace", script))
        .code(7)
        .err_has(&["recorded", "records dropped"]);
}

#[test]
fn traces_that_cannot_be_made() {
    let folder = folder();
    let script = "mv runs/1 gone; env true; mv gone runs/1; exit 7";
    said(record_after(folder.path(), "", "ptrace", script)).code(7).err_has(&["traces could not be made"]);
    let statement = fs::read_to_string(folder.path().join("runs/1/completeness.txt")).unwrap();
    assert!(statement.contains("Not recorded: "), "{statement}");
    assert!(statement.contains("Something was missed"), "{statement}");
}

#[test]
fn the_run_folder_goes_away() {
    let folder = folder();
    for backend in BACKENDS {
        said(record_after(folder.path(), "", backend, "rm -r runs; env true; exit 7"))
            .code(7)
            .err_has(&["warning: "]);
    }
}

#[test]
fn switched_off_by_the_environment() {
    let folder = folder();
    for backend in BACKENDS {
        let said = said(record_after(folder.path(), "export SYN_OFF=1", backend, "exit 7"))
            .code(7)
            .err_has(&["nothing was recorded: SYN_OFF is set"]);
        assert!(!said.err.contains("cleared environment"), "{}", said.err);
    }
}

/// The job of whoever records this program is not the command's.
#[test]
fn recorded_within_a_recorded_job() {
    let folder = folder();
    let before = "export SYN_JOB=/outer SYN_THROTTLE=1";
    let said = said(record_after(folder.path(), before, "shim", "echo $SYN_RUN $SYN_JOB $SYN_THROTTLE"));
    let run = folder.path().canonicalize().unwrap().join("runs/1");
    assert_eq!(said.code(0).out, format!("{0} {0}\n", run.display()));
}
