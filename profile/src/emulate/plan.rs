//! Steps as a plan: an executor becomes a program, what its atoms do in a step becomes demands and calls on files, and edges keep
//! the executors of all ranks together. The first one of a rank sets off those that have something to do in a step, and waits for
//! them; the first rank does so with the others.

use super::steps::{Calls, Step};
use crate::profile::Profile;
use crate::sample::Field;
use syn_plan::{
    About, Balance, Demand, Edge, EdgeId, File, FileId, HandleId, Initial, Io, Op, Plan, Program, Rule,
    Steps, Thread,
};
use syn_replay::demands::kernels::Kernel;

/// How steps become a plan.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Ranks of an MPI job that go through the steps together, each doing all of `steps`; 1 without MPI.
    pub ranks: u32,
    /// Processes of a rank.
    pub processes: usize,
    /// Threads of all processes of a rank; at least as many as any step has use for.
    pub executors: usize,
    /// What computation does.
    pub kernel: Kernel,
    /// The part of it that is not spent waiting for memory.
    pub efficiency: f64,
    /// No step ends earlier than it did.
    pub keep_time: bool,
    /// What is read is not in memory at first.
    pub cold: bool,
    /// The written file of a rank is begun anew when it is so long, bytes.
    pub write_limit: u64,
}

/// Atoms of a step take turns in slices of about this CPU time, nanoseconds.
const SLICE_NS: u64 = 1_000_000;
/// And of at most so many.
const SLICES: u64 = 16;
/// A file that is read is at most so long; more is read again.
const READ_BYTES: u64 = 256 << 20;
/// A call moves at most so much.
const LARGEST: u64 = 64 << 20;
/// Memory that comes or goes is spread over the slices from this on, bytes.
const RAMP: u64 = 256 << 10;

// As on Linux x86-64, which is what plans hold.
const READ_WRITE: i32 = 2;
const CREATE: i32 = 0o100;
const REGULAR: u32 = 0o100_600;

/// Files of a rank in the plan, one behind the other: read, written, and one whose name comes and goes.
const FILES: u32 = 3;
const READ: HandleId = 0;
const WRITTEN: HandleId = 1;
const OTHER: HandleId = 2;

/// The plan of a profile's steps.
pub fn plan(profile: &Profile, steps: &[Step], shape: &Shape) -> Plan {
    let executors = shape.executors * shape.ranks as usize;
    let recorded_ns = steps.iter().map(|step| step.span_ns).sum();
    let mut lowering = Lowering {
        shape,
        programs: (0..executors).map(|_| Line::default()).collect(),
        read_len: read_len(steps),
        read_at: 0,
        written: 0,
        held: 0,
        arrived: vec![0; shape.ranks as usize],
        ranks_ended: 0,
        now_ns: 0,
    };
    lowering.begin(steps);
    for step in steps {
        lowering.step(step);
    }
    lowering.end();
    let signals = lowering.arrived.iter().copied();
    let signals = signals.chain((0..shape.ranks).map(|_| 1)).chain([lowering.ranks_ended]);
    let signals = signals.chain(lowering.programs.iter().map(|line| line.gone));
    let edges = signals.map(|signals| Edge::new(Rule::Barrier, signals)).collect();
    let programs = lowering.programs.into_iter().enumerate();
    let programs = programs.map(|(number, line)| line.program(number, shape, recorded_ns)).collect();
    Plan {
        about: About {
            command: profile.command_line(),
            ranks: if shape.ranks > 1 { shape.ranks } else { 0 },
            recorded_ns,
            runs_ns: vec![recorded_ns],
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
            remarks: vec![format!(
                "made of profile {}: what was consumed, sample by sample, not the calls that did so",
                profile.id
            )],
            ..About::default()
        },
        files: (0..shape.ranks).flat_map(|rank| files(rank, shape, read_len(steps))).collect(),
        edges,
        programs,
        ..Plan::default()
    }
}

fn files(rank: u32, shape: &Shape, read_len: u64) -> [File; FILES as usize] {
    let file = |name: &str, initial| File { path: format!("/rank-{rank}/{name}"), initial };
    // What is in memory anyway need not be written first: the program makes a hole, which is read from memory as well.
    let read = if shape.cold { Initial::Regular { bytes: read_len } } else { Initial::Absent };
    [file("read", read), file("written", Initial::Absent), file("name", Initial::Absent)]
}

