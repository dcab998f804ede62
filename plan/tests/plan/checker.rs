//! What a plan must not be, and how repeats unroll.

use crate::sample::sample;
use syn_plan::{
    Attribute, Balance, Edge, Fault, File, Initial, Io, Op, Plan, Program, Rule, Step, Steps, Thread,
};

fn program(ops: &[Op]) -> Program {
    let steps = ops.iter().map(|&op| Step { start_ns: 0, took_ns: 0, op }).collect();
    let thread = Thread { process: 0, rank: None, pid: 1, tid: 1, ends_with_process: false };
    Program { thread, balance: Balance::default(), steps }
}

fn plan(signals: &[u32], programs: &[&[Op]]) -> Plan {
    Plan {
        edges: signals.iter().map(|&signals| Edge::new(Rule::Message, signals)).collect(),
        files: vec![File { path: "/a".into(), initial: Initial::Absent }],
        programs: programs.iter().map(|ops| program(ops)).collect(),
        ..Plan::default()
    }
}

fn signal(edge: u32) -> Op {
    Op::Signal { edge }
}

fn wait(edge: u32, count: u32) -> Op {
    Op::Wait { edge, count, stride: 0 }
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
fn repeats_must_stay_inside() {
    let why = |ops: &[Op]| match plan(&[0], &[ops]).check() {
        Err(Fault::BadRepeat { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let (repeat, sleep) = (|steps| Op::Repeat { count: 2, steps }, Op::Sleep { ns: 1 });
    assert_eq!(why(&[repeat(1)]), "reaches behind the end of the program");
    assert_eq!(why(&[repeat(3), sleep, sleep]), "reaches behind the end of the program");
    assert_eq!(why(&[repeat(2), repeat(2), sleep, sleep]), "reaches behind the end of the one around it");
    let nested =
        |depth: u32| (0..depth).rev().map(|inside| repeat(inside + 1)).chain([sleep]).collect::<Vec<_>>();
    assert_eq!(why(&nested(17)), "is in too many others");
    assert_eq!(plan(&[0], &[&nested(16)]).check(), Ok(()));
    assert_eq!(plan(&[0], &[&[repeat(2), sleep, wait(0, 0)]]).check(), Ok(()));
}

#[test]
fn programs_of_a_rank_stand_together() {
    let check = |ranks: &[Option<u32>]| {
        let mut plan = plan(&[], &vec![&[][..]; ranks.len()]);
        plan.programs.iter_mut().zip(ranks).for_each(|(program, &rank)| program.thread.rank = rank);
        plan.check()
    };
    assert_eq!(check(&[Some(0), Some(0), Some(2), None, None]), Ok(()));
    assert_eq!(check(&[Some(1), Some(0)]), Err(Fault::Order { program: 1 }));
    assert_eq!(check(&[None, Some(0)]), Err(Fault::Order { program: 1 }));
}

#[test]
fn calls_of_edges_have_names() {
    let mut plan = plan(&[0], &[]);
    plan.edges[0].evidence.awaited_in = Some(0);
    assert_eq!(plan.check(), Err(Fault::NoCall { edge: 0, call: 0, limit: 0 }));
    plan.calls.push("read".into());
    assert_eq!(plan.check(), Ok(()));
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
    let steps: Steps = [
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
    let counted: Vec<(u64, u64, u64)> =
        steps.counted().map(|counted| (counted.step.start_ns, counted.times, counted.repeat)).collect();
    assert_eq!(counted, [(0, 1, 0), (20, 3, 1), (30, 3, 1), (400, 1, 0)]);
}

#[test]
fn what_is_left_out_is_missing_from_repeats_too() {
    let (repeat, sleep) = (|count, steps| Op::Repeat { count, steps }, |ns| Op::Sleep { ns });
    let signals = |op: &Op| matches!(op, Op::Signal { .. });
    // Three levels; the second repeat at the top, and what is in it, have nothing else.
    let ops = [
        signal(0),
        repeat(2, 6),
        signal(0),
        repeat(3, 3),
        sleep(1),
        signal(0),
        sleep(2),
        sleep(3),
        repeat(4, 3),
        signal(0),
        repeat(5, 1),
        signal(0),
        sleep(4),
    ];
    let step = |(at, op): (u64, &Op)| Step { start_ns: 10 * at, took_ns: 6, op: *op };
    let steps: Steps = (0..).zip(&ops).map(step).collect();
    let left = steps.without(signals);
    let names: Vec<Op> = left.iter().map(|step| step.op).collect();
    assert_eq!(names, [repeat(2, 4), repeat(3, 2), sleep(1), sleep(2), sleep(3), sleep(4)]);
    let others = steps.unrolled().filter(|step| !signals(&step.op));
    assert_eq!(left.unrolled().collect::<Vec<_>>(), others.collect::<Vec<_>>());
    assert_eq!(steps.without(|_| true), Steps::default());
    assert_eq!(steps.without(|_| false), steps);
}

#[test]
fn waits_in_repeats_wait_for_more_each_time() {
    let waits = Op::Wait { edge: 0, count: 3, stride: 2 };
    let repeat = |count, steps| Op::Repeat { count, steps };
    let ops = [repeat(2, 4), waits, repeat(3, 1), waits, signal(0)];
    let steps: Steps = ops.iter().map(|&op| Step { start_ns: 0, took_ns: 0, op }).collect();
    let counts: Vec<u32> = steps
        .unrolled()
        .filter_map(|step| match step.op {
            Op::Wait { count, stride: 0, .. } => Some(count),
            _ => None,
        })
        .collect();
    assert_eq!(counts, [3, 3, 5, 7, 5, 9, 11, 13]);
    let counted: Vec<u64> = steps.counted().map(|counted| counted.times).collect();
    assert_eq!(counted, [2, 6, 2]);
}

/// As if every step were done in turn, without repeats.
fn ends_when_unrolled(plan: &Plan) -> bool {
    let mut programs: Vec<_> =
        plan.programs.iter().map(|program| program.steps.unrolled().peekable()).collect();
    let mut counters = vec![0u32; plan.edges.len()];
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for program in &mut programs {
            let ready = |step: &Step, counters: &[u32]| match step.op {
                Op::Wait { edge, count, .. } => counters[edge as usize] >= count,
                _ => true,
            };
            while let Some(step) = program.next_if(|step| ready(step, &counters)) {
                moved = true;
                if let Op::Signal { edge } = step.op {
                    counters[edge as usize] += 1;
                }
            }
        }
    }
    programs.iter_mut().all(|program| program.peek().is_none())
}

/// A number below `below`, from a linear congruential generator (Knuth, MMIX).
fn draw(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % below
}

/// Steps of a program of repeats, signals and waits, at most three deep.
fn drawn(seed: &mut u64, depth: u32, room: u32) -> Vec<Op> {
    let mut ops = Vec::new();
    for _ in 0..draw(seed, 4) + 1 {
        let edge = draw(seed, 2) as u32;
        match draw(seed, 8) {
            0..=2 => ops.push(signal(edge)),
            3..=5 => ops.push(Op::Wait { edge, count: draw(seed, 3) as u32, stride: draw(seed, 3) as u32 }),
            _ if depth > 0 => {
                let body = drawn(seed, depth - 1, room);
                ops.push(Op::Repeat { count: draw(seed, room.into()) as u32, steps: body.len() as u32 });
                ops.extend(body);
            }
            _ => ops.push(Op::Sleep { ns: 1 }),
        }
    }
    ops
}

#[test]
fn nobody_waits_for_ever_in_repeats_either() {
    let (mut ends, mut waits) = (0, 0);
    for seed in 0..8_000u64 {
        let mut seed = seed;
        let programs: Vec<Vec<Op>> = (0..2).map(|_| drawn(&mut seed, 3, 9)).collect();
        let mut plan = plan(&[0, 0], &[&programs[0], &programs[1]]);
        for counted in plan.programs.iter().flat_map(|program| program.steps.counted()) {
            if let Op::Signal { edge } = counted.step.op {
                plan.edges[edge as usize].signals += counted.times as u32;
            }
        }
        match plan.check() {
            Ok(()) => ends += 1,
            Err(Fault::Deadlock { .. }) => waits += 1,
            Err(other) => panic!("{other}"),
        }
        assert_eq!(plan.check().is_ok(), ends_when_unrolled(&plan), "{programs:?}");
    }
    assert!(ends > 500 && waits > 500, "both occur: {ends} and {waits}");
}

/// Two programs in turn, four billion times; then one that does not keep up.
#[test]
fn repeats_are_not_unrolled() {
    let count = u32::MAX - 7;
    let repeat = |steps| Op::Repeat { count, steps };
    let from_one = |edge| Op::Wait { edge, count: 1, stride: 1 };
    let ping = [repeat(2), signal(0), from_one(1)];
    let pong = [repeat(2), from_one(0), signal(1)];
    assert_eq!(plan(&[count, count], &[&ping, &pong]).check(), Ok(()));
    let stray = [repeat(2), Op::Wait { edge: 0, count: 2, stride: 1 }, signal(1)];
    assert!(matches!(plan(&[count, count], &[&ping, &stray]).check(), Err(Fault::Deadlock { .. })));
    // Ahead of its partner by a thousand messages, and the other way round at the end.
    let behind = [repeat(3), Op::Wait { edge: 0, count: 1, stride: 1 }, Op::Sleep { ns: 1 }, signal(1)];
    let ahead: Vec<Op> = [repeat(2), signal(0), Op::Wait { edge: 1, count: 0, stride: 1 }].into();
    assert_eq!(plan(&[count, count], &[&ahead, &behind]).check(), Ok(()));
    // Three ranks and a barrier in each iteration.
    let barrier = [repeat(2), signal(0), Op::Wait { edge: 0, count: 3, stride: 3 }];
    let repeats = count / 3;
    let barrier = barrier.map(|op| match op {
        Op::Repeat { steps, .. } => Op::Repeat { count: repeats, steps },
        other => other,
    });
    assert_eq!(plan(&[3 * repeats], &[&barrier, &barrier, &barrier]).check(), Ok(()));
    // Producer and consumer in repeats of repeats.
    let inner = |count, steps| Op::Repeat { count, steps };
    let produce = [inner(1 << 15, 2), inner(1 << 16, 1), signal(0)];
    let consume = [inner(1 << 16, 3), inner(1 << 15, 2), from_one(0), Op::Sleep { ns: 1 }];
    assert_eq!(plan(&[1 << 31], &[&produce, &consume]).check(), Ok(()));
}
