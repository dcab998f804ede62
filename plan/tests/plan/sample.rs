//! A plan in which everything occurs.

use syn_plan::{About, Edge, File, Initial, Io, Op, Plan, Program, Rule, Step, Thread};

/// One of each operation, by its number in a file.
pub const CALLS: [Io; 26] = [
    Io::Open { file: 0, handle: 0, flags: 0o1102, mode: 0o644 },
    Io::Close { handle: 0 },
    Io::Dup { handle: 0, new: 1 },
    Io::Read { handle: 0, bytes: 4096 },
    Io::Write { handle: 0, bytes: 1 << 40 },
    Io::ReadAt { handle: 0, bytes: 300, offset: u64::MAX },
    Io::WriteAt { handle: 0, bytes: 300, offset: 7 },
    Io::Seek { handle: 0, offset: 8 },
    Io::Fsync { handle: 0 },
    Io::Fdatasync { handle: 0 },
    Io::SyncRange { handle: 0, offset: 1, bytes: 2, flags: 3 },
    Io::SyncFs,
    Io::Truncate { file: 1, bytes: 10 },
    Io::Ftruncate { handle: 0, bytes: 11 },
    Io::Allocate { handle: 0, mode: -1, offset: 12, bytes: 13 },
    Io::Stat { file: 1, follow: true },
    Io::Fstat { handle: 0 },
    Io::Access { file: 2, mode: 4 },
    Io::Readlink { file: 0 },
    Io::Unlink { file: 0 },
    Io::Rename { from: 0, to: 1 },
    Io::Link { from: 1, to: 0 },
    Io::Symlink { target: 0, link: 1 },
    Io::Mkdir { file: 2, mode: 0o755 },
    Io::Rmdir { file: 2 },
    Io::ReadDir { handle: 0, entries: 14 },
];

pub const INITIAL: [Initial; 3] = [Initial::Absent, Initial::Regular { bytes: 1 << 33 }, Initial::Directory];

/// The other operations, by their number; the `Repeat` is followed by a step.
pub const OPS: [Op; 6] = [
    Op::Compute { cpu_ns: 1_000_000, idle_ns: 500 },
    Op::Sleep { ns: 2_000_000 },
    Op::Signal { edge: 0 },
    Op::Wait { edge: 0, count: 1 },
    Op::Io { call: Io::SyncFs, result: -5 },
    Op::Repeat { count: 3, steps: 1 },
];

pub fn sample() -> Plan {
    let files = ["/data/ä", "/", "/data"].iter().zip(INITIAL);
    let mut start_ns = 17;
    let mut steps = |ops: &[Op]| {
        let step = |&op: &Op| {
            start_ns += 1000;
            Step { start_ns, took_ns: 200, op }
        };
        ops.iter().map(step).collect()
    };
    let everything: Vec<Op> = (0..).zip(CALLS).map(|(result, call)| Op::Io { call, result }).collect();
    let waits: Vec<Op> = (0..9).map(|edge| Op::Wait { edge, count: u32::from(edge == 0) }).collect();
    Plan {
        about: About {
            command: "./app -in melt".into(),
            hosts: vec!["node1".into(), "node2".into()],
            mpi: Some("Open MPI 4.1.4".into()),
            ranks: 1,
            recorded_ns: 12_345_678_901,
            runs_ns: vec![12_345_678_901, 12_400_000_000],
            events: 40,
            dropped: 1,
            busy_waiting: 0.75,
            remarks: vec!["nothing to remark".into()],
        },
        files: files.map(|(path, initial)| File { path: (*path).into(), initial }).collect(),
        edges: Rule::ALL
            .iter()
            .map(|&rule| Edge { rule, signals: u32::from(rule == Rule::ProcessCreate) })
            .collect(),
        programs: vec![
            Program {
                thread: Thread { process: 0, rank: Some(0), pid: 100, tid: 100 },
                steps: steps(&[&OPS[..], &everything[..]].concat()),
            },
            Program { thread: Thread { process: 1, rank: None, pid: 101, tid: 102 }, steps: steps(&waits) },
        ],
    }
}
