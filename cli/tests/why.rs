//! `syn why` on a plan whose reasons are known.

mod support;

use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use support::{Folder, run, whole_run};
use syn_plan::{
    About, Balance, Edge, File, Initial, Io, Mpi, Op, Plan, Program, Rule, Step, Steps, Thread, WORLD,
};

const MS: u64 = 1_000_000;

fn program(rank: u32, steps: &[(u64, u64, Op)]) -> Program {
    let step = |&(from, to, op): &(u64, u64, Op)| Step { start_ns: from * MS, took_ns: (to - from) * MS, op };
    let steps: Steps = steps.iter().map(step).collect();
    let (pid, tid) = (100 + rank, 100 + rank);
    let thread = Thread { process: rank, rank: Some(rank), pid, tid, ends_with_process: false };
    Program { thread, balance: Balance::default(), steps }
}

/// Rank 0 computes 30 ms and sends; rank 1 has waited since 5 ms, goes on at 31 ms, and syncs until 91 ms. Rank 2 computes 40 ms,
/// and is never in the way.
fn plan(folder: &Folder) -> PathBuf {
    let work = |ms: u64| Op::Compute { cpu_ns: ms * MS, idle_ns: 0 };
    let mut edge = Edge::new(Rule::Message, 1);
    (edge.evidence.signalled_in, edge.evidence.awaited_in) = (Some(0), Some(1));
    (edge.evidence.seen, edge.evidence.possible) = (2, 3);
    let open = Op::Io { call: Io::Open { file: 0, handle: 0, flags: 1, mode: 0 }, result: 0 };
    let sync = Op::Io { call: Io::Fsync { handle: 0 }, result: 0 };
    let plan = Plan {
        about: About { command: "app".into(), ranks: 3, recorded_ns: 91 * MS, ..About::default() },
        files: vec![File { path: "/data/out".into(), initial: Initial::Regular { bytes: 1 } }],
        edges: vec![edge],
        calls: vec!["MPI_Send".into(), "MPI_Recv".into()],
        programs: vec![
            program(0, &[(0, 30, work(30)), (30, 30, Op::Signal { edge: 0 }), (30, 35, work(5))]),
            program(
                1,
                &[
                    (0, 1, open),
                    (1, 5, work(4)),
                    (5, 31, Op::Wait { edge: 0, count: 1, stride: 0 }),
                    (31, 91, sync),
                ],
            ),
            program(2, &[(0, 40, work(40))]),
        ],
        ..Plan::default()
    };
    let path = folder.path().join("app.syn");
    plan.save(&path).unwrap();
    path
}

fn why(path: &Path, args: &[&str]) -> support::Said {
    run([OsStr::new("why"), path.as_os_str()].into_iter().chain(args.iter().map(OsStr::new)))
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}

const WAIT: &str = "rank 1 waited 26.0 ms, from 0.005000 to 0.031000 s, until rank 0 came to MPI_Send at 0.030000 s, and went on with MPI_Recv (message: certain, seen in 2 of 3 runs)";

#[test]
fn a_wait_is_explained() {
    let folder = Folder::new();
    let path = plan(&folder);
    for args in [&["--rank", "1"][..], &["--program", "1", "--at", "20ms"], &["--rank", "1", "--at", "0.02s"]]
    {
        let said = why(&path, args).code(0);
        says(&said.out, &[WAIT, "rank 0, 0.005000 to 0.030000 s: 25.0 ms computing"]);
    }
}

#[test]
fn a_process_without_a_rank_goes_by_its_program() {
    let folder = Folder::new();
    let path = plan(&folder);
    let mut plan = Plan::load(&path).unwrap();
    plan.programs.iter_mut().for_each(|program| program.thread.rank = None);
    plan.about.images = vec!["sort".into(), "gzip".into()];
    plan.save(&path).unwrap();
    let said = why(&path, &["--program", "1"]).code(0);
    says(&said.out, &["gzip (101) waited 26.0 ms, ", "until sort (100) came to MPI_Send"]);
    says(&why(&path, &["--program", "2", "--at", "20ms"]).code(0).out, &["process 102 was computing"]);
}

#[test]
fn a_call_is_explained_by_what_came_before() {
    let folder = Folder::new();
    let said = why(&plan(&folder), &["--rank", "1", "--at", "50ms"]).code(0);
    says(&said.out, &["rank 1 was in fsync for 60.0 ms, from 0.031000 to 0.091000 s", "before that", WAIT]);
    says(&said.out, &["rank 0, 0.000000 to 0.030000 s: 30.0 ms computing"]);
}

#[test]
fn the_critical_path_says_what_would_shorten_the_run() {
    let folder = Folder::new();
    let said = why(&plan(&folder), &[]).code(0);
    // Without the sync, rank 2 would be last; without what rank 0 computes first, rank 1 would not wait after 5 ms.
    assert_eq!(row(&said, "rank 1: fsync"), "0.060000 65.9 % 0.040000");
    assert_eq!(row(&said, "rank 0: computing"), "0.030000 33.0 % 0.065000");
    assert_eq!(row(&said, "rank 1: going on after a wait"), "0.001000 1.1 % 0.090000");
    assert!(!said.out.contains("rank 2"), "{}", said.out);
    says(&said.out, &["The longest of 1 waits", WAIT, "goes over 1 waits"]);
}

/// A row of the table: what it says in front of `what`.
#[track_caller]
fn row(said: &support::Said, what: &str) -> String {
    let found = said.out.lines().find(|line| line.ends_with(what));
    let words: Vec<&str> =
        found.unwrap_or_else(|| panic!("{what:?} in\n{}", said.out)).split_whitespace().collect();
    words[..4].join(" ")
}

