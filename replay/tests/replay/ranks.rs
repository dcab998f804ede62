//! The MPI transport: one rank per recorded rank, started by `mpirun`.

use crate::common::*;
use std::process::{Command, Output};
use syn_plan::{Io, Mpi, Op, SendMode, WORLD};

fn mpirun(ranks: u32, draft: &Draft, options: &[&str]) -> (Output, Option<serde_json::Value>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (plan, report, storage) =
        (folder.path().join("app.syn"), folder.path().join("report.json"), folder.path().join("storage"));
    std::fs::create_dir(&storage).expect("the storage");
    draft.0.save(&plan).expect("the plan is written");
    let output = Command::new("mpirun")
        .args(["--allow-run-as-root", "--oversubscribe", "-np", &ranks.to_string()])
        .arg(env!("CARGO_BIN_EXE_syn-replay"))
        .args([
            "--storage".as_ref(),
            storage.as_os_str(),
            plan.as_os_str(),
            "--report".as_ref(),
            report.as_os_str(),
        ])
        .args(options)
        .output()
        .expect("mpirun starts");
    assert_eq!(std::fs::read_dir(&storage).expect("the storage").count(), 0, "the folder is gone");
    let report = std::fs::read(report).ok().map(|text| serde_json::from_slice(&text).expect("a report"));
    (output, report)
}

/// Ranks with one, two and no program of their own threads, phases with a barrier between them, a launcher without
/// rank, and signals that nobody needs.
fn draft() -> Draft {
    let (ranks, phases) = (4, 30);
    let mut draft = Draft::new();
    let ended = draft.edge(ranks as u32);
    let unheard = draft.edge(2);
    let mut programs = vec![Vec::new(); ranks];
    for phase in 0..phases {
        let barrier = draft.edge(ranks as u32);
        let files: Vec<u32> =
            (0..ranks).map(|rank| draft.absent(&format!("/phase{phase}/rank{rank}"))).collect();
        for (rank, program) in programs.iter_mut().enumerate() {
            program.extend([open(files[rank], 0, O_WRONLY | O_CREAT), write(0, 100), close(0)]);
            program.extend([signal(barrier), wait(barrier, ranks as u32)]);
            program.push(io(Io::Stat { file: files[(rank + 1) % ranks], follow: true }, 0));
        }
    }
    programs[1].extend([signal(unheard), signal(unheard)]);
    programs[2].push(wait(unheard, 1));
    for (rank, program) in programs.iter_mut().enumerate() {
        program.push(signal(ended));
        draft.program(rank as u32, Some(rank as u32), program);
    }
    let helper = draft.edge(1);
    draft.program(3, Some(3), &[Op::Compute { cpu_ns: 10_000, idle_ns: 0 }, signal(helper)]);
    draft.program(3, Some(3), &[Op::TimedWait { edge: helper, count: 1, ns: HOUR_NS }, wait(helper, 1)]);
    let timed = |ns| Op::TimedWait { edge: ended, count: ranks as u32, ns };
    draft.program(100, None, &[timed(1_000_000), timed(HOUR_NS), wait(ended, ranks as u32)]);
    draft
}

#[test]
fn ranks_replay_what_local_processes_replay() {
    let draft = draft();
    for options in [&["--wait", "spin"], &["--wait", "block"], &["--repeat", "3"]] {
        let (output, report) = mpirun(4, &draft, options);
        assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
        let report = report.expect("a report");
        assert_eq!(report["transport"], "mpi");
        assert_eq!(report["divergences"]["total"], 0);
        assert_eq!(report["calls"]["write"]["bytes"], 4 * 30 * 100);
        assert_eq!(report["ranks"].as_array().map(Vec::len), Some(5));
    }
}

#[test]
fn another_number_of_ranks_is_wrong_usage() {
    let (output, report) = mpirun(3, &draft(), &[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(stderr.matches("the plan is for 4 ranks, but there are 3").count(), 1, "{stderr}");
    assert!(stderr.contains("mpirun -np 4") && report.is_none());
}

#[test]
fn a_plan_without_mpi_is_wrong_usage() {
    let mut draft = Draft::new();
    draft.program(0, None, &[Op::Sleep { ns: 1 }]);
    let (output, _) = mpirun(2, &draft, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("without mpirun"));
}

/// The others do not wait for it at the common start.
#[test]
fn a_rank_that_cannot_begin_ends_all_ranks() {
    let mut draft = Draft::new();
    let op = |call| Op::Mpi { call, cpu_ns: 0, idle_ns: 0 };
    let all = 0..4096;
    let send = Mpi::Send { mode: SendMode::Standard, comm: WORLD, peer: 1, tag: 1, bytes: 8 };
    let sends = all.clone().map(|_| op(send));
    let receives =
        all.map(|request| op(Mpi::Irecv { comm: WORLD, peer: 0, tag: 1, bytes: i32::MAX as u64, request }));
    let between = |calls: Vec<Op>| [vec![op(Mpi::Init)], calls, vec![op(Mpi::Finalize)]].concat();
    draft.program(0, Some(0), &between(sends.collect()));
    draft.program(1, Some(1), &between(receives.collect()));
    draft.0.lists = vec![vec![0]];
    let (output, _) = mpirun(2, &draft, &["--comm", "full"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(stderr.matches("the messages of a rank take").count(), 1, "{stderr}");
}

#[test]
fn a_failure_of_the_leader_ends_all_ranks() {
    let mut draft = draft();
    draft.regular("/huge", 1 << 60);
    let (output, _) = mpirun(4, &draft, &[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(stderr.matches("too small").count(), 1, "{stderr}");
}
