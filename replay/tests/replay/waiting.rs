//! Programs wait for each other across processes and threads, whichever way they wait.

use crate::common::*;
use syn_plan::{Io, Op};

/// Two processes pass a file to and fro: each writes what the other has to find. Every check of a size fails unless
/// the order is kept.
fn relay(rounds: u32) -> Draft {
    let mut draft = Draft::new();
    let file = draft.absent("/relay");
    let (mut even, mut odd) = (vec![open(file, 0, O_RDWR | O_CREAT)], Vec::new());
    let opened = draft.edge(1);
    even.push(signal(opened));
    odd.extend([wait(opened, 1), open(file, 0, O_RDWR)]);
    for round in 0..u64::from(rounds) {
        let (there, back) = (draft.edge(1), draft.edge(1));
        let length = 2 * round * 100;
        let whole = |bytes: u64| io(Io::ReadAt { handle: 0, bytes: 1 << 20, offset: 0 }, bytes as i64);
        let append = |offset| io(Io::WriteAt { handle: 0, bytes: 100, offset }, 100);
        even.extend([whole(length), append(length), signal(there), wait(back, 1)]);
        odd.extend([wait(there, 1), whole(length + 100), append(length + 100), signal(back)]);
    }
    draft.program(0, Some(0), &even);
    draft.program(1, Some(1), &odd);
    draft
}

#[test]
fn order_is_kept_between_processes() {
    for style in ["auto", "spin", "block"] {
        let replay = relay(200).replay(&["--wait", style]);
        let report = replay.went_well();
        assert_eq!(report["calls"]["pread"]["count"], 400);
        assert_eq!(report["ranks"].as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn order_is_kept_between_threads_of_a_process() {
    let mut draft = Draft::new();
    let file = draft.absent("/shared");
    let (opened, used) = (draft.edge(1), draft.edge(3));
    draft.program(0, None, &[open(file, 0, O_RDWR | O_CREAT), signal(opened), wait(used, 3), close(0)]);
    for _ in 0..3 {
        draft.program(0, None, &[wait(opened, 1), write(0, 1000), signal(used)]);
    }
    let replay = draft.replay(&["--keep"]);
    assert_eq!(replay.code(), 0, "{}", replay.stderr());
    assert_eq!(replay.kept("/shared").metadata().expect("shared").len(), 3000);
}

/// Eight processes, each writing one file per phase, then a barrier; after it each must find its neighbour's file.
#[test]
fn a_barrier_holds_everyone() {
    let (ranks, phases) = (8, 20);
    let mut draft = Draft::new();
    let mut programs = vec![Vec::new(); ranks];
    for phase in 0..phases {
        let barrier = draft.edge(ranks as u32);
        let files: Vec<u32> =
            (0..ranks).map(|rank| draft.absent(&format!("/phase{phase}/rank{rank}"))).collect();
        for (rank, program) in programs.iter_mut().enumerate() {
            program.extend([open(files[rank], 0, O_WRONLY | O_CREAT), close(0), signal(barrier)]);
            program.extend([wait(barrier, ranks as u32)]);
            program.push(io(Io::Stat { file: files[(rank + 1) % ranks], follow: true }, 0));
        }
    }
    for (rank, program) in programs.iter().enumerate() {
        draft.program(rank as u32, Some(rank as u32), program);
    }
    draft.replay(&["--wait", "block"]).went_well();
    draft.replay(&["--wait", "spin"]).went_well();
}

#[test]
fn closed_and_afap_do_the_same_operations() {
    let mut draft = Draft::new();
    let edge = draft.edge(1);
    for process in 0..2 {
        let file = draft.regular(&format!("/file{process}"), 10_000);
        let together = if process == 0 { signal(edge) } else { wait(edge, 1) };
        let ops =
            [open(file, 0, O_RDWR), Op::Compute { cpu_ns: 500_000, idle_ns: 1000 }, together, read(0, 4096)];
        draft.program(process, None, &ops);
    }
    let counts = |options: &[&str]| {
        let replay = draft.replay(options);
        let calls = replay.went_well()["calls"].as_object().expect("calls").clone();
        calls
            .into_iter()
            .map(|(name, call)| (name, call["count"].clone(), call["bytes"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(counts(&["--mode", "closed"]), counts(&["--mode", "afap"]));
}

#[test]
fn computation_takes_its_processor_time() {
    let mut draft = Draft::new();
    draft.program(0, None, &[Op::Compute { cpu_ns: 100_000_000, idle_ns: 0 }]);
    let cpu =
        |options: &[&str]| draft.replay(options).went_well()["ranks"][0]["cpu_s"].as_f64().expect("cpu_s");
    let (none, once, often) = (cpu(&["--mode", "afap"]), cpu(&[]), cpu(&["--cpu-scale", "5"]));
    assert!(none < once && once < often, "{none} {once} {often}");
}

/// Computations with nothing between them that the meter looks at, as where calls of MPI are replayed as the order of messages: each is done
/// once, and not all of them again before the next.
#[test]
fn computations_in_a_row_are_done_once() {
    const ROW: usize = 31;
    let mut draft = Draft::new();
    draft.program(0, None, &[Op::Compute { cpu_ns: 2000, idle_ns: 0 }; ROW]);
    let work = || {
        let replay = draft.replay(&[]);
        replay.went_well()["balance"]["replayed"]["work_s"].as_f64().expect("work_s")
    };
    let least = (0..5).map(|_| work()).fold(f64::MAX, f64::min);
    // Sixteen times as much if each row began with the first.
    assert!(least > 20e-6 && least < 400e-6, "{least} s for 62 µs");
}

#[test]
fn more_programs_than_cores_start_together() {
    let mut draft = Draft::new();
    let everyone = draft.edge(96);
    for program in 0..96 {
        // Half of them in a process of their own, half as threads of one.
        let process = if program < 48 { program } else { 48 };
        draft.program(process, None, &[signal(everyone), wait(everyone, 96)]);
    }
    draft.replay(&["--wait", "block"]).went_well();
    draft.replay(&["--wait", "spin"]).went_well();
}

/// None of these tests would return within hours otherwise. What was not signalled in time is not waited for.
#[test]
fn a_wait_with_a_time_limit_ends_with_the_signal_or_the_limit() {
    let timed = |edge, count, ns| Op::TimedWait { edge, count, ns };
    let mut draft = Draft::new();
    let (begun, done) = (draft.edge(2), draft.edge(2));
    let waits = [signal(begun), timed(done, 2, HOUR_NS), timed(done, 1, HOUR_NS), wait(done, 2)];
    draft.program(0, Some(0), &[&waits[..], &[io(Io::SyncFs, 0)]].concat());
    draft.program(0, Some(0), &[timed(done, 2, HOUR_NS), wait(done, 2), io(Io::SyncFs, 0)]);
    let sleeps = [signal(begun), wait(begun, 2), timed(done, 2, 5_000_000), signal(done)];
    draft.program(1, Some(1), &[&sleeps[..], &[timed(done, 3, 5_000_000), signal(done)]].concat());
    draft.cut_program(1, &[timed(done, 3, HOUR_NS)]);
    for style in ["auto", "spin", "block"] {
        let replay = draft.replay(&["--wait", style]);
        let report = replay.went_well();
        assert_eq!(report["calls"]["syncfs"]["count"], 2);
        assert!(report["replayed_s"].as_f64().expect("a number") >= 0.009, "the limits were waited for");
    }
}
