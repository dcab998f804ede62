//! Steps as a plan: an executor becomes a program, what its atoms do in a step becomes demands and calls on files, and edges keep
//! the executors of all ranks together. The first one of a rank sets off those that have something to do in a step, and waits for
//! them; the first rank does so with the others.

mod atoms;
mod line;
mod lowering;
mod shape;

use super::steps::Step;
use crate::profile::Profile;
use line::Line;
use lowering::Lowering;
use shape::{FILES, LARGEST};
pub use shape::{Keep, Shape};
use syn_plan::{About, Edge, File, Initial, Plan, Rule};

/// A file that is read is at most so long; more is read again.
const READ_BYTES: u64 = 256 << 20;

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

/// Most processes of an emulation.
pub const MOST_PROCESSES: usize = 64;

/// Processes and threads that stand for those of a profile: `processes` and `executors` of a [`Shape`]. `share`: the part of all
/// that one rank is.
pub fn population(
    steps: &[Step],
    processes: Option<usize>,
    threads: Option<usize>,
    share: f64,
) -> (usize, usize) {
    let width = steps.iter().map(|step| step.cpu_ns.len()).max().unwrap_or(1);
    // Those of all ranks are in the profile.
    let recorded = [0, 1].map(|what| (stayed(steps, what) as f64 * share).ceil() as usize);
    // The emulator is one of them, and does nothing.
    let processes = processes.unwrap_or(recorded[0].saturating_sub(1)).clamp(1, MOST_PROCESSES);
    let threads = threads.map_or(recorded[1].saturating_sub(1), |threads| processes * threads);
    let widest = super::steps::WIDEST.max(width).max(processes);
    (processes, threads.clamp(width.max(processes), widest))
}

/// The highest number of processes (0) or threads (1) for a twentieth of the time: who is there all the time takes memory all the time.
fn stayed(steps: &[Step], what: usize) -> u64 {
    let mut levels: Vec<(u64, u64)> =
        steps.iter().map(|step| (step.population[what], step.span_ns)).collect();
    levels.sort_unstable_by(|a, b| b.cmp(a));
    let mut left_ns = levels.iter().map(|level| level.1).sum::<u64>() / 20;
    for (level, span_ns) in levels {
        match left_ns.checked_sub(span_ns) {
            Some(left) => left_ns = left,
            None => return level,
        }
    }
    0
}

#[cfg(test)]
mod tests;
