//! Programs whose threads or processes are ordered by one mechanism and nothing else: the plan holds every true dependency, none
//! of it without the mechanism's rule, and none between processes that only look alike.

use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use syn_merge::{Options, merge};
use syn_plan::{Io, Op, Plan, Rule};
use tests::{Job, Recorded, Write, program, record, syn, writes};

/// The program takes turns by this mechanism, which these rules see.
struct Mechanism(&'static str, &'static [Rule]);

const MECHANISMS: [Mechanism; 34] = [
    Mechanism("mutex", &[Rule::Mutex]),
    Mechanism("rwlock", &[Rule::Rwlock]),
    Mechanism("condition", &[Rule::Condition, Rule::Mutex]),
    Mechanism("barrier", &[Rule::Barrier]),
    Mechanism("semaphore", &[Rule::Semaphore]),
    Mechanism("named-semaphore", &[Rule::Semaphore]),
    Mechanism("futex", &[Rule::Futex]),
    Mechanism("pipe", &[Rule::Pipe]),
    Mechanism("pipe-poll", &[Rule::Pipe]),
    Mechanism("pipe-epoll", &[Rule::Pipe]),
    Mechanism("pipe-full", &[Rule::Pipe]),
    Mechanism("pipe-end", &[Rule::Pipe]),
    Mechanism("socketpair", &[Rule::Socket]),
    Mechanism("unix", &[Rule::Socket]),
    Mechanism("tcp", &[Rule::Socket]),
    Mechanism("tcp-poll", &[Rule::Socket]),
    Mechanism("udp", &[Rule::Socket]),
    Mechanism("udp-poll", &[Rule::Socket]),
    Mechanism("udp-answer", &[Rule::Socket]),
    Mechanism("unix-datagram", &[Rule::Socket]),
    Mechanism("eventfd", &[Rule::Eventfd]),
    Mechanism("eventfd-poll", &[Rule::Eventfd]),
    Mechanism("sysv-semaphore", &[Rule::Ipc]),
    Mechanism("sysv-queue", &[Rule::Ipc]),
    Mechanism("posix-queue", &[Rule::Ipc]),
    Mechanism("flock", &[Rule::FileLock]),
    Mechanism("flock-close", &[Rule::FileLock]),
    Mechanism("fcntl", &[Rule::FileLock]),
    Mechanism("lock-file", &[Rule::FileCreate]),
    Mechanism("name", &[Rule::FileCreate]),
    Mechanism("renamed", &[Rule::FileCreate]),
    Mechanism("data", &[Rule::FileData]),
    Mechanism("signal", &[Rule::Signal]),
    Mechanism("signal-handler", &[Rule::Signal]),
];

impl Mechanism {
    /// Signals are between processes there.
    fn is_between(&self, threads: bool) -> bool {
        !(threads && self.0.starts_with("signal"))
    }
}

type Turns = BTreeMap<String, Vec<Write>>;

fn recorded(who: &str, mechanism: &Mechanism) -> Recorded {
    let recorded = record(&Job::new(program("order")).args([who, mechanism.0]));
    assert!(recorded.plain.status.success(), "{who} {}: {}", mechanism.0, recorded.plain.stderr);
    recorded
}

fn plan(recorded: &Recorded, without: &[Rule]) -> Plan {
    let options =
        Options { runs: vec![recorded.run_folder()], without: without.to_vec(), ..Options::default() };
    let merged = merge(&options).expect("a plan");
    merged.plan.check().expect("a plan that can be replayed");
    merged.plan
}

/// Pairs of turns that follow each other and are not ordered: the first one's place among them.
fn unordered(turns: &Turns, first: &str, second: &str) -> Vec<usize> {
    let (first, second) = (&turns[first], &turns[second]);
    assert!(!first.is_empty() && first.len() == second.len(), "{turns:?}");
    let in_order: Vec<&Write> = first.iter().zip(second).flat_map(|(one, other)| [one, other]).collect();
    (1..in_order.len()).filter(|&next| !in_order[next - 1].comes_before(in_order[next])).collect()
}

fn related(turns: &Turns, first: &str, second: &str) -> bool {
    let pairs = turns[first].iter().flat_map(|one| turns[second].iter().map(move |other| (one, other)));
    pairs.into_iter().any(|(one, other)| one.comes_before(other) || other.comes_before(one))
}

