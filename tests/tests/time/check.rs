//! The comparisons of what a program measured itself with what a recording and a plan say of it.

use crate::answer::{Process, seconds};
use crate::balance::{LeftOutThreads, Planned, PlannedThread, Recorded, field};
use serde_json::Value;
use std::collections::BTreeMap;

type Answers = BTreeMap<u32, Process>;

/// CPU time may differ by this part of it, or by so many seconds: a program's end comes after its last print.
const CPU: (f64, f64) = (0.01, 0.002);
/// Percent of the wall time that a balance may leave open.
const OPEN: f64 = 0.1;
/// How well the clocks of a virtual machine agree on a program of a tenth of a second, seconds.
const CLOCKS: f64 = 0.000_5;

/// How much of a known wait must be seen as such.
#[derive(Clone, Copy, Debug)]
pub struct Slack {
    /// This part of it as blocked, whatever else the thread waited for.
    blocked: f64,
    /// This part of it as blocked or as without a processor.
    off_processor: f64,
    /// Less so many seconds.
    less: f64,
    /// This part of the known computing outside calls: polls that lost the processor share a reading with what follows.
    own_code: f64,
    /// So much of what a host took may be missing, seconds.
    stolen: f64,
    /// CPU time that a process may use after it has said how much that was, seconds: to end, to spin until others have.
    afterwards: f64,
}

/// A woken thread that has to wait for a processor is not blocked any more.
pub const QUIET: Slack =
    Slack { blocked: 0.85, off_processor: 0.98, less: 0.003, own_code: 1.0, stolen: 0.005, afterwards: 0.0 };
/// A thread that was about to wait may have had no processor to do so.
pub const BESIDE_LOAD: Slack =
    Slack { blocked: 0.4, off_processor: 0.9, less: 0.015, own_code: 0.9, stolen: 0.005, afterwards: 0.0 };

impl Slack {
    /// What must be seen of so many nanoseconds of computing in a program's own code.
    fn own(self, computed: u64) -> u64 {
        (computed as f64 * self.own_code) as u64
    }

    /// Which of its code a host took the processor from, a thread cannot see: of what it was preempted, so much may be missing.
    fn stolen(self, preempted: f64) -> f64 {
        preempted.min(self.stolen)
    }

    /// And a process may use so many seconds after it has said what it used.
    pub fn and(self, afterwards: f64) -> Slack {
        Slack { afterwards, ..self }
    }

    /// Whether a process or thread used what is said. The recorder itself is at work before the first and behind the last
    /// reading of each thread's clock, and on threads of its own.
    fn same_cpu(self, what: &str, used: u64, said: f64, threads: usize) -> Option<String> {
        const END_OF_THREAD: f64 = 0.000_25;
        const BEHIND_ITS_LAST_WORD: f64 = 0.001;
        let used = seconds(used);
        let tolerance = tolerance(used);
        let least = used - tolerance - END_OF_THREAD * threads as f64;
        let most = used + tolerance + self.afterwards + BEHIND_ITS_LAST_WORD * threads as f64;
        let same = (least..=most).contains(&said);
        (!same).then(|| format!("{what} used {used:.4} s of CPU time, and is said to have used {said:.4} s"))
    }

    fn check(self, what: &str, known: f64, blocked: f64, preempted: f64) -> Option<String> {
        let enough = blocked >= known * self.blocked - self.less
            && blocked + preempted >= known * self.off_processor - self.less;
        (!enough).then(|| {
            format!("{what} waited for {known:.4} s at least, and is said to be blocked for {blocked:.4} s, preempted for {preempted:.4} s")
        })
    }
}

/// What is wrong with the balance of a run.
pub fn run(answers: &Answers, info: &Value, slack: Slack) -> Vec<String> {
    let mut failures = Vec::new();
    match field::<Recorded>(info, "balance") {
        Err(missing) => return vec![format!("run: {missing}")],
        Ok(whole) => failures.extend(open("run", whole.open_percent, whole.wall_s)),
    }
    let list = info["process_list"].as_array().expect("the processes of a run");
    for (&pid, process) in answers {
        let what = format!("run, process {pid}");
        // A process that becomes another program has an entry for each.
        let entries: Vec<&Value> = list.iter().filter(|entry| entry["pid"] == pid).collect();
        let threads = entries.iter().filter_map(|entry| entry["threads"].as_u64()).sum::<u64>() as usize;
        let balances: Result<Vec<Recorded>, String> =
            entries.iter().map(|entry| field(entry, "balance")).collect();
        match balances {
            Err(missing) => failures.push(format!("{what}: {missing}")),
            Ok(found) if found.is_empty() => failures.push(format!("{what}: it is not on record")),
            Ok(found) => failures.extend(process_of_run(&what, process, &found, threads, slack)),
        }
        let at_end: f64 = entries.iter().filter_map(|entry| entry["cpu_s"].as_f64()).sum();
        if at_end > 0.0 {
            let what = format!("{what}, at its end (cpu_s)");
            failures.extend(slack.same_cpu(&what, process.cpu, at_end, threads));
        }
    }
    failures
}

