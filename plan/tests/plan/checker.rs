//! What a plan must not be, and how repeats unroll.

use crate::sample::sample;
use syn_plan::{Attribute, Balance, Edge, Fault, File, Initial, Io, Op, Plan, Program, Rule, Step, Thread};

fn program(ops: &[Op]) -> Program {
    let steps = ops.iter().map(|&op| Step { start_ns: 0, took_ns: 0, op }).collect();
    let thread = Thread { process: 0, rank: None, pid: 1, tid: 1, ends_with_process: false };
    Program { thread, balance: Balance::default(), steps }
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
fn what_cannot_be_prepared_is_refused() {
    let files = |paths: &[(&str, Initial)]| {
        let files = paths.iter().map(|&(path, initial)| File { path: path.into(), initial }).collect();
        Plan { files, ..Plan::default() }.check()
    };
    let file = Initial::Regular { bytes: 1 };
    let fault = files(&[("/d/f", Initial::Directory), ("/d", file)]);
    assert_eq!(fault, Err(Fault::FileInFile { file: 0, path: "/d/f".into(), folder: "/d".into() }));
    assert_eq!(files(&[("/d/f", Initial::Absent), ("/d", file)]), Ok(()));
    let (name, path) = (format!("/{}", "x".repeat(256)), "/x".repeat(2048));
    for path in [name, path] {
        assert_eq!(files(&[(&path, Initial::Absent)]), Err(Fault::LongName { file: 0, path: path.clone() }));
    }
}

#[test]
fn what_is_not_there_has_no_attributes() {
    let mut plan = plan(&[], &[]);
    plan.names.push("user.x".into());
    plan.attributes.push(Attribute { file: 0, name: 0, bytes: 1 });
    assert_eq!(plan.check(), Err(Fault::AttributeOfNothing { file: 0, path: "/a".into() }));
    plan.files[0].initial = Initial::Directory;
    assert_eq!(plan.check(), Ok(()));
    plan.attributes[0].name = 1;
    assert!(matches!(plan.check(), Err(Fault::NoSuch { what: "attribute name", .. })));
}

#[test]
fn rights_are_not_given_out() {
    let io = |call| [Op::Io { call, result: 0 }];
    let check = |call, name: &str| {
        let mut plan = plan(&[], &[&io(call)]);
        plan.names.push(name.into());
        plan.check()
    };
    let set = Io::SetXattr { file: 0, follow: true, name: 0, bytes: 1, flags: 0 };
    let get = Io::GetXattr { file: 0, follow: true, name: 0, bytes: 1 };
    assert_eq!(check(set, "user.x"), Ok(()));
    assert_eq!(check(get, "security.capability"), Ok(()));
    let refused = Err(Fault::BadAttribute { name: "security.capability".into() });
    assert_eq!(check(set, "security.capability"), refused);
    assert_eq!(check(Io::RemoveXattr { file: 0, follow: true, name: 0 }, "security.capability"), refused);
    assert_eq!(check(Io::Mknod { file: 0, mode: 0o010_644 }, ""), Ok(()));
    let mode = 0o060_644;
    assert_eq!(check(Io::Mknod { file: 0, mode }, ""), Err(Fault::BadNode { program: 0, step: 0, mode }));
}

/// `RENAME_WHITEOUT` leaves a device.
#[test]
fn a_rename_makes_nothing() {
    let check = |flags| {
        let mut plan = plan(&[], &[&[Op::Io { call: Io::RenameWith { from: 0, to: 1, flags }, result: 0 }]]);
        plan.files.push(File { path: "/b".into(), initial: Initial::Absent });
        plan.check()
    };
    for flags in [0, 1, 2, 3] {
        assert_eq!(check(flags), Ok(()));
    }
    for flags in [4, 1 | 4, 8, u32::MAX] {
        assert_eq!(check(flags), Err(Fault::BadRename { program: 0, step: 0, flags }));
    }
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
    let counted: Vec<(u64, u32, u64)> =
        steps.counted().map(|counted| (counted.step.start_ns, counted.times, counted.repeat)).collect();
    assert_eq!(counted, [(0, 1, 0), (20, 3, 1), (30, 3, 1), (400, 1, 0)]);
}