/// A thread that rank 0 makes after 1 ms sleeps until the end, and is waited for by nobody.
#[test]
fn who_is_not_waited_for_does_not_hold_up_the_end() {
    let folder = Folder::new();
    let path = plan(&folder);
    let mut plan = Plan::load(&path).unwrap();
    plan.edges.push(Edge::new(Rule::ThreadCreate, 1));
    let work = Op::Compute { cpu_ns: MS, idle_ns: 0 };
    let rest = plan.programs[0].steps.unrolled();
    let first = [
        Step { start_ns: 0, took_ns: MS, op: work },
        Step { start_ns: MS, took_ns: 0, op: Op::Signal { edge: 1 } },
    ];
    let shorter = |step: Step| match step.op {
        Op::Compute { cpu_ns, idle_ns } if step.start_ns == 0 => Step {
            start_ns: MS,
            took_ns: step.took_ns - MS,
            op: Op::Compute { cpu_ns: cpu_ns - MS, idle_ns },
        },
        _ => step,
    };
    plan.programs[0].steps = first.into_iter().chain(rest.map(shorter)).collect();
    let made = Op::Wait { edge: 1, count: 1, stride: 0 };
    plan.programs.push(program(3, &[(1, 1, made), (1, 90, Op::Sleep { ns: 89 * MS })]));
    plan.save(&path).unwrap();
    assert_eq!(row(&why(&path, &[]).code(0), "rank 1: fsync"), "0.060000 65.9 % 0.040000");
}

/// What MPI did not use a processor for is not its work.
#[test]
fn a_call_of_mpi_without_a_processor_is_not_at_work() {
    let folder = Folder::new();
    let path = plan(&folder);
    let mut plan = Plan::load(&path).unwrap();
    let call = Mpi::Probe { comm: WORLD, peer: 0, tag: 0, test: false };
    let op = Op::Mpi { call, cpu_ns: 10 * MS, idle_ns: 15 * MS };
    let others = plan.programs[1].steps.unrolled().filter(|step| step.start_ns != 31 * MS);
    plan.programs[1].steps = others.chain([Step { start_ns: 31 * MS, took_ns: 60 * MS, op }]).collect();
    plan.save(&path).unwrap();
    let said = why(&path, &[]).code(0);
    let kinds = [call.name(), "waiting that no rule explains", "without a processor, or recording"];
    let times = kinds.map(|kind| row(&said, &format!("rank 1: {kind}"))[..8].to_owned());
    assert_eq!(times, ["0.010000", "0.015000", "0.035000"]);
}

#[test]
fn processes_of_one_program_are_told_together() {
    let folder = Folder::new();
    let path = plan(&folder);
    let mut plan = Plan::load(&path).unwrap();
    plan.programs.iter_mut().for_each(|program| program.thread.rank = None);
    plan.about.images = vec!["sort".into(), "gzip".into(), "sort".into()];
    plan.save(&path).unwrap();
    let said = why(&path, &[]).code(0);
    // 30 ms of the first one are on the way; without what both compute the other one would not have waited after 5 ms.
    assert_eq!(row(&said, "sort (2 processes): computing"), "0.030000 33.0 % 0.065000");
    says(&said.out, &["gzip (101): fsync"]);
}

#[test]
fn exports_are_what_other_programs_read() {
    let folder = Folder::new();
    let (dot, json) = (folder.path().join("why.dot"), folder.path().join("why.json"));
    let args = ["--dot", dot.to_str().unwrap(), "--perfetto", json.to_str().unwrap()];
    let _ = why(&plan(&folder), &args).code(0);
    let dot = std::fs::read_to_string(dot).unwrap();
    says(&dot, &["digraph", "n2 -> n0 [label=\"message\\nMPI_Send -> MPI_Recv\"]", "fsync: 0.060000 s"]);
    let trace: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(move |event| event["ph"] == phase).collect::<Vec<_>>();
    let critical = of("X").into_iter().filter(|event| event["cat"] == "critical");
    let names: Vec<&str> = critical.map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["compute", "signal", "message", "fsync"]);
    assert_eq!((of("s").len(), of("f").len()), (1, 1));
    let (start, finish) = (of("s")[0], of("f")[0]);
    assert_eq!((&start["id"], &start["name"]), (&finish["id"], &finish["name"]));
    let number = |event: &Value, name: &str| event[name].as_f64().unwrap();
    assert!(number(start, "ts") <= number(finish, "ts"));
    // Both ends of an arrow lie in bars of their rows.
    for end in [start, finish] {
        let at = number(end, "ts");
        let in_bar = |bar: &&Value| {
            bar["tid"] == end["tid"]
                && bar["pid"] == end["pid"]
                && (number(bar, "ts")..=number(bar, "ts") + number(bar, "dur")).contains(&at)
        };
        assert!(of("X").into_iter().any(|bar| in_bar(&bar)), "{end}");
    }
}

#[test]
fn runs_are_taken_as_well_and_other_places_refused() {
    let folder = Folder::new();
    let path = plan(&folder);
    let _ = why(&path, &["--rank", "7"]).code(1).err_has(&["rank 7 is not in it"]);
    let _ = why(&path, &["--rank", "1", "--at", "5s"]).code(1).err_has(&["from 0.000000 to 0.091000 s"]);
    let _ = why(&path, &["--at", "1s"]).code(1).err_has(&["--rank or --program"]);
    let _ = why(&path, &["--rank", "2"]).code(1).err_has(&["rank 2 waited for nobody"]);
    let said = why(whole_run().path(), &[]).code(0);
    says(&said.out, &["app -n 4", "critical path"]);
}