#[track_caller]
fn takes_turns(who: &str) {
    for mechanism in MECHANISMS.iter().filter(|mechanism| mechanism.is_between(who == "threads")) {
        let recorded = recorded(who, mechanism);
        let with = writes(&plan(&recorded, &[]));
        // Both write before they meet: turns are two rounds apart.
        let missing = if mechanism.0 == "barrier" {
            let (first, second) = (&with["a"], &with["b"]);
            let rounds = 1..first.len();
            let ordered = |&round: &usize| {
                first[round - 1].comes_before(&second[round]) && second[round - 1].comes_before(&first[round])
            };
            rounds.filter(|round| !ordered(round)).collect()
        } else {
            unordered(&with, "a", "b")
        };
        assert_eq!(missing, [] as [usize; 0], "{who} {}: turns without a dependency", mechanism.0);
        let without = writes(&plan(&recorded, mechanism.1));
        assert!(!related(&without, "a", "b"), "{who} {}: something else orders the turns", mechanism.0);
    }
}

#[test]
fn threads_that_take_turns() {
    takes_turns("threads");
}

#[test]
fn processes_that_take_turns() {
    takes_turns("processes");
}

/// Replays a plan so many times with delays, each with others, and returns how often a turn was not over when the next began.
fn replayed_out_of_order(plan: &Plan, replays: usize) -> usize {
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
    let turns = turns(plan);
    let performed = report["performed"].as_array().expect("replays");
    assert_eq!(performed.len(), replays);
    let is_out_of_order = |replay: &&Value| {
        let when = |&(program, step): &(usize, usize)| {
            let operations = replay[program].as_array().expect("operations");
            let found = operations.iter().find(|operation| operation["step"] == step).expect("done");
            ["start_ns", "end_ns"].map(|name| found[name].as_u64().expect("a time"))
        };
        let times: Vec<[u64; 2]> = turns.iter().map(when).collect();
        times.windows(2).any(|pair| pair[0][1] > pair[1][0])
    };
    performed.iter().filter(is_out_of_order).count()
}

/// The writes of one byte to the files of both sides, in the recorded order: program, step.
fn turns(plan: &Plan) -> Vec<(usize, usize)> {
    let mut turns = Vec::new();
    for (number, program) in plan.programs.iter().enumerate() {
        for (step, timed) in program.steps.unrolled().enumerate() {
            if matches!(timed.op, Op::Io { call: Io::Write { bytes: 1, .. }, .. }) {
                turns.push((timed.start_ns, (number, step)));
            }
        }
    }
    turns.sort_unstable();
    assert!(turns.len() > 1, "{turns:?}");
    turns.into_iter().map(|(_, turn)| turn).collect()
}

/// `SYN_REPLAYS` says how many times; `scripts/bench-order` takes 100.
#[test]
fn turns_stay_in_order_however_long_each_takes() {
    let replays = std::env::var("SYN_REPLAYS").map_or(3, |text| text.parse().expect("a number"));
    for who in ["threads", "processes"] {
        // Both sides of a barrier write before they meet.
        let takes_turns =
            |mechanism: &&Mechanism| mechanism.is_between(who == "threads") && mechanism.0 != "barrier";
        for mechanism in MECHANISMS.iter().filter(takes_turns) {
            let plan = plan(&recorded(who, mechanism), &[]);
            let wrong = replayed_out_of_order(&plan, replays);
            println!("{who} {}: {} of {replays} replays in order", mechanism.0, replays - wrong);
            assert_eq!(wrong, 0, "{who} {}: replays out of order", mechanism.0);
        }
    }
}

/// The same test finds what is not in order: without the edges, delays change it.
#[test]
fn without_edges_delays_change_the_order() {
    let mechanism = &MECHANISMS[7];
    assert_eq!(mechanism.0, "pipe");
    let plan = plan(&recorded("processes", mechanism), mechanism.1);
    assert!(replayed_out_of_order(&plan, 10) > 0);
}

#[test]
fn processes_that_look_alike() {
    for mechanism in MECHANISMS.iter().filter(|mechanism| mechanism.is_between(true)) {
        let turns = writes(&plan(&recorded("apart", mechanism), &[]));
        for (first, second) in [("a", "b"), ("c", "d")] {
            assert!(related(&turns, first, second), "{}: {turns:?}", mechanism.0);
        }
        for (first, second) in [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")] {
            assert!(!related(&turns, first, second), "{}: {first} and {second}", mechanism.0);
        }
    }
}
