//! A replay that communicates makes the calls that were recorded: the replay is recorded, too, and compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn_plan::{About, Balance, Mpi, Op, Plan, Program, Step, Thread};
use tests::{Dump, Job, has_component, launched, mpich, mpirun, program, shim, syn};

/// Ways to communicate of `programs/comm/patterns.c`.
const WAYS: [&str; 12] = [
    "ping-pong",
    "halo",
    "requests",
    "persistent",
    "communicators",
    "merged",
    "between",
    "collectives",
    "wildcards",
    "alltoall",
    "put",
    "neighbours",
];
/// What makes communicators with a topology: a replay makes them by their edges.
const TOPOLOGIES: [&str; 4] =
    ["MPI_Cart_create", "MPI_Cart_sub", "MPI_Graph_create", "MPI_Dist_graph_create_adjacent"];
/// Ways to use files of `programs/comm/files.c`.
const FILES: [&str; 5] = ["explicit", "views", "shared", "requests", "split"];
const RANKS: u32 = 3;

/// What ranks did: the calls of each with what they moved, in order; and how many requests each kind of call completed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Traffic {
    calls: BTreeMap<u32, Vec<String>>,
    completed: BTreeMap<(u32, String), u64>,
}

/// The calls of MPI in a run folder. A replay makes the first communicator for itself, and what goes through that is its own.
fn traffic(run: &Path, is_replay: bool) -> Traffic {
    let mut traffic = Traffic::default();
    let (mut own, mut own_requests, mut own_messages) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    let mut between = BTreeSet::new();
    for seen in Dump::of(run).0.iter().filter(|seen| seen.layer.starts_with("mpi") && seen.depth == 0) {
        let Some(rank) = seen.rank else { continue };
        let number = |name: &str| seen.args.get(name).and_then(serde_json::Value::as_i64);
        if is_replay && seen.call == "MPI_Comm_dup" && !own.contains_key(&rank) {
            own.insert(rank, number("newcomm").expect("a handle"));
            continue;
        }
        if is_replay && number("comm").is_some_and(|comm| own.get(&rank) == Some(&comm)) {
            own_requests.extend(number("request").map(|request| (rank, request)));
            own_messages.extend(number("message").map(|message| (rank, message)));
            continue;
        }
        // Of two groups, those of a part of each are made by a split.
        if seen.call == "remote-group" {
            between.insert((rank, number("comm")));
        }
        if seen.call == "MPI_Comm_free" {
            between.remove(&(rank, number("comm")));
        }
        if !is_replay && seen.call == "MPI_Comm_create" && between.contains(&(rank, number("comm"))) {
            traffic.calls.entry(rank).or_default().push("MPI_Comm_split".to_owned());
            continue;
        }
        // What receives a message that was taken names no communicator.
        if number("comm").is_none()
            && number("message").is_some_and(|message| own_messages.remove(&(rank, message)))
        {
            continue;
        }
        if let Some(completed) = seen.args.get("completed").and_then(serde_json::Value::as_array) {
            let handles = completed.iter().step_by(4).filter_map(serde_json::Value::as_i64);
            let count = handles.filter(|&handle| !own_requests.remove(&(rank, handle))).count() as u64;
            *traffic.completed.entry((rank, seen.call.clone())).or_default() += count;
            continue;
        }
        // Ranks begin and end together in another way; what is attached stays so; a poll may fail any number of times.
        // Of whom a topology consists, what goes to each of them tells.
        let other = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Buffer_detach", "neighbours"];
        if other.contains(&&*seen.call) || number("flag") == Some(0) {
            continue;
        }
        if !is_replay && TOPOLOGIES.contains(&&*seen.call) {
            let made = ["MPI_Comm_split", "MPI_Dist_graph_create_adjacent", "MPI_Comm_free"];
            traffic.calls.entry(rank).or_default().extend(made.map(str::to_owned));
            continue;
        }
        // Of a receive counts what it got, whatever it asked for.
        let got = seen.args.contains_key("matched_tag") || seen.args.contains_key("source");
        let names = [
            "dest",
            "sendtag",
            "bytes",
            "send_bytes",
            "recv_bytes",
            "root",
            "matched_source",
            "matched_tag",
            "matched_bytes",
            "amode",
            "size",
            "disp",
            "etype_bytes",
            "filetype_bytes",
            "offset",
            "whence",
            "moved_bytes",
            "disp_unit",
            "target",
            "target_disp",
            "exclusive",
        ];
        let mut line = seen.call.clone();
        for name in names.into_iter().chain((!got).then_some("tag")) {
            line += &number(name).map_or(String::new(), |number| format!(" {name}={number}"));
        }
        // Notes: how file types were made, hints, bytes to and from each peer, groups of epochs.
        let note = ["window-group", "remote-group"].contains(&&*seen.call);
        for name in ["made", "hints", "bytes", "members"] {
            let told = seen.args.get(name).filter(|value| note || name != "members" && !value.is_number());
            line += &told.map_or(String::new(), |value| format!(" {name}={value}"));
        }
        let calls = traffic.calls.entry(rank).or_default();
        // The neighbours in a grid have another order in a graph.
        let is_among_neighbours = calls.last().is_some_and(|call| call.to_lowercase().contains("neighbor"));
        if let Some(bytes) = seen.args.get("bytes").filter(|bytes| bytes.is_array() && is_among_neighbours) {
            let mut bytes: Vec<i64> = serde_json::from_value(bytes.clone()).expect("a list of numbers");
            bytes.sort_unstable();
            line = format!("{} bytes={bytes:?}", seen.call);
        }
        calls.push(line);
    }
    traffic.completed.retain(|_, &mut count| count > 0);
    traffic
}

