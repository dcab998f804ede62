//! Asynchronous I/O, by each engine: the kernel's contexts (0), its rings (1), and the threads of a queue that nobody has made.

use crate::common::*;
use syn_plan::{AT_POSITION, Io, Op};

const ENGINES: [Option<u32>; 3] = [Some(0), Some(1), None];

fn set_up(queue: u32, engine: Option<u32>) -> Option<Op> {
    engine.map(|engine| io(Io::QueueSetup { queue, engine, entries: 8 }, 0))
}

fn submit_write(queue: u32, bytes: u64, offset: i64) -> Op {
    io(Io::SubmitWrite { queue, handle: 0, bytes, offset }, bytes as i64)
}

fn submit_read(queue: u32, bytes: u64, offset: i64, result: i64) -> Op {
    io(Io::SubmitRead { queue, handle: 0, bytes, offset }, result)
}

fn complete(queue: u32, count: u32, bytes: i64) -> Op {
    io(Io::Complete { queue, count }, bytes)
}

#[test]
fn requests_do_what_they_say_whatever_their_size() {
    /// More than a buffer has.
    const LARGE: u64 = 40 << 20;
    for engine in ENGINES {
        let mut draft = Draft::new();
        let file = draft.absent("/file");
        let mut ops: Vec<Op> = set_up(3, engine).into_iter().collect();
        ops.extend([
            open(file, 0, O_RDWR | O_CREAT),
            submit_write(3, LARGE, 0),
            submit_write(3, 100, LARGE as i64),
            complete(3, 2, LARGE as i64 + 100),
            io(Io::SubmitSync { queue: 3, handle: 0, data: true }, 0),
            io(Io::SubmitSync { queue: 3, handle: 0, data: false }, 0),
            complete(3, 0, 0),
            complete(3, 2, 0),
            submit_read(3, 2 * LARGE, 0, LARGE as i64 + 100),
            submit_read(3, 200, LARGE as i64, 100),
            submit_read(3, 200, LARGE as i64 + 100, 0),
            complete(3, 1, LARGE as i64 + 100),
            complete(3, 2, 100),
            io(Io::ReadAt { handle: 0, bytes: 10, offset: LARGE + 95 }, 5),
            io(Io::QueueDestroy { queue: 3 }, 0),
        ]);
        draft.program(0, None, &ops);
        let replay = draft.replay(&["--keep"]);
        assert_eq!(replay.code(), 0, "{engine:?}: {}{}", replay.text(), replay.stderr());
        assert_eq!(replay.report()["divergences"]["total"], 0);
        assert_eq!(replay.report()["calls"]["complete"]["bytes"], 2 * (LARGE + 100) + 100);
        let written = std::fs::read(replay.kept("/file")).expect("the file");
        assert_eq!(written.len() as u64, LARGE + 100);
        assert!(written.chunks(4096).all(|page| page.iter().any(|&byte| byte != 0)), "{engine:?}");
    }
}

#[test]
fn at_the_position() {
    // A context has no such requests (EINVAL).
    for engine in [Some(1), None] {
        let mut draft = Draft::new();
        let file = draft.absent("/file");
        let mut ops = vec![open(file, 0, O_RDWR | O_CREAT)];
        ops.extend(set_up(0, engine));
        for _ in 0..3 {
            ops.extend([submit_write(0, 10, AT_POSITION), complete(0, 1, 10)]);
        }
        ops.push(io(Io::ReadAt { handle: 0, bytes: 100, offset: 0 }, 30));
        draft.program(0, None, &ops);
        assert_eq!(draft.replay(&[]).went_well()["divergences"]["total"], 0, "{engine:?}");
    }
}

#[test]
fn what_nobody_waits_for_is_done_before_the_storage_is_cleared() {
    for engine in ENGINES {
        let mut draft = Draft::new();
        let file = draft.absent("/file");
        let mut ops = vec![open(file, 0, O_RDWR | O_CREAT)];
        ops.extend(set_up(0, engine));
        ops.extend((0..200).map(|number| submit_write(0, 1 << 16, number << 16)).take(8));
        draft.program(0, None, &ops);
        let replay = draft.replay(&["--keep"]);
        assert_eq!(replay.code(), 0, "{engine:?}: {}{}", replay.text(), replay.stderr());
        assert_eq!(std::fs::metadata(replay.kept("/file")).expect("the file").len(), 8 << 16);
    }
}

#[test]
fn one_thread_waits_for_what_another_one_submits() {
    const ROUNDS: u32 = 100;
    for engine in ENGINES {
        let mut draft = Draft::new();
        let file = draft.absent("/file");
        let (submitted, completed) = (draft.edge(ROUNDS), draft.edge(ROUNDS));
        let mut submits = vec![open(file, 0, O_RDWR | O_CREAT)];
        submits.extend(set_up(0, engine));
        let mut completes = Vec::new();
        for round in 0..ROUNDS {
            submits.extend([
                submit_write(0, 100, i64::from(round) * 100),
                submit_write(0, 50, 0),
                signal(submitted),
                wait(completed, round + 1),
                io(Io::ReadAt { handle: 0, bytes: 1 << 20, offset: 0 }, i64::from(round) * 100 + 100),
            ]);
            completes.extend([wait(submitted, round + 1), complete(0, 2, 150), signal(completed)]);
        }
        draft.program(0, None, &submits);
        draft.program(0, None, &completes);
        assert_eq!(draft.replay(&[]).went_well()["divergences"]["total"], 0, "{engine:?}");
    }
}