fn process_of_run(
    what: &str,
    process: &Process,
    found: &[Recorded],
    threads: usize,
    slack: Slack,
) -> Vec<String> {
    let sum = |of: fn(&Recorded) -> f64| -> f64 { found.iter().map(of).sum() };
    let mut failures: Vec<String> =
        found.iter().filter_map(|one| open(what, one.open_percent, one.wall_s)).collect();
    failures.extend(slack.same_cpu(what, process.cpu, sum(Recorded::cpu), threads));
    let work = sum(|one| one.work_s) + slack.stolen(sum(|one| one.preempted_s));
    failures.extend(at_least(&format!("{what}, outside calls,"), slack.own(process.work()), work));
    failures.extend(slack.check(
        what,
        seconds(process.wait()),
        sum(Recorded::blocked),
        sum(|one| one.preempted_s),
    ));
    failures
}

/// What is wrong with the balance of a plan.
pub fn plan(answers: &Answers, info: &Value, slack: Slack) -> Vec<String> {
    let mut failures = Vec::new();
    match field::<Planned>(info, "balance") {
        Err(missing) => return vec![format!("plan: {missing}")],
        Ok(whole) => failures.extend(open("plan", whole.open_percent, whole.wall_s)),
    }
    let threads: Vec<PlannedThread> = match field(info, "thread_list") {
        Err(missing) => return vec![format!("plan: {missing}")],
        Ok(threads) => threads,
    };
    let left_out: Vec<LeftOutThreads> = match field(info, "left_out_threads") {
        Err(missing) => return vec![format!("plan: {missing}")],
        Ok(threads) => threads,
    };
    for (&pid, process) in answers {
        let what = format!("plan, process {pid}");
        let of_process: Vec<&PlannedThread> = threads.iter().filter(|thread| thread.pid == pid).collect();
        if of_process.is_empty() {
            failures.push(format!("{what}: it is not in the plan"));
            continue;
        }
        let sum =
            |of: fn(&Planned) -> f64| -> f64 { of_process.iter().map(|thread| of(&thread.balance)).sum() };
        let of_libraries: f64 =
            left_out.iter().filter(|threads| threads.pid == pid).map(|threads| threads.cpu_s).sum();
        let said = sum(Planned::cpu) + of_libraries;
        failures.extend(slack.same_cpu(&what, process.cpu, said, of_process.len()));
        let work = sum(|one| one.work_s) + slack.stolen(sum(|one| one.preempted_s));
        failures.extend(at_least(&format!("{what}, outside calls,"), slack.own(process.work()), work));
        failures.extend(slack.check(
            &what,
            seconds(process.wait()),
            sum(Planned::blocked),
            sum(|one| one.preempted_s),
        ));
        failures.extend(of_process.iter().filter_map(|thread| {
            let what = format!("plan, thread {} of process {pid}", thread.tid);
            open(&what, thread.balance.open_percent, thread.balance.wall_s)
        }));
        failures.extend(threads_of_plan(&what, process, &of_process, slack));
    }
    failures
}

/// Those that printed: the first thread of a process that becomes another program has an entry for each.
fn threads_of_plan(what: &str, process: &Process, planned: &[&PlannedThread], slack: Slack) -> Vec<String> {
    let mut failures = Vec::new();
    for (&tid, thread) in &process.threads {
        let entries = || planned.iter().filter(move |planned| planned.tid == tid);
        let what = format!("{what}, thread {tid}");
        if entries().next().is_none() {
            failures.push(format!("{what}: it is not in the plan"));
            continue;
        }
        let said = entries().map(|entry| entry.balance.cpu()).sum();
        // What threads of the recorder did in its stead is its own, but its clock does not show it.
        let of_recorder = entries().map(|entry| entry.balance.recording_s).sum::<f64>();
        let with = slack.and(slack.afterwards + of_recorder);
        failures.extend(with.same_cpu(&what, thread.cpu, said, 1));
        let work = entries().map(|entry| entry.balance.work_s).sum::<f64>()
            + slack.stolen(entries().map(|entry| entry.balance.preempted_s).sum());
        failures.extend(at_least(&format!("{what}, outside calls,"), slack.own(thread.work), work));
    }
    failures
}

