//! Replays with random delays in front of computation and operations, of programs that take turns in writing to a file.

use crate::syn;
use serde_json::Value;
use std::time::Duration;
use syn_plan::{Io, Op, Plan};

/// How often tests of order replay: `SYN_REPLAYS`, or 3 times.
pub fn replays() -> usize {
    std::env::var("SYN_REPLAYS").map_or(3, |text| text.parse().expect("a number"))
}

/// Replays a plan so many times with delays, each with others, and returns how often a turn was not over when the next began. A
/// turn is a write of so many bytes, or `at_a_time` of them.
pub fn replayed_out_of_order(plan: &Plan, bytes: u64, at_a_time: usize, replays: usize) -> usize {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let at = |name: &str| folder.path().join(name);
    plan.save(&at("app.syn")).expect("saved");
    let replay = syn()
        .arg("replay")
        .arg(at("app.syn"))
        .arg("--storage")
        .arg(folder.path())
        .arg("--report")
        .arg(at("report"));
    let replay = replay.args(["--inject-delays", "1", "--repeat", &replays.to_string()]);
    let limit = Duration::from_secs(120 + 10 * replays as u64);
    let _ = replay.limit(limit).run_in(folder.path()).succeeded();
    let report: Value =
        serde_json::from_slice(&std::fs::read(at("report")).expect("a report")).expect("JSON");
    assert_eq!(report["divergences"]["total"], 0);
    let turns = turns(plan, bytes);
    let performed = report["performed"].as_array().expect("replays");
    assert_eq!(performed.len(), replays);
    let is_out_of_order = |replay: &&Value| {
        let when = |&(program, step): &(usize, usize)| {
            let operations = replay[program].as_array().expect("operations");
            let found = operations.iter().find(|operation| operation["step"] == step).expect("done");
            ["start_ns", "end_ns"].map(|name| found[name].as_u64().expect("a time"))
        };
        let times: Vec<[u64; 2]> = turns.iter().map(when).collect();
        let turns: Vec<&[[u64; 2]]> = times.chunks(at_a_time).collect();
        let is_over_before = |one: &[[u64; 2]], next: &[[u64; 2]]| {
            one.iter().all(|[_, end]| next.iter().all(|[start, _]| end <= start))
        };
        turns.windows(2).any(|pair| !is_over_before(pair[0], pair[1]))
    };
    performed.iter().filter(is_out_of_order).count()
}

/// The writes of so many bytes, in the recorded order: program, step.
fn turns(plan: &Plan, size: u64) -> Vec<(usize, usize)> {
    let mut turns = Vec::new();
    for (number, program) in plan.programs.iter().enumerate() {
        for (step, timed) in program.steps.unrolled().enumerate() {
            if matches!(timed.op, Op::Io { call: Io::Write { bytes, .. }, .. } if bytes == size) {
                turns.push((timed.start_ns, (number, step)));
            }
        }
    }
    turns.sort_unstable();
    assert!(turns.len() > 1, "{turns:?}");
    turns.into_iter().map(|(_, turn)| turn).collect()
}
