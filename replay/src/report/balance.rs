//! The two time balances side by side.

use serde::Serialize;
use std::fmt::{self, Write};
use syn_plan::figures::seconds;
use syn_plan::{Balance, BalanceSeconds, Rule};

/// Where the time of some programs went, recorded and replayed.
#[derive(Debug, Serialize)]
pub struct Balances {
    /// Absent when the plan does not know.
    recorded: Option<BalanceSeconds>,
    replayed: BalanceSeconds,
    #[serde(skip)]
    rows: Vec<Row>,
}

#[derive(Debug, PartialEq)]
struct Row {
    name: String,
    /// One of those that add up to the wall time.
    is_part: bool,
    recorded_s: Option<f64>,
    replayed_s: Option<f64>,
}

impl Balances {
    /// Of programs that belong together, added up.
    pub fn new(recorded: &Balance, replayed: &Balance) -> Balances {
        let known = recorded.wall_ns > 0;
        Balances {
            recorded: known.then(|| recorded.into()),
            replayed: replayed.into(),
            rows: rows(recorded, replayed, known),
        }
    }

    /// What adds up to the wall time: its name, seconds in the recording (absent when the plan does not know) and in the replay.
    pub fn parts(&self) -> impl Iterator<Item = (&str, [Option<f64>; 2])> {
        let parts = self.rows.iter().filter(|row| row.is_part);
        parts.map(|row| (row.name.as_str(), [row.recorded_s, row.replayed_s]))
    }

    /// The table.
    pub fn write(&self, out: &mut String) -> fmt::Result {
        let name = "balance, s";
        writeln!(out, "\n{name:<34} {:>12} {:>12} {:>12}", "recorded", "replayed", "difference")?;
        for Row { name, recorded_s, replayed_s, .. } in &self.rows {
            let difference = recorded_s.zip(*replayed_s).map(|(recorded, replayed)| replayed - recorded);
            let plain = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.6}"));
            let signed = difference.map_or("-".into(), |value| format!("{value:+.6}"));
            writeln!(out, "{name:<34} {:>12} {:>12} {signed:>12}", plain(*recorded_s), plain(*replayed_s))?;
        }
        Ok(())
    }
}

/// What a replay does not have (the kinds of unexplained waiting, a recorder) has no number there.
fn rows(recorded: &Balance, replayed: &Balance, known: bool) -> Vec<Row> {
    let row = |name: &str, recorded_ns: u64, replayed_ns: Option<u64>| Row {
        name: name.into(),
        is_part: true,
        recorded_s: known.then(|| seconds(recorded_ns)),
        replayed_s: replayed_ns.map(seconds),
    };
    let no_part = |row: Row| Row { is_part: false, ..row };
    let both = |name: &str, part: fn(&Balance) -> u64| row(name, part(recorded), Some(part(replayed)));
    let mut rows = vec![
        no_part(both("wall time of all threads", |balance| balance.wall_ns)),
        both("work", |balance| balance.work_ns),
        both("calls, processor", |balance| balance.calls_cpu_ns),
        both("calls, device", |balance| balance.calls_wait_ns),
        both("sleep", |balance| balance.sleep_ns),
    ];
    for rule in Rule::ALL {
        let [before, now] = [recorded, replayed].map(|balance| balance.explained_by(rule));
        if before > 0 || now > 0 {
            rows.push(row(&format!("waiting: {rule}"), before, Some(now)));
        }
    }
    let unexplained = |balance: &Balance| balance.unexplained_calls_ns.saturating_add(balance.unexplained_ns);
    rows.push(both("waiting, unexplained", unexplained));
    rows.push(no_part(row("  in calls that are not replayed", recorded.unexplained_calls_ns, None)));
    rows.push(no_part(row("  outside every recorded call", recorded.unexplained_ns, None)));
    rows.push(both("preempted", |balance| balance.preempted_ns));
    rows.push(row("cost of recording", recorded.recording_ns, None));
    rows.push(row("not measured", recorded.unmeasured_ns, None));
    let open = |balance: &Balance| balance.open_ns() as f64 / 1e9;
    rows.push(Row {
        name: "left open".into(),
        is_part: false,
        recorded_s: known.then(|| open(recorded)),
        replayed_s: Some(open(replayed)),
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(recorded: &Balance, replayed: &Balance) -> Vec<String> {
        let mut out = String::new();
        Balances::new(recorded, replayed).write(&mut out).expect("written to memory");
        out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn each_part_stands_beside_its_counterpart() {
        let mut recorded = Balance { wall_ns: 3_000_000, work_ns: 1_000_000, ..Balance::default() };
        recorded.explain(Rule::Message, 500_000);
        (recorded.unexplained_calls_ns, recorded.unexplained_ns) = (400_000, 100_000);
        let mut replayed = Balance { wall_ns: 2_500_000, work_ns: 1_500_000, ..Balance::default() };
        replayed.explain(Rule::Message, 250_000);
        replayed.unexplained_ns = 750_000;
        let lines = table(&recorded, &replayed);
        for line in [
            "work 0.001000 0.001500 +0.000500",
            "waiting: message 0.000500 0.000250 -0.000250",
            "waiting, unexplained 0.000500 0.000750 +0.000250",
            "in calls that are not replayed 0.000400 - -",
            "outside every recorded call 0.000100 - -",
            "left open 0.001000 0.000000 -0.001000",
        ] {
            assert!(lines.iter().any(|found| found == line), "{line} in {lines:#?}");
        }
        assert!(!lines.iter().any(|line| line.contains("collective")), "{lines:#?}");
    }

    #[test]
    fn parts_add_up_to_the_wall_time() {
        let mut recorded = Balance { wall_ns: 2_600_000, work_ns: 1_000_000, ..Balance::default() };
        recorded.explain(Rule::Message, 500_000);
        (recorded.unexplained_calls_ns, recorded.unexplained_ns) = (400_000, 100_000);
        (recorded.preempted_ns, recorded.recording_ns) = (350_000, 250_000);
        let balances = Balances::new(&recorded, &Balance::default());
        let sum: f64 = balances.parts().filter_map(|(_, [recorded_s, _])| recorded_s).sum();
        assert!((sum - 0.0026).abs() < 1e-12, "{sum}");
    }

    #[test]
    fn a_plan_without_balance_has_no_numbers() {
        let replayed = Balance { wall_ns: 1_000_000, work_ns: 1_000_000, ..Balance::default() };
        let lines = table(&Balance::default(), &replayed);
        assert!(lines.contains(&"work - 0.001000 -".into()), "{lines:#?}");
    }
}
