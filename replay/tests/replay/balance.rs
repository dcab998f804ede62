//! The replay measures the balance that the plan holds, part by part.

use crate::common::*;
use serde_json::Value;
use syn_plan::{Io, Op, Rule};

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, not {value}"))
}

/// Sum of all parts, seconds.
fn accounted(balance: &Value) -> f64 {
    let plain = balance.as_object().expect("a balance").iter();
    let parts =
        plain.filter(|(name, value)| value.is_f64() && !["wall_s", "open_percent"].contains(&name.as_str()));
    let explained = balance["explained_s"].as_object().expect("rules").values();
    parts.map(|(_, value)| number(value)).sum::<f64>() + explained.map(number).sum::<f64>()
}

/// Two processes that do everything that has a part of its own.
fn everything() -> Draft {
    let mut draft = Draft::new();
    let (file, edge) = (draft.absent("/out"), draft.edge(1));
    draft.0.edges[edge as usize].rule = Rule::Collective;
    let busy = [
        Op::Compute { cpu_ns: 3_000_000, idle_ns: 2_000_000 },
        open(file, 0, O_WRONLY | O_CREAT),
        write(0, 1 << 20),
        io(Io::Fsync { handle: 0 }, 0),
        Op::Sleep { ns: 2_000_000 },
        signal(edge),
    ];
    draft.program(0, Some(0), &busy);
    draft.program(1, Some(1), &[wait(edge, 1)]);
    draft
}

#[test]
fn the_parts_of_the_replay_add_up_to_its_wall_time() {
    for mode in ["closed", "afap", "think", "timed"] {
        let replay = everything().replay(&["--mode", mode]);
        let report = replay.went_well();
        assert!(report["balance"]["recorded"].is_null(), "the plan holds none");
        let groups = ["ranks", "processes"].map(|name| report[name].as_array().expect("a list"));
        let balances = groups.into_iter().flatten().chain([report]).map(|one| &one["balance"]["replayed"]);
        for balance in balances {
            let wall = number(&balance["wall_s"]);
            assert!((accounted(balance) - wall).abs() < 1e-9 + wall * 1e-9, "{mode}: {balance}");
            assert_eq!(number(&balance["open_percent"]), 0.0);
        }
    }
}

#[test]
fn each_part_is_where_it_belongs() {
    let replay = everything().replay(&[]);
    let [busy, waiting] = [0, 1].map(|rank| &replay.went_well()["ranks"][rank]["balance"]["replayed"]);
    for part in ["work_s", "calls_cpu_s", "sleep_s", "unexplained_s"] {
        assert!(number(&busy[part]) > 0.0, "{part} in {busy}");
    }
    // Sleeps are never shorter than asked for; idle time may be shorter by a wake-up (0.2 ms at most).
    assert!(number(&busy["sleep_s"]) >= 0.002 && number(&busy["unexplained_s"]) >= 0.0018, "{busy}");
    assert_eq!(busy["explained_s"], serde_json::json!({}));
    assert!(number(&waiting["explained_s"]["collective"]) > 0.0, "{waiting}");
    for part in ["calls_cpu_s", "calls_wait_s", "sleep_s", "unexplained_s"] {
        assert_eq!(number(&waiting[part]), 0.0, "{part} in {waiting}");
    }
}

#[test]
fn recorded_and_replayed_stand_side_by_side() {
    let mut draft = everything();
    let balance = &mut draft.last().balance;
    (balance.wall_ns, balance.work_ns, balance.recording_ns) = (10_000_000, 6_000_000, 1_000_000);
    balance.unexplained_calls_ns = 1_000_000;
    balance.explain(Rule::Collective, 2_000_000);
    let replay = draft.replay(&[]);
    let report = replay.went_well();
    assert_eq!(report["balance"]["recorded"]["explained_s"]["collective"], 0.002);
    assert_eq!(report["processes"][1]["balance"]["recorded"]["work_s"], 0.006);
    assert_eq!(report["recording_s"], 0.001);
    let text = replay.text();
    let row = |name: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name} in {text}"));
        line.trim_start()[name.len()..].split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(row("cost of recording"), ["0.001000", "-", "-"]);
    assert_eq!(row("in calls that are not replayed"), ["0.001000", "-", "-"]);
    assert_eq!(row("waiting: collective")[0], "0.002000");
    assert_eq!(row("work").len(), 3);
    assert!(text.contains("recording cost a thread 0.001000 s at most"), "{text}");
    assert!(text.contains("10.0 % of the threads' time is unknown"), "{text}");
}

/// What a thread waits for before it is there is not its time.
#[test]
fn a_thread_begins_when_it_is_created() {
    // In a process of its own it is there from the start; in its creator's, it is made.
    for process in [1, 0] {
        let mut draft = Draft::new();
        let created = draft.edge(1);
        draft.0.edges[created as usize].rule = Rule::ThreadCreate;
        draft.program(0, None, &[Op::Sleep { ns: 20_000_000 }, signal(created)]);
        draft.program(process, None, &[wait(created, 1), io(Io::SyncFs, 0), Op::Sleep { ns: 1_000_000 }]);
        let replay = draft.replay(&[]);
        let report = replay.went_well();
        let ended = number(&report["processes"][process as usize]["replayed_s"]);
        let balance = &report["balance"]["replayed"];
        assert_eq!(balance["explained_s"], serde_json::json!({}));
        assert!(ended >= 0.021, "{report}");
        assert!(number(&balance["sleep_s"]) >= 0.021, "{report}");
        // The created one ended at least 20 ms after the common start, which are not in its wall time.
        let creator = if process == 0 { ended } else { number(&report["processes"][0]["replayed_s"]) };
        assert!(number(&balance["wall_s"]) <= creator + ended - 0.02 + 1e-9, "{report}");
    }
}
