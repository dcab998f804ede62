//! All processes of one job land in one run folder, whoever got the library: the launcher, or only the ranks.

use std::path::Path;
use syn_trace::Run;
use tests::{Job, copy_program, mpirun, program, shim};

/// A rank need not call MPI.
const RANK: [&str; 2] = ["sleep", "0.01"];
const RANKS: usize = 4;

/// How the ranks get the library.
#[derive(Clone, Copy, Debug)]
enum Given {
    ToLauncher,
    ByLauncher,
    ByEnv,
}

fn hydra(given: Given, run: Option<&str>) -> Job {
    started(Job::new("mpiexec.hydra").args(["-n", "4"]), "-genv", given, run)
}

fn open_mpi(given: Given, run: Option<&str>) -> Job {
    started(mpirun(RANKS as u32), "-x", given, run)
}

/// `option` gives ranks a variable; Hydra takes name and value as two words.
fn started(launcher: Job, option: &str, given: Given, run: Option<&str>) -> Job {
    let library = shim().into_os_string().into_string().expect("a path in UTF-8");
    let variables = [Some(("LD_PRELOAD", library)), run.map(|run| ("SYN_RUN", run.to_owned()))];
    let variables = variables.into_iter().flatten();
    let job = match given {
        Given::ToLauncher => variables.fold(launcher, |job, (name, value)| job.env(name, value)),
        Given::ByLauncher if option == "-genv" => {
            variables.fold(launcher, |job, (name, value)| job.args([option, name, &value]))
        }
        Given::ByLauncher => {
            variables.fold(launcher, |job, (name, value)| job.args([option, &format!("{name}={value}")]))
        }
        Given::ByEnv => {
            variables.fold(launcher.arg("env"), |job, (name, value)| job.arg(format!("{name}={value}")))
        }
    };
    job.args(RANK)
}

/// How many ranks are on record in a run folder.
fn ranks_in(folder: &Path) -> usize {
    let run = Run::open(folder).expect("a run folder");
    run.processes.iter().filter(|process| process.command == RANK.join(" ")).count()
}

/// The folders in `folder`, in the order of their names.
fn folders_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}

/// Starts the job so often, and demands a folder with all ranks for each time.
fn one_folder_each_time(job: &Job, times: usize, default_name: bool) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    for _ in 0..times {
        assert_eq!(job.run_in(folder.path()).succeeded().stderr, "");
    }
    let place = if default_name { folder.path().join("runs") } else { folder.path().to_owned() };
    // Open MPI may leave folders of its own.
    let names: Vec<String> =
        folders_in(&place).into_iter().filter(|name| default_name || name.starts_with("run")).collect();
    let found: Vec<usize> = names.iter().map(|name| ranks_in(&place.join(name))).collect();
    assert_eq!(found, vec![RANKS; times], "{job:?}: {names:?}");
}

#[test]
fn ranks_that_hydra_starts_share_a_folder() {
    for given in [Given::ToLauncher, Given::ByLauncher, Given::ByEnv] {
        one_folder_each_time(&hydra(given, Some("run")), 20, false);
        one_folder_each_time(&hydra(given, None), 5, true);
    }
}

#[test]
fn ranks_that_open_mpi_starts_share_a_folder() {
    for given in [Given::ToLauncher, Given::ByLauncher, Given::ByEnv] {
        one_folder_each_time(&open_mpi(given, Some("run")), 4, false);
        one_folder_each_time(&open_mpi(given, None), 2, true);
    }
}

/// Whether a host of another name can be made here.
fn may_rename_hosts() -> bool {
    let probe = ["--user", "--map-root-user", "--uts", "sh", "-c", "echo one >/proc/sys/kernel/hostname"];
    let outcome = Job::new("unshare").args(probe).run_in(Path::new("/"));
    if !outcome.status.success() {
        eprintln!("left out: namespaces are not allowed here: {}", outcome.stderr.trim());
    }
    outcome.status.success()
}