fn open(what: &str, percent: f64, wall_s: f64) -> Option<String> {
    let (percent_open, open_s) = (percent.abs(), percent.abs() / 100.0 * wall_s);
    let closes = percent_open <= OPEN || open_s <= CLOCKS;
    (!closes).then(|| format!("{what}: the balance leaves {percent:.3} % open"))
}

/// What two CPU times of this length may differ by.
fn tolerance(used: f64) -> f64 {
    (used * CPU.0).max(CPU.1)
}

fn at_least(what: &str, computed: u64, said: f64) -> Option<String> {
    let computed = seconds(computed);
    let fits = said >= computed - tolerance(computed);
    (!fits).then(|| {
        format!("{what} computed for {computed:.4} s at least, and is said to have worked for {said:.4} s")
    })
}

#[cfg(test)]
mod made_up {
    use super::*;
    use crate::answer::Thread;
    use serde_json::json;

    const USED: u64 = 100_000_000;

    fn answers() -> Answers {
        let thread = Thread { cpu: USED, work: 90_000_000, wait: 50_000_000 };
        BTreeMap::from([(7, Process { cpu: USED, threads: BTreeMap::from([(7, thread)]) })])
    }

    fn run_with(work: f64, waiting: f64, open: f64) -> Vec<String> {
        let balance = json!({"wall_s": 1.0, "work_s": work, "calls_s": 0.008, "waiting_s": waiting, "unexplained_s": 0.0,
            "preempted_s": 0.0, "recording_s": 0.001, "startup_cpu_s": 0.0, "open_percent": open});
        let info =
            json!({"balance": balance, "process_list": [{"pid": 7, "balance": balance, "cpu_s": null}]});
        run(&answers(), &info, QUIET)
    }

    #[test]
    fn a_right_balance_passes_and_wrong_ones_do_not() {
        assert_eq!(run_with(0.091, 0.05, 0.05), [""; 0]);
        assert_eq!(run_with(0.096, 0.05, 0.0).len(), 1, "waiting taken for work");
        assert_eq!(run_with(0.080, 0.05, 0.0).len(), 2, "work lost");
        assert_eq!(run_with(0.091, 0.01, 0.0).len(), 1, "waiting lost");
        assert_eq!(run_with(0.091, 0.05, 0.3).len(), 2, "left open, whole and process");
        assert_eq!(run(&answers(), &json!({}), QUIET).len(), 1, "no balance");
    }

    fn plan_with(tid: u32, work: f64, sleep: f64) -> Vec<String> {
        let balance = json!({"wall_s": 1.0, "work_s": work, "calls_cpu_s": 0.008, "calls_wait_s": 0.0, "sleep_s": sleep,
            "explained_s": {"message": 0.02}, "unexplained_calls_s": 0.0, "unexplained_s": 0.0, "preempted_s": 0.0,
            "recording_s": 0.001, "polling_cpu_s": 0.0, "open_percent": 0.0});
        let mut thread = balance.clone();
        thread["pid"] = 7.into();
        thread["tid"] = tid.into();
        let info = json!({"balance": balance, "thread_list": [thread], "left_out_threads": []});
        plan(&answers(), &info, QUIET)
    }

    #[test]
    fn the_same_of_plans() {
        assert_eq!(plan_with(7, 0.091, 0.03), [""; 0]);
        assert_eq!(plan_with(8, 0.091, 0.03).len(), 1, "another thread");
        assert_eq!(plan_with(7, 0.096, 0.03).len(), 2, "waiting taken for work, process and thread");
        assert_eq!(plan_with(7, 0.091, 0.0).len(), 1, "waiting lost");
        assert_eq!(plan_with(7, 0.080, 0.03).len(), 4, "work lost, process and thread");
        assert_eq!(plan(&answers(), &json!({}), QUIET).len(), 1, "no balance");
    }
}
