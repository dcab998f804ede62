//! All that is in the steps is in the plan.

use super::*;
use crate::emulate::steps::step::{Allocations, Calls};
use crate::metrics::Metrics;
use crate::profile::{Head, Outcome, Source, Tail};
use crate::sample::WIDTH;
use syn_plan::{Counted, Demand, Io, Op};
use syn_replay::demands::kernels::Kernel;

fn profile() -> Profile {
    let head = Head {
        command: vec!["a".into(), "b c".into()],
        tags: Default::default(),
        started_ns: 0,
        rate: "10".into(),
        source: Source::Sampled,
        machine: String::new(),
    };
    let tail = Tail {
        wall_ns: 200,
        outcome: Outcome::Exited(0),
        totals: [None; WIDTH],
        metrics: Metrics::default(),
        processes: Vec::new(),
        blocks: Vec::new(),
        files: Vec::new(),
    };
    Profile { id: 7, head, tail }
}

fn steps() -> Vec<Step> {
    let first = Step {
        span_ns: 20_000_000,
        cpu_ns: vec![9_000_001, 4_000_000, 3_000_000],
        calls: vec![
            Calls { write: true, bytes: 3000, count: 1001 },
            Calls { write: false, bytes: 1 << 20, count: 300 },
        ],
        resident: 50 << 20,
        touched: 60 << 20,
        network: [5000, 7000, 9000],
        message: 100,
        as_files: [0.0; 2],
        allocations: vec![Allocations { bytes: 48, count: 1003 }],
        idle_ns: 4_000_000,
        syncs: 3,
        seeks: 5,
        opens: 7,
        stats: 11,
        names: 12,
        population: [3, 7],
    };
    let second = Step { span_ns: 10_000_000, cpu_ns: vec![1, 2], resident: 1 << 20, ..Step::default() };
    vec![first, second]
}

fn shape(ranks: u32) -> Shape {
    Shape {
        ranks,
        processes: 2,
        executors: 5,
        kernel: Kernel::Integer,
        efficiency: 0.75,
        keep: Keep::Time,
        cold: false,
        write_limit: 1 << 20,
    }
}

/// All that is in the steps is in the plan, and of each rank as often.
#[test]
fn a_plan_consumes_what_its_steps_do() {
    for ranks in [1, 3] {
        let plan = plan(&profile(), &steps(), &shape(ranks));
        plan.check().expect("it can be replayed");
        assert_eq!(plan.programs.len(), 5 * ranks as usize);
        let (mut busy, mut bytes, mut network, mut others, mut last) = (0, [0; 2], [0; 3], [0; 5], 0);
        let mut allocated = 0;
        for Counted { step, times, .. } in plan.programs.iter().flat_map(|line| line.steps.counted()) {
            match step.op {
                Op::Demand(Demand::Busy { cpu_ns, .. }) => busy += cpu_ns * times,
                Op::Demand(Demand::Exchange { sent, received, block: 100 }) => {
                    network[0] += sent;
                    network[1] += received;
                }
                Op::Demand(Demand::Within { bytes, .. }) => network[2] += bytes,
                Op::Demand(Demand::Last { ns }) => last += ns,
                Op::Demand(Demand::Allocate { count, bytes: 48 }) => allocated += count,
                Op::Io { call: Io::Read { bytes: moved, .. }, .. } => bytes[0] += moved * times,
                Op::Io { call: Io::Write { bytes: moved, .. }, .. } => bytes[1] += moved * times,
                Op::Io { call: Io::Fsync { .. }, .. } => others[0] += times,
                Op::Io { call: Io::Close { .. }, .. } => others[1] += times,
                Op::Io { call: Io::Stat { .. }, .. } => others[2] += times,
                Op::Io { call: Io::Mknod { .. } | Io::Unlink { .. }, .. } => others[3] += times,
                Op::Io { call: Io::Seek { .. }, .. } => others[4] += times,
                _ => {}
            }
        }
        let talks = |line: &syn_plan::Program| {
            line.steps.iter().any(|step| matches!(step.op, Op::Demand(Demand::Within { .. })))
        };
        let talking: Vec<bool> = plan.programs.iter().map(talks).collect();
        assert_eq!(
            talking[..5],
            [false, true, true, false, false],
            "those do that compute and have no files"
        );
        let ranks = u64::from(ranks);
        assert_eq!(allocated, 1003 * ranks);
        assert_eq!(busy, 16_000_004 * ranks);
        assert_eq!(bytes, [(300 << 20) * ranks, 3_003_000 * ranks]);
        assert_eq!(network, [5000, 7000, 9000].map(|bytes| bytes * ranks));
        assert_eq!(others[..3], [3, 7, 11].map(|calls| calls * ranks));
        assert_eq!(others[3], 12 * ranks);
        assert!(others[4] > 5 * ranks, "files begin anew, too: {others:?}");
        assert_eq!(last, 30_000_000, "the first executor of all keeps the time");
    }
}