/// How long the file that is read has to be.
fn read_len(steps: &[Step]) -> u64 {
    let reads = || steps.iter().flat_map(|step| &step.calls).filter(|calls| !calls.write);
    let largest = reads().map(|calls| calls.bytes).max().unwrap_or(0).min(LARGEST);
    reads()
        .map(|calls| calls.bytes.saturating_mul(calls.count))
        .fold(0, u64::saturating_add)
        .min(READ_BYTES)
        .max(largest)
}

/// Edges of a plan with so many ranks, by what they count. Those of one rank are its own, and need no messages.
#[derive(Clone, Copy)]
struct Edges(u32);

impl Edges {
    /// Executors of a rank, but its first, that have ended a step.
    fn arrived(self, rank: u32) -> EdgeId {
        rank
    }
    /// A rank's end.
    fn over(self, rank: u32) -> EdgeId {
        self.0 + rank
    }
    /// Ranks, but the first, that have ended a step.
    fn ranks(self) -> EdgeId {
        2 * self.0
    }
    /// What sets an executor off.
    fn off(self, executor: usize) -> EdgeId {
        2 * self.0 + 1 + executor as EdgeId
    }
}

/// One executor's program in the making.
#[derive(Default)]
struct Line {
    steps: Steps,
    /// How often it was set off.
    gone: u32,
    cpu_ns: u64,
}

impl Line {
    fn push(&mut self, start_ns: u64, took_ns: u64, op: Op) {
        self.steps.push(&syn_plan::Step { start_ns, took_ns, op });
    }

    /// `count` times the same.
    fn times(&mut self, start_ns: u64, count: u64, ops: &[Op]) {
        let mut left = count;
        while left > 0 {
            let now = left.min(u32::MAX.into());
            if now > 1 {
                self.push(start_ns, 0, Op::Repeat { count: now as u32, steps: ops.len() as u32 });
            }
            ops.iter().for_each(|&op| self.push(start_ns, 0, op));
            left -= now;
        }
    }

    fn program(self, number: usize, shape: &Shape, wall_ns: u64) -> Program {
        let (rank, place) = (number / shape.executors, number % shape.executors);
        let process = (rank * shape.processes + place % shape.processes) as u32;
        let thread = Thread {
            process,
            rank: (shape.ranks > 1).then_some(rank as u32),
            pid: process + 1,
            tid: number as u32 + 1,
            ends_with_process: false,
        };
        let work_ns = self.cpu_ns.min(wall_ns);
        let balance = Balance { wall_ns, work_ns, unexplained_ns: wall_ns - work_ns, ..Balance::default() };
        Program { thread, balance, steps: self.steps }
    }
}

struct Lowering<'a> {
    shape: &'a Shape,
    /// By rank, and in a rank by number.
    programs: Vec<Line>,
    read_len: u64,
    // The same in every rank:
    read_at: u64,
    written: u64,
    held: u64,
    /// Signals so far, by rank.
    arrived: Vec<u32>,
    ranks_ended: u32,
    now_ns: u64,
}

fn io(call: Io, result: u64) -> Op {
    Op::Io { call, result: result as i64 }
}

