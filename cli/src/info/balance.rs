//! The time balance of a plan, on the screen and as JSON.

use super::table;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use syn_plan::figures::seconds;
use syn_plan::{Balance, BalanceSeconds, Plan, Thread};

/// The balance of one thread.
#[derive(Serialize)]
pub struct ThreadBalance {
    pid: u32,
    tid: u32,
    rank: Option<u32>,
    /// What its program was called by.
    image: Option<String>,
    #[serde(flatten)]
    balance: BalanceSeconds,
}

/// The balances of a plan: of all threads together, of each one, and by process.
pub struct Balances {
    pub all: BalanceSeconds,
    pub threads: Vec<ThreadBalance>,
    processes: Vec<(Thread, Option<String>, u64, Balance)>,
    doubts: Vec<String>,
}

impl Balances {
    pub fn of(plan: &Plan) -> Balances {
        let mut processes: BTreeMap<u32, (Thread, Option<String>, u64, Balance)> = BTreeMap::new();
        for program in &plan.programs {
            let first = || (program.thread.clone(), plan.image(&program.thread), 0, Balance::default());
            let (_, _, threads, balance) = processes.entry(program.thread.process).or_insert_with(first);
            *threads += 1;
            balance.add(&program.balance);
        }
        let threads = plan.programs.iter().map(|program| ThreadBalance {
            pid: program.thread.pid,
            tid: program.thread.tid,
            rank: program.thread.rank,
            image: plan.image(&program.thread),
            balance: BalanceSeconds::from(&program.balance),
        });
        Balances {
            all: BalanceSeconds::from(&plan.balance()),
            threads: threads.collect(),
            processes: processes.into_values().collect(),
            doubts: plan.balance_doubts(),
        }
    }

    /// A table of at most `rows` processes, and what is doubtful, a line each.
    pub fn write(&self, out: &mut String, rows: usize) {
        if self.all.wall_s == 0.0 {
            return table::row(out, "balance", "not in this plan");
        }
        let heading = format!(
            "balance, s: {:>9} {:>4} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}",
            "process",
            "rank",
            "wall",
            "work",
            "calls",
            "device",
            "sleep",
            "explained",
            "unexpl.",
            "preempt.",
            "recording",
            "unmeas.",
            "open %"
        );
        let line = |(thread, image, threads, balance): &(Thread, Option<String>, u64, Balance)| {
            let rank = thread.rank.map_or("-".into(), |rank| rank.to_string());
            let image = image.as_deref().map(|image| format!(" {image}")).unwrap_or_default();
            let threads = if *threads > 1 { format!(" ({threads} threads)") } else { String::new() };
            format!("{:>19} {rank:>4} {}{image}{threads}", thread.pid, parts(balance))
        };
        table::list(out, &heading, &self.processes.iter().map(line).collect::<Vec<_>>(), rows);
        for doubt in &self.doubts {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  {doubt}");
        }
    }
}

/// The parts of a balance, one under each name of the heading.
fn parts(balance: &Balance) -> String {
    let unexplained = balance.unexplained_calls_ns.saturating_add(balance.unexplained_ns);
    let narrow = [
        balance.calls_cpu_ns,
        balance.calls_wait_ns,
        balance.sleep_ns,
        balance.explained(),
        unexplained,
        balance.preempted_ns,
        balance.recording_ns,
        balance.unmeasured_ns,
    ];
    let narrow: Vec<String> = narrow.iter().map(|&ns| format!("{:>9.3}", seconds(ns))).collect();
    format!(
        "{:>10.3} {:>10.3} {} {:>+7.2}",
        seconds(balance.wall_ns),
        seconds(balance.work_ns),
        narrow.join(" "),
        balance.open_percent()
    )
}
