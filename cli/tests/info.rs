//! `syn info`: what it promises to other programs, and what it says about incomplete runs.

mod support;

use serde_json::{Value, json};
use support::{Folder, json_on, launcher, on, rank, whole_run};
use syn_trace::header::VERSION;
use syn_trace::record::BEGAN;
use syn_trace::{Call, builder::TraceBuilder};

#[test]
fn a_whole_run_is_complete() {
    let folder = whole_run();
    let info = &json_on("info", folder.path()).code(0).json()[0];
    let expected = json!({
        "kind": "run", "format": VERSION, "command": "app -n 4", "host": "node0", "hosts": ["node0"], "mpi": "Open MPI",
        "processes": 3, "threads": 3, "ranks": 2, "events": 6 + 2 * 13, "complete": true, "dropped": 0,
        "not_entered": [], "unobserved": [],
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&info[name], value, "{name}");
    }
    let elapsed = info["elapsed_s"].as_f64().unwrap();
    assert!((elapsed - 1_055e-6).abs() < 1e-12, "{elapsed}");
    assert!(info["bytes"].as_u64().unwrap() > 3 * 512);
    assert_eq!(info["calls"]["MPI_Init"], 2);
    assert_eq!(info["layers"], json!({"posix": 8, "stdio": 4, "process": 16, "mpi": 4}));
    let processes = info["process_list"].as_array().unwrap();
    let of = |field: &str| processes.iter().map(|process| process[field].clone()).collect::<Vec<Value>>();
    assert_eq!(of("pid"), [100, 101, 102]);
    assert_eq!(of("rank"), [Value::Null, 0.into(), 1.into()]);
    assert_eq!(of("launcher"), [true, false, false]);
}

/// A damaged trace may say anything.
#[test]
fn times_of_any_length_have_a_sum() {
    const LONG_NS: u64 = 8_000_000_000_000_000_000;
    let folder = Folder::new();
    for pid in [100, 101] {
        let builder = TraceBuilder::new(pid, pid).process_start("/bin/app", "/", "app");
        let builder = builder.cpu(Some(LONG_NS), Some(LONG_NS));
        folder.add(&builder.call(Call::Sync, LONG_NS, LONG_NS, 0, &[], &[], &[]));
    }
    let info = &json_on("info", folder.path()).json()[0];
    for part in ["work_s", "calls_s"] {
        assert!(info["balance"][part].as_f64().unwrap() > 1.5e10, "{info}");
    }
}

#[test]
fn the_screen_names_what_ran() {
    let screen = on("info", whole_run().path()).code(0).out;
    for part in [
        "app -n 4",
        "Open MPI, 2 ranks",
        "mpirun -np 2 app (process creation only)",
        "yes, nothing was missed",
    ] {
        assert!(screen.contains(part), "{part:?} in\n{screen}");
    }
    assert!(screen.lines().count() < 40);
}

/// The entry of `not_entered` for a run of these threads.
fn not_entered(threads: &[TraceBuilder]) -> Vec<Value> {
    let folder = Folder::new();
    threads.iter().for_each(|thread| drop(folder.add(thread)));
    let info = json_on("info", folder.path()).code(3).json().remove(0);
    assert_eq!(info["complete"], false);
    info["not_entered"].as_array().unwrap().clone()
}

#[test]
fn a_process_that_left_no_trace_is_named() {
    let missing = not_entered(&[launcher(&[101, 102, 103]), rank(0), rank(1)]);
    let expected = json!({"pid": 103, "rank": null, "program": "/bin/app", "started_by": 100, "call": "posix_spawn",
            "why": "its file cannot be looked at any more"});
    assert_eq!(missing, [expected]);
}

#[test]
fn whoever_is_waited_for_must_have_a_trace() {
    let start = || TraceBuilder::new(50, 50).process_start("/bin/a", "/", "a");
    let wait = |thread: TraceBuilder, at| thread.call(Call::Waitpid, at, 5, 51, &[-1, 0, 0], &[], &[]);
    let forked = start().call(Call::Fork, 10, 5, 51, &[], &[], &[]);
    let missing = not_entered(&[wait(forked, 20)]);
    assert_eq!(missing.len(), 1, "named once: {missing:?}");
    assert_eq!((&missing[0]["pid"], &missing[0]["call"]), (&json!(51), &json!("fork")));
    assert_eq!(not_entered(&[wait(start(), 20)])[0]["call"], "waitpid");
}