impl Lowering<'_> {
    fn begin(&mut self, steps: &[Step]) {
        if steps.iter().all(Step::leaves_files_alone) {
            return;
        }
        for rank in 0..self.shape.ranks {
            let line = &mut self.programs[rank as usize * self.shape.executors];
            let file = |place: u32| rank * FILES + place as FileId;
            let open = |place, handle| {
                io(Io::Open { file: file(place), handle, flags: READ_WRITE | CREATE, mode: 0o600 }, 0)
            };
            line.push(0, 0, open(0, READ));
            line.push(0, 0, open(1, WRITTEN));
            if !self.shape.cold {
                line.push(0, 0, io(Io::Ftruncate { handle: READ, bytes: self.read_len }, 0));
            }
        }
    }

    fn step(&mut self, step: &Step) {
        let edges = Edges(self.shape.ranks);
        let before = (self.read_at, self.written, self.held);
        for rank in 1..self.shape.ranks {
            self.set_off(0, rank as usize * self.shape.executors, step);
        }
        for rank in 0..self.shape.ranks {
            let first = rank as usize * self.shape.executors;
            for executor in first + 1..first + step.cpu_ns.len() {
                self.set_off(first, executor, step);
            }
            // All ranks do the same.
            (self.read_at, self.written, self.held) = before;
            for (place, &cpu_ns) in step.cpu_ns.iter().enumerate() {
                self.programs[first + place].cpu_ns += cpu_ns;
                self.atoms(rank, place, first + place, cpu_ns, step);
                if place > 0 {
                    self.push(first + place, 0, Op::Signal { edge: edges.arrived(rank) });
                    self.arrived[rank as usize] += 1;
                }
            }
            if rank == 0 && self.shape.keep_time {
                self.push(0, 0, Op::Demand(Demand::Last { ns: step.span_ns }));
            }
            if step.cpu_ns.len() > 1 {
                let count = self.arrived[rank as usize];
                let wait = Op::Wait { edge: edges.arrived(rank), count, stride: 0 };
                self.push(first, step.span_ns, wait);
            }
            if rank > 0 {
                self.push(first, 0, Op::Signal { edge: edges.ranks() });
                self.ranks_ended += 1;
            }
        }
        if self.shape.ranks > 1 {
            let wait = Op::Wait { edge: edges.ranks(), count: self.ranks_ended, stride: 0 };
            self.push(0, step.span_ns, wait);
        }
        self.now_ns += step.span_ns;
    }

    fn push(&mut self, executor: usize, took_ns: u64, op: Op) {
        self.programs[executor].push(self.now_ns, took_ns, op);
    }

    /// `executor` begins a step when `by` says so.
    fn set_off(&mut self, by: usize, executor: usize, step: &Step) {
        let edge = Edges(self.shape.ranks).off(executor);
        self.push(by, 0, Op::Signal { edge });
        self.programs[executor].gone += 1;
        let wait = Op::Wait { edge, count: self.programs[executor].gone, stride: 0 };
        self.push(executor, step.span_ns, wait);
    }

    /// All executors are there to the end, as threads that wait are.
    fn end(&mut self) {
        for rank in 0..self.shape.ranks {
            let edge = Edges(self.shape.ranks).over(rank);
            let first = rank as usize * self.shape.executors;
            self.push(first, 0, Op::Signal { edge });
            for executor in first + 1..first + self.shape.executors {
                self.push(executor, 0, Op::Wait { edge, count: 1, stride: 0 });
            }
        }
    }

    /// What an executor does in a step: the first one of a rank has the other atoms as well, in turns with computation.
    fn atoms(&mut self, rank: u32, place: usize, executor: usize, cpu_ns: u64, step: &Step) {
        let alone = place > 0 || step.computes_alone() && step.resident.abs_diff(self.held) < RAMP;
        let slices = if alone { 1 } else { (cpu_ns / SLICE_NS).clamp(1, SLICES) };
        for slice in 0..slices {
            let part = |all: u64| {
                (u128::from(all) * u128::from(slice + 1) / u128::from(slices)
                    - u128::from(all) * u128::from(slice) / u128::from(slices)) as u64
            };
            if place == 0 {
                self.memory(executor, step, slices - slice, part(step.touched));
                self.storage(rank, executor, step, &part);
                self.network(executor, step, &part);
            }
            self.busy(executor, part(cpu_ns));
        }
    }

    fn busy(&mut self, executor: usize, cpu_ns: u64) {
        let (kernel, efficiency) = (self.shape.kernel, self.shape.efficiency);
        let useful_ns = (cpu_ns as f64 * efficiency) as u64;
        let mut push = |kernel: Kernel, cpu_ns| {
            let busy = Demand::Busy { cpu_ns, kernel: kernel as u32 };
            self.programs[executor].push(self.now_ns, 0, Op::Demand(busy));
        };
        push(kernel, useful_ns);
        if useful_ns < cpu_ns {
            push(Kernel::Memory, cpu_ns - useful_ns);
        }
    }

    fn memory(&mut self, executor: usize, step: &Step, slices_left: u64, touched: u64) {
        let goal = step.resident;
        let next = (self.held as i128 + (goal as i128 - self.held as i128) / i128::from(slices_left)) as u64;
        let touched = touched.saturating_sub(next.saturating_sub(self.held));
        let line = &mut self.programs[executor];
        if next != self.held {
            line.push(self.now_ns, 0, Op::Demand(Demand::Resident { bytes: next }));
        }
        if touched > 0 {
            line.push(self.now_ns, 0, Op::Demand(Demand::Touch { bytes: touched }));
        }
        self.held = next;
    }

    fn storage(&mut self, rank: u32, executor: usize, step: &Step, part: &dyn Fn(u64) -> u64) {
        for &calls in &step.calls {
            let calls = Calls { bytes: calls.bytes.min(LARGEST), count: part(calls.count), ..calls };
            if calls.write { self.writes(executor, calls) } else { self.reads(executor, calls) }
        }
        let (file, now_ns) = (rank * FILES, self.now_ns);
        let (read, name) = (file, file + 2);
        let line = &mut self.programs[executor];
        let mut calls = |count: u64, ops: &[Op]| line.times(now_ns, part(count), ops);
        calls(step.syncs, &[io(Io::Fsync { handle: WRITTEN }, 0)]);
        calls(step.seeks, &[io(Io::Seek { handle: READ, offset: self.read_at }, 0)]);
        let open = Io::Open { file: read, handle: OTHER, flags: 0, mode: 0 };
        calls(step.opens, &[io(open, 0), io(Io::Close { handle: OTHER }, 0)]);
        calls(step.stats, &[io(Io::Stat { file: read, follow: true }, 0)]);
        let made = Io::Mknod { file: name, mode: REGULAR };
        // A name comes and goes: two changes.
        calls(step.names.div_ceil(2), &[io(made, 0), io(Io::Unlink { file: name }, 0)]);
    }

    fn reads(&mut self, executor: usize, calls: Calls) {
        let line = &mut self.programs[executor];
        let mut left = calls.count;
        while left > 0 {
            let room = (self.read_len - self.read_at).checked_div(calls.bytes).unwrap_or(left);
            if room == 0 {
                line.push(self.now_ns, 0, io(Io::Seek { handle: READ, offset: 0 }, 0));
                self.read_at = 0;
                continue;
            }
            let now = left.min(room);
            line.times(self.now_ns, now, &[io(Io::Read { handle: READ, bytes: calls.bytes }, calls.bytes)]);
            self.read_at += now * calls.bytes;
            left -= now;
        }
    }

    fn writes(&mut self, executor: usize, calls: Calls) {
        let line = &mut self.programs[executor];
        let limit = self.shape.write_limit.max(LARGEST);
        let mut left = calls.count;
        while left > 0 {
            let room = (limit - self.written).checked_div(calls.bytes).unwrap_or(left);
            if room == 0 {
                line.push(self.now_ns, 0, io(Io::Seek { handle: WRITTEN, offset: 0 }, 0));
                self.written = 0;
                continue;
            }
            let now = left.min(room);
            line.times(
                self.now_ns,
                now,
                &[io(Io::Write { handle: WRITTEN, bytes: calls.bytes }, calls.bytes)],
            );
            self.written += now * calls.bytes;
            left -= now;
        }
    }

    fn network(&mut self, executor: usize, step: &Step, part: &dyn Fn(u64) -> u64) {
        let [sent, received, bytes] = step.network.map(part);
        let block = step.message;
        let line = &mut self.programs[executor];
        if sent > 0 || received > 0 {
            line.push(self.now_ns, 0, Op::Demand(Demand::Exchange { sent, received, block }));
        }
        if bytes > 0 {
            line.push(self.now_ns, 0, Op::Demand(Demand::Within { bytes, block }));
        }
    }
}

