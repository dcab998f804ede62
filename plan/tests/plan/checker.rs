//! What a plan must not be, and how repeats unroll.

use crate::sample::sample;
use syn_plan::{Edge, Fault, File, Initial, Io, Op, Plan, Program, Rule, Step, Thread};

fn program(ops: &[Op]) -> Program {
    let steps = ops.iter().map(|&op| Step { start_ns: 0, took_ns: 0, op }).collect();
    Program { thread: Thread { process: 0, rank: None, pid: 1, tid: 1 }, steps }
}

fn plan(signals: &[u32], programs: &[&[Op]]) -> Plan {
    Plan {
        edges: signals.iter().map(|&signals| Edge { rule: Rule::Message, signals }).collect(),
        files: vec![File { path: "/a".into(), initial: Initial::Absent }],
        programs: programs.iter().map(|ops| program(ops)).collect(),
        ..Plan::default()
    }
}

fn signal(edge: u32) -> Op {
    Op::Signal { edge }
}

fn wait(edge: u32, count: u32) -> Op {
    Op::Wait { edge, count }
}

#[test]
fn the_sample_is_in_order() {
    assert_eq!(sample().check(), Ok(()));
}

#[test]
fn paths_must_be_absolute_and_not_climb() {
    for path in ["a", "", "/a/../b", "/..", "../a", "/a\0b"] {
        let mut plan = plan(&[], &[]);
        plan.files[0].path = path.into();
        assert_eq!(plan.check(), Err(Fault::BadPath { file: 0, path: path.into() }));
    }
    let mut plan = plan(&[], &[]);
    plan.files[0].path = "/a/..b/c../...".into();
    assert_eq!(plan.check(), Ok(()));
}

#[test]
fn numbers_must_refer_to_something() {
    let what = |ops: &[Op]| match plan(&[], &[ops]).check() {
        Err(Fault::NoSuch { step, what, number, limit, .. }) => (step, what, number, limit),
        other => panic!("{other:?}"),
    };
    let io = |call| Op::Io { call, result: 0 };
    assert_eq!(what(&[io(Io::SyncFs), io(Io::Unlink { file: 1 })]), (1, "file", 1, 1));
    assert_eq!(what(&[io(Io::Rename { from: 0, to: 9 })]), (0, "file", 9, 1));
    assert_eq!(what(&[io(Io::Dup { handle: 0, new: 1 << 22 })]), (0, "handle", 1 << 22, 1 << 22));
    assert_eq!(what(&[wait(0, 0)]), (0, "edge", 0, 0));
}

#[test]
fn repeats_must_stay_inside_and_flat() {
    let why = |ops: &[Op]| match plan(&[0], &[ops]).check() {
        Err(Fault::BadRepeat { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let (repeat, sleep) = (|steps| Op::Repeat { count: 2, steps }, Op::Sleep { ns: 1 });
    assert_eq!(why(&[repeat(1)]), "reaches behind the end of the program");
    assert_eq!(why(&[repeat(3), sleep, sleep]), "reaches behind the end of the program");
    assert_eq!(why(&[repeat(2), repeat(1), sleep]), "stands inside another one");
    assert_eq!(why(&[repeat(2), sleep, wait(0, 0)]), "holds a signal or a wait");
    assert_eq!(plan(&[0], &[&[repeat(1), sleep, wait(0, 0)]]).check(), Ok(()));
}

#[test]
fn edges_must_get_the_signals_they_are_said_to_get() {
    let fault = plan(&[2], &[&[signal(0)]]).check();
    assert_eq!(fault, Err(Fault::Signals { edge: 0, found: 1, expected: 2 }));
}

#[test]
fn nobody_may_wait_for_ever() {
    let fault = plan(&[1, 1], &[&[wait(0, 1), signal(1)], &[wait(1, 1), signal(0)]]).check();
    assert_eq!(fault, Err(Fault::Deadlock { program: 0, step: 0, edge: 0, count: 1 }));
    let fault = plan(&[1], &[&[signal(0), wait(0, 2)]]).check();
    assert_eq!(fault, Err(Fault::Deadlock { program: 0, step: 1, edge: 0, count: 2 }));
    assert_eq!(plan(&[1, 1], &[&[wait(0, 1), signal(1)], &[signal(0), wait(1, 1)]]).check(), Ok(()));
}

#[test]
fn waits_for_different_counts_of_one_edge_go_on_in_turn() {
    let (first, second, all) = ([wait(0, 1), signal(0)], [wait(0, 2), signal(0)], [wait(0, 3)]);
    assert_eq!(plan(&[3], &[&all, &second, &first, &[signal(0)]]).check(), Ok(()));
}

#[test]
fn repeats_unroll_with_their_times() {
    let step = |start_ns, took_ns, op| Step { start_ns, took_ns, op };
    let (sleep, sync) = (Op::Sleep { ns: 1 }, Op::Io { call: Io::SyncFs, result: 0 });
    let steps: syn_plan::Steps = [
        step(0, 5, sync),
        step(10, 300, Op::Repeat { count: 3, steps: 2 }),
        step(20, 1, sleep),
        step(30, 2, sync),
        step(310, 0, Op::Repeat { count: 0, steps: 1 }),
        step(310, 9, sleep),
        step(400, 7, sleep),
    ]
    .into_iter()
    .collect();
    let unrolled: Vec<(u64, u64)> = steps.unrolled().map(|step| (step.start_ns, step.took_ns)).collect();
    let expected = [(0, 5), (20, 1), (30, 2), (120, 1), (130, 2), (220, 1), (230, 2), (400, 7)];
    assert_eq!(unrolled, expected);
    assert_eq!(steps.len(), 7);
}
