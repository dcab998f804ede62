//! What throttled runs show: the order of processes that spin in user space, which no call tells of, and no order where there is
//! none. Whatever becomes of the watchdog, the command ends as it would have.

mod faults;
mod hosts;

use serde_json::Value;
use std::path::{Path, PathBuf};
use syn_merge::{Options, merge};
use syn_plan::{Plan, Rule};
use tests::{Job, Outcome, Write, program, replayed_out_of_order, replays, shim, syn, writes};

/// Runs the command under the execution manager, its run folders in `folder/runs`.
fn throttled(folder: &Path, options: &[&str], command: &Job) -> Outcome {
    let record = syn().arg("record").arg("--shim").arg(shim()).args(["-o", "runs"]).args(options);
    record.arg("--").followed_by(command).run_in(folder)
}

fn runs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("runs")).expect("the manager has made it").flatten();
    let mut runs: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    runs.sort();
    runs
}

/// What the throttled runs say of themselves.
fn statements(folder: &Path) -> Vec<Value> {
    let files = runs(folder).into_iter().filter_map(|run| std::fs::read(run.join("throttle.json")).ok());
    files.map(|bytes| serde_json::from_slice(&bytes).expect("JSON")).collect()
}

fn plan(folder: &Path, without: &[Rule]) -> Plan {
    let options = Options { runs: runs(folder), without: without.to_vec(), ..Options::default() };
    let merged = merge(&options).expect("a plan");
    merged.plan.check().expect("a plan that can be replayed");
    merged.plan
}

/// The turns of all processes in the order of the program, and which of them the plan leaves without an order.
fn unordered(plan: &Plan, names: &[&str]) -> Vec<usize> {
    let turns = writes(plan);
    let rounds = turns[names[0]].len();
    let all: Vec<&Write> = (0..rounds)
        .flat_map(|round| names.iter().map(move |name| (round, *name)))
        .map(|(round, name)| &turns[name][round])
        .collect();
    (1..all.len()).filter(|&next| !all[next - 1].comes_before(all[next])).collect()
}

/// Whether a process is stuck or only waits for a processor is told by time, which a busy machine may take away: such a
/// recording finds less. So there are three tries; a dependency that is not there is found in none of them.
#[test]
fn spinning_is_found_without_being_told_where() {
    let names = ["a", "b", "c"];
    let mut missed = Vec::new();
    for _ in 0..3 {
        let folder = tempfile::tempdir().expect("a folder");
        let spin = Job::new(program("spin")).args(["--processes", "3", "--rounds", "4"]);
        let throttle = || throttled(folder.path(), &["--throttle=auto", "--period", "1"], &spin).succeeded();
        let outcome = throttle();
        assert_eq!(outcome.stdout.lines().next(), Some("spin: 12 turns"), "{}", outcome.stdout);
        let left = unordered(&plan(folder.path(), &[]), &names);
        if !left.is_empty() {
            missed.push((left, outcome.stderr));
            continue;
        }
        // It is by throttling alone.
        assert_eq!(unordered(&plan(folder.path(), &[Rule::Throttled]), &names).len(), 11);
        let replays = replays();
        let wrong = replayed_out_of_order(&plan(folder.path(), &[]), 5, 1, replays);
        println!("spin: {} of {replays} replays in order", replays - wrong);
        assert_eq!(wrong, 0);
        // Everything is done: nothing is run again.
        let before = runs(folder.path());
        let _ = throttle();
        assert_eq!(runs(folder.path()), before);
        return;
    }
    panic!("{missed:?}");
}

#[test]
fn groups_that_only_look_alike_are_not_related() {
    let folder = tempfile::tempdir().expect("a folder");
    let spin = Job::new(program("spin")).args(["--apart", "--rounds", "3"]);
    let outcome = throttled(folder.path(), &["--throttle=all"], &spin).succeeded();
    let turns = writes(&plan(folder.path(), &[]));
    for (first, second) in [("a", "i"), ("a", "j"), ("b", "i"), ("b", "j")] {
        let pairs = turns[first].iter().flat_map(|one| turns[second].iter().map(move |other| (one, other)));
        let related = |(one, other): &(&Write, &Write)| one.comes_before(other) || other.comes_before(one);
        assert_eq!(pairs.filter(related).count(), 0, "{first} and {second}: {}", outcome.stderr);
    }
}