#[test]
fn a_wait_for_more_requests_than_there_are_ends_and_is_told() {
    for engine in ENGINES {
        let mut draft = Draft::new();
        let file = draft.absent("/file");
        let mut ops = vec![open(file, 0, O_RDWR | O_CREAT)];
        ops.extend(set_up(0, engine));
        ops.extend([submit_write(0, 10, 0), complete(0, 1000, 10_000), complete(0, u32::MAX, 0)]);
        draft.program(0, None, &ops);
        let replay = draft.replay(&[]);
        assert_eq!(replay.code(), 3, "{engine:?}");
        assert_eq!(replay.report()["divergences"]["total"], 2, "{engine:?}");
    }
}

#[test]
fn what_is_closed_meanwhile_gets_its_requests_and_no_other_file_does() {
    const LARGE: u64 = 16 << 20;
    for engine in ENGINES {
        let mut draft = Draft::new();
        let (file, other) = (draft.absent("/file"), draft.absent("/other"));
        let mut ops = vec![open(file, 0, O_RDWR | O_CREAT)];
        ops.extend(set_up(0, engine));
        ops.extend((0..4).map(|number| submit_write(0, LARGE, number * LARGE as i64)));
        ops.extend([
            close(0),
            open(other, 0, O_RDWR | O_CREAT),
            write(0, 5),
            complete(0, 4, 4 * LARGE as i64),
        ]);
        draft.program(0, None, &ops);
        let replay = draft.replay(&["--keep"]);
        assert_eq!(replay.code(), 0, "{engine:?}: {}{}", replay.text(), replay.stderr());
        let length = |name| std::fs::metadata(replay.kept(name)).expect("the file").len();
        assert_eq!((length("/file"), length("/other")), (4 * LARGE, 5), "{engine:?}");
    }
}

#[test]
fn a_context_that_is_full_gets_room() {
    const REQUESTS: u32 = 3000;
    let mut draft = Draft::new();
    let file = draft.absent("/file");
    let mut ops =
        vec![open(file, 0, O_RDWR | O_CREAT), io(Io::QueueSetup { queue: 0, engine: 0, entries: 1 }, 0)];
    ops.extend((0..REQUESTS).map(|number| submit_write(0, 10, i64::from(number) * 10)));
    ops.extend([complete(0, REQUESTS - 1, i64::from(REQUESTS - 1) * 10), complete(0, 1, 10)]);
    draft.program(0, None, &ops);
    assert_eq!(draft.replay(&[]).went_well()["divergences"]["total"], 0);
}

#[test]
fn a_ring_is_closed_with_requests_under_way() {
    let mut draft = Draft::new();
    let file = draft.absent("/file");
    let mut ops = vec![open(file, 0, O_RDWR | O_CREAT)];
    for round in 0..20 {
        ops.extend(set_up(0, Some(1)));
        ops.extend((0..4).map(|number| submit_write(0, 1 << 20, (round * 4 + number) << 20)));
        ops.push(io(Io::QueueDestroy { queue: 0 }, 0));
    }
    draft.program(0, None, &ops);
    let replay = draft.replay(&["--keep"]);
    assert_eq!(replay.code(), 0, "{}{}", replay.text(), replay.stderr());
    assert_eq!(std::fs::metadata(replay.kept("/file")).expect("the file").len(), 80 << 20);
}

#[test]
fn requests_that_fail_are_told() {
    for engine in ENGINES {
        let mut draft = Draft::new();
        let file = draft.regular("/file", 100);
        let mut ops = vec![open(file, 0, 0)];
        ops.extend(set_up(0, engine));
        ops.extend([submit_write(0, 10, 0), submit_read(0, 1000, 0, 100), complete(0, 2, 110), read(0, 100)]);
        draft.program(0, None, &ops);
        let replay = draft.replay(&[]);
        assert_eq!(replay.code(), 3, "{engine:?}");
        let total = replay.report()["divergences"]["total"].as_u64();
        assert!(total.is_some_and(|total| (1..=2).contains(&total)), "{engine:?}: {}", replay.report());
    }
}

#[test]
fn threads_do_what_the_system_has_no_queue_for() {
    const QUEUES: u32 = 1100;
    let mut draft = Draft::new();
    let file = draft.absent("/file");
    let mut ops = vec![open(file, 0, O_RDWR | O_CREAT)];
    let entries = 1;
    ops.extend((0..QUEUES).map(|queue| io(Io::QueueSetup { queue, engine: 1, entries }, 0)));
    for queue in 0..QUEUES {
        ops.extend([submit_write(queue, 10, i64::from(queue) * 10), complete(queue, 1, 10)]);
    }
    ops.push(io(Io::ReadAt { handle: 0, bytes: 1 << 20, offset: 0 }, i64::from(QUEUES) * 10));
    draft.program(0, None, &ops);
    let replay = draft.replay(&[]);
    assert_eq!(replay.report()["divergences"]["total"], 0);
    assert_eq!(replay.code(), 3, "the result needs a look");
    let warnings = replay.report()["warnings"].to_string();
    assert!(warnings.contains("queues of asynchronous I/O were refused"), "{warnings}");
}
