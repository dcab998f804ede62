//! A plan in which everything occurs.

use syn_plan::{
    AT_POSITION, About, Attribute, Balance, Demand, Edge, Evidence, File, Guarantee, Initial, Io, LeftOut,
    LeftOutThreads, Op, Plan, Program, Rule, Step, Thread,
};

/// One of each operation, in the order of their numbers in a file.
pub const CALLS: [Io; 61] = [
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
    Io::Advise { handle: 0, offset: 15, bytes: 16, advice: 4 },
    Io::Readahead { handle: 0, offset: 17, bytes: 18 },
    Io::Inherit { file: 0, handle: 2, flags: 0o2001, offset: 19 },
    Io::Chmod { file: 0, mode: 0o600, follow: true },
    Io::Fchmod { handle: 0, mode: 0o640 },
    Io::Chown { file: 0, follow: false },
    Io::Fchown { handle: 0 },
    Io::Utimens { file: 0, follow: true },
    Io::Futimens { handle: 0 },
    Io::GetXattr { file: 0, follow: true, name: 1, bytes: 20 },
    Io::FgetXattr { handle: 0, name: 0, bytes: 21 },
    Io::SetXattr { file: 0, follow: true, name: 0, bytes: 22, flags: 1 },
    Io::FsetXattr { handle: 0, name: 0, bytes: 23, flags: 2 },
    Io::ListXattr { file: 0, follow: true, bytes: 24 },
    Io::FlistXattr { handle: 0, bytes: 25 },
    Io::RemoveXattr { file: 0, follow: true, name: 0 },
    Io::FremoveXattr { handle: 0, name: 0 },
    Io::Mknod { file: 0, mode: 0o010_600 },
    Io::Statfs { file: 1 },
    Io::Fstatfs { handle: 0 },
    Io::RenameWith { from: 0, to: 1, flags: 2 },
    Io::Populate { handle: 0, offset: 4096, bytes: 8192, write: true },
    Io::Send { handle: 0, bytes: 26, offset: AT_POSITION },
    Io::SendTo { from: 0, to: 1, bytes: 27, offset: 28 },
    Io::CopyRange { from: 0, to: 1, bytes: 29, offset: 30, to_offset: AT_POSITION },
    Io::PosixFallocate { handle: 0, offset: 31, bytes: 32 },
    Io::PopulateAtRandom { handle: 0, offset: 4096, bytes: 12288 },
    Io::Locate { handle: 0, distance: -3, whence: 2 },
    Io::Share { file: 0, handle: 2, flags: 0o2001, offset: 35 },
    Io::QueueSetup { queue: 0, engine: 1, entries: 128 },
    Io::QueueDestroy { queue: 0 },
    Io::SubmitRead { queue: 0, handle: 0, bytes: 31, offset: AT_POSITION },
    Io::SubmitWrite { queue: 0, handle: 0, bytes: 32, offset: 33 },
    Io::SubmitSync { queue: 0, handle: 0, data: true },
    Io::Complete { queue: 0, count: 34 },
];

pub const INITIAL: [Initial; 3] = [Initial::Absent, Initial::Regular { bytes: 1 << 33 }, Initial::Directory];

/// The other steps, in the order of their numbers; the `Repeat` is followed by a step.
pub const OPS: [Op; 6] = [
    Op::Compute { cpu_ns: 1_000_000, idle_ns: 500 },
    Op::Sleep { ns: 2_000_000 },
    Op::Signal { edge: 0 },
    Op::Wait { edge: 0, count: 1, stride: 0 },
    Op::Repeat { count: 3, steps: 1 },
    Op::TimedWait { edge: 0, count: 2, ns: 3_000_000 },
];

/// In the order of their numbers.
pub const DEMANDS: [Demand; 8] = [
    Demand::Busy { cpu_ns: 1 << 40, kernel: 4 },
    Demand::Resident { bytes: 1 << 33 },
    Demand::Touch { bytes: 4096 },
    Demand::Exchange { sent: 1, received: 300, block: 65536 },
    Demand::Within { bytes: 7, block: 0 },
    Demand::Last { ns: 10_000_000 },
    Demand::Allocate { count: 1000, bytes: 48 },
    Demand::Stream { sent: 1, received: 2, within: 300, block: 4, calls: 3 },
];

/// Every part has a value of its own.
fn balance() -> Balance {
    Balance {
        wall_ns: 1_000_000,
        work_ns: 1,
        calls_cpu_ns: 2,
        calls_wait_ns: 3,
        sleep_ns: 4,
        explained_ns: Rule::ALL.iter().zip(10..).map(|(&rule, ns)| (rule, ns)).collect(),
        unexplained_calls_ns: 5,
        unexplained_ns: 6,
        preempted_ns: 7,
        recording_ns: 8,
        unmeasured_ns: 9,
        residual_ns: 11,
        polling_cpu_ns: 77,
    }
}

pub fn sample() -> Plan {
    let files = ["/data/ä", "/large", "/data"].iter().zip(INITIAL);
    let mut start_ns = 17;
    let mut steps = |ops: &[Op]| {
        let step = |&op: &Op| {
            start_ns += 1000;
            Step { start_ns, took_ns: 200, op }
        };
        ops.iter().map(step).collect()
    };
    let everything: Vec<Op> = (0..).zip(CALLS).map(|(result, call)| Op::Io { call, result }).collect();
    let evidence = Evidence {
        guarantee: Guarantee::Observed,
        seen: 2,
        possible: 3,
        signalled_in: Some(0),
        awaited_in: Some(1),
    };
    let waits: Vec<Op> =
        (0..9).map(|edge| Op::Wait { edge, count: u32::from(edge == 0), stride: 2 }).collect();
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
            cores: 64,
            remarks: vec!["nothing to remark".into()],
            left_out: vec![LeftOut { call: "mmap".into(), count: 2, bytes: 8192, ns: 3000 }],
            left_out_threads: vec![LeftOutThreads { process: 1, threads: 2, cpu_ns: 4000 }],
            images: vec!["app".into(), "gzip".into()],
        },
        files: files.map(|(path, initial)| File { path: (*path).into(), initial }).collect(),
        names: vec!["user.note".into(), "security.selinux".into()],
        attributes: vec![Attribute { file: 2, name: 0, bytes: 5 }],
        edges: Rule::ALL
            .iter()
            .map(|&rule| Edge::new(rule, u32::from(rule == Rule::ProcessCreate)))
            .chain([Edge { rule: Rule::FileData, signals: 0, evidence }])
            .collect(),
        calls: vec!["write".into(), "read".into()],
        communicators: Vec::new(),
        lists: Vec::new(),
        programs: vec![
            Program {
                thread: Thread { process: 0, rank: Some(0), pid: 100, tid: 100, ends_with_process: false },
                balance: balance(),
                steps: steps(&[&OPS[..], &everything[..]].concat()),
            },
            Program {
                thread: Thread { process: 1, rank: None, pid: 101, tid: 102, ends_with_process: true },
                balance: Balance::default(),
                steps: steps(&waits),
            },
        ],
    }
}
