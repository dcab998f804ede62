//! Two hosts. On the other one a process stands for its remote shell's daemon: nothing of the job's environment reaches it.

use super::{plan, runs, statements, unordered};
use serde_json::{Value, json};
use std::path::Path;
use syn_plan::Rule;
use tests::{Job, Outcome, copy_program, hosts, program, shim, syn, writes};

/// A host, and a command line for it.
const REMOTE_SHELL: &str = r#"exec nsenter --target $PEER --net --uts sh -c "$2""#;
/// One process here, one there, which spin for a word in a file that both map.
const JOB: &str = r#"
: >word
echo "cd $PWD; env LD_PRELOAD=$LIBRARY SYN_RUN=$SYN_RUN PMIX_NAMESPACE=job $SPIN --word word --place 1 $*; echo \$? >answers" >requests
$SPIN --word word --place 0 $*
read -r code <answers
exit $code
"#;

/// `syn record --throttle` of the job on two hosts, with these remote shell and front of the job.
fn job(folder: &Path, options: &[&str], remote_shell: &str, first: &str, rounds: &str) -> Job {
    let script = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("a script");
        folder.join(name)
    };
    // A launcher, as far as its name tells: ranks on other hosts come to its folder.
    copy_program("/bin/sh", &folder.join("mpirun"));
    let shell = script("remote-shell", remote_shell);
    let record = syn().arg("record").arg("--shim").arg(shim()).args(["-o", "runs", "--bound", "100"]);
    let record = record.args(["--watchdog-address", "10.77.0.1", "--remote-shell"]);
    let record = record.arg(format!("sh {}", shell.display())).args(options).arg("--");
    let record = record.args(["./mpirun", "-c", "exec sh job \"$@\"", "job", "--rounds", rounds]);
    script("job", &(first.to_owned() + JOB));
    hosts::on_two(folder, &[]).followed_by(&record).env("LIBRARY", shim()).env("SPIN", program("spin"))
}

fn lost(outcome: &Outcome, folder: &Path) -> Value {
    let statements = statements(folder);
    assert_eq!(statements.len(), 1, "{}", outcome.stderr);
    assert_eq!(statements[0]["watchdog_lost"], true, "{}", outcome.stderr);
    let run = runs(folder).pop().expect("the throttled run");
    let words: Vec<u64> =
        ["a", "b"].map(|name| std::fs::metadata(folder.join(name)).expect("written").len()).into();
    assert_eq!(words, [20 * 5, 20 * 5]);
    assert!(!run.join("watchdog-secret").exists());
    statements[0].clone()
}

/// As on one host: time tells, so there are three tries.
#[test]
fn spinning_is_found_across_hosts() {
    if !hosts::are_allowed() {
        return;
    }
    let mut missed = Vec::new();
    for _ in 0..3 {
        let folder = tempfile::tempdir().expect("a folder");
        let job = job(folder.path(), &["--throttle=all"], REMOTE_SHELL, "", "4");
        let outcome = job.run_in(folder.path()).succeeded();
        let nodes: Vec<Value> = statements(folder.path()).iter().map(|told| told["name"].clone()).collect();
        // The shell and what it has started, and the process there.
        let all = ["process 0", "process 1", "process 0 of host 1"];
        assert!(
            nodes.len() == 3 && all.iter().all(|name| nodes.contains(&json!(name))),
            "{}",
            outcome.stderr
        );
        for told in statements(folder.path()) {
            let [lost, unwatched] = ["watchdog_lost", "unwatched_hosts"].map(|name| told[name].clone());
            assert_eq!((lost, unwatched), (false.into(), json!([])), "{}", outcome.stderr);
        }
        let left = unordered(&plan(folder.path(), &[]), &["a", "b"]);
        if !left.is_empty() {
            missed.push((left, outcome.stderr));
            continue;
        }
        // It is by throttling alone.
        assert!(!unordered(&plan(folder.path(), &[Rule::Throttled]), &["a", "b"]).is_empty());
        assert_eq!(writes(&plan(folder.path(), &[])).len(), 2);
        return;
    }
    panic!("{missed:?}");
}

#[test]
fn the_network_may_be_cut() {
    if !hosts::are_allowed() {
        return;
    }
    const CUTS: &str = r#"[ -e "$SYN_RUN/board-one" ] && ip link set to-two down"#;
    let folder = tempfile::tempdir().expect("a folder");
    let outcome =
        job(folder.path(), &["--throttle=1"], REMOTE_SHELL, CUTS, "20").run_in(folder.path()).succeeded();
    let told = lost(&outcome, folder.path());
    assert_eq!(told["lost_hosts"], json!(["one", "two"]), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("lost the watchdog of two"), "{}", outcome.stderr);
}

#[test]
fn who_does_not_know_the_secret_is_turned_away() {
    if !hosts::are_allowed() {
        return;
    }
    const WRONG: &str = r#"
head -c 16 /dev/zero >wrong
exec nsenter --target $PEER --net --uts unshare --mount sh -c "mount --bind wrong runs/2/watchdog-secret && exec $2""#;
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = job(folder.path(), &["--throttle=1"], WRONG, "", "20").run_in(folder.path()).succeeded();
    let told = lost(&outcome, folder.path());
    assert_eq!(told["unwatched_hosts"], json!(["two"]), "{}", outcome.stderr);
    for what in
        ["it has another secret", "does not share the secret of this run", "no watchdog has come from two"]
    {
        assert!(outcome.stderr.contains(what), "{}", outcome.stderr);
    }
}

#[test]
fn the_watchdog_of_another_host_may_be_killed() {
    if !hosts::are_allowed() {
        return;
    }
    // Whatever the throttled run waits for, its watchdogs are there by then.
    const KILLS: &str = r#"[ -e "$SYN_RUN/board-one" ] && kill -9 $(cat watchdog-pid)"#;
    let remote_shell = format!("echo $$ >watchdog-pid\n{}", REMOTE_SHELL.replace("\"$2\"", "\"exec $2\""));
    let folder = tempfile::tempdir().expect("a folder");
    let outcome =
        job(folder.path(), &["--throttle=1"], &remote_shell, KILLS, "20").run_in(folder.path()).succeeded();
    let told = lost(&outcome, folder.path());
    assert_eq!(told["lost_hosts"][0], "one", "{}", outcome.stderr);
    assert!(outcome.stderr.contains("lost the watchdog of two"), "{}", outcome.stderr);
}