/// A launcher that records makes the folder, and cannot hand it down to other hosts: their ranks come in by its name. Ranks of
/// another job do not, nor any on the launcher's own host to which it has handed nothing down.
#[test]
fn ranks_on_other_hosts_come_to_the_launchers_folder() {
    const ON_HOST: &str = r#"echo "$0" >/proc/sys/kernel/hostname; exec "$@""#;
    if !may_rename_hosts() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let launcher = folder.path().join("mpirun");
    copy_program(program("failures"), &launcher);
    let run = |job: &Job| assert_eq!(job.run_in(folder.path()).succeeded().stderr, "");
    run(&Job::new(&launcher).arg("exec").env("LD_PRELOAD", shim()).env("SYN_RUN", "run"));
    let rank = |of: &str| {
        let library = shim().into_os_string().into_string().expect("a path in UTF-8");
        let variables =
            [format!("LD_PRELOAD={library}"), "SYN_RUN=run".into(), format!("PMIX_NAMESPACE={of}")];
        Job::new("env").args(variables).args(RANK)
    };
    run(&rank("here@1"));
    for of in ["one@1", "one@1", "two@1", "one@1"] {
        let elsewhere = ["--user", "--map-root-user", "--uts", "sh", "-c", ON_HOST, "elsewhere"];
        run(&Job::new("unshare").args(elsewhere).followed_by(&rank(of)));
    }
    let names = folders_in(folder.path());
    let found: Vec<usize> = names.iter().map(|name| ranks_in(&folder.path().join(name))).collect();
    assert_eq!(
        (names, found),
        (["run", "run-here-1", "run-two-1"].map(str::to_owned).to_vec(), vec![3, 1, 1])
    );
}

/// An empty folder that was there is taken by all ranks, one with something else in it by none.
#[test]
fn folders_that_were_there() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    std::fs::create_dir(folder.path().join("run")).expect("a folder");
    let job = hydra(Given::ByEnv, Some("run"));
    assert_eq!(job.run_in(folder.path()).succeeded().stderr, "");
    assert_eq!(
        (folders_in(folder.path()), ranks_in(&folder.path().join("run"))),
        (vec!["run".to_owned()], RANKS)
    );

    let folder = tempfile::tempdir().expect("a folder for temporary files");
    std::fs::create_dir(folder.path().join("run")).expect("a folder");
    std::fs::write(folder.path().join("run/file"), "in the way").expect("a file");
    assert_eq!(job.run_in(folder.path()).succeeded().stderr, "");
    let names = folders_in(folder.path());
    assert!(names.len() == 2 && names[1].starts_with("run-hydra-"), "{names:?}");
    assert_eq!(ranks_in(&folder.path().join(&names[1])), RANKS);
}

/// Two hosts, as far as names tell: the launcher reaches them by a command that is called as ssh is.
#[test]
fn hosts_with_one_file_system_share_a_folder() {
    const REMOTE_SHELL: &str = r#"#!/bin/sh
while case $1 in -*) true ;; *) false ;; esac; do shift; done
host=$1
shift
exec unshare --user --map-root-user --uts sh -c 'echo "$0" >/proc/sys/kernel/hostname; exec sh -c "$*"' "$host" "$@"
"#;
    if !may_rename_hosts() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let shell = folder.path().join("remote-shell");
    std::fs::write(&shell, REMOTE_SHELL).expect("a script");
    std::fs::set_permissions(&shell, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("its mode");
    let launcher = Job::new("mpiexec.hydra").args(["-launcher", "ssh", "-launcher-exec"]).arg(&shell);
    let launcher = launcher.args(["-localhost", "127.0.0.1", "-hosts", "one,two", "-n", "4"]);
    let job = started(launcher, "-genv", Given::ByEnv, Some("run"));
    for _ in 0..3 {
        assert_eq!(job.run_in(folder.path()).succeeded().stderr, "");
    }
    let names = folders_in(folder.path());
    let names: Vec<String> = names.into_iter().filter(|name| name.starts_with("run")).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    for name in names {
        let run = Run::open(folder.path().join(&name)).expect("a run folder");
        let ranks = run.processes.iter().filter(|process| process.command == RANK.join(" "));
        let mut hosts: Vec<&str> = ranks.map(|process| process.host.as_str()).collect();
        hosts.sort_unstable();
        assert_eq!(hosts, ["one", "one", "two", "two"]);
    }
}
