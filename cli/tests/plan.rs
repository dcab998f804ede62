//! `syn info`, `syn dump` and `syn check` on plans.

mod support;

use serde_json::json;
use std::path::PathBuf;
use support::{Folder, json_on, on};
use syn_plan::{
    About, Balance, Edge, File, Initial, Io, LeftOut, Op, Plan, Program, Rule, Step, Steps, Thread,
};

fn program(rank: u32, ops: &[Op]) -> Program {
    let steps: Steps =
        (0u64..).zip(ops).map(|(at, &op)| Step { start_ns: at * 1_000, took_ns: 10, op }).collect();
    let (pid, tid) = (100 + rank, 100 + rank);
    let thread = Thread { process: rank, rank: Some(rank), pid, tid, ends_with_process: false };
    Program { thread, balance: Balance::default(), steps }
}

fn plan() -> Plan {
    let io = |call, result| Op::Io { call, result };
    let mut edge = Edge::new(Rule::Message, 1);
    (edge.evidence.signalled_in, edge.evidence.awaited_in) = (Some(0), Some(1));
    Plan {
        about: About {
            command: "app".into(),
            hosts: vec!["node0".into(), "node1".into()],
            mpi: Some("Open MPI".into()),
            ranks: 2,
            recorded_ns: 1_500_000_000,
            runs_ns: vec![1_500_000_000, 1_600_000_000],
            events: 40,
            dropped: 0,
            busy_waiting: 0.5,
            cores: 2,
            remarks: Vec::new(),
            left_out: Vec::new(),
            left_out_threads: Vec::new(),
            images: vec!["app".into(), "a\u{1b}[2Jpp".into()],
        },
        files: vec![
            File { path: "/data/in".into(), initial: Initial::Regular { bytes: 4096 } },
            File { path: "/data/out".into(), initial: Initial::Absent },
        ],
        names: Vec::new(),
        attributes: Vec::new(),
        edges: vec![edge],
        calls: vec!["MPI_Send".into(), "MPI_Recv".into()],
        communicators: Vec::new(),
        lists: Vec::new(),
        programs: vec![
            program(
                0,
                &[
                    io(Io::Open { file: 0, handle: 0, flags: 0, mode: 0 }, 0),
                    io(Io::Read { handle: 0, bytes: 512 }, 512),
                    Op::Signal { edge: 0 },
                    io(Io::Rename { from: 0, to: 1 }, -2),
                ],
            ),
            program(
                1,
                &[
                    Op::Compute { cpu_ns: 5, idle_ns: 1 },
                    Op::Wait { edge: 0, count: 1, stride: 0 },
                    io(Io::SyncFs, 0),
                ],
            ),
        ],
    }
}

fn saved(folder: &Folder, plan: &Plan) -> PathBuf {
    let path = folder.path().join("app.syn");
    plan.save(&path).unwrap();
    path
}

#[test]
fn info_counts_edges_by_rule() {
    let folder = Folder::new();
    let info = &json_on("info", &saved(&folder, &plan())).code(0).json()[0];
    let expected = json!({
        "kind": "plan", "format": syn_plan::VERSION, "command": "app", "host": "node0", "mpi": "Open MPI", "processes": 2,
        "threads": 2, "ranks": 2, "events": 40, "elapsed_s": 1.5, "complete": true, "dropped": 0, "not_entered": [],
        "unobserved": [], "steps": 7, "files": 2, "prepared_bytes": 4096, "runs_s": [1.5, 1.6],
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&info[name], value, "{name}");
    }
    assert_eq!((&info["edges"]["message"], &info["edges"]["collective"]), (&json!(1), &json!(0)));
    let mut remarked = plan();
    remarked.about.remarks.push("io_uring was used".into());
    let said = on("info", &saved(&folder, &remarked)).code(3);
    assert!(said.out.contains("io_uring was used") && said.out.contains("message 1"), "{}", said.out);
}

