//! Threads that live when their process exits are ended by that.

use crate::common::*;
use syn_plan::{Io, Op};

/// Whatever such a thread does, the replay ends: none of these tests would return within hours otherwise.
#[test]
fn the_end_of_a_process_cuts_off_computation_sleep_and_idling() {
    let mut draft = Draft::new();
    draft.program(0, None, &[Op::Sleep { ns: 1_000_000 }]);
    let endless = [
        Op::Compute { cpu_ns: HOUR_NS, idle_ns: 0 },
        Op::Compute { cpu_ns: 0, idle_ns: HOUR_NS },
        Op::Sleep { ns: HOUR_NS },
    ];
    for op in endless {
        draft.cut_program(0, &[op, op]);
    }
    draft.cut_program(0, &[Op::Repeat { count: 1000, steps: 1 }, Op::Sleep { ns: HOUR_NS }]);
    draft.replay(&[]).went_well();
}

/// What others see of such a thread came before the exit in the recording: it is done, and nobody waits in vain.
#[test]
fn its_io_and_signals_are_done_all_the_same() {
    let mut draft = Draft::new();
    let (file, edge) = (draft.absent("/out"), draft.edge(1));
    draft.program(0, None, &[io(Io::SyncFs, 0)]);
    let late = [
        Op::Sleep { ns: HOUR_NS },
        open(file, 0, O_WRONLY | O_CREAT),
        write(0, 100),
        close(0),
        signal(edge),
        Op::Sleep { ns: HOUR_NS },
    ];
    draft.cut_program(0, &late);
    draft.program(1, None, &[wait(edge, 1), io(Io::Stat { file, follow: true }, 0)]);
    let replay = draft.replay(&[]);
    let report = replay.went_well();
    assert_eq!(report["calls"]["write"]["bytes"], 100);
    assert_eq!(report["divergences"]["total"], 0);
    let remarks = report["remarks"].to_string();
    assert!(remarks.contains("3 I/O operations came after the end of their process"), "{remarks}");
}

/// The process ends with the last of the programs that end by themselves, not with the first.
#[test]
fn all_that_end_by_themselves_are_waited_for() {
    let mut draft = Draft::new();
    draft.program(0, None, &[io(Io::SyncFs, 0)]);
    draft.program(0, None, &[Op::Sleep { ns: 30_000_000 }, io(Io::SyncFs, 0)]);
    draft.cut_program(0, &[Op::Sleep { ns: HOUR_NS }]);
    let replay = draft.replay(&[]);
    let report = replay.went_well();
    assert_eq!(report["calls"]["syncfs"]["count"], 2);
    assert!(report["replayed_s"].as_f64().expect("a number") >= 0.03);
}

/// A killed process has nobody who ends it: its programs run to the end of their steps.
#[test]
fn a_killed_process_does_what_was_recorded() {
    let mut draft = Draft::new();
    for _ in 0..2 {
        draft.cut_program(
            0,
            &[Op::Compute { cpu_ns: 1_000_000, idle_ns: 0 }, Op::Sleep { ns: 1_000_000 }, io(Io::SyncFs, 0)],
        );
    }
    let replay = draft.replay(&[]);
    assert_eq!(replay.went_well()["calls"]["syncfs"]["count"], 2);
    assert!(replay.report()["balance"]["replayed"]["sleep_s"].as_f64().expect("a number") >= 0.002);
}