/// Runs a job with the shim.
fn recorded(job: &Job, folder: &Path, run: &str) -> tests::Outcome {
    job.clone().env("LD_PRELOAD", shim()).env("SYN_RUN", folder.join(run)).run_in(folder)
}

/// Records a job, merges, replays, and compares what the ranks did. False when this build does not replay by ranks.
fn replayed_as_recorded(way: &str, job: &Job, folder: &Path) -> bool {
    replayed_by(&mpirun(RANKS).followed_by(&syn().arg("replay")), way, job, folder)
}

/// The same with a program that replays, and its launcher.
fn replayed_by(replay: &Job, way: &str, job: &Job, folder: &Path) -> bool {
    let at = |name: &str| folder.join(name);
    let _ = recorded(job, folder, "run").succeeded();
    let _ = syn().arg("merge").arg(at("run")).arg("-o").arg(at("app.syn")).run_in(folder).succeeded();
    std::fs::create_dir(at("storage")).expect("a folder in an empty one");
    let replay = replay.clone().args(["--comm", "full", "--storage"]).arg(at("storage")).arg(at("app.syn"));
    let replay = recorded(&replay, folder, "replay");
    if replay.stderr.contains("--features mpi") {
        eprintln!("not tested: replay by MPI ranks; run the tests with --features syn-replay/mpi");
        return false;
    }
    let _ = replay.succeeded();
    let (application, replay) = (traffic(&at("run"), false), traffic(&at("replay"), true));
    let calls = application.calls.values().flatten().count();
    assert!(calls > 15, "{way}: {calls} calls");
    for (rank, calls) in &application.calls {
        let others = &replay.calls[rank];
        let differ = calls.iter().zip(others).position(|(one, other)| one != other);
        let differ = differ.map(|at| (at, &calls[at], &others[at]));
        assert_eq!((differ, calls.len()), (None, others.len()), "{way}, rank {rank}");
    }
    assert_eq!(replay.completed, application.completed, "{way}");
    true
}

#[test]
fn a_replay_makes_the_calls_that_were_recorded() {
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let job = mpirun(RANKS).arg(program("comm/patterns")).arg(way);
        if !replayed_as_recorded(way, &job, folder.path()) {
            return;
        }
    }
}