#[test]
fn info_shows_where_the_time_went() {
    let folder = Folder::new();
    let mut plan = plan();
    let absent = on("info", &saved(&folder, &plan)).code(0).out;
    assert!(absent.contains("balance      not in this plan"), "{absent}");
    for program in &mut plan.programs {
        let balance = &mut program.balance;
        (balance.wall_ns, balance.work_ns) = (1_500_000_000, 1_200_000_000);
        (balance.unexplained_calls_ns, balance.preempted_ns) = (150_000_000, 30_000_000);
        balance.explain(Rule::Message, 120_000_000);
    }
    let path = saved(&folder, &plan);
    let info = &json_on("info", &path).code(0).json()[0];
    let expected = json!({
        "wall_s": 3.0, "work_s": 2.4, "calls_cpu_s": 0.0, "calls_wait_s": 0.0, "sleep_s": 0.0,
        "explained_s": {"message": 0.24}, "unexplained_calls_s": 0.3, "unexplained_s": 0.0, "preempted_s": 0.06,
        "recording_s": 0.0, "unmeasured_s": 0.0, "polling_cpu_s": 0.0, "open_percent": 0.0,
    });
    assert_eq!((&info["balance"], &info["cores"]), (&expected, &json!(2)));
    let thread = &info["thread_list"][1];
    assert_eq!((&thread["tid"], &thread["rank"], &thread["work_s"]), (&json!(101), &json!(1), &json!(1.2)));
    // What a program is called does nothing to the screen.
    assert_eq!(thread["image"], "a\\u{1b}[2Jpp");
    let screen = on("info", &path).code(0).out;
    for part in ["1.500      1.200", "10.0 % of the threads' time is unknown", " app\n", " a\\u{1b}[2Jpp\n"] {
        assert!(screen.contains(part), "{part:?} in\n{screen}");
    }
    assert!(!screen.contains("cores can do no more"), "{screen}");
    plan.about.cores = 1;
    let screen = on("info", &saved(&folder, &plan)).code(0).out;
    assert!(screen.contains("2.400 s of processor time, but 1 cores"), "{screen}");
}

#[test]
fn dump_has_one_line_per_step() {
    let folder = Folder::new();
    let path = saved(&folder, &plan());
    let steps = json_on("dump", &path).code(0).json();
    assert_eq!(steps.len(), 7);
    assert_eq!(
        steps[1],
        json!({
            "program": 0, "step": 1, "process": 0, "pid": 100, "image": "app", "tid": 100, "rank": 0, "start_ns": 1000, "end_ns": 1010,
            "call": "read", "path": "/data/in", "args": {"handle": 0, "bytes": 512}, "result": 512,
        })
    );
    assert_eq!((&steps[3]["errno"], &steps[3]["result"]), (&json!(2), &json!(-1)));
    assert_eq!((&steps[3]["path"], &steps[3]["second_path"]), (&json!("/data/in"), &json!("/data/out")));
    assert_eq!(steps[6]["args"], json!({}));
    assert_eq!(steps[5]["rule"], "message");
    let evidence = json!({
        "guarantee": "certain", "signalled_in": "MPI_Send", "awaited_in": "MPI_Recv", "seen": 1, "possible": 1,
    });
    assert_eq!((&steps[5]["evidence"], &steps[2]["evidence"]), (&evidence, &evidence));
    let text = on("dump", &path).code(0).out;
    assert_eq!(text.lines().count(), 7);
    let wait = "wait e0 count=1 (message, certain, MPI_Send -> MPI_Recv, 1 of 1 runs)";
    assert!(text.lines().nth(5).unwrap().ends_with(wait), "{text}");
    assert!(text.lines().nth(1).unwrap().ends_with("= 512 </data/in>"), "{text}");
}

#[test]
fn a_handle_of_an_open_that_failed_is_no_file_s() {
    let folder = Folder::new();
    let mut plan = plan();
    let io = |call, result| Op::Io { call, result };
    let open = |file, result| io(Io::Open { file, handle: 0, flags: 0, mode: 0 }, result);
    plan.programs[0] = program(0, &[open(0, 0), open(1, -2), io(Io::Fstat { handle: 0 }, 0)]);
    plan.programs[0].steps.push(&Step { start_ns: 9_000, took_ns: 0, op: Op::Signal { edge: 0 } });
    let steps = json_on("dump", &saved(&folder, &plan)).code(0).json();
    assert_eq!((&steps[1]["path"], &steps[2]["path"]), (&json!("/data/out"), &json!("/data/in")));
}

#[test]
fn info_lists_what_is_left_out() {
    let folder = Folder::new();
    let mut plan = plan();
    let left_out = LeftOut { call: "read (pipe)".into(), count: 3, bytes: 70, ns: 2_500_000_000 };
    plan.about.left_out.push(left_out);
    let path = saved(&folder, &plan);
    let info = &json_on("info", &path).code(0).json()[0];
    assert_eq!(info["left_out"], json!([{"call": "read (pipe)", "count": 3, "bytes": 70, "s": 2.5}]));
    assert!(on("info", &path).code(0).out.contains("read (pipe) 3, 70 bytes, 2.500 s"));
}

#[test]
fn a_plan_that_is_damaged_or_cut_off_is_refused_with_the_place() {
    let folder = Folder::new();
    let path = saved(&folder, &plan());
    assert!(on("check", &path).code(0).out.contains("2 programs, 7 steps, 1 edges"));
    let whole = std::fs::read(&path).unwrap();
    let mut newer = whole.clone();
    newer[8] = 99;
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for (bytes, expected) in
        [(&newer[..], "newer"), (&damaged, "damaged in"), (&whole[..whole.len() - 1], "cut off")]
    {
        std::fs::write(&path, bytes).unwrap();
        for subcommand in ["info", "dump", "check"] {
            on(subcommand, &path).code(1).err_has(&["app.syn", expected]);
        }
    }
}
