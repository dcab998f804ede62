//! What an executor consumes in a step: computation, memory, calls on files, messages.

use super::lowering::Lowering;
use super::shape::{FILES, LARGEST, OTHER, READ, WRITTEN, io};
use crate::emulate::steps::{Calls, Step};
use syn_plan::{Demand, Io, Op};
use syn_replay::demands::kernels::Kernel;

/// Atoms of a step take turns in slices of about this CPU time, nanoseconds.
const SLICE_NS: u64 = 1_000_000;
/// And of at most so many.
const SLICES: u64 = 16;
/// Memory that comes or goes is spread over the slices from this on, bytes.
const RAMP: u64 = 256 << 10;
/// The written file is begun anew at this length at the earliest, bytes.
const SHORTEST: u64 = 1 << 20;

// As on Linux x86-64, which is what plans hold.
const REGULAR: u32 = 0o100_600;

impl Lowering<'_> {
    /// What an executor does in a step: its part of the messages, and of the CPU time, which they take. The first one of a rank has the
    /// other atoms as well. Atoms take turns with computation.
    pub fn atoms(&mut self, rank: u32, place: usize, executor: usize, cpu_ns: u64, step: &Step) {
        let network = messages_of(place, step);
        let alone = network == [0; 3]
            && (place > 0 || step.computes_alone() && step.resident.abs_diff(self.held) < RAMP);
        let slices = if alone { 1 } else { (cpu_ns / SLICE_NS).clamp(1, SLICES) };
        for slice in 0..slices {
            let part = |all: u64| {
                (u128::from(all) * u128::from(slice + 1) / u128::from(slices)
                    - u128::from(all) * u128::from(slice) / u128::from(slices)) as u64
            };
            if place == 0 {
                self.memory(executor, step, slices - slice, part(step.touched));
                self.storage(rank, executor, step, &part);
                self.allocations(executor, step, &part);
            }
            self.network(executor, step, network.map(part));
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
        // Once a step at least: what the emulator has itself changes.
        if next != self.held || slices_left == 1 && next > 0 {
            line.push(self.now_ns, 0, Op::Demand(Demand::Resident { bytes: next }));
        }
        if touched > 0 {
            line.push(self.now_ns, 0, Op::Demand(Demand::Touch { bytes: touched }));
        }
        self.held = next;
    }

    fn storage(&mut self, rank: u32, executor: usize, step: &Step, part: &dyn Fn(u64) -> u64) {
        for &calls in &step.calls {
            for calls in of_at_most(LARGEST, Calls { count: part(calls.count), ..calls }) {
                if calls.write { self.writes(executor, calls) } else { self.reads(executor, calls) }
            }
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
        let limit = self.shape.write_limit.max(SHORTEST).max(calls.bytes);
        let mut left = calls.count;
        while left > 0 {
            let room = limit.saturating_sub(self.written).checked_div(calls.bytes).unwrap_or(left);
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

    fn network(&mut self, executor: usize, step: &Step, [sent, received, bytes]: [u64; 3]) {
        let (block, [by_write, by_read]) = (step.message, step.as_files);
        let (both, either) = (by_write.min(by_read), by_write.max(by_read));
        let line = &mut self.programs[executor];
        for (from, to, calls) in
            [(0.0, both, 3), (both, either, if by_write > by_read { 1 } else { 2 }), (either, 1.0, 0)]
        {
            let part = |all: u64| (all as f64 * to).round() as u64 - (all as f64 * from).round() as u64;
            let (sent, received, bytes) = (part(sent), part(received), part(bytes));
            if calls != 0 && [sent, received, bytes] != [0; 3] {
                let stream = Demand::Stream { sent, received, within: bytes, block, calls };
                line.push(self.now_ns, 0, Op::Demand(stream));
                continue;
            }
            if sent > 0 || received > 0 {
                line.push(self.now_ns, 0, Op::Demand(Demand::Exchange { sent, received, block }));
            }
            if bytes > 0 {
                line.push(self.now_ns, 0, Op::Demand(Demand::Within { bytes, block }));
            }
        }
    }

    fn allocations(&mut self, executor: usize, step: &Step, part: &dyn Fn(u64) -> u64) {
        for blocks in &step.allocations {
            let (count, bytes) = (part(blocks.count), blocks.bytes);
            if count > 0 {
                let allocate = Demand::Allocate { count, bytes };
                self.programs[executor].push(self.now_ns, 0, Op::Demand(allocate));
            }
        }
    }
}

/// Calls in pieces: what one call moved is moved by as many as it takes, the same bytes in all.
fn of_at_most(most: u64, calls: Calls) -> impl Iterator<Item = Calls> {
    let pieces = calls.bytes.div_ceil(most).max(1);
    let longer = calls.bytes % pieces;
    [(calls.bytes / pieces, pieces - longer), (calls.bytes / pieces + 1, longer)]
        .into_iter()
        .map(move |(bytes, times)| Calls { bytes, count: calls.count.saturating_mul(times), ..calls })
        .filter(|calls| calls.count > 0)
}

/// Bytes of messages that are an executor's: by its part of the CPU time. The first one moves what goes through files as well, and so
/// much fewer messages: programs have others for those, and all are done at once.
fn messages_of(place: usize, step: &Step) -> [u64; 3] {
    let cpu_ns = |places: &[u64]| places.iter().sum::<u64>() as f64;
    let files = step.calls.iter().map(|calls| calls.bytes as f64 * calls.count as f64).sum::<f64>();
    let [sent, received, inner] = step.network.map(|bytes| bytes as f64);
    // What goes from us to us is sent and received here.
    let messages = sent + received + 2.0 * inner;
    let first_of = |part: f64| ((part * (files + messages) - files) / messages.max(1.0)).clamp(0.0, 1.0);
    let (first, others) = match step.cpu_ns.split_first() {
        Some((&first, others)) if cpu_ns(others) > 0.0 => {
            (first_of(first as f64 / cpu_ns(&step.cpu_ns)), others)
        }
        _ => (1.0, [].as_slice()),
    };
    let until = |end: usize| match end {
        0 => 0.0,
        1 => first,
        end => first + (1.0 - first) * cpu_ns(&others[..others.len().min(end - 1)]) / cpu_ns(others).max(1.0),
    };
    step.network.map(|bytes| {
        let before = |end: usize| (bytes as f64 * until(end)).round() as u64;
        before(place + 1) - before(place)
    })
}