/// Recorded under one MPI, replayed under another.
#[test]
fn another_mpi_makes_the_calls_that_were_recorded() {
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let Some(job) = mpich(RANKS, "comm/patterns") else { return };
        if !replayed_as_recorded(way, &job.arg(way), folder.path()) {
            return;
        }
    }
}

/// And back: recorded under Open MPI, replayed under MPICH, by a `syn-replay` that was built with `MPICC=mpicc.mpich` and that
/// `SYN_REPLAY_MPICH` names; `scripts/test` builds it.
#[test]
fn mpich_makes_the_calls_that_were_recorded_under_open_mpi() {
    let Some(replay) = std::env::var_os("SYN_REPLAY_MPICH") else {
        eprintln!("not tested: replay under MPICH; SYN_REPLAY_MPICH names no syn-replay for it");
        return;
    };
    let replay = launched("mpiexec.hydra", RANKS).arg(replay);
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let job = mpirun(RANKS).arg(program("comm/patterns")).arg(way);
        assert!(replayed_by(&replay, way, &job, folder.path()), "{way}: built without the feature `mpi`");
    }
}

/// What MPI took to begin and to end in the recording, a replay does not spend: it begins and ends MPI itself, and tells how long that took.
#[test]
fn a_replay_begins_and_ends_mpi_itself() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let program = |rank| {
        let call = |start_ns, call| (start_ns, 0, Op::Mpi { call, cpu_ns: 0, idle_ns: 0 });
        let steps = [
            call(0, Mpi::InitEnter),
            (0, HOUR_NS, Op::Compute { cpu_ns: 0, idle_ns: HOUR_NS }),
            call(HOUR_NS, Mpi::Init),
            call(HOUR_NS, Mpi::FinalizeEnter),
            (HOUR_NS, HOUR_NS, Op::Sleep { ns: HOUR_NS }),
            call(2 * HOUR_NS, Mpi::Finalize),
        ];
        // Of the second rank nothing is known of that.
        let is_known = |(_, _, op): &(u64, u64, Op)| {
            rank == 0 || !matches!(op, Op::Sleep { .. } | Op::Mpi { call: Mpi::FinalizeEnter, .. })
        };
        let thread =
            Thread { process: rank, rank: Some(rank), pid: rank, tid: rank, ends_with_process: false };
        let steps = steps.into_iter().filter(is_known);
        let steps = steps.map(|(start_ns, took_ns, op)| Step { start_ns, took_ns, op });
        Program { thread, balance: Balance::default(), steps: steps.collect() }
    };
    let plan = Plan {
        about: About { ranks: 2, recorded_ns: 2 * HOUR_NS, ..About::default() },
        lists: vec![vec![]],
        programs: [0, 1].map(program).into(),
        ..Plan::default()
    };
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let (path, storage) = (folder.path().join("app.syn"), folder.path().join("storage"));
    std::fs::create_dir(&storage).expect("a folder in an empty one");
    plan.save(&path).expect("saved");
    let report = folder.path().join("report.json");
    let replay = syn().args(["replay", "--comm", "full", "--storage"]).arg(storage);
    let replay = replay.arg("--report").arg(&report).arg(path);
    let replay = mpirun(2).followed_by(&replay).run_in(folder.path());
    if replay.stderr.contains("--features mpi") {
        eprintln!("not tested: replay by MPI ranks; run the tests with --features syn-replay/mpi");
        return;
    }
    // 3: done, but something about such a plan may be worth a look.
    assert!(matches!(replay.status.code(), Some(0 | 3)), "{replay:?}");
    let report = std::fs::read(report).expect("a report");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    let [first, second] = [0, 1].map(|rank| &report["ranks"][rank]);
    let end_s =
        first["replayed_s"].as_f64().zip(second["replayed_s"].as_f64()).map(|(one, other)| one - other);
    assert!(end_s.is_some_and(|end_s| end_s > 0.0), "{report}");
    assert_eq!(report["replayed_s"], first["replayed_s"]);
    assert_eq!(first["balance"]["replayed"]["open_percent"], 0.0, "{report}");
}

