//! Computation as work: a run through code and a loop, both of known speed, for a number of lines and iterations, never until a time of day. A loop that
//! watches that clock ends while its thread waits for a processor, so that with more threads than cores it would do
//! less work than the application did. (What a thread's own CPU clock says of long work is heeded: see `program.rs`.)

use crate::clock::thread_cpu_ns;
use crate::sys::code;
use std::hint::black_box;
use std::sync::Barrier;

/// Iterations of one measurement at first; grown until it takes [`ROUND_NS`].
const FIRST: u64 = 100_000;
/// Long against the cost of reading the processor time (about 1 µs).
const ROUND_NS: u64 = 4_000_000;
const ROUNDS: usize = 15;
/// How often a round goes through all lines of code.
const PASSES: usize = 50;

/// Lines of code that a nanosecond of work runs through, and how much of the work they may be at most. Between two calls programs run through code
/// of their own, and the next call finds the kernel's in no cache, nor where its branches lead; behind a small loop calls
/// take up to a fifth less than the application's (`bench/runs/2026-11-28-code`).
const LINES_PER_NS: f64 = 0.4;
const MOST_FOR_LINES: f64 = 0.8;

/// How fast a processor works.
#[derive(Clone, Copy, Debug, Default)]
pub struct Speed {
    /// Iterations of [`burn`] in a nanosecond of processor time.
    pub iterations_per_ns: f64,
    /// What a line of code takes, nanoseconds.
    pub line_ns: f64,
}

impl Speed {
    /// Works for so long, first through code, as far as there is any; nothing where the speed is 0.
    #[inline]
    pub fn work(&self, work_ns: f64) {
        let iterations = work_ns * self.iterations_per_ns;
        if iterations < 1.0 {
            return;
        }
        let most = MOST_FOR_LINES * work_ns / self.line_ns;
        let lines = (work_ns * LINES_PER_NS).min(most).min(code::LINES as f64) as usize;
        code::run_through(lines);
        burn((iterations - lines as f64 * self.line_ns * self.iterations_per_ns) as u64);
    }
}

/// Runs `iterations` iterations, each of which depends on the one before: the speed is the latency of a few integer
/// and floating-point operations, which neither the compiler nor a second thread on the core changes much.
#[inline(never)]
pub fn burn(iterations: u64) {
    let (mut integer, mut float) = (black_box(0x9e37_79b9_7f4a_7c15_u64), black_box(1.0_f64));
    for _ in 0..iterations {
        integer ^= integer << 13;
        integer ^= integer >> 7;
        integer ^= integer << 17;
        float = float * 0.999_999 + (integer & 1) as f64;
    }
    black_box((integer, float));
}

/// The median of several rounds on `threads` threads at once, since cores share caches, power and often execution units.
///
/// # Errors
/// When threads cannot be started.
pub fn calibrate(threads: usize) -> anyhow::Result<Speed> {
    let barrier = Barrier::new(threads);
    let rounds = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, || measure(&barrier));
        let started: Vec<_> = (0..threads).map(start).collect::<Result<_, _>>()?;
        anyhow::Ok(
            started.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect::<Vec<Speed>>(),
        )
    })?;
    let median = |of: fn(&Speed) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    Ok(Speed {
        iterations_per_ns: median(|round| round.iterations_per_ns),
        line_ns: median(|round| round.line_ns),
    })
}

fn measure(together: &Barrier) -> Vec<Speed> {
    let mut iterations = FIRST;
    while timed(|| burn(iterations)) < ROUND_NS {
        iterations *= 2;
    }
    together.wait();
    let round = |_| Speed {
        iterations_per_ns: iterations as f64 / timed(|| burn(iterations)) as f64,
        line_ns: timed(|| (0..PASSES).for_each(|_| code::run_through(code::LINES))) as f64
            / (PASSES * code::LINES) as f64,
    };
    (0..ROUNDS).map(round).collect()
}

/// Processor time, nanoseconds.
fn timed(work: impl FnOnce()) -> u64 {
    let before = thread_cpu_ns();
    work();
    (thread_cpu_ns() - before).max(1)
}