#[test]
fn a_missing_rank_is_named() {
    let missing = not_entered(&[launcher(&[101]), rank(0)]);
    assert_eq!(missing.len(), 1);
    assert_eq!((&missing[0]["rank"], &missing[0]["pid"]), (&json!(1), &Value::Null));
}

#[test]
fn execve_needs_a_successor_only_when_it_succeeded() {
    let start = || TraceBuilder::new(50, 50).process_start("/bin/a", "/", "a");
    let exec = |thread: TraceBuilder, at| {
        thread.flags(BEGAN).call(Call::Execve, at, 0, 0, &[], &[b"/opt/static"], &[])
    };
    let missing = not_entered(&[exec(start(), 10)]);
    assert_eq!((&missing[0]["call"], &missing[0]["pid"]), (&json!("execve"), &json!(50)));
    assert_eq!(missing[0]["program"], "/opt/static");

    let folder = Folder::new();
    folder.add(&exec(start(), 10));
    folder.add(&TraceBuilder::new(50, 50).image(20).process_start("/opt/static", "/", "b"));
    json_on("info", folder.path()).code(0);

    let folder = Folder::new();
    folder.add(&exec(start(), 10).fail(Call::Execve, 10, 5, 2, &[], &[b"/opt/static"]));
    json_on("info", folder.path()).code(0);
}

/// As Python's `subprocess` does for a program that is not there.
#[test]
fn the_child_of_a_vfork_may_become_no_program() {
    let forked = |thread: TraceBuilder, at, pid| thread.call(Call::Vfork, at, 5, pid, &[], &[], &[]);
    let start = || forked(TraceBuilder::new(50, 50).process_start("/bin/a", "/", "a"), 10, 51);
    let failed = || start().fail(Call::ChildExecve, 15, 0, 2, &[51], &[b"/bin/missing"]);
    let waited = |thread: TraceBuilder| thread.call(Call::Waitpid, 20, 5, 51, &[51, 0, 0], &[], &[]);
    let folder = Folder::new();
    folder.add(&waited(failed()));
    json_on("info", folder.path()).code(0);
    let folder = Folder::new();
    folder.add(&TraceBuilder::new(50, 49).call(Call::Waitpid, 20, 5, 51, &[51, 0, 0], &[], &[]));
    folder.add(&failed());
    json_on("info", folder.path()).code(0);
    let other = forked(waited(failed()), 30, 52).call(Call::ChildExecve, 35, 0, 0, &[52], &[b"/bin/b"], &[]);
    let missing = not_entered(&[other]);
    assert_eq!(
        (missing.len(), &missing[0]["pid"], &missing[0]["program"]),
        (1, &json!(52), &json!("/bin/b"))
    );
}

#[test]
fn every_shell_of_system_must_have_a_trace() {
    let start = || TraceBuilder::new(50, 50).process_start("/bin/a", "/", "a");
    let system = |thread: TraceBuilder, at| thread.call(Call::System, at, 5, 0, &[], &[b"gzip x"], &[]);
    let shell = |pid| {
        TraceBuilder::new(pid, pid)
            .image(12)
            .header(|header| header.ppid = 50)
            .process_start("/bin/sh", "/", "sh")
    };
    let two = || system(system(start(), 10), 30);
    assert_eq!(not_entered(&[two(), shell(51)]).len(), 1);
    let folder = Folder::new();
    [two(), shell(51), shell(52)].iter().for_each(|thread| drop(folder.add(thread)));
    json_on("info", folder.path()).code(0);
}