#[test]
fn a_replay_uses_windows_as_the_application_did() {
    // What works without shared memory.
    let component = if has_component("pt2pt") { "sm,pt2pt" } else { "sm,rdma" };
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let mpirun = mpirun(RANKS).env("OMPI_MCA_osc", component);
    let job = mpirun.clone().arg(program("comm/windows"));
    if replayed_by(&mpirun.followed_by(&syn().arg("replay")), "windows", &job, folder.path()) {
        // Epochs were waited for as they were matched.
        let merge =
            syn().arg("merge").arg(folder.path().join("run")).arg("-o").arg(folder.path().join("again.syn"));
        let report = merge.run_in(folder.path()).succeeded().stdout;
        assert!(waits_found(&report, "epoch").is_some_and(|found| found > 10), "{report}");
    }
}

#[test]
fn a_replay_uses_files_through_mpi_as_the_application_did() {
    for way in FILES {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let data = folder.path().join("data");
        std::fs::create_dir(&data).expect("a folder in an empty one");
        let job = mpirun(RANKS).arg(program("comm/files")).arg(way).arg(data);
        if !replayed_as_recorded(way, &job, folder.path()) {
            return;
        }
        // The other level: what the library did, and no call on a file.
        let at = |name: &str| folder.path().join(name);
        let replay = syn().args(["replay", "--comm", "full", "--mpi-io", "posix", "--storage"]);
        let replay = replay.arg(at("storage")).arg(at("app.syn"));
        let posix = recorded(&mpirun(RANKS).followed_by(&replay), folder.path(), "posix");
        // 3: done, but what ranks waited for inside those calls is not known, so that they may come too early.
        assert!(matches!(posix.status.code(), Some(0 | 3)), "{way}: {posix:?}");
        let calls = Dump::of(&at("posix")).0;
        assert!(calls.iter().all(|seen| seen.layer != "mpi-io"), "{way}");
    }
}

/// How many waits by a rule `syn merge` has found.
fn waits_found(report: &str, rule: &str) -> Option<u32> {
    let line = report.lines().find(|line| line.starts_with(rule))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// What goes between two groups is matched, probes and receives from anybody too: nothing is left over.
#[test]
fn messages_between_groups_are_matched() {
    let open_mpi = mpirun(5).arg(program("comm/between"));
    for job in [Some(open_mpi), mpich(5, "comm/between")].into_iter().flatten() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let _ = recorded(&job, folder.path(), "run").succeeded();
        let merge = syn().args(["merge", "run", "-o", "app.syn"]).run_in(folder.path());
        let report = merge.succeeded().stdout;
        // Of each message the probe and the receive.
        assert_eq!(waits_found(&report, "message"), Some(3 * 10 * 2 * 3 * 2), "{report}");
        assert!(!report.contains("not matched"), "{report}");
    }
}

/// Worlds that a job starts at run time: each is joined with those who started it, and what goes between them is matched, also in what
/// they are merged to.
#[test]
fn worlds_that_are_started_at_run_time_are_matched() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let _ = recorded(&mpirun(2).arg(program("comm/started")), folder.path(), "run").succeeded();
    let report = syn().args(["merge", "run", "-o", "app.syn"]).run_in(folder.path()).succeeded().stdout;
    // There and back between each two of two worlds, and a ring of all.
    let pairs = 2 * 3 + 2 + 2;
    assert_eq!(waits_found(&report, "message"), Some(10 * 2 * pairs + 5 + 3 + 3), "{report}");
    let amiss = ["not matched", "do not have", "not reached by all", "that no recorded", "different names"];
    assert!(!amiss.iter().any(|words| report.contains(words)), "{report}");
    std::fs::create_dir(folder.path().join("storage")).expect("a folder in an empty one");
    // Several processes are rank 0 here.
    let replay = syn().args(["replay", "--storage", "storage", "app.syn"]).run_in(folder.path());
    let _ = replay.succeeded();
}
