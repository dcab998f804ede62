//! What processes use behind their last records is in the plan.

use crate::stages::info;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tests::{Job, program, run_recorded, syn};

/// Of what the kernel counted, this part may be missing or too much; and so many seconds.
const SLACK: (f64, f64) = (0.02, 0.004);

#[test]
fn what_the_kernel_does_for_an_ending_process_and_what_a_killed_one_computed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (run, plan) = (folder.path().join("run"), folder.path().join("app.syn"));
    let (outcome, _) = run_recorded(&Job::new(program("time/ends")), folder.path(), &run);
    let told = outcome.succeeded().stdout;
    let used: Vec<(u64, f64)> = told
        .lines()
        .map(|line| {
            let (pid, us) = line.split_once(' ').expect("a process and what it used");
            (pid.parse().expect("a number"), us.parse::<f64>().expect("a number") / 1e6)
        })
        .collect();
    let [(filled, _), (parent, both), (killed, _)] = used[..] else { panic!("three children: {told}") };
    let _ = syn().arg("merge").arg(&run).arg("-o").arg(&plan).run_in(folder.path()).succeeded();
    let planned = by_process(&listed(&plan, "thread_list"), |thread| {
        ["work_s", "calls_cpu_s", "polling_cpu_s", "recording_s"]
            .iter()
            .filter_map(|part| thread[part].as_f64())
            .sum()
    });
    let at_end =
        by_process(&listed(&run, "process_list"), |process| process["cpu_s"].as_f64().unwrap_or(0.0));

    for (pid, used) in used.iter().copied().filter(|&(pid, _)| pid != parent) {
        let most = SLACK.0 * used + SLACK.1;
        assert!(
            (planned[&pid] - used).abs() < most,
            "{pid} has used {used} s, the plan has {}",
            planned[&pid]
        );
    }
    assert!(planned[&filled] - at_end[&filled] > 0.002, "256 MB are given back: {planned:?} {at_end:?}");
    assert!(at_end[&killed] == 0.0 && planned[&killed] > 0.02, "{planned:?} {at_end:?}");
    assert!(planned[&parent] < both / 4.0, "what its child has used is not its own: {planned:?} of {both}");
}

fn listed(what: &Path, list: &str) -> Vec<Value> {
    let told = info(what).expect("an object");
    told[list].as_array().expect("a list").clone()
}

fn by_process(entries: &[Value], seconds: impl Fn(&Value) -> f64) -> BTreeMap<u64, f64> {
    let mut found = BTreeMap::new();
    for entry in entries {
        *found.entry(entry["pid"].as_u64().expect("a process id")).or_insert(0.0) += seconds(entry);
    }
    found
}