/// The reasons in `unobserved` for a run of one thread.
fn unobserved(thread: &TraceBuilder) -> Vec<String> {
    let folder = Folder::new();
    folder.add(thread);
    let info = &json_on("info", folder.path()).code(3).json()[0];
    assert_eq!(info["complete"], false);
    let reasons = info["unobserved"].as_array().unwrap();
    reasons.iter().map(|missed| missed["reason"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_could_not_be_seen_is_listed_with_its_reason() {
    let start = || TraceBuilder::new(50, 50).process_start("/bin/a", "/", "a");
    let noted = unobserved(&start().call(Call::Unobserved, 10, 0, 0, &[], &[b"io_uring"], &[]));
    assert_eq!(noted, ["io_uring"]);
    let dropped = unobserved(&start().header(|header| *header.dropped.get_mut() = 7));
    assert_eq!(dropped, ["7 records of thread 50 could not be written"]);
    let blind = unobserved(&start().header(|header| *header.capabilities.get_mut() = 0));
    assert!(blind[0].contains("detoured"), "{blind:?}");
}

/// A service starts the tasks of a job of Slurm: no recorded process is their parent.
#[test]
fn of_what_slurm_has_others_start_something_must_be_there() {
    let process = |pid: u32, parent: u32, exe: &str| {
        let process = TraceBuilder::new(pid, pid).header(|header| header.ppid = parent);
        process.process_start(exe, "/", exe).call(Call::Sync, 5, 5, 0, &[], &[], &[])
    };
    let (shell, task) = (process(100, 1, "/bin/sh"), process(300, 299, "/bin/app"));
    for starter in ["srun", "sbatch"] {
        let starter_process = process(101, 100, &format!("/usr/bin/{starter}"));
        let folder = Folder::new();
        [&shell, &starter_process].into_iter().for_each(|thread| drop(folder.add(thread)));
        let info = json_on("info", folder.path()).code(3).json().remove(0);
        let told = &info["unobserved"][0];
        assert_eq!((&info["complete"], &told["pid"]), (&json!(false), &json!(101)), "{info}");
        assert!(told["reason"].as_str().unwrap().contains(starter), "{told}");
        folder.add(&task);
        assert_eq!(json_on("info", folder.path()).code(0).json()[0]["complete"], true);
    }
}

#[test]
fn what_is_alike_is_told_once() {
    let folder = Folder::new();
    let pids: Vec<i64> = (201..801).collect();
    folder.add(&launcher(&pids));
    let alone = on("info", folder.path()).code(3).out;
    let line = "process 203 (posix_spawn by process 100) and others (600 times): /bin/app";
    assert!(alone.contains(line), "{alone}");
    for pid in 201..801 {
        let start =
            TraceBuilder::new(pid, pid).header(|header| header.ppid = 100).process_start("/bin/a", "/", "a");
        folder.add(&start.call(Call::Unobserved, 10, 0, 0, &[], &[b"io_uring"], &[]));
    }
    let all = on("info", folder.path()).code(3).out;
    let line = "process 201, process 202, process 203 and others (600 times): io_uring";
    assert_eq!(all.matches("io_uring").count(), 1, "{all}");
    assert!(
        all.contains(line) && all.contains("no, see above") && !all.contains("nothing was missed"),
        "{all}"
    );
}

/// What could not be observed stands in the plan too.
#[test]
fn a_plan_of_a_run_that_was_not_wholly_seen_says_so() {
    let folder = Folder::new();
    let plan = folder.path().join("app.syn");
    let run = folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    let start = TraceBuilder::new(50, 50).process_start("/bin/a", "/", "a");
    start.call(Call::Unobserved, 10, 0, 0, &[], &[b"io_uring"], &[]).write(&run).unwrap();
    let merged = support::run(["merge", run.to_str().unwrap(), "-o", plan.to_str().unwrap()]);
    assert!(merged.code(0).out.contains("not observed: io_uring (1 times)"));
    let info = on("info", &plan).code(3).out;
    assert!(info.contains("io_uring") && info.contains("no, see above"), "{info}");
}

#[test]
fn a_single_trace_can_be_looked_into() {
    let folder = Folder::new();
    let file = folder.add(&TraceBuilder::new(50, 50).process_start("/bin/a", "/", "a b c"));
    assert_eq!(json_on("info", &file).code(0).json()[0]["command"], "a b c");
}
