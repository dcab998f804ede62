//! Computation as work: a loop of known speed, run for a number of iterations, never until a time of day. A loop that
//! watches that clock ends while its thread waits for a processor, so that with more threads than cores it would do
//! less work than the application did. (What a thread's own CPU clock says of long work is heeded: see `program.rs`.)

use crate::clock::thread_cpu_ns;
use std::hint::black_box;
use std::sync::Barrier;

/// Iterations of one measurement at first; grown until it takes [`ROUND_NS`].
const FIRST: u64 = 100_000;
/// Long against the cost of reading the processor time (about 1 µs).
const ROUND_NS: u64 = 4_000_000;
const ROUNDS: usize = 15;

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

/// Iterations of [`burn`] per nanosecond of processor time: the median of several rounds on `threads` threads at
/// once, since cores share caches, power and often execution units.
///
/// # Errors
/// When threads cannot be started.
pub fn calibrate(threads: usize) -> anyhow::Result<f64> {
    let barrier = Barrier::new(threads);
    let mut rates = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, || measure(&barrier));
        let started: Vec<_> = (0..threads).map(start).collect::<Result<_, _>>()?;
        anyhow::Ok(
            started.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect::<Vec<f64>>(),
        )
    })?;
    rates.sort_by(f64::total_cmp);
    Ok(rates[rates.len() / 2])
}

fn measure(together: &Barrier) -> Vec<f64> {
    let mut iterations = FIRST;
    while timed(iterations) < ROUND_NS {
        iterations *= 2;
    }
    together.wait();
    (0..ROUNDS).map(|_| iterations as f64 / timed(iterations) as f64).collect()
}

fn timed(iterations: u64) -> u64 {
    let before = thread_cpu_ns();
    burn(iterations);
    (thread_cpu_ns() - before).max(1)
}