#[test]
fn only_those_are_set_off_that_have_something_to_do() {
    let plan = plan(&profile(), &steps(), &shape(1));
    let signals: Vec<u32> = plan.edges.iter().map(|edge| edge.signals).collect();
    assert_eq!(signals, [3, 1, 0, 0, 2, 1, 0, 0], "arrivals, the end, ranks, what sets each of five off");
    let idle: Vec<Op> = plan.programs[4].steps.iter().map(|step| step.op).collect();
    assert_eq!(idle, [Op::Wait { edge: 1, count: 1, stride: 0 }]);
    assert_eq!(plan.programs[3].thread.process, 1);
}

/// Programs write gigabytes by one call.
#[test]
fn calls_of_any_size_move_all_their_bytes() {
    for bytes in [(1_u64 << 30) + 1, 64 << 20, (64 << 20) + 1] {
        let calls = [(true, 2), (false, 3)].map(|(write, count)| Calls { write, bytes, count }).to_vec();
        let steps = [Step { span_ns: 10, cpu_ns: vec![1], calls, ..Step::default() }];
        let plan = plan(&profile(), &steps, &shape(1));
        plan.check().expect("it can be replayed");
        let mut moved = [0; 2];
        for Counted { step, times, .. } in plan.programs.iter().flat_map(|line| line.steps.counted()) {
            match step.op {
                Op::Io { call: Io::Read { bytes, .. }, .. } => moved[0] += bytes * times,
                Op::Io { call: Io::Write { bytes, .. }, .. } => moved[1] += bytes * times,
                _ => {}
            }
        }
        assert_eq!(moved, [3 * bytes, 2 * bytes]);
    }
}

/// Those that were there for a moment are not there all the time.
#[test]
fn processes_and_threads_are_those_that_stayed() {
    let of = |spans: &[(u64, [u64; 2])]| {
        let step = |&(span_ns, population)| Step { span_ns, population, cpu_ns: vec![1], ..Step::default() };
        population(&spans.iter().map(step).collect::<Vec<_>>(), None, None, 1.0)
    };
    assert_eq!(of(&[(1, [7, 9]), (99, [3, 5])]), (2, 4), "the emulator is one of them");
    assert_eq!(of(&[(6, [7, 9]), (94, [3, 5])]), (6, 8));
    assert_eq!(population(&steps(), Some(3), None, 1.0), (3, 6));
    assert_eq!(population(&steps(), Some(3), Some(4), 1.0), (3, 12));
}

/// Idle time passes beside computation, and messages that were written count as written.
#[test]
fn what_is_kept_and_how_messages_go() {
    let mut steps = steps();
    steps[0].as_files = [0.7, 0.0];
    steps[0].calls.clear();
    let plan = plan(&profile(), &steps, &Shape { keep: Keep::Idle, ..shape(1) });
    let demands: Vec<Demand> = plan.programs[0]
        .steps
        .iter()
        .filter_map(|step| if let Op::Demand(demand) = step.op { Some(demand) } else { None })
        .collect();
    let last = |demand: &Demand| if let Demand::Last { ns } = demand { Some(*ns) } else { None };
    assert_eq!(demands.iter().filter_map(last).collect::<Vec<_>>(), [13_000_001, 1]);
    let sent = |demand: &Demand| match demand {
        Demand::Stream { sent, block: 100, calls: 1, .. } => *sent,
        _ => 0,
    };
    let first = steps[0].cpu_ns[0] as f64 / steps[0].cpu_ns.iter().sum::<u64>() as f64;
    let written = demands.iter().map(sent).sum::<u64>() as f64;
    assert!((written - 5000.0 * 0.7 * first).abs() < 10.0, "{written} of the first executor's part");
}