/// Processes and threads that stand for those of a profile: `processes` and `executors` of a [`Shape`]. `share`: the part of all
/// that one rank is.
pub fn population(
    profile: &Profile,
    steps: &[Step],
    processes: Option<usize>,
    threads: Option<usize>,
    share: f64,
) -> (usize, usize) {
    /// Most processes of an emulation.
    const MOST_PROCESSES: usize = 64;
    let width = steps.iter().map(|step| step.cpu_ns.len()).max().unwrap_or(1);
    // Those of all ranks are in the profile.
    let of_rank = |field| (profile.total(field) as f64 * share).ceil() as usize;
    let recorded = (of_rank(Field::Processes), of_rank(Field::Threads));
    // The emulator is one of them, and does nothing.
    let processes = processes.unwrap_or(recorded.0.saturating_sub(1)).clamp(1, MOST_PROCESSES);
    let threads = threads.map_or(recorded.1.saturating_sub(1), |threads| processes * threads);
    let widest = super::steps::WIDEST.max(width).max(processes);
    (processes, threads.clamp(width.max(processes), widest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use crate::profile::{Head, Outcome, Source, Tail};
    use crate::sample::WIDTH;
    use syn_plan::Counted;

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
            syncs: 3,
            seeks: 5,
            opens: 7,
            stats: 11,
            names: 12,
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
            keep_time: true,
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
            for Counted { step, times, .. } in plan.programs.iter().flat_map(|line| line.steps.counted()) {
                match step.op {
                    Op::Demand(Demand::Busy { cpu_ns, .. }) => busy += cpu_ns * times,
                    Op::Demand(Demand::Exchange { sent, received, block: 100 }) => {
                        network[0] += sent;
                        network[1] += received;
                    }
                    Op::Demand(Demand::Within { bytes, .. }) => network[2] += bytes,
                    Op::Demand(Demand::Last { ns }) => last += ns,
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
            let ranks = u64::from(ranks);
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
}
